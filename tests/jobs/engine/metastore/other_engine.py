"""Another engine on the same metastore: plain Spark with Hive's catalog, which makes tables there and says what it finds.

`python -m tests.jobs.engine.metastore.other_engine SCRATCH` with a JSON object on stdin: `conf` and `statements`.
"""

import json
import sys
from pathlib import Path

from jobs.engine.runtime import Runtime
from tests.jobs.engine.fixtures import conf_for_tests

HIVE = "spark.sql.catalogImplementation"


def main(scratch: Path) -> None:
    given = json.load(sys.stdin)
    conf = conf_for_tests(scratch, **given["conf"], **{HIVE: "hive"})
    runtime = Runtime(conf, scratch=scratch, log=scratch / "jvm.log")
    session = runtime.start()
    try:
        for statement in given["statements"]:
            session.sql(statement).collect()
    finally:
        runtime.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

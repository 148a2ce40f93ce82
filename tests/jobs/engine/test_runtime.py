"""The JVM's life: identity before the session, an end that is complete, a death that is noticed. Each in a process of its own."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from jobs.engine.processes import identify, start_ticks
from jobs.engine.runtime import Runtime
from tests.patience import limit

spark = [pytest.mark.spark]
ROOT = Path(__file__).parents[3]

PRELUDE = """
import json, os, sys, threading
from pathlib import Path
from jobs.domain.engine import Marks
from jobs.domain.errors import EngineLost
from jobs.engine.runtime import Runtime
from jobs.engine.session import job_session
from jobs.worker.spark_engine import SparkEngine
from tests.jobs.engine.fixtures import conf_for_tests
scratch = Path(sys.argv[1])
launched = []
def remember(identity):
    launched.append((identity, runtime._session))
runtime = Runtime(conf_for_tests(scratch), scratch=scratch, log=scratch / "jvm.log", on_launch=remember)
"""


def run(tmp_path, body):
    """Runs a script with a runtime of its own; answers what it prints as JSON."""
    script = PRELUDE + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=limit(75),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_stranger_with_the_same_pid_is_not_this_process():
    import os
    from dataclasses import replace

    me = identify(os.getpid())
    assert me.alive() is True
    assert replace(me, start_ticks=me.start_ticks - 1).alive() is False
    assert replace(me, boot_id="another").alive() is False
    assert replace(me, start_ticks=me.start_ticks - 1).kill_group() is False


def test_an_ended_process_has_no_start_time():
    child = subprocess.Popen(["true"])
    child.wait()
    assert start_ticks(child.pid) is None
    with pytest.raises(ProcessLookupError):
        identify(child.pid)


class TestOnSpark:
    pytestmark = spark

    def test_one_life_from_launch_to_stop(self, tmp_path):
        told = run(
            tmp_path,
            """
            assert runtime.alive() is False and runtime.identity() is None
            threads = [threading.Thread(target=runtime.start) for _ in range(3)]
            [t.start() for t in threads]; [t.join() for t in threads]
            identity, session = launched[0]
            secret = (scratch / "spark.properties").stat().st_mode & 0o777
            facts = dict(
                launches=len(launched), before_session=session is None, leader=os.getpgid(identity.pid) == identity.pid,
                alive=runtime.alive(), memory=runtime.memory_bytes() > 100 << 20, mode=secret,
                arguments=Path(f"/proc/{identity.pid}/cmdline").read_text().count("extraClassPath"),
            )
            position = runtime.log_position()
            runtime.session._jvm.org.slf4j.LoggerFactory.getLogger("levee").warn("look here")
            facts["warnings"] = [line.split(" ", 1)[1] for line in runtime.warnings_since(position)]
            runtime.stop()
            facts["after"] = identity.alive()
            try:
                runtime.session
            except EngineLost:
                facts["lost"] = True
            print(json.dumps(facts))
            """,
        )
        assert told == {
            "launches": 1,
            "before_session": True,
            "leader": True,
            "alive": True,
            "memory": True,
            "mode": 0o600,
            "arguments": 0,
            "warnings": ["WARN levee: look here"],
            "after": False,
            "lost": True,
        }

    def test_a_killed_jvm_is_a_lost_engine_at_once_and_ever_after(self, tmp_path):
        told = run(
            tmp_path,
            """
            engine, marks = SparkEngine(runtime), Marks("kill", 1, None)
            outcomes = []
            def attempt():
                try:
                    with job_session(runtime, marks) as session:
                        session.sql("SELECT count(*) FROM range(0, 1000000000000, 1, 2) WHERE sqrt(id) = -1").collect()
                except EngineLost as error:
                    outcomes.append(error.failure.retryable)
            runtime.start()
            thread = threading.Thread(target=attempt); thread.start()
            while not engine.progress(marks.tag):
                thread.join(0.05)
            runtime.kill()
            thread.join(60)
            attempt()
            engine.cancel(marks.tag)
            print(json.dumps(dict(outcomes=outcomes, alive=runtime.alive())))
            """,
        )
        assert told == {"outcomes": [True, True], "alive": False}

    def test_an_exhausted_heap_ends_the_jvm(self, tmp_path):
        told = run(
            tmp_path,
            """
            outcome = None
            try:
                with job_session(runtime, Marks("oom", 1, None)) as session:
                    session.range(1).count()
                    array = session.sparkContext._gateway.new_array
                    long = session._jvm.long  # of bytes Python would get the content, and the JVM forget it
                    kept = [array(long, 25_000_000) for _ in range(40)]
            except EngineLost:
                outcome = "lost"
            runtime.wait(60)
            print(json.dumps(dict(outcome=outcome, alive=runtime.alive())))
            """,
        )
        assert told == {"outcome": "lost", "alive": False}


def test_a_log_that_is_gone_hides_no_error_of_spark(tmp_path):
    """Asked while Spark's own error is on its way: it must not take that error's place."""
    runtime = Runtime({}, scratch=tmp_path, log=tmp_path / "gone" / "jvm.log")
    (line,) = runtime.warnings_since(0)
    assert "can't be read" in line

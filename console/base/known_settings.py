"""Every setting that there is, in one table: from it Levee reads and checks them, and docs/settings.md is made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.base import setting_values as values

PREFIX = "LEVEE_"
OF_TESTS = ("LEVEE_TEST_", "LEVEE_BENCH_", "LEVEE_SOAK_")  # said to Levee's own tests, never to an instance
OF_THE_COMMAND_LINE = ("LEVEE_URL", "LEVEE_TOKEN", "LEVEE_SERVER")  # said to `levee`, never to an instance
BASE_DIR = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `read` makes its value of its text; an empty text is an unset one. `default` is in words; Levee sets `inner` ones."""

    name: str
    read: Callable[[str, str], Any]
    allowed: str
    default: str
    meaning: str
    readers: str
    inner: bool = False
    secret: bool = False

    def value(self, given: Mapping[str, str]) -> Any:
        """The value; None if it isn't set. Raises SettingError."""
        text = given.get(self.name)
        return self.read(self.name, text) if text else None


SETTINGS = (
    Setting(
        "LEVEE_HOME",
        values.directory,
        "a directory",
        "`.levee` beside the code",
        "The directory of the instance: its key, its logs, and the data of the servers that Levee runs itself.",
        "every process",
    ),
    Setting(
        "LEVEE_PORT",
        values.port,
        "1 to 65535",
        "8000",
        "The port on 127.0.0.1. It also names the cookies, so that two instances on one host don't share them.",
        "`up`, web",
    ),
    Setting(
        "LEVEE_PUBLIC_URL",
        values.public_address,
        "`http://HOST[:PORT]` or `https://HOST[:PORT]`, with or without a path such as `/levee`",
        "none: 127.0.0.1 and localhost only",
        "The address that users type if a proxy is in front. Levee builds links from it, and requests for another host name are 400 "
        "(except 127.0.0.1 and localhost). With `https`, cookies are `Secure` and Levee sends HSTS. With a path, every address and cookie "
        "of Levee's begins there.",
        "web",
    ),
    Setting(
        "LEVEE_DATABASE_URL",
        values.postgresql,
        "`postgresql://USER:PASSWORD@HOST:PORT/NAME`",
        "a PostgreSQL of the home's own",
        "A PostgreSQL of your own, as the application's role.",
        "every process",
        secret=True,
    ),
    Setting(
        "LEVEE_DATABASE_ADMIN_URL",
        values.postgresql,
        "`postgresql://USER:PASSWORD@HOST:PORT/NAME`",
        "a PostgreSQL of the home's own",
        "The same database, as the migrations' role. The two addresses go together.",
        "migrations",
        secret=True,
    ),
    Setting(
        "LEVEE_REDIS_URL",
        values.redis_address,
        "`redis://`, `rediss://` or `unix://` and an address",
        "a Redis of the home's own",
        "A Redis of your own, with its append-only file on.",
        "every process",
        secret=True,
    ),
    Setting(
        "LEVEE_SPARK_MASTER",
        values.spark_master,
        "`local…`, `spark://…`, `yarn` or `k8s://…`",
        "a local Spark in each worker",
        "A Spark cluster.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_SPARK_CONF",
        values.file,
        "a file of lines `spark.key value`",
        "none",
        "Settings of Spark on top of Levee's own.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_SPARK_SECRET",
        values.secret_key,
        f"at least {values.SHORTEST_KEY} characters",
        "`spark.authenticate.secret` in LEVEE_SPARK_CONF",
        "The secret of a `spark://` cluster, which needs one, and `spark.authenticate` and `spark.network.crypto` on "
        "([operating/cluster.md](operating/cluster.md)).",
        "workers with Spark, Spark's master and workers",
        secret=True,
    ),
    Setting(
        "LEVEE_SPARK_EXECUTOR_MEMORY",
        values.memory,
        "a number and `m` or `g`, as `2g`",
        "Spark's: 1g",
        "The heap of an executor on a cluster.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_SPARK_EXECUTOR_CORES",
        values.count,
        "1 to 9999",
        "Spark's: all cores of a standalone worker",
        "How many tasks an executor runs at once.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_SPARK_CORES_MAX",
        values.count,
        "1 to 9999",
        "Spark's: every free core",
        "How many cores of the cluster one worker's JVM takes at most. Without it the first JVM leaves none to the others.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_SPARK_DRIVER_HOST",
        values.host,
        "a host name or address",
        "127.0.0.1",
        "The name by which executors on other hosts reach this worker, which then listens there.",
        "workers with Spark",
    ),
    Setting(
        "LEVEE_METASTORE",
        values.metastore,
        "`thrift://HOST:PORT`, several with commas between them, or `postgresql://USER@HOST:PORT/NAME`",
        "none: tables have names in Levee's own catalog alone",
        "A Hive metastore whose tables you add by name: its service, or the PostgreSQL database that holds its tables "
        "(`manage.py metastore create` makes them).",
        "web, workers with Spark, `manage.py metastore`",
    ),
    Setting(
        "LEVEE_METASTORE_PASSWORD",
        values.line,
        "one line of text",
        "none",
        "The password of the user in a `LEVEE_METASTORE` on PostgreSQL.",
        "workers with Spark, `manage.py metastore`",
        secret=True,
    ),
    Setting(
        "LEVEE_SECRET_KEY",
        values.secret_key,
        f"at least {values.SHORTEST_KEY} characters",
        "the file `secret_key` of the home",
        "Signs sessions. Set it if several machines serve one instance.",
        "web",
        secret=True,
    ),
    Setting(
        "LEVEE_CREDENTIALS_KEY",
        values.secret_key,
        f"at least {values.SHORTEST_KEY} characters",
        "the file `credentials_key` of the home, made at first use",
        "Encrypts the credentials of object stores in the database. Set it if several machines serve one instance, and keep a copy: "
        "with another key, the credentials must be entered again.",
        "every process",
        secret=True,
    ),
    Setting(
        "LEVEE_METRICS_TOKEN",
        values.bearer_token,
        "at least 32 letters, digits or `-._~+/=`",
        "none: only auditors read `/metrics`",
        "What a scraper of `/metrics` sends as its bearer token.",
        "web",
        secret=True,
    ),
    Setting(
        "LEVEE_AUDIT_HEADS",
        values.directory,
        "a directory",
        "`audit` in the home",
        "Where the signed heads of the audit are written to: best on other, append-only storage.",
        "light worker, web",
    ),
    Setting(
        "LEVEE_TIMING",
        values.seconds_by_name,
        "a JSON object of positive numbers by name",
        "the times in `console/base/timeouts.py`",
        "Changes timeouts and intervals of jobs, in seconds.",
        "`up`, workers, dispatcher",
    ),
    Setting(
        "LEVEE_PROCESS",
        values.process_name,
        "letters, digits and `-._`",
        "set by `up` for each part",
        "The part that this process is: it logs to `logs/NAME.log` in the home instead of to stderr.",
        "every part",
        inner=True,
    ),
    Setting(
        "LEVEE_UP_WITHOUT",
        values.names,
        "names of parts, with commas between them",
        "none",
        "Parts that `up` doesn't start. For Levee's own tests.",
        "`up`",
        inner=True,
    ),
)
NAMES = tuple(setting.name for setting in SETTINGS)


def read_all(given: Mapping[str, str]) -> dict[str, Any]:
    """Each setting's value by its name, None for an unset one. Raises SettingError for the first that can't be used."""
    return {setting.name: setting.value(given) for setting in SETTINGS}


def unknown(given: Mapping[str, str]) -> list[str]:
    """A sentence for each name that begins like a setting's and is none: most are slips, and their settings wouldn't hold."""
    strange = sorted(name for name in given if name.startswith(PREFIX) and not name.startswith(OF_TESTS))
    return [_about(name) for name in strange if name not in (*NAMES, *OF_THE_COMMAND_LINE)]


def _about(name: str) -> str:
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.75)
    return f"{name} is no setting of Levee's and has no effect" + (f"; did you mean {near[0]}?" if near else ".")

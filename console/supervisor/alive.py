"""`python -m console.supervisor.alive PART [--port PORT] [--name NAME]`: whether a part that runs on this host works; for health checks.

Ends with 0 when it does, else with 1 and the reason in one line. It needs neither Django nor Spark.
"""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Sequence

import psycopg

from console.base.env import Env, SettingError
from console.supervisor import command_lines, provision, spark_daemons
from console.supervisor.programs import WEB_PATIENCE_S, page_answers, young_beat
from console.supervisor.serve import WEB

PARTS = (WEB, *command_lines.POOLS, command_lines.DISPATCHER, *spark_daemons.DAEMONS)
LATEST = """
select extract(epoch from clock_timestamp() - max(heartbeat_at))::float from jobs_worker
where kind = %(kind)s and host = %(host)s and condition <> 'down'
    and (%(name)s::text is null or split_part(name, '@', 1) = %(name)s)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m console.supervisor.alive")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument(
        "--port", type=int, help="of web: LEVEE_PORT unless told; of the page of spark-master or spark-worker"
    )
    parser.add_argument(
        "--name", help="of a worker, as `serve` was told: where two of a part run on one host, spark or spark-2"
    )
    options = parser.parse_args(argv)
    try:
        env = Env.read()
        trouble = silence(options.part, env, options.port, options.name)
    except (SettingError, psycopg.Error) as error:
        trouble = str(error).strip().splitlines()[0]
    if trouble is not None:
        sys.stderr.write(f"{options.part}: {trouble}\n")
    return 0 if trouble is None else 1


def silence(part: str, env: Env, port: int | None = None, name: str | None = None) -> str | None:
    """Why the part doesn't count as alive; None when it does. Raises psycopg.Error without a database."""
    if part == WEB:
        at = port or env.port
        return None if page_answers(at, WEB_PATIENCE_S) else f"/health/live doesn't answer on port {at}"
    if part in spark_daemons.DAEMONS:
        at = port or (spark_daemons.MASTER_PAGE if part == spark_daemons.MASTER else spark_daemons.WORKER_PAGE)
        return None if spark_daemons.page_answers(at, WEB_PATIENCE_S) else f"its page doesn't answer on port {at}"
    age = _last_beat(part, env, name)
    if age is None:
        return f"no worker {f'{name} ' if name else ''}of {socket.gethostname()} has reported yet"
    return None if age < young_beat() else f"its last heartbeat is {age:.0f} s old"


def _last_beat(kind: str, env: Env, name: str | None) -> float | None:
    """The age in seconds of the youngest heartbeat of this host's workers of the kind, or of the one of that name; None without any."""
    arguments = {"connect_timeout": 5, **provision.arguments(env, "levee_app")}
    with psycopg.connect(**arguments, autocommit=True) as connection:
        row = connection.execute(LATEST, {"kind": kind, "host": socket.gethostname(), "name": name}).fetchone()
    return None if row is None else row[0]


if __name__ == "__main__":
    sys.exit(main())

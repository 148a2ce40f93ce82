"""`manage.py serve PART`: one part in the foreground, for another supervisor than `manage.py up`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection

from console.base import schema_version
from console.base.env import Env, SettingError
from console.supervisor.errors import StartRefused
from console.supervisor.needs import first_line
from console.supervisor.serve import PARTS, serve, serve_daemon
from console.supervisor.spark_daemons import DAEMONS


class Command(BaseCommand):
    help = "Wait for what a part needs, then run it in the foreground, as containers and systemd want it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=(*PARTS, *DAEMONS))
        parser.add_argument(
            "--bind",
            metavar="HOST:PORT",
            help="of web: 127.0.0.1:LEVEE_PORT unless told; of spark-master: 127.0.0.1:7077",
        )
        parser.add_argument("--name", help="of a second worker on this host, as spark-2")
        daemons = parser.add_argument_group("of spark-master and spark-worker")
        daemons.add_argument("--page-port", type=int, help="of its page on 127.0.0.1: 8080 and 8081 unless told")
        daemons.add_argument("--work-dir", type=Path, help="of executors and their files: in the home unless told")
        daemons.add_argument("--cores", type=int, help="that a worker offers: 2 unless told")
        daemons.add_argument("--memory", help="that a worker offers to executors: 2g unless told")
        parser.add_argument("--no-sample", action="store_true", help="of the part prepare: don't write the sample lake")

    def handle(self, *_: Any, part: str, bind: str | None, no_sample: bool, name: str | None, **more: Any) -> None:
        try:
            if part in DAEMONS:
                daemon = {"page": more["page_port"], "directory": more["work_dir"]}
                serve_daemon(part, Env.read(), bind, cores=more["cores"], memory=more["memory"], **daemon)
            else:
                serve(part, Env.read(), unmigrated, bind, sample=not no_sample, name=name)
        except (StartRefused, SettingError) as error:
            sys.exit(f"Levee can't start. {error}")
        except OSError as error:
            sys.exit(f"Levee can't start. LEVEE_HOME: {error}")
        except KeyboardInterrupt:
            sys.exit(130)


def unmigrated() -> str | None:
    """Why the database isn't yet in the state that this code needs; None once it is. It may be ahead, which the part itself reports."""
    try:
        return schema_version.difference().texts.get("database_behind")
    except DatabaseError as error:
        return f"LEVEE_DATABASE_URL: {first_line(error)}"
    finally:
        connection.close()

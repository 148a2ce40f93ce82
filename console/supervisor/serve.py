"""`manage.py serve PART`: one part in the foreground, for another supervisor (containers, systemd).

It waits for what the part needs, and then becomes the very command that `manage.py up` would start.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from console.base.env import Env
from console.supervisor import command_lines, needs, provision, spark_daemons, tools
from console.supervisor.account import server_account
from console.supervisor.errors import StartRefused
from console.supervisor.home import make_directories
from console.supervisor.journal import say
from console.supervisor.needs import Need
from console.supervisor.servers import redis
from console.supervisor.settings_check import check_settings, check_spark

PREPARE, WEB = "prepare", "web"
PARTS = (PREPARE, WEB, *command_lines.POOLS, command_lines.DISPATCHER)
ADDRESS = re.compile(r"(?P<host>[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


def serve(
    part: str, env: Env, migrated: Need, bind: str | None = None, sample: bool = True, name: str | None = None
) -> None:
    """Doesn't return: this process becomes the part. `migrated` asks whether the database has the code's migrations.

    Raises StartRefused and SettingError, with nothing started.
    """
    _check(part, env)
    if name is not None and (part not in command_lines.POOLS or not re.fullmatch(rf"{part}-[a-z0-9]{{1,20}}", name)):
        raise StartRefused(f"--name: {name!r} is no name of a second worker; one of the part spark is spark-2")
    command = command_line(part, bind or f"127.0.0.1:{env.port}", sample, name)
    if part == WEB:
        check_free(_address_of(command))
    environment = _environment(part, env.home)
    # `manage.py cluster` runs its PostgreSQL in this home, as another user when we are root: that one must still pass through.
    make_directories(env.home, server_account() if (env.home / "home.json").is_file() else None)
    _wait(part, env, migrated)
    if part != PREPARE:
        start_watchdog(part, _port_of(command) if part == WEB else None, name)
    os.chdir(tools.PROJECT)
    os.execve(command[0], command, environment)  # nosec B606  # noqa: S606 (a list of ours, no shell)


def serve_daemon(part: str, env: Env, bind: str | None, **options: Any) -> None:
    """Doesn't return: this process becomes Spark's master or a worker of it. `options` are of `spark_daemons.Daemon`.

    Raises StartRefused and SettingError, with nothing started.
    """
    address = bind or f"127.0.0.1:{spark_daemons.MASTER_PORT if part == spark_daemons.MASTER else 0}"
    match = ADDRESS.fullmatch(address)
    if match is None or not int(match["port"]) < 65536:
        raise StartRefused(f"--bind: {address!r} is no address such as 127.0.0.1:7077")
    given = {name: value for name, value in options.items() if value is not None}
    given.setdefault("page", spark_daemons.MASTER_PAGE if part == spark_daemons.MASTER else spark_daemons.WORKER_PAGE)
    given.setdefault("directory", env.home / "spark" / part)
    daemon = spark_daemons.Daemon(part, match["host"], int(match["port"]), master=env.spark_master, **given)
    spark_daemons.become(daemon, env.spark_secret, lambda: start_watchdog(part, daemon.page))


def start_watchdog(part: str, port: int | None = None, name: str | None = None) -> None:
    """Has this process, which is about to become the part, followed by one that ends it when it hangs (`watchdog.py`)."""
    named = ("--name", name) if name else ()
    at = ("--port", str(port)) if port else ()
    command = [sys.executable, "-m", "console.supervisor.watchdog", part, str(os.getpid()), *at, *named]
    # Its first process ends at once: the part has no child then that it doesn't know.
    subprocess.run(command, check=True, cwd=tools.PROJECT)


def _address_of(command: Sequence[str]) -> str:
    return command[command.index("--bind") + 1]


def _port_of(command: Sequence[str]) -> int:
    return int(_address_of(command).rpartition(":")[2])


def command_line(part: str, bind: str, sample: bool, name: str | None = None) -> list[str]:
    """What `manage.py up` starts as well."""
    if part == PREPARE:
        return command_lines.prepare(sample)
    if part == WEB:
        return command_lines.web(bind)
    return command_lines.dispatcher() if part == command_lines.DISPATCHER else command_lines.worker(part, name)


def check_free(address: str) -> None:
    """Raises StartRefused unless a server can listen there: gunicorn would say so in many lines."""
    match = ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise StartRefused(f"--bind: {address!r} is no address such as 127.0.0.1:8000 or 0.0.0.0:8000")
    family = socket.AF_INET6 if match["host"].startswith("[") else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((match["host"].strip("[]"), int(match["port"])))
            listener.listen()
    except OSError as error:
        raise StartRefused(f"--bind: {address} can't be used: {error.strerror or error}") from error


def _check(part: str, env: Env) -> None:
    """Settings that can't work, before anything is waited for."""
    check_settings(env, migrates=part == PREPARE)
    if part in command_lines.WITH_A_JVM:
        check_spark(env)
    required = {"LEVEE_DATABASE_URL": env.database_url}
    if part != PREPARE:
        required["LEVEE_REDIS_URL"] = env.redis_url
    for setting, value in required.items():
        if value is None:
            raise StartRefused(f"{setting}: is missing; only `manage.py up` brings servers of its own")
    if env.secret_key_text is None and not (env.home / "secret_key").is_file():
        raise StartRefused("LEVEE_SECRET_KEY: is missing; each part would sign with a key of its own")


def _environment(part: str, home: Path) -> Mapping[str, str]:
    """Also checks that the set-up has made what the part can't do without."""
    if part == WEB:
        tools.check_pages()
    if part not in command_lines.WITH_A_JVM:
        return {**command_lines.environment(home, None), **(command_lines.WEB_ENVIRONMENT if part == WEB else {})}
    tools.check_jars()
    return command_lines.environment(home, tools.java_home())


def _wait(part: str, env: Env, migrated: Need) -> None:
    """For the servers, then for the migrations, which the part `prepare` makes; refuses servers that aren't fit."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # as a container's first process, too
    app = provision.arguments(env, "levee_app")
    admin = provision.arguments(env, "levee_migrate") if part == PREPARE else None
    wanted = [needs.database("LEVEE_DATABASE_URL", app)]
    if admin is not None:
        wanted.append(needs.database("LEVEE_DATABASE_ADMIN_URL", admin))
    else:
        wanted += [migrated, needs.broker("LEVEE_REDIS_URL", env.redis)]
    needs.wait_for(wanted, lambda text: say(f"serve {part}: {text}", sys.stderr))
    provision.check(app, admin)
    if admin is None:
        redis.check(env.redis, "LEVEE_REDIS_URL")

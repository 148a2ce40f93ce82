"""The backup of docs/operating.md, "Containers", made and put back by the commands that stand there, in podman's words."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.containers.hold import OF_SPARK, PARTS, PROJECT
from tests.containers.podman import Failed, Podman, say

HOME = "/var/lib/levee"
SUPERUSER = ("-U", "postgres", "-d", "levee")
LOST = ("pgdata", "home", "redis")  # the lake and the store are the tables' own, and have backups of their own

Compose = Callable[..., None]


def back_up(podman: Podman, compose: Compose, directory: Path) -> None:
    """With every part stopped, what the database and the home hold is of one moment."""
    compose("stop-parts", "stop", *PARTS, *OF_SPARK)
    _piped(podman, None, directory / "levee.dump", *_in_postgres("pg_dump", *SUPERUSER, "-Fc"))
    _piped(podman, None, directory / "home.tar", *_with_home("-cf", "-", "."))
    say(f"backed up: {(directory / 'levee.dump').stat().st_size / 1e6:.1f} MB of database")


def restore(podman: Podman, compose: Compose, directory: Path, ready: Callable[[], None]) -> None:
    """Into new volumes, before anything of Levee's runs; `ready` waits for PostgreSQL. The parts run at the end."""
    compose("down", "down")
    podman.run("volume", "rm", *(f"{PROJECT}_{name}" for name in LOST))
    compose("up-postgres", "up", "-d", "--no-build", "postgres")
    ready()
    podman.run(*_in_postgres("psql", *SUPERUSER, "-c", "drop schema audit"))
    load = ("pg_restore", *SUPERUSER, "--exit-on-error", "--single-transaction")
    _piped(podman, directory / "levee.dump", None, *_in_postgres(*load))
    podman.run(*_in_postgres("psql", *SUPERUSER, "-q", "-f", "/docker-entrypoint-initdb.d/10-roles.sql"))
    _piped(podman, directory / "home.tar", None, *_with_home("-xpf", "-"))
    compose("up-restored", "up", "-d", "--no-build")
    say("restored into new volumes, and started")


def _in_postgres(*words: str) -> tuple[str, ...]:
    return ("exec", "-i", f"{PROJECT}_postgres_1", *words)


def _with_home(*words: str) -> tuple[str, ...]:
    volume = f"--volume={PROJECT}_home:{HOME}"
    return ("run", "--rm", "-i", volume, "--entrypoint", "tar", "localhost/levee-web", "-C", HOME, *words)


def _piped(podman: Podman, source: Path | None, target: Path | None, *words: str) -> None:
    given = source.read_bytes() if source else None
    done = subprocess.run(["podman", *words], env=podman.environment, input=given, capture_output=True)
    if done.returncode:
        raise Failed(f"podman {' '.join(words)}: {done.stderr.decode(errors='replace').strip()[-3000:]}")
    if target is not None:
        target.write_bytes(done.stdout)

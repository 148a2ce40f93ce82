"""Making a backup: what the database is at one moment, by PostgreSQL's own dump, with the files that an instance must not lose."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from console.audit.integrity import heads
from console.base import encryption
from console.base.env import Env
from console.base.version import VERSION
from console.management.backup import archive
from console.management.backup.archive import DUMP, FORMAT, Manifest
from console.supervisor.servers.postgres import CLEAN_ENVIRONMENT, DATABASE, SUPERUSER

SECRET, CREDENTIALS, KEY, HEADS, STREAMS = "secret_key", encryption.FILE, "audit/key", "audit/heads.jsonl", "streams"
PLACE = ".levee-backup-"  # of the directory beside the backup where its parts are made
# Of a checkpoint that is written meanwhile: what says that a batch has ended is copied before what the batch is made of.
FIRST = ("commits", "offsets")


class NotDumped(Exception):
    """The database can't be dumped; the message is one line for a person."""


@dataclass(frozen=True)
class Moment:
    """The snapshot that is dumped."""

    made_at: str
    sequence: int
    hash: str
    migrations: list[str]
    major: int


def make(target: Path) -> Manifest:
    """Writes a backup of the running instance to `target`, which must not exist. Raises NotDumped, OSError."""
    if target.exists():
        raise FileExistsError(17, "a file is there already", str(target))
    _clear_away(target.parent)
    with tempfile.TemporaryDirectory(prefix=PLACE, dir=target.parent) as name:
        place = Path(name)
        moment = _dump(place / DUMP)
        members = {DUMP: place / DUMP, **_copied(place / "home", moment.sequence)}
        manifest = Manifest(
            format=FORMAT,
            levee=VERSION,
            made_at=moment.made_at,
            home=str(settings.ENV.home),
            postgres_major=moment.major,
            sequence=moment.sequence,
            hash=moment.hash,
            public_key=heads.public_key(),
            migrations=moment.migrations,
            files={member: archive.described(file) for member, file in members.items()},
        )
        archive.write(target, manifest, members)
    return manifest


def _clear_away(directory: Path) -> None:
    """What backups that were killed have left there: each may hold a whole dump. One that runs now is younger than a day."""
    old = time.time() - 24 * 60 * 60
    for place in directory.glob(f"{PLACE}*"):
        if place.is_dir() and not place.is_symlink() and place.stat().st_mtime < old:
            shutil.rmtree(place, ignore_errors=True)


def _dump(file: Path) -> Moment:
    """The dump, and what the manifest says of it: both of one snapshot."""
    embedded = Env.read().embedded  # again: the record names the programs once the server has started
    socket = embedded["pg_socket_dir"]
    with psycopg.connect(host=socket, dbname=DATABASE, user=SUPERUSER, connect_timeout=5) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        moment, exported = _moment(connection)
        command = [f"{embedded['pg_bin']}/pg_dump", "-h", socket, "-U", SUPERUSER, "-d", DATABASE, "-Fc"]
        run([*command, f"--snapshot={exported}", "-f", str(file)])
    return moment


def _moment(connection: psycopg.Connection) -> tuple[Moment, str]:
    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query.encode()).fetchall()

    ((exported, at),) = rows("select pg_export_snapshot(), now() at time zone 'UTC'")
    end = rows("select sequence, hash from audit.seal order by sequence desc limit 1")
    sequence, link = end[0] if end else (0, "")
    migrations = [f"{app}.{name}" for app, name in rows("select app, name from django_migrations order by 1, 2")]
    major = connection.info.server_version // 10_000
    return Moment(f"{at.isoformat()}+00:00", sequence, link, migrations, major), exported


def run(command: list[str]) -> None:
    """A program of PostgreSQL's. Raises NotDumped with the last line that it printed."""
    try:
        done = subprocess.run(command, env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NotDumped(f"{error.filename} isn't there: install PostgreSQL's client programs of that version") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NotDumped(f"{Path(command[0]).name}: {last}")


def _copied(place: Path, sequence: int) -> dict[str, Path]:
    """Copies of the home's own files, by their names in the archive: they may change while the archive is written."""
    home, members = Path(settings.ENV.home), {}
    for name in (SECRET, CREDENTIALS, KEY, *_stream_files(home)):
        copy = place / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(home / name, copy)
        except FileNotFoundError:
            continue  # a secret that the environment sets instead, or a file that the query has just removed
        members[name] = copy
    lines = heads.lines_until(sequence)
    (place / HEADS).parent.mkdir(parents=True, exist_ok=True)
    (place / HEADS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {**members, HEADS: place / HEADS}


def _stream_files(home: Path) -> Iterator[str]:
    """The files of all checkpoints, in the order in which they are to be copied."""
    files = [file.relative_to(home) for file in (home / STREAMS).rglob("*") if file.is_file() and not file.is_symlink()]
    order = {name: number for number, name in enumerate(FIRST)}
    files.sort(key=lambda file: (order.get(file.parts[2] if len(file.parts) > 3 else "", len(FIRST)), file))
    return map(str, files)

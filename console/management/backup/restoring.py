"""Restoring a backup into a home without a database: whole beside its place, and one rename at the end that makes it this home's."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from console.audit.integrity import chain, heads
from console.base.disks import sync_directory
from console.base.env import Env
from console.base.processes import die_with_parent
from console.management.backup import archive, proof
from console.management.backup.aftermath import Aftermath, settle
from console.management.backup.archive import DUMP, Manifest
from console.management.backup.proof import NotRestored
from console.management.backup.snapshot import CREDENTIALS, HEADS, KEY, SECRET, STREAMS, run
from console.supervisor import provision
from console.supervisor.account import popen_user
from console.supervisor.errors import StartRefused
from console.supervisor.home import RESTORING, Home, lock_home, open_home
from console.supervisor.servers import postgres

START_LIMIT_S = 120.0
STOP_LIMIT_S = 60.0
ROLES = {"default": "levee_app", "admin": "levee_migrate"}


def restore(file: Path, despite_differences: bool = False) -> tuple[Manifest, Aftermath]:
    """Restores the backup into LEVEE_HOME, one whose audit differs only if told so. Raises NotRestored, ArchiveError, NotDumped,
    StartRefused."""
    path = Path(settings.ENV.home)
    with lock_home(path):
        _refuse_living(path)
        manifest = archive.manifest_of(file)
        _refuse_unknown(manifest)
        with _workplace(path) as place:
            archive.extract(file, place)
            _refuse_other_audit(path, place)
            lines = _head_lines(place)
            proof.check_keys(place / KEY, manifest, lines)
            aftermath = _restore(path, place, manifest, lines, despite_differences)
    return manifest, aftermath


def _refuse_living(path: Path) -> None:
    recorded = settings.ENV.embedded.get("pg_data", path / "postgres" / "data")
    if Path(recorded).exists():
        raise NotRestored(f"LEVEE_HOME: {path} has a database already ({recorded}); choose a home without one")


def _refuse_unknown(manifest: Manifest) -> None:
    """A newer Levee's tables would be misread."""
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    unknown = [name for name in manifest.migrations if name not in known]
    if unknown:
        raise NotRestored(
            f"Levee {manifest.levee} made the backup, and this one doesn't know its migration {unknown[0]}: install that version"
        )


def _refuse_other_audit(path: Path, place: Path) -> None:
    """Two audits in one file of heads could never be verified again."""
    key = path / KEY
    if key.exists() and (place / KEY).exists() and key.read_text().strip() != (place / KEY).read_text().strip():
        raise NotRestored(f"LEVEE_HOME: {path} has the key of another audit ({key}); choose a fresh home")


def _head_lines(place: Path) -> list[str]:
    try:
        return (place / HEADS).read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        raise NotRestored("the backup has no file of heads: Levee didn't make it") from None


@contextlib.contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """A directory in the home for the time of the restore; what an interrupted one has left is removed first."""
    place = path / RESTORING
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o711)  # PostgreSQL's own user passes through to its data
    place.chmod(0o711)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _restore(path: Path, place: Path, manifest: Manifest, lines: Sequence[str], despite_differences: bool) -> Aftermath:
    made = open_home(place / "home")
    try:
        made = postgres.prepare(made)
        if (made.record.pg_major or 0) < manifest.postgres_major:
            raise NotRestored(
                f"PostgreSQL {manifest.postgres_major} made the dump, installed is {made.record.pg_major}: install that version"
            )
        with _serving(made):
            _load(made, place / DUMP)
            _connect_to(made)
            try:
                call_command("migrate", database="admin", interactive=False, verbosity=0, skip_checks=True)
                found = proof.differences(manifest, lines)
                if not despite_differences:
                    proof.refuse(found)
                _put_files(path, place)
                aftermath = settle(manifest, path, [f"{each.kind}: {each.text}" for each in found])
                chain.seal_waiting()
            finally:
                connections.close_all()
        heads.restore(lines, manifest.sequence, manifest.made_at)
        _take_place(path, made)
    finally:
        shutil.rmtree(made.run_dir, ignore_errors=True)
        if not Path(made.record.pg_data).is_relative_to(place):
            shutil.rmtree(Path(made.record.pg_data).parent, ignore_errors=True)
    return aftermath


@contextlib.contextmanager
def _serving(home: Home) -> Iterator[None]:
    """The new home's server, until the end of the block; then it has stopped cleanly."""
    log = home.logs / "postgres.log"
    with open(log, "ab") as output:
        process = subprocess.Popen(
            postgres.command(home),
            cwd="/",
            env=postgres.CLEAN_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGQUIT),
            **popen_user(home.account),
        )
    try:
        until = time.monotonic() + START_LIMIT_S
        while not postgres.answers(home):
            if process.poll() is not None or time.monotonic() > until:
                last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
                raise NotRestored(f"PostgreSQL didn't start: {last}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(postgres.STOP_SIGNAL)
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise NotRestored("PostgreSQL didn't stop: nothing was restored; try again") from None


def _load(home: Home, dump: Path) -> None:
    """Roles, database and rows. Triggers come after the rows, so that none of them fires."""
    provision.provision(home)
    with postgres.connect(home) as connection:
        connection.execute("drop schema audit")  # the dump makes it again, with its owner and grants
    tool, socket = f"{home.record.pg_bin}/pg_restore", home.record.pg_socket_dir
    target = ["-h", socket, "-U", postgres.SUPERUSER, "-d", postgres.DATABASE]
    run([tool, *target, "--exit-on-error", "--single-transaction", str(dump)])
    provision.provision(home)


def _connect_to(home: Home) -> None:
    """Django's settings were read before this server was there."""
    connections.close_all()
    for alias, role in ROLES.items():
        connections[alias].settings_dict.update(Env.read({"LEVEE_HOME": str(home.path)}).database(role))


def _put_files(path: Path, place: Path) -> None:
    """The home's own files. A home without a database has no use for a secret of its own."""
    for name in (SECRET, CREDENTIALS, KEY):
        if (place / name).exists():
            (path / name).parent.mkdir(mode=0o700, exist_ok=True)
            (place / name).replace(path / name)
    for stream in sorted((place / STREAMS).glob("*")):
        target = path / STREAMS / stream.name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        if target.exists():  # of an earlier life of this home: kept, but no longer where a query would read it
            target.rename(target.with_name(f"{target.name}.before-restore-{int(time.time())}"))
        stream.rename(target)


def _take_place(path: Path, made: Home) -> None:
    """From the rename on, the home has this database; before it, none."""
    home = open_home(path)
    data, new = Path(home.record.pg_data), Path(made.record.pg_data)
    if made.record.pg_bin is None or made.record.pg_major is None:
        raise StartRefused("PostgreSQL's programs aren't known")
    home.with_postgres(Path(made.record.pg_bin), made.record.pg_major)  # a start looks for them again
    data.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    new.rename(data)
    sync_directory(data.parent)

"""The home: the directory that holds, or records the place of, everything an instance writes."""

import fcntl
import json
import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TextIO

from console.supervisor.account import Account, can_enter, server_account
from console.supervisor.errors import StartRefused

RECORD_VERSION = 1
SOCKET_PATH_LIMIT = 107  # bytes of sockaddr_un.sun_path, less the closing zero
LONGEST_SOCKET_NAME = "/pg/.s.PGSQL.5432"
SYSTEM_DATA = Path("/var/lib/levee")
RESTORING = "restoring"  # in a home while a backup is restored into it


@dataclass(frozen=True)
class Record:
    """`home.json`: where the servers of this home are. Paths are absolute texts."""

    version: int
    run_dir: str
    pg_socket_dir: str
    pg_data: str
    pg_bin: str | None
    pg_major: int | None
    pg_user: str | None
    redis_socket: str


@dataclass(frozen=True)
class Home:
    """An opened home; `record` is what its `home.json` says."""

    path: Path
    record: Record
    account: Account | None

    @property
    def logs(self) -> Path:
        """A log file per process."""
        return self.path / "logs"

    @property
    def state(self) -> Path:
        """What is running: pids, statuses, the workers' records of their JVMs."""
        return self.path / "state"

    @property
    def run_dir(self) -> Path:
        """The short private directory of the sockets."""
        return Path(self.record.run_dir)

    def with_postgres(self, bin_dir: Path, major: int) -> "Home":
        """Pin the server's programs and major version in the record."""
        return _save(replace(self, record=replace(self.record, pg_bin=str(bin_dir), pg_major=major)))


def open_home(path: Path) -> Home:
    """Open the home, making what is missing. Raises StartRefused when it can't be made or written."""
    path = path.absolute()
    account = server_account()
    try:
        make_directories(path, account)
        record = _read_record(path)
        run_dir = _run_dir(record.run_dir if record else None, account)
        home = Home(path, _record(record, path, run_dir, account), account)
        _make_secret_key(path)
        return _save(home)
    except OSError as error:
        raise _unusable(path, error) from error


def lock_home(path: Path) -> TextIO:
    """Take the home for this process, until the returned file is closed or the process ends.

    Raises StartRefused naming the pid of the `up` that has it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = open(path / "up.lock", "a+", encoding="utf-8")  # noqa: SIM115 (held open on purpose)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise StartRefused(
            f"LEVEE_HOME: {path} is in use by another `up` (pid {holder}); stop that one first"
        ) from None
    try:
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), f"{os.getpid()}\n".encode())
    except OSError as error:
        file.close()
        raise _unusable(path, error) from error
    return file


def refuse_half_restored(path: Path) -> None:
    """Raises StartRefused for a home whose restore was cut short: an empty instance in it would be taken for the restored one.

    If only the end was cut, after the database had taken its place, this removes what is left.
    """
    place, record = path / RESTORING, _read_record(path)
    if not place.exists():
        return
    if not Path(record.pg_data if record else path / "postgres" / "data").exists():
        raise StartRefused(
            f"LEVEE_HOME: a restore into {path} was cut short: run `manage.py restore_backup` again, or remove {place}"
        )
    shutil.rmtree(place, ignore_errors=True)


def _unusable(path: Path, error: OSError) -> StartRefused:
    return StartRefused(f"LEVEE_HOME: {path} can't be used: {error.strerror or error} ({error.filename or path})")


def write_json(path: Path, value: Any) -> None:
    """Replace a file by one rename, so that a reader never sees half of it."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def make_directories(path: Path, account: Account | None) -> None:
    """What every part writes to. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    if path.stat().st_uid == os.geteuid():
        # The server's own user must pass through to its data; nobody else reads anything here.
        path.chmod(0o711 if account else 0o700)
    for name in ("logs", "state", "state/jvm"):
        (path / name).mkdir(mode=0o700, exist_ok=True)
    probe = path / "state" / "writable"
    probe.write_text("")
    probe.unlink(missing_ok=True)  # another start may have removed it first


def _read_record(path: Path) -> Record | None:
    file = path / "home.json"
    if not file.exists():
        return None
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        record = Record(**{field.name: value[field.name] for field in fields(Record)})
    except (ValueError, KeyError, TypeError) as error:
        raise StartRefused(f"LEVEE_HOME: {file} is damaged ({error!r}); restore it from a backup") from error
    if record.version != RECORD_VERSION:
        raise StartRefused(f"LEVEE_HOME: {file} was written by another Levee (format {record.version})")
    return record


def _record(old: Record | None, path: Path, run_dir: Path, account: Account | None) -> Record:
    return Record(
        version=RECORD_VERSION,
        run_dir=str(run_dir),
        pg_socket_dir=str(run_dir / "pg"),
        pg_data=old.pg_data if old else str(_data_place(path, account) / "data"),
        pg_bin=old.pg_bin if old else None,
        pg_major=old.pg_major if old else None,
        pg_user=account.name if account else None,
        redis_socket=str(run_dir / "redis.sock"),
    )


def _data_place(path: Path, account: Account | None) -> Path:
    """PostgreSQL's own directory: in the home, or outside when its user can't get there."""
    if account is None or can_enter(account, path):
        place = path / "postgres"
    else:
        SYSTEM_DATA.mkdir(parents=True, exist_ok=True)
        SYSTEM_DATA.chmod(0o711)
        place = SYSTEM_DATA / f"{path.name.strip('.') or 'home'}-{secrets.token_hex(4)}"
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o711 if account else 0o700)
    return place


def _run_dir(recorded: str | None, account: Account | None) -> Path:
    run_dir = Path(recorded) if recorded and _is_private(Path(recorded)) else _new_run_dir(account)
    sockets = run_dir / "pg"
    sockets.mkdir(mode=0o700, exist_ok=True)
    if account:
        os.chown(sockets, account.uid, account.gid)
    return run_dir


def _is_private(path: Path) -> bool:
    """Ours and closed to writers: the temporary directory belongs to everyone."""
    try:
        info = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022


def _new_run_dir(account: Account | None) -> Path:
    run_dir = _temporary(account) / f"levee-{os.geteuid()}-{secrets.token_hex(4)}"
    run_dir.mkdir(mode=0o700)
    run_dir.chmod(0o711 if account else 0o700)
    return run_dir


def _temporary(account: Account | None) -> Path:
    """The system's temporary directory, or /tmp when that is too long or closed to the server's user."""
    place = Path(tempfile.gettempdir())
    name = f"/levee-{os.geteuid()}-12345678{LONGEST_SOCKET_NAME}"
    too_long = len(os.fsencode(place)) + len(name) > SOCKET_PATH_LIMIT
    return Path("/tmp") if too_long or (account and not can_enter(account, place)) else place  # nosec B108  # noqa: S108


def _make_secret_key(path: Path) -> None:
    file = path / "secret_key"
    if file.exists():
        return
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(secrets.token_urlsafe(48) + "\n")


def _save(home: Home) -> Home:
    write_json(home.path / "home.json", asdict(home.record))
    return home

"""The home's own PostgreSQL: its programs, its data directory, its command line."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from console.supervisor import tools
from console.supervisor.account import Account, can_execute, current_user, popen_user
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home

SUPERUSER = "levee_super"
DATABASE = "levee"
OLDEST_MAJOR = 15
CLEAN_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}  # PG* and LC_* of the caller would reach the server
STOP_SIGNAL = signal.SIGINT  # "fast": ends the sessions, then shuts down cleanly


@dataclass(frozen=True)
class PostgresServer:
    """A PostgreSQL installation: where its programs are, and its major version."""

    bin_dir: Path
    major: int


def prepare(home: Home) -> Home:
    """Make the data directory if there is none, and pin the programs. Idempotent.

    Raises StartRefused when no server is installed, or not the major version the data was made with.
    """
    server = _choose(home)
    server = _where_executable(home, server)
    data = Path(home.record.pg_data)
    if not (data / "PG_VERSION").exists():
        _make_data(home, server, data)
    _write_access_rules(home, data)
    return home.with_postgres(server.bin_dir, server.major)


def command(home: Home, *options: str) -> list[str]:
    """The server in the foreground, on its unix socket only."""
    record = home.record
    settings = [
        "listen_addresses=",
        f"unix_socket_directories={record.pg_socket_dir}",
        "unix_socket_permissions=0700",
        "log_line_prefix=%m [%p] %u ",
        *options,
    ]
    return [f"{record.pg_bin}/postgres", "-D", record.pg_data, *(part for text in settings for part in ("-c", text))]


def answers(home: Home) -> bool:
    """True when the server takes a connection."""
    try:
        connect(home, "postgres").close()
    except psycopg.OperationalError:
        return False
    return True


def works(home: Home) -> bool:
    """False when the server leaves a connection waiting; one that refuses it, or recovers from a crash, works."""
    try:
        connect(home, "postgres").close()
    except psycopg.errors.ConnectionTimeout:
        return False
    except psycopg.OperationalError as error:
        return "temporarily unavailable" not in str(error)  # so many wait already that no more are let in
    return True


def connect(home: Home, database: str = DATABASE, user: str = SUPERUSER) -> psycopg.Connection:
    """An autocommit connection to the home's own server. Raises psycopg.OperationalError."""
    directory = home.record.pg_socket_dir
    return psycopg.connect(host=directory, dbname=database, user=user, autocommit=True, connect_timeout=5)


def _choose(home: Home) -> PostgresServer:
    pinned = home.record.pg_major
    servers = list(_installed())
    if pinned is None:
        new_enough = [server for server in servers if server.major >= OLDEST_MAJOR]
        if not new_enough:
            raise StartRefused(
                f"PostgreSQL {OLDEST_MAJOR} or newer isn't installed (or set LEVEE_DATABASE_URL): run `make setup`"
            )
        return new_enough[0]
    same = [server for server in servers if server.major == pinned]
    recorded = Path(home.record.pg_bin or "")
    for server in same:
        if server.bin_dir == recorded:
            return server
    if same:
        return same[0]
    if _major(recorded) == pinned:  # a copy in the home whose origin has gone
        return PostgresServer(recorded, pinned)
    majors = ", ".join(str(server.major) for server in servers) or "none"
    raise StartRefused(
        f"LEVEE_HOME: {home.path} holds data of PostgreSQL {pinned}, installed: {majors}. "
        f"Install {pinned}, or follow the steps in docs/operating.md to move to another"
    )


def _installed() -> Iterator[PostgresServer]:
    for bin_dir in _places():
        major = _major(bin_dir)
        if major is not None:
            yield PostgresServer(bin_dir, major)


def _places() -> Iterator[Path]:
    """Where server programs may lie, the first choice first."""
    debian = [entry for entry in Path("/usr/lib/postgresql").glob("*") if entry.name.isdigit()]
    yield from (entry / "bin" for entry in sorted(debian, key=lambda entry: -int(entry.name)))
    yield from sorted(Path("/usr").glob("pgsql-*/bin"), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    yield tools.POSTGRES_WHEEL / "pginstall18" / "bin"  # named, never globbed: an older server lies beside it


def _major(bin_dir: Path) -> int | None:
    if not (bin_dir / "initdb").is_file():
        return None
    try:
        text = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"\) (\d+)", text)
    return int(match.group(1)) if match else None


def _where_executable(home: Home, server: PostgresServer) -> PostgresServer:
    """The same server, copied beside the data when its user can't reach it (a wheel below a closed home)."""
    if home.account is None or can_execute(home.account, server.bin_dir / "postgres"):
        return server
    target = Path(home.record.pg_data).parent / f"server-{server.major}"
    if not (target / "complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        install = server.bin_dir.parent
        shutil.copytree(install, target / install.parent.name / install.name, symlinks=True)
        libraries = install.parent.with_name(install.parent.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name, symlinks=True)
        _open_to_all(target)
        (target / "complete").touch()
    install = server.bin_dir.parent
    return PostgresServer(target / install.parent.name / install.name / "bin", server.major)


def _open_to_all(tree: Path) -> None:
    """What the owner may read and run, everybody may: a strict umask would shut the server's user out again."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode & 0o777
            path.chmod(mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6)


def _make_data(home: Home, server: PostgresServer, data: Path) -> None:
    """initdb beside the place and one rename: an interrupted one leaves nothing that looks whole."""
    new = data.with_name("data.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if home.account:
        os.chown(new, home.account.uid, home.account.gid)
    arguments = ["-U", SUPERUSER, "-A", "peer", "-E", "UTF8", "--locale=C.UTF-8"]
    _run(home.account, [str(server.bin_dir / "initdb"), "-D", str(new), *arguments])
    new.rename(data)


def _run(account: Account | None, arguments: list[str]) -> None:
    done = subprocess.run(
        arguments,
        cwd="/",
        env=CLEAN_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        **popen_user(account),
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise StartRefused(f"PostgreSQL's data can't be made: {Path(arguments[0]).name}: {last}")


def _write_access_rules(home: Home, data: Path) -> None:
    """Only this system user connects, and only by the socket: the kernel says who it is."""
    user = current_user()
    roles = (SUPERUSER, "levee_migrate", "levee_app")
    _replace(home.account, data / "pg_hba.conf", "local all all peer map=levee\n")
    _replace(home.account, data / "pg_ident.conf", "".join(f'levee "{user}" {role}\n' for role in roles))


def _replace(account: Account | None, path: Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o600)
    if account:
        os.chown(new, account.uid, account.gid)
    new.replace(path)

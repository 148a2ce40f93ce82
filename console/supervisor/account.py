"""The user a server runs as: PostgreSQL refuses root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from console.supervisor.errors import StartRefused


@dataclass(frozen=True)
class Account:
    """An unprivileged user of this system."""

    name: str
    uid: int
    gid: int


class PopenUser(TypedDict, total=False):
    """The arguments of Popen that drop root."""

    user: int
    group: int
    extra_groups: list[int]


def server_account() -> Account | None:
    """Whom PostgreSQL runs as when we are root (`postgres`, else `nobody`); None: as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise StartRefused("PostgreSQL can't run as root, and this system has neither a user `postgres` nor `nobody`")


def popen_user(account: Account | None) -> PopenUser:
    """What to hand to Popen so that the program runs as the account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def current_user() -> str:
    """The name peer authentication sees for this process. Raises StartRefused for a uid without a name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise StartRefused(f"the user id {os.geteuid()} has no name in /etc/passwd, and PostgreSQL needs one") from None


def can_enter(account: Account, directory: Path) -> bool:
    """True when the account can reach the directory: every parent lets it through."""
    return _succeeds(account, 'cd "$1"', directory)


def can_execute(account: Account, program: Path) -> bool:
    """True when the account can run the program where it lies."""
    return _succeeds(account, 'test -x "$1"', program)


def _succeeds(account: Account, script: str, path: Path) -> bool:
    command: list[Any] = ["/bin/sh", "-c", script, "sh", path]
    done = subprocess.run(command, cwd="/", stderr=subprocess.DEVNULL, check=False, **popen_user(account))
    return done.returncode == 0

"""Installs Debian packages if allowed: as root, or with passwordless sudo."""

from __future__ import annotations

import os
import shutil
from threading import Lock

from console.setup.commands import answer, run
from console.setup.places import Places
from console.setup.troubles import CannotInstall, CommandFailed

# Several steps may want packages at the same time; dpkg takes one at a time.
_one_at_a_time = Lock()
_updated: set[bool] = set()

OPTIONS = ["-y", "--no-install-recommends", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300"]


def install(places: Places, what: str, choices: list[str]) -> None:
    """Install the first package of `choices` that the distribution has. Raises CannotInstall or CommandFailed."""
    prefix = _privilege(what, choices)
    with _one_at_a_time:
        log = places.logs / "apt.log"
        if not _updated:
            run([*prefix, "apt-get", "update"], log)
            _updated.add(True)
        package = next((name for name in choices if answer(["apt-cache", "show", name])), None)
        if package is None:
            raise CannotInstall(
                what, f"apt-get knows none of {', '.join(choices)}", "Install it by hand and run again."
            )
        _install_repairing([*prefix, "env", "DEBIAN_FRONTEND=noninteractive"], package, places)


def _install_repairing(prefix: list[str], package: str, places: Places) -> None:
    """An apt-get that was killed half-way leaves dpkg to be finished first; it says so."""
    log = places.logs / "apt.log"
    command = [*prefix, "apt-get", "install", *OPTIONS, package]
    try:
        run(command, log)
    except CommandFailed as failure:
        if "dpkg --configure -a" not in failure.output:
            raise
        run([*prefix, "dpkg", "--configure", "-a"], log)
        run(command, log)


def _privilege(what: str, choices: list[str]) -> list[str]:
    """The words to put before apt-get: none for root. Raises CannotInstall for everyone who may not."""
    if not shutil.which("apt-get"):
        raise CannotInstall(what, "not found, and this system has no apt-get", "Install it by hand and run again.")
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and answer(["sudo", "-n", "true"]) is not None:
        return ["sudo", "-n"]
    remedy = f"As root run: apt-get install {choices[0]}"
    raise CannotInstall(what, "not found, and installing it needs root", remedy)

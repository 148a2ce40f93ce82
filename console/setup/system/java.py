"""Java 17 or 21 for Spark: the system's, else Debian's package."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.setup import apt
from console.setup.commands import answer
from console.setup.places import Places

VERSIONS = (17, 21)
PACKAGES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless"]
# Spark 4.2 doesn't start on a Java that was built without it.
VECTOR = "jdk.incubator.vector"


def find() -> Path | None:
    """The `java` program of the first fitting Java: JAVA_HOME, PATH, then /usr/lib/jvm."""
    return next((program for program in _candidates() if _fits(program)), None)


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))


def _fits(program: Path) -> bool:
    """Read from the `release` file where there is one: starting a JVM only to ask would cost every start 0.2 s."""
    if not os.access(program, os.X_OK):
        return False
    release = program.resolve().parents[1] / "release"
    text = release.read_text() if release.is_file() else ""
    if 'JAVA_VERSION="' in text:
        return _major(text) in VERSIONS and (VECTOR in text or "MODULES=" not in text)
    return _major(answer([str(program), "--version"]) or "") in VERSIONS


def _major(text: str) -> int | None:
    match = re.search(r'(?:JAVA_VERSION="|^(?:openjdk|java) )(\d+)', text, re.MULTILINE)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Java:
    places: Places
    name: str = "Java 17 or 21"
    needs: tuple[str, ...] = ()

    def ready(self) -> bool:
        return find() is not None

    def install(self) -> None:
        apt.install(self.places, self.name, PACKAGES)

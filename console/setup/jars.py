"""Delta's jars, fetched once by the Ivy that is among pyspark's own jars, and checked against pinned hashes."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from console.setup import java, stamps
from console.setup.commands import run
from console.setup.places import Places
from console.setup.troubles import CannotInstall

LIST = Path(__file__).with_name("jars.txt")


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    def dependency(self) -> str:
        """Itself alone: not what it depends on."""
        return f'<dependency org="{self.group}" name="{self.artifact}" rev="{self.version}" transitive="false"/>'


def pinned(listing: Path = LIST) -> list[Jar]:
    """The jars of the list, in its order."""
    lines = [line for line in listing.read_text().splitlines() if line and not line.startswith("#")]
    return [Jar(*line.split()) for line in lines]


def wrong(directory: Path, jars: list[Jar]) -> list[str]:
    """The file names that are missing or hold other bytes than the pinned ones."""
    return [jar.file for jar in jars if _sha256(directory / jar.file) != jar.sha256]


def _sha256(file: Path) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


@dataclass(frozen=True)
class Jars:
    places: Places
    name: str = "Delta's jars"
    needs: tuple[str, ...] = ("Python packages", "Java 17 or 21")

    def ready(self) -> bool:
        """By stamp and presence; the bytes are checked when they come, 28 MB at every start would be felt."""
        there = all((self.places.jars / jar.file).is_file() for jar in pinned())
        return there and stamps.holds(self.places.stamps, "jars", stamps.digest([LIST]))

    def install(self) -> None:
        jars = pinned()
        if wrong(self.places.jars, jars):
            self._fetch(jars)
        stamps.write(self.places.stamps, "jars", stamps.digest([LIST]))

    def _fetch(self, jars: list[Jar]) -> None:
        part = self.places.tools / "jars.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        self._retrieve(jars, part)
        if bad := wrong(part, jars):
            raise CannotInstall(
                self.name, f"{', '.join(bad)} did not arrive with the pinned bytes", "Nothing was kept; run again."
            )
        shutil.rmtree(self.places.jars, ignore_errors=True)
        part.rename(self.places.jars)

    def _retrieve(self, jars: list[Jar], part: Path) -> None:
        """One JVM for all of them. Some of them are published as bundles, which are jars as well."""
        module = self.places.tools / "ivy.xml"
        wanted = "".join(jar.dependency() for jar in jars)
        module.write_text(
            '<ivy-module version="2.0"><info organisation="levee" module="jars"/>'
            f"<dependencies>{wanted}</dependencies></ivy-module>"
        )
        pattern = f"{part}/[artifact]-[revision].[ext]"
        ivy = [str(java.find()), "-cp", str(self._ivy()), "org.apache.ivy.Main", "-ivy", str(module)]
        run([*ivy, "-types", "jar", "bundle", "-retrieve", pattern, "-warn"], self.places.logs / "jars.log")

    def _ivy(self) -> Path:
        return next(self.places.venv.glob("lib/python3*/site-packages/pyspark/jars/ivy-*.jar"))

"""Delta's jars, and those of the tests' own Hadoop: fetched once by pyspark's own Ivy, and checked against pinned hashes."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from console.setup import stamps
from console.setup.commands import run
from console.setup.places import Places
from console.setup.system import java
from console.setup.troubles import CannotInstall

LIST = Path(__file__).with_name("jars.txt")
# A small Hadoop cluster of the tests' own: neither run nor shipped.
TEST_LIST = Path(__file__).with_name("test_jars.txt")


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str
    classifier: str = ""

    @property
    def file(self) -> str:
        of_it = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{of_it}.jar"

    def dependency(self) -> str:
        """Itself alone: not what it depends on."""
        own = (
            f'<artifact name="{self.artifact}" type="jar" m:classifier="{self.classifier}"/>' if self.classifier else ""
        )
        named = f'org="{self.group}" name="{self.artifact}" rev="{self.version}"'
        return f'<dependency {named} transitive="false">{own}</dependency>'


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
    stamp: str = "jars"

    @property
    def listing(self) -> Path:
        """What is fetched."""
        return LIST

    @property
    def directory(self) -> Path:
        """Where it lies."""
        return self.places.jars

    def ready(self) -> bool:
        """By stamp and presence; the bytes are checked when they come, 65 MB at every start would be felt."""
        there = all((self.directory / jar.file).is_file() for jar in pinned(self.listing))
        return there and stamps.holds(self.places.stamps, self.stamp, stamps.digest([self.listing]))

    def install(self) -> None:
        jars = pinned(self.listing)
        if wrong(self.directory, jars):
            self._fetch(jars)
        stamps.write(self.places.stamps, self.stamp, stamps.digest([self.listing]))

    def _fetch(self, jars: list[Jar]) -> None:
        part = self.places.tools / f"{self.stamp}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        self._retrieve(jars, part)
        if bad := wrong(part, jars):
            raise CannotInstall(
                self.name, f"{', '.join(bad)} did not arrive with the pinned bytes", "Nothing was kept; run again."
            )
        shutil.rmtree(self.directory, ignore_errors=True)
        part.rename(self.directory)

    def _retrieve(self, jars: list[Jar], part: Path) -> None:
        """One JVM for all of them. Some of them are published as bundles, which are jars as well.

        Ivy takes a classifier under the prefix `m`, whatever that stands for.
        """
        module = self.places.tools / f"{self.stamp}.xml"
        wanted = "".join(jar.dependency() for jar in jars)
        module.write_text(
            '<ivy-module version="2.0" xmlns:m="maven"><info organisation="levee" module="jars"/>'
            f"<dependencies>{wanted}</dependencies></ivy-module>"
        )
        pattern = f"{part}/[artifact]-[revision](-[classifier]).[ext]"
        ivy = [str(java.find()), "-cp", str(self._ivy()), "org.apache.ivy.Main", "-ivy", str(module)]
        run([*ivy, "-types", "jar", "bundle", "-retrieve", pattern, "-warn"], self.places.logs / f"{self.stamp}.log")

    def _ivy(self) -> Path:
        return next(self.places.venv.glob("lib/python3*/site-packages/pyspark/jars/ivy-*.jar"))


@dataclass(frozen=True)
class HadoopJars(Jars):
    """Those of the tests' own Hadoop, never beside Delta's: Spark takes all that lies there. After them, for two Ivys share a cache."""

    name: str = "the tests' Hadoop"
    needs: tuple[str, ...] = ("Delta's jars",)
    stamp: str = "test-jars"

    @property
    def listing(self) -> Path:
        return TEST_LIST

    @property
    def directory(self) -> Path:
        return self.places.test_jars

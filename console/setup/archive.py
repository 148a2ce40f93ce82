"""The class data sharing archive, which saves each JVM some seconds of its start. Levee runs as well without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from console.setup import stamps
from console.setup.commands import run
from console.setup.jars import LIST
from console.setup.places import Places
from console.setup.system import java


@dataclass(frozen=True)
class Archive:
    places: Places
    name: str = "Class archive for a faster Spark start"
    needs: tuple[str, ...] = ("Delta's jars",)

    def ready(self) -> bool:
        return self._file().is_file() and stamps.holds(self.places.stamps, "archive", self._digest())

    def install(self) -> None:
        """The JVM writes the file only when it ends by itself, so it is moved into place when it is whole."""
        part = self.places.tools / "levee.jsa.part"
        part.unlink(missing_ok=True)
        command = [str(self.places.python), "-m", "jobs.worker.archive", "--out", str(part)]
        home = Path(str(java.find())).resolve().parents[1]
        run(command, self.places.logs / "archive.log", cwd=self.places.root, env={"JAVA_HOME": str(home)})
        part.rename(self._file())
        stamps.write(self.places.stamps, "archive", self._digest())

    def _file(self) -> Path:
        return self.places.tools / "levee.jsa"

    def _digest(self) -> str:
        """An archive fits one Java and one class path: another of either makes it useless, never wrong."""
        jobs = self.places.root / "jobs"
        made_by = [
            jobs / "engine" / "config.py",
            *(jobs / "worker" / name for name in ("archive.py", "spark_engine.py", "warm.py")),
        ]
        inputs = [LIST, self.places.requirements / "spark.txt", *made_by]
        return stamps.digest(inputs, str(java.find() and Path(str(java.find())).resolve()))

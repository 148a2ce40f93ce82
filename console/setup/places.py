"""Where set-up keeps what it makes. Nothing of it is tracked; `make clean` removes all of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The directories of one clone; `root` is the directory that holds manage.py."""

    root: Path

    @property
    def tools(self) -> Path:
        return self.root / ".tools"

    @property
    def stamps(self) -> Path:
        return self.tools / "stamps"

    @property
    def logs(self) -> Path:
        return self.tools / "logs"

    @property
    def jars(self) -> Path:
        return self.tools / "jars"

    @property
    def test_jars(self) -> Path:
        return self.tools / "test-jars"

    @property
    def found(self) -> Path:
        """The JSON file that tells the rest of Levee where the programs are."""
        return self.tools / "found.json"

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def requirements(self) -> Path:
        return self.root / "requirements"

    @property
    def frontend(self) -> Path:
        return self.root / "frontend"


HERE = Places(Path(__file__).resolve().parents[2])

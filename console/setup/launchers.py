"""The executables that pyproject.toml names under `[project.scripts]`, put into .venv/bin."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

from console.setup.places import Places
from console.setup.venv import Environment


@dataclass(frozen=True)
class Launchers:
    """One small file each. They run the code where it lies, from any directory: nothing is built and nothing is copied."""

    places: Places
    name: str = "Command line"
    needs: tuple[str, ...] = ("Python packages",)

    def ready(self) -> bool:
        if not Environment(self.places).ready():  # it is about to be made anew, without these
            return False
        return all(file.is_file() and file.read_text() == text for file, text in self._files().items())

    def install(self) -> None:
        for file, text in self._files().items():
            part = file.with_name(f"{file.name}.part")
            part.write_text(text)
            part.chmod(0o755)
            part.rename(file)

    def _files(self) -> dict[Path, str]:
        project = tomllib.loads((self.places.root / "pyproject.toml").read_text())["project"]
        bin_of = self.places.python.parent
        return {bin_of / name: self._text(entry) for name, entry in project.get("scripts", {}).items()}

    def _text(self, entry: str) -> str:
        """A shell's line, since `#!` takes no path with a blank; -P: the directory you are in hides none of the modules."""
        module, _, function = entry.partition(":")
        code = (
            f"import sys; sys.path.insert(0, {str(self.places.root)!r}); from {module} import {function}; {function}()"
        )
        return f'#!/bin/sh\nexec {shlex.quote(str(self.places.python))} -P -c {shlex.quote(code)} "$@"\n'

"""The pages' script, stylesheet and icons, built by Node; the help, made from docs/; all collected by Django under hashed names."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from console.setup import stamps
from console.setup.commands import run
from console.setup.places import Places
from console.setup.system import node


@dataclass(frozen=True)
class NodeModules:
    places: Places
    name: str = "Front-end packages"
    needs: tuple[str, ...] = ("Node",)

    def ready(self) -> bool:
        return stamps.holds(self.places.stamps, "node-modules", self._digest())

    def install(self) -> None:
        """`npm ci` begins by emptying node_modules, so a half-filled one does no harm."""
        command = [*node.npm(self.places), "ci", "--no-audit", "--no-fund"]
        run(command, self.places.logs / "npm.log", cwd=self.places.frontend, env=_path(self.places))
        stamps.write(self.places.stamps, "node-modules", self._digest())

    def _digest(self) -> str:
        return stamps.digest([self.places.frontend / name for name in ("package.json", "package-lock.json")])


@dataclass(frozen=True)
class Build:
    places: Places
    name: str = "Front end"
    needs: tuple[str, ...] = ("Front-end packages",)

    def ready(self) -> bool:
        return stamps.holds(self.places.stamps, "frontend", sources(self.places)) and self._dist().is_dir()

    def install(self) -> None:
        command = [str(node.find(self.places)), "build.mjs"]
        run(command, self.places.logs / "frontend.log", cwd=self.places.frontend)
        stamps.write(self.places.stamps, "frontend", sources(self.places))

    def _dist(self) -> Path:
        return self.places.frontend / "dist" / "levee"


@dataclass(frozen=True)
class HelpPages:
    places: Places
    name: str = "Help"
    needs: tuple[str, ...] = ("Python packages",)

    def ready(self) -> bool:
        return self._built().is_file() and stamps.holds(self.places.stamps, "help", help_sources(self.places))

    def install(self) -> None:
        command = [str(self.places.python), "-m", "console.pages.help.build"]
        run(command, self.places.logs / "help.log", cwd=self.places.root)
        stamps.write(self.places.stamps, "help", help_sources(self.places))

    def _built(self) -> Path:
        return self.places.frontend / "help" / "site.json"


@dataclass(frozen=True)
class StaticFiles:
    """Also what Django and its apps bring, so it depends on the packages and the settings as well."""

    places: Places
    name: str = "Static files"
    needs: tuple[str, ...] = ("Front end", "Help", "Python packages")

    def ready(self) -> bool:
        manifest = self.places.frontend / "collected" / "staticfiles.json"
        return manifest.is_file() and stamps.holds(self.places.stamps, "static", self._digest())

    def install(self) -> None:
        command = [str(self.places.python), "manage.py", "collectstatic", "--no-input"]
        run(command, self.places.logs / "static.log", cwd=self.places.root)
        stamps.write(self.places.stamps, "static", self._digest())

    def _digest(self) -> str:
        inputs = [self.places.requirements / "web.txt", self.places.root / "console" / "settings.py"]
        return stamps.digest(inputs, sources(self.places), help_pictures(self.places))


def sources(places: Places) -> str:
    """Digest of everything the build reads."""
    front = places.frontend
    files = [path for folder in ("js", "styles") for path in (front / folder).rglob("*") if path.is_file()]
    fixed = [front / name for name in ("build.mjs", "purge.mjs", "icons.txt", "tabler.txt", "package-lock.json")]
    return stamps.digest([*files, *fixed], *sorted(str(path.relative_to(front)) for path in files))


def help_sources(places: Places) -> str:
    """Digest of everything that the help is made from."""
    docs, builder = places.root / "docs", places.root / "console" / "pages" / "help"
    pages = list(docs.rglob("*.md"))
    files = [*pages, builder / "build.py", builder / "rendering.py", places.requirements / "web.txt"]
    return stamps.digest(files, help_pictures(places), *sorted(str(path.relative_to(docs)) for path in pages))


def help_pictures(places: Places) -> str:
    """Digest of the pictures, which are static files; the pages are none."""
    pictures = places.root / "docs" / "screenshots"
    files = [*pictures.glob("*.png"), *pictures.glob("small/*.webp")]
    return stamps.digest(files, *sorted(str(path.relative_to(pictures)) for path in files))


def _path(places: Places) -> dict[str, str]:
    """npm looks for `node` on PATH; the wheel's isn't there by itself."""
    program = node.find(places)
    system = shutil.which("node")
    if program is None or (system and Path(system) == program):
        return {}
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}

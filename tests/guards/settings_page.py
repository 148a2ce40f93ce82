"""docs/settings.md, from the code: `make pages` writes it."""

from __future__ import annotations

from console.base.known_settings import SETTINGS, Setting
from console.supervisor.tools import PROJECT

PAGE = PROJECT / "docs" / "settings.md"
HEAD = """# Settings

Levee reads its settings from the environment, once, when a process starts. An empty value is an unset one. If a setting can't be used,
Levee refuses to start before anything runs, and says in one line which one and what is allowed. A name that begins with `LEVEE_` and
isn't here has no effect: Levee names it when it starts, with the name that you may have meant.

This page is generated from the code (`console/base/known_settings.py`); a test fails when the two differ.
"""
SECRET = " Keep it secret."


def render() -> str:
    """The page as it must be."""
    own = [setting for setting in SETTINGS if not setting.inner]
    inner = [setting for setting in SETTINGS if setting.inner]
    parts = [HEAD, _table(own), "## Set by Levee itself\n", _table(inner)]
    return "\n".join(parts)


def _table(settings: list[Setting]) -> str:
    lines = [["setting", "allowed", "default", "meaning", "read by"], ["---"] * 5, *map(_row, settings)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _row(setting: Setting) -> list[str]:
    meaning = setting.meaning + (SECRET if setting.secret else "")
    return [f"`{setting.name}`", setting.allowed, setting.default, meaning, setting.readers]


if __name__ == "__main__":
    PAGE.write_text(render())

"""The parts of docs/cli.md that the program itself says: `python -m tests.console.cli.reference` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from console.cli.exits import MEANING
from console.cli.program import levee

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def commands(group: click.Group = levee, above: str = "levee") -> Iterator[tuple[str, click.Command]]:
    """Each command with its full name, groups before theirs."""
    for name, command in group.commands.items():
        yield f"{above} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")


def exit_codes() -> str:
    rows = [f"| {int(code)} | {text} |" for code, text in MEANING.items()]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def reference() -> str:
    return "\n\n".join(f"### {name}\n\n```\n{_help(name, command)}\n```" for name, command in commands())


def _help(name: str, command: click.Command) -> str:
    """As --help prints it, whatever the width of this terminal."""
    context = click.Context(command, info_name=name, help_option_names=["-h", "--help"], terminal_width=100)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def written(page: str) -> str:
    """The page with its generated parts as they are now."""
    for mark, text in (("exit codes", exit_codes()), ("reference", reference())):
        part = re.compile(rf"(<!-- {mark}: [^\n]* -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
        page, count = part.subn(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for {mark}")
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

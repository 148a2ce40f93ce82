"""The audit log as a file."""

from __future__ import annotations

import codecs
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from console.cli.acts import Act, JobId, pass_session
from console.cli.exits import CliError, Exit
from console.cli.lookup import job_id
from console.cli.session import Session
from console.cli.words import plain


@click.group()
def audit() -> None:
    """Export the audit log."""


@audit.command("export", cls=Act)
@click.option("--format", "kind", type=click.Choice(["jsonl", "csv"]), help="Default: jsonl.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file, instead of standard output."
)
@click.option("--actor", metavar="NAME")
@click.option("--action", metavar="ACTION")
@click.option("--object", "about", metavar="OBJECT", help="kind:id, an id or a name.")
@click.option("--outcome", metavar="OUTCOME")
@click.option("--table", metavar="TABLE", help="An id, a name or a path.")
@click.option("--job", type=JobId(), metavar="JOB")
@click.option("--since", metavar="TIME", help="ISO 8601.")
@click.option("--until", metavar="TIME", help="ISO 8601.")
@click.option("--q", "words", metavar="TEXT", help="Words of the reason.")
@pass_session
def export(
    session: Session, kind: str | None, output: Path | None, about: str | None, words: str | None, **filters: Any
) -> None:
    """Export events, oldest first. You need the role auditor.

    JSON Lines end with the newest signed head of the chain. A file appears under its name only once it is whole.

    \b
    Examples:
      levee audit export --since 2026-11-01 -o november.jsonl
      levee audit export --table sales.orders --format csv > orders.csv
    """
    if session.as_json and kind == "csv":
        raise click.UsageError("--json and --format csv exclude each other.")
    if filters["job"]:
        filters["job"] = str(job_id(session.api, filters["job"]))
    query = {"format": kind or "jsonl", "object": about, "q": words, **filters}
    given = {name: value for name, value in query.items() if value is not None}
    with session.api.stream("/audit/export", given) as pieces, _target(output) as out:
        for piece in pieces:
            out.write(piece)
    if output is not None:
        session.note(f"Written: {output}")


class _Terminal:
    """Standard output where it is a terminal, which would obey control characters: the events are shown without them."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, piece: bytes) -> None:
        click.echo("\n".join(plain(line) for line in self._decoder.decode(piece).split("\n")), nl=False)


@contextmanager
def _target(output: Path | None) -> Iterator[IO[bytes] | _Terminal]:
    """Standard output, or a file that takes its name at the end; a device or a pipe is written as it is. Raises CliError."""
    if output is None:
        yield _Terminal() if sys.stdout.isatty() else sys.stdout.buffer
        return
    write = _through if output.exists() and not output.is_file() else _at_once
    with write(output) as out:
        yield out


@contextmanager
def _through(device: Path) -> Iterator[IO[bytes]]:
    with _said_of(device):
        out = device.open("wb")
    with out:
        yield out


@contextmanager
def _at_once(output: Path) -> Iterator[IO[bytes]]:
    file = output.resolve()  # what a link leads to is written, not the link
    with _said_of(output):
        handle, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        Path(part).replace(file)
    finally:
        Path(part).unlink(missing_ok=True)


@contextmanager
def _said_of(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CliError(Exit.USAGE, f"{output} can't be written: {error.strerror}.") from None

"""Damaged lines that a stream leaves out (`mode=DROPMALFORMED`): where a round counts them, and why it doesn't elsewhere.

Spark counts none of them. Levee has Spark read every line (`PERMISSIVE`) with the damaged ones marked, counts these and leaves them out
itself, but only where that writes the very rows that DROPMALFORMED writes. Elsewhere Spark goes about it in its own way.
"""

from __future__ import annotations

from jobs.commands.stream_round.rules import PARSED_FORMATS, Definition, FileSource, Steps, TableSource, is_on

DROPS = "DROPMALFORMED"
# Spark's name for the column that holds a damaged line's text. In a schema it is no column of the files.
CORRUPT = "_corrupt_record"

WHOLE_FILES = "With multiLine, Spark reads each file as one value rather than by line."
FILTERED = "Spark applies the filter while it parses a line of JSON, and passes over the rest of a line that the filter rules out."
NO_COLUMN = "The stream writes no column of the lines, so Spark doesn’t parse them whole."


def leaves_out(source: FileSource | TableSource) -> bool:
    """Whether the source's damaged lines are left out rather than failing the round or becoming rows."""
    return isinstance(source, FileSource) and (source.parse_mode or "").upper() == DROPS


def why_uncounted(definition: Definition, corrupt: str = CORRUPT) -> str:
    """Why a round doesn't count the damaged lines that it leaves out, in a sentence; empty if it counts them, or leaves none out.

    `corrupt` is the session's name for the column of damaged lines.
    """
    source, steps = definition.source, definition.steps
    if not isinstance(source, FileSource) or not leaves_out(source):
        return ""
    if is_on(source.options.get("multiLine")):
        return WHOLE_FILES
    # A key that a line has twice counts by its first value for Spark's parser if a filter asks for it, else by its last.
    if source.format == PARSED_FORMATS[0] and steps.filter is not None:
        return FILTERED
    return "" if written_columns(source, steps) - {corrupt.lower()} else NO_COLUMN


def written_columns(source: FileSource, steps: Steps) -> set[str]:
    """The source's columns that a batch writes or counts by, in lower case. Spark parses no others, so their values damage no line."""
    before = {new.lower(): old.lower() for old, new in steps.rename.items()}
    names = [field["name"] for field in source.schema["fields"]]
    if steps.count_as is not None:
        names = list(steps.group_by)
    elif steps.select:
        names = list(steps.select)
    else:
        before = {}
    return {before.get(name.lower(), name.lower()) for name in names}

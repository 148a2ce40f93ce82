"""The options that Levee passes on, by Delta’s and Spark’s own names: a closed list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.commands.stream_round.rules import FILE_OPTIONS, FORMAT_OPTIONS, PARSE_MODES, SINK_OPTIONS, TABLE_OPTIONS
from jobs.streams.faults import invalid

SWITCHES = frozenset(
    {
        "mergeschema",
        "overwriteschema",
        "ignoredeletes",
        "latestfirst",
        "recursivefilelookup",
        "multiline",
        "header",
        "wholetext",
    }
)


def options_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The options as texts, under their proper names. Raises Problem 400 for one that isn’t on the list."""
    known = {name.lower(): name for name in (*SINK_OPTIONS, *TABLE_OPTIONS, *FILE_OPTIONS)}
    known |= {name.lower(): name for names in FORMAT_OPTIONS.values() for name in names}
    options = {}
    for name, value in given.items():
        if name.lower() not in known:
            raise invalid(
                "options",
                f"{name[:60]} isn’t an option that Levee passes on. It knows: {', '.join(SINK_OPTIONS)} and those of sources.",
            )
        options[known[name.lower()]] = _text_of(name, value)
    return options


def _text_of(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float) or len(str(value)) > 500:
        raise invalid("options", f"The value of {name[:60]} must be a text, a number, or true or false.")
    _check_kind(name, str(value))
    return str(value)


def _check_kind(name: str, text: str) -> None:
    """Refuses a value that fails in the first round. Raises Problem 400."""
    lowered = name.lower()
    if lowered in SWITCHES and text.strip().lower() not in {"true", "false"}:
        raise invalid("options", f"{name} is true or false.")
    if lowered == "mode" and text.upper() not in PARSE_MODES:  # Spark would take an unknown one for PERMISSIVE
        raise invalid("options", f"mode is one of {', '.join(PARSE_MODES)}: what a damaged line does.")
    if lowered == "maxfilespertrigger" and not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise invalid("options", f"{name} is a number of files, 1 or more.")


def of_source(options: Mapping[str, str], allowed: tuple[str, ...], form: str) -> dict[str, str]:
    """Those that the source takes. Raises Problem 400 for one that is neither its own nor a sink’s."""
    strangers = [name for name in options if name not in allowed and name not in SINK_OPTIONS]
    if strangers:
        raise invalid("options", f"{strangers[0]} isn’t an option of a {form} source. It has: {', '.join(allowed)}.")
    return {name: value for name, value in options.items() if name in allowed}

"""Names of files as Hadoop and Spark read them: patterns of them (`GlobFilter`), and those that are hidden."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

UNKNOWN = "a pattern that only Hadoop can read"
_MAX_PATTERNS = 100
_GLOB_PART = re.compile(
    r"\\(?P<escaped>.)|\{(?P<choices>[^{}]*)\}|\[(?P<not>[!^]?)(?P<set>[^\]]+)\]|(?P<plain>.)", re.DOTALL
)


def matcher(pattern: str | None) -> Callable[[str], bool]:
    """Hadoop's GlobFilter: `*`, `?`, `[a-c]`, `[^a]` or `[!a]`, `{a,b}` and `\\` before a mark. Raises ValueError for others."""
    if not pattern:
        return lambda name: True
    patterns = _without_braces(pattern)
    return lambda name: any(fnmatchcase(name, one) for one in patterns)


def is_hidden(name: str) -> bool:
    """HadoopFSUtils.shouldFilterOutPathName: `_x=1` is a partition, and names like `_metadata` are Parquet's."""
    hidden = (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")
    return hidden and not name.startswith(("_common_metadata", "_metadata"))


def _without_braces(pattern: str) -> list[str]:
    """Patterns for fnmatch, one for each choice of alternatives in braces."""
    patterns = [""]
    for part in _glob_parts(pattern):
        patterns = [before + choice for before in patterns for choice in part]
        if len(patterns) > _MAX_PATTERNS:
            raise ValueError(UNKNOWN)
    return patterns


def _glob_parts(pattern: str) -> Iterator[list[str]]:
    """A pattern's pieces, each with its alternatives. Braces in braces are left to Spark."""
    for match in _GLOB_PART.finditer(pattern):
        if match["escaped"]:
            yield [_literal(match["escaped"])]
        elif match["choices"] is not None:
            yield ["".join(map("".join, _glob_parts(choice))) for choice in match["choices"].split(",")]
        elif match["set"] is not None:
            yield [f"[{'!' if match['not'] else ''}{match['set']}]"]
        elif match["plain"] in "{}[]\\":
            raise ValueError(UNKNOWN)
        else:
            yield [match["plain"]]


def _literal(character: str) -> str:
    return f"[{character}]" if character in "*?[" else character

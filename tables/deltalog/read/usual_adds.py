"""The adds that Delta's own writers put into a line of their own, read without a parse of the whole line: logs have millions of them.

Those without statistics are read all at once where a commit has many one after the other, and kept column by column: a table that was
converted, or is written by an engine that gathers no statistics, has hundreds of thousands of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]

from tables.deltalog.read.actions import AddFile
from tables.deltalog.read.lines import parse_json

LONGEST = 1 << 18
"""Bytes of such a line; longer ones are parsed as a whole, with the bounds that this has."""

NUM_RECORDS = '"numRecords"'
_NUMBER = r"(0|[1-9][0-9]{0,17})"
_HEAD = re.compile(
    r'\{"add":\{"path":"([^"\\/:%.\x00-\x1f][^"\\:%\x00-\x1f]*)"'
    r',"partitionValues":(\{[^{}\\\x00-\x1f]*\})'
    rf',"size":{_NUMBER},"modificationTime":{_NUMBER},"dataChange":(true|false)'
    r'(?:,"stats":"(?=\{\\"numRecords\\":(0|[1-9][0-9]{0,17})[,}])|(?:,"stats":null)?(\}\})\Z)'
)
_START = b'{"add":{"path":"'
_END = "}}"

FEW = 4
"""Lines below which there is nothing to gain."""

_NEXT = b"\n" + _START
_STATISTICS = b'"stats":"'
_BARE = re.compile(
    # A path that can be written in one way only (`paths.may_vary`), and stays in the table's directory.
    r'^\{"add":\{"path":"([^"\\/:%.\x00-\x1f]+(?:[/.](?![/.])[^"\\/:%.\x00-\x1f]*)*)"'
    r',"partitionValues":(\{[^{}\\\x00-\x1f]*\})'
    rf',"size":{_NUMBER},"modificationTime":{_NUMBER},"dataChange":(true|false)(?:,"stats":null)?\}}\}}$',
    re.MULTILINE,
)


def is_whole(stats: str) -> bool:
    """Whether statistics look like one object that names its number of rows once. False may be wrong: they are then parsed in full.

    What was cut off, or goes on behind, tells no number that anything may rest on.
    """
    return stats.endswith("}") and stats.count(NUM_RECORDS) == 1 and stats.count("{") == stats.count("}")


def usual_add(line: bytes) -> AddFile | None:
    """The file that a line adds, None where the line is anything but the usual: whoever asks then parses it.

    The usual is what a parse of the line reads as the same file and finds no problem in: members in Delta's order, a plain path, and
    statistics that begin with the number of rows, or none.
    """
    if len(line) > LONGEST or not line.startswith(_START):
        return None
    try:
        text = line.decode()
        head = _HEAD.match(text)
        if head is None:
            return None
        path, held, size, time, change, count, bare = head.groups()
        stats, end = (None, head.start(7)) if bare else scanstring(text, head.end())
        values = {} if held == "{}" else parse_json(held)
    except ValueError:
        return None
    if ".." in path or not text.startswith(_END, end) or end + len(_END) != len(text):
        return None
    if stats is not None and not is_whole(stats):
        return None
    if stats is not None and ("\x00" in stats or not (stats.isascii() or "\\u" not in text)):  # no database stores it
        return None
    if not all(value is None or type(value) is str for value in values.values()):
        return None
    return AddFile(path, values, int(size), int(time), change == "true", stats, None if bare else int(count))


@dataclass(slots=True)
class BareAdds:
    """Added files of which no statistics are known, with times and partition values as the log has them, and the latter `parsed`."""

    paths: list[str]
    values: list[str]
    parsed: dict[str, dict[str, str | None]]
    sizes: list[int]
    modification_times: list[str]
    data_changes: int
    text: int  # about how many bytes they take while they wait to be written

    def __len__(self) -> int:
        return len(self.paths)

    def extend(self, later: BareAdds) -> None:
        self.paths += later.paths
        self.values += later.values
        self.parsed |= later.parsed
        self.sizes += later.sizes
        self.modification_times += later.modification_times
        self.data_changes += later.data_changes
        self.text += later.text


def bare_adds(block: bytes) -> tuple[bytes, BareAdds, bytes] | None:
    """The adds of a block of lines, with the lines before and after them. None where there are few, or one of them isn't bare.

    Each is what `usual_add` reads in its line.
    """
    if block.count(_NEXT) < FEW - 1:
        return None
    start = 0 if block.startswith(_START) else block.find(_NEXT) + 1
    if _STATISTICS in block[start : start + 1024].partition(b"\n")[0]:
        return None
    last = block.rfind(_NEXT) + 1
    end = block.find(b"\n", last)
    end = len(block) if end < 0 else end
    adds = _read(block[start:end])
    return None if adds is None else (block[: max(0, start - 1)], adds, block[end + 1 :])


def _read(lines: bytes) -> BareAdds | None:
    try:
        found = _BARE.findall(lines.decode())
        if len(found) != lines.count(b"\n") + 1:
            return None
        paths, values, sizes, times, changes = map(list, zip(*found, strict=True))
        parsed = {text: {} if text == "{}" else parse_json(text) for text in set(values)}
    except ValueError:
        return None
    if not all(value is None or type(value) is str for held in parsed.values() for value in held.values()):
        return None
    return BareAdds(paths, values, parsed, list(map(int, sizes)), times, changes.count("true"), len(lines))

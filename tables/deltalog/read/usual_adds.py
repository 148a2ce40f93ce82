"""The `add` that Delta's own writers put into a line of its own, read without a parse of the whole line: logs have millions of them."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]

from tables.deltalog.read.actions import AddFile
from tables.deltalog.read.lines import parse_json

LONGEST = 1 << 18
"""Bytes of such a line; longer ones are parsed as a whole, with the bounds that this has."""

_NUMBER = r"(0|[1-9][0-9]{0,17})"
_HEAD = re.compile(
    r'\{"add":\{"path":"([^"\\/:%.\x00-\x1f][^"\\:%\x00-\x1f]*)"'
    r',"partitionValues":(\{[^{}\\\x00-\x1f]*\})'
    rf',"size":{_NUMBER},"modificationTime":{_NUMBER},"dataChange":(true|false)'
    r'(?:,"stats":"(?=\{\\"numRecords\\":([0-9]{1,18})[,}])|(?:,"stats":null)?(\}\})\Z)'
)
_START = b'{"add":{"path":"'
_END = "}}"


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
    if stats is not None and ("\x00" in stats or not (stats.isascii() or "\\u" not in text)):  # no database stores it
        return None
    if not all(value is None or type(value) is str for value in values.values()):
        return None
    return AddFile(path, values, int(size), int(time), change == "true", stats, None if bare else int(count))

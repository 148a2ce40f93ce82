"""Lines of a commit, read in pieces: memory stays flat whatever a log contains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from json.scanner import make_scanner
from typing import Any, NoReturn

from tables.deltalog.read.problems import ProblemCode, Problems
from tables.storage.store import Chunks, StorageError

MAX_LINE = 8 << 20
NOT_JSON = "not JSON"
"""What a line that no engine can read is said to be; other problems of lines are limits of this reader."""
"""Bytes of the longest line that is parsed. Python's values take a multiple of the text, and the bar is 200 MB."""

_LARGE = 1 << 18
_MAX_VALUES = 400_000


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_DECODER)  # type: ignore[arg-type]


def read_lines(storage: Chunks, path: str, size: int, file: str, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank. What can't be read becomes a problem of `file`; the rest goes on."""
    for first, block in read_blocks(storage, path, size, file, problems):
        for number, line in enumerate(block.split(b"\n"), first):
            if line and not line.isspace():
                yield number, line


def read_blocks(storage: Chunks, path: str, size: int, file: str, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """Whole lines, many together, with the number of the first; the last one's end is left out. Problems as with `read_lines`."""
    number, rest, dropping = 1, b"", False
    try:
        for chunk in storage.chunks(path, size):
            block, end, last = chunk.rpartition(b"\n")
            if end and dropping:
                _too_long(number, file, problems)
                _, end, block = block.partition(b"\n")
                number, dropping = number + 1, False
            if end:
                yield number, rest + block if rest else block
                number += block.count(b"\n") + 1
                rest = b""
            if not dropping:
                rest = rest + last if rest else last
                dropping = len(rest) > MAX_LINE
                rest = b"" if dropping else rest
    except StorageError as error:
        problems.add(file, str(error), ProblemCode.MISSING if error.missing else ProblemCode.UNREADABLE)
    if dropping:
        _too_long(number, file, problems)
    elif rest and not rest.isspace():
        yield number, rest


def _too_long(number: int, file: str, problems: Problems) -> None:
    problems.add(file, f"line {number} is longer than {MAX_LINE >> 20} MiB and was not read")


def parse_json(line: bytes | str) -> Any:
    """The value of a JSON text, without lone surrogates and NUL (no database stores them). Raises ValueError with the reason."""
    if len(line) > _LARGE:
        _refuse_too_many_values(line)
    try:
        text = line.decode() if isinstance(line, bytes) else line
        value = _decode(text)
        return _storable(value) if "\\u" in text and _suspicious(text) else value
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{NOT_JSON}: {error.msg} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise ValueError("not readable: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError("a number is too long to be read" if "digits" in str(error) else str(error)) from error


def _decode(text: str) -> Any:
    """As JSONDecoder.decode, without its two searches for white space where there is none."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def _refuse_too_many_values(line: bytes | str) -> None:
    data = line if isinstance(line, bytes) else line.encode(errors="replace")
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > _MAX_VALUES:
        raise ValueError(f"it holds more than {_MAX_VALUES:,} values and was not read")


def _suspicious(text: str) -> bool:
    return "\\u0000" in text or "\\ud" in text or "\\uD" in text


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value


def read_actions(storage: Chunks, path: str, size: int, file: str, problems: Problems) -> Iterator[tuple[str, Any]]:
    """Actions as (name, JSON value) pairs, in order. A line that holds no action becomes a problem."""
    for number, line in read_lines(storage, path, size, file, problems):
        yield from actions_in(line, number, file, problems)


def actions_in(line: bytes, number: int, file: str, problems: Problems) -> list[tuple[str, Any]]:
    """The actions of one line, as a rule a single one."""
    try:
        action = parse_json(line)
    except ValueError as error:
        problems.add(file, f"line {number}: {error}")
        return []
    if type(action) is not dict or not action:
        problems.add(file, f"line {number} holds no action")
        return []
    return [item for item in action.items() if item[1] is not None]

"""Thrift's compact protocol, as parquet's footers and page headers are written: field numbers and values, names left out.

Read here because Arrow ends the process at some footers when it is asked for a column's sizes, and doesn't tell a page's at all.
Loops are written out where a footer has thousands of the same: a small checkpoint takes Arrow a millisecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import unpack_from
from typing import Any

Struct = dict[int, Any]
Wanted = Mapping[int, "Wanted | None"]
"""Fields by number, each with those that are wanted of it where it holds structs; None is all of it."""

_MOST_DEPTH = 16
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_SHORT, _LONG = 4, 6  # whole numbers of 16, 32 and 64 bits, which are written alike
_SIZES = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}  # bytes of a list's element


class Malformed(ValueError):
    """Bytes that are no Thrift."""


class _Unusual(Exception):
    """What only a reading of the whole struct can tell apart."""


def read_struct(data: bytes, wanted: Wanted | None = None) -> tuple[Struct, int]:
    """The struct at the beginning of the bytes, and how many it takes. Raises Malformed, also where bytes are missing.

    With `wanted` the other fields are passed over, as a rule.
    """
    try:
        return _struct(data, 0, wanted, 0)
    except _Unusual:
        return read_struct(data)
    except IndexError as error:
        raise Malformed("it ends too early") from error


def _struct(data: bytes, at: int, wanted: Wanted | None, depth: int) -> tuple[Struct, int]:
    if depth > _MOST_DEPTH:
        raise Malformed("it is nested too deeply")
    fields: Struct = {}
    number = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head > 15:
            number += head >> 4
        elif wanted is None:
            number, at = _signed(data, at)
        else:  # perhaps a field that was passed over is named again
            raise _Unusual
        if wanted is not None and number not in wanted:
            at = _after(data, at, kind, depth)
            continue
        if number in fields:  # readers differ in which one they take
            raise Malformed("it names a field twice")
        if _SHORT <= kind <= _LONG:
            size, at = (data[at], at + 1) if data[at] < 128 else _number(data, at)
            fields[number] = (size >> 1) ^ -(size & 1)
        elif kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind, wanted and wanted[number], depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, wanted: Wanted | None, depth: int) -> tuple[Any, int]:
    """A value that isn't a field's `true` or `false`, and where the next thing begins."""
    if _SHORT <= kind <= _LONG:
        return _signed(data, at)
    if kind == _BINARY:
        size, at = (data[at], at + 1) if data[at] < 128 else _number(data, at)
        return data[at : at + size], at + size
    if kind == _STRUCT:
        return _struct(data, at, wanted, depth + 1)
    if kind in (_LIST, _SET):
        return _list(data, at, wanted, depth + 1)
    if kind == _MAP:
        return _map(data, at, depth + 1)
    if kind == _DOUBLE:
        return float(unpack_from("<d", data[at : at + 8].ljust(8))[0]), at + 8
    if kind in (_TRUE, _FALSE):
        return data[at] == _TRUE, at + 1
    if kind == _BYTE:
        return data[at], at + 1
    raise Malformed(f"it has a value of the unknown kind {kind}")


def _list(data: bytes, at: int, wanted: Wanted | None, depth: int) -> tuple[list[Any], int]:
    count, kind, at = _opening(data, at)
    values: list[Any] = []
    value: Any
    for _ in range(count):
        if kind == _BINARY and data[at] < 128:
            end = at + 1 + data[at]
            value, at = data[at + 1 : end], end
        elif kind == _STRUCT:
            value, at = _struct(data, at, wanted, depth + 1)
        else:
            value, at = _value(data, at, kind, wanted, depth)
        values.append(value)
    return values, at


def _opening(data: bytes, at: int) -> tuple[int, int, int]:
    """How many elements a list has, of which kind, and where they begin."""
    head = data[at]
    count, at = (head >> 4, at + 1) if head < 0xF0 else _number(data, at + 1)
    return count, head & 15, at


def _map(data: bytes, at: int, depth: int) -> tuple[list[tuple[Any, Any]], int]:
    count, at = _number(data, at)
    pairs = []
    kinds, at = (data[at], at + 1) if count else (0, at)
    for _ in range(count):
        key, at = _value(data, at, kinds >> 4, None, depth)
        value, at = _value(data, at, kinds & 15, None, depth)
        pairs.append((key, value))
    return pairs, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise Malformed("a number has more than 64 bits")


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _number(data, at)
    return (number >> 1) ^ -(number & 1), at


def _after(data: bytes, at: int, kind: int, depth: int) -> int:
    """Where the next thing after a field's value begins."""
    if _SHORT <= kind <= _LONG:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _BINARY:
        size, at = (data[at], at + 1) if data[at] < 128 else _number(data, at)
        return at + size
    if kind == _STRUCT:
        return _after_struct(data, at, depth + 1)
    if kind in (_LIST, _SET):
        return _after_list(data, at, depth + 1)
    if kind in _SIZES:
        return at + _SIZES[kind]
    raise _Unusual


def _after_struct(data: bytes, at: int, depth: int) -> int:
    if depth > _MOST_DEPTH:
        raise Malformed("it is nested too deeply")
    while head := data[at]:
        at += 1
        kind = head & 15
        if head < 16:
            raise _Unusual
        if _SHORT <= kind <= _LONG:
            while data[at] > 127:
                at += 1
            at += 1
        elif kind == _STRUCT:
            at = _after_struct(data, at, depth + 1)
        elif kind == _BINARY and data[at] < 128:
            at += 1 + data[at]
        elif kind > _FALSE:
            at = _after(data, at, kind, depth)
    return at + 1


def _after_list(data: bytes, at: int, depth: int) -> int:
    count, kind, at = _opening(data, at)
    if kind == _STRUCT:
        for _ in range(count):
            at = _after_struct(data, at, depth + 1)
    elif _SHORT <= kind <= _LONG:
        for _ in range(count):
            while data[at] > 127:
                at += 1
            at += 1
    elif kind in _SIZES:
        at += count * _SIZES[kind]
    else:
        for _ in range(count):
            at = _after(data, at, kind, depth)
    return at

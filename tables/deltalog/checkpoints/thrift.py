"""Thrift's compact protocol, as parquet's footers and page headers are written: field numbers and values, names left out.

Read here because Arrow ends the process at some footers when it is asked for a column's sizes, and doesn't tell a page's at all.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import unpack_from
from typing import Any

Struct = dict[int, Any]

_MOST_DEPTH = 16
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_INTEGERS = (4, 5, 6)


class Malformed(ValueError):
    """Bytes that are no Thrift."""


def read_struct(data: bytes) -> tuple[Struct, int]:
    """The struct at the beginning of the bytes, and how many it takes. Raises Malformed, also where bytes are missing."""
    reader = _Reader(data)
    try:
        struct = reader.struct(0)
    except IndexError as error:
        raise Malformed("it ends too early") from error
    return struct, reader.at


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int) -> Struct:
        if depth > _MOST_DEPTH:
            raise Malformed("it is nested too deeply")
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            if number in fields:  # readers differ in which one they take
                raise Malformed("it names a field twice")
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        simple: dict[int, Callable[[], Any]] = {_BINARY: self._binary, _BYTE: self._byte, _DOUBLE: self._double}
        if kind in simple:
            return simple[kind]()
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE
        if kind == _MAP:
            return self._map(depth + 1)
        raise Malformed(f"it has a value of the unknown kind {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        self._check(count)
        return [self._value(head & 15, depth) for _ in range(count)]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        count = self._number()
        self._check(count)
        kinds = self._byte() if count else 0
        return [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(count)]

    def _check(self, count: int) -> None:
        """Every element takes a byte at least."""
        if count > len(self.data) - self.at:
            raise Malformed("a list is longer than what holds it")

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _number(self) -> int:
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise Malformed("a number has more than 64 bits")

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _double(self) -> float:
        self._check(8)
        self.at += 8
        return float(unpack_from("<d", self.data, self.at - 8)[0])

    def _binary(self) -> bytes:
        size = self._number()
        self._check(size)
        self.at += size
        return self.data[self.at - size : self.at]

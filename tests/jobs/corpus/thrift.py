"""Thrift's compact protocol, read into values that can be changed and written again: how footers of other writers are made.

A struct is {field: (type, value)}, a list (type of its elements, values). Source: thrift-compact-protocol.md of apache/thrift.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Struct = dict[int, tuple[int, Any]]


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._zigzag()
            fields[number] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return head & 15, [self._value(head & 15) for _ in range(size)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def written(struct: Struct) -> bytes:
    """The bytes of a struct."""
    out = bytearray()
    last = 0
    for number, (kind, value) in sorted(struct.items()):
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _zigzag(number)
        out += b"" if kind in (TRUE, FALSE) else _written(kind, value)
        last = number
    return bytes(out) + b"\0"


def _written(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value])
    if kind in (I16, I32, I64):
        return _zigzag(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        of, values = value
        head = bytes([len(values) << 4 | of]) if len(values) < 15 else bytes([0xF0 | of]) + _varint(len(values))
        return head + b"".join(_written(of, each) for each in values)
    return written(dict(value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _zigzag(value: int) -> bytes:
    return _varint((value << 1 ^ value >> 63) & (1 << 64) - 1)

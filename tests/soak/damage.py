"""Damages bytes as disks, other writers and attackers do, from a source of chance."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

_NUMBERS = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1, 127, 128, 255)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|[{}\[\]:,]')
_VALUES = (
    "null", "true", "NaN", "Infinity", "-0.0", "1e999", "-1", "9" * 25, "9" * 5000, "1.5", '""', '"x"', '"\\ud800"', '"\\u0000"', "[]",
    "{}", "[null]", "[" * 2000, '{"a":' * 2000, '"NaN"', '"2020-02-30"', '"99999-01-01T00:00:00Z"', '"' + "x" * 3000 + '"', " ", "\n",
    "\ufeff", "}", "{", '{"numRecords":null}', "1e-400", "00", "-", "+1", "0x1",
)  # fmt: skip


class Damage:
    """`of` for any file, `text` for JSON in a text."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def of(self, content: bytes, others: Sequence[bytes]) -> bytes:
        """The content with some damages; others' bytes may be spliced in."""
        if content[:1] == b"{" and self.chance.random() < 0.7:
            return self._line(content)
        found = bytearray(content)
        for _ in range(self.chance.choice([1, 1, 2, 4, 16])):
            self.chance.choice(_WAYS)(self, found, others)
        return bytes(found)

    def text(self, text: str) -> str:
        """JSON with tokens in other tokens' places, cut, doubled, or another value altogether."""
        if self.chance.random() < 0.1:
            return self._blank() + self.chance.choice(_VALUES) + self._blank()
        tokens = _TOKEN.findall(text)
        for _ in range(self.chance.choice([1, 1, 2, 5])):
            at = self.chance.randrange(len(tokens))
            match self.chance.randrange(5):
                case 0 | 1:
                    tokens[at] = self.chance.choice(_VALUES)
                case 2:
                    tokens[at] = self.chance.choice(tokens)
                case 3:
                    tokens.insert(at, self.chance.choice(tokens))
                case 4:
                    del tokens[at : at + self.chance.choice([1, 1, len(tokens)])]
                    tokens = tokens or ["{}"]
        return self._blank() + "".join(tokens)

    def _line(self, content: bytes) -> bytes:
        lines = content.split(b"\n")
        at = self.chance.randrange(max(1, len(lines) - 1))
        lines[at] = self.text(lines[at].decode()).encode()
        return b"\n".join(lines)

    def _blank(self) -> str:
        return self.chance.choice(["", "", "", " ", "\n", "\t\r\n", "\ufeff", "\x00"])

    def place(self, content: bytearray) -> int:
        """Anywhere, rather often in a parquet file's footer and its length, or at the start of a page."""
        size = len(content)
        if size > 12 and content[-4:] == b"PAR1" and self.chance.random() < 0.6:
            footer = int.from_bytes(content[-8:-4], "little")
            return max(0, size - 1 - self.chance.randrange(min(size, footer + 8)))
        return self.chance.randrange(max(1, size))


Way = Callable[[Damage, bytearray, Sequence[bytes]], None]


def _flip(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    if content:
        content[damage.place(content)] ^= 1 << damage.chance.randrange(8)


def _set(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    if content:
        content[damage.place(content)] = damage.chance.choice(
            [0, 1, 0x15, 0x16, 0x18, 0x19, 0x1C, 0x7F, 0x80, 0xFE, 0xFF]
        )


def _number(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    number, at = damage.chance.choice(_NUMBERS), damage.place(content)
    form = damage.chance.choice(["<i", "<q"])
    packed = struct.pack("<q", (number + 2**63) % 2**64 - 2**63)[: struct.calcsize(form)]
    content[at : at + len(packed)] = packed[: len(content) - at]


def _varint(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    """As Thrift and parquet's levels write numbers."""
    number, at = damage.chance.choice(_NUMBERS) % 2**64, damage.place(content)
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    content[at : at + damage.chance.choice([1, len(found)])] = found


def _cut(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    del content[damage.place(content) :]


def _drop(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    at = damage.place(content)
    del content[at : at + damage.chance.choice([1, 2, 8, 100])]


def _double(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    at = damage.place(content)
    content[at:at] = content[at : at + damage.chance.choice([1, 8, 64])]


def _noise(damage: Damage, content: bytearray, _others: Sequence[bytes]) -> None:
    at = damage.place(content)
    content[at : at + damage.chance.choice([0, 4])] = damage.chance.randbytes(damage.chance.choice([1, 4, 16]))


def _splice(damage: Damage, content: bytearray, others: Sequence[bytes]) -> None:
    other = damage.chance.choice(others)
    size = damage.chance.choice([4, 32, 200])
    start, at = damage.chance.randrange(max(1, len(other))), damage.place(content)
    content[at : at + size] = other[start : start + size]


_WAYS: tuple[Way, ...] = (
    _flip,
    _flip,
    _flip,
    _set,
    _set,
    _number,
    _varint,
    _varint,
    _cut,
    _drop,
    _double,
    _noise,
    _splice,
)

"""Verifies an export of the audit without Levee: this one file, and Python's standard library.

    python verify_export.py export.jsonl --public-key HEX [--heads heads.jsonl] [--part]

Copy it to where you keep exports. It ends with 0 when nothing differs, with 1 when something does, with 2 when it can't read what
you gave it. What each finding means stands in docs/audit.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

START = "0" * 64  # what stands before the first link
SHOWN = 200

# An event's columns in the order of jsonb's keys: by length, then by name. Its hash is over the object with exactly these keys.
COLUMNS = (
    "at", "id", "job", "after", "action", "before", "digest", "reason", "address", "outcome", "session", "actor_id", "table_id",
    "token_id", "object_id", "actor_kind", "actor_name", "request_id", "object_kind", "object_name", "table_version",
)  # fmt: skip
_TABLE = COLUMNS.index("table_id")
_WITH_TABLE = "{" + ", ".join(f'"{name}": %s' for name in COLUMNS) + "}"
_WITHOUT_TABLE = _WITH_TABLE.replace('"table_id": %s, ', "")
_NAMED_OTHERWISE = {"actor_name": "actor", "table_id": "table"}
_EMPTY_AS_NULL = ("address", "session", "request_id")

quote = json.JSONEncoder(ensure_ascii=False).encode  # escapes what PostgreSQL's jsonb escapes, and nothing else


def event_hash(encoded: Sequence[str]) -> str:
    """The hash of one event; `encoded` has each of COLUMNS as jsonb would write it. `table_id` counts only where there is one."""
    whole, values = _WITH_TABLE, tuple(encoded)
    if encoded[_TABLE] == "null":
        whole, values = _WITHOUT_TABLE, values[:_TABLE] + values[_TABLE + 1 :]
    return hashlib.sha256((whole % values).encode()).hexdigest()


def link_hash(sequence: int, previous: str, event: object, event_hash: str) -> str:
    """The hash of one link of the chain."""
    return hashlib.sha256(f"{sequence}:{previous}:{event}:{event_hash}".encode()).hexdigest()


class WrittenNumber(str):
    """A number of the file as it is written there: 1.10 is not 1.1."""


def jsonb(value: Any) -> str:
    """The value as PostgreSQL's jsonb writes it: keys by length, then by their bytes, one blank after each colon and comma."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, WrittenNumber):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{', '.join(map(jsonb, value))}]"
    keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
    return f"{{{', '.join(f'{quote(key)}: {jsonb(value[key])}' for key in keys)}}}"


def read_line(line: str) -> Any:
    """A line of the file, with its numbers as they are written. Raises ValueError."""
    try:
        return json.loads(line, parse_int=WrittenNumber, parse_float=WrittenNumber)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def hash_of(event: Mapping[str, Any]) -> str:
    """The hash of an event as the export has it. Raises KeyError, TypeError, ValueError for what is no event."""
    row: dict[str, Any] = {name: event.get(_NAMED_OTHERWISE.get(name, name)) for name in COLUMNS}
    row |= {f"object_{part}": event["object"][part] for part in ("kind", "id", "name")}
    row |= {name: row[name] or "" for name in _EMPTY_AS_NULL}
    row["at"] = _time(event["at"])
    return event_hash([jsonb(row[name]) for name in COLUMNS])


def _time(exported: str) -> str:
    """2026-01-02T03:04:05.600000Z as jsonb writes that time: 2026-01-02T03:04:05.6+00:00."""
    day, _, fraction = exported.removesuffix("Z").partition(".")
    fraction = fraction.rstrip("0")
    return f"{day}{'.' if fraction else ''}{fraction}+00:00"


@dataclass(frozen=True)
class ExportFinding:
    """Something that differs, and from which sequence on; None where no sequence tells."""

    kind: str
    sequence: int | None
    text: str


@dataclass
class Export:
    """The chain as the file has it. Lines are sorted by time, links by number, so that a link may wait for an earlier one.

    A `part` (one table's events, one month's) has gaps: then each event and each pair of neighbours is verified.
    """

    part: bool
    heads: Mapping[int, Mapping[str, Any]]
    restores: Sequence[str] = ()
    events: int = 0
    unsealed: int = 0
    last: int = 0
    _link: str | None = START
    _waiting: dict[int, tuple[str, str]] = field(default_factory=dict)
    _before: tuple[str, str] = ("", "")

    def take(self, number: int, line: str) -> Iterator[ExportFinding]:
        """What is wrong with line `number`."""
        try:
            event = read_line(line)
            if "head" in event:
                return
            computed, place = hash_of(event), (event["at"], event["id"])
            sequence = None if event["sequence"] is None else int(event["sequence"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            yield ExportFinding("unreadable", None, f"Line {number} isn't an event: {error}.")
            return
        self.events += 1
        if place < self._before:
            yield ExportFinding("moved", sequence, f"Line {number} is older than the line before it: lines were moved.")
        self._before = place
        yield from _content(sequence, event, computed)
        yield from self._keep(sequence, event)

    def _keep(self, sequence: int | None, event: Mapping[str, Any]) -> Iterator[ExportFinding]:
        if sequence is None:
            self.unsealed += 1
        elif sequence <= self.last or sequence in self._waiting:
            yield ExportFinding("repeated", sequence, f"#{sequence} appears twice in the file.")
        else:
            self._waiting[sequence] = (event["previous"], event["link"])
            while self.last + 1 in self._waiting:
                yield from self._follow(self.last + 1)

    def _follow(self, sequence: int) -> Iterator[ExportFinding]:
        previous, link = self._waiting.pop(sequence)
        if self._link is not None and previous != self._link:
            yield ExportFinding("link_broken", sequence, f"#{sequence} doesn't follow the link before it.")
        head = self.heads.get(sequence)
        if head is not None and head["hash"] != link:
            yield ExportFinding("head_differs", sequence, f"#{sequence} isn't what was signed: it was written anew.")
        self.last, self._link = sequence, link

    def end(self) -> Iterator[ExportFinding]:
        """What only the whole file shows."""
        for sequence in sorted(self._waiting):
            if sequence != self.last + 1:
                yield from self._gap(sequence)
            yield from self._follow(sequence)
        if not self.part:
            yield from self._tail()

    def _gap(self, sequence: int) -> Iterator[ExportFinding]:
        if not self.part:
            text = f"#{self.last + 1} to #{sequence - 1} are missing: the file goes on with #{sequence}."
            yield ExportFinding("gap", self.last + 1, text)
        self._link = None

    def _tail(self) -> Iterator[ExportFinding]:
        if not self.heads:
            text = "The file doesn't end with a signed head, so lines missing at its end would go unnoticed."
            yield ExportFinding("head_missing", None, text)
        elif max(self.heads) > self.last:
            text = f"The file ends at #{self.last}, but #{max(self.heads)} was signed: what came after is gone."
            yield ExportFinding("tail_cut", self.last + 1, text)


def _content(sequence: int | None, event: Mapping[str, Any], computed: str) -> Iterator[ExportFinding]:
    where = "An event not sealed yet" if sequence is None else f"#{sequence}"
    if computed != event["hash"]:
        text = f"{where} ({event['id']}) isn't what was recorded"
        hidden = event["actor_kind"] == "token" and event.get("token_id") is None
        more = ": the person who exported it may not see where acts came from" if hidden else ""
        yield ExportFinding("event_changed", sequence, f"{text}{more}.")
    elif sequence is not None and event["link"] != link_hash(sequence, event["previous"], event["id"], event["hash"]):
        yield ExportFinding("seal_changed", sequence, f"{where} and its event don't belong together.")


def heads_of(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The signed heads among the lines: of an export (its last line), or of `heads.jsonl`, where each line is one, or a restore."""
    for line in lines:
        if line.startswith(('{"head"', '{"sequence"', '{"restored_to"')):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue  # a crash can tear the last line of heads.jsonl; in an export, `take` says it
            head = value.get("head", value)
            yield head if isinstance(head, dict) else {}


def signed_heads(
    heads: Iterable[Mapping[str, Any]], key: str | None
) -> tuple[dict[int, Mapping[str, Any]], list[ExportFinding]]:
    """Heads with a right signature (by `key` when it is told) by sequence, and what is wrong with the others.

    Heads that the line of a restored backup took back don't count, if the line is signed as well.
    """
    good: dict[int, Mapping[str, Any]] = {}
    wrong: list[ExportFinding] = []
    for head in heads:
        if "restored_to" in head:
            good = {sequence: each for sequence, each in good.items() if not _took_back(head, sequence, each, key)}
            continue
        try:
            text = f"levee audit head\n{head['sequence']}\n{head['hash']}\n{head['signed_at']}".encode()
            right = signed_by(bytes.fromhex(key or head["key"]), text, bytes.fromhex(head["signature"]))
            sequence = int(head["sequence"])
        except (KeyError, TypeError, ValueError, OverflowError):
            right, sequence = False, 0
        if right:
            good[sequence] = head
        else:
            wrong.append(
                ExportFinding("head_forged", sequence or None, f"The head #{sequence} isn't signed by the key.")
            )
    return good, wrong


def _took_back(restored: Mapping[str, Any], sequence: int, head: Mapping[str, Any], key: str | None) -> bool:
    """Whether the signed line of a restore is about this head: one of events after the backup, signed before the restore."""
    try:
        times = (datetime.fromisoformat(head["signed_at"]), datetime.fromisoformat(restored["restored_at"]))
        is_about = sequence > int(restored["restored_to"]) and times[0] <= times[1]
        return is_about and _is_restore_of(restored, key or head["key"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return False


def _is_restore_of(restored: Mapping[str, Any], key: str) -> bool:
    try:
        fields = [restored["restored_to"], restored["made_at"], restored["restored_at"], restored["last_head"] or 0]
        text = "\n".join(["levee audit restore", *map(str, fields)]).encode()
        return signed_by(bytes.fromhex(key), text, bytes.fromhex(restored["signature"]))
    except (KeyError, TypeError, ValueError):
        return False


def restores_in(heads: Iterable[Mapping[str, Any]], key: str | None) -> Iterator[str]:
    """What the restores among the heads' lines say, in words: those that `key` has signed, or the line's own key where none is told."""
    for line in heads:
        if "restored_to" in line and _is_restore_of(line, str(key or line.get("key"))):
            back = f"The chain was taken back to #{line['restored_to']} at {line['restored_at']}"
            yield f"{back}, by a restore of a backup of {line['made_at']}."


# Ed25519 as RFC 8032 has it, to verify only: points of the curve in extended coordinates (x, y, z, xy).
Point = tuple[int, int, int, int]
_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE: Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def signed_by(key: bytes, text: bytes, signature: bytes) -> bool:
    """Whether the Ed25519 signature over the text is right."""
    if len(key) != 32 or len(signature) != 64:
        return False
    public, commitment = _point(key), _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if public is None or commitment is None or scalar >= _ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % _ORDER
    return _same(_times(scalar, _BASE), _sum(commitment, _times(challenge, public)))


def _x(y: int, sign: int) -> int | None:
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return _P - x if x % 2 != sign else x


def _point(packed: bytes) -> Point | None:
    number = int.from_bytes(packed, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    x = _x(y, sign) if y < _P else None
    return None if x is None else (x, y, 1, x * y % _P)


def _sum(one: Point, two: Point) -> Point:
    a = (one[1] - one[0]) * (two[1] - two[0]) % _P
    b = (one[1] + one[0]) * (two[1] + two[0]) % _P
    c, d = 2 * one[3] * two[3] * _D % _P, 2 * one[2] * two[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _times(scalar: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while scalar:
        total = _sum(total, point) if scalar & 1 else total
        point, scalar = _sum(point, point), scalar >> 1
    return total


def _same(one: Point, two: Point) -> bool:
    return not ((one[0] * two[2] - two[0] * one[2]) % _P or (one[1] * two[2] - two[1] * one[2]) % _P)


def verify(path: str, key: str | None, others: str | None, *, part: bool) -> tuple[Export, list[ExportFinding]]:
    """The export as it was read, and everything that differs; `others` is a file of more heads. Raises OSError."""
    heads: list[Mapping[str, Any]] = []
    for file in filter(None, (path, others)):
        with open(file, encoding="utf-8", errors="replace") as lines:
            heads += heads_of(lines)
    good, findings = signed_heads(heads, key)
    export = Export(part, good, list(restores_in(heads, key)))
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            findings += export.take(number, line)
    findings += export.end()
    return export, findings


def main() -> int:
    """The command. Returns its exit code."""
    parser = argparse.ArgumentParser(description="Verifies an export of Levee's audit (JSON Lines).")
    parser.add_argument("export")
    parser.add_argument("--public-key", metavar="HEX", help="the key that heads must be signed with")
    parser.add_argument("--heads", metavar="FILE", help="heads.jsonl, the file of signed heads outside the database")
    parser.add_argument(
        "--part", action="store_true", help="the export was narrowed by filters: numbers may be missing"
    )
    asked = parser.parse_args()
    try:
        export, findings = verify(asked.export, asked.public_key, asked.heads, part=asked.part)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for restore in export.restores:
        sys.stdout.write(f"{restore}\n")
    for finding in findings[:SHOWN]:
        sys.stdout.write(f"{finding.kind}: {finding.text}\n")
    if asked.public_key is None:
        keys = sorted({head["key"] for head in export.heads.values()})
        sys.stdout.write(f"Signed with {', '.join(keys) or 'nothing'}: compare it with the public key that you kept.\n")
    verdict = f"{len(findings):,} difference{'s' * (len(findings) > 1)}" if findings else "nothing differs"
    waiting = f", {export.unsealed:,} of them not yet in the chain" if export.unsealed else ""
    sys.stdout.write(f"{export.events:,} event{'s' * (export.events != 1)} up to #{export.last}{waiting}: {verdict}\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

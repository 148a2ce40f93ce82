"""Signed heads: the chain's end at one moment, written to a file outside the database, so that a rewritten or cut chain shows.

The file `heads.jsonl` lies in LEVEE_AUDIT_HEADS (by default `<home>/audit`), the key in `<home>/audit/key`. Both only grow or stay.
Restoring a backup adds a signed line of its own: heads that were signed before it, of events after the backup, no longer count.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db import connection
from django.utils import timezone

from console.audit.models import Head

EVERY = timedelta(minutes=5)
EVERY_EVENTS = 1_000


def _is_signed(signature: str, text: bytes, key: str) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _time(text: str) -> datetime:
    """Raises ValueError for what is no time with its zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text} lacks its zone")
    return time


@dataclass(frozen=True, slots=True)
class SignedHead:
    """One line of the file. `key` is the public key, `signature` is over `signed_text`; both hexadecimal."""

    sequence: int
    hash: str
    signed_at: str  # ISO 8601, UTC
    key: str
    signature: str

    @property
    def signed_text(self) -> bytes:
        return f"levee audit head\n{self.sequence}\n{self.hash}\n{self.signed_at}".encode()

    def is_signed_by(self, key: str) -> bool:
        """Whether the signature is right, and by exactly this key."""
        return self.key == key and _is_signed(self.signature, self.signed_text, key)


@dataclass(frozen=True, slots=True)
class Restored:
    """The line of a restored backup: the chain was taken back to the link `restored_to` (0: to its beginning).

    `last_head` is the newest head that no longer counts by it; None if none was exported. Times are ISO 8601, UTC.
    """

    restored_to: int
    made_at: str
    restored_at: str
    last_head: int | None
    key: str
    signature: str = ""

    @property
    def signed_text(self) -> bytes:
        fields = (self.restored_to, self.made_at, self.restored_at, self.last_head or 0)
        return "\n".join(["levee audit restore", *map(str, fields)]).encode()

    def is_signed_by(self, key: str) -> bool:
        """Whether the signature is right, and by exactly this key."""
        return self.key == key and _is_signed(self.signature, self.signed_text, key)

    def supersedes(self, head: SignedHead) -> bool:
        """Whether the head is of the past that the backup replaced. A copy of this line tells nothing about later heads."""
        return head.sequence > self.restored_to and _time(head.signed_at) <= _time(self.restored_at)


@dataclass(frozen=True, slots=True)
class HeadsFile:
    """What the file holds: its heads by sequence, how many lines are neither heads nor restores (a line torn by a crash counts),
    and the restores."""

    heads: Mapping[int, SignedHead]
    unreadable: int
    restores: tuple[Restored, ...] = ()


def heads_file() -> Path:
    """Where heads are written to."""
    return Path(settings.ENV.audit_heads) / "heads.jsonl"


def public_key() -> str:
    """The key that heads are checked with, hexadecimal; made at the first asking."""
    return _signing_key().public_key().public_bytes_raw().hex()


def sign_when_due() -> SignedHead | None:
    """Signs the chain's end if 5 minutes or 1,000 events have passed since the last head; None when nothing was due."""
    with connection.cursor() as cursor:  # twice a second
        cursor.execute("select sequence, hash from audit.seal order by sequence desc limit 1")
        end = cursor.fetchone()
    if end is None or not _is_due(end[0], _last_signed(end[0])):
        return None
    return sign(*end)


def _last_signed(end: int) -> Head | None:
    """The newest head in the file that this home signed. Not the newest row: inserting one would stop the signing."""
    key = public_key()
    heads = exported(key).heads
    for sequence in sorted(heads, reverse=True):
        if sequence <= end and heads[sequence].is_signed_by(key):
            return Head(sequence=sequence, signed_at=datetime.fromisoformat(heads[sequence].signed_at))
    return None


def _is_due(sequence: int, last: Head | None) -> bool:
    if last is None:
        return True
    new = sequence - last.sequence
    return new >= EVERY_EVENTS or (new > 0 and timezone.now() - last.signed_at >= EVERY)


def sign(sequence: int, link: str) -> SignedHead:
    """Signs one link as the head, and writes it to the file, then to the database: cutting one shows in the other."""
    key = _signing_key()
    public = key.public_key().public_bytes_raw().hex()
    at = timezone.now()
    unsigned = SignedHead(sequence, link, at.isoformat(), public, "")
    head = SignedHead(sequence, link, at.isoformat(), public, key.sign(unsigned.signed_text).hex())
    _append(heads_file(), [json.dumps(asdict(head))])
    Head.objects.bulk_create(
        [Head(sequence=sequence, hash=link, signed_at=at, key=public, signature=head.signature)], ignore_conflicts=True
    )
    return head


def _append(file: Path, lines: Iterable[str]) -> None:
    """Adds the lines by one write; what a crash has left of a line before them stays a line of its own."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(f"{line}\n" for line in lines)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
        stream.write(("\n" if _is_torn(file) else "") + text)
        stream.flush()
        os.fsync(stream.fileno())


def _is_torn(file: Path) -> bool:
    with open(file, "rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(size - 1, 0))
        return content.read(1) not in {b"", b"\n"}


def exported(key: str | None = None) -> HeadsFile:
    """The heads in the file that count; restores count if `key` has signed them, this home's unless told. Empty without a file."""
    try:
        state = heads_file().stat()
    except FileNotFoundError:
        return HeadsFile({}, 0)
    return _read(heads_file(), state.st_mtime_ns, state.st_size, key or public_key())


@lru_cache(maxsize=4)
def _read(file: Path, changed: int, size: int, key: str) -> HeadsFile:
    with open(file, encoding="utf-8", errors="replace") as lines:
        return held_by(lines, key)


def held_by(lines: Iterable[str], key: str) -> HeadsFile:
    """What those lines of such a file hold. A restore takes back heads of that key alone: one that is forged stays, to be found."""
    heads: dict[int, SignedHead] = {}
    restores: list[Restored] = []
    unreadable = 0
    for line in lines:
        match _parsed(line):
            case SignedHead() as head:
                heads[head.sequence] = head
            case Restored() as restored if restored.is_signed_by(key):
                restores.append(restored)
                heads = {
                    number: head
                    for number, head in heads.items()
                    if not (restored.supersedes(head) and head.is_signed_by(key))
                }
            case _:
                unreadable += 1
    return HeadsFile(heads, unreadable, tuple(restores))


def _parsed(line: str) -> SignedHead | Restored | None:
    """What a line of the file holds; None for neither. Anyone who can write to the file could have written it."""
    try:
        value = json.loads(line)
        if "restored_to" in value:
            return _restored(Restored(**value))
        return _head(SignedHead(**value))
    except (ValueError, TypeError, RecursionError):
        return None


def _head(head: SignedHead) -> SignedHead | None:
    texts = (head.hash, head.signed_at, head.key, head.signature)
    right = _is_number(head.sequence, 1) and all(isinstance(text, str) for text in texts)
    return head if right and _time(head.signed_at) else None


def _restored(line: Restored) -> Restored | None:
    texts = (line.made_at, line.restored_at, line.key, line.signature)
    right = _is_number(line.restored_to, 0) and all(isinstance(text, str) for text in texts)
    right = right and (line.last_head is None or _is_number(line.last_head, 1))
    return line if right and _time(line.made_at) and _time(line.restored_at) else None


def _is_number(value: object, least: int) -> bool:
    return type(value) is int and value >= least  # not a text, Infinity or true, which JSON has too


def lines_until(sequence: int) -> list[str]:
    """The file's lines for a backup of the chain up to that link: its heads, and the restores. Each without its end."""
    parsed = ((line, _parsed(line)) for line in _lines())
    return [
        line
        for line, value in parsed
        if isinstance(value, Restored) or (isinstance(value, SignedHead) and value.sequence <= sequence)
    ]


def keys() -> frozenset[str]:
    """The keys that the file's heads name. Another audit's are among them if two audits share the file."""
    return keys_in(_lines())


def keys_in(lines: Iterable[str]) -> frozenset[str]:
    """The keys that the heads among such lines name."""
    return frozenset(head.key for head in map(_parsed, lines) if isinstance(head, SignedHead))


def joined(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """(The file's lines, those of a backup that it lacks)."""
    own = _lines()
    known = set(own)
    return own, [line for line in lines if line and line not in known]


def _lines() -> list[str]:
    try:
        return heads_file().read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return []


def restore(lines: Iterable[str], sequence: int, made_at: str) -> Restored:
    """Adds a backup's lines to the file where they are missing, and then the line that says to which link the chain was taken back.

    Nothing is removed: what was exported since the backup stays in the file and is named by the line. The caller has made sure that
    the chain ends at that link, and that no head says otherwise.
    """
    key = _signing_key()
    public = key.public_key().public_bytes_raw().hex()
    own, missing = joined(lines)
    counting = held_by([*own, *missing], public).heads
    beyond = [number for number, head in counting.items() if number > sequence and head.is_signed_by(public)]
    unsigned = Restored(sequence, made_at, timezone.now().isoformat(), max(beyond, default=None), public)
    restored = replace(unsigned, signature=key.sign(unsigned.signed_text).hex())
    _append(heads_file(), [*missing, json.dumps(asdict(restored))])
    return restored


def public_key_in(file: Path) -> str:
    """The public key of a home's key, which lies in that file. Raises ValueError for what is none."""
    return _key_in(file).public_key().public_bytes_raw().hex()


def _key_in(file: Path) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read_text().strip()))


def _signing_key() -> Ed25519PrivateKey:
    """The home's key, made once, for its owner's eyes only."""
    file = Path(settings.ENV.home) / "audit" / "key"
    if not file.exists():
        _make_key(file)
    return _key_in(file)


def _make_key(file: Path) -> None:
    """Makes the key; if another process or thread makes one at the same time, the first stays."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A name of its own: a second thread that wrote into the same file would change the key that the first has linked.
    descriptor, name = tempfile.mkstemp(prefix="key.", dir=file.parent)
    part = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(Ed25519PrivateKey.generate().private_bytes_raw().hex() + "\n")
    try:
        os.link(part, file)
    except FileExistsError:
        pass
    finally:
        part.unlink()

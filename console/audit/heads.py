"""Signed heads: the chain's end at one moment, written to a file outside the database, so that a rewritten or cut chain shows.

The file `heads.jsonl` lies in LEVEE_AUDIT_HEADS (by default `<home>/audit`), the key in `<home>/audit/key`. Both only grow or stay.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.utils import timezone

from console.audit.models import Head, Seal

EVERY = timedelta(minutes=5)
EVERY_EVENTS = 1_000


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
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
                bytes.fromhex(self.signature), self.signed_text
            )
        except (InvalidSignature, ValueError):
            return False
        return self.key == key


@dataclass(frozen=True, slots=True)
class HeadsFile:
    """What the file holds: its heads by sequence, and how many lines are no heads (a line torn by a crash counts)."""

    heads: Mapping[int, SignedHead]
    unreadable: int


def heads_file() -> Path:
    """Where heads are written to."""
    return Path(settings.ENV.audit_heads) / "heads.jsonl"


def public_key() -> str:
    """The key that heads are checked with, hexadecimal; made at the first asking."""
    return _signing_key().public_key().public_bytes_raw().hex()


def sign_when_due() -> SignedHead | None:
    """Signs the chain's end if 5 minutes or 1,000 events have passed since the last head; None when nothing was due."""
    end = Seal.objects.order_by("-sequence").values_list("sequence", "hash").first()
    if end is None or not _is_due(end[0], _last_signed(end[0])):
        return None
    return sign(*end)


def _last_signed(end: int) -> Head | None:
    """The newest head in the file that this home signed. Not the newest row: inserting one would stop the signing."""
    heads, key = exported().heads, public_key()
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
    _append(heads_file(), json.dumps(asdict(head)))
    Head.objects.bulk_create(
        [Head(sequence=sequence, hash=link, signed_at=at, key=public, signature=head.signature)], ignore_conflicts=True
    )
    return head


def _append(file: Path, line: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    torn = file.exists() and file.stat().st_size > 0 and not file.read_bytes().endswith(b"\n")
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
        stream.write(("\n" if torn else "") + line + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def exported() -> HeadsFile:
    """The heads in the file. Empty when there is no file yet."""
    try:
        state = heads_file().stat()
    except FileNotFoundError:
        return HeadsFile({}, 0)
    return _read(heads_file(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(file: Path, changed: int, size: int) -> HeadsFile:
    heads: dict[int, SignedHead] = {}
    unreadable = 0
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                head = SignedHead(**json.loads(line))
                datetime.fromisoformat(head.signed_at)
                heads[int(head.sequence)] = head
            except (ValueError, TypeError):
                unreadable += 1
    return HeadsFile(heads, unreadable)


def _signing_key() -> Ed25519PrivateKey:
    """The home's key, made once, for its owner's eyes only."""
    file = Path(settings.ENV.home) / "audit" / "key"
    if not file.exists():
        _make_key(file)
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read_text().strip()))


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

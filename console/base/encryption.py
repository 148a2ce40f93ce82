"""Secrets that Levee keeps for other systems, encrypted at rest with a key of its own.

The key is LEVEE_CREDENTIALS_KEY, else a file of the home that is made at first use, for its owner's eyes only.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from functools import lru_cache
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from console.base.disks import sync_directory

SETTING = "LEVEE_CREDENTIALS_KEY"
FILE = "credentials_key"
_NONCE = 12  # bytes, as AES-GCM takes them
_PURPOSE = b"levee credentials 1"


class WrongKey(Exception):
    """The text was encrypted with another key, or for another thing."""


def encrypt(text: str, owner: str) -> bytes:
    """The text as it is stored; only `decrypt` with the same owner reads it. Raises OSError where the key can't be made."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + _cipher(_key(may_make=True)).encrypt(nonce, text.encode(), owner.encode())


def decrypt(stored: bytes, owner: str) -> str:
    """The text that was encrypted for this owner. Raises WrongKey, also without a key, and OSError where it can't be read."""
    try:
        return _cipher(_key(may_make=False)).decrypt(stored[:_NONCE], stored[_NONCE:], owner.encode()).decode()
    except (InvalidTag, ValueError):
        raise WrongKey from None


@lru_cache(maxsize=4)
def _cipher(key: str) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(key.encode()))


def _key(*, may_make: bool) -> str:
    """Raises WrongKey for a key that isn't there and may not be made: a new one decrypts nothing that is stored."""
    given: str | None = settings.ENV.credentials_key
    if given is not None:
        return given
    file = Path(settings.ENV.home) / FILE
    if not file.exists():
        if not may_make:
            raise WrongKey
        _make(file)
    return file.read_text(encoding="utf-8").strip()


def _make(file: Path) -> None:
    """Makes the home's key; if another process makes one at the same time, the first stays.

    It is on the disk before anything is encrypted with it: the database keeps what it has acknowledged over a power cut.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"{FILE}.", dir=file.parent)
    part = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(secrets.token_urlsafe(48) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    try:
        os.link(part, file)
    except FileExistsError:
        pass
    finally:
        part.unlink()
    sync_directory(file.parent)

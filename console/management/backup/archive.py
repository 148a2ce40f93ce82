"""The file of a backup: a tar with a manifest first, then the database's dump and the home's own files, each with its checksum."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import IO, Any

from console.base.disks import sync_directory

FORMAT = 1
MANIFEST = "manifest.json"
DUMP = "database.dump"
LARGEST_MANIFEST = 64 << 20  # bytes
CHUNK = 1 << 20


class ArchiveError(Exception):
    """The file isn't a whole backup; the message is one line for a person."""


@dataclass(frozen=True)
class Manifest:
    """What a backup says of itself. `files` has each other member's `{sha256, size}` by its name.

    `sequence` and `hash` are the end of the audit's chain in the dump; 0 and "" for a chain without a link. `migrations` are those
    that the database had, as `app.name`.
    """

    format: int
    levee: str
    made_at: str  # ISO 8601, UTC: the moment of the dump's snapshot, by the database's clock
    home: str
    postgres_major: int
    sequence: int
    hash: str
    public_key: str
    migrations: list[str]
    files: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, text: str) -> Manifest:
        """Raises ArchiveError for what is no manifest, or one of another format."""
        try:
            value = json.loads(text)
            if value["format"] != FORMAT:
                raise ArchiveError(f"it has format {value['format']}, and this Levee reads format {FORMAT}")
            made = cls(**{field.name: value[field.name] for field in fields(cls)})
            texts = (made.levee, made.made_at, made.home, made.hash, made.public_key, *made.migrations)
            if not all(isinstance(text, str) for text in texts) or {type(made.sequence), type(made.postgres_major)} != {
                int
            }:
                raise TypeError("a value is of another kind")
            return made
        except (ValueError, KeyError, TypeError) as error:
            raise ArchiveError(f"its manifest is damaged ({error!r})") from error


def write(target: Path, manifest: Manifest, members: Mapping[str, Path]) -> None:
    """Writes the archive beside its place, for its owner's eyes only, and puts it there by one rename.

    `members` are the files by their names in the archive. Raises OSError, and ArchiveError for a manifest that nothing would read
    again; nothing is left then.
    """
    text = json.dumps(asdict(manifest), indent=1).encode()
    if len(text) > LARGEST_MANIFEST:
        raise ArchiveError(
            f"there are too many files for its manifest ({len(manifest.files):,}; see the streams' checkpoints)"
        )
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 600
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
                _add(tar, MANIFEST, io.BytesIO(text), len(text))
                for member, file in members.items():
                    with open(file, "rb") as content:
                        _add(tar, member, content, manifest.files[member]["size"])
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
        sync_directory(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    tar.addfile(info, content)


def described(file: Path) -> dict[str, Any]:
    """Checksum and size of a file, as the manifest has them."""
    digest = hashlib.sha256()
    with open(file, "rb") as content:
        while part := content.read(CHUNK):
            digest.update(part)
        return {"sha256": digest.hexdigest(), "size": content.tell()}


def manifest_of(file: Path) -> Manifest:
    """Raises ArchiveError."""
    with _opened(file) as tar:
        return _manifest(tar)


def extract(file: Path, directory: Path) -> Manifest:
    """Writes every member below `directory`, and compares each with its checksum: whole, or ArchiveError."""
    with _opened(file) as tar:
        manifest = _manifest(tar)
        missing = set(manifest.files)
        for member in tar:
            if member.name == MANIFEST:
                continue
            if member.name not in missing or not member.isfile():
                raise ArchiveError(f"{member.name!r} isn't in its manifest")
            missing.discard(member.name)
            _extract(tar, member, directory / _safe(member.name), manifest.files[member.name]["sha256"])
    if missing:
        raise ArchiveError(f"{min(missing)} is missing from it")
    return manifest


def _safe(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or any(part in {"", ".", ".."} for part in path.parts):
        raise ArchiveError(f"{name!r} leads out of it")
    return path


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path, sha256: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, content = hashlib.sha256(), tar.extractfile(member)
    if content is None:
        raise ArchiveError(f"{member.name!r} is no file")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        while part := content.read(CHUNK):
            digest.update(part)
            stream.write(part)
    if digest.hexdigest() != sha256:
        raise ArchiveError(f"{member.name} differs from its checksum")


def _manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    content = tar.extractfile(first) if first and first.name == MANIFEST and first.isfile() else None
    if first is None or content is None or first.size > LARGEST_MANIFEST:
        raise ArchiveError("it doesn't begin with a manifest: Levee didn't make it")
    try:
        return Manifest.read(content.read().decode())
    except UnicodeDecodeError as error:
        raise ArchiveError("its manifest is damaged") from error


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file, "r:") as tar:
            yield tar
    except (tarfile.TarError, EOFError) as error:
        raise ArchiveError(f"it is no whole archive ({error})") from error
    except OSError as error:
        raise ArchiveError(f"it can't be read: {error.strerror or error}") from error

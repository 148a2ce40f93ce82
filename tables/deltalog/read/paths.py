"""Paths inside a log. They are URL-encoded, relative to the table or absolute, and written by anyone."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tables.deltalog.read.problems import ProblemCode, Problems

_PLAIN = re.compile(r"[^/:%.][^:%]*")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_NOT_OF_A_URI = re.compile(r"[^A-Za-z0-9\-_.!~*'():@&=+$,/;\x80-\U0010ffff]")  # what Java escapes in a path
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")


def is_absolute(path: str) -> bool:
    """True for paths that name a place of their own (`/…`, `s3://…`), as shallow clones write them."""
    return _ABSOLUTE.match(path) is not None


def is_plain(path: str) -> bool:
    """True for the usual path: relative, nothing encoded, no `..`. All others are looked at closely."""
    return _PLAIN.fullmatch(path) is not None and ".." not in path


def is_outside(path: str) -> bool:
    """True when the path may name a file outside the table's directory: absolute, or with `..` once decoded."""
    if is_plain(path):
        return False
    decoded = unquote(path)
    return is_absolute(path) or decoded.startswith("/") or ".." in decoded.split("/") or "\x00" in decoded


def check_path(path: str, what: str, file: str, problems: Problems) -> None:
    if is_outside(path):
        problems.add(file, f"{what} names a file outside the table's directory", ProblemCode.OUTSIDE)


def decoded(path: str) -> str:
    """The path as the file system has it."""
    return unquote(path)


def may_vary(path: str) -> bool:
    """True for the few paths that can be written in more than one way (`canonical`)."""
    return ":" in path or path[:1] == "/" or "//" in path or "./" in path or "%" in path


def canonical(path: str) -> str:
    """The one spelling by which Delta's engine tells files apart: `/a`, `file:/a` and `file:///a` are one, and so are `./b` and `b`.

    Delta (CanonicalPathFunction) makes an absolute path without a scheme a file's, escaped anew, normalizes it as a URI and compares
    URIs. It never compares a relative path with an absolute one, nor decodes: `%41` and `A` are two files to it, and so they are here.
    """
    if not may_vary(path):
        return path
    match = _SCHEME.fullmatch(path)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", path)
    authority, rest = _authority(rest)
    if not scheme and not authority and rest.startswith("/"):
        scheme, rest = "file", _NOT_OF_A_URI.sub(_escaped, unquote(rest))
    place = f"{scheme}:" if scheme else ""
    place += f"//{authority}" if authority else ""
    return place + _ESCAPE.sub(lambda escape: escape[0].upper(), _normal(rest))


def placed(path: str, location: str) -> str:
    """A log's path decoded and absolute, for a table at `location`."""
    plain = decoded(canonical(path).removeprefix("file:"))
    return plain if plain.startswith("/") or "://" in plain else f"{location.rstrip('/')}/{plain}"


def _escaped(character: re.Match[str]) -> str:
    return f"%{ord(character[0]):02X}"


def _authority(rest: str) -> tuple[str, str]:
    """`//bucket/a` as `bucket` and `/a`."""
    if not rest.startswith("//"):
        return "", rest
    authority, slash, below = rest[2:].partition("/")
    return authority, slash + below


def _normal(path: str) -> str:
    """Without empty segments, `.`, and `..` behind a name."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(kept)

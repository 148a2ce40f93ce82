"""Paths inside a log. They are URL-encoded, relative to the table or absolute, and written by anyone."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tables.deltalog.problems import Code, Problems

_PLAIN = re.compile(r"[^/:%.][^:%]*")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:")


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
        problems.add(file, f"{what} names a file outside the table's directory", Code.OUTSIDE)


def decoded(path: str) -> str:
    """The path as the file system has it."""
    return unquote(path)

"""Moves a stream's checkpoint aside, so that its next round begins anew. Nothing is deleted."""

from __future__ import annotations

import itertools
import os

from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.directory import Directory
from tables.storage.local import directories as places

NOT_LOCAL = "The checkpoint {path} isn't a directory of this machine, and Levee moves no other."


def moved_aside(checkpoint: str) -> str | None:
    """Renames the checkpoint's directory to the first free `<checkpoint>.reset-<n>` and returns that; None if there is none.

    Raises CommandRefused: `outside_roots` for a link on the way or below, `unreadable` where it can't be moved.
    """
    checkpoint = checkpoint.rstrip("/")
    directory = existing(checkpoint)
    if directory is None:
        return None
    if not checkpoint.startswith("/"):
        text, remedy = NOT_LOCAL.format(path=checkpoint), "Move it yourself, then start the stream."
        raise CommandRefused(Refusal("unreadable", text, place=checkpoint, remedy=remedy))
    directory.check()
    folder, _, name = checkpoint.rpartition("/")
    try:
        # By the open folder, since its path may lead elsewhere in a moment.
        with places.opened(folder) as descriptor:
            free = _free(descriptor, name)
            directory.check_place()
            os.rename(name, free, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    except OSError as error:
        text = f"The checkpoint {checkpoint} can't be moved: {error.strerror}."
        remedy = "Let Levee's user write to the directory that holds it, then request it again."
        raise CommandRefused(Refusal("unreadable", text, place=checkpoint, remedy=remedy)) from error
    return f"{folder}/{free}"


def existing(checkpoint: str) -> Directory | None:
    """The checkpoint's directory; None while there is none. Raises CommandRefused `outside_roots` for a link on the way."""
    try:
        return Directory(checkpoint)
    except CommandRefused as refused:
        if refused.refusals[0].code == "not_found":
            return None
        raise


def _free(descriptor: int, name: str) -> str:
    for number in itertools.count(1):
        found = f"{name}.reset-{number}"
        try:
            os.stat(found, dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return found
    raise AssertionError("unreachable")

"""What the kernel says of a directory that nobody may touch: every opening, reading and change in it, by whatever process."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_ALL = 0xFFF & ~0x4  # all of inotify's events but changes of attributes
_NONBLOCK = os.O_NONBLOCK | os.O_CLOEXEC


class Watch:
    """Watches a directory with all that lies below it when the watch begins."""

    def __init__(self, top: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(_NONBLOCK)
        for folder, _, _ in os.walk(top):
            if self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _ALL) < 0:
                raise OSError(ctypes.get_errno(), f"{folder} can't be watched")
        self.touched()  # by the walk itself

    def touched(self) -> bool:
        """Whether anything happened there since it was asked last."""
        found = False
        while True:
            try:
                found = bool(os.read(self._descriptor, 1 << 16)) or found
            except BlockingIOError:
                return found

    def close(self) -> None:
        os.close(self._descriptor)

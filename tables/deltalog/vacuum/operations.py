"""The operations of a vacuum's two commits. Neither has an action of a file; the end's parameter `status` says whether it is whole."""

from __future__ import annotations

START, END = "VACUUM START", "VACUUM END"

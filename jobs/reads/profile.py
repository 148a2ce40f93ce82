"""Reads of a profile of columns by all of their rows, refused at once where the log tells that there is too much to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.read_limits import CODE, IN_VERSION, STATISTICS, excess, sentence
from jobs.models import Read
from jobs.reads.rows import PROFILE, queued
from tables.models import Table
from tables.sync import log_access


def ask_profile(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """Queues the read. `given` holds perhaps `version` (the newest without it) and `columns`.

    Raises Problem 403 `outside_roots`, 404 when the directory is gone, 422 `too_much_to_read`, 503 `audit_unavailable`.
    """
    head, asked = log_access.head_version(table.path, table.version), given.get("version")
    version = head if asked is None else int(asked)
    is_known = version is not None and version == head == table.version and table.size_bytes is not None
    if is_known and (too_much := excess(IN_VERSION, table.num_files or 0, table.size_bytes or 0, table.num_records)):
        raise Problem(422, CODE, f"{sentence(too_much)} {STATISTICS}")
    return queued(actor, PROFILE, table, {**given, "version": version}, version, by_name=False)

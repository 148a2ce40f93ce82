"""Every list that people may arrange, by name."""

from __future__ import annotations

from console.accounts.lists import ListKind
from console.pages.audit.kind import AUDIT
from jobs.web.kinds import APPROVALS, JOBS, SCHEDULES, STREAMS
from tables.web.kinds import COMMITS, HISTORY, TABLES

_ALL = (TABLES, HISTORY, COMMITS, JOBS, APPROVALS, STREAMS, SCHEDULES, AUDIT)
KINDS: dict[str, ListKind] = {kind.name: kind for kind in _ALL}

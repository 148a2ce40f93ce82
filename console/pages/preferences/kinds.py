"""Every list that people may arrange, by name."""

from __future__ import annotations

from console.accounts.lists import ListKind
from console.pages.audit.kind import AUDIT
from jobs.web.kinds import APPROVALS, JOBS, STREAMS
from tables.web.kinds import HISTORY, TABLES

KINDS: dict[str, ListKind] = {kind.name: kind for kind in (TABLES, HISTORY, JOBS, APPROVALS, STREAMS, AUDIT)}

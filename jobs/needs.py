"""What a request will need before it runs, said before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.domain.policy import Case, Policy, TableClass, decide
from jobs.policies import rules_now, share_of
from tables.models import Table


def needs_of(command: str, table: Table, preview: Mapping[str, Any]) -> Policy:
    """What today's rules ask of a command on the table, by what a preview says; the request's own preview decides."""
    case = Case(
        command=command,
        root=str(table.root_id),
        table=str(table.pk),
        table_class=TableClass(preview.get("class") or TableClass.ORDINARY),
        share=share_of(preview),
    )
    return decide(rules_now(command), case)

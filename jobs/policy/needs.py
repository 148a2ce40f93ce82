"""The approvals that a request will need, known before you make it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from console.accounts.models import Person
from jobs.domain.policy import Case, Policy, TableClass, decide
from jobs.policy.evaluate import reads_of, rules_for, share_of
from tables.models import Table


def needs_of(person: Person, command: str, table: Table, preview: Mapping[str, Any]) -> Policy:
    """The policy of a person's command on the table under the current rules and a preview; the request's own preview decides."""
    return needs_at(person, command, table.root_id, table.pk, preview)


def needs_at(
    person: Person, command: str, root_id: uuid.UUID, table_id: uuid.UUID | None, preview: Mapping[str, Any]
) -> Policy:
    """The same for a path below a root; `table_id` is None if the catalog has no table there yet."""
    case = Case(
        command=command,
        root=str(root_id),
        table=str(table_id or ""),
        table_class=TableClass(preview.get("class") or TableClass.ORDINARY),
        share=share_of(preview),
        reads=reads_of(preview),
    )
    return decide(rules_for(command, person.pk), case)

"""The approvals that a request will need, known before you make it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from console.accounts.authority import GrantScope
from console.accounts.models import Person
from jobs.domain.policy import Case, Policy, TableClass, decide
from jobs.policy.candidates import Candidates, candidates_for
from jobs.policy.evaluate import reads_of, rules_for, share_of
from jobs.policy.read_tables import ReadTable, read_table
from tables.models import Table


@dataclass(frozen=True)
class Needs:
    """The policy of a person's request at a place, and who could approve it there."""

    policy: Policy
    person: Person
    place: GrantScope
    other: ReadTable | None = None

    @property
    def required_approvals(self) -> int:
        return self.policy.required_approvals

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.policy.reasons

    @cached_property
    def candidates(self) -> Candidates | None:
        """Who could approve it; None, without a query, for a request that needs no approval."""
        if not self.policy.required_approvals:
            return None
        return candidates_for([self.person], self.policy.role, self.place, self.policy.required_approvals, self.other)


def needs_of(person: Person, command: str, table: Table, preview: Mapping[str, Any]) -> Needs:
    """The policy of a person's command on the table under the current rules and a preview; the request's own preview decides."""
    return needs_at(person, command, table.root_id, table.pk, preview)


def needs_at(
    person: Person, command: str, root_id: uuid.UUID, table_id: uuid.UUID | None, preview: Mapping[str, Any]
) -> Needs:
    """The same for a path below a root; `table_id` is None if the catalog has no table there yet."""
    case = Case(
        command=command,
        root=str(root_id),
        table=str(table_id or ""),
        table_class=TableClass(preview.get("class") or TableClass.ORDINARY),
        share=share_of(preview),
        reads=reads_of(preview),
    )
    place = GrantScope(table_id=table_id) if table_id else GrantScope(root_id=root_id)
    return Needs(decide(rules_for(command, person.pk), case), person, place, read_table(preview))

"""What changes of a schema do to a table, by its log alone: its schema, constraints and protocol before and after."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.commands.alter_schema.log import columns, tables
from jobs.commands.alter_schema.log.opposites import opposite_of, replaced_by
from jobs.commands.alter_schema.log.state import MetadataState, refused, state_of
from jobs.commands.alter_schema.rules import (
    IRREVERSIBLE,
    MAPPING_MODE,
    OPERATIONS,
    AlterSchema,
    Change,
    consequences_of,
    irreversible_of,
    opened,
    schema_digest,
    words_of,
    written_name,
)
from jobs.domain.consequences import Consequence, said
from jobs.domain.delta import protocols
from jobs.domain.delta.readers import unseen_by
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.policy import TableClass
from jobs.targets.engines import readers_of, stop_reading, stop_writing
from jobs.targets.metadata import refuse_metadata
from jobs.targets.subject import Subject
from tables.deltalog.rules.schema import parse_schema
from tables.deltalog.rules.schema_changes import SchemaChangeKind as Kind
from tables.deltalog.rules.schema_changes import compare_schemas

_APPLY: Mapping[str, Callable[[MetadataState, Any], Any]] = {
    "add": columns.add, "rename": columns.rename, "drop": columns.drop, "widen": columns.widen, "comment": columns.comment,
    "nullable": columns.nullable, "not_null": columns.not_null, "add_constraint": tables.add_constraint,
    "drop_constraint": tables.drop_constraint, "cluster_by": tables.cluster_by, "table_comment": tables.table_comment,
}  # fmt: skip


def from_log(subject: Subject, command: AlterSchema) -> tuple[AlterSchema, dict[str, Any]]:
    """The command as it is stored, and its preview at the subject's version.

    Raises CommandRefused with Delta's own condition for the first change that Delta would refuse, with its place in the list.
    """
    before = state_of(subject)
    after, written, constraints, opposites = before.copy(), [], [], []
    for number, change in enumerate(command.changes, 1):
        replaced = replaced_by(after, change)
        made = _applied(after, change, number, len(command.changes))
        written.append(made)
        opposites.append(opposite_of(made, replaced))
        if "add_constraint" in made:
            constraints.append(_constraint(made["add_constraint"], number))
    stored = replace(command, changes=written, path=subject.table.path)
    preview = _preview(subject, before, after, written, constraints)
    return stored, preview | {"opposites": _that_hold(after.copy(), opposites)}


def _that_hold(state: MetadataState, opposites: Sequence[Change | None]) -> list[Change | None]:
    """Those that Delta wouldn't refuse from the last one on, such as for a column that a later change drops; None for the others.

    One that takes column mapping stays: its page says so, and leads there.
    """
    kept: list[Change | None] = []
    for change in reversed(opposites):
        if change is not None:
            try:
                _applied(state, change, 1, 1)
            except CommandRefused as refused:
                change = change if refused.refusals[0].place == MAPPING_MODE else None
        kept.append(change)
    return kept[::-1]


def state_after(subject: Subject, changes: Sequence[Change]) -> MetadataState:
    """The table as the changes would leave it. Raises CommandRefused for the first one that Delta would refuse."""
    state = state_of(subject)
    for number, change in enumerate(changes, 1):
        _applied(state, change, number, len(changes))
    return state


def _applied(state: MetadataState, change: Change, number: int, count: int) -> dict[str, Any]:
    kind, value = opened(change)
    try:
        made = {kind: _APPLY[kind](state, value)}
        struct, features = parse_schema(state.schema_json), state.protocol.features
        refuse_metadata(struct, state.partitions, state.configuration, features=features)
        return made
    except CommandRefused as refused:
        if count == 1:
            raise
        raise CommandRefused(
            *(replace(each, message=f"Change {number}: {each.message}") for each in refused.refusals)
        ) from None


def _constraint(value: Mapping[str, Any], number: int) -> dict[str, Any]:
    """`rows` are those that violate it, once they are counted, and `predicate` finds them."""
    known = {"name": value["name"], "expression": value["expression"], "change": number}
    return {**known, "rows": None, "predicate": tables.violating(value["counted"])}


def _preview(
    subject: Subject,
    before: MetadataState,
    after: MetadataState,
    changes: Sequence[Change],
    constraints: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    raised = protocols.irreversible(before.protocol, after.protocol)
    irreversible = [*irreversible_of(changes), *raised]
    hard = bool(raised) or any(opened(change)[0] in IRREVERSIBLE for change in changes)
    found = consequences_of(
        changes, change_feed=before.change_feed, mapped=before.mapped, new_constraints=bool(constraints)
    )
    return {
        "class": (TableClass.IRREVERSIBLE if hard else TableClass.ORDINARY).value,
        "changes": [_listed(change) for change in changes],
        "before": before.as_json(),
        "after": after.as_json(),
        "diff": differences(before, after),
        "protocol_before": before.protocol.as_json(),
        "protocol_after": after.protocol.as_json(),
        "irreversible": irreversible,
        "readers": readers_of(after.protocol),
        "violating_rows": None,
        "constraints": list(constraints),
        "table_id": subject.metadata.id,
        "metadata_sha256": fingerprint(subject),
        "schema_digest": schema_digest(after.schema),
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [*found, *_lost(before, after), *unseen_by(subject.other_formats)],
    }


def _listed(change: Change) -> dict[str, str]:
    return {"text": words_of(change), "operation": OPERATIONS[opened(change)[0]]}


def _lost(before: MetadataState, after: MetadataState) -> list[Consequence]:
    """Programs that can read or write the table now and can't afterwards."""
    found = []
    if reads := stop_reading(before.protocol, after.protocol):
        found.append(said("stops_reading", f"Can no longer read the table: {', '.join(reads)}."))
    if writes := [name for name in stop_writing(before.protocol, after.protocol) if name not in reads]:
        found.append(said("stops_writing", f"Can no longer write to the table: {', '.join(writes)}."))
    return found


def differences(before: MetadataState, after: MetadataState) -> list[dict[str, Any]]:
    """What differs, line by line: `{kind, column, before, after}`; of constraints, clustering and comment the name is in `column`."""
    found = [
        {"kind": each.kind.value, "column": each.column, "before": each.before, "after": each.after}
        for each in compare_schemas(parse_schema(before.schema_json), parse_schema(after.schema_json))
        if each.kind is not Kind.METADATA
    ]
    names = dict.fromkeys((*before.constraints, *after.constraints))
    pairs = [(f"CHECK {name}", before.constraints.get(name), after.constraints.get(name)) for name in names]
    pairs.append(("CLUSTER BY", _clustered(before), _clustered(after)))
    pairs.append(("table comment", before.comment or None, after.comment or None))
    return found + [_line(*pair) for pair in pairs if pair[1] != pair[2]]


def _clustered(state: MetadataState) -> str | None:
    return ", ".join(map(written_name, state.clustering)) if state.clustering else None


def _line(name: str, before: str | None, after: str | None) -> dict[str, Any]:
    kind = "added" if before is None else "removed" if after is None else "changed"
    return {"kind": kind, "column": name, "before": before, "after": after}


def fingerprint(subject: Subject) -> str:
    """A hash of all that a change of the schema was previewed on; rows, files and an identity column's counter don't count."""
    state = state_of(subject)
    parts = [
        schema_digest(state.schema), state.partitions, sorted(state.configuration.items()), state.comment,
        sorted(state.protocol.features), state.clustering,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def with_counts(preview: Mapping[str, Any], rows: Mapping[str, int]) -> dict[str, Any]:
    """The preview with Spark's count of the rows that violate each new constraint, by the number of its change."""
    constraints = [{**each, "rows": rows.get(str(each["change"]), each["rows"])} for each in preview["constraints"]]
    counted = [each["rows"] for each in constraints if each["rows"] is not None]
    total = sum(counted) if len(counted) == len(constraints) else None
    return {**preview, "constraints": constraints, "violating_rows": total, "speed": "exact"}


def violations(preview: Mapping[str, Any], path: str) -> tuple[Refusal, ...]:
    """A refusal in Delta's words for each constraint that rows violate."""
    return tuple(_violated(each, path) for each in preview["constraints"] if each["rows"])


def _violated(constraint: Mapping[str, Any], path: str) -> Refusal:
    text = f"{constraint['rows']} rows in delta.`{path}` violate the new CHECK constraint ({constraint['expression']})"
    refusal = refused(
        "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "23512", text,
        "Change the rows or the expression. A row violates it as well where it is NULL.", constraint["name"],
    ).refusals[0]  # fmt: skip
    return replace(refusal, code="constraint_violated")

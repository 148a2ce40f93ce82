"""What Delta refuses of a rewrite's predicate, which chooses partitions, refused before Spark with Delta's condition."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.predicates.tree import Node, columns


def refused_on_clustered() -> CommandRefused:
    """Delta's refusal of a predicate on a clustered table."""
    text = "OPTIMIZE of a clustered table takes no predicate."
    return refused("DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", "0A000", text, "Leave out the predicate.")


def refuse_data_columns(node: Node | None, partitions: Mapping[str, str]) -> None:
    """Raises CommandRefused with Delta's condition for a predicate on other columns than these, given by their lower-case names."""
    named = sorted(".".join(path) for path in columns(node)) if node is not None else []
    wrong = next((name for name in named if name.lower() not in partitions), None)
    if wrong is not None:
        known = ", ".join(partitions.values()) or "none"
        text = f"The predicate names {wrong}, which is no partition column. The table’s partition columns: {known}."
        remedy = "Ask by partition columns alone, or for the whole table: leave the field empty, in the API give null."
        raise refused("DELTA_NON_PARTITION_COLUMN_REFERENCE", "42P10", text, remedy)


def refused(condition: str, sqlstate: str, text: str, remedy: str) -> CommandRefused:
    """A refusal that Delta would make, made before Spark, with Delta's condition."""
    return CommandRefused(Refusal("invalid", text, remedy=remedy, engine=EngineFailure(condition, sqlstate, text)))

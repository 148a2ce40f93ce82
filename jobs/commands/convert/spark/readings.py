"""Names of partition directories that Spark reads otherwise than their writer meant them."""

from __future__ import annotations

from collections.abc import Collection

from jobs.commands.convert.rules import PARTITION_ENCODING
from jobs.domain.errors import Refusal
from jobs.domain.partition_values import meant, unescaped
from jobs.domain.results import PartitionReading
from jobs.engine.walk import WalkFindings

NAMED = 5


def readings(findings: WalkFindings) -> tuple[PartitionReading, ...]:
    """Both readings of each name that has two, in the order of the directories."""
    return tuple(
        PartitionReading(directory, name, unescaped(name), text)
        for name, directory in sorted(findings.misread.items(), key=lambda item: item[1])
        if (text := meant(name)) is not None
    )


def encoding_refusals(findings: WalkFindings, decided: Collection[str] = ()) -> list[Refusal]:
    """The refusal of names that have two readings, but for the `decided` ones: a person may decide for Spark's."""
    asked = [reading for reading in readings(findings) if reading.name not in decided]
    if not asked:
        return []
    texts = [f"{each.name} is {each.utf8} in UTF-8, which Spark reads as {each.spark}" for each in asked[:NAMED]]
    more = len(asked) - NAMED
    beyond = findings.total("misread beyond the limit")
    tail = f" (and {more:,}{' or more' if beyond else ''} other names)" if more > 0 else ""
    return [
        Refusal(
            PARTITION_ENCODING,
            f"names of partition directories are percent-encoded: {'; '.join(texts)}{tail}. The table would have Spark's reading for ever",
            place=asked[0].directory,
            remedy=f"Rename the directories to what they mean ({asked[0].utf8}), or accept Spark's reading.",
        )
    ]

"""A round of a stream in words and numbers."""

from __future__ import annotations

from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    name = parameters.get("name") or "a stream"
    if parameters.get("reset"):
        return f"Reset the checkpoint of {name} into {table}"
    return f"Run {name} into {table}"


def figures(preview: Preview) -> list[Figure]:
    return []


def weight(preview: Preview) -> Figure | None:
    return None


def outcome(result: Result) -> list[Figure]:
    batches = result.details.get("batches") or []
    if not batches:
        return []
    return [
        Figure("Micro-batches", len(batches)),
        Figure("Rows read", _sum(batches, "input_rows"), "Spark's numInputRows"),
        *_damaged(batches),
        Figure("Rows written", _sum(batches, "rows_out"), "numOutputRows of the commits"),
        Figure("Files added", _sum(batches, "files_added"), "numAddedFiles"),
        Figure("Files removed", _sum(batches, "files_removed"), "numRemovedFiles"),
    ]


def _damaged(batches: list[dict[str, int | None]]) -> list[Figure]:
    """The damaged lines that were left out, once a batch has counted them."""
    if all(batch.get("damaged_lines") is None for batch in batches):
        return []
    why = "A batch didn’t count them."
    return [Figure("Damaged lines left out", _sum(batches, "damaged_lines"), "of the rows read", why_unknown=why)]


def _sum(batches: list[dict[str, int | None]], name: str) -> int | None:
    """The sum over the batches that wrote; None where one of them doesn't tell."""
    values = [batch.get(name) for batch in batches if not batch.get("skipped")]
    return None if None in values else sum(value or 0 for value in values)


def facts(preview: Preview) -> dict[str, str]:
    definition = preview.get("definition")
    return {"Output mode": str(definition["output_mode"]).capitalize()} if definition else {}

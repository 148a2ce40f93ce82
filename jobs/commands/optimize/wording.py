"""An optimize in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.domain.comparison import Unit, number_of
from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

MODES = {"compaction": "join small files", "zorder": "Z-order", "clustering": "cluster"}
BY_SPARK = "Delta decides by the clusters that the files already belong to"


TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    columns = parameters.get("zorder_by")
    by = f" by {', '.join(columns)}" if columns else ""
    return f"Optimize the files of {table}{by}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    total, bound = preview["files_total"], not preview["exact"]
    return [
        Figure("Files to rewrite", preview["files_in"], f"of {total:,}", why_unknown=BY_SPARK, at_most=bound),
        Figure("Bytes to rewrite", preview["bytes_in"], unit=Unit.BYTES, why_unknown=BY_SPARK, at_most=bound),
        Figure("Files to write", preview["files_out"], "at most", why_unknown=BY_SPARK, at_most=True),
    ]


def weight(preview: Preview) -> Figure | None:
    if "measured_at_version" not in preview:
        return None
    return Figure("Rewrites", preview["bytes_in"], unit=Unit.BYTES, why_unknown=BY_SPARK)


def outcome(result: Result) -> list[Figure]:
    metrics = result.operation_metrics
    return [
        Figure("Files removed", number_of(metrics, "numRemovedFiles"), "numRemovedFiles", unknown="not recorded"),
        Figure("Files added", number_of(metrics, "numAddedFiles"), "numAddedFiles", unknown="not recorded"),
        _bytes(metrics, "Bytes removed", "numRemovedBytes"),
        _bytes(metrics, "Bytes added", "numAddedBytes"),
    ]


def _bytes(metrics: Mapping[str, Any], label: str, name: str) -> Figure:
    return Figure(label, number_of(metrics, name), name, unit=Unit.BYTES, unknown="not recorded")


def facts(preview: Preview) -> dict[str, str]:
    mode = MODES.get(preview.get("mode", ""))
    return {"Method": mode} if mode else {}

"""A change of properties in words and numbers."""

from __future__ import annotations

from jobs.domain.results import Result
from jobs.domain.wording import Figure, Parameters, Preview

TITLED_BY: tuple[str, ...] = ()


def title(table: str, parameters: Parameters, preview: Preview) -> str:
    given, removed = parameters.get("set") or {}, parameters.get("unset") or ()
    if len(given) == 1 and not removed:
        return f"Set {next(iter(given))} of {table}"
    if len(removed) == 1 and not given:
        return f"Unset {next(iter(removed))} of {table}"
    return f"Change {len(given) + len(removed)} properties of {table}"


def figures(preview: Preview) -> list[Figure]:
    if "measured_at_version" not in preview:
        return []
    gone = sum(1 for reader in preview["readers"] if not reader["reads"])
    return [
        Figure("Properties to change", len(preview["after"])),
        Figure(
            "Can’t be taken back", len(preview["irreversible"]), "listed below" if preview["irreversible"] else None
        ),
        Figure("Engines that can’t read it afterwards", gone, f"of {len(preview['readers'])} that Levee knows"),
    ]


def weight(preview: Preview) -> Figure | None:
    return Figure("Changes", len(preview["after"]), noun="property") if "after" in preview else None


def outcome(result: Result) -> list[Figure]:
    commits = result.details.get("commits", ())
    return [Figure("Commits", len(commits), " → ".join(str(commit["version"]) for commit in commits))]


def facts(preview: Preview) -> dict[str, str]:
    protocol = preview.get("protocol_after")
    if protocol is None or protocol == preview.get("protocol_before"):
        return {}
    return {"Protocol": f"reader {protocol['min_reader_version']}, writer {protocol['min_writer_version']}"}

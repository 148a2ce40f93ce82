"""`docs/benchmarks.md`: a section per bench, replaced when the bench has run at full size."""

from collections.abc import Sequence
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def put_into(document: Path, section: str, beside: str = "") -> None:
    """Replaces the section with the same title (its first line, `## …`) in its place; the others stay as they are.

    A new one, and one that names another title as `beside`, stands behind that, or at the end.
    """
    title, text = section.splitlines()[0], document.read_text() if document.exists() else "# Benchmarks\n"
    parts = text.split("\n## ")
    whole = [parts[0].rstrip("\n"), *(f"## {part.strip()}" for part in parts[1:])]
    titles = [part.splitlines()[0] for part in whole]
    at = titles.index(title) if title in titles else len(whole)
    whole[at : at + 1] = []
    titles[at : at + 1] = []
    whole.insert(titles.index(beside) + 1 if beside in titles else at, section.strip())
    document.write_text("\n\n".join(whole) + "\n")


def figures_of(document: Path, title: str) -> dict[str, list[str]]:
    """The rows of a section's tables: what stands behind the first cell of each, by that cell."""
    _, _, rest = f"{document.read_text()}\n".partition(f"\n{title}\n")
    section, _, _ = rest.partition("\n## ")
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {what: cells for what, *cells in rows}


def table(rows: Sequence[tuple[str, str, str]], embedded: dict[str, list[str]] | None = None) -> str:
    """What was measured, with its bar: on a cluster beside the `embedded` figures of the same rows, where there are such."""
    if embedded is None:
        lines = ["| what | measured | bar |", "|---|---|---|"]
        lines += [f"| {what} | {measured} | {bar} |" for what, measured, bar in rows]
    else:
        lines = ["| what | on the cluster | embedded | bar |", "|---|---|---|---|"]
        lines += [f"| {what} | {measured} | {embedded.get(what, [''])[0]} | {bar} |" for what, measured, bar in rows]
    return "\n".join(line.replace("|  |", "| |") for line in lines)

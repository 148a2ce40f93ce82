"""`docs/benchmarks.md`: a section per bench, replaced when the bench has run at full size."""

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def put_into(document: Path, section: str) -> None:
    """Replaces the section with the same title (its first line, `## …`), or appends it; the others stay as they are."""
    title, text = section.splitlines()[0], document.read_text() if document.exists() else "# Benchmarks\n"
    parts = text.split("\n## ")
    kept = [part for part in parts[1:] if part.splitlines()[0] != title.removeprefix("## ")]
    whole = [parts[0].rstrip("\n")]
    whole += [f"## {part.strip()}" for part in kept] + [section.strip()]
    document.write_text("\n\n".join(whole) + "\n")

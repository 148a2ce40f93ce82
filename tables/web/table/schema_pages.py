"""The pages of a long schema."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from console.base.pagination import pager
from tables.history import schemas


def field_pages(found: schemas.Listing, asked: QueryDict) -> dict[str, Any]:
    """The pages of a schema before and after, as `parts/pager.html` takes them; nothing for one page."""
    last = found.start + len(found.lines)
    text = f"{found.start + 1:,} – {last:,} of {found.found:,}" if last < found.found or found.start else ""
    return pager(asked, found, "Next", text, previous_text="Previous")

"""The pages of a long schema."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from console.base.pagination import pager
from tables.history import schemas


def field_pages(listing: schemas.FieldListing, asked: QueryDict) -> dict[str, Any]:
    """The pages of a schema before and after, as `parts/pager.html` takes them; nothing for one page."""
    last = listing.start + len(listing.lines)
    text = f"{listing.start + 1:,} – {last:,} of {listing.found:,}" if last < listing.found or listing.start else ""
    return pager(asked, listing, "Next", text, previous_text="Previous")

"""Characters that turn the reading direction are spelled out on every page: no name of a table, column or writer looks like another one.

A table's rows show more of what is invisible so (`jobs.web.reads.row_cells`). The API and exports give every text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

# From the first to the last of each row; within a row only the last byte of their UTF-8 differs.
_ROWS = (
    ("\N{LEFT-TO-RIGHT EMBEDDING}", "\N{RIGHT-TO-LEFT OVERRIDE}"),
    ("\N{LEFT-TO-RIGHT ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"),
)


def _as_utf8(first: str, last: str) -> bytes:
    return first.encode()[:-1] + b"[%c-%c]" % (first.encode()[-1], last.encode()[-1])


TURNING = re.compile("|".join(f"[{first}-{last}]" for first, last in _ROWS))
_ENCODED = b"(?:" + b"|".join(_as_utf8(first, last) for first, last in _ROWS) + b")"
_SEARCHED = re.compile(_ENCODED)
# What a form sends back must be what it was given; a field keeps its direction to itself.
_FORM_VALUE = rb"(?<=\s)value=\"[^\"]*\"|<textarea\b.*?</textarea>|<option\b.*?</option>"
_PIECES = re.compile(b"(" + _FORM_VALUE + b")|" + _ENCODED, re.DOTALL)


class TurnsSpelledOut:
    """Pages and their fragments with `⟨U+202E⟩` for the character. The values of forms stay as they are."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and isinstance(response, HttpResponse) and _SEARCHED.search(response.content):
            response.content = in_page(response.content)
        return response


def spelled_out(text: str) -> str:
    """The text with each such character as `⟨U+202E⟩`."""
    return TURNING.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def in_page(html: bytes) -> bytes:
    """The page with each such character spelled out, but in the values of its forms."""
    return _PIECES.sub(lambda found: found[1] or spelled_out(found[0].decode()).encode(), html)

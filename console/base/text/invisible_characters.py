"""Characters that can't be seen are spelled out on every page: no name, reason or condition looks like another one.

They turn the reading direction, control a terminal, or show nothing. A table's rows show line breaks and tabs so too
(`jobs.web.reads.row_cells`). The API and exports give every text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

# Controls but for tab and line breaks, marks and turns of the direction, separators, and what has no width.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_UNSEEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
_BLANKS = r"\u1680\u2000-\u200a\u205f"  # which look like a space and are none
# Joiners belong to the spelling of words and emoji, but not beside a Latin letter.
_JOINED = r"[\u0600-\u1fff\u2070-\u2fff\u3001-\U0010ffff]"
_JOINERS = rf"(?<!{_JOINED})[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})"
# So do these: a space that doesn't break beside a number or a mark, the wide one beside wide letters, and the variant of a sign behind it.
_WIDE, _MONGOLIAN, _MARKS = (
    r"[\u2e80-\u2fff\u3001-\ufdff\ufe10-\uff9f\uffa1-\uffef]",
    r"[\u1820-\u18aa]",
    r"[\d:;!?«»%€]",
)
_SPACES = rf"(?<!{_MARKS})[\xa0\u202f](?!{_MARKS})|(?<!{_WIDE})\u3000(?!{_WIDE})"
_VARIANTS = rf"(?<!{_MONGOLIAN})[\u180b-\u180d\u180f]|(?<![\d#*\xa9\xae\u203c\u2049])(?<!{_JOINED})[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
# What stands first lets a page of plain letters be searched in a quarter of the time.
INVISIBLE = re.compile(rf"(?![\t\n -~])(?:[{_CONTROLS}{_UNSEEN}{_BLANKS}]|\r(?!\n)|{_JOINERS}|{_SPACES}|{_VARIANTS})")

_ATTRIBUTES = r"""(?:[^>"']|"[^"]*"|'[^']*')*"""
_PIECES = re.compile(
    rf"(?P<field><(?:input|button)\b{_ATTRIBUTES}>)"
    rf"|(?P<area><textarea\b{_ATTRIBUTES}>)(?P<content>.*?)</textarea>"
    rf"|<option\b(?P<attributes>{_ATTRIBUTES})>(?P<choice>.*?)</option>"
    rf"|\r\n|{INVISIBLE.pattern}",
    re.DOTALL,
)
_VALUE = re.compile(r'(?<=\s)value="([^"]*)"')
_UNSEEN_FIELD = re.compile(r'<button\b|\stype="(?:hidden|checkbox|radio|submit|button)"')


class InvisibleSpelledOut:
    """Pages and their fragments with `⟨U+202E⟩` for the character. Forms send back what they were given; fields that show it are marked."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and isinstance(response, HttpResponse):
            response.content = in_page(response.content)
        return response


def spelled_out(text: str) -> str:
    """The text with each such character as `⟨U+202E⟩`."""
    return INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def in_page(html: bytes) -> bytes:
    """The page with each such character spelled out, but in the values of its forms. Line breaks are line feeds."""
    text = html.decode()
    return html if not INVISIBLE.search(text) and "\r" not in text else _PIECES.sub(_piece, text).encode()


def _piece(found: re.Match[str]) -> str:
    if found["field"] is not None:
        return _field(found["field"])
    if found["area"] is not None:
        return f"{_shown(found['area'])}{found['content']}</textarea>{_mark(found['content'])}"
    if found["choice"] is not None:
        return _option(found["attributes"], found["choice"])
    return _shown(found[0])


def _field(tag: str) -> str:
    value = _VALUE.search(tag)
    if value is None:
        return _shown(tag)
    marked = "" if _UNSEEN_FIELD.search(tag) else _mark(value[1])
    return f"{_shown(tag[: value.start()])}{value[0]}{_shown(tag[value.end() :])}{marked}"


def _option(attributes: str, text: str) -> str:
    """A choice; without a value its text is what the form sends, so that becomes its value."""
    value = _VALUE.search(attributes)
    if value is not None:
        attributes = f"{_shown(attributes[: value.start()])}{value[0]}{_shown(attributes[value.end() :])}"
    elif INVISIBLE.search(text):
        sent = text.replace('"', "&quot;")
        attributes = f'{_shown(attributes)} value="{sent}"'
    return f"<option{attributes}>{_shown(text)}</option>"


def _mark(value: str) -> str:
    """What a field says below it of characters in it that can't be seen."""
    signs = ", ".join(dict.fromkeys(spelled_out(found[0]) for found in INVISIBLE.finditer(value)))
    return signs and f'<small class="form-hint">This field holds characters that can’t be seen: {signs}.</small>'


def _shown(html: str) -> str:
    return spelled_out(html.replace("\r\n", "\n"))

"""Texts that would be more than text wherever a page, a file or a terminal took them for its own; and what a page made of them."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

from console.base.text.invisible_characters import spelled_out

ELEMENT, ATTRIBUTE = "x-hostile", "data-hostile"
# It ends an attribute of either kind of quotes and an element, begins an element, is a template's expression, and turns the direction.
CORE = f"\"'><{ELEMENT} {ATTRIBUTE}>{{{{ 7|add:7 }}}}\u202eb"
_WORSE = (
    "</title></textarea></script><script src=//x-hostile.invalid></script><!-- <img src=x onerror=x-hostile()>"
    "{% now 'Y' %}${7*7}&lt;b&gt;&#60;b&#62;=cmd()\r\n\tsecond line\u2028\u200b\u2066\u200f\u061c\x07\x1b]0;x\x1b[2J\x9b2J\x7f"
)
LONG_WORD = "w" * 600
_LEADS_ASTRAY = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:|(https?:)?//x-hostile", re.IGNORECASE)
_IGNORED = re.compile(r"[\x00-\x20]")  # by a browser, in an address
LINKS = {"href", "src", "action", "formaction", "hx-get", "hx-post"}


def hostile(what: str) -> str:
    """A short one that says what it is the text of."""
    return f"{what} {CORE}"


def hostile_long(what: str) -> str:
    """One that ends in a word longer than any line: no page may scroll sideways for it."""
    return f"{hostile(what)}{LONG_WORD}"


def hostile_whole(what: str) -> str:
    """With everything that a text of the database may hold: all kinds of characters but NUL, and a word longer than any line."""
    return f"{hostile(what)}{_WORSE}{LONG_WORD}"


def shown(text: str) -> str:
    """How a page has the text among its words."""
    return " ".join(spelled_out(text).split())


def unseen(text: str) -> bool:
    """Whether a page's text has a character that can't be seen, by a rule of its own: Unicode's, but for joiners."""
    kinds = {unicodedata.category(character) for character in text if character not in "\t\n\u200c\u200d"}
    return bool(kinds & {"Cc", "Cf", "Zl", "Zp"})


class Parsed(HTMLParser):
    """A page as a browser understands it: its words with those in attributes, and what hostile texts have become in it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self._pieces: list[str] = []
        self._within: list[str] = []  # fields around the text, which send it back as it is
        self.feed(html)
        self.close()
        self.words = " ".join("".join(self._pieces).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "textarea":
            self._within.append(tag)
        if ELEMENT in tag or (tag == "script" and not (dict(attrs).get("src") or "").startswith("/static/")):
            self.faults.append(f"an element {tag} {dict(attrs)}")
        for name, value in attrs:
            self._attribute(tag, name, value or "")

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if unseen(data) and not self._within:
            self.faults.append(f"an invisible character in {data.strip()[:80]!a}")
        self._pieces.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"a comment {data[:80]!a}")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if ATTRIBUTE in name or name.startswith("on"):
            self.faults.append(f"an attribute {name} of {tag}")
        if name in LINKS and _LEADS_ASTRAY.match(_IGNORED.sub("", value)):
            self.faults.append(f"a link to {value[:80]!a}")
        if unseen(value) and name != "value":
            self.faults.append(f"an invisible character in {tag}'s {name}")
        self._pieces.append(f" {value} ")

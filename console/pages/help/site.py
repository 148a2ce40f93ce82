"""The built pages of the help, as set-up left them in frontend/help; read once for each process, when first asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.utils.safestring import SafeString

PICTURE = re.compile(r'(src|href)="static:([\w./-]+)"')


@dataclass(frozen=True)
class Section:
    """One heading of a page with the text below it; `level` is 1 for the page's title."""

    anchor: str
    level: int
    title: str
    text: str


@dataclass(frozen=True)
class HelpPage:
    """One page; `name` is its address below the help, empty for the first."""

    name: str
    title: str
    html: SafeString
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Site:
    """All pages by name, and the navigation: sections with a title and pages, each with name and title."""

    navigation: list[dict[str, Any]]
    pages: Mapping[str, HelpPage]


@cache
def load() -> Site:
    """The whole help. Raises FileNotFoundError while set-up hasn't built it."""
    made = json.loads((settings.BASE_DIR / "frontend" / "help" / "site.json").read_text())
    return Site(made["navigation"], {name: _page(name, page) for name, page in made["pages"].items()})


def _page(name: str, page: Mapping[str, Any]) -> HelpPage:
    html = PICTURE.sub(lambda found: f'{found[1]}="{static(f"levee/help/{found[2]}")}"', page["html"])
    sections = tuple(Section(**section) for section in page["sections"])
    return HelpPage(name, page["title"], SafeString(html), sections)  # nosec B703  # the build's own, in which text is escaped

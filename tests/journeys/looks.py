"""Pages in both themes, wide and narrow: what a person who looks at them would stumble over."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.test import Client
from playwright.sync_api import BrowserContext, Page

from console.accounts.models import Person

LOOKS = (("light", 1280), ("light", 390), ("dark", 1280))  # theme and width in CSS pixels


def sign_in(context: BrowserContext, address: str, person: Person, theme: str) -> None:
    """Without the form, which other tests fill in."""
    Person.objects.filter(pk=person.pk).update(theme=theme)
    client = Client()
    client.force_login(person)
    cookies = [{"name": name, "value": morsel.value, "url": address} for name, morsel in client.cookies.items()]
    context.add_cookies(cookies)  # type: ignore[arg-type]


def troubles_of(
    context: BrowserContext,
    server: str,
    person: Person,
    addresses: Iterable[str],
    axe_findings: Callable[[Page], list[str]],
) -> list[str]:
    """What axe finds on each page in each look, and which page scrolls sideways. Each page must answer with 200."""
    page, troubles = context.new_page(), []
    pages = list(addresses)
    for theme, width in LOOKS:
        sign_in(context, server, person, theme)
        page.set_viewport_size({"width": width, "height": 900})
        for address in pages:
            answer = page.goto(server + address)
            assert answer is not None
            assert answer.status == 200, address
            where = f"{address}, {theme}, {width} px"
            troubles += [f"{where}: {finding}" for finding in axe_findings(page)]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                troubles.append(f"{where}: scrolls sideways")
    return troubles

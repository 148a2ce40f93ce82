"""Every page over a lake full of hostile texts, in a real browser (F11): no script runs, nothing is reported against the policy."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext

from tests import factories
from tests.factories import hostile as hostile_things
from tests.guards.test_hostile_texts import pages
from tests.guards.test_routes import filled
from tests.hostile_texts import ATTRIBUTE, ELEMENT
from tests.journeys.looks import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
MADE = f"document.querySelectorAll('{ELEMENT}, [{ATTRIBUTE}]').length"


def test_no_text_runs_or_becomes_an_element(
    server: str, tmp_path: Path, context: BrowserContext, faults: list[str]
) -> None:
    person = factories.person_named("ada", "admin", "operator", "auditor", "approver")
    things = hostile_things.everything(tmp_path, person)
    sign_in(context, server, person, "light")
    page, troubles, read = context.new_page(), [], 0
    page.on("dialog", lambda dialog: troubles.append(f"a dialog: {dialog.message}"))
    for address in pages():
        answer = page.goto(server + quote(filled(address, things)))
        assert answer is not None
        read += answer.status == 200
        if page.evaluate(MADE):
            troubles.append(f"{address}: an element is made of a text")
    assert troubles == []
    assert faults == []
    assert read > 60

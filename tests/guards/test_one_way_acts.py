"""A destructive or one-way act asks once more: the first press changes nothing and shows what follows, only the answer acts."""

import html
import re
from pathlib import Path

import pytest

from tests.clients import confirmed_browser
from tests.console.audit.test_no_change_without_audit import PAGE_ACTS, body_of, filled, rows, things, undone

__all__ = ["things"]

pytestmark = pytest.mark.django_db
TEMPLATES = Path(__file__).parents[2] / "frontend" / "templates"
# The addresses, and the name of each.
ONE_WAY = {
    "/account/tokens/<uuid:token_id>/revoke/": "accounts:revoke_token",
    "/people/<uuid:person_id>/access/": "accounts:person_access",
    "/people/<uuid:person_id>/grants/<uuid:grant_id>/remove/": "accounts:grant_remove",
    "/policies/<uuid:policy_id>/remove/": "policies:remove",
    "/policies/<uuid:policy_id>/decline/": "policies:decline",
    "/policies/<uuid:policy_id>/confirm/": "policies:confirm",
    "/policies/protect/": "policies:protect",
    "/workers/<uuid:worker_id>/restart/": "jobs:worker_restart",
    "/jobs/<uuid:own_id>/cancel/": "jobs:cancel",
    "/jobs/<uuid:job_id>/review/#reject": "jobs:review",
    "/jobs/<uuid:own_id>/review/#withdraw": "jobs:review",
    "/schedules/<uuid:schedule_id>/remove/": "jobs:schedule_remove",
    "/schedules/<uuid:asked_id>/decide/#reject": "jobs:schedule_decide",
    "/streams/<uuid:stream_id>/remove/": "jobs:stream_remove",
    "/tables/<uuid:table_id>/hide/": "tables:hide",
}
BODIES = {"/schedules/<uuid:asked_id>/decide/#reject": lambda t: {"act": "reject", "digest": t["asked_digest"]}}
# Pages that are the question themselves, with what follows from the act.
QUESTIONS = {
    "questions/page.html", "jobs/restore/_form.html", "jobs/sample/remove.html", "jobs/streams/reset.html", "tables/roots/remove.html",
    "reference/_try.html",  # its second button, beside what is sent
}  # fmt: skip
# Acts on a job, whose page shows the state that it has then; a decision about a schedule likewise.
SHOWN_BY_STATE = {"jobs:cancel", "jobs:review", "jobs:schedule_decide"}
OWN = {"preferences/_filter_row.html"}  # one's own name for an address, given again in seconds
WRITTEN = {"reason": "no longer needed"}


def hidden_fields(page: str) -> dict[str, str]:
    inputs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page[page.index("<h1") :])
    return {name: html.unescape(value) for name, value in inputs}


@pytest.mark.parametrize("act", ONE_WAY)
def test_the_first_press_changes_nothing_and_only_its_answer_acts(act, things, redis_server):
    with undone():
        client, place, before = confirmed_browser(things["who"]), filled(act, things), rows()
        given = BODIES[act] if act in BODIES else PAGE_ACTS[act]
        body = {name: value for name, value in body_of(given, things).items() if name != "reason"}
        asked = client.post(place, body)
        page = asked.content.decode()
        assert (asked.status_code, rows() == before) == (200, True), act
        assert "What happens" in page
        assert "btn-danger" in page
        answer = client.post(place, {**hidden_fields(page), **WRITTEN})
        assert answer.status_code == 302, answer.content[-3000:]
        assert rows() != before, act
        landed = client.get(answer["Location"])
        said = [str(message) for message in landed.context["messages"]]
        assert said or ONE_WAY[act] in SHOWN_BY_STATE, act


def test_every_button_of_danger_belongs_to_an_act_that_asks_once_more():
    found = []
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = str(path.relative_to(TEMPLATES))
        for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.DOTALL):
            address = re.search(r"action=\"{%\s*url \"([\w:]+)\"", form)
            is_danger = re.search(r'<button[^>]*class="[^"]*\b(lv-btn-danger-quiet|btn-danger)\b', form)
            if is_danger and name not in QUESTIONS | OWN and not (address and address[1] in ONE_WAY.values()):
                found.append(name)
    assert found == []

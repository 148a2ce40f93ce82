"""One sender's requests take only so many threads at once, whatever they send them with."""

from __future__ import annotations

import pytest
from django.conf import settings

from console.server.connections import Arriving
from console.server.turns import SENDERS, RequestTurns, Senders
from tests.clients import browser, caller


def test_a_sender_has_so_many_requests_at_work_and_the_rest_in_line():
    turns: RequestTurns[str] = RequestTurns(2)
    assert [turns.begins("vera", name) for name in "abcd"] == [True, True, False, False]
    assert turns.begins("otto", "o")
    assert [turns.ends("vera") for _ in range(4)] == ["c", "d", None, None]
    assert turns.begins("vera", "e")


def test_nothing_is_kept_of_who_has_nothing_open():
    turns: RequestTurns[str] = RequestTurns(1)
    assert [turns.begins("vera", name) for name in "ab"] == [True, False]
    assert [turns.ends("vera") for _ in range(2)] == ["b", None]
    assert not turns._at_work
    assert not turns._line


def test_the_oldest_credential_is_forgotten_first():
    senders = Senders(most=2)
    for credential in (b"a", b"b", b"a", b"c"):
        senders.learn(credential, "vera")
    assert [senders.of(credential) for credential in (b"a", b"b", b"c")] == ["vera", b"b", "vera"]


@pytest.mark.parametrize(
    ("head", "credential"),
    [
        (b"Authorization: Bearer abc", b"Bearer abc"),
        (b"authorization:  Bearer abc \r\nCookie: levee_session_8000=xyz", b"Bearer abc"),
        (b"Cookie: a=1; levee_session_8000=xyz; b=2", b"xyz"),
        (b"Cookie: __Host-levee_session_8000=xyz", b"xyz"),
        (b"Cookie: a=1", None),
        (b"X-Said: levee_session_8000=xyz", None),
    ],
)
def test_a_request_says_what_it_is_sent_with(head, credential):
    arriving = Arriving()
    arriving.add(b"GET / HTTP/1.1\r\nHost: here\r\n" + head + b"\r\n\r\nAuthorization: Bearer in-the-body")
    assert arriving.credential == credential


@pytest.mark.django_db
def test_every_credential_that_was_let_in_leads_to_its_person():
    asking = caller("viewer")
    page = browser(asking.person)
    page.get("/tables/")
    session = page.cookies[settings.SESSION_COOKIE_NAME].value.encode()
    asking.get("/tables")
    token = asking.client.defaults["HTTP_AUTHORIZATION"].encode()
    assert SENDERS.of(session) == SENDERS.of(token) == asking.person.pk


@pytest.mark.django_db
def test_a_credential_that_was_not_let_in_leads_to_nobody(client):
    client.get("/api/v1/tables", headers={"Authorization": "Bearer made-up"})
    assert SENDERS.of(b"Bearer made-up") == b"Bearer made-up"

"""Pages are compressed for whoever takes it; what a program reads is not."""

from __future__ import annotations

import gzip

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from console.base.compression import PagesCompressed
from tests import factories
from tests.clients import API, Caller, browser

GZIP = {"accept-encoding": "gzip, deflate, br"}
PAGE = "<p>rows of a list</p>" * 400


def answer_of(response, method="GET", **headers):
    return PagesCompressed(lambda _request: response)(RequestFactory().generic(method, "/", headers=headers))


@pytest.mark.django_db
def test_a_page_is_compressed_for_a_browser_that_takes_it():
    client = browser(factories.person_with("viewer"))
    plain, packed = client.get("/tables/"), client.get("/tables/", headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert "no-store" in packed["Cache-Control"]
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2
    assert b"</html>" in gzip.decompress(packed.content)


@pytest.mark.django_db
def test_an_answer_of_the_api_and_a_stream_stay_as_they_are():
    schema = Caller(factories.person_with("viewer")).client.get(f"{API}/schema/", headers=GZIP)
    assert len(schema.content) > 10_000
    assert "Content-Encoding" not in schema.headers
    stream = answer_of(StreamingHttpResponse([PAGE], content_type="text/html"), **GZIP)
    assert "Content-Encoding" not in stream.headers


def test_the_length_of_a_page_does_not_tell_what_is_in_it():
    lengths = {len(answer_of(HttpResponse(PAGE), **GZIP).content) for _ in range(30)}
    assert len(lengths) > 5


@pytest.mark.parametrize(
    ("method", "accepted"),
    [("HEAD", "gzip"), ("GET", "gzip;q=0"), ("GET", "br, GZIP ; q=0.000, *"), ("GET", "br"), ("GET", "")],
)
def test_what_has_no_body_or_is_for_a_browser_that_refuses_gzip_stays_as_it_is(method, accepted):
    answer = answer_of(HttpResponse(PAGE), method, **{"accept-encoding": accepted})
    assert "Content-Encoding" not in answer.headers
    assert answer.content == PAGE.encode()
    assert answer["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["gzip", "br;q=0, gzip", "gzip;q=0.5", "gzip;q=1, br;q=0"])
def test_a_wish_for_gzip_is_heeded_however_it_is_weighed(accepted):
    assert answer_of(HttpResponse(PAGE), **{"accept-encoding": accepted})["Content-Encoding"] == "gzip"


@pytest.mark.django_db
def test_a_fragment_and_the_answer_to_a_form_are_compressed():
    client = browser(factories.person_with("viewer"))
    fragment = client.get("/tables/", headers={**GZIP, "hx-request": "true"})
    answer = Client().post("/sign-in/", {"username": "nobody", "password": "wrong"}, headers=GZIP)
    for each in (fragment, answer):
        assert each["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in each["Vary"]
    assert b"form" in gzip.decompress(answer.content)

"""An instance below a path of its host: which part of a request is the prefix, and what the settings make of it."""

from __future__ import annotations

import pytest
from django.urls import URLResolver, get_resolver
from django.urls.base import set_script_prefix

from console.base.addresses import leads_into_levee
from console.base.env import Env, SettingError
from console.base.setting_values import OWN_PATHS
from console.server.connections import Arriving
from console.server.prefix import Prefixed
from tests.console.base.test_headers import asked

PUBLIC = "https://example.org/levee"


def served(prefix: str, path: str, script_name: str = "") -> tuple[str, str]:
    """What the application is told of a request: SCRIPT_NAME and PATH_INFO."""
    told = []

    def application(environ, _start):
        told.append((environ["SCRIPT_NAME"], environ["PATH_INFO"]))
        return []

    Prefixed(application, prefix)({"SCRIPT_NAME": script_name, "PATH_INFO": path}, lambda *_: lambda _data: None)
    return told[0]


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/levee/tables/", "/tables/"),
        ("/levee/", "/"),
        ("/levee", "/"),
        ("/tables/", "/tables/"),  # a proxy has taken the prefix off
        ("/health/live", "/health/live"),
        ("/leveeside/", "/leveeside/"),
        ("/levee/levee/", "/levee/"),
        ("/", "/"),
    ],
)
def test_a_prefix_is_taken_off_once_and_only_as_a_whole(path, below):
    assert served("/levee", path) == ("/levee", below)


def test_no_header_of_a_request_names_a_prefix():
    assert served("", "/tables/", script_name="/elsewhere") == ("", "/elsewhere/tables/")
    assert served("/levee", "/tables/", script_name="/levee") == ("/levee", "/tables/")


@pytest.mark.parametrize("path", ["/levee", "/levee/", "/a/b-c.d", "/_x"])
def test_an_address_with_a_path_is_taken_without_its_last_slash(path):
    env = Env.read({"LEVEE_PUBLIC_URL": f"https://example.org{path}"})
    assert (env.public_origin, env.prefix) == ("https://example.org", path.rstrip("/"))
    assert env.hosts[-1] == "example.org"


@pytest.mark.parametrize(
    "path", ["//", "/a//b", "/../x", "/a/..", "/.x", "/a?b", "/a#b", "/a b", "/%2e", "/a;b", "/levee//"]
)
def test_a_path_that_a_browser_or_a_proxy_could_rewrite_is_refused(path):
    with pytest.raises(SettingError, match=r"^LEVEE_PUBLIC_URL: .* is no address such as"):
        Env.read({"LEVEE_PUBLIC_URL": f"https://example.org{path}"})


@pytest.mark.parametrize("path", ["/tables", "/api", "/health/levee", "/static/"])
def test_a_path_that_begins_like_one_of_levees_own_is_refused(path):
    with pytest.raises(SettingError, match=r"^LEVEE_PUBLIC_URL: Levee has addresses below /[a-z]+ itself"):
        Env.read({"LEVEE_PUBLIC_URL": f"https://example.org{path}"})


def test_the_paths_that_are_refused_are_those_that_levee_has():
    assert {first for first in _first_parts(get_resolver()) if first} | {"static"} == OWN_PATHS


def _first_parts(resolver: URLResolver, before: str = "") -> set[str]:
    found = set()
    for each in resolver.url_patterns:
        path = f"{before}{each.pattern}"
        found |= _first_parts(each, path) if isinstance(each, URLResolver) else {path.split("/")[0]}
    return found


@pytest.mark.parametrize("line", [b"GET /health/live HTTP/1.1", b"GET /levee/health/ready?x HTTP/1.1"])
def test_a_question_for_health_has_threads_of_its_own(line):
    arriving = Arriving()
    arriving.add(line + b"\r\n\r\n")
    assert arriving.asks_health


@pytest.mark.parametrize(
    "line",
    [b"GET /tables/1/health/ HTTP/1.1", b"POST /health/live HTTP/1.1", b"GET /x?/health/live HTTP/1.1", b"GET /health/livex HTTP/1.1"],
)  # fmt: skip
def test_nothing_else_has_them(line):
    arriving = Arriving()
    arriving.add(line + b"\r\n\r\n")
    assert not arriving.asks_health


@pytest.fixture
def below_levee():
    set_script_prefix("/levee/")
    yield
    set_script_prefix("/")


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("/levee/tables/?q=a..b", True),
        ("/levee/", True),
        ("/levee", False),
        ("/", False),
        ("/other/", False),
        ("/levee/../other/", False),
        ("/levee/%2e%2E/other/", False),
        ("/levee/..\\other/", False),
        ("/levee/x/%2e%2e%5cother", False),
        ("//evil.example/levee/", False),
        ("https://example.org/levee/", False),
        ("", False),
    ],
)
def test_what_a_request_names_as_its_next_page_stays_below_the_prefix(below_levee, address, leads):
    assert leads_into_levee(address) is leads


def test_cookies_redirects_and_what_a_page_may_load_stay_below_the_prefix():
    page, bare, home = asked(
        ("example.org", "/sign-in/"), ("example.org", "/tables"), ("example.org", "/"), LEVEE_PUBLIC_URL=PUBLIC
    )
    assert (page[0], bare[0], home[0]) == (200, 301, 302)
    assert bare[1]["Location"] == "/levee/tables/"
    assert home[1]["Location"].startswith("/levee/sign-in/?next=/levee/")
    assert page[2]
    for cookie in page[2]:
        assert cookie.startswith("__Secure-levee_")
        assert "; Secure" in cookie
        assert "; Path=/levee/;" in cookie
    policy = dict(each.strip().split(" ", 1) for each in page[1]["Content-Security-Policy"].split(";"))
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "font")} == {f"{PUBLIC}/static/"}
    assert (policy["connect-src"], policy["form-action"]) == (f"{PUBLIC}/", f"{PUBLIC}/")
    assert (policy["default-src"], policy["base-uri"]) == ("'none'", "'none'")

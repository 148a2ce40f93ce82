"""Levee at a path of a host that other applications share: a real server behind a proxy that leaves the prefix on, or takes it off."""

from __future__ import annotations

import email.message
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console import loading, running
from tests.console.proxy import Proxy, proxying
from tests.console.running import Up
from tests.patience import limit

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("up")]

PREFIX = "/levee"
ADDRESS = re.compile(r'\s(?:href|src|action|hx-get|hx-post|data-[a-z-]*url)="([^"#]*)')


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with proxying(Proxy(running.free_port(), PREFIX)) as made:
        yield made


@pytest.fixture(scope="module")
def up(proxy: Proxy) -> Iterator[Up]:
    with running.new_home() as home:
        port = proxy.to = running.free_port()
        with running.running(home, port, LEVEE_PUBLIC_URL=f"http://127.0.0.1:{proxy.port}{PREFIX}") as made:
            yield made


@pytest.fixture(scope="module")
def token(up: Up) -> str:
    loading.person(up, "vera", "admin")
    return loading.person(up, "otto", "operator")


@pytest.fixture(scope="module")
def auditor(up: Up) -> str:
    return loading.person(up, "anna", "auditor")


@pytest.fixture(params=["prefix kept", "prefix taken off"])
def public(request: pytest.FixtureRequest, proxy: Proxy, token: str) -> Iterator[str]:
    """The address that people type."""
    proxy.strips = request.param == "prefix taken off"
    yield f"http://127.0.0.1:{proxy.port}{PREFIX}"
    proxy.strips = False


class Visitor:
    """A browser without scripts: cookies and redirects."""

    def __init__(self, public: str) -> None:
        self.public = public
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def get(self, address: str) -> tuple[str, str]:
        """Where it ended, and the page."""
        with self.opener.open(urllib.parse.urljoin(f"{self.public}/", address), timeout=limit(15)) as response:
            return response.url, response.read().decode(errors="replace")

    def status(self, address: str) -> int:
        """The last one, of a page of this console."""
        try:
            url, _ = self.get(address)
        except urllib.error.HTTPError as error:
            return error.code
        assert url.startswith(f"{self.public}/")
        return 200

    def sign_in(self, first: str) -> tuple[str, str]:
        url, page = self.get(first)
        fields = dict(re.findall(r'name="(csrfmiddlewaretoken|next)" value="([^"]*)"', page))
        data = urllib.parse.urlencode({**fields, "username": "vera", "password": loading.PASSWORD}).encode()
        with self.opener.open(url, data=data, timeout=limit(15)) as response:
            return response.url, response.read().decode()


def test_every_address_of_the_pages_lies_below_the_path_and_is_there(public: str) -> None:
    visitor = Visitor(public)
    url, page = visitor.sign_in(f"{public}/tables/?q=orders")
    assert url == f"{public}/tables/?q=orders"
    seen = {address for address in ADDRESS.findall(page) if address}
    for path in ("", "jobs/", "streams/", "audit/", "people/", "roots/"):
        seen |= {address for address in ADDRESS.findall(visitor.get(path)[1]) if address}
    for path in ("help/", "help/guide/delete/"):  # its pages link each other relatively
        found = ADDRESS.findall(visitor.get(path)[1])
        seen |= {urllib.parse.urljoin(f"{PREFIX}/{path}", address) for address in found if address}
    local = {address.replace("&amp;", "&") for address in seen if not address.startswith(("?", "https://", "data:"))}
    assert len(local) > 20
    assert [address for address in local if not address.startswith(f"{PREFIX}/")] == []
    for address in sorted(local)[:: max(len(local) // 25, 1)]:
        assert visitor.status(address) in {200, 400, 405}, address  # 405, 400: a form's, which takes no GET


def test_cookies_stay_below_the_path_and_another_application_never_gets_one(public: str, proxy: Proxy) -> None:
    visitor = Visitor(public)
    visitor.sign_in(public + "/")
    assert {cookie.name.rstrip("0123456789") for cookie in visitor.jar} == {
        "levee_session_", "levee_csrf_", "levee_device_",
    }  # fmt: skip
    assert {cookie.path for cookie in visitor.jar} == {f"{PREFIX}/"}
    proxy.elsewhere.clear()
    with pytest.raises(urllib.error.HTTPError):
        visitor.get(f"http://127.0.0.1:{proxy.port}/other/")
    assert proxy.elsewhere == [("/other/", "")]


def test_nobody_is_led_from_the_sign_in_to_another_application(public: str) -> None:
    for aim in ("/other/", f"{PREFIX}/../other/", f"{PREFIX}/%2e%2e/other/", "//evil.example/"):
        url, _ = Visitor(public).sign_in(f"{public}/sign-in/?{urllib.parse.urlencode({'next': aim})}")
        assert url == f"{public}/"


def answered(public: str, token: str | None, path: str, body: object = None) -> tuple[int, email.message.Message, str]:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(public + path, json.dumps(body).encode() if body else None, headers)
    try:
        with urllib.request.urlopen(request, timeout=limit(15)) as response:
            return response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_the_links_of_the_api_lead_below_the_path(public: str, token: str) -> None:
    _, _, first = answered(public, token, "/api/v1/tables?limit=1")
    following = json.loads(first)["next"]
    assert following.startswith(f"{public}/api/v1/tables?")
    assert answered("", token, following)[0] == 200
    table = json.loads(first)["results"][0]["id"]
    status, _, queued = answered(public, token, f"/api/v1/tables/{table}/rows?wait=0", {"limit": 1})
    assert status == 202
    assert json.loads(queued)["result_url"].startswith(f"{PREFIX}/api/v1/reads/")
    document = json.loads(answered(public, None, "/api/v1/schema/")[2])
    assert document["servers"] == [{"url": public}]
    assert "/api/v1/tables" in document["paths"]
    status, headers, _ = answered(public, None, "/api/v1/tables")
    assert (status, headers["Content-Type"]) == (401, "application/problem+json")


def test_probes_and_a_scraper_need_no_prefix_and_take_it(public: str, up: Up, auditor: str) -> None:
    for base in (public, f"http://127.0.0.1:{up.port}", f"http://127.0.0.1:{up.port}{PREFIX}"):
        assert answered(base, None, "/health/live")[0] == 200
        assert answered(base, None, "/metrics")[0] in {401, 403}
        status, _, text = answered(base, auditor, "/metrics")
        assert (status, "levee_" in text) == (200, True)


def test_an_address_below_the_path_that_is_none_is_404_as_a_page_of_levees(public: str) -> None:
    status, headers, page = answered(public, None, "/nowhere/")
    assert status == 404
    assert f'href="{PREFIX}/static/' in page
    assert f"{public}/static/" in headers["Content-Security-Policy"]


@pytest.mark.browser
def test_a_browser_signs_in_filters_and_sends_a_form(public: str, page: Page, faults: list[str], proxy: Proxy) -> None:
    """Scripts, styles and HTMX's requests; a policy that forbade one of them would report it."""
    proxy.elsewhere.clear()
    page.goto(f"{public}/tables/")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill(loading.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{public}/tables/")
    assert page.evaluate("getComputedStyle(document.body).fontFamily").startswith('"Inter')
    page.locator("table tbody a").first.click()
    expect(page).to_have_url(re.compile(re.escape(f"{public}/tables/") + "[0-9a-f-]+/"))
    page.get_by_role("link", name="History").first.click()
    expect(page).to_have_url(re.compile("/history/"))
    page.goto(f"{public}/streams/")
    page.locator("table tbody a").first.click()
    expect(page).to_have_url(re.compile(re.escape(f"{public}/streams/") + "[0-9a-f-]+/"))
    assert faults == []
    assert [path for path, _ in proxy.elsewhere if path != "/favicon.ico"] == []

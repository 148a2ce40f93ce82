"""The story: from the first sign-in to a Delta table that was parquet a moment ago, in a browser and by the API."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_playwright import CreateContextCallback

from console.supervisor.tools import PROJECT
from tests.console import running
from tests.journeys.conftest import SOON_S
from tests.journeys.hands import Hands, Tally
from tests.patience import limit, limit_ms

pytestmark = [
    pytest.mark.browser,
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.xdist_group("up"),
    # All of them: pytest would part those with a browser from the others, and start the two JVMs again for each half.
    pytest.mark.usefixtures("browser_name"),
    pytest.mark.timeout(1500),  # two JVMs warm up first, on a machine that may be busy
]

PASSWORD = "correct horse battery staple"
WARM_S = 120.0  # two JVMs on two busy cores, of a slow machine
JOB_S = 90.0
MOST_ACTS = 34


@pytest.fixture(scope="module")
def up() -> Iterator[running.Up]:
    """The whole console, Spark included, with its sample lake."""
    with running.new_home() as home, running.running(home, running.free_port(), LEVEE_UP_WITHOUT="") as started:
        yield started


@pytest.fixture(scope="module")
def first_password(up: running.Up) -> str:
    line = next(line for line in up.printed if line.startswith("first sign-in: admin "))
    return line.removeprefix("first sign-in: admin ")


def call(up: running.Up, token: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One call of the API: status and answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{up.port}/api/v1{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=limit(22.5)) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def ended(up: running.Up, token: str, job_id: str) -> dict[str, Any]:
    """The job once it has ended."""
    until = time.monotonic() + limit(JOB_S)
    while time.monotonic() < until:
        job: dict[str, Any] = call(up, token, "GET", f"/jobs/{job_id}?wait=30&until=ended")[1]
        if job["finished_at"]:
            return job
    pytest.fail(f"the job is still {job['state']}")


def check_page(page: Page, axe: Callable[[Page], list[str]], faults: list[str]) -> None:
    """Axe finds nothing in either theme, and nothing broke the page's policy."""
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        # Without motion: a colour on its way from one theme to the other is no colour of either.
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert axe(page) == []
    assert faults == []


class Story:
    """The first story as home guides through it: the first person adds two colleagues, ana asks, marc approves, a command vouches."""

    def __init__(
        self, up: running.Up, page: Page, new_context: CreateContextCallback, check: Callable[[Page], None]
    ) -> None:
        self.up, self.base, self.check = up, f"http://127.0.0.1:{up.port}", check
        self.tally = Tally()
        self.first = Hands(page, self.tally)
        self.ana, self.marc = (Hands(new_context().new_page(), self.tally) for _ in range(2))
        for whose in (self.first, self.ana, self.marc):
            whose.page.set_default_timeout(limit_ms(SOON_S))

    def step(self, whose: Hands) -> Locator:
        """The title of the step at hand on somebody's home."""
        return whose.page.locator("#story [aria-current] h3")

    def sign_in(self, first_password: str) -> None:
        page, first = self.first.page, self.first
        page.goto(self.base)
        self.check(page)
        first.fill(page.get_by_label("Name"), "admin")
        first.fill(page.get_by_label("Password"), first_password)
        first.click(page.get_by_role("button", name="Sign in"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Choose a password of your own")
        first.fill(page.get_by_label("Current password"), first_password)
        first.fill(page.get_by_label("New password", exact=True), PASSWORD)
        first.fill(page.get_by_label("Confirm the new password"), PASSWORD)
        first.click(page.get_by_role("button", name="Change password"))
        expect(page.get_by_role("heading", name="Your first story")).to_be_visible()
        self.check(page)

    def convert(self) -> None:
        page, first = self.first.page, self.first
        expect(self.step(first)).to_have_text("Convert orders to a Delta table")
        first.click(page.get_by_role("link", name="Convert", exact=True))
        with self.tally.waiting():
            expect(page.get_by_label("Type of day")).to_be_visible(timeout=limit_ms(WARM_S))
        assert page.get_by_label("Type of day").input_value() == "date"
        assert page.get_by_label("Type of country").input_value() == "string"
        expect(page.get_by_label("Reason")).to_have_value("First story: orders becomes a Delta table.")
        self.check(page)
        first.click(page.get_by_role("button", name="Request conversion"))
        expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
        with self.tally.waiting():
            expect(page.get_by_role("link", name="Open the table")).to_be_visible(timeout=limit_ms(WARM_S))
        expect(page.get_by_text("Committed as version 0").first).to_be_visible()
        self.check(page)

    def look_at_the_history(self) -> None:
        page, first = self.first.page, self.first
        first.click(page.locator("#story-bar-next"))
        expect(page.get_by_role("row").filter(has_text="CONVERT").first).to_be_visible()
        self.check(page)

    def add_the_colleagues(self) -> None:
        """By links that they open elsewhere; each lands on home."""
        page, first = self.first.page, self.first
        first.click(page.locator("#story-bar-next"))
        expect(self.step(first)).to_have_text("Add two colleagues")
        self.check(page)
        first.fill(page.get_by_label("Name of who asks"), "ana")
        first.fill(page.get_by_label("Name of who approves"), "marc")
        first.press("Enter")
        expect(self.step(first)).to_have_text("Preview a delete, and request it")
        self.check(page)
        for name, colleague in (("ana", self.ana), ("marc", self.marc)):
            self._take_the_link(colleague, self._copied(f"Link for {name}"))

    def _take_the_link(self, colleague: Hands, link: str) -> None:
        page = colleague.page
        colleague.open(link)
        colleague.fill(page.get_by_label("Password", exact=True), PASSWORD)
        colleague.fill(page.get_by_label("Confirm the password"), PASSWORD)
        colleague.press("Enter")
        page.wait_for_url(f"{self.base}/")
        self.check(page)

    def _copied(self, label: str, whose: Hands | None = None) -> str:
        hands = whose or self.first
        page = hands.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        expect(page.get_by_label(label)).to_be_visible()
        line = page.locator("lv-copy").filter(has=page.get_by_label(label))
        hands.click(line.get_by_role("button", name="Copy"))
        expect(line.get_by_role("button", name="Copied")).to_be_visible()
        return str(page.evaluate("navigator.clipboard.readText()"))

    def ask_for_the_delete(self) -> None:
        """The button is on ana's home, where she is since she has set her password."""
        page = self.ana.page
        expect(self.step(self.ana)).to_have_text("Preview a delete, and request it")
        self.ana.click(page.get_by_role("link", name="Preview a delete"))
        expect(page.locator("#h-preview")).to_contain_text("rows in")
        expect(page.get_by_label("Reason")).to_have_value("First story: a trial delete.")
        self.check(page)
        self._ask("Request review")

    def _ask(self, button: str) -> None:
        """Until the request waits for its approval."""
        page = self.ana.page
        self.ana.click(page.get_by_role("button", name=button))
        expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
        with self.tally.waiting():
            expect(page.get_by_text("0 of 1 approvals").first).to_be_visible(timeout=limit_ms(JOB_S))

    def vouch(self) -> None:
        """The command is on the request too: the same admin has added both."""
        page = self.ana.page
        bar = page.locator("#story-bar")
        with self.tally.waiting():
            expect(bar).to_contain_text("Have it approved by a second person", timeout=limit_ms(JOB_S))
            expect(bar.get_by_label("Command that vouches for the approver")).to_be_visible(timeout=limit_ms(JOB_S))
        self.check(page)
        command = self._copied("Command that vouches for the approver", self.ana)
        assert command.endswith(" manage.py person vouch marc")
        self.tally.add("run the command")
        # As it is copied, from any directory.
        plain = {name: value for name, value in os.environ.items() if not name.startswith("LEVEE_")}
        subprocess.run(["sh", "-c", command], cwd="/", env=plain, check=True, timeout=limit(30))

    def approve(self, link: str) -> None:
        """marc's page leads to what waits by itself: first his home, then the request that he has decided on."""
        page = self.marc.page
        with self.tally.waiting():
            expect(page.locator(link)).to_have_text("Review", timeout=limit_ms(JOB_S))
        self.marc.click(page.locator(link))
        self.marc.click(page.get_by_role("button", name="Approve", exact=True))
        expect(page.get_by_text("You have approved this version of the request.")).to_be_visible()

    def undo(self) -> None:
        page = self.ana.page
        undo = page.locator("#story-bar").get_by_role("link", name="Undo the delete")
        with self.tally.waiting():
            expect(undo).to_be_visible(timeout=limit_ms(JOB_S))
        self.check(page)
        self.ana.click(undo)
        expect(page.get_by_label("Reason")).to_have_value("First story: the trial delete is undone.")
        self._ask("Request undo")
        self.approve("#story-bar-next")
        with self.tally.waiting():
            expect(page.locator("#to-commit")).to_have_text("2", timeout=limit_ms(JOB_S))
        self.check(page)


def look_at_the_live_table(page: Page, check: Callable[[Page], None]) -> None:
    """No step of the story: what Spark itself says about the table that was parquet a moment ago."""
    page.get_by_role("link", name="Open the table").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
    check(page)
    page.get_by_role("link", name="Read 20 rows").click()
    expect(page.locator("#sample")).to_contain_text("read live at version 0", timeout=limit_ms(WARM_S))
    check(page)
    page.get_by_role("link", name="Capabilities").click()
    expect(page.locator("#live-capabilities")).to_contain_text("read live at version 0", timeout=limit_ms(WARM_S))
    expect(page.locator("#live-capabilities")).to_contain_text("ACCEPT_ANY_SCHEMA")
    expect(page.locator("#live-capabilities")).to_contain_text("delta.minReaderVersion")
    check(page)


def test_the_first_story_is_played_to_its_undo_without_going_home(
    up: running.Up,
    first_password: str,
    page: Page,
    new_context: CreateContextCallback,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    def check(looked_at: Page) -> None:
        check_page(looked_at, axe_findings, faults)

    story = Story(up, page, new_context, check)
    story.sign_in(first_password)
    page.goto(f"{story.base}/tables/add/")
    expect(page.get_by_text("/lake/orders").first).to_be_visible()
    check(page)
    page.goto(story.base)
    story.convert()
    look_at_the_live_table(page, check)
    page.go_back()  # to the table, whose page leads on
    story.look_at_the_history()
    story.add_the_colleagues()
    story.ask_for_the_delete()
    story.vouch()
    story.approve("#story-approve")
    story.undo()
    for whose in (story.first, story.ana, story.marc):
        whose.page.goto(story.base)
        expect(whose.page.locator("#story")).to_have_count(0)
        expect(whose.page.locator("#story-bar")).to_contain_text("6 of 6")
    print(f"the first story: {len(story.tally.acts)} clicks and keys, {story.tally.waited:.0f} s of waiting")
    assert len(story.tally.acts) <= MOST_ACTS, story.tally.acts


@pytest.fixture(scope="module")
def token(up: running.Up) -> str:
    """A token of an operator, made while the instance runs."""
    answer = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "person",
            "add",
            "program",
            "--role",
            "operator",
            "--on",
            "everything",
            "--token",
            "t",
        ],
        cwd=PROJECT,
        env=running.environment(up.home, up.port),
        capture_output=True,
        text=True,
        check=True,
        timeout=limit(30),
    )
    return answer.stdout.split()[-1]


def test_a_program_converts_by_the_api(up, token):
    request = {
        "command": "convert",
        "path": f"{up.home}/lake/page_views",
        "source_format": "parquet",
        "partition_schema": None,
        "collect_stats": True,
        "reason": "the same by the API",
    }
    status, inspection = call(up, token, "POST", "/conversions/inspect?wait=60", {"path": request["path"]})
    while status == 202:
        status, inspection = call(up, token, "GET", f"/reads/{inspection['id']}?wait=60")
    assert status == 200
    proposed = [f"{c['name']} {c['proposed_type']}" for c in inspection["partition_columns"]]
    request["partition_schema"] = ", ".join(proposed) or None
    status, job = call(up, token, "POST", "/jobs", request)
    assert status == 201
    job = ended(up, token, job["id"])
    assert (job["state"], job["result"]["version"], job["result"]["operation"]) == ("succeeded", 0, "CONVERT")
    _, table = call(up, token, "GET", f"/tables/{job['table']['id']}")
    assert (table["format"], table["version"]) == ("delta", 0)


def test_a_convert_that_must_be_refused_leaves_the_directory_as_it_was(up, token):
    directory = up.home / "lake" / "returns"
    before = sorted(p.relative_to(directory) for p in directory.rglob("*"))
    body = {
        "command": "convert",
        "path": str(directory),
        "source_format": "parquet",
        "partition_schema": "day date",
        "reason": "r",
    }
    _, job = call(up, token, "POST", "/jobs", body)
    job = ended(up, token, job["id"])
    assert job["state"] == "failed"
    refused = {(refusal["code"], refusal["place"]) for refusal in job["error"]["refusals"]}
    assert refused >= {("stray_files", "readme.txt"), ("schema_conflict", "amount_cents")}
    (conflict,) = job["preview"]["conflicts"]
    assert (conflict["column"], conflict["types"], conflict["fatal"]) == ("amount_cents", {"int": 4, "bigint": 4}, True)
    assert job["error"]["table_state"] == "Nothing was committed."
    assert sorted(p.relative_to(directory) for p in directory.rglob("*")) == before


def test_everything_is_still_there_after_a_restart(up, token):
    _, before = call(up, token, "GET", "/tables?limit=500")
    assert up.stop() == 0
    with running.running(up.home, up.port, LEVEE_UP_WITHOUT="spark,interactive") as again:
        _, after = call(again, token, "GET", "/tables?limit=500")
    assert [t["id"] for t in after["results"]] == [t["id"] for t in before["results"]]

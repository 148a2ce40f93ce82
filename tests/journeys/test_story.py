"""The story: from the first sign-in to a Delta table that was parquet a moment ago, in a browser and by the API."""

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from console.supervisor.tools import PROJECT
from tests.console import running

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
WARM_MS = 240_000  # two JVMs on two busy cores
JOB_MS = 180_000


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
        with urllib.request.urlopen(request, timeout=90) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def ended(up: running.Up, token: str, job_id: str) -> dict[str, Any]:
    """The job once it has ended."""
    limit = time.monotonic() + JOB_MS / 1000
    while time.monotonic() < limit:
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


def test_a_person_converts_the_sample_orders(up, first_password, page: Page, faults, axe_findings):
    base = f"http://127.0.0.1:{up.port}"
    page.goto(base)
    check_page(page, axe_findings, faults)
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(first_password)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Choose a password of your own")
    page.get_by_label("Current password").fill(first_password)
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm the new password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()

    expect(page.get_by_role("heading", name="Your first story")).to_be_visible()
    check_page(page, axe_findings, faults)

    page.goto(f"{base}/tables/add/")
    expect(page.get_by_text("/lake/orders").first).to_be_visible()
    check_page(page, axe_findings, faults)

    page.get_by_role("link", name="Home").first.click()
    page.get_by_role("link", name="Convert", exact=True).click()
    expect(page.get_by_label("Type of day")).to_be_visible(timeout=WARM_MS)
    assert page.get_by_label("Type of day").input_value() == "date"
    assert page.get_by_label("Type of country").input_value() == "string"
    check_page(page, axe_findings, faults)
    page.get_by_label("Reason").fill("orders become a Delta table")
    page.get_by_role("button", name="Request conversion").click()

    expect(page).to_have_url(re.compile(r"/jobs/[0-9a-f-]{36}/$"))
    expect(page.get_by_role("link", name="Open the table")).to_be_visible(timeout=WARM_MS)
    expect(page.get_by_text("Committed as version 0").first).to_be_visible()
    check_page(page, axe_findings, faults)
    page.get_by_role("link", name="Open the table").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("orders")
    live = page.locator("#live-table")
    expect(live).to_contain_text("read live from Spark at version 0", timeout=WARM_MS)
    check_page(page, axe_findings, faults)
    live.get_by_role("link", name="Properties, capabilities, any version").click()
    expect(page.locator("#live-capabilities")).to_contain_text("ACCEPT_ANY_SCHEMA", timeout=WARM_MS)
    expect(page.locator("#live-capabilities")).to_contain_text("delta.minReaderVersion")
    check_page(page, axe_findings, faults)
    page.get_by_role("link", name="Home").first.click()
    expect(page.locator("#story [aria-current] h3")).to_have_text("Look at its history")
    page.get_by_role("link", name="Open the history").click()
    expect(page.get_by_role("row").filter(has_text="CONVERT").first).to_be_visible()
    check_page(page, axe_findings, faults)


@pytest.fixture(scope="module")
def token(up: running.Up) -> str:
    """A token of an operator, made while the instance runs."""
    answer = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "person",
            "add",
            "ana",
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
        timeout=120,
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
        "partition_schema": None,
        "reason": "r",
    }
    _, job = call(up, token, "POST", "/jobs", body)
    job = ended(up, token, job["id"])
    assert job["state"] == "failed"
    assert job["error"]["table_state"] == "Nothing was committed."
    assert sorted(p.relative_to(directory) for p in directory.rglob("*")) == before


def test_everything_is_still_there_after_a_restart(up, token):
    _, before = call(up, token, "GET", "/tables?limit=500")
    assert up.stop() == 0
    with running.running(up.home, up.port, LEVEE_UP_WITHOUT="spark,interactive") as again:
        _, after = call(again, token, "GET", "/tables?limit=500")
    assert [t["id"] for t in after["results"]] == [t["id"] for t in before["results"]]

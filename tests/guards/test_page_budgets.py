"""A page is light: at most 150 KB are transferred the first time with all that it loads, 40 KB when its files are known already.

The help's pictures come on top; tests/journeys/test_help_pictures.py counts them, with what a browser really loads.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.pages.help import site
from console.pages.reference.operations import by_slug
from tables.deltalog.replay.log import open_log
from tables.models import Commit, Table
from tables.record.file_layout import summarize
from tests import factories
from tests.clients import browser
from tests.journeys.sample_server import rendered
from tests.journeys.samples import PAGES
from tests.tables.deltalog.writing import LogWriter, add

PROJECT = Path(__file__).parents[2]
BUILT = PROJECT / "frontend" / "dist" / "levee"
KNOWN, FIRST = 40_000, 150_000  # bytes transferred
TRYING = BUILT / "try.js"  # that the reference of the API alone loads
CLASS = re.compile(r"\.(-?[_a-zA-Z][\w-]*)")
TABLER = PROJECT / "frontend" / "node_modules" / "@tabler" / "core" / "dist" / "css" / "tabler.min.css"


def transferred(file: Path) -> int:
    """Bytes as served: fonts are compressed already."""
    data = file.read_bytes()
    return len(data) if file.suffix == ".woff2" else len(gzip.compress(data, 9))


def layout(folder: Path) -> dict[str, Any]:
    """Three files of each size in each of 400 partitions."""
    writer = LogWriter(folder / "sales")
    files = (
        add(f"{day}-{n}", size=n << 22, partition={"day": f"2026-{day:03}"}) for day in range(400) for n in (1, 8, 90)
    )
    writer.create(*files, partition=["day"])
    return summarize(open_log(str(writer.table)).snapshot(target=folder / "files.arrow"))


@pytest.fixture
def sales(tmp_path: Path) -> Table:
    """A long history of commits that fold to little, a job of each end, a stream, and files in more partitions than a page lists."""
    table = factories.TableFactory(
        name="sales", format=Table.Format.DELTA, version=900, first_version=0, first_readable=0, layout=layout(tmp_path)
    )
    now = timezone.now()
    Commit.objects.bulk_create(
        Commit(
            table=table, version=version, committed_at=now - timedelta(hours=900 - version), user_name="hourly-load",
            operation=("WRITE", "UPDATE", "WRITE", "DELETE")[version % 4], bytes_added=9, bytes_removed=3, rows_changed=1,
        )
        for version in range(901)
    )  # fmt: skip
    for number in range(40):
        factories.job("succeeded", table=table, version=number, parameters={"n": number})
    factories.job("awaiting_approval", table=table)
    factories.stream(table)
    factories.schedule(table)
    return table


def assert_light(pages: dict[str, int], *, trying: bool = False) -> None:
    """Bytes of each page, beside all files that the build has: no page needs more than these, and few need TRYING."""
    built = [file for file in BUILT.rglob("*") if file.is_file() and (trying or file != TRYING)]
    files = sum(map(transferred, built))
    assert {name: size for name, size in pages.items() if size > min(KNOWN, FIRST - files)} == {}, files


def served(client: Client, addresses: Iterable[str]) -> dict[str, int]:
    """The bytes that a browser gets of each, which must be a page."""
    sizes = {}
    for address in addresses:
        answer = client.get(address, headers={"accept-encoding": "gzip"})
        assert answer.status_code == 200, address
        assert answer["Content-Encoding"] == "gzip", address
        sizes[address] = len(answer.content)
    return sizes


@pytest.mark.django_db
def test_main_pages_are_light(sales: Table, redis_server: object) -> None:
    client = browser(factories.person_named("ada", "admin", "operator", "auditor"))
    waiting = sales.jobs.get(state="awaiting_approval").pk
    of_table = [f"/tables/{sales.pk}/{page}" for page in ("", "history/", "history/?unfold=1", "layout/")]
    pages = [
        "/",
        "/tables/",
        "/jobs/",
        f"/jobs/{waiting}/",
        "/streams/",
        "/schedules/",
        "/approvals/",
        "/audit/",
        "/roots/",
        "/people/",
        "/workers/",
    ]
    assert_light(served(client, (*pages, *of_table)))


def test_every_state_of_every_page_is_light() -> None:
    assert_light({name: len(gzip.compress(rendered(name, "auto").encode(), 6)) for name in PAGES})


@pytest.mark.django_db
def test_every_page_of_the_help_is_light() -> None:
    assert_light(served(Client(), ["/help/", *(f"/help/{name}/" for name in site.load().pages if name)]))


@pytest.mark.django_db
def test_every_page_of_the_reference_is_light() -> None:
    client = browser(factories.PersonFactory())
    client.defaults["HTTP_ACCEPT"] = "text/html"
    assert_light(served(client, ["/api/v1/"]))
    assert_light(served(client, [f"/help/api/{slug}/" for slug in by_slug()]), trying=True)


def test_no_property_is_shipped_that_no_rule_reads() -> None:
    """Tabler defines hundreds that its own other rules read."""
    css = (BUILT / "levee.css").read_text()
    defined = set(re.findall(r"(--tblr-[\w-]+)\s*:", css))
    assert defined - set(re.findall(r"var\(\s*(--[\w-]+)", css)) == set()
    assert "--tblr-body-bg" in defined


def test_each_class_of_tabler_that_a_template_names_is_shipped() -> None:
    templates = (PROJECT / "frontend" / "templates").rglob("*.html")
    named = {
        word for file in templates for text in re.findall(r'class="([^"]*)"', file.read_text()) for word in text.split()
    }
    own = {name for file in (PROJECT / "frontend" / "styles").glob("*.css") for name in CLASS.findall(file.read_text())}
    of_tabler = named & set(CLASS.findall(TABLER.read_text()))
    shipped = set((PROJECT / "frontend" / "tabler.txt").read_text().split())
    assert len(of_tabler & shipped) > 5
    assert sorted(of_tabler - shipped - own) == []

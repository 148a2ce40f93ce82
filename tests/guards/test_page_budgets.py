"""A page is light: at most 150 KB are transferred the first time with all that it loads, 40 KB when its files are known already."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tables.models import Commit, Table
from tests import factories
from tests.clients import browser

PROJECT = Path(__file__).parents[2]
BUILT = PROJECT / "frontend" / "dist" / "levee"
KNOWN, FIRST = 40_000, 150_000  # bytes transferred
CLASS = re.compile(r"\.(-?[_a-zA-Z][\w-]*)")
TABLER = PROJECT / "frontend" / "node_modules" / "@tabler" / "core" / "dist" / "css" / "tabler.min.css"


def transferred(file: Path) -> int:
    """Bytes as served: fonts are compressed already."""
    data = file.read_bytes()
    return len(data) if file.suffix == ".woff2" else len(gzip.compress(data, 9))


@pytest.fixture
def sales() -> Table:
    """A long history of commits that fold to little, a job of each end and a stream."""
    table = factories.TableFactory(
        name="sales", format=Table.Format.DELTA, version=900, first_version=0, first_readable=0
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
    return table


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
        "/approvals/",
        "/audit/",
        "/roots/",
        "/people/",
        "/workers/",
    ]
    sizes = {}
    for address in (*pages, *of_table):
        answer = client.get(address)
        assert answer.status_code < 500
        sizes[address] = len(gzip.compress(answer.content, 6))
    files = sum(transferred(file) for file in BUILT.rglob("*") if file.is_file())
    assert {address: size for address, size in sizes.items() if size > KNOWN} == {}
    assert files + max(sizes.values()) <= FIRST, (files, sizes)


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

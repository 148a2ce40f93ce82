"""A stream's commits are one line of the history, which a link opens; whatever asks for a look stays a line of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from tables.models import Commit, Explanation, Table
from tests import factories
from tests.tables.web.table.test_pages import page

pytestmark = pytest.mark.django_db
HEAD = 700
STREAM = "STREAMING UPDATE"


@pytest.fixture
def sales() -> Table:
    """A stream of 700 commits, and the commit that made the table."""
    table = factories.TableFactory(format=Table.Format.DELTA, version=HEAD, first_version=0, first_readable=0)
    now = timezone.now()
    Commit.objects.bulk_create(
        Commit(
            table=table, version=version, committed_at=now - timedelta(minutes=10 * (HEAD - version)),
            operation=STREAM if version else "CREATE TABLE", engine_info="Spark",
            files_added=2, files_removed=0, bytes_added=1024, bytes_removed=0, rows_changed=10,
        )
        for version in range(HEAD + 1)
    )  # fmt: skip
    return table


@pytest.fixture
def vic(person: Callable[..., Person]) -> Client:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    return client


def versions(html: str) -> list[str]:
    """The version cells of a history's lines."""
    return re.findall(r'class="lv-name" href="[^"]*"[^>]*>([^<]+)<', html)


def opened(html: str, line: str) -> str:
    """Where the link of a line leads."""
    found = re.search(rf'class="lv-name" href="([^"]*)"[^>]*>{line}<', html)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_a_stream_is_a_line_that_a_link_opens(vic: Client, sales: Table) -> None:
    address = f"/tables/{sales.pk}/history/"
    html = page(vic, address)
    assert versions(html) == ["700", "301 – 699"]
    text = re.sub(r"<[^>]+>", " ", html)
    for words in (f"399 × {STREAM}", "+3,990", "+798", "+399 KiB"):
        assert words in text
    assert html.count('aria-label="When they were made, from ') == 1
    lines = versions(page(vic, address + opened(html, "301 – 699")))
    assert lines == [str(version) for version in range(699, 649, -1)]
    assert versions(page(vic, address + "?unfold=1"))[0] == "700"


def test_the_lines_of_all_pages_hold_every_commit_once_onwards_and_back(vic: Client, sales: Table) -> None:
    address = f"/tables/{sales.pk}/history/"
    html = page(vic, address)
    there = versions(html)
    while onwards := re.search(r'rel="next" href="([^"]+)"', html):
        html = page(vic, address + onwards[1].replace("&amp;", "&"))
        there += versions(html)
    assert there == ["700", "301 – 699", "1 – 300", "0"]
    back = re.search(r'rel="prev" href="([^"]+)"', html)
    assert back is not None
    assert versions(page(vic, address + back[1].replace("&amp;", "&"))) == ["700", "301 – 699"]


def test_what_asks_for_a_look_breaks_the_run(vic: Client, sales: Table) -> None:
    def change(version: int, **fields: object) -> None:
        Commit.objects.filter(table=sales, version=version).update(**fields)

    change(690, operation="DELETE")
    change(680, job=sales.pk)
    change(670, engine_info="Flink")
    change(660, operation_parameters={"predicate": "country = 'FR'"})
    change(650, problems=[{"code": "corrupt", "file": "x", "reason": "cut"}])
    Explanation.objects.create(table=sales, incarnation=0, version=640, effects=["DELETE"], verdict="nobody")
    Commit.objects.filter(table=sales, version=630).delete()
    lines = versions(page(vic, f"/tables/{sales.pk}/history/"))
    assert [line for line in lines if "–" not in line] == ["700", "690", "680", "670", "660", "650", "640"]
    assert lines[-2:] == ["631 – 639", "300 – 629"]


def test_a_sum_with_an_unknown_part_is_not_recorded(vic: Client, sales: Table) -> None:
    Commit.objects.filter(table=sales, version=500).update(rows_changed=None, bytes_removed=None)
    text = page(vic, f"/tables/{sales.pk}/history/")
    assert text.count("not recorded</abbr>") == 2


def test_a_few_commits_stay_one_by_one(vic: Client, sales: Table) -> None:
    Commit.objects.filter(table=sales).annotate(odd=F("version") % 4).filter(odd=0).update(operation="WRITE")
    assert not [line for line in versions(page(vic, f"/tables/{sales.pk}/history/")) if "–" in line]

"""The rows that differ between two versions, asked for by programs and pages: whose right, what is recorded, refused and shown."""

import html as markup
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.audit.models import Event
from jobs.domain import read_limits
from jobs.models import Read
from jobs.reads import queue
from tables.models import Table
from tables.sync import log_access
from tables.sync import table as syncing
from tests import factories
from tests.clients import Caller, browser, caller
from tests.jobs.reads.test_rows import answered, events, page
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, remove, vector

pytestmark = pytest.mark.django_db

FEED = {"delta.enableChangeDataFeed": "true"}
TOTALS = {"insert": 1200, "delete": 1, "update_preimage": 1, "update_postimage": 1, "lines": 904}
ANSWER = {
    "columns": [
        {"name": "_change_type", "type": "string"}, {"name": "_count", "type": "bigint"}, {"name": "<i>id</i>", "type": "bigint"},
        {"name": "note", "type": "string"},
    ],
    "rows": [["delete", 1, 1, "<b>x</b>"], ["insert", 12, 1, None], ["update_preimage", 1, 2, "a"], ["update_postimage", 1, 2, ""]],
    "truncated": True, "cut_cells": [], "from_version": 1, "to_version": 3, "read_from": "change_feed", "no_feed": None,
    "totals": TOTALS,
    "read": {"files": 3, "bytes": 3 << 20, "rows": 1205},
    "columns_added": ["<i>new</i>"], "columns_removed": ["old"], "columns_changed": [], "added_as_null": True,
}  # fmt: skip
BY_FILES = ANSWER | {
    "read_from": "files", "no_feed": "the table didn't keep one in each of these versions", "truncated": False,
    "totals": TOTALS | {"update_preimage": None, "update_postimage": None, "lines": 4},
    "columns_changed": ["size"], "added_as_null": False,
}  # fmt: skip


def made(tmp_path, **configuration):
    """Versions 0 to 3: files a, b; b with a deletion vector; c; a again as d, without another row."""
    writer = LogWriter(tmp_path / "orders")
    hidden = vector("ab^-aqEH.-t@S}K{vb[*k^", 6)
    commits = [
        (PROTOCOL, metadata(**configuration), add("a", size=100), add("b", size=100)),
        (remove("b", size=100), add("b", size=100, deletionVector=hidden)),
        (add("c", size=1000),),
        (remove("a", size=100), add("d", size=90)),
    ]
    for version, actions in enumerate(commits):  # of this hour: Delta reads no version beyond the retention
        writer.commit(
            version, info(), *actions, modified_ms=int(timezone.now().timestamp() * 1000) - 60_000 * (10 - version)
        )
    root = factories.RootFactory(uri=str(tmp_path))
    return writer, syncing.sync(factories.TableFactory(root=root, name="orders", path=str(tmp_path / "orders")).pk)


@pytest.fixture
def table(tmp_path):
    return made(tmp_path)[1]


def ask(client, table, first, last, **more):
    return client.post(f"/tables/{table.pk}/row-diff", {"from_version": first, "to_version": last, **more})


# ------------------------------------------------------------------------------------------------ programs


def test_it_is_a_question_and_an_event(table):
    table.catalog_name = "db.orders"
    table.save()
    viewer = caller("viewer")
    assert ask(viewer, table, 1, 3, limit=10).status_code == 202
    read = Read.objects.get()
    assert (read.kind, read.queue, read.asked_version) == ("row_diff", "interactive", 3)
    assert read.question == {"path": table.path, "from_version": 1, "to_version": 3, "limit": 10}
    (event,) = events()
    assert (event.after, event.table_version) == (
        {"read": "row_diff", "from_version": 1, "to_version": 3, "limit": 10},
        3,
    )
    answered("row_diff", ANSWER)
    assert ask(viewer, table, 1, 3, limit=10).status_code == 202
    assert (viewer.get(f"/reads/{read.pk}").json(), Read.objects.count(), len(events())) == (ANSWER, 1, 2)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "from_version"), ({"from_version": 1}, "to_version"), ({"from_version": 2, "to_version": 2}, "to_version"),
        ({"from_version": 3, "to_version": 2}, "to_version"), ({"from_version": -1, "to_version": 2}, "from_version"),
        ({"from_version": 1, "to_version": None}, "to_version"), ({"from_version": 1, "to_version": 2, "limit": 1001}, "limit"),
        ({"from_version": 1, "to_version": 2, "columns": ["a"]}, "columns"),
    ],
)  # fmt: skip
def test_an_odd_question_is_400_and_names_the_field(table, body, field):
    answer = caller("viewer").post(f"/tables/{table.pk}/row-diff", body)
    assert (answer.status_code, field in answer.json()["fields"]) == (400, True)
    assert not Read.objects.exists()
    assert not events()


def test_it_needs_the_right_to_rows(table):
    admin, stranger = factories.person_with("admin"), caller("viewer", root=factories.RootFactory())
    factories.GrantFactory(person=admin, role="viewer", root=factories.RootFactory())
    address = f"/tables/{table.pk}/compare/rows/"
    assert ask(Caller(admin), table, 1, 3).status_code == 403
    page(browser(admin), address, 403)
    assert [event.outcome for event in events()] == ["refused", "refused"]
    assert ask(stranger, table, 1, 3).status_code == 404
    page(browser(stranger.person), address, 404)
    assert not Read.objects.exists()


def test_it_has_longer_than_a_sample_of_rows(table):
    assert queue.limit_of("row_diff") == 120 > queue.limit_of("rows")
    read = factories.read(
        factories.person_with("viewer"), kind="row_diff", question={"path": table.path}, state="running"
    )
    for seconds, late in ((100, False), (200, True)):
        Read.objects.update(started_at=timezone.now() - timedelta(seconds=seconds))
        assert Read.objects.filter(queue.overdue(), pk=read.pk).exists() is late


# ------------------------------------------------------------------------------------------------ too much to read


@pytest.mark.parametrize(
    ("first", "last", "most", "refused"),
    [
        (0, 1, 200, False), (0, 1, 199, True),  # b with its deletion vector and without
        (1, 2, 1000, False), (1, 2, 999, True),
        (0, 3, 1390, False), (0, 3, 1389, True),
    ],
)  # fmt: skip
def test_more_bytes_than_the_bound_are_refused_before_spark(table, monkeypatch, first, last, most, refused):
    monkeypatch.setattr(read_limits, "MOST_BYTES", most)
    answer = ask(caller("viewer"), table, first, last)
    assert answer.status_code == (422 if refused else 202)
    assert (Read.objects.exists(), len(events())) == (not refused, int(not refused))
    if refused:
        assert answer.json()["code"] == "too_much_to_read"
        assert "0.0 GiB" in answer.json()["detail"]


def test_what_came_and_went_in_between_does_not_count(tmp_path, monkeypatch):
    writer, table = made(tmp_path)
    writer.commit(4, remove("c", size=1000))
    writer.commit(5, add("e", size=1))
    table = syncing.sync(table.pk)
    monkeypatch.setattr(read_limits, "MOST_BYTES", 400)
    viewer = caller("viewer")
    assert ask(viewer, table, 1, 5).status_code == 202  # a, d, e: 191 bytes; the commits moved 2,191
    assert ask(viewer, table, 2, 5).json()["code"] == "too_much_to_read"


def test_more_rows_or_files_than_the_bound_are_refused_too(table, monkeypatch):
    monkeypatch.setattr(read_limits, "MOST_FILES", 4)
    detail = ask(caller("viewer"), table, 0, 3).json()["detail"]
    assert detail.startswith(
        "There is too much to read: 5 files in the files that only one of the two versions has, and one read takes at"
    )


def test_a_change_feed_may_have_less_to_read(tmp_path, monkeypatch):
    _, table = made(tmp_path, **FEED)
    monkeypatch.setattr(read_limits, "MOST_BYTES", 10)
    assert ask(caller("viewer"), table, 0, 3).status_code == 202


def test_what_the_catalog_does_not_know_is_left_to_spark(tmp_path, monkeypatch):
    writer, table = made(tmp_path)
    monkeypatch.setattr(read_limits, "MOST_BYTES", 10)
    viewer = caller("viewer")
    assert ask(viewer, table, 1, 3).json()["code"] == "too_much_to_read"
    writer.commit(4, remove("c", size=1000))
    assert ask(viewer, table, 1, 3).status_code == 202
    assert ask(viewer, table, 1, 4).status_code == 202


def test_versions_that_can_not_be_read_are_gone_for_programs_too(table, monkeypatch):
    listed, head_version = [], log_access.head_version

    def counted(*given):
        listed.append(given)
        return head_version(*given)

    monkeypatch.setattr(log_access, "head_version", counted)
    viewer = caller("viewer")
    answer = ask(viewer, table, 1, 99)
    assert (answer.status_code, answer.json()["code"], len(listed)) == (410, "version_gone", 1)
    assert answer.json()["detail"].startswith("The newest version is 3.")
    Table.objects.update(first_readable=2, rebuildable=[[2, 3]])
    answer = ask(viewer, table, 0, 3)
    assert (answer.status_code, answer.json()["code"], len(listed)) == (410, "version_gone", 2)
    assert answer.json()["detail"].startswith("Version 0 can’t be read.")
    assert (Read.objects.exists(), events()) == (False, [])
    assert (ask(viewer, table, 2, 3).status_code, len(listed)) == (202, 3)


# ------------------------------------------------------------------------------------------------ pages


def test_the_page_asks_and_polls_until_there_is_an_answer(table):
    client = browser(factories.person_with("viewer"))
    shown = page(client, f"/tables/{table.pk}/compare/rows/?from_version=1&to_version=3&limit=20")
    read = Read.objects.get()
    assert read.question == {"path": table.path, "from_version": 1, "to_version": 3, "limit": 20}
    assert f'hx-get="/reads/{read.pk}/rows/"' in shown
    assert f"/tables/{table.pk}/compare/?from=1&amp;to=3" in shown
    answered("row_diff", ANSWER)
    part = page(client, f"/reads/{read.pk}/rows/")
    text = words(part)
    assert "1,201 rows came, 2 went" in text
    assert "− went 1 1 <b>x</b>" in text
    assert "+ came 12 1 NULL" in text
    assert "− before update 1 2 a" in text
    assert "+ after update 1 2 empty text" in text
    assert "From the change feed" in text
    assert "The first 4 lines, by the values of the columns from left to right; 900 more differ." in text
    assert "Rows read 1,205 Files read 3 Bytes of them 3.00 MiB" in text
    assert "count as NULL: <i>new</i>." in text
    assert "their type is another: old." in text
    assert "hx-trigger" not in part
    assert f"/reads/{read.pk}/rows.csv" in part
    assert len(events()) == 1


def test_by_files_it_says_why_there_was_no_feed(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/compare/rows/")
    read = Read.objects.get()
    assert (read.question["from_version"], read.question["to_version"]) == (2, 3)  # the last two
    answered("row_diff", BY_FILES)
    text = words(page(client, f"/reads/{read.pk}/rows/"))
    assert "The change feed wasn’t read: the table didn't keep one in each of these versions." in text
    assert "their type is another: old, size, <i>new</i>." in text
    assert "more differ" not in text
    assert "count as NULL" not in text


def test_no_difference_is_said(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/compare/rows/")
    nothing = dict.fromkeys(TOTALS, 0)
    answered("row_diff", BY_FILES | {"rows": [], "totals": nothing})
    assert "The rows are the same" in page(client, f"/reads/{Read.objects.get().pk}/rows/")


def test_versions_the_other_way_round_are_turned_and_one_version_is_refused(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/compare/rows/?from_version=3&to_version=0")
    assert (Read.objects.get().question["from_version"], Read.objects.get().question["to_version"]) == (0, 3)
    assert "Enter two different versions." in page(
        client, f"/tables/{table.pk}/compare/rows/?from_version=3&to_version=3", 400
    )
    page(client, f"/tables/{table.pk}/compare/rows/?from_version=x&to_version=3", 400)
    assert Read.objects.count() == 1


def test_what_is_refused_at_once_stands_in_the_part_that_the_comparison_takes(table, monkeypatch):
    monkeypatch.setattr(read_limits, "MOST_BYTES", 10)
    client = browser(factories.person_with("viewer"))
    shown = page(client, f"/tables/{table.pk}/compare/rows/?from_version=1&to_version=3")
    assert "too_much_to_read" in shown[shown.index('id="row_diff"') :]
    assert "and one read takes at most 0 GiB. State" in words(shown)
    assert words(shown).count("Compare versions that lie closer together.") == 1
    shown = page(client, f"/tables/{table.pk}/compare/rows/?from_version=1&to_version=9")
    assert "The newest version is 3." in shown
    assert not Read.objects.exists()


def test_the_page_of_two_versions_offers_it_to_who_may_read_rows(table):
    address = f"/tables/{table.pk}/compare/?from=3&to=1"
    shown = page(browser(factories.person_with("viewer")), address)
    assert f"/tables/{table.pk}/compare/rows/?from_version=1&amp;to_version=3" in shown
    assert "Compared from the older version, 1, to the newer one, 3." in shown
    assert "compare/rows" not in page(
        browser(factories.person_with("viewer")), f"/tables/{table.pk}/compare/?from=3&to=3"
    )
    assert "compare/rows" not in page(browser(factories.person_with("admin")), address)
    assert not Event.objects.filter(action="table.read_rows").exists()


def test_the_lines_are_taken_away_as_a_file(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/compare/rows/")
    answered("row_diff", ANSWER)
    lines = client.get(f"/reads/{Read.objects.get().pk}/rows.csv").content.decode().split("\r\n")
    assert lines[:2] == ["_change_type,_count,<i>id</i>,note", "delete,1,1,<b>x</b>"]
    (event,) = [event for event in events() if "file" in event.after]
    assert (event.after, event.table_version) == ({"read": "row_diff", "file": "csv", "rows": 4}, 3)


def words(text):
    """A page's text without its tags, with single blanks."""
    return re.sub(r"\s+", " ", markup.unescape(re.sub(r"<[^>]+>", " ", text))).replace(" .", ".")

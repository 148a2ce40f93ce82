"""Rows and the change feed, asked for by programs and pages: whose right it is, what is recorded, what is shown."""

import html as markup
import json
import re
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from console.audit.models import Event
from jobs.models import Read
from jobs.web.reads.row_cells import headings, lines, visible
from tables.models import Commit, Schema, SyncTimes
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db

HOSTILE = [
    "<b>x</b>",
    "=cmd|'/c calc'!A1",
    "{{ 7 }}",
    "\u202egnp.exe",
    "a\nb",
    "\x1b[31m",
    "\u200b",
    '" onmouseover="x',
    "",
    None,
]
ANSWER = {
    "columns": [{"name": "id", "type": "bigint"}, {"name": "<i>note</i>", "type": "string"}],
    "rows": [[2**60, text] for text in HOSTILE],
    "version": 7,
    "truncated": True,
    "cut_cells": [[0, 1]],
}
CHANGES = {
    "columns": [{"name": "id", "type": "int"}, {"name": "_change_type", "type": "string"}],
    "rows": [[1, "delete"]],
    "from_version": 3, "to_version": 7, "truncated": False, "cut_cells": [],
}  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table at version 7 whose feed was turned on at version 3."""
    (tmp_path / "orders").mkdir()
    fields: list[dict[str, object]] = [
        {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("id", "<i>note</i>")
    ]
    struct = {"type": "struct", "fields": fields}
    schema = Schema.objects.create(sha256="a" * 64, struct=struct, columns=["id", "<i>note</i>"])
    made = factories.TableFactory(
        root=factories.RootFactory(uri=str(tmp_path)), name="orders", version=7, first_version=0, first_readable=0,
        schema=schema, properties={"delta.enableChangeDataFeed": "true"},
    )  # fmt: skip
    SyncTimes.objects.filter(pk=made.pk).update(synced_at=timezone.now())
    for version in range(8):
        on = {"delta.enableChangeDataFeed": "true"} if version == 3 else {} if version == 0 else None
        Commit.objects.create(
            table=made, incarnation=made.incarnation, version=version, properties=on,
            committed_at=timezone.now() - timedelta(hours=10 - version),
        )  # fmt: skip
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda *_: 7)
    return made


def answered(kind, answer):
    Read.objects.filter(kind=kind).update(state="answered", answer=answer, answered_at=timezone.now())


def page(client, address, status=200):
    found = client.get(address)
    assert found.status_code == status, found.content[-2000:]
    return found.content.decode()


def events():
    return list(Event.objects.filter(action="table.read_rows").order_by("pk"))


# ------------------------------------------------------------------------------------------------ programs


def test_rows_are_a_question_and_an_event(table):
    viewer = caller("viewer")
    answer = viewer.post(f"/tables/{table.pk}/rows", {"version": 3, "columns": ["a.b", "id"], "limit": 10})
    read = Read.objects.get()
    assert answer.json() == {"id": str(read.pk), "state": "waiting", "result_url": f"/api/v1/reads/{read.pk}"}
    asked = {"version": 3, "columns": ["a.b", "id"], "limit": 10}
    assert (read.kind, read.queue, read.asked_version) == ("rows", "interactive", 3)
    assert read.question == {"path": table.path, **asked}
    (event,) = events()
    assert (event.actor_name, event.object_id, event.outcome) == (viewer.person.name, str(table.pk), "allowed")
    assert (event.after, event.table_version) == ({"read": "rows", **asked}, 3)


def test_changes_are_a_question_and_an_event(table):
    viewer = caller("viewer")
    assert viewer.post(f"/tables/{table.pk}/changes", {"from_version": 3, "to_version": None}).status_code == 202
    read = Read.objects.get()
    assert (read.kind, read.asked_version) == ("changes", 7)
    assert read.question == {"path": table.path, "from_version": 3, "limit": 100}
    assert events()[0].after == {"read": "changes", "from_version": 3, "limit": 100}


def test_a_time_and_a_name_reach_the_engine(table):
    table.catalog_name = "db.orders"
    table.save()
    caller("viewer").post(f"/tables/{table.pk}/rows", {"timestamp": "2026-01-02T03:04:05Z", "version": 1})
    assert Read.objects.get().question == {
        "path": table.path, "name": "db.orders", "timestamp": "2026-01-02T03:04:05+00:00", "version": 1, "limit": 100,
    }  # fmt: skip


def test_the_answer_is_given_again_at_the_same_version_and_every_asking_is_an_event(table, monkeypatch):
    viewer = caller("viewer")
    viewer.post(f"/tables/{table.pk}/rows")
    answered("rows", ANSWER)
    again = viewer.post(f"/tables/{table.pk}/rows?wait=1")
    assert (again.status_code, again.json()) == (200, ANSWER)
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda *_: 8)
    assert viewer.post(f"/tables/{table.pk}/rows").status_code == 202
    assert (Read.objects.count(), len(events())) == (2, 3)


def test_delta_refuses_with_its_condition(table):
    viewer = caller("viewer")
    read_id = viewer.post(f"/tables/{table.pk}/rows", {"version": 99}).json()["id"]
    engine = {"condition": "DELTA_VERSION_NOT_FOUND", "sqlstate": "22003", "message": "Cannot time travel"}
    problem = {"status": 422, "code": "engine_failed", "detail": "Cannot time travel", "engine": engine}
    Read.objects.update(state="failed", problem=problem)
    answer = viewer.get(f"/reads/{read_id}")
    assert (answer.status_code, answer.json()["code"], answer.json()["engine"]) == (422, "engine_failed", engine)


def test_a_predicate_reaches_the_engine_as_a_tree_at_one_version(table):
    answer = caller("viewer").post(f"/tables/{table.pk}/rows", {"predicate": "ID in ('a')"})
    assert answer.status_code == 202
    question = Read.objects.get().question
    assert question["version"] == 7
    assert question["predicate"] == {
        "node": "in",
        "operand": {"node": "column", "path": ["id"]},
        "options": [{"node": "literal", "type": "string", "value": "a"}],
    }
    assert events()[0].after == {"read": "rows", "limit": 100, "version": 7, "predicate": "id IN ('a')"}


def test_names_resolve_against_the_schema_at_the_version(table):
    fields = [{"name": "old", "type": "long", "nullable": True, "metadata": {}}]
    before = Schema.objects.create(sha256="b" * 64, struct={"type": "struct", "fields": fields}, columns=["old"])
    Commit.objects.filter(table=table, version__in=(0, 3)).update(schema=before)
    Commit.objects.filter(table=table, version=5).update(schema=table.schema, properties=table.properties)
    viewer, address = caller("viewer"), f"/tables/{table.pk}/rows"
    assert viewer.post(address, {"predicate": "old = 1", "version": 4}).status_code == 202
    assert viewer.post(address, {"predicate": "old = 1", "version": 5}).json()["code"] == "predicate_refused"
    time = (timezone.now() - timedelta(hours=6, minutes=30)).isoformat()
    assert viewer.post(address, {"predicate": "old = 1", "timestamp": time}).status_code == 202
    asked = Read.objects.latest("asked_at").question
    assert (asked["version"], "timestamp" in asked) == (3, False)


def test_a_refused_predicate_is_said_at_its_field(table):
    shown = page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/rows/?predicate=nope+%3D+1", 400)
    assert "no column nope" in shown
    assert 'value="nope = 1"' in shown
    assert not Read.objects.exists()


def test_the_page_reads_rows_of_a_predicate(table):
    page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/rows/?predicate=id+%3D+%27a%27")
    assert Read.objects.get().question["predicate"]["node"] == "comparison"


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        ("rows", {"predicate": "id = 1"}, "predicate"), ("rows", {"predicate": ""}, "predicate"),
        ("rows", {"predicate": "nope = 'a'"}, "predicate"), ("rows", {"limit": 1001}, "limit"), ("rows", {"limit": 0}, "limit"),
        ("rows", {"limit": "5"}, "limit"), ("rows", {"version": -1}, "version"), ("rows", {"version": 2**63}, "version"),
        ("rows", {"columns": []}, "columns"), ("rows", {"columns": ["a", "a"]}, "columns"),
        ("rows", {"columns": ["a\x00"]}, "columns"), ("rows", {"columns": "a"}, "columns"),
        ("rows", {"timestamp": "yesterday"}, "timestamp"), ("changes", {}, "from_version"),
        ("changes", {"from_version": None}, "from_version"), ("changes", {"from_version": 1, "to_version": "x"}, "to_version"),
        ("changes", {"from_version": 1, "columns": ["a"]}, "columns"),
    ],
)  # fmt: skip
def test_an_odd_question_is_400_and_names_the_field(table, call, body, field):
    answer = caller("viewer").post(f"/tables/{table.pk}/{call}", body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not Read.objects.exists()
    assert not events()


# ------------------------------------------------------------------------------------------------ rights


def test_a_reader_without_the_right_to_rows_is_refused_and_recorded(table):
    person = factories.person_with("admin")
    factories.GrantFactory(person=person, role="viewer", root=factories.RootFactory())
    for call in ("rows", "changes"):
        answer = Caller(person).post(f"/tables/{table.pk}/{call}", {"from_version": 0})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    page(browser(person), f"/tables/{table.pk}/rows/", 403)
    assert {event.outcome for event in events()} == {"refused"}
    assert (len(events()), Read.objects.count()) == (3, 0)


def test_a_stranger_finds_no_table(table):
    stranger = caller("viewer", root=factories.RootFactory())
    for call in ("rows", "changes"):
        assert stranger.post(f"/tables/{table.pk}/{call}", {"from_version": 0}).status_code == 404
        page(browser(stranger.person), f"/tables/{table.pk}/{call}/", 404)
    assert not events()


def test_rows_go_with_the_right_to_them(table):
    """Somebody who becomes an admin and nothing else still sees the table, and no longer the answer."""
    person = factories.person_with("viewer")
    asker, pages = Caller(person), browser(person)
    read_id = asker.post(f"/tables/{table.pk}/rows").json()["id"]
    answered("rows", ANSWER)
    assert asker.get(f"/reads/{read_id}").json() == ANSWER
    assert "there are more" in page(pages, f"/reads/{read_id}/rows/")
    person.grants.all().delete()
    factories.GrantFactory(person=person, role="admin")
    assert asker.get(f"/reads/{read_id}").status_code == 403
    assert pages.get(f"/reads/{read_id}/rows/").status_code == 403


def test_an_answer_is_for_its_asker_and_for_ten_minutes(table):
    asker = caller("viewer")
    read_id = asker.post(f"/tables/{table.pk}/rows").json()["id"]
    page(browser(factories.person_with("viewer")), f"/reads/{read_id}/rows/", 404)
    Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page(browser(asker.person), f"/reads/{read_id}/rows/", 404)


def test_without_an_audit_nothing_is_read(table, monkeypatch):
    def fail(*_args, **_kwargs):
        raise DatabaseError("no space left")

    viewer = caller("viewer")
    monkeypatch.setattr(Event, "save", fail)
    for call in ("rows", "changes"):
        answer = viewer.post(f"/tables/{table.pk}/{call}", {"from_version": 0} if call == "changes" else {})
        assert (answer.status_code, answer.json()["code"]) == (503, "audit_unavailable")
    assert not Read.objects.exists()


@pytest.mark.parametrize(("how", "status", "code"), [("gone", 404, "not_found"), ("link", 403, "outside_roots")])
def test_a_directory_that_is_gone_or_a_link_is_not_read(table, tmp_path, how, status, code):
    (tmp_path / "orders").rmdir()
    if how == "link":
        (tmp_path / "orders").symlink_to("/etc")
    viewer = caller("viewer")
    answer = viewer.post(f"/tables/{table.pk}/rows")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert code in page(browser(viewer.person), f"/tables/{table.pk}/rows/")
    assert not Read.objects.exists()


# ------------------------------------------------------------------------------------------------ pages


def test_the_page_asks_and_polls_until_there_is_an_answer(table):
    client = browser(factories.person_with("viewer"))
    shown = page(client, f"/tables/{table.pk}/rows/?version=3&columns=id&limit=20")
    read = Read.objects.get()
    assert read.question == {"path": table.path, "version": 3, "columns": ["id"], "limit": 20}
    assert f'hx-get="/reads/{read.pk}/rows/"' in shown
    assert "1 of the columns" in shown
    assert "hx-get" in page(client, f"/reads/{read.pk}/rows/")
    answered("rows", ANSWER | {"version": 3})
    part = page(client, f"/reads/{read.pk}/rows/")
    assert "hx-trigger" not in part
    assert f'read live at version <a href="/tables/{table.pk}/commits/3/">3</a>' in part
    assert len(events()) == 1  # the part asks nothing anew


def test_a_sample_of_the_newest_version_without_being_told(table):
    shown = page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/rows/")
    assert Read.objects.get().question == {"path": table.path, "limit": 100}
    assert '<option value="100" selected>' in shown
    assert "All columns" in shown


@pytest.mark.parametrize("how", ["expired", "forbidden", "no rows any more", "without any role"])
def test_a_part_whose_answer_may_not_be_shown_any_more_stops_asking(table, how):
    person = factories.person_with("viewer")
    client = browser(person)
    page(client, f"/tables/{table.pk}/rows/?limit=20")
    answered("rows", ANSWER)
    address = f"/reads/{Read.objects.get().pk}/rows/"
    if how == "expired":
        Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        person.grants.all().delete()
        if how == "forbidden":
            factories.GrantFactory(person=person, root=factories.RootFactory())
        elif how == "no rows any more":
            factories.GrantFactory(person=person, role="admin")
    asks = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/tables/{table.pk}/rows/?limit=20"}
    part = client.get(address, headers=asks)
    assert part.status_code == 200
    assert f'href="/tables/{table.pk}/rows/?limit=20"' in part.content.decode()
    assert "hx-get" not in part.content.decode()
    assert client.get(address).status_code == (403 if how == "no rows any more" else 404)


def test_of_a_wide_table_the_page_shows_the_first_columns_until_some_are_chosen(table):
    columns = [{"name": f"column{n}", "type": "int"} for n in range(2000)]
    wide = ANSWER | {"columns": columns, "rows": [list(range(2000))] * 100, "cut_cells": [[0, 3], [0, 1999]]}
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/rows/")
    answered("rows", wide)
    shown = page(client, f"/tables/{table.pk}/rows/")
    assert "The first 50 of 2,000 columns" in shown
    assert ("column49<" in shown, "column50<" in shown) == (True, False)
    assert shown.count("cut here") == 1
    assert len(shown) < 1 << 20
    assert len(Caller(Read.objects.get().person).get(f"/reads/{Read.objects.get().pk}").json()["columns"]) == 2000
    query = "&".join(f"columns=column{n}" for n in range(60, 120))
    page(client, f"/tables/{table.pk}/rows/?{query}")
    Read.objects.filter(state="waiting").update(
        state="answered",
        answered_at=timezone.now(),
        answer=wide | {"columns": columns[60:120], "rows": [], "cut_cells": []},
    )
    assert "The first 50" not in page(client, f"/tables/{table.pk}/rows/?{query}")


def test_hostile_values_are_text_and_nothing_hides(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/rows/")
    answered("rows", ANSWER)
    shown = page(client, f"/tables/{table.pk}/rows/")
    assert not re.search(r"<b>x|<i>note|[\u202e\u200b\x1b]", shown)
    assert '" onmouseover' not in shown
    text = markup.unescape(shown)
    for value in (
        "<b>x</b>",
        "=cmd|'/c calc'!A1",
        "{{ 7 }}",
        "⟨U+202E⟩gnp.exe",
        "a⟨U+000A⟩b",
        "⟨U+001B⟩[31m",
        "⟨U+200B⟩",
        "<i>note</i>",
    ):
        assert f">{value}<" in text, value
    assert shown.count(">NULL<") == shown.count(">empty text<") == shown.count("cut here") == 1
    assert str(2**60) in shown
    assert '<span class="lv-second" title="bigint">bigint</span>' in shown


def test_a_refusal_is_told_with_the_engines_words(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/rows/")
    engine = {"condition": "DELTA_VERSION_NOT_FOUND", "sqlstate": "22003", "message": "Cannot time travel"}
    Read.objects.update(
        state="failed", problem={"status": 422, "code": "engine_failed", "detail": "no", "engine": engine}
    )
    part = page(client, f"/reads/{Read.objects.get().pk}/rows/")
    assert "[DELTA_VERSION_NOT_FOUND] Cannot time travel" in part
    assert "hx-get" not in part


TOO_LATE = {
    "condition": "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
    "sqlstate": "42816",
    "message": "The provided timestamp (2120-01-01 00:00:00.0) is after the latest version",
}


@pytest.mark.parametrize(("kind", "part"), [("rows", "rows"), ("deltatable", "capabilities")])
def test_a_time_after_the_newest_commit_is_refused_beside_the_way_to_it(table, kind, part):
    person = factories.person_with("viewer")
    read = factories.read(person, kind=kind, table=table, question={"path": table.path})
    problem = {"status": 422, "code": "engine_failed", "detail": TOO_LATE["message"], "engine": TOO_LATE}
    Read.objects.update(state="failed", problem=problem)
    address = f"/reads/{read.pk}/rows/" if kind == "rows" else f"/reads/{read.pk}/"
    shown = page(browser(person), address)
    assert f'<a href="/tables/{table.pk}/{part}/?version=7">Version 7</a>, committed <time' in shown
    assert "is after the latest version" in shown


def test_a_time_after_the_newest_commit_is_refused_with_a_predicate_too(table):
    newest = Commit.objects.get(table=table, version=7).committed_at
    assert newest is not None
    viewer, address = caller("viewer"), f"/tables/{table.pk}/rows"
    asked = {"predicate": "id = 'a'"}
    at_it = viewer.post(address, asked | {"timestamp": newest.isoformat()})
    assert (at_it.status_code, Read.objects.get().question["version"]) == (202, 7)
    for later in (newest + timedelta(milliseconds=1), newest + timedelta(days=36_500)):
        refused = viewer.post(address, asked | {"timestamp": later.isoformat()})
        assert (refused.status_code, refused.json()["code"]) == (422, "engine_failed")
        assert refused.json()["engine"]["condition"] == TOO_LATE["condition"]
        assert newest.strftime("before or at %Y-%m-%d %H:%M:%S") in refused.json()["detail"]


def test_the_page_of_rows_leads_from_too_late_a_time_to_the_newest_version(table):
    query = "timestamp=2120-01-01+00%3A00&predicate=id+%3D+%27a%27"
    shown = page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/rows/?{query}")
    assert f'<a href="/tables/{table.pk}/rows/?version=7">Version 7</a>' in shown
    assert not Read.objects.exists()


@pytest.mark.parametrize("query", ["version=x", "limit=7", "timestamp=yesterday", f"version={2**63}"])
def test_a_form_filled_in_wrongly_asks_nothing(table, query):
    assert "lv-field-error" in page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/rows/?{query}", 400)
    assert not Read.objects.exists()


def test_the_change_feed_begins_where_it_can_be_read(table):
    client = browser(factories.person_with("viewer"))
    shown = page(client, f"/tables/{table.pk}/changes/")
    assert "you can read changes from version 3" in shown
    assert Read.objects.get().question == {"path": table.path, "from_version": 3, "limit": 100}
    answered("changes", CHANGES)
    part = page(client, f"/reads/{Read.objects.get().pk}/rows/")
    assert "1 change<" in part
    assert (
        f'of versions <a href="/tables/{table.pk}/commits/3/">3</a> to <a href="/tables/{table.pk}/commits/7/">7</a>'
        in part
    )
    page(client, f"/tables/{table.pk}/changes/?to_version=4", 400)


def test_a_feed_that_nobody_can_read_is_said(table):
    Commit.objects.filter(version__lt=8).update(committed_at=timezone.now() - timedelta(days=30))
    table.first_readable = None
    table.save()
    shown = page(browser(factories.person_with("viewer")), f"/tables/{table.pk}/changes/")
    assert "no version’s changes can be read" in shown


def tabs(person, table):
    shown = page(browser(person), f"/tables/{table.pk}/")
    return [text.strip() for text in re.findall(r"<li><a href=[^>]*>([^<]*)", shown)]


def test_a_tab_exists_for_whom_and_for_what_it_works(table):
    viewer = factories.person_with("viewer")
    assert {"Rows", "Change feed"} <= set(tabs(viewer, table))
    assert not {"Rows", "Change feed"} & set(tabs(factories.person_with("admin"), table))
    table.properties = {}
    table.save()
    assert "Change feed" not in tabs(viewer, table)
    page(browser(viewer), f"/tables/{table.pk}/changes/", 404)
    table.version = None
    table.save()
    assert "Rows" not in tabs(viewer, table)


# ------------------------------------------------------------------------------------------------ cells


def test_nothing_invisible_stays_invisible():
    for code in [
        *range(0x20),
        0x7F,
        0x85,
        0xAD,
        0x61C,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        0x2066,
        0xFEFF,
        0xE0041,
    ]:
        shown = visible(f"a{chr(code)}b")
        assert shown != f"a{chr(code)}b"
        assert all(character.isprintable() for character in shown)
    for text in ("plain", "né à", "日本", "שלום", "🙂"):
        assert visible(text) == text


def test_a_long_value_unfolds_and_a_long_type_is_short():
    answer = {
        "columns": [{"name": "s", "type": "struct<" + "a:int," * 50 + ">"}, {"name": "d", "type": "decimal(38,2)"}],
        "rows": [[{"k": "é" * 100, "n": None}, "1.10"]],
        "cut_cells": [],
    }
    (long, number), (first, second) = lines(answer)[0], headings(answer)
    assert json.loads(long.text) == {"k": "é" * 100, "n": None}
    assert long.short == long.text[:80] + "…"
    assert (number.text, number.short, number.is_number, second.is_number) == ("1.10", None, True, True)
    assert (len(first.type), first.is_number) == (61, False)


# --- versions that can't be read --------------------------------------------------------------------------------------


@pytest.fixture
def cleaned(table):
    """The table with its log from version 4 on: older versions can't be read any more."""
    type(table).objects.filter(pk=table.pk).update(first_version=4, first_readable=4, rebuildable=[[4, 7]])
    for version in range(8):
        factories_commit(table, version)
    table.refresh_from_db()
    return table


def factories_commit(table, version):
    Commit.objects.update_or_create(
        table=table, incarnation=table.incarnation, version=version,
        defaults={"committed_at": timezone.now() - timedelta(minutes=10 - version), "operation": "WRITE"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("version=2", "Version 2 can’t be read. Readable are 4–7."),
        ("version=100", "The newest version is 7. Readable are 4–7."),
        ("version=5&timestamp=2026-11-20+12:00", "Enter a version or a time, not both."),
    ],
)
def test_a_version_that_cannot_be_read_is_refused_with_those_that_can(cleaned, query, said, monkeypatch):
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda path, known=None: 7)
    shown = page(browser(factories.person_with("viewer")), f"/tables/{cleaned.pk}/rows/?{query}", 400)
    assert said in markup.unescape(shown)
    assert not Read.objects.exists()


def test_a_version_that_delta_refuses_by_its_age_is_told_before_spark_is_asked(cleaned, monkeypatch):
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda path, known=None: 7)
    Commit.objects.filter(table=cleaned, version__lte=5).update(committed_at=timezone.now() - timedelta(days=8))
    viewer = browser(factories.person_with("viewer"))
    shown = markup.unescape(page(viewer, f"/tables/{cleaned.pk}/rows/?version=5", 400))
    assert "Version 5 can’t be read: it is older than delta.deletedFileRetentionDuration" in shown
    assert "Readable are 6–7." in shown
    assert not Read.objects.exists()
    Commit.objects.filter(table=cleaned, version=7).update(committed_at=timezone.now() - timedelta(days=8))
    page(viewer, f"/tables/{cleaned.pk}/rows/?version=7")  # the newest one never grows too old
    assert Read.objects.get().question["version"] == 7


def test_one_that_can_be_read_is_asked_for(cleaned, monkeypatch):
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda path, known=None: 7)
    page(browser(factories.person_with("viewer")), f"/tables/{cleaned.pk}/rows/?version=5")
    assert Read.objects.get().question["version"] == 5


def test_nothing_is_said_while_the_log_is_ahead_of_the_catalog(cleaned, monkeypatch):
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda path, known=None: 9)
    page(browser(factories.person_with("viewer")), f"/tables/{cleaned.pk}/rows/?version=9")
    assert Read.objects.get().question["version"] == 9


@pytest.mark.parametrize(
    ("asked", "condition", "said"),
    [
        ("version=2", "DELTA_VERSION_NOT_FOUND", "Readable are the versions 4–7: enter one of them."),
        (
            "timestamp=2020-01-01+12:00",
            "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION",
            "Readable are the versions 4–7: enter one of them.",
        ),
        ("version=5", "FAILED_READ_FILE", "Fix what the message names, then try again."),
        ("timestamp=2020-01-01+12:00", "FAILED_READ_FILE", "Fix what the message names, then try again."),
    ],
)
def test_delta_s_own_refusal_has_them_beside_it(cleaned, asked, condition, said, monkeypatch):
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda path, known=None: 9)
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{cleaned.pk}/rows/?{asked}")
    engine = {"condition": condition, "sqlstate": None, "message": "no"}
    Read.objects.update(
        state="failed",
        problem={"status": 422, "code": "engine_failed", "detail": "no", "engine": engine},
        answered_at=timezone.now(),
    )
    assert said in markup.unescape(page(client, f"/reads/{Read.objects.get().pk}/rows/"))

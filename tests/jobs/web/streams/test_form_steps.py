"""The form of a stream in its three steps: what each button does, what is said at once, and that nothing typed is lost."""

import html as markup
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Grant
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.models import Read, Stream
from jobs.reads import queue
from jobs.streams.source_schema import columns_of, parse_source_schema, schema_text
from jobs.targets import directories
from jobs.web.streams import columns, source_part
from tables.models import Table
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.streams.conftest import actor, asked, landing, olga, root, sales
from tests.jobs.web.streams.test_pages import text_of, typed

__all__ = ["actor", "asked", "landing", "olga", "root", "sales"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
NEW = "/streams/new/"
STRUCT: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "a-b", "type": {"type": "array", "elementType": "string", "containsNull": True}, "nullable": True, "metadata": {}},
    ],
}  # fmt: skip
ANSWER = {
    "columns": [{"name": "id", "type": "bigint"}, {"name": "a-b", "type": "array<string>"}],
    "rows": [[7, ["<i>x</i>"]], [8, None]], "truncated": False, "cut_cells": [], "lines": 2, "damaged": 1, "schema": STRUCT,
}  # fmt: skip


@pytest.fixture
def operator(olga):
    return browser(olga)


def sent(form: dict[str, Any], do: str, step: str = "source", **changes: str) -> dict[str, Any]:
    return {**form, "step": step, "do": do, **changes}


def errors(page: str) -> dict[str, str]:
    """The errors of a page, by their fields."""
    found = re.findall(r'id="id_(\w+)_error">.*?</svg>(.*?)</p>', page, re.DOTALL)
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in found}


def shown(page: str) -> list[str]:
    """The steps of a page that aren't hidden."""
    heads = {"source": "h-source", "target": "h-steps", "trigger": "h-when"}
    parts = re.findall(r'<div( hidden)?>(?:(?!<div).)*?id="(h-\w+)"', page.partition("</ol>\n")[2], re.DOTALL)
    return [name for name, head in heads.items() if ("", head) in parts]


def value(page: str, name: str) -> str:
    found = re.search(rf'name="{name}"[^>]*?value="([^"]*)"', page) or re.search(
        rf'name="{name}"[^>]*>([^<]*)</text', page
    )
    assert found, name
    return found[1].strip()


# --- going on -----------------------------------------------------------------------------------------------------------


def test_the_form_begins_with_its_source_and_goes_on_step_by_step(operator, landing, root):
    page = operator.get(NEW).content.decode()
    assert (shown(page), value(page, "step")) == (["source"], "source")
    form = typed(landing, root, name="", reason="")
    answer = operator.post(NEW, sent(form, "next"))
    assert (answer.status_code, shown(answer.content.decode())) == (200, ["target"])
    assert value(answer.content.decode(), "path") == str(landing)
    answer = operator.post(NEW, sent(form, "next", "target"))
    page, text = answer.content.decode(), text_of(answer)
    assert shown(page) == ["trigger"]
    assert "json files below" in text
    assert "It creates the table." in text
    assert errors(page) == {}
    back = operator.post(NEW, sent(form, "step:source", "trigger", filter="id > 1")).content.decode()
    assert (shown(back), value(back, "filter"), errors(back)) == (["source"], "id &gt; 1", {})
    assert not Stream.objects.exists()


def test_going_on_makes_nothing(operator, landing, root, tmp_path):
    path = f"{root.uri}/sales"
    small_delta.create(Path(path), list(lakes.SALES))
    before = sorted(Path(root.uri).iterdir())
    for target in (f"{root.uri}/clicks", path):
        answer = operator.post(NEW, sent(typed(landing, root, target_path=target), "next", "target"))
        assert errors(answer.content.decode()) == {}
        assert answer.status_code == 200
    assert sorted(Path(root.uri).iterdir()) == before
    assert not Table.objects.filter(path=path).exists()
    assert not Event.objects.filter(action__startswith="stream.").exists()


def test_a_step_says_all_that_is_wrong_with_it_at_once_and_nothing_of_the_later_ones(operator, landing, root):
    form = typed(
        landing, root, path="/elsewhere/x", schema="id NOTYPE", source_options="nooption=1", target_path="", name=""
    )
    answer = operator.post(NEW, sent(form, "next"))
    assert answer.status_code == 403
    found = errors(answer.content.decode())
    assert set(found) == {"path", "schema", "source_options"}
    assert "not below a root" in found["path"]
    assert "NOTYPE" in found["schema"]
    assert "nooption" in found["source_options"]
    refused = Event.objects.get(outcome="refused")
    assert (refused.action, refused.object_name) == ("stream.create", "/elsewhere/x")


def test_the_last_button_says_all_that_is_wrong_with_every_step(operator, landing, root):
    form = typed(
        landing, root, schema="id BIGINT, p STRING", cast="id=notype", select="nothere", source_options="nooption=1",
        target_path="clicks_table", interval="", other_options="checkpointLocation=/x", name="", reason="",
    )  # fmt: skip
    form["path"] = str(landing / "gone")
    answer = operator.post(NEW, sent(form, "save", "trigger"))
    page = answer.content.decode()
    assert set(errors(page)) == {"path", "source_options", "target_path", "interval", "other_options", "name", "reason"}
    assert shown(page) == ["source", "target", "trigger"]
    answer = operator.post(
        NEW, sent({**form, "path": str(landing), "source_options": "", "other_options": ""}, "save", "trigger")
    )
    assert set(errors(answer.content.decode())) == {"cast", "select", "target_path", "interval", "name", "reason"}
    assert not Stream.objects.exists()


def test_a_step_that_cannot_be_read_says_so_alone(operator, landing, root):
    answer = operator.post(NEW, sent(typed(landing, root, rename="p", select="country"), "next", "target"))
    assert errors(answer.content.decode()) == {"rename": "Line 1 must be old=new."}


def test_what_the_first_batch_would_be_refused_for_is_said_before_the_last_step(operator, landing, root, sales):
    form = typed(landing, root, schema="id STRING, wholly_new STRING", target_kind="table", target_table=str(sales.pk))
    text = text_of(operator.post(NEW, sent(form, "next", "target")), 422)
    assert "The first batch would be refused" in text


def test_what_a_choice_hides_has_no_faults(operator, landing, root):
    form = typed(landing, root, trigger="available_now", interval="often", starting_version="first")
    page = operator.post(NEW, sent(form, "next")).content.decode()
    assert (shown(page), value(page, "interval"), value(page, "starting_version")) == (["target"], "often", "first")
    page = operator.post(NEW, sent({**form, "trigger": "every"}, "save", "trigger")).content.decode()
    assert set(errors(page)) == {"interval"}
    page = operator.post(NEW, sent({**form, "source_kind": "table"}, "next")).content.decode()
    assert "starting_version" in errors(page)
    operator.post(NEW, sent(form, "save", "trigger"))
    assert Stream.objects.get().interval_seconds is None


def test_the_interval_is_a_number_and_a_unit(operator, landing, root):
    operator.post(NEW, sent(typed(landing, root, interval="2", interval_unit="h"), "save", "trigger"))
    made = Stream.objects.get()
    assert (made.asked["trigger"], made.interval_seconds) == ({"interval": "2h"}, 7200)
    page = operator.get(f"/streams/{made.pk}/edit/").content.decode()
    assert value(page, "interval") == "2"
    assert '<option value="h" selected>hours</option>' in page
    assert "available_now" not in text_of(operator.get(NEW))


def test_a_form_that_a_session_outlived_comes_back_at_its_step(operator, landing, root):
    fields = sent(typed(landing, root, filter="id > 1", name="", reason=""), "next", "target", browsing="")
    listed = [*([name, text] for name, text in fields.items()), ["column", "id"], ["column_type", "NOTYPE"]]
    session = operator.session
    session["draft"] = {"action": NEW, "page": NEW, "fields": listed, "secrets": [], "at": time.time()}
    session.save()
    page = operator.get(NEW).content.decode()
    assert (shown(page), value(page, "filter"), errors(page)) == (["target"], "id &gt; 1", {})
    assert re.findall(r'name="column_type" value="([^"]*)"', page) == ["NOTYPE"]


# --- directories --------------------------------------------------------------------------------------------------------


def test_a_directory_is_chosen_from_the_roots_down(operator, root, landing):
    (Path(root.uri) / "landing" / "deep [x]").mkdir()
    (Path(root.uri) / "landing" / "_hidden").mkdir()
    (Path(root.uri) / "link").symlink_to("/etc")
    form = {"source_kind": "files", "format": "parquet", "filter": "id > 1"}
    page = operator.post(NEW, sent(form, "browse:path")).content.decode()
    assert f'value="open:path:{root.uri}"' in page
    page = operator.post(NEW, sent(form, f"open:path:{root.uri}")).content.decode()
    assert f'value="open:path:{root.uri}/landing"' in page
    assert f'value="open:path:{root.uri}/link"' not in page
    assert 'value="browse:path:roots"' in page
    answer = operator.post(NEW, sent({**form, "path": root.uri, "browsing": "path"}, f"open:path:{root.uri}/landing"))
    page = answer.content.decode()
    assert (value(page, "path"), value(page, "filter")) == (str(landing), "id &gt; 1")
    assert '<option value="json" selected>' in page
    assert "3 .json" in text_of(answer)
    assert f'value="open:path:{landing}/deep [x]"' in page
    assert "_hidden" not in page
    assert f'value="open:path:{root.uri}"' in page
    page = operator.post(NEW, sent(form, f"open:target_path:{root.uri}/landing", "target")).content.decode()
    assert value(page, "target_path") == str(landing)
    assert "id_path_error" not in operator.post(NEW, sent(form, "browse:")).content.decode()


def test_only_roots_that_you_see_are_there_and_nothing_else_is_listed(db, root, landing):
    stranger = browser(factories.person_with("operator", root=factories.RootFactory(uri="/other/lake")))
    page = stranger.post(NEW, sent({}, "browse:path")).content.decode()
    assert (root.uri in page, 'value="open:path:/other/lake"' in page) == (False, True)
    page = stranger.post(NEW, sent({}, f"open:path:{root.uri}")).content.decode()
    assert "not below a root that you have access to" in page
    assert f"{root.uri}/landing" not in page
    refused = Event.objects.get()
    assert (refused.action, refused.outcome, refused.object_name) == ("stream.create", "refused", root.uri)
    form = {"path": root.uri, "browsing": value(page, "browsing")}
    page = stranger.post(NEW, sent(form, "look")).content.decode()  # still open, and not refused again
    assert 'value="open:path:/other/lake"' in page
    assert Event.objects.count() == 1


def test_a_request_lists_a_directory_once_and_a_poll_none(operator, landing, root, monkeypatch):
    listed: list[str] = []

    def names(path: str) -> tuple[list[tuple[str, bool]], bool]:
        listed.append(path)
        return [("a.csv", False)], True

    monkeypatch.setattr(directories, "_names", names)
    page = operator.post(NEW, sent({}, f"open:path:{landing}")).content.decode()
    assert (listed, '<option value="csv" selected>' in page) == ([str(landing)], True)
    form = {"path": str(landing), "browsing": value(page, "browsing")}
    operator.post(NEW, sent(form, "look"), headers={"HX-Request": "true"})
    assert len(listed) == 1
    operator.post(NEW, sent(form, "look"))
    assert len(listed) == 2


# --- columns ------------------------------------------------------------------------------------------------------------


def test_columns_are_a_list_that_can_be_changed(operator, landing, root):
    form: dict[str, Any] = typed(landing, root)
    del form["schema"]
    form |= {"column": ["id", "", "a-b"], "column_type": ["BIGINT", "", "ARRAY<STRING>"]}
    page = operator.post(NEW, sent(form, "columns:add")).content.decode()
    assert re.findall(r'name="column"[^>]*value="([^"]*)"', page.replace("\n", " ")) == ["id", "a-b", ""]
    page = operator.post(NEW, sent(form, "columns:drop:1")).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == ["a-b"]
    page = operator.post(NEW, sent(form, "columns:text")).content.decode()
    assert value(page, "schema") == "id BIGINT, `a-b` ARRAY&lt;STRING&gt;"
    page = operator.post(NEW, sent({**typed(landing, root), "columns_as_text": "on"}, "columns:list")).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == ["id", "p"]
    operator.post(NEW, sent(form, "save", "trigger"))
    assert Stream.objects.get().asked["source"]["schema"] == "id BIGINT, `a-b` ARRAY<STRING>"


@pytest.mark.parametrize(("number", "left"), [("1", ["a-b"]), ("2", ["id", "a-b"]), ("3", ["id"])])
def test_a_column_is_removed_by_the_number_that_the_page_gave_it(operator, landing, root, number, left):
    form: dict[str, Any] = typed(landing, root) | {"column": ["id", "", "a-b"], "column_type": ["BIGINT", "", "STRING"]}
    page = operator.post(NEW, sent(form, f"columns:drop:{number}")).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == left
    assert value(page, "column_type") == {"1": "STRING"}.get(number, "BIGINT")


def test_a_row_says_itself_what_is_wrong_with_it(operator, landing, root):
    form: dict[str, Any] = typed(landing, root) | {
        "column": ["id", "p", ""],
        "column_type": ["BIGINT", "NOTYPE", "STRING"],
    }
    page = operator.post(NEW, sent(form, "next")).content.decode()
    assert "id_schema_error" in page
    assert re.findall(r'id="column-(\d)-error"', page) == ["2", "3"]
    assert "The column has no name." in page
    assert 'value="NOTYPE"' in page


@pytest.mark.parametrize(
    ("form", "remedy"),
    [
        ({"column": [""], "column_type": [""]}, columns.OF_LIST),
        ({"column": ["id", "p"], "column_type": ["BIGINT", "STRING STRING"]}, columns.OF_ROW),
        ({"schema": "", "columns_as_text": "on"}, columns.OF_TEXT),
        ({"schema": "p STRING STRING", "columns_as_text": "on"}, columns.OF_TEXT),
    ],
)
def test_what_is_wrong_with_the_columns_is_said_of_what_the_page_shows(operator, landing, root, form, remedy):
    page = operator.post(NEW, sent({**typed(landing, root), **form}, "next")).content.decode()
    said = markup.unescape(errors(page)["schema"])
    assert said.endswith(remedy)
    assert ("found “STRING”. " in said) == ("STRING STRING" in str(form))
    assert ("“STRING”." in page) == ("STRING STRING" in str(form))
    assert "found `" not in page


@pytest.mark.parametrize(
    "schema",
    ["id BIGINT NOT NULL, `b``c` STRUCT<`x y`: INT NOT NULL, m: MAP<STRING, DECIMAL(10,2)>>", json.dumps(STRUCT)],
)
def test_a_list_says_what_the_text_said(schema):
    pairs = columns_of(schema)
    assert pairs
    assert parse_source_schema(schema_text(pairs)) == parse_source_schema(schema)


@pytest.mark.parametrize(
    "change",
    [{"metadata": {"comment": "who"}}, {"type": {"type": "array", "elementType": "string", "containsNull": False}}],
)
def test_what_a_list_cannot_say_stays_a_text(operator, landing, root, change):
    schema = json.dumps({"type": "struct", "fields": [{**STRUCT["fields"][0], **change}]})
    page = operator.post(NEW, sent(typed(landing, root, schema=schema), "step:source")).content.decode()
    assert 'name="column"' not in page
    assert json.loads(markup.unescape(value(page, "schema"))) == json.loads(schema)


# --- what the files hold ------------------------------------------------------------------------------------------------


def test_a_read_of_the_files_is_queued_on_record_and_polled(operator, olga, landing, root):
    form = typed(landing, root, schema="", path=f"{landing}/")
    answer = operator.post(NEW, sent(form, "read"))
    page = answer.content.decode()
    read = Read.objects.get()
    assert (read.kind, read.queue, read.person, read.state) == ("stream_source", "interactive", olga, "waiting")
    assert read.question | {"files": 0} == {"path": str(landing), "format": "json", "options": {}, "files": 0}
    assert sorted(read.question["files"]) == ["0.json", "1.json", "2.json"]
    event = Event.objects.get(action="table.read_rows")
    assert (event.object_kind, event.object_name, (event.after or {})["read"]) == (
        "path",
        str(landing),
        "stream_source",
    )
    assert value(page, "read") == str(read.pk)
    assert 'hx-trigger="every 2s"' in page
    assert 'value="look"' in page  # without a script
    assert errors(page) == {}
    operator.post(NEW, sent(form, "read"))
    assert Read.objects.count() == 1  # the same question is asked once


def test_the_answer_fills_in_the_columns_and_shows_rows(operator, olga, landing, root):
    read = answered(olga, landing)
    form = typed(landing, root, schema="", read=str(read.pk))
    answer = operator.post(NEW, sent(form, "look"))
    page, text = answer.content.decode(), text_of(answer)
    assert re.findall(r'name="column" value="([^"]*)"', page) == ["id", "a-b"]
    assert re.findall(r'name="column_type" value="([^"]*)"', page) == ["BIGINT", "ARRAY&lt;STRING&gt;"]
    assert "hx-trigger" not in page.partition('id="source-found"')[2].partition("</section>")[0]
    assert "columns inferred from 2 lines" in text
    assert "1 of these lines can’t be read" in text
    assert "&lt;i&gt;x&lt;/i&gt;" in page
    assert "<i>x" not in page


def test_a_poll_leaves_the_columns_alone_unless_it_fills_them_in(operator, olga, landing, root):
    read, htmx = answered(olga, landing, state="waiting", answer=None, answered_at=None), {"HX-Request": "true"}
    form = typed(landing, root, schema="", read=str(read.pk))
    page = operator.post(NEW, sent(form, "look"), headers=htmx).content.decode()
    assert ('id="source-columns"' in page, 'hx-select-oob="#source-columns"' in page) == (False, True)
    Read.objects.filter(pk=read.pk).update(state="answered", answer=ANSWER, answered_at=timezone.now())
    assert 'id="source-columns"' in operator.post(NEW, sent(form, "look"), headers=htmx).content.decode()
    form |= {"schema": "mine INT"}
    assert 'id="source-columns"' not in operator.post(NEW, sent(form, "look"), headers=htmx).content.decode()


def test_columns_that_you_wrote_stay_until_you_take_those_of_the_files(operator, olga, landing, root):
    read = answered(olga, landing)
    form: dict[str, Any] = typed(landing, root, read=str(read.pk)) | {"column": ["mine"], "column_type": ["INT"]}
    page = operator.post(NEW, sent(form, "look")).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == ["mine"]
    assert 'value="take"' in page
    page = operator.post(NEW, sent(form, "take")).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == ["id", "a-b"]


def test_a_failed_read_says_why(operator, olga, landing, root):
    problem = {"status": 422, "code": "no_columns", "detail": "The newest files hold no columns.", "engine": None}
    read = answered(olga, landing, state="failed", answer=None, problem=problem)
    text = text_of(operator.post(NEW, sent(typed(landing, root, read=str(read.pk)), "look")))
    assert "The newest files hold no columns." in text


def answered(person, landing, **changes):
    question = {"path": str(landing), "format": "json", "options": {}, "files": ["0.json"]}
    values = {
        "kind": "stream_source",
        "question": question,
        "state": "answered",
        "answer": ANSWER,
        "answered_at": timezone.now(),
    }
    return factories.read(person, **{**values, **changes})


def test_a_read_of_someone_else_or_of_another_directory_is_not_shown(operator, landing, root):
    for read in (
        answered(factories.person_with("operator"), landing),
        answered(factories.person_named("olga"), Path(root.uri)),
    ):
        page = operator.post(NEW, sent(typed(landing, root, read=str(read.pk)), "look")).content.decode()
        assert "What the files hold" not in page


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"path": ""}, "path", "absolute path"),
        ({"path": "/elsewhere"}, "path", "not below a root"),
        ({"format": "csv", "source_options": "multiLine=true"}, "source_options", "isn’t an option of a csv source"),
    ],
)
def test_a_read_is_refused_as_the_stream_would_be(operator, landing, root, changes, field, said):
    page = operator.post(NEW, sent(typed(landing, root, **changes), "read")).content.decode()
    assert said in errors(page)[field]
    assert set(errors(page)) == {field}
    assert not Read.objects.exists()


def test_without_a_file_there_is_nothing_to_read(operator, landing, root):
    for file in landing.iterdir():
        file.unlink()
    page = operator.post(NEW, sent(typed(landing, root), "read")).content.decode()
    assert "There is no file in" in errors(page)["path"]


def test_a_read_too_many_leaves_the_form_as_it_is(operator, olga, landing, root):
    for number in range(queue.IN_FLIGHT):
        answered(olga, Path(f"/lake/{number}"), state="waiting", answer=None, answered_at=None)
    answer = operator.post(NEW, sent(typed(landing, root, filter="id > 1"), "read"))
    assert "questions that Spark hasn't answered yet" in text_of(answer, 429)
    page = answer.content.decode()
    assert (value(page, "path"), value(page, "filter")) == (str(landing), "id &gt; 1")
    assert errors(page) == {}


def test_rows_take_the_right_to_read_them(root, landing, sales):
    writer = factories.person_with("operator", table=sales)
    page = browser(writer).post(NEW, sent(typed(landing, root), "read")).content.decode()
    assert "not below a root that you have access to" in errors(page)["path"]
    assert not Read.objects.exists()


@pytest.mark.parametrize("button", ["look", "take", "next"])
def test_who_may_no_longer_read_the_rows_gets_nothing_of_an_earlier_read(operator, olga, landing, root, sales, button):
    read = answered(olga, landing)
    Grant.objects.filter(person=olga).delete()
    factories.GrantFactory(person=olga, role="operator", scope="table", table=sales)
    form = typed(landing, root, schema="", read=str(read.pk))
    page = operator.post(NEW, sent(form, button)).content.decode()
    assert re.findall(r'name="column" value="([^"]*)"', page) == [""]
    assert 'value="a-b"' not in page
    assert 'name="read"' not in page


@pytest.mark.parametrize("button", ["look", "take"])
def test_the_right_to_read_the_rows_is_asked_for_once(operator, olga, landing, root, monkeypatch, button):
    read, asked_for = answered(olga, landing), []

    def check(actor: Actor, read: Read) -> None:
        asked_for.append((actor.person, read))

    monkeypatch.setattr(source_part, "check_source", check)
    page = operator.post(NEW, sent(typed(landing, root, schema="", read=str(read.pk)), button)).content.decode()
    assert 'value="a-b"' in page
    assert asked_for == [(olga, read)]


# --- editing ------------------------------------------------------------------------------------------------------------


def test_an_edit_leaves_its_source_before_the_later_steps_are_judged(operator, landing, root, sales):
    form = typed(landing, root, target_kind="table", target_table=str(sales.pk))
    operator.post(NEW, sent(form, "save", "trigger"))
    address = f"/streams/{Stream.objects.get().pk}/edit/"
    wrong = {**form, "schema": "id STRING, wholly_new STRING"}
    page = operator.post(address, sent(wrong, "next")).content.decode()
    assert (shown(page), errors(page)) == (["target"], {})
    assert "The first batch would be refused" not in page
    assert "The first batch would be refused" in text_of(operator.post(address, sent(wrong, "next", "target")), 422)
    wrong = {**form, "source_options": "nooption=1", "schema": "id NOTYPE"}
    assert set(errors(operator.post(address, sent(wrong, "next")).content.decode())) == {"source_options", "schema"}


def test_an_edit_has_the_same_steps_and_keeps_the_reason_to_its_end(operator, landing, root):
    operator.post(NEW, sent(typed(landing, root), "save", "trigger"))
    made = Stream.objects.get()
    address = f"/streams/{made.pk}/edit/"
    page = operator.get(address).content.decode()
    assert (shown(page), value(page, "reason")) == (["source"], "clicks of the shop")
    form = typed(landing, root, filter="id > 1")
    answer = operator.post(address, sent(form, "next", "target"))
    assert shown(answer.content.decode()) == ["trigger"]
    assert value(answer.content.decode(), "reason") == "clicks of the shop"
    Stream.objects.filter(pk=made.pk).update(query_id="q")
    other = Path(root.uri) / "other"
    other.mkdir()
    answer = operator.post(address, sent({**form, "path": str(other)}, "next"))
    assert answer.status_code == 409
    assert "can’t follow a change of source" in errors(answer.content.decode())["path"]
    assert operator.post(address, sent(form, "save", "trigger")).status_code == 302
    made.refresh_from_db()
    assert (made.asked["filter"], made.reason, made.asked["source"]["schema"]) == (
        "id > 1",
        "clicks of the shop",
        "id BIGINT,\np STRING",
    )

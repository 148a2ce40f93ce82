"""The page that asks for a delete, without a script and with one: what it shows, keeps in step, refuses and asks for."""

import html as markup
import json
import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit.models import Event
from jobs.models import Job, PolicyRule, Read
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.requests.asking import REASON_LENGTH
from jobs.web.commands.delete import estimate
from jobs.web.commands.delete.condition_builder import ConditionRow, Unfilled, choices, rows_of, text_of, tree_of
from tables.deltalog.rules.schema import parse_schema
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.jobs.pruning.tables import COLUMNS, add, stats

SCHEMA = schema_of(parse_schema(json.dumps({"type": "struct", "fields": COLUMNS})))
COLUMN_CHOICES = choices(SCHEMA)


@pytest.fixture
def make(tmp_path):
    """Writes a table below a root; answers its catalog entry, which has never been synced."""
    root = factories.RootFactory(uri=str(tmp_path))
    return lambda **more: lakes.log_alone(root, **more)


@pytest.fixture
def table(db, make):
    return make()


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer, status=200):
    assert answer.status_code == status, answer.content[-2000:]
    return markup.unescape(answer.content.decode())


def flat(html):
    """With one blank wherever a browser shows one."""
    return " ".join(html.split())


def ask(client, table, status=200, **form):
    return shown(client.post(f"/tables/{table.pk}/delete/", form), status)


def part(client, table, **form):
    return shown(client.post(f"/tables/{table.pk}/delete/preview/", form))


def rules(*rows):
    """The builder's fields as a browser posts them."""
    names = ("column", "operator", "value", "until")
    filled = [(*row, "", "")[:4] for row in rows]
    return dict(zip(names, map(list, zip(*filled, strict=True)), strict=True))


def text_in(page):
    found = re.search(r'<textarea[^>]*id="text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found
    return found[1]


def values_in(page):
    return re.findall(r'id="rule-\d+-value"[^>]* value="([^"]*)"', page)


# ------------------------------------------------------------------------------------------------ rows ⇄ tree


@pytest.mark.parametrize(
    "text",
    [
        "n = -5\nAND name = 'it\\'s'",
        "price >= 1.50",
        "d < 2",
        "f <> 0.5",
        "born BETWEEN DATE '2020-01-01' AND DATE '2020-02-01'",
        "born IN (DATE '2020-01-01', DATE '2020-02-01')",
        "at >= TIMESTAMP '2020-01-01 10:00:00Z'",
        "local = TIMESTAMP_NTZ '2020-01-01 10:00:00.000001'",
        "name NOT IN ('a', 'b')",
        "name LIKE 'a\\\\_%'\nAND name NOT LIKE 'b%'",
        "ok = TRUE",
        "s.x IS NULL\nAND n IS NOT NULL",
        "id > 99999999999",
    ],
)
def test_what_rows_can_say_comes_back_from_rows_as_the_same_text(text):
    rows = rows_of(parse(text, SCHEMA), COLUMN_CHOICES)
    assert rows is not None
    again = tree_of(rows, COLUMN_CHOICES)
    assert again is not None
    assert again == parse(text, SCHEMA)
    assert text_of(again) == text


@pytest.mark.parametrize(
    "text",
    [
        "n = 5 OR n = 6",
        "NOT (n = 5)",
        "n = 5 AND (name = 'a' OR name = 'b')",
        "5 = n",
        "n = 5L",
        "n + 1 = 5",
        "name = ''",
        "name IN ('a,b')",
        "name IN (' a')",
        "name = 'a\\nb'",
        "name LIKE 'a!%' ESCAPE '!'",
        "at = DATE '2020-01-01'",
        "ok",
    ],
)
def test_what_rows_would_say_otherwise_stays_text(text):
    assert rows_of(parse(text, SCHEMA), COLUMN_CHOICES) is None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ConditionRow("n", "=", ""), "Rule 1: write a value."),
        (ConditionRow("n", "=", "5 OR 1 = 1"), "Rule 1: '5 OR 1 = 1' isn’t a number"),
        (ConditionRow("n", "=", "\u0665"), "isn’t a number"),
        (ConditionRow("born", "=", "yesterday"), "is no date"),
        (ConditionRow("ok", "=", "1"), "neither true nor false"),
        (ConditionRow("n", "like", "5"), "doesn’t support this comparison"),
        (ConditionRow("n = 1 OR n", "=", "5"), "no column"),
        (ConditionRow("born", "between", "2020-01-01"), "write a value"),
        (ConditionRow("n", "one of", "1,,2"), "write a value"),
    ],
)
def test_a_row_that_is_no_condition_yet_says_why(row, reason):
    with pytest.raises(Unfilled, match=re.escape(reason)):
        tree_of([row], COLUMN_CHOICES)


def test_a_quote_in_a_value_stays_in_the_value():
    tree = tree_of([ConditionRow("name", "=", "x' OR 'a' = 'a")], COLUMN_CHOICES)
    assert tree is not None
    assert text_of(tree) == "name = 'x\\' OR \\'a\\' = \\'a'"
    assert parse(text_of(tree), SCHEMA) == tree


# ------------------------------------------------------------------------------------------------ the page


def test_it_starts_with_nothing_said(client, table):
    page = shown(client.get(f"/tables/{table.pk}/delete/"))
    assert "No condition yet" in page
    assert '<option value="">column…' in page
    assert "s.x" in flat(page)
    assert "at most" not in flat(page)


def test_a_link_brings_condition_and_reason_along_and_nothing_is_asked(client, table):
    html = shown(client.get(f"/tables/{table.pk}/delete/", {"predicate": "n > 15", "reason": "old " + "x" * 2_000}))
    typed = re.search(r'<textarea[^>]*name="reason"[^>]*>\s*([^<]*)</textarea>', html)
    assert typed
    assert (typed[1][:5], len(typed[1])) == ("old x", REASON_LENGTH)
    assert "n > 15" in html
    assert not Job.objects.exists()


def test_the_table_leads_operators_to_it_and_nobody_else(client, table):
    shown(client.get(f"/tables/{table.pk}/delete/"))  # which brings the catalog in step
    address = f'href="/tables/{table.pk}/delete/"'
    assert address in shown(client.get(f"/tables/{table.pk}/"))
    assert address not in shown(browser(factories.person_with("approver")).get(f"/tables/{table.pk}/"))


def test_rules_become_text_and_a_preview_from_the_log(client, make):
    table = make(columns=[column for column in COLUMNS if column["type"] != "timestamp_ntz"])
    page = ask(client, table, do="preview", **rules(("n", ">", "15"), ("country", "=", "DE")))
    assert text_in(page) == "n > 15\nAND country = 'DE'"
    assert "Condition is valid: 2 comparisons" in flat(page)
    assert "at most 20 rows in 1 of 2 files" in flat(page)
    assert "By partition: 1 of" in flat(page)
    assert "rewrite at most 1 file" in flat(page)
    assert "Needs 1 approval, because" in flat(page)
    assert "You can still read the rows at version 0" in flat(page)
    assert "by a reviewed restore to version 0" in flat(page)
    assert not Job.objects.exists()


def test_text_becomes_rules_and_leads_where_it_was_edited(client, table):
    form = rules(("n", ">", "15")) | {"said": "n > 15", "text": "n > 3 and country in ('FR', 'DE')"}
    page = ask(client, table, **form)
    assert values_in(page) == ["3", "FR, DE"]
    assert text_in(page) == form["text"]


def test_a_text_beyond_rules_is_left_as_it_is(client, table):
    page = ask(client, table, text="n > 3 OR n < 1")
    assert "Rules can’t express this condition" in page
    assert text_in(page) == "n > 3 OR n < 1"
    again = ask(client, table, text="n > 3 OR n < 1", said="n > 3 OR n < 1")
    assert text_in(again) == "n > 3 OR n < 1"


def test_a_rule_is_added_and_dropped_without_a_script(client, table):
    form = rules(("n", ">", "15"), ("country", "=", "DE"))
    assert ask(client, table, do="add", **form).count('name="column"') == 3
    assert values_in(ask(client, table, do="drop:0", **form)) == ["DE"]
    assert values_in(ask(client, table, do="drop:9", **form)) == ["15", "DE"]
    assert values_in(ask(client, table, do="clear", **form)) == [""]


def test_an_unfinished_rule_gives_no_preview_and_no_job(client, table):
    form = rules(("n", ">", "15"), ("country", "=", ""))
    page = ask(client, table, **form)
    assert "Rule 2: write a value." in page
    assert "at most" not in page
    page = ask(client, table, 400, do="request", reason="old", **form)
    assert "Rule 2: write a value." in page
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("nope = 1", "Position 1", "the table has no column nope"),
        ("n = 1 OR 1 = 1", "Position 10", ""),
        ("n < now()", "Position 5", ""),
        ("<b>", "Position 1", ""),
    ],
)
def test_a_refused_text_says_where_why_and_what_instead(client, table, text, place, said):
    page = ask(client, table, text=text)
    assert place in page
    assert said in page
    assert re.search(r"<strong>[A-Z].+</strong>", page)
    assert text_in(page) == text
    assert "The rules come back when the text is valid" in page
    ask(client, table, 400, do="request", text=text, reason="old")
    assert not Job.objects.exists()


def test_a_refused_text_is_escaped(client, table):
    answer = client.post(f"/tables/{table.pk}/delete/", {"text": "</textarea><b>x</b>"})
    assert b"<b>x" not in answer.content


def test_a_request_is_a_job_with_what_was_read(client, table):
    answer = client.post(
        f"/tables/{table.pk}/delete/",
        {**rules(("n", ">", "15")), "said": "n > 15", "text": "n > 15", "reason": "old", "do": "request"},
    )
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}/")
    assert (job.parameters["predicate"], job.reason) == ("n > 15", "old")


def test_the_same_again_leads_to_the_open_request(client, table):
    form = {"text": "n > 15", "reason": "old", "do": "request"}
    client.post(f"/tables/{table.pk}/delete/", form)
    page = ask(client, table, 409, **form)
    assert f'href="/jobs/{Job.objects.get().pk}/"' in page
    assert "old</textarea>" in page


def test_nothing_said_is_no_delete_of_everything(client, table):
    for form in ({}, {"text": ""}, {"text": "   "}, rules(("", "=", ""))):
        page = ask(client, table, 400, do="request", reason="all of it", **form)
        assert "Enter a condition, or choose every row." in page
    assert not Job.objects.exists()


def test_every_row_takes_the_tables_name_typed(client, table):
    page = ask(client, table, whole="on", text="n > 15", said="n > 15")
    assert "This deletes all rows of table." in page
    assert "drop 2 files from the log" in page
    for name in ("", "tabl", "Table"):
        refused = ask(client, table, 400, whole="on", do="request", reason="closed", name=name)
        assert "type table to confirm it" in refused
    assert not Job.objects.exists()
    answer = client.post(
        f"/tables/{table.pk}/delete/", {"whole": "on", "do": "request", "reason": "closed", "name": "table"}
    )
    assert answer.status_code == 302
    assert Job.objects.get().parameters["predicate"] is None


def test_a_reason_is_asked_for(client, table):
    page = ask(client, table, 400, do="request", text="n > 15", reason=" ")
    assert "Enter a reason" in page
    assert not Job.objects.exists()


def test_what_it_needs_follows_the_rules_of_now(client, table):
    PolicyRule.objects.filter(command="delete").update(required_approvals=3)
    assert "Needs 3 approvals, because" in ask(client, table, text="n > 15")
    factories.change_rules(enabled=False)
    assert "Needs no approval" in ask(client, table, text="n > 15")


def test_a_table_that_takes_no_deletes_says_so_in_the_engines_words(client, make):
    table = make(properties={"delta.appendOnly": "true"})
    page = ask(client, table, text="n > 15")
    assert "DELTA_CANNOT_MODIFY_APPEND_ONLY" in page
    ask(client, table, 422, do="request", text="n > 15", reason="old")
    assert not Job.objects.exists()


def test_a_directory_without_a_log_has_no_form(client, tmp_path, db):
    (tmp_path / "plain").mkdir()
    table = factories.TableFactory(
        root=factories.RootFactory(uri=str(tmp_path)), path=str(tmp_path / "plain"), name="plain"
    )
    page = shown(client.get(f"/tables/{table.pk}/delete/"), 422)
    assert "isn’t a Delta table" in page
    assert "<textarea" not in page


# ------------------------------------------------------------------------------------------------ parts by script


def test_typing_in_the_text_leaves_it_alone_and_brings_the_rules(client, table):
    found = part(client, table, text="n > 3", said="")
    assert 'id="delete-text"' not in found
    assert values_in(found) == ["3"]
    assert 'name="said" value="n > 3"' in found
    assert 'id="delete-preview"' in found


def test_typing_in_a_rule_leaves_the_rules_alone_and_brings_the_text(client, table):
    found = part(client, table, shape="n:>", **rules(("n", ">", "3")))
    assert 'id="delete-rules"' not in flat(found)
    assert text_in(found) == "n > 3"


def test_rules_come_anew_where_their_fields_must_change(client, table):
    found = part(client, table, shape="n:=", **rules(("n", "between", "3")))
    assert 'id="rule-1-until"' in flat(found)
    assert values_in(found) == ["3"]
    assert 'name="shape" value="n:between"' in flat(found)


def test_another_column_keeps_the_comparison_where_it_can(client, table):
    found = part(client, table, **rules(("n", "like", "3")))
    assert "<option selected>=</option>" in flat(found)
    assert "<option selected>like" not in flat(found)
    kept = part(client, table, **rules(("country", "like", "F%")))
    assert "<option selected>like</option>" in flat(kept)


def test_every_row_swaps_the_condition_and_asks_for_the_name(client, table):
    swapped = 'id="delete-condition" class="lv-section" aria-labelledby="h-condition" hx-swap-oob'
    found = part(client, table, whole="on", text="n > 3", said="n > 3")
    assert swapped in flat(found)
    assert 'id="name"' in found
    assert swapped not in part(client, table, whole="on", text="n > 3", said="n > 3", shape="whole")
    back = part(client, table, text="n > 3", said="n > 3", shape="whole")
    assert swapped in back
    assert 'id="name"' not in back
    assert values_in(back) == ["3"]


# ------------------------------------------------------------------------------------------------ Spark's count


def test_a_count_is_asked_polled_and_shown_with_what_it_needs(client, table):
    PolicyRule.objects.filter(command="delete", table_class="whole_table").update(required_approvals=2, enabled=True)
    found = shown(client.post(f"/tables/{table.pk}/delete/count/", {"text": "n > 3"}))
    read = Read.objects.get(kind="matched")
    assert f'hx-get="/reads/{read.pk}/counted/"' in found
    answer = {"rows": 7, "rows_total": 30, "rows_hash": "1", "files": 1, "bytes": 200}
    Read.objects.update(state="answered", answer=answer, answered_at=timezone.now())
    found = shown(client.get(f"/reads/{read.pk}/counted/"))
    assert "7 rows in 1 of 2 files" in flat(found)
    assert "hx-get" not in found
    assert 'id="delete-needs"' in found
    assert "Based on Spark’s count" in found
    page = ask(client, table, do="count", text="n > 3")
    assert Read.objects.count() == 1
    assert "Counted by Spark" in page


def test_a_count_asks_of_the_files_that_delta_skips_and_says_what_it_found(client, make):
    table = make(files=[add(number, stats(30, {"n": 9}, {"n": 1}, {"n": 0}), {"country": "DE"}) for number in (1, 0)])
    found = counted(client, table, "n = 3", passed_over={"files": 2, "rows": 4})
    assert Read.objects.get().question["passed_over"] == ["part-0.parquet", "part-1.parquet"]
    assert "these files hold 4 matching rows: the delete would leave them" in found


def counted(client, table, text, **answer):
    """What the page shows when Spark has counted."""
    client.post(f"/tables/{table.pk}/delete/count/", {"text": text})
    answer = {"rows": 0, "rows_total": 30, "rows_hash": "0", "files": 0, "bytes": 0} | answer
    Read.objects.update(state="answered", answer=answer, answered_at=timezone.now())
    return flat(shown(client.get(f"/reads/{Read.objects.get().pk}/counted/")))


def test_a_count_leaves_files_without_rows_that_the_log_alone_removes(client, make):
    table = make(
        files=[add(0, stats(0, {}, {}, {}), {"country": "DE"}), add(1, stats(30, {}, {}, {}), {"country": "FR"})]
    )
    found = counted(client, table, "country = 'DE'")
    assert "0 rows in 1 of 2 files" in found
    assert "1 matching file holds no rows: Delta removes it from the log all the same." in found


def test_what_delta_skips_is_said_beside_the_count_too(client, make):
    table = make(files=[add(0, stats(30, {"n": 9}, {"n": 1}, {"n": 0}), {"country": "DE"})])
    assert "may miss rows of 1 file" in part(client, table, text="n = 5", said="n = 5")
    assert "may miss rows of 1 file" in counted(client, table, "n = 5")


def test_a_count_of_nothing_said_is_refused(client, table):
    answer = client.post(f"/tables/{table.pk}/delete/count/", {"text": ""})
    assert answer.status_code == 400
    assert not Read.objects.exists()


def test_somebody_elses_count_is_not_there(client, table):
    client.post(f"/tables/{table.pk}/delete/count/", {"text": "n > 3"})
    other = browser(factories.person_with("operator"))
    assert other.get(f"/reads/{Read.objects.get().pk}/counted/").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "approver", "admin"])
def test_who_may_not_ask_gets_no_page(table, role):
    assert browser(factories.person_with(role)).get(f"/tables/{table.pk}/delete/").status_code == 403


def test_an_operator_of_another_table_is_refused_on_record(table):
    person = factories.person_with("viewer")
    other = factories.TableFactory()
    factories.GrantFactory(person=person, role="operator", root=other.root)
    answer = browser(person).get(f"/tables/{table.pk}/delete/")
    assert (answer.status_code, b"takes an operator" in answer.content) == (403, True)
    event = Event.objects.get(action="job.request", outcome="refused")
    assert (event.actor_name, event.object_id) == (person.name, str(table.pk))


@pytest.fixture
def moving(table, monkeypatch):
    """Every sync is counted, and after it somebody else commits to the table."""
    synced, sync = [], syncing.sync

    def moves(table_id, **more):
        synced.append(table_id)
        found = sync(table_id, **more)
        log = Path(table.path) / "_delta_log"
        info = {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE", "operationParameters": {}}}
        (log / f"{len(list(log.glob('*.json'))):020d}.json").write_text(json.dumps(info) + "\n")
        return found

    monkeypatch.setattr(syncing, "sync", moves)
    return synced


def test_a_keystroke_takes_one_sync_and_one_version(client, table, moving, monkeypatch):
    subjects, preview_of = [], estimate.preview_of

    def previewed(actor, subject, node):
        subjects.append(subject)
        return preview_of(actor, subject, node)

    monkeypatch.setattr(estimate, "preview_of", previewed)
    page = client.post(f"/tables/{table.pk}/delete/preview/", {"text": "n < 5"})
    assert len(moving) == 1
    assert [subject.version for subject in subjects] == [page.context["version"]] == [0]


@pytest.mark.parametrize("act", ["count", "request"])
def test_a_form_that_is_sent_takes_one_sync_and_one_version(client, table, moving, act):
    client.post(f"/tables/{table.pk}/delete/", {"text": "n < 5", "reason": "old", "do": act})
    assert len(moving) == 1
    if act == "request":
        assert Job.objects.count() == 1
    else:
        assert Read.objects.get().asked_version == 0


def test_keystrokes_on_a_table_that_stands_still_write_nothing_of_it(client, table):
    part(client, table, text="n < 5")
    with CaptureQueriesContext(connection) as queries:
        part(client, table, text="n < 6")
    assert not [query["sql"] for query in queries if query["sql"].startswith(("UPDATE", "INSERT"))]


def test_a_sync_that_finds_nothing_new_writes_one_small_row(table):
    syncing.sync(table.pk)
    with CaptureQueriesContext(connection) as queries:
        syncing.sync(table.pk)
    statements = [query["sql"].lower() for query in queries]
    (update,) = [sql for sql in statements if sql.startswith("update")]
    assert update.startswith("update tables_synctimes set ")
    (locked,) = [sql for sql in statements if "for update" in sql]
    assert locked.startswith("select 1 from tables_synctimes ")  # the row that is written, and not the table's
    assert not [sql for sql in statements if sql.startswith("insert")]


# --- what can't be requested ------------------------------------------------------------------------------------------


def request_button(page):
    button = re.search(r'<button[^>]*id="request"[^>]*>', page)
    assert button is not None
    why = re.search(r'id="request-why">(.*?)</p>', page)
    return "disabled" in button[0], why[1] if why else ""


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({}, "Enter a condition, or choose every row."),
        ({"text": "n >"}, "Levee can’t accept this predicate"),
        ({"text": "nonsense = 1"}, "Levee can’t accept this predicate"),
        ({"text": "n > 1000000"}, "No row matches this condition, so there is nothing to request."),
        ({"text": "n > 15"}, ""),
        ({"whole": "on"}, ""),
    ],
)
def test_the_button_is_there_for_what_can_be_requested_alone(client, table, form, why):
    for page in (ask(client, table, **form), part(client, table, **form)):
        disabled, said = request_button(page)
        assert disabled == bool(why)
        assert why in said


def test_what_hits_nothing_is_not_requested_by_a_script_that_presses_it_all_the_same(client, table):
    page = ask(client, table, 400, text="n > 1000000", reason="old", do="request")
    assert "No row matches this condition" in page
    assert not Job.objects.exists()

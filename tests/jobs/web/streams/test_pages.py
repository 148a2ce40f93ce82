"""Pages of streams: the list, one stream with its batches, the form, and the buttons. Without Spark: rows and small lakes."""

import html as markup
import itertools
import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit.models import Event
from jobs.commands.stream_round.rules import Definition, FileSource, Steps, StreamRound
from jobs.domain.digest import sha256_of
from jobs.domain.states import State
from jobs.models import Job, PolicyRule, Stream, StreamBatch
from jobs.models import StreamRound as Round
from jobs.streams import acts, runs
from jobs.streams import queries as stream_queries
from jobs.web.streams.form_values import asked_of, values_of
from jobs.web.streams.form_views import changed_text
from jobs.web.streams.forms import StreamEditForm, StreamForm
from jobs.web.streams.listing import row
from jobs.web.streams.states import condition_of
from tables.models import Table
from tests import factories
from tests.clients import SURE, browser
from tests.jobs.streams.conftest import actor, asked, counted, landing, olga, root, sales

__all__ = ["actor", "asked", "counted", "landing", "olga", "root", "sales"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
NUMBERS = itertools.count(1)
SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
}


def made(**changes: Any) -> Stream:
    """A stream of files into a Delta table, as rows alone: nothing of it lies on disk."""
    number = next(NUMBERS)
    table = changes.pop("table", None) or factories.TableFactory(version=7)
    parts = {name: changes.pop(name) for name in ("steps", "output_mode", "options", "partition_by") if name in changes}
    source = FileSource(f"/lake/landing/{number}", "json", SCHEMA)
    definition = Definition(source, table.path, f"/lake/checkpoints/{number}", **parts).as_json()
    values: dict[str, Any] = {
        "name": f"stream{number:03}",
        "reason": "tests",
        "asked": {},
        "definition": definition,
        "definition_sha256": sha256_of(definition),
        "table": table,
        "checkpoint": definition["checkpoint"],
        "created_by": factories.person_named("ines"),
        "interval_seconds": 20,
    }
    if changes.get("state") in {"running", "stopping"}:
        values["run_by"] = factories.person_named("ines")
    return Stream.objects.create(**{**values, **changes})


def batch(stream: Stream, number: int, **changes: Any) -> StreamBatch:
    values: dict[str, Any] = {
        "query_id": "0d8f1b62", "run_id": "5c1e", "batch_id": number, "version": number + 1, "output_mode": "append",
        "at": timezone.now() - timedelta(seconds=20 * (100 - number)), "input_rows": 1000 + number, "rows_out": 900 + number,
        "files_added": 4, "files_removed": 0, "bytes_added": 2**20, "took_ms": 9_700,
        "durations": {"addBatch": 8_100, "triggerExecution": 9_700},
        "input_rate": 21_300.0, "processed_rate": 13_540.5,
    }  # fmt: skip
    return StreamBatch.objects.create(stream=stream, **{**values, **changes})


def opened(stream: Stream, state: str = "running", *, number: int = 1, booked: bool = False, **changes: Any) -> Round:
    """A round of the stream with its job, in any state."""
    command = StreamRound(str(stream.pk), stream.name, stream.definition, number=number)
    job = factories.job_on(stream.table, factories.person_named("ines"), command, state=State(state), **changes)
    return Round.objects.create(
        stream=stream, job=job, number=number, revision=1, booked_at=timezone.now() if booked else None
    )


def text_of(answer, status=200) -> str:
    """The page's words, without markup."""
    assert answer.status_code == status, answer.content[-3000:]
    bare = re.sub(r"<(script|style|title)\b.*?</\1>|<[^>]+>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", markup.unescape(bare))


@pytest.fixture
def viewer(db):
    return browser(factories.person_with("viewer"))


@pytest.fixture
def operator(olga):
    return browser(olga)


# --- the list ---------------------------------------------------------------------------------------------------------


def test_without_streams_the_list_says_what_one_is_and_how_to_begin(operator, viewer):
    text = text_of(operator.get("/streams/"))
    assert "No streams yet" in text
    assert "each micro-batch once" in text
    assert 'href="/streams/new/"' in operator.get("/streams/").content.decode()
    assert "/streams/new/" not in viewer.get("/streams/").content.decode()


def test_home_counts_all_that_failed_and_leads_to_them(viewer, monkeypatch):
    monkeypatch.setattr(stream_queries, "ON_HOME", 1)
    for name, state in (("first", "failed"), ("second", "failed"), ("third", "stopped")):
        made(name=name, state=state, error={"code": "engine_failed"} if state == "failed" else None)
    home = viewer.get("/")
    assert "2 streams failed" in text_of(home)
    assert 'href="/streams/?state=failed"' in home.content.decode()
    listed = text_of(viewer.get("/streams/?state=failed"))
    assert ("first" in listed, "second" in listed, "third" in listed) == (True, True, False)
    assert "No such streams" in text_of(viewer.get("/streams/?state=running"))
    assert "third" in text_of(viewer.get("/streams/?state=nonsense"))


def test_the_list_shows_each_stream_with_state_lag_and_last_batch(viewer):
    oldest = (timezone.now() - timedelta(minutes=2, seconds=3)).isoformat()
    running = made(
        name="pageviews", state="running",
        lag={"waiting": 3, "unit": "file", "oldest": oldest, "exact": False}, lag_at=timezone.now(),
    )  # fmt: skip
    batch(running, 1, rows_out=402_118)
    made(
        name="sensors",
        state="failed",
        error={"code": "engine_failed", "engine": {"condition": "DELTA_METADATA_MISMATCH"}},
    )
    made(name="returns", state_text="Stopped by jo.", rounds=4)
    made(
        name="done",
        state="running",
        lag={"waiting": 0, "unit": "file", "oldest": None, "exact": True},
        lag_at=timezone.now(),
    )
    answer = viewer.get("/streams/")
    text = text_of(answer)
    assert "4 streams: 2 running, 1 failed, 1 stopped" in text
    assert "at least 3 files oldest 2 min" in text
    assert "402,118" in text
    assert "up to date" in text
    assert "DELTA_METADATA_MISMATCH" in text
    assert "Stopped by jo" in text
    assert 'title="A stopped stream isn’t measured."' in answer.content.decode()
    assert '<path d="M0.0 20.0v' in answer.content.decode()
    assert f"/tables/{running.table_id}/commits/7/" in answer.content.decode()
    assert 'aria-current="page">Streams<' in answer.content.decode()


OLD = {"waiting": 0, "unit": "file", "oldest": None, "exact": True, "too_old": 2}


@pytest.mark.parametrize(
    ("changes", "lag", "said"),
    [
        ({"state": "running"}, {}, "2 files are too old to be read. Spark skips a file that changed more than a week before"),
        ({"state": "running"}, {"too_old": 1, "exact": False}, "At least 1 file is too old to be read."),
        ({"rounds": 1}, {}, "2 files are too old to be read."),
    ],
)  # fmt: skip
def test_files_that_spark_never_takes_are_shown_with_what_to_do(viewer, changes, lag, said):
    stream = made(**changes, lag={**OLD, **lag}, lag_at=timezone.now() - timedelta(hours=2))
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert said in text
    assert "renew its modification time, for example with touch , or copy it: the next round reads it" in text
    assert "Counted 2 h ago" in text
    assert said in text_of(viewer.get(f"/streams/{stream.pk}/live/"))
    assert f"{ {**OLD, **lag}['too_old'] } too old" in text_of(viewer.get("/streams/"))


def test_a_source_that_told_nothing_says_why(viewer):
    stream = made(state="running", lag_text="The source <b>didn’t</b> answer.", lag_at=timezone.now())
    answer = viewer.get(f"/streams/{stream.pk}/")
    assert "lag not measured" in text_of(answer)
    assert "The source <b>didn’t</b> answer." in text_of(answer)
    assert 'title="The source &lt;b&gt;didn’t&lt;/b&gt; answer."' in viewer.get("/streams/").content.decode()


@pytest.mark.parametrize(
    "lag", [{**OLD, "too_old": 0}, {"waiting": 3, "unit": "version", "oldest": None, "exact": True}]
)
def test_without_such_files_nothing_is_too_old(viewer, lag):
    stream = made(state="running", lag=lag, lag_at=timezone.now())
    for address in ("/streams/", f"/streams/{stream.pk}/"):
        assert "too old" not in text_of(viewer.get(address))


def test_a_stream_whose_batches_take_longer_than_its_trigger_falls_behind(viewer):
    stream = made(state="running", interval_seconds=10)
    batch(stream, 1, took_ms=14_700)
    assert "Falls behind" in text_of(viewer.get("/streams/"))
    assert f"{stream.name} falls behind" in text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "4.7 s per batch" in text_of(viewer.get(f"/streams/{stream.pk}/"))


def test_the_list_has_pages(viewer):
    for _ in range(52):
        made()
    first = viewer.get("/streams/").content.decode()
    found = re.search(r'rel="next" href="([^"]+)"', first)
    assert found
    second = text_of(viewer.get(f"/streams/{markup.unescape(found[1])}"))
    names = list(Stream.objects.order_by("name").values_list("name", flat=True))
    assert names[49] in first
    assert names[50] not in first
    assert names[51] in second
    assert "52 streams: 52 stopped" in second


@pytest.mark.parametrize("address", ["/streams/?cursor=x", "/streams/{0}/?cursor=x", "/streams/{0}/live/?cursor=x"])
def test_an_address_of_no_page_is_refused(viewer, address):
    assert viewer.get(address.format(made().pk)).status_code == 400


def test_the_list_asks_as_often_for_thirty_streams_as_for_three(viewer):
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert viewer.get("/streams/").status_code == 200
        return len(seen)

    def more(number: int) -> None:
        for _ in range(number):
            stream = made(state="running")
            for place in range(3):
                batch(stream, place)

    more(3)
    queries()
    few = queries()
    more(27)
    assert queries() == few


def test_only_streams_into_tables_that_you_see_are_there(db):
    seen, unseen = made(), made()
    client = browser(factories.person_with("viewer", table=seen.table))
    text = text_of(client.get("/streams/"))
    assert "1 stream:" in text
    assert unseen.name not in text
    assert client.get(f"/streams/{seen.pk}/").status_code == 200
    assert client.get(f"/streams/{unseen.pk}/").status_code == 404
    assert client.get(f"/streams/{unseen.pk}/live/").status_code == 404


def test_names_and_reasons_are_text(viewer):
    stream = made(name="<b>x</b>", reason="<i>why</i>", state_text="<u>t</u>", rounds=1)
    for address in ("/streams/", f"/streams/{stream.pk}/"):
        page = viewer.get(address).content.decode()
        assert "<b>x" not in page
        assert "<i>why" not in page
        assert "<u>t" not in page


# --- one stream -------------------------------------------------------------------------------------------------------


def test_a_stream_without_a_batch(viewer):
    stream = made()
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert f"{stream.name} was never started" in text
    assert "No batch yet" in text
    assert f"DeltaSink[{stream.table.path}]" in text
    assert "off: a new column fails the batch" in text
    assert "autoMerge off: Levee doesn’t set spark.databricks. delta.schema. autoMerge.enabled" in text
    assert "json files below /lake/landing/" in text
    assert "none: rows are written as they are read" in text
    assert "not needed: it removes no row" in text
    assert "every 20 s" in text


def test_a_stream_with_batches(viewer):
    stream = made(state="running", query_id="0d8f1b62-1f3e")
    for number in range(60):
        batch(stream, number, took_ms=25_000 if number > 55 else 9_700)
    answer = viewer.get(f"/streams/{stream.pk}/")
    page, text = answer.content.decode(), text_of(answer)
    assert "Time of the last 48 micro-batches; 4 took longer than the trigger of 20 s" in text
    assert {name: len(path.split("z")) - 1 for name, path in re.findall(r'<path class="(bar[^"]*)" d="([^"]*)"', page)} == {
        "bar": 44, "bar-warn": 4,
    }  # fmt: skip
    assert "above this line the stream falls behind" in text
    assert "1,059 959 4 0 1.00 MiB 60" in text
    assert "addBatch 8,100 ms" in text
    assert "Epoch id 59" in text
    assert "21,300 rows/s" in text
    assert "Spark’s own progress reports −1 for every Delta sink" in text
    assert f"/tables/{stream.table_id}/commits/60/" in page
    found = re.search(r'rel="next" href="([^"]+)"', page)
    assert found
    older = text_of(viewer.get(markup.unescape(found[1])))
    assert "1,009 909" in older
    assert "1,010 910" not in older


def test_what_nobody_tells_is_unknown_and_a_skipped_batch_says_so(viewer):
    stream = made(state="running")
    batch(stream, 1, took_ms=None, input_rows=None, rows_out=None, files_added=None, files_removed=None, bytes_added=None,
          durations={}, input_rate=None, processed_rate=None, run_id="")  # fmt: skip
    batch(stream, 2, skipped=True, rows_out=None)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "skipped: Delta had it already" in text
    assert "unknown unknown not reported unknown unknown unknown 2" in text
    assert "-1" not in text
    assert "None" not in text.replace("None yet.", "")
    assert "skipped" in text_of(viewer.get("/streams/"))


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"input_rate": 0.0}, "In unknown Processed 13,540 rows/s"),
        ({"input_rate": None}, "In unknown Processed 13,540 rows/s"),
        ({"input_rate": float("inf")}, "In unknown Processed 13,540 rows/s"),
        ({"processed_rate": 0.0}, "In 21,300 rows/s Processed unknown"),
        ({"input_rate": 0.0, "processed_rate": 0.0, "input_rows": 0}, "In 0.0 rows/s Processed 0.0 rows/s"),
        ({"input_rate": 2.5}, "In 2.5 rows/s Processed 13,540 rows/s"),
    ],
)
def test_a_rate_that_spark_could_not_know_is_unknown(viewer, told, shown):
    stream = made(state="running")
    batch(stream, 1, **told)
    answer = viewer.get(f"/streams/{stream.pk}/")
    text = text_of(answer)
    assert shown in text
    assert shown.replace("In ", "Rows in ") in text
    first = "Spark measures this rate from one trigger to the next; this batch is the first of its run"
    assert answer.content.decode().count(first) == (2 if told == {"input_rate": 0.0} else 0)


def test_a_batch_unfolds_its_round_and_what_spark_wrote_is_text(viewer):
    stream = made(state="running")
    ran = opened(stream, "succeeded", booked=True, finished_at=timezone.now(), version=1, result={"details": {}})
    batch(stream, 1, job=ran.job, run_id="<b>run", durations={"<i>phase": 5, "addBatch": 1, "triggerExecution": 6})
    batch(stream, 2, version=None)
    answer = viewer.get(f"/streams/{stream.pk}/")
    page, text = answer.content.decode(), text_of(answer)
    assert "addBatch 1 ms <i>phase 5 ms triggerExecution 6 ms" in text
    assert "<i>phase" not in page
    assert "<b>run" not in page
    assert f'<dt>Round</dt><dd><a href="/jobs/{ran.job_id}/">job {str(ran.job_id)[:8]}</a></dd>' in page
    assert 'title="No commit of this batch is known">none<' in page


def test_a_page_of_a_stream_asks_as_often_for_many_batches_as_for_few(viewer):
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert viewer.get(address).status_code == 200
        return len(seen)

    stream = made(state="running")
    address = f"/streams/{stream.pk}/"

    def more(numbers: range) -> None:
        for number in numbers:
            batch(stream, number)
            opened(
                stream,
                "succeeded",
                number=number,
                booked=True,
                finished_at=timezone.now(),
                version=1,
                result={"details": {}},
            )

    more(range(3))
    queries(address)
    few = queries(address)
    more(range(3, 60))
    assert queries(address) == few
    assert queries(f"{address}live/") < few


def test_the_sink_is_as_spark_described_it(viewer):
    stream = made()
    opened(
        stream,
        "succeeded",
        booked=True,
        finished_at=timezone.now(),
        version=1,
        result={"details": {"sink": "DeltaSink[file:/lake/x]"}},
    )
    assert "DeltaSink[file:/lake/x]" in text_of(viewer.get(f"/streams/{stream.pk}/"))


def test_a_round_that_runs_is_shown_and_polled(viewer):
    stream = made(state="running", rounds=1)
    current = opened(
        stream,
        "running",
        progress={"stage": "batch 12: 1,000 rows, 3.2 s"},
        attempt=1,
        token=1,
        lease_until=timezone.now(),
    )
    page = viewer.get(f"/streams/{stream.pk}/").content.decode()
    assert 'hx-trigger="every 2s"' in page
    assert f"/jobs/{current.job_id}/" in page
    assert "Batch 12: 1,000 rows, 3.2 s." in page


def test_a_poll_brings_what_stands_below_only_when_it_is_new(viewer):
    stream = made(state="running")
    batch(stream, 1)
    page = viewer.get(f"/streams/{stream.pk}/").content.decode()
    found = re.search(r'hx-get="(/streams/[^"]+)"', page)
    assert found
    address = markup.unescape(found[1])
    assert "hx-swap-oob" not in (same := viewer.get(address).content.decode())
    assert 'id="stream"' in same
    batch(stream, 2)
    fresh = viewer.get(address).content.decode()
    assert 'id="stream-body" class="lv-split" hx-swap-oob="true"' in fresh
    assert "1,002" in fresh


def test_a_stream_that_stands_still_is_not_polled(viewer):
    _, found, part = viewer.get(f"/streams/{made().pk}/").content.decode().partition('id="stream"')
    assert found
    assert "hx-get" not in part.partition("</main>")[0]


@pytest.mark.parametrize(
    ("form", "options", "said"),
    [
        ("json", {}, "Damaged lines fail the round, which commits nothing of their batch"),
        ("csv", {"mode": "permissive"}, "Damaged lines become rows of NULLs"),
        ("csv", {"mode": "DROPMALFORMED"}, "Damaged lines are left out"),
        ("parquet", {}, None),
    ],
)
def test_a_definition_says_what_a_damaged_line_does(viewer, form, options, said):
    stream = made()
    stream.definition["source"] |= {"format": form, "options": options}
    stream.save(update_fields=["definition"])
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert said in text if said else "Damaged lines" not in text


def test_a_failed_stream_says_what_failed_and_what_to_do(viewer):
    message = "[STREAM_FAILED] Query terminated: [DELTA_METADATA_MISMATCH] A schema mismatch detected."
    error = {
        "code": "engine_failed", "message": "The batch has a column that the table lacks.", "table_state": "nothing was committed",
        "what_to_do": "Switch mergeSchema on.", "engine": {"condition": "STREAM_FAILED", "sqlstate": "XXKST", "message": message},
    }  # fmt: skip
    stream = made(state="failed", error=error, rounds=3)
    batch(stream, 8)
    batch(stream, 9, version=None)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert f"{stream.name} failed" in text
    assert "The batch has a column that the table lacks." in text
    assert "Error condition DELTA_METADATA_MISMATCH" in text
    assert "Nothing was committed" in text
    assert "Last good batch batch 8, version 9" in text
    assert "Switch mergeSchema on." in text


def test_the_last_good_batch_is_named_however_many_came_after_it(viewer):
    stream = made(state="failed", error={"code": "x", "message": "y"}, rounds=3)
    batch(stream, 8)
    for number in range(9, 70):
        batch(stream, number, version=None)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "Last good batch batch 8, version 9" in text
    assert "has committed nothing" not in text


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        ({"engine": {"condition": "STREAM_FAILED", "message": "x [STREAM_FAILED] y [DELTA_A.B_C] z"}}, "DELTA_A.B_C"),
        ({"engine": {"condition": "DELTA_A", "message": "[STREAM_FAILED] [DELTA_B]"}}, "DELTA_A"),
        ({"engine": {"condition": "STREAM_FAILED", "message": "no other"}}, "STREAM_FAILED"),
        ({"engine": None}, ""),
        (None, ""),
    ],
)
def test_the_condition_is_the_one_inside(error, condition):
    assert condition_of(error) == condition


def test_a_round_that_waits_for_approval_leads_to_its_review(viewer):
    stream = made(output_mode="complete", table=factories.TableFactory(version=3, table_id="t"), state="running")
    waiting = opened(stream, "awaiting_approval")
    answer = viewer.get(f"/streams/{stream.pk}/")
    assert "Round 1 waits for approval. It replaces rows of the table." in text_of(answer)
    assert f'id="to-review" href="/jobs/{waiting.job_id}/"' in answer.content.decode()
    assert "needed: its next round waits for 1 approval" in text_of(answer)
    assert "Nobody can approve it yet" in text_of(answer)
    assert "Waiting for approval" in text_of(viewer.get("/streams/"))
    assert "each batch removes every row and writes the result anew" in text_of(answer)


def test_steps_are_said_in_words_whatever_columns_are_called(viewer):
    steps = Steps(
        rename={"items": "<b>", "a": "b"}, cast={"b": "date"}, filter={"op": "x"}, filter_text="b > 1", select=("b", "c"),
        group_by=("b",), count_as="n",
    )  # fmt: skip
    answer = viewer.get(f"/streams/{made(steps=steps, output_mode='complete').pk}/")
    text = text_of(answer)
    assert "items → <b>" in text
    assert "b → date" in text
    assert "Keeps rows where b > 1" in text
    assert "Keeps columns b, c" in text
    assert re.search(r"rows by b ?, as n", text)


def test_the_audit_is_linked_for_those_who_read_it(viewer):
    stream = made()
    auditor = browser(factories.person_with("auditor"))
    assert f"?object=stream:{stream.pk}" in auditor.get(f"/streams/{stream.pk}/").content.decode()
    assert "?object=stream:" not in viewer.get(f"/streams/{stream.pk}/").content.decode()


# --- buttons ----------------------------------------------------------------------------------------------------------

ACTS = ("start", "stop", "run-once", "remove", "reset", "edit")


def test_a_viewer_sees_no_buttons_and_is_refused(viewer):
    stream = made(state="running")
    page = viewer.get(f"/streams/{stream.pk}/").content.decode()
    assert not re.search(r"/(start|stop|run-once|remove|reset|edit)/\"", page)
    for act in ACTS:
        assert viewer.post(f"/streams/{stream.pk}/{act}/", {"reason": "x"}).status_code == 403, act
    assert viewer.post("/streams/new/", {}).status_code == 403
    assert viewer.get("/streams/new/").status_code == 403


def test_an_operator_of_another_table_is_refused(db):
    stream, other = made(), factories.TableFactory()
    person = factories.person_with("viewer")
    factories.GrantFactory(person=person, role="operator", table=other)
    client = browser(person)
    assert f"/streams/{stream.pk}/start/" not in client.get(f"/streams/{stream.pk}/").content.decode()
    for act in ACTS:
        assert client.post(f"/streams/{stream.pk}/{act}/", {"reason": "x"}).status_code == 403, act


def test_acts_take_a_post(operator):
    stream = made()
    for act in ("start", "stop", "run-once"):
        assert operator.get(f"/streams/{stream.pk}/{act}/").status_code == 405


@pytest.fixture
def clicks(actor, asked) -> Stream:
    return acts.create(actor, "clicks", "clicks of the shop", asked)


def test_start_and_stop(operator, clicks):
    page = operator.get(f"/streams/{clicks.pk}/").content.decode()
    assert f"/streams/{clicks.pk}/start/" in page
    assert f"/streams/{clicks.pk}/stop/" not in page
    answer = operator.post(f"/streams/{clicks.pk}/start/")
    assert (answer.status_code, answer.url) == (302, f"/streams/{clicks.pk}/")
    assert Job.objects.get(command="stream_round").state == "queued"
    page = operator.get(f"/streams/{clicks.pk}/").content.decode()
    assert "clicks runs every 10 s" in page
    assert f"/streams/{clicks.pk}/stop/" in page
    assert f"/streams/{clicks.pk}/reset/" not in page
    assert operator.post(f"/streams/{clicks.pk}/stop/").status_code == 302
    clicks.refresh_from_db()
    assert clicks.state in {"stopped", "stopping"}
    assert "Stopped by" in text_of(operator.get("/streams/"))


def test_run_once_opens_a_round_and_a_second_one_is_refused_on_the_page(operator, clicks):
    assert operator.post(f"/streams/{clicks.pk}/run-once/").status_code == 302
    job = Job.objects.get(command="stream_round")
    answer = operator.post(f"/streams/{clicks.pk}/run-once/")
    assert "A round of this stream is open already" in text_of(answer, 409)
    assert f"/jobs/{job.pk}/" in answer.content.decode()


def test_a_removal_says_first_what_becomes_of_what_the_stream_touches(operator, clicks):
    Stream.objects.filter(pk=clicks.pk).update(rounds=2)
    for number in (1, 2):
        batch(clicks, number)
    page = operator.get(f"/streams/{clicks.pk}/").content.decode()
    assert f'href="/streams/{clicks.pk}/remove/">Remove…' in page
    text = text_of(operator.get(f"/streams/{clicks.pk}/remove/"))
    assert "keeps the rows of 2 batches" in text
    assert f"stays at {clicks.checkpoint}; no other stream can continue from it" in text
    assert "loads rows again that this one has loaded" in text
    assert "you can’t undo this" in text
    assert Stream.objects.get(pk=clicks.pk).removed_at is None


@pytest.mark.parametrize("given", [{}, {"reason": "  "}, {"reason": "x" * 2001}], ids=["none", "blank", "too long"])
def test_it_takes_a_reason(operator, clicks, given):
    answer = operator.post(f"/streams/{clicks.pk}/remove/", given | SURE)
    assert answer.status_code == 400
    assert 'id="question-fault"' in answer.content.decode()
    assert Stream.objects.get(pk=clicks.pk).removed_at is None


def test_the_reason_is_on_record_and_the_list_says_that_it_is_removed(operator, clicks):
    reason = "clicks come by Kafka now"
    answer = operator.post(f"/streams/{clicks.pk}/remove/", {"reason": reason} | SURE, follow=True)
    assert answer.redirect_chain == [("/streams/", 302)]
    assert "clicks is removed. Its table, its checkpoint, its jobs and the audit stay." in text_of(answer)
    assert "clicks" not in text_of(operator.get("/streams/"))
    assert operator.get(f"/streams/{clicks.pk}/").status_code == 404
    assert Event.objects.get(action="stream.delete").reason == reason


def test_a_stream_that_replaces_rows_says_so_of_another_one(operator, clicks):
    Stream.objects.filter(pk=clicks.pk).update(rounds=1, definition=clicks.definition | {"output_mode": "complete"})
    text = text_of(operator.get(f"/streams/{clicks.pk}/remove/"))
    assert "its first batch replaces the rows of" in text


def test_remove_of_a_running_stream_is_refused_on_the_page(operator):
    stream = made(state="running")
    for answer in (operator.get(f"/streams/{stream.pk}/remove/"), operator.post(f"/streams/{stream.pk}/remove/", SURE)):
        assert "Stop the stream first" in text_of(answer, 409)


def test_reset_says_what_follows_and_asks_for_a_reason(operator, clicks):
    text = text_of(operator.get(f"/streams/{clicks.pk}/reset/"))
    assert "every row that was loaded is loaded again" in text
    assert "needs 1 approval" in text
    refused = text_of(operator.post(f"/streams/{clicks.pk}/reset/", {"reason": " "}), 400)
    assert "Enter a reason" in refused
    answer = operator.post(f"/streams/{clicks.pk}/reset/", {"reason": "a column came"})
    job = Job.objects.get(command="stream_round")
    assert (answer.status_code, answer.url) == (302, f"/jobs/{job.pk}/")
    assert job.state == "awaiting_approval"


def test_the_review_of_a_reset_says_what_it_does(operator, clicks):
    operator.post(f"/streams/{clicks.pk}/reset/", {"reason": "a column came"})
    job = Job.objects.get(command="stream_round")
    text = text_of(operator.get(f"/jobs/{job.pk}/"))
    assert "This resets the checkpoint." in text
    assert f"Checkpoint {clicks.checkpoint}" in text
    assert "Reason: a column came" in text
    assert f"/streams/{clicks.pk}/" in operator.get(f"/jobs/{job.pk}/").content.decode()


def test_the_review_of_a_stream_that_replaces_rows_says_so(operator, actor, counted):
    stream = acts.create(actor, "counts", "counts by p", counted)
    operator.post(f"/streams/{stream.pk}/start/")
    job = Job.objects.get(command="stream_round")
    text = text_of(operator.get(f"/jobs/{job.pk}/"))
    assert "This removes every row of the table at each batch" in text
    assert re.search(r"rows by p ?, as id", text)
    assert "Output mode Complete" in text


def test_the_job_of_a_round_lists_its_batches(operator, clicks):
    told = {"batch_id": 4, "version": 9, "input_rows": 1_234, "rows_out": None, "files_added": 2, "files_removed": 0,
            "bytes_added": 10, "skipped": False}  # fmt: skip
    result: dict[str, Any] = {
        "version": 9,
        "operation": "STREAMING UPDATE",
        "details": {"text": "1 batch.", "batches": [told]},
    }
    current = opened(clicks, "succeeded", booked=True, finished_at=timezone.now(), version=9, result=result)
    text = text_of(operator.get(f"/jobs/{current.job_id}/"))
    assert "4 1,234 unknown 2 0 10 B 9" in text
    assert "Damaged lines" not in text.partition("Micro-batches")[2]  # a round from before doesn’t tell
    result["details"]["batches"] = [{**told, "damaged_lines": 34}, {**told, "batch_id": 5, "damaged_lines": None}]
    Job.objects.filter(pk=current.job_id).update(result=result)
    text = text_of(operator.get(f"/jobs/{current.job_id}/"))
    assert "4 1,234 34 unknown 2 0 10 B 9" in text
    assert "5 1,234 unknown unknown 2 0 10 B 9" in text


def test_the_job_of_a_round_says_what_its_stream_does(operator, clicks):
    operator.post(f"/streams/{clicks.pk}/run-once/")
    text = text_of(operator.get(f"/jobs/{Job.objects.get(command='stream_round').pk}/"))
    assert "What the stream does" in text
    assert "json files below" in text
    assert f"Checkpoint {clicks.checkpoint}" in text


# --- the form ---------------------------------------------------------------------------------------------------------


def typed(landing, root, **changes: str) -> dict[str, str]:
    """What a browser posts."""
    return {
        "name": "clicks", "reason": "clicks of the shop", "source_kind": "files", "path": str(landing), "format": "json",
        "schema": "id BIGINT,\r\np STRING", "target_kind": "directory", "target_path": f"{root.uri}/clicks", "output_mode": "append",
        "trigger": "every", "interval": "30", "interval_unit": "s", **changes,
    }  # fmt: skip


def test_the_form_makes_a_stream(operator, landing, root):
    assert "New stream" in text_of(operator.get("/streams/new/"))
    steps = {"rename": "p=country\r\n", "cast": "id=string", "filter": "country = 'a'", "select": "id, country"}
    answer = operator.post("/streams/new/", typed(landing, root, **steps, merge_schema="on", partition_by="country"))
    stream = Stream.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/streams/{stream.pk}/")
    assert stream.asked == {
        "source": {"path": str(landing), "format": "json", "schema": "id BIGINT,\np STRING"},
        "rename": {"p": "country"},
        "cast": {"id": "string"},
        "filter": "country = 'a'",
        "select": ["id", "country"],
        "target": {"path": f"{root.uri}/clicks"},
        "output_mode": "append",
        "partition_by": ["country"],
        "options": {"mergeSchema": "true"},
        "trigger": {"interval": "30s"},
    }
    assert (stream.interval_seconds, stream.state) == (30, "stopped")
    assert text_of(operator.get(answer.url))


def test_the_form_makes_a_stream_of_a_table(operator, sales, root):
    form = {
        "name": "copy", "reason": "a copy", "source_kind": "table", "source_table": str(sales.pk), "starting_version": "0",
        "skip_change_commits": "on", "source_options": "maxFilesPerTrigger=10", "target_path": f"{root.uri}/copy",
        "output_mode": "append", "trigger": "available_now", "path": "/ignored", "max_files": "",
    }  # fmt: skip
    assert operator.post("/streams/new/", form).status_code == 302
    stream = Stream.objects.get()
    assert stream.asked["source"] == {
        "table": str(sales.pk), "starting_version": 0, "skip_change_commits": True, "options": {"maxFilesPerTrigger": "10"},
    }  # fmt: skip
    text = text_of(operator.get(f"/streams/{stream.pk}/"))
    assert "version 0: only the commits from it on" in text
    assert "skipped: their commits aren’t read" in text
    assert "available now" in text


REFUSED = {
    "reason": ({"reason": ""}, "reason", "Enter a reason"),
    "name": ({"name": "\x07"}, "name", "printable characters"),
    "schema": ({"schema": "id NOTYPE"}, "schema", "The schema can’t be read"),
    "no schema": ({"schema": ""}, "schema", "The schema can’t be read"),
    "format": ({"format": "orc"}, "format", "orc"),
    "no path": ({"path": ""}, "path", "Name either the path"),
    "option": ({"other_options": "checkpointLocation=/x"}, "other_options", "checkpointLocation"),
    "option line": ({"other_options": "mergeSchema"}, "other_options", "Line 1 must be option=value."),
    "trigger": ({"interval": "1"}, "interval", "10 seconds"),
    "trigger text": ({"interval": "soon"}, "interval", "Enter a whole number"),
    "no interval": ({"interval": ""}, "interval", "Enter how often it runs"),
    "filter": ({"filter": "nothere = 1"}, "filter", "nothere"),
    "select": ({"select": "nothere"}, "select", "nothere"),
    "rename": ({"rename": "nothere=x"}, "rename", "nothere"),
    "rename twice": ({"rename": "p=x\np=y"}, "rename", "Line 2 names p again."),
    "cast": ({"cast": "p=notype"}, "cast", "notype"),
    "aggregate": ({"group_by": "p"}, "count_as", "Name the column that holds the count"),
    "no target": ({"target_path": ""}, "target_path", "Name either the path"),
    "no target table": ({"target_kind": "table"}, "target_table", "Name either the path"),
    "a name for a path": (
        {"target_path": "clicks_table"},
        "target_path",
        "Enter an absolute path, such as /lake/orders.",
    ),
    "place": ({"path": "/elsewhere/x"}, "path", "/elsewhere/x is not below a root"),
    "source table": (
        {"source_kind": "table", "source_table": str(uuid.uuid4())},
        "source_table",
        "isn’t in the catalog",
    ),
    "target table": (
        {"target_kind": "table", "target_table": "nowhere.atall"},
        "target_table",
        "No table is named nowhere.atall",
    ),
    "version": ({"source_kind": "table", "starting_version": "x"}, "starting_version", "whole number"),
}


STATUS = {"place": 403, "a name for a path": 403, "source table": 404, "target table": 404}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_stands_at_its_field_and_keeps_what_was_typed(operator, landing, root, case):
    changes, field, said = REFUSED[case]
    form = typed(landing, root, **changes)
    answer = operator.post("/streams/new/", form)
    page = answer.content.decode()
    assert answer.status_code == STATUS.get(case, 400), page[-3000:]
    found = re.search(rf'id="id_{field}_error">(.*?)</p>', page, re.DOTALL)
    assert found, re.findall(r'id="(\w+)_error">.*?</svg>(.*?)</p>', page, re.DOTALL) or page[-2000:]
    assert said in markup.unescape(found[1])
    assert "Nothing was created." in page
    if case != "name":
        assert f'value="{form["name"]}"' in page
    assert f'value="{form["target_path"]}"' in page or not form["target_path"]
    assert not Stream.objects.exists()


def test_a_name_that_is_taken(operator, landing, root):
    operator.post("/streams/new/", typed(landing, root))
    answer = operator.post("/streams/new/", typed(landing, root, target_path=f"{root.uri}/other"))
    assert "A stream is called clicks already" in text_of(answer, 409)


def test_edit_is_filled_from_the_stream_and_changes_what_was_changed(operator, clicks):
    address = f"/streams/{clicks.pk}/edit/"
    page = operator.get(address).content.decode()
    assert 'value="clicks"' in page
    assert all(f'value="{text}"' in page for text in ("id", "BIGINT", "p", "STRING"))
    assert 'name="target_' not in page
    assert clicks.checkpoint in page
    form = {
        "name": "clicks2", "reason": "fewer rows", "source_kind": "files", "path": clicks.asked["source"]["path"], "format": "json",
        "schema": "id BIGINT, p STRING", "output_mode": "append", "trigger": "every", "interval": "10", "filter": "id > 1",
    }  # fmt: skip
    before = clicks.asked
    assert operator.post(address, form).status_code == 302
    clicks.refresh_from_db()
    assert (clicks.name, clicks.revision) == ("clicks2", 2)
    assert clicks.asked == {**before, "filter": "id > 1"}
    assert operator.post(address, {**form, "filter": ""}).status_code == 302
    clicks.refresh_from_db()
    assert clicks.asked == before


def test_an_edit_that_the_checkpoint_cannot_follow_is_refused_at_its_field(operator, clicks):
    Stream.objects.filter(pk=clicks.pk).update(query_id="q")
    form = {
        "name": "clicks", "reason": "x", "source_kind": "files", "path": clicks.asked["source"]["path"], "format": "csv",
        "schema": "id BIGINT, q STRING", "output_mode": "append", "trigger": "every", "interval": "10",
    }  # fmt: skip
    answer = operator.post(f"/streams/{clicks.pk}/edit/", form)
    assert "The checkpoint can’t follow a change of source" in text_of(answer, 409)
    assert 'value="q"' in answer.content.decode()


FULL = {
    "source": {"path": "/l/x", "format": "csv", "schema": {"type": "struct", "fields": []}, "options": {"header": True, "sep": ";"}},
    "rename": {"a=b": "c", "plain name": "d"}, "cast": {"x": "decimal(10,2)"}, "filter": "x > 1\nAND y = 2",
    "select": ["a,b", "`c`", "d e"], "aggregate": {"group_by": ["a"], "count_as": "n"}, "output_mode": "Complete",
    "partition_by": ["a"], "options": {"MERGESCHEMA": True, "maxFilesPerTrigger": 7, "userMetadata": "a=b"},
    "trigger": {"interval": "5 minutes"},
}  # fmt: skip


@pytest.mark.parametrize(
    "stored", [FULL, {}, {"source": {"table": "t", "starting_version": 0}, "trigger": "available_now"}]
)
def test_a_form_that_nobody_changed_changes_nothing(stored):
    values = values_of(stored) | {"name": "x"}
    blank = StreamEditForm(initial=values)
    values_shown = {name: blank[name].value() for name in blank.fields}
    data = {
        name: str(value).replace("\n", "\r\n")
        for name, value in values_shown.items()
        if value is not None and value is not False  # as browsers post them
    }
    form = StreamEditForm(data | {"reason": "r"}, initial=values)
    assert form.is_valid(), form.errors
    assert form.changes() == {"name": "x", "reason": "r"}


def test_names_and_pairs_hold_what_columns_are_called():
    data = {"select": "a, `b,c`, `d``e`\r\nf g", "rename": "`a=b`=c\r\n\r\n d = e f ", "target_path": "s3://b/x", "name": "n",
            "reason": "r",
            "source_kind": "files", "output_mode": "append", "trigger": "available_now"}  # fmt: skip
    form = StreamForm(data)
    assert form.is_valid(), form.errors
    asked = form.asked()
    assert asked["select"] == ["a", "b,c", "d`e", "f g"]
    assert asked["rename"] == {"a=b": "c", "d": "e f"}
    assert asked["target"] == {"path": "s3://b/x"}
    assert asked_of({"target_kind": "table", "target_table": "web.clicks"})["target"] == {"table": "web.clicks"}
    assert not StreamForm({**data, "select": "`a` b"}).is_valid()
    assert not StreamForm({**data, "rename": "a\x00=b"}).is_valid()


def test_a_row_of_a_stream_without_any_time_has_no_drawing(db):
    stream = made()
    stream.waits, stream.last, stream.lately = False, None, []  # type: ignore[attr-defined]
    assert row(stream).spark is None
    assert Table.objects.count() == 1
    assert PolicyRule.objects.filter(command="stream_round").exists()


def test_a_table_leads_to_the_streams_that_write_or_read_it():
    table = factories.TableFactory(version=7, first_version=0, name="sales")
    into, out_of, other = made(table=table), made(source_table=table), made()
    client = browser(factories.person_with("viewer"))
    address = f"/streams/?table={table.pk}"
    assert f'href="{address}"' in client.get(f"/tables/{table.pk}/").content.decode()
    page = client.get(address)
    assert [row.name for row in page.context["rows"]] == [into.name, out_of.name]
    assert "<title>Streams of sales" in page.content.decode()
    assert f'href="{address}" aria-current="page"' in page.content.decode()  # a tab of the table, whose header is there
    assert f"?state=running&amp;table={table.pk}" in page.content.decode()
    assert other.name in client.get("/streams/?table=nonsense").content.decode()
    elsewhere = browser(factories.person_with("viewer", root=factories.RootFactory()))
    hidden = elsewhere.get(address).content.decode()
    assert "No such streams" in hidden
    assert "sales" not in hidden


def test_what_is_no_delta_table_has_no_streams():
    table = factories.TableFactory(format=Table.Format.PARQUET)
    page = browser(factories.person_with("viewer")).get(f"/tables/{table.pk}/").content.decode()
    assert f"/jobs/?table={table.pk}" in page
    assert "/streams/?table=" not in page


# --- lines that are left out, targets that aren't there yet, changes, streams never started ---------------------------


def dropping(mode: str = "DROPMALFORMED", *, steps: Steps | None = None, **options: str) -> Stream:
    """A stream that leaves damaged lines out."""
    source = FileSource("/lake/landing/x", "json", SCHEMA, {"mode": mode, **options})
    stream = made(state="running")
    definition = Definition(source, "/t", "/c", steps=steps or Steps()).as_json()
    Stream.objects.filter(pk=stream.pk).update(definition=definition)
    return Stream.objects.get(pk=stream.pk)


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "dropmalformed"])
def test_lines_that_are_left_out_are_counted_by_batch_and_of_the_last_ones_together(viewer, mode):
    stream = dropping(mode)
    batch(stream, 1, damaged_lines=1_200)
    batch(stream, 2, damaged_lines=0)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "Rows in Damaged lines left out Rows out" in text
    assert "1,001 1,200 901" in text
    assert "1,002 0 902" in text
    assert "The last 2 micro-batches left out 1,200 damaged lines." in text
    assert "Rows in include the damaged lines where these were counted" in text
    assert "are left out, and each batch counts them" in text
    assert "_corrupt_record STRING" in text


def test_of_a_batch_that_did_not_count_the_damaged_lines_are_unknown_and_not_none(viewer):
    stream = dropping()
    batch(stream, 1)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "1,001 unknown 901" in text
    assert "left out no damaged lines" not in text
    batch(stream, 2, damaged_lines=0)
    batch(stream, 3, skipped=True, rows_out=None)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "The last 3 micro-batches left out no damaged lines (1 of them didn’t count)." in text
    batch(stream, 4, damaged_lines=1)
    assert "left out at least 1 damaged line (1 of them didn’t count)." in text_of(viewer.get(f"/streams/{stream.pk}/"))


@pytest.mark.parametrize(
    ("steps", "options", "why"),
    [
        (Steps(count_as="n"), {}, "The stream writes no column of the lines"),
        (Steps(), {"multiLine": "true"}, "With multiLine, Spark reads each file as one value"),
    ],
)
def test_where_they_are_not_counted_the_page_says_why(viewer, steps, options, why):
    stream = dropping(steps=steps, **options)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert f"are left out and not counted. {why}" in text
    assert "each batch counts them" not in text


def test_a_round_says_how_many_lines_its_batches_left_out(viewer):
    stream = dropping()
    result = {"version": 9, "operation": "STREAMING UPDATE", "details": {}}
    ended: dict[str, Any] = {"booked": True, "finished_at": timezone.now(), "version": 9, "result": result}
    first, second, third = (opened(stream, "succeeded", number=number, **ended) for number in (1, 2, 3))
    batch(stream, 1, damaged_lines=2, job=first.job)
    batch(stream, 2, damaged_lines=3, job=first.job)
    batch(stream, 3, damaged_lines=4, job=second.job)
    batch(stream, 4, job=second.job)
    batch(stream, 5, job=third.job)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "round 1 , version 9, now , 5 damaged lines left out" in text
    assert "round 2 , version 9, now , at least 4 damaged lines left out" in text
    assert "round 3 , version 9, now Succeeded" in text


def test_a_batch_of_damaged_lines_alone_is_a_warning_until_another_comes(viewer):
    stream = dropping()
    batch(stream, 7, input_rows=40, damaged_lines=40, rows_out=0)
    batch(stream, 8, skipped=True, rows_out=None)
    for address in (f"/streams/{stream.pk}/", f"/streams/{stream.pk}/live/"):
        assert "Every line of batch 7 was damaged (40), so it wrote none of them." in text_of(viewer.get(address))
    batch(stream, 9, input_rows=40, damaged_lines=39)
    assert "Every line of batch" not in text_of(viewer.get(f"/streams/{stream.pk}/"))


@pytest.mark.parametrize("told", [{"input_rows": 0, "damaged_lines": 0}, {"damaged_lines": None}])
def test_a_batch_without_lines_is_no_warning(viewer, told):
    stream = dropping()
    batch(stream, 1, **told)
    assert "Every line of batch" not in text_of(viewer.get(f"/streams/{stream.pk}/"))


def test_what_a_stream_left_out_stays_on_its_page_once_it_leaves_out_no_more(viewer):
    stream = made()
    batch(stream, 1, input_rows=7, damaged_lines=7)
    text = text_of(viewer.get(f"/streams/{stream.pk}/"))
    assert "Damaged lines left out" in text
    assert "Every line of batch" not in text  # the next round fails on such a line


def test_a_stream_without_a_watermark_leaves_out_no_late_row_and_says_so(viewer):
    assert "Late rows none is left out: the stream has no watermark" in text_of(viewer.get(f"/streams/{made().pk}/"))


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST"])
def test_other_modes_lose_none(viewer, mode):
    stream = made()
    source = stream.definition["source"] | {"options": {"mode": mode}}
    Stream.objects.filter(pk=stream.pk).update(definition=stream.definition | {"source": source})
    batch(stream, 1)
    assert "amaged lines left out" not in text_of(viewer.get(f"/streams/{stream.pk}/"))


def test_a_target_that_is_not_there_yet_is_no_parquet_directory(operator, clicks):
    for page in (operator.get("/tables/?q=clicks"), operator.get(f"/tables/{clicks.table_id}/")):
        text = text_of(page)
        assert "o table there yet" in text
        assert "arquet" not in text.partition("Format")[0].replace("neither a Delta log nor a parquet file", "")
        assert "/convert/" not in page.content.decode().partition("<main")[2]


def test_an_edit_begins_with_the_reason_and_keeps_the_new_one(operator, clicks):
    page = operator.get(f"/streams/{clicks.pk}/edit/").content.decode()
    assert "clicks of the shop</textarea>" in page
    form = values_of(clicks.asked) | {"name": "clicks", "reason": "faster, for the campaign", "interval": "20"}
    sent = {name: "\n".join(value) if isinstance(value, list) else value or "" for name, value in form.items()}
    sent |= dict.fromkeys(("rename", "cast", "source_options", "other_options"), "")
    answer = operator.post(
        f"/streams/{clicks.pk}/edit/", {n: v for n, v in sent.items() if v is not False}, follow=True
    )
    text = text_of(answer)
    assert "clicks is changed. It doesn’t run now: start it, or run it once." in text
    clicks.refresh_from_db()
    assert (clicks.reason, clicks.interval_seconds) == ("faster, for the campaign", 20)
    assert "faster, for the campaign" in text


def test_a_running_stream_takes_its_change_with_the_next_round(operator, actor, clicks):
    runs.start(actor, clicks)
    acts.change(actor, clicks, {"reason": "another one"})
    clicks.refresh_from_db()
    assert clicks.reason == "another one"
    assert changed_text(clicks).endswith("holds from its next round on.")


def test_a_stream_that_was_never_started_has_been_stopped_for_no_time(viewer):
    stream = made(state_at=timezone.now() - timedelta(minutes=10))
    for page in (f"/streams/{stream.pk}/", "/streams/", "/"):
        text = text_of(viewer.get(page))
        assert "Never started" in text, page
        assert "for 10 min" not in text
    Stream.objects.filter(pk=stream.pk).update(rounds=1)
    assert "for 10 min" in text_of(viewer.get(f"/streams/{stream.pk}/"))

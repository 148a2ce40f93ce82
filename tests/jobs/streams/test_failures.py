"""What a stream says of a round that failed: what to do in terms of streams, and what its first batch would be refused for by now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.domain.errors import EngineFailure
from jobs.domain.storage_causes import NO_SPACE
from jobs.lifecycle import endings
from jobs.models import Stream
from jobs.streams import acts, booking, runs
from jobs.streams.failures import FILE, FINE, LINE, SCHEMA, START, TOO_LONG, what_to_do
from tables.models import Table
from tests.jobs import small_delta
from tests.jobs.streams.small_stream import SmallStream, book_ended, fresh, run_round

ROUNDS = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
MISMATCH = "DELTA_METADATA_MISMATCH"


@pytest.fixture
def into_sales(actor, asked, sales) -> Stream:
    return acts.create(actor, "sales-ingest", "sales", {**asked, "target": {"table": str(sales.pk)}})


def rename_column(table: Table) -> None:
    """Somebody else's change of the target: its column `id` has another name."""
    text = json.dumps(small_delta.SCHEMA).replace('"id"', '"number"')
    small_delta.reshape(Path(table.path), json.loads(text))


def failed_round(actor: Any, stream: Stream, condition: str) -> Any:
    runs.start(actor, stream)
    run_round(SmallStream(fails=condition))
    booking.look_ahead(booking.ended())
    assert book_ended() == 1
    return fresh(stream)


class TestRounds:
    pytestmark = ROUNDS

    def test_a_schema_that_no_longer_fits_is_explained_by_a_new_prediction(self, actor, into_sales):
        assert into_sales.prediction["refusals"] == []
        runs.start(actor, into_sales)
        run_round(SmallStream(fails=MISMATCH))
        rename_column(into_sales.table)
        assert book_ended() == 1
        now = fresh(into_sales)
        assert (now.state, now.prediction["outcome"]) == ("failed", "refused")
        first = next(refusal for refusal in now.prediction["refusals"] if refusal["code"] == MISMATCH)
        assert now.error["what_to_do"] == f"{first['remedy']} Then start the stream again."
        assert now.error["engine"]["condition"] == MISMATCH
        assert now.round_set.get().job.error == now.error

    def test_a_failure_that_no_prediction_explains_has_a_streams_remedy(self, actor, into_sales):
        now = failed_round(actor, into_sales, "SOME_OTHER_ERROR")
        assert now.prediction["outcome"] == "appends"
        assert now.error["what_to_do"] == START
        assert now.error["table_state"] == "Nothing was committed."
        job = now.round_set.get().job
        assert (job.state, job.error) == ("failed", now.error)  # its own page has the same remedy

    def test_a_table_that_cant_be_read_leaves_the_failure_as_it_is(self, actor, into_sales):
        runs.start(actor, into_sales)
        run_round(SmallStream(fails=MISMATCH))
        (Path(into_sales.table.path) / "_delta_log" / f"{1:020}.json").write_text("{half")
        assert book_ended() == 1
        assert fresh(into_sales).error["what_to_do"] == START

    def test_a_definition_that_was_changed_meanwhile_explains_nothing(self, actor, into_sales):
        runs.start(actor, into_sales)
        run_round(SmallStream(fails=MISMATCH))
        rename_column(into_sales.table)
        Stream.objects.filter(pk=into_sales.pk).update(definition_sha256="another")
        assert book_ended() == 1
        assert fresh(into_sales).error["what_to_do"] == START


def engine_error(condition: str, message: str = "It broke.", *, retryable: bool = False) -> dict[str, Any]:
    return endings.engine_failed(EngineFailure(condition, None, message, retryable=retryable), endings.NOTHING)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (engine_error("MALFORMED_CSV_RECORD"), LINE),
        (engine_error("FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER"), FILE),
        (engine_error("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"), SCHEMA),
        (engine_error("DELTA_SCHEMA_CHANGED_WITH_VERSION"), SCHEMA),
        (engine_error("DELTA_CONCURRENT_APPEND", retryable=True), FINE),
        (
            engine_error("X", f"{NO_SPACE.words}. Spark reports: y"),
            NO_SPACE.remedy.replace("request it", "start the stream"),
        ),
        (endings.limit_reached("a run", 60), TOO_LONG),
        (endings.ATTEMPTS_EXHAUSTED, "Check the workers' logs for the cause, then start the stream again."),
        ({"code": "no_such_column", "what_to_do": "Request it again."}, "Start the stream again."),
        ({"code": "target_changed", "what_to_do": "Reset the checkpoint."}, "Reset the checkpoint."),
        ({"code": "stale", "message": "unknown"}, START),
    ],
)
def test_a_remedy_is_about_the_stream(error, remedy):
    assert what_to_do(error) == remedy
    assert "request" not in remedy.lower()

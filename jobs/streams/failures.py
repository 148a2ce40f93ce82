"""What a stream says of a round that failed: what to do about it, and what its first batch would be refused for by now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from console.base.logs import log
from jobs.commands.stream_round.rules import Definition
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.states import State
from jobs.domain.storage_causes import cause_led_by
from jobs.models import Job, Stream, StreamRound
from jobs.streams.lag import LOOKS
from jobs.streams.looks import NoAnswer, NoPlace
from jobs.streams.prediction.first_batch import predict
from jobs.streams.prediction.values import StreamPrediction
from jobs.streams.sources import stored_struct
from jobs.streams.targets import target_of, target_subject

AGAIN = "start the stream again"
START = "Fix the problem above, then start the stream again."
FINE = "The definition is fine: start the stream again. It goes on after its last batch."
TOO_LONG = (
    "Start the stream again: it goes on after its last batch. If it reaches the limit again, ask an administrator to raise it, or"
    " set maxFilesPerTrigger, so that less is lost of what a round has done."
)
# What the batch was planned with stays in the checkpoint: a file that is simply removed fails the next round.
FILE = "Replace it with a valid file of the same name, then start the stream again."
LINE = (
    "Mend the line, or put another file in its place under the same name (an empty one will do), then start the stream again."
    " Or name in the source’s options what a damaged line does: mode=PERMISSIVE (a row of NULLs, or its"
    " text in a column _corrupt_record STRING of the schema) or mode=DROPMALFORMED (left out, and counted)."
)
SCHEMA = (
    "Columns of the source were renamed, dropped or given another type, and a stream can’t read across that: Levee’s streams don’t set"
    " Delta’s schemaTrackingLocation. Reset the stream, and set the source’s starting version to the change’s before you start it again;"
    " without a starting version its next round loads the table from its start."
)
_SCHEMAS = ("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE", "DELTA_SCHEMA_CHANGED")
_LINES = ("MALFORMED_RECORD", "MALFORMED_CSV_RECORD", "CANNOT_PARSE_JSON_FIELD")
_FILES = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER")


def begin(rounds: Iterable[int]) -> None:
    """Begins to predict again for those of the rounds that failed, all at once, as `predicted` then answers one by one."""
    for round_ in _failed(rounds):
        LOOKS.begin(_key(round_.stream), partial(_predict, round_.stream))


def predicted(pk: int) -> StreamPrediction | None:
    """What the first batch of a failed round's stream would do now; None if it can't be known, or explains nothing."""
    for round_ in _failed([pk]):
        try:
            prediction: StreamPrediction = LOOKS.answer(_key(round_.stream), partial(_predict, round_.stream))
        except (NoAnswer, NoPlace, CommandRefused, ObjectDoesNotExist, ValueError, OSError) as error:
            log.warning("prediction_unknown", stream=str(round_.stream_id), error=type(error).__name__)
            return None
        return prediction if prediction.refusals else None
    return None


def _failed(rounds: Iterable[int]) -> Iterable[StreamRound]:
    """Rounds that Spark or Delta failed, of definitions that the streams still have."""
    found = StreamRound.objects.filter(pk__in=list(rounds), booked_at=None, reset=False, job__state=State.FAILED)
    found = found.filter(job__error__code="engine_failed").select_related("job", "stream", "stream__table")
    return [round_ for round_ in found if _is_of_now(round_.stream, round_.job)]


def _is_of_now(stream: Stream, job: Job) -> bool:
    return (job.preview or {}).get("definition_sha256") == stream.definition_sha256


def _key(stream: Stream) -> tuple[str, Any]:
    return ("prediction", stream.pk)


def _predict(stream: Stream) -> StreamPrediction:
    definition = Definition.from_json(stream.definition)
    return predict(definition, stored_struct(definition.source), target_of(target_subject(stream.table)))


def explained(
    stream: Stream, job: Job, error: Mapping[str, Any], prediction: StreamPrediction | None
) -> dict[str, Any]:
    """The fields of a stream whose round failed: its error with a stream's remedy, and the prediction if it explains the failure."""
    if prediction is not None and _is_of_now(stream, job):
        remedy = _remedy_of(prediction, error)
        return {"error": {**error, "what_to_do": remedy}, "prediction": prediction.as_json()}
    return {"error": {**error, "what_to_do": what_to_do(error)}}


def _remedy_of(prediction: StreamPrediction, error: Mapping[str, Any]) -> str:
    refusal = next((refusal for refusal in prediction.refusals if _names(error, refusal)), prediction.refusals[0])
    return f"{refusal.remedy} Then start the stream again." if refusal.remedy else START


def _names(error: Mapping[str, Any], refusal: Refusal) -> bool:
    """Whether the engine's error is the predicted one. Spark puts STREAM_FAILED around what fails in a query."""
    engine = error.get("engine") or {}
    return engine.get("condition") == refusal.code or f"[{refusal.code}" in str(engine.get("message"))


def what_to_do(error: Mapping[str, Any]) -> str:
    """The remedy of a job's error in terms of its stream: a round isn't requested."""
    engine = error.get("engine") or {}
    if error.get("code") == "time_limit":
        return TOO_LONG
    if error.get("code") != "engine_failed":
        text = str(error.get("what_to_do") or START)
        return text.replace("request it again", AGAIN).replace("Request it again", AGAIN.capitalize())
    if engine.get("retryable"):
        return FINE
    if (cause := cause_led_by(str(engine.get("message")))) is not None:
        return cause.remedy.replace("request it again", AGAIN)
    condition = str(engine.get("condition"))
    if condition.startswith(_LINES):
        return LINE
    if condition.startswith(_SCHEMAS):
        return SCHEMA
    return FILE if condition.startswith(_FILES) else START

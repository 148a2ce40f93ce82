"""Refusals of a stream’s request."""

from __future__ import annotations

from django.db import IntegrityError

from console.base.errors import Problem
from jobs.streams.prediction.values import Prediction

CHECKPOINT_OLDER = "checkpoint_older"  # the error of a stream whose checkpoint came from a backup older than its table


def invalid(field: str, text: str, code: str = "invalid") -> Problem:
    """A refusal of one field of the request."""
    return Problem(400, code, text, fields={field: text})


def refuse_predicted(prediction: Prediction) -> None:
    """Raises Problem 422 `schema_refused` with what the first batch would be refused for."""
    refusals = prediction.refusals
    if not refusals:
        return
    first = refusals[0]
    message = f"{first.message} {first.remedy or ''}".strip()
    is_engines = first.code.isupper()  # Delta's and Spark's conditions are; Levee's codes aren't
    engine = {"condition": first.code, "sqlstate": None, "message": first.message} if is_engines else None
    raise Problem(422, "schema_refused", f"The first batch would be refused: {message}", engine=engine)


def taken(error: IntegrityError, name: str) -> Exception:
    """What the database refused, as a Problem 409 `name_taken` or `foreign_checkpoint`; any other error as it is."""
    if "stream_name_once" in str(error):
        text = f"A stream is called {name} already. Nothing was created."
        return Problem(409, "name_taken", text, fields={"name": text})
    if "jobs_stream_checkpoint" in str(error):
        text = "Another stream has this checkpoint. A checkpoint belongs to one query."
        return Problem(409, "foreign_checkpoint", text, fields={"checkpoint": text})
    return error

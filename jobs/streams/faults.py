"""Refusals of a stream’s request, the first one or all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.db import IntegrityError
from django.http import Http404

from console.base.errors import Problem, broken
from jobs.domain.errors import CommandRefused
from jobs.streams.prediction.values import StreamPrediction
from jobs.targets.problems import problem_of_refused

T = TypeVar("T")

CHECKPOINT_OLDER = "checkpoint_older"  # the error of a stream whose checkpoint came from a backup older than its table


def invalid(field: str, text: str, code: str = "invalid") -> Problem:
    """A refusal of one field of the request."""
    return Problem(400, code, text, fields={field: text})


@dataclass(frozen=True, slots=True)
class StreamFault:
    """One refusal, and the part of the request that it is about where it names none itself."""

    error: Problem | Http404
    part: str

    @property
    def fields(self) -> dict[str, str]:
        """The parts of the request, each with what is wrong with it."""
        if isinstance(self.error, Http404):
            return {self.part: "This table isn’t in the catalog, or you don’t have access."}
        fields = dict(self.error.fields or {self.part: self.error.detail})
        if self.part == "source.options" and "options" in fields:  # a request has options of its own, too
            fields[self.part] = fields.pop("options")
        return fields


class Faults:
    """The refusals of a request, gathered part by part, so that whoever asks hears of all at once."""

    def __init__(self) -> None:
        self.found: list[StreamFault] = []

    def of(self, part: str, act: Callable[[], T]) -> T | None:
        """What the act returns; None if it is refused, which is kept with the part that it is about."""
        try:
            return act()
        except CommandRefused as refused:
            self.found.append(StreamFault(problem_of(refused), part))
        except (Problem, Http404) as error:
            self.found.append(StreamFault(error, part))
        return None

    def raise_first(self) -> None:
        """Raises the first refusal, if there is one. A refusal of a field brings along what is wrong with the other fields."""
        if not self.found:
            return
        first = self.found[0].error
        if isinstance(first, Problem) and first.fields:
            others = [fault.error.fields or {} for fault in self.found if isinstance(fault.error, Problem)]
            first.fields = {name: text for fields in reversed(others) for name, text in fields.items()}
        raise first

    def raise_all(self) -> None:
        """The same with every refusal at the part that it is about, for whoever shows them part by part."""
        if not self.found:
            return
        fields = {name: text for fault in reversed(self.found) for name, text in fault.fields.items()}
        first = self.found[0].error
        if isinstance(first, Http404):
            raise Problem(404, "not_found", self.found[0].fields[self.found[0].part], fields=fields)
        first.fields = fields
        raise first


def problem_of(refused: CommandRefused) -> Problem:
    """A refused schema, step or filter at its field; any other refusal of a command as everywhere."""
    first = refused.refusals[0]
    problem = problem_of_refused(refused)
    if first.code in {"schema_refused", "step_refused", "predicate_refused"}:
        problem.status = 400
        problem.fields = {"filter" if first.code == "predicate_refused" else first.place or "filter": problem.detail}
    return problem


def refuse_predicted(prediction: StreamPrediction) -> None:
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
    if broken(error) == "stream_name_once":
        text = f"A stream is called {name} already. Nothing was created."
        return Problem(409, "name_taken", text, fields={"name": text})
    if broken(error).startswith("jobs_stream_checkpoint"):
        text = "Another stream has this checkpoint. A checkpoint belongs to one query."
        return Problem(409, "foreign_checkpoint", text, fields={"checkpoint": text})
    return error

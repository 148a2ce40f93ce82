"""What a command can't do on a table with a feature is refused at its request, with Delta's condition, before anybody reviews it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.registry import ROWS
from jobs.domain.delta.feature_support import EVERYWHERE, Refused, refusals_of
from jobs.domain.delta.protocols import FEATURES
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.targets.metadata import UNSUPPORTED_TYPE
from jobs.targets.writable import subject_to_change
from tests import factories
from tests.clients import caller
from tests.jobs.commands.feature_cases import CASES, IDENTITY, SIMPLE, Case
from tests.jobs.streams.prediction.test_prediction import CHANGE_FEED, COUNT, MAPPED, MERGE, refused, target

KINDS = sorted(kind for kind, row in ROWS.items() if row.value.__module__.startswith("jobs."))


@pytest.fixture
def lake(db: None, tmp_path: Path) -> Any:
    return factories.RootFactory(name="lake", uri=str(tmp_path))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_refused_at_the_request_with_deltas_condition(lake: Any, case: Case) -> None:
    table = case.table(lake)
    asked = dict(case.asked) | ({"target": f"{lake.uri}/copy"} if "target" in case.asked else {})
    answer = caller("operator").post("/jobs", {"command": case.command, "table": str(table.pk), "reason": "r", **asked})
    assert answer.status_code in (400, 422), answer.json()
    assert (answer.json().get("engine") or {}).get("condition") == case.condition, answer.json()
    assert answer.json()["detail"]
    assert not Job.objects.exists()


def test_every_refusal_of_a_request_has_such_a_case() -> None:
    held = Counter((case.command, case.feature, case.condition) for case in CASES)
    told = Counter(
        (kind, name, cell.condition) for kind in SIMPLE for name, cells in row(kind).items() for cell in cells
    )
    assert held == told


def refused_with(number: int, kind: str) -> list[str]:
    """The refusals of a batch that adds a column of this type to a table that keeps Iceberg's rules."""
    table = target("a int", configuration={**MAPPED, f"delta.enableIcebergCompatV{number}": "true"})
    found: list[str] = refused(f"a int, z {kind}", table, options=MERGE)
    return found


STREAMED: dict[tuple[str, str], Callable[[], list[str]]] = {
    ("appendOnly", "DELTA_CANNOT_MODIFY_APPEND_ONLY"): lambda: refused(
        "a int", target("a int, count bigint", configuration={"delta.appendOnly": "true"}), mode="complete", steps=COUNT
    ),
    ("identityColumns", "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"): lambda: refused(
        "a int, i bigint", target("a int, i bigint", i=IDENTITY["metadata"])
    ),
    **{
        (f"icebergCompatV{number}", UNSUPPORTED_TYPE): partial(refused_with, number, kind)
        for number, kind in ((1, "array<int>"), (2, 'map<int, array<date>> / "variant"'))
    },
    ("changeDataFeed", "RESERVED_CDC_COLUMNS_ON_WRITE"): lambda: refused(
        "a int, _change_type string", target("a int", configuration=CHANGE_FEED), options=MERGE
    ),
}


@pytest.mark.parametrize("cell", STREAMED, ids=str)
def test_a_streams_batch_is_refused_when_it_is_defined(cell: tuple[str, str]) -> None:
    assert STREAMED[cell]() == [cell[1]]


def test_every_refusal_of_a_batch_has_such_a_case() -> None:
    told = {(name, cell.condition) for name, cells in row("stream_round").items() for cell in cells}
    told -= {(name, cell.condition) for name, cells in EVERYWHERE.items() for cell in cells}
    assert set(STREAMED) == told


@pytest.mark.parametrize("feature", EVERYWHERE)
def test_nothing_that_writes_to_a_table_gets_past_what_levee_does_not_read(lake: Any, feature: str) -> None:
    table = Case("any", feature, None, {}).table(lake)
    with pytest.raises(CommandRefused):
        subject_to_change(table.pk)


def row(kind: str) -> dict[str, tuple[Refused, ...]]:
    return refusals_of(ROWS[kind].refuses or {})


def test_every_command_on_a_table_has_its_row_and_its_cases() -> None:
    assert {kind for kind in KINDS if ROWS[kind].refuses is None} == {"convert"}
    assert set(SIMPLE) == set(KINDS) - {"convert", "stream_round"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_a_cell_for_each_feature_of_delta(kind: str) -> None:
    found = row(kind)
    assert set(found) == set(FEATURES)
    assert all(isinstance(cell, Refused) and cell.when for cells in found.values() for cell in cells)


def test_a_feature_that_delta_does_not_know_is_no_cell() -> None:
    with pytest.raises(KeyError, match="somethingNew"):
        refusals_of({"somethingNew": (Refused(None, "always"),)})

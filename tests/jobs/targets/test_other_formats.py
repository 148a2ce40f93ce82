"""A change of a table that is also read as Iceberg or Hudi says beforehand that those readers won't see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.restore.log import from_log as restored
from jobs.domain.delta.readers import still_unseen, unseen_by, unseen_files_go
from jobs.targets.subject import subject_of
from tables.deltalog.rules.other_formats import ENABLED, other_formats
from tables.models import Table
from tests import factories
from tests.clients import caller
from tests.jobs import small_delta
from tests.jobs.targets.test_writable import CHANGES

ROWS: list[small_delta.Row] = [{"id": 1, "p": "DE"}, {"id": 2, "p": "FR"}]
ASKED = {name: asked for name, asked in CHANGES.items() if name not in ("restore", "drop_feature")}


def table_of(root: Any, properties: dict[str, str]) -> Table:
    """Two versions of a table whose log another engine wrote."""
    place = Path(root.uri) / "sales"
    small_delta.create(place, ROWS, properties, writer=3)
    small_delta.append(place, [{"id": 3, "p": "FR"}])
    return factories.TableFactory(root=root, path=str(place), name="sales")


@pytest.fixture
def lake(db: None, tmp_path: Path) -> Any:
    return factories.RootFactory(name="lake", uri=str(tmp_path))


def unseen(preview: dict[str, Any]) -> list[str]:
    return [each["text"] for each in preview["consequences"] if each["code"] == "unseen"]


@pytest.mark.parametrize("command", [*ASKED, "drop_feature"])
def test_its_preview_says_so(lake: Any, command: str) -> None:
    table = table_of(lake, {ENABLED: "iceberg"})
    more = ASKED.get(command, {"feature": "checkConstraints"})
    answer = caller("operator").post("/jobs", {"command": command, "table": str(table.pk), "reason": "r", **more})
    assert answer.status_code == 201, answer.json()
    [text] = unseen(answer.json()["preview"])
    assert "Iceberg readers" in text


def test_a_restores_says_so(lake: Any) -> None:
    table = table_of(lake, {ENABLED: "hudi,iceberg"})
    [text] = unseen(restored(subject_of(table.pk), 0))
    assert "Iceberg and Hudi readers won’t see this change" in text


def test_another_tables_says_nothing(lake: Any) -> None:
    table = table_of(lake, {})
    answer = caller("operator").post("/jobs", {"command": "optimize", "table": str(table.pk), "reason": "r"})
    assert unseen(answer.json()["preview"]) == []


def test_switching_it_on_says_so_and_so_does_switching_it_off(lake: Any) -> None:
    table = table_of(lake, {ENABLED: "hudi"})
    asked = {"command": "set_properties", "table": str(table.pk), "reason": "r"}
    off = caller("operator").post("/jobs", {**asked, "set": {}, "unset": [ENABLED]}).json()["preview"]
    assert "Hudi readers" in unseen(off)[0]


@pytest.mark.parametrize(
    ("value", "formats"),
    [(None, ()), ("", ()), ("iceberg", ("Iceberg",)), (" hudi , iceberg", ("Iceberg", "Hudi")), ("icebergs", ())],
)
def test_the_formats_are_those_that_the_property_lists(value: str | None, formats: tuple[str, ...]) -> None:
    assert other_formats({ENABLED: value}) == formats


def test_without_one_there_is_nothing_to_say() -> None:
    assert (unseen_by(()), unseen_files_go(())) == ([], [])
    assert still_unseen(("Hudi",), 1234).startswith("Hudi readers don’t see version 1,234 yet")

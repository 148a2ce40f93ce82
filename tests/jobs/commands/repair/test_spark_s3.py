"""A repair of a table in an object store: a key that is gone is missing, and a store that refuses makes nothing missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.repair import log
from jobs.commands.repair.log import asked, with_look
from jobs.commands.repair.rules import Repair
from jobs.domain.engine import Checked
from jobs.domain.errors import CommandRefused
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tables.storage.objects import buckets as object_stores
from tests.jobs.engine.object_store import ObjectStore
from tests.jobs.engine.test_s3 import fresh, parquet

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
PLACE = "s3://lake/lost/orders of [2026]"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    made = ObjectStore()
    monkeypatch.setattr(object_stores, "_lookup", made.lookup)
    monkeypatch.setattr(log, "_read_by", lambda subject, values: dict(values))
    return made


def subject_at(folder: Path) -> Subject:
    snapshot = open_log(PLACE).snapshot(None, folder / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    return Subject(Table(path=PLACE, name="orders"), snapshot, snapshot.metadata, struct, schema_of(struct))


def test_a_key_that_is_gone_is_taken_out_and_a_store_that_is_away_proves_nothing(
    store: ObjectStore, engine: Any, report: Any, convert: Any, tmp_path: Path
) -> None:
    for p, ids in ((1, range(10)), (2, range(10, 20))):
        store.put(f"lost/orders of [2026]/p={p}/part-0.parquet", parquet(*ids))
    convert(PLACE, "p int")
    store.remove("lost/orders of [2026]/p=1/part-0.parquet")
    subject = subject_at(tmp_path)
    store.shut()
    try:
        with pytest.raises(CommandRefused, match="Storage doesn’t tell"):
            asked(subject)
    finally:
        store.open()
        object_stores.ask_again("s3://lake")
    preview = with_look(subject, asked(subject))
    assert (preview["files"], preview["rows"], preview["sample"]) == (1, 10, ["p=1/part-0.parquet"])
    result = engine.run(Repair("t", PLACE), preview, Checked(subject.version), fresh(), report)
    assert (result.operation, result.details["named"], result.details["rows"]) == ("FSCK", ["p=1/part-0.parquet"], 10)
    answer = engine.read("rows", {"path": PLACE, "limit": 100}, fresh(), report)
    assert sorted(row[0] for row in answer["rows"]) == list(range(10, 20))

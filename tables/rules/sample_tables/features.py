"""Small tables of the sample lake, each with one thing that a table can have: what it is called stands in its function's docstring."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tables.rules.sample_tables import deletion_vectors
from tables.rules.sample_tables.delta_writer import Action, DataFile, SampleTable, field_of, schema_text

Writer = Callable[[Path, datetime, Random], None]
DAY = timedelta(days=1)
# Nobody writes here after the first start: with Delta's seven days, a delete that a newcomer tries could not be undone.
KEPT = {"delta.logRetentionDuration": "interval 365 days", "delta.deletedFileRetentionDuration": "interval 365 days"}


def subscriptions(directory: Path, now: datetime, dice: Random) -> None:
    """Deletion vectors: rows that were cancelled are marked in place, more than a third of two files."""
    table = SampleTable(directory, dice)
    table.protocol = _features(["deletionVectors"], ["deletionVectors", "appendOnly", "invariants"])
    table.create(
        [field_of("subscription_id", pa.int64()), field_of("plan", pa.string()), field_of("since", pa.date32())],
        now - 20 * DAY,
        KEPT | {"delta.enableDeletionVectors": "true"},
    )
    for day in range(4):
        at = now - (18 - day) * DAY
        ids = list(range(day * 500, day * 500 + 500))
        plans = [dice.choice(("basic", "family", "student")) for _ in ids]
        rows = pa.table({"subscription_id": pa.array(ids, pa.int64()), "plan": plans, "since": [at.date()] * len(ids)})
        _append(table, rows, at)
    for number, path in enumerate(sorted(table.live)[:3]):
        _mark(table, path, sorted(dice.sample(range(500), 90 * (number + 1))), now - (9 - number) * DAY)


def _mark(table: SampleTable, path: str, rows: list[int], at: datetime) -> None:
    """A DELETE as Delta does it with deletion vectors: the same file, with a vector."""
    file = table.live[path]
    remove = table.remove_file(path, at)
    vector = deletion_vectors.write(table.directory, table.identity(), rows)
    stats = json.dumps(json.loads(file.add["stats"]) | {"tightBounds": False}, separators=(",", ":"))
    file = DataFile(file.add | {"deletionVector": vector, "stats": stats}, file.rows)
    table.live[path] = file
    metrics = {
        "numDeletedRows": len(rows),
        "numCopiedRows": 0,
        "numRemovedFiles": 0,
        "numAddedFiles": 0,
        "numDeletionVectorsAdded": 1,
        "numDeletionVectorsRemoved": 0,
        "numDeletionVectorsUpdated": 0,
    }
    predicate = {"predicate": json.dumps([f"(subscription_id#1L IN ({', '.join(map(str, rows[:3]))}, ...))"])}
    table.commit("DELETE", at, [remove, {"add": file.add}], predicate, metrics, "billing")


def invoices(directory: Path, now: datetime, dice: Random) -> None:
    """A change data feed: each correction is kept row by row, before and after."""
    table = SampleTable(directory, dice)
    table.protocol = {"minReaderVersion": 1, "minWriterVersion": 4}
    names = ("invoice_id", "customer_id", "amount", "state")
    kinds = (pa.int64(), pa.int64(), pa.float64(), pa.string())
    fields = [field_of(name, kind) for name, kind in zip(names, kinds, strict=True)]
    table.create(fields, now - 30 * DAY, KEPT | {"delta.enableChangeDataFeed": "true"})
    for day in range(6):
        ids = list(range(day * 200, day * 200 + 200))
        rows = pa.table({
            "invoice_id": pa.array(ids, pa.int64()),
            "customer_id": pa.array([dice.randint(1, 5_000) for _ in ids], pa.int64()),
            "amount": [round(dice.uniform(5, 900), 2) for _ in ids],
            "state": ["open"] * len(ids),
        })  # fmt: skip
        _append(table, rows, now - (29 - 4 * day) * DAY)
        _pay(table, sorted(table.live)[0], now - (27 - 4 * day) * DAY, dice)


def _pay(table: SampleTable, path: str, at: datetime, dice: Random) -> None:
    """An UPDATE with its file of changes."""
    rows = table.live[path].rows
    hit = pa.array([dice.random() < 0.3 for _ in range(rows.num_rows)])
    states = pc.if_else(hit, "paid", rows.column("state"))
    changed = rows.set_column(3, "state", states)
    before, after = rows.filter(hit), changed.filter(hit)
    feed = pa.concat_tables([
        before.append_column("_change_type", pa.array(["update_preimage"] * before.num_rows)),
        after.append_column("_change_type", pa.array(["update_postimage"] * after.num_rows)),
    ])  # fmt: skip
    actions = [table.remove_file(path, at), table.add_file(changed, at), table.change_file(feed, at)]
    metrics = {
        "numUpdatedRows": before.num_rows,
        "numCopiedRows": rows.num_rows - before.num_rows,
        "numRemovedFiles": 1,
        "numAddedFiles": 1,
        "numAddedChangeFiles": 1,
    }
    table.commit("UPDATE", at, actions, {"predicate": '["(state#3 = open)"]'}, metrics, "billing")


def contacts(directory: Path, now: datetime, dice: Random) -> None:
    """Column mapping by name: a column was renamed, and its files were not touched."""
    table = SampleTable(directory, dice)
    table.protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    physical = {name: f"col-{table.identity()}" for name in ("id", "mail", "city")}
    kinds = {"id": pa.int64(), "mail": pa.string(), "city": pa.string()}
    fields = [
        field_of(name, kinds[name], **_mapping(number + 1, physical[name])) for number, name in enumerate(physical)
    ]
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    table.create(fields, now - 25 * DAY, KEPT | mapping)
    schema = pa.schema([
        pa.field(physical[name], kinds[name], metadata={"PARQUET:field_id": str(number + 1)})
        for number, name in enumerate(physical)
    ])  # fmt: skip
    for part in range(3):
        ids = list(range(part * 300, part * 300 + 300))
        mails = [f"customer{number}@example.com" for number in ids]
        cities = [dice.choice(("Wien", "Berlin", "Paris", "Roma", "Kraków")) for _ in ids]
        _append(
            table,
            pa.table([pa.array(ids, pa.int64()), pa.array(mails), pa.array(cities)], schema),
            now - (24 - part) * DAY,
        )
    renamed = [{**field, "name": "email"} if field["name"] == "mail" else field for field in fields]
    action = table.change_metadata(schemaString=schema_text(renamed))
    parameters = {"oldColumnPath": "mail", "newColumnPath": "email"}
    table.commit("RENAME COLUMN", now - 12 * DAY, [action], parameters, {}, "maria")


def _mapping(number: int, name: str) -> dict[str, Any]:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}


def deliveries(directory: Path, now: datetime, dice: Random) -> None:
    """Partitions of very different size: one of eight depots has most of the rows."""
    table = SampleTable(directory, dice, ("depot",))
    table.create(
        [field_of("delivery_id", pa.int64()), field_of("weight_kg", pa.float64()), field_of("depot", pa.string())],
        now - 40 * DAY,
        KEPT,
    )
    number = 0
    for day in range(8):
        actions = []
        at = now - (38 - 4 * day) * DAY
        for depot in range(8):
            ids = list(range(number, number + (3_000 if depot == 3 else 40)))
            number += len(ids)
            weights = [round(dice.uniform(0.1, 30), 3) for _ in ids]
            rows = pa.table({"delivery_id": pa.array(ids, pa.int64()), "weight_kg": weights})
            actions.append(table.add_file(rows, at, {"depot": f"depot-{depot}"}))
        _commit_append(table, actions, at, "depot-sync")


def sensor_readings(directory: Path, now: datetime, dice: Random) -> None:
    """Small files: a job wrote one file per sensor and hour for two days."""
    table = SampleTable(directory, dice)
    table.create([field_of("sensor", pa.int32()), field_of("celsius", pa.float64())], now - 3 * DAY, KEPT)
    for hour in range(6):
        at = now - 2 * DAY + timedelta(hours=4 * hour)
        actions = []
        for sensor in range(25):
            values = [round(dice.gauss(20, 3), 2) for _ in range(12)]
            rows = pa.table({"sensor": pa.array([sensor] * 12, pa.int32()), "celsius": values})
            actions.append(table.add_file(rows, at))
        _commit_append(table, actions, at, "sensor-gateway")


def logins(directory: Path, now: datetime, dice: Random) -> None:
    """A cleaned log: the commits before version 30 are gone, as Delta's own clean-up leaves it."""
    table = SampleTable(directory, dice)
    properties = {"delta.logRetentionDuration": "interval 7 days"}
    table.create(
        [field_of("person", pa.string()), field_of("at", pa.timestamp("us", tz="UTC"))], now - 45 * DAY, properties
    )
    for day in range(40):
        at = now - (44 - day) * DAY
        moments = sorted(at - timedelta(seconds=dice.uniform(0, 86_000)) for _ in range(60))
        people = [f"person{dice.randint(1, 90)}" for _ in moments]
        _append(table, pa.table({"person": people, "at": pa.array(moments, pa.timestamp("us", tz="UTC"))}), at)
        if table.version == 30:
            table.checkpoint(at)
    for version in range(30):
        table.log_file(version, "json").unlink()


def stock_levels(directory: Path, now: datetime, dice: Random) -> None:
    """Broken without harm: `_last_checkpoint` is damaged and an unfinished commit lies about. Readers list the log instead."""
    table = SampleTable(directory, dice)
    table.create([field_of("sku", pa.string()), field_of("pieces", pa.int32())], now - 15 * DAY, KEPT)
    for day in range(12):
        skus = [f"SKU-{number:04}" for number in range(day * 30, day * 30 + 30)]
        pieces = pa.array([dice.randint(0, 400) for _ in skus], pa.int32())
        _append(table, pa.table({"sku": skus, "pieces": pieces}), now - (14 - day) * DAY)
    log = table.log_file(table.version, "json").parent
    (log / "_last_checkpoint").write_text('{"version":9,"si', encoding="utf-8")
    (log / f".{table.version + 1:020}.json.{table.identity()}.tmp").write_text(
        '{"commitInfo":{"timest', encoding="utf-8"
    )


def _append(table: SampleTable, rows: pa.Table, at: datetime) -> None:
    _commit_append(table, [table.add_file(rows, at)], at, "nightly-load")


def _commit_append(table: SampleTable, actions: list[Action], at: datetime, user: str) -> None:
    files = [action["add"] for action in actions]
    metrics = {
        "numFiles": len(files),
        "numOutputRows": sum(json.loads(file["stats"])["numRecords"] for file in files),
        "numOutputBytes": sum(file["size"] for file in files),
    }
    table.commit(
        "WRITE", at, actions, {"mode": "Append", "partitionBy": json.dumps(list(table.partitioned_by))}, metrics, user
    )


def _features(reader: list[str], writer: list[str]) -> Action:
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reader, "writerFeatures": writer}


TABLES: tuple[Writer, ...] = (
    subscriptions,
    invoices,
    contacts,
    deliveries,
    sensor_readings,
    logins,
    stock_levels,
)

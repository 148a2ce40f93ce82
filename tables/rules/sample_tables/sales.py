"""`sales`: a shop's table with 400 commits over the last 60 days, and everything in them that a history can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.vacuum import operations
from tables.rules.sample_tables.delta_writer import DataFile, SampleTable, field_of, schema_text

COMMITS = 400
DAYS = 60
COUNTRIES = ("AT", "DE", "FR", "IT", "PL")
SHARES = (2, 9, 4, 3, 2)  # most sales are made in DE
CHANNEL_FROM_DAY, WRONG_DELETE_DAY, VACUUM_DAYS = 21, 46, (30, 52)
RETENTION = timedelta(days=7)
PROPERTIES = {
    "delta.logRetentionDuration": "interval 180 days",
    "delta.deletedFileRetentionDuration": "interval 7 days",
}
_FIELDS = (
    field_of("sale_id", pa.int64()),
    field_of("sold_at", pa.timestamp("us", tz="UTC")),
    field_of("customer_id", pa.int64(), "empty once a customer asked to be forgotten"),
    field_of("product", pa.string()),
    field_of("quantity", pa.int32()),
    field_of("amount", pa.decimal128(12, 2)),
    field_of("country", pa.string()),
)
CHANNEL = field_of("channel", pa.string(), "web, app or shop; unknown before the column was added")
_ROWS = pa.schema([
    ("sale_id", pa.int64()), ("sold_at", pa.timestamp("us", tz="UTC")), ("customer_id", pa.int64()), ("product", pa.string()),
    ("quantity", pa.int32()), ("amount", pa.decimal128(12, 2)),
])  # fmt: skip


def write(directory: Path, now: datetime, dice: Random) -> SampleTable:
    """Writes the table; its newest commit is some minutes before `now`."""
    past = _Past(SampleTable(directory, dice, ("country",)), now - timedelta(days=DAYS, minutes=10), dice)
    past.table.create(_FIELDS, past.start, PROPERTIES)
    for act, at in past.plan():
        act(at)
        if past.table.version % 100 == 0:
            past.table.checkpoint(at)
    return past.table


@dataclass(slots=True)
class _Past:
    table: SampleTable
    start: datetime
    dice: Random
    number: int = 700_000
    has_channel: bool = False
    before_mistake: tuple[int, dict[str, DataFile]] = (0, {})

    def plan(self) -> Iterator[tuple[Callable[[datetime], None], datetime]]:
        """The acts of each day in their order, with their times; loads fill each day up."""
        left = COMMITS - 1 - sum(self._commits(act) for day in range(DAYS) for act in self._upkeep(day))
        for day in range(DAYS):
            loads = left // DAYS + (day < left % DAYS)
            acts = [*([self.load] * (loads - 1)), *self._upkeep(day), self.load]
            for number, act in enumerate(acts):
                minutes = (number + 0.2 + 0.6 * self.dice.random()) * 1440 / len(acts)
                is_last = (day, number) == (DAYS - 1, len(acts) - 1)
                yield act, self.start + (timedelta(days=DAYS) if is_last else timedelta(days=day, minutes=minutes))

    def _commits(self, act: Callable[[datetime], None]) -> int:
        return 2 if act == self.vacuum else 1

    def _upkeep(self, day: int) -> list[Callable[[datetime], None]]:
        acts: list[Callable[[datetime], None]] = []
        if day % 2 == 1:
            acts.append(self.correct)
        if day % 4 == 3:
            acts.append(self.forget_customer)
        if day == CHANNEL_FROM_DAY:
            acts.append(self.add_channel)
        if day == WRONG_DELETE_DAY:
            acts += [self.delete_a_country, self.restore]
        if day % 7 == 6:
            acts.append(self.optimize)
        if day in VACUUM_DAYS:
            acts.append(self.vacuum)
        return acts

    def load(self, at: datetime) -> None:
        """An hour's sales, mostly of one country."""
        countries = sorted(set(self.dice.choices(COUNTRIES, SHARES, k=2)))
        actions = [
            self.table.add_file(self._sales(self.dice.randint(15, 80), at), at, {"country": country})
            for country in countries
        ]
        files = [action["add"] for action in actions]
        metrics = {
            "numFiles": len(files),
            "numOutputRows": sum(json.loads(file["stats"])["numRecords"] for file in files),
            "numOutputBytes": sum(file["size"] for file in files),
        }
        self.table.commit(
            "WRITE", at, actions, {"mode": "Append", "partitionBy": '["country"]'}, metrics, "hourly-load"
        )

    def _sales(self, count: int, at: datetime) -> pa.Table:
        ids = range(self.number, self.number + count)
        self.number += count
        dice = self.dice
        moments = sorted(at - timedelta(seconds=dice.uniform(0, 3_600)) for _ in ids)
        columns = {
            "sale_id": list(ids),
            "sold_at": moments,
            "customer_id": [dice.randint(1, 5_000) for _ in ids],
            "product": [f"SKU-{dice.randint(0, 399):04}" for _ in ids],
            "quantity": [dice.randint(1, 5) for _ in ids],
            "amount": [Decimal(dice.randint(300, 40_000)) / 100 for _ in ids],
        }
        rows = pa.table(columns, _ROWS)
        if self.has_channel:
            rows = rows.append_column("channel", pa.array([dice.choice(("web", "web", "app", "shop")) for _ in ids]))
        return rows

    def correct(self, at: datetime) -> None:
        """UPDATE of a product's amounts in one file: a price that was wrong."""
        path = self._any_file()
        file = self.table.live[path]
        product = file.rows.column("product")[0].as_py()
        hit = pc.equal(file.rows.column("product"), product)
        lower = pc.multiply(file.rows.column("amount"), pa.scalar(Decimal("0.90")))
        amounts = pc.if_else(hit, pc.round(lower, 2).cast(pa.decimal128(12, 2), safe=False), file.rows.column("amount"))
        rows = file.rows.set_column(file.rows.schema.get_field_index("amount"), "amount", amounts)
        updated = pc.sum(hit).as_py()
        metrics = {"numUpdatedRows": updated, "numCopiedRows": rows.num_rows - updated}
        self._rewrite("UPDATE", at, {path: rows}, f"(product#1 = {product})", metrics, "pricing")

    def forget_customer(self, at: datetime) -> None:
        """DELETE of a customer who asked to be forgotten."""
        path = self._any_file()
        customer = self.table.live[path].rows.column("customer_id")[0].as_py()
        kept: dict[str, pa.Table | None] = {}
        deleted = copied = 0
        for name, file in self.table.live.items():
            hit = pc.equal(file.rows.column("customer_id"), customer)
            if count := pc.sum(hit).as_py():
                rows = file.rows.filter(pc.invert(hit))
                kept[name] = rows if rows.num_rows else None
                deleted, copied = deleted + count, copied + rows.num_rows
        metrics = {"numDeletedRows": deleted, "numCopiedRows": copied}
        self._rewrite("DELETE", at, kept, f"(customer_id#2L = {customer})", metrics, "privacy")

    def _rewrite(
        self,
        operation: str,
        at: datetime,
        files: dict[str, pa.Table | None],
        predicate: str,
        metrics: dict[str, int],
        user: str,
    ) -> None:
        actions, removed, added = [], 0, 0
        for path, rows in files.items():
            values = self.table.live[path].add["partitionValues"]
            actions.append(self.table.remove_file(path, at))
            removed += actions[-1]["remove"]["size"]
            if rows is not None:
                actions.append(self.table.add_file(rows, at, values))
                added += actions[-1]["add"]["size"]
        metrics = {
            "numRemovedFiles": len(files),
            "numRemovedBytes": removed,
            "numAddedFiles": sum("add" in action for action in actions),
            "numAddedBytes": added,
            "numAddedChangeFiles": 0,
            "executionTimeMs": self.dice.randint(900, 6_000),
        } | metrics
        self.table.commit(operation, at, actions, {"predicate": json.dumps([predicate])}, metrics, user)

    def _any_file(self) -> str:
        return self.dice.choice(sorted(self.table.live))

    def add_channel(self, at: datetime) -> None:
        self.has_channel = True
        action = self.table.change_metadata(schemaString=schema_text((*_FIELDS, CHANNEL)))
        self.table.commit("ADD COLUMNS", at, [action], {"columns": json.dumps([{"column": CHANNEL}])}, {}, "maria")

    def delete_a_country(self, at: datetime) -> None:
        """A DELETE that took more than was meant; `restore` undoes it."""
        self.before_mistake = (self.table.version, dict(self.table.live))
        doomed = [path for path, file in self.table.live.items() if file.add["partitionValues"]["country"] == "IT"]
        rows = sum(self.table.live[path].rows.num_rows for path in doomed)
        metrics = {"numDeletedRows": rows, "numCopiedRows": 0}
        self._rewrite("DELETE", at, dict.fromkeys(doomed), "(country#6 = IT)", metrics, "maria")

    def restore(self, at: datetime) -> None:
        version, files = self.before_mistake
        missing = {path: file for path, file in files.items() if path not in self.table.live}
        size = sum(file.add["size"] for file in missing.values())
        # They were written by an OPTIMIZE, perhaps; what a restore brings back is a change of the data all the same.
        missing = {path: DataFile(file.add | {"dataChange": True}, file.rows) for path, file in missing.items()}
        self.table.live |= missing
        metrics = {
            "numRestoredFiles": len(missing),
            "restoredFilesSize": size,
            "numRemovedFiles": 0,
            "removedFilesSize": 0,
            "numOfFilesAfterRestore": len(self.table.live),
            "tableSizeAfterRestore": sum(file.add["size"] for file in self.table.live.values()),
        }
        actions = [{"add": file.add} for file in missing.values()]
        self.table.commit("RESTORE", at, actions, {"version": str(version)}, metrics, "maria")

    def optimize(self, at: datetime) -> None:
        """The files of each country become one; no row changes."""
        actions = []
        removed = added = 0
        for country in COUNTRIES:
            paths = [
                path for path, file in self.table.live.items() if file.add["partitionValues"]["country"] == country
            ]
            if len(paths) < 2:
                continue
            rows = pa.concat_tables([self.table.live[path].rows for path in paths], promote_options="default")
            gone = [self.table.remove_file(path, at, data_change=False) for path in paths]
            new = self.table.add_file(rows, at, {"country": country})
            new["add"]["dataChange"] = False
            actions += [*gone, new]
            removed += sum(action["remove"]["size"] for action in gone)
            added += new["add"]["size"]
        metrics = {
            "numRemovedFiles": sum("remove" in action for action in actions),
            "numRemovedBytes": removed,
            "numAddedFiles": sum("add" in action for action in actions),
            "numAddedBytes": added,
        }
        parameters = {"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": "false"}
        self.table.commit("OPTIMIZE", at, actions, parameters, metrics, "nightly-upkeep")

    def vacuum(self, at: datetime) -> None:
        """Removes from the disk what was dropped a week before, as VACUUM does: two commits without an action of a file."""
        limit = (at - RETENTION).timestamp() * 1000
        doomed = [
            remove
            for path, remove in self.table.tombstones.items()
            if remove["deletionTimestamp"] < limit and path not in self.table.live
        ]
        for remove in doomed:
            (self.table.directory / remove["path"]).unlink(missing_ok=True)
            del self.table.tombstones[remove["path"]]
        hours = str(int(RETENTION.total_seconds() * 1000))
        parameters = {"retentionCheckEnabled": "true", "defaultRetentionMillis": hours}
        metrics = {"numFilesToDelete": len(doomed), "sizeOfDataToDelete": sum(remove["size"] for remove in doomed)}
        self.table.commit(operations.START, at, [], parameters, metrics, "nightly-upkeep")
        done = {"numDeletedFiles": len(doomed), "numVacuumedDirectories": len(COUNTRIES) + 1}
        self.table.commit(
            operations.END, at + timedelta(seconds=20), [], {"status": "COMPLETED"}, done, "nightly-upkeep"
        )

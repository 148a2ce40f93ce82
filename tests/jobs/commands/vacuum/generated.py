"""Tables for a vacuum, written by chance and by hand: a log, files of every kind and age, and what other programs left behind."""

from __future__ import annotations

import base64
import json
import os
import random
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import parquet

from tables.deltalog.read.vector_files import B85, Z85, vector_file
from tests.jobs.commands.vacuum.aged import DAY_MS, now_ms

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "_p", "type": "string", "nullable": True, "metadata": {}},
    ],
}
PLAIN = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
VALUES = ("1", "a b", "ä", "x%y")


@dataclass
class Table:
    """A table that grows by `commit`; `live` are its files, each with its deletion vector, if any; `named` how the log has their paths.

    `readable`: its files are parquet of one row, and none has a deletion vector; else they are ten bytes of anything.
    `movable`: all paths are relative, so that a copy of it is a table as well.
    """

    path: Path
    chance: random.Random
    readable: bool = False
    movable: bool = False
    live: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    version: int = 0
    rows: int = 0

    def commit(self, actions: list[dict[str, Any]], at: int) -> None:
        info = {"commitInfo": {"timestamp": at, "operation": "WRITE", "operationParameters": {}}}
        file = self.path / "_delta_log" / f"{self.version:020d}.json"
        file.write_text("\n".join(map(json.dumps, [info, *actions])))
        _age(file, at)
        self.version += 1

    def add(self, at: int) -> dict[str, Any]:
        value = self.chance.choice(VALUES)
        folder = f"_p={quote(value, safe=' ä')}"  # as Spark names a partition's directory
        name = f"{folder}/part-{uuid.UUID(int=self.chance.getrandbits(128))}.parquet"
        self.file(name, at)
        self.live[name] = None
        self.named[name] = quote(name, safe="/=-.")
        if not self.readable and self.chance.random() < 0.2 and not self.movable:  # as a shallow clone names its files
            self.named[name] = f"file://{self.path}/{self.named[name]}"
        return self._add(name, at)

    def bring_back(self, name: str, at: int) -> dict[str, Any]:
        """The same file again, as a restore adds it."""
        self.removed.remove(name)
        self.live[name] = None
        return self._add(name, at)

    def _add(self, name: str, at: int) -> dict[str, Any]:
        vector = {"deletionVector": self.live[name]} if self.live[name] else {}
        values = {"_p": "x"}
        action = {
            "path": self.named[name],
            "partitionValues": values,
            "modificationTime": at,
            "dataChange": True,
        }
        return {"add": action | vector | self._size(name)}

    def _size(self, name: str) -> dict[str, int]:
        return {"size": (self.path / name).stat().st_size}

    def remove(self, name: str, at: int) -> dict[str, Any]:
        vector = self.live.pop(name)
        self.removed.append(name)
        action = {"path": self.named[name], "deletionTimestamp": at, "dataChange": True} | self._size(name)
        return {"remove": action | ({"deletionVector": vector} if vector else {})}

    def hide_rows(self, name: str, at: int) -> list[dict[str, Any]]:
        """Another deletion vector for a file, in a file of its own."""
        removed = self.remove(name, at)
        self.removed.remove(name)
        prefix = self.chance.choice(["", "ab"])
        encoded = base64.b85encode(uuid.UUID(int=self.chance.getrandbits(128)).bytes).decode()
        stored = prefix + encoded.translate(str.maketrans(B85, Z85))
        self.live[name] = {
            "storageType": "u",
            "pathOrInlineDv": stored,
            "offset": 1,
            "sizeInBytes": 9,
            "cardinality": 1,
        }
        self.file(vector_file(stored), at)
        return [removed, self._add(name, at)]

    def file(self, name: str, at: int) -> None:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.readable:
            self.rows += 1
            parquet.write_table(pa.table({"id": pa.array([self.rows], pa.int64())}), place)
        else:
            place.write_text("0123456789")
        _age(place, at)


def _age(path: Path, at: int) -> None:
    os.utime(path, (at / 1000, at / 1000))


def generated(path: Path, seed: int, *, movable: bool = False) -> Table:
    """A table of some versions, the oldest up to 40 days old, with files that no commit names."""
    chance = random.Random(seed)
    (path / "_delta_log").mkdir(parents=True)
    table = Table(path, chance, movable=movable)
    ages = sorted((chance.uniform(0.1, 40) for _ in range(chance.randint(4, 8))), reverse=True)
    for place, days in enumerate(ages):
        at = now_ms() - int(days * DAY_MS)
        table.commit([*(_first(chance) if not place else []), *changes(table, at)], at)
    _leave_behind(table)
    return table


def history(path: Path, seed: int) -> Table:
    """A table whose versions can all be read: the oldest six days old, each without one of the files of the one before it."""
    chance = random.Random(seed)
    (path / "_delta_log").mkdir(parents=True)
    table = Table(path, chance, readable=True)
    ages = [6.0, 5.5, *sorted((chance.uniform(0.1, 5) for _ in range(chance.randint(2, 5))), reverse=True)]
    for days in ages:
        at = now_ms() - int(days * DAY_MS)
        first = [] if table.version else [PLAIN, metadata(chance, {})]
        gone = [table.remove(next(iter(table.live)), at)] if table.live else []
        table.commit([*first, *gone, *changes(table, at)], at)
    _leave_behind(table)
    return table


def _first(chance: random.Random) -> list[dict[str, Any]]:
    readers = ["deletionVectors", "v2Checkpoint"]
    features = {"readerFeatures": readers, "writerFeatures": [*readers, "changeDataFeed"]}
    configuration = {"delta.enableChangeDataFeed": "true"}
    if chance.random() < 0.5:  # then its checkpoints have sidecars
        configuration["delta.checkpointPolicy"] = "v2"
    if chance.random() < 0.4:
        configuration["delta.deletedFileRetentionDuration"] = chance.choice(["interval 1 day", "interval 20 days"])
    return [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}, metadata(chance, configuration)]


def metadata(chance: random.Random, configuration: dict[str, str]) -> dict[str, Any]:
    action = {
        "id": str(uuid.UUID(int=chance.getrandbits(128))), "format": {"provider": "parquet", "options": {}}, "createdTime": 0,
        "schemaString": json.dumps(SCHEMA), "partitionColumns": ["_p"], "configuration": configuration,
    }  # fmt: skip
    return {"metaData": action}


def changes(table: Table, at: int) -> list[dict[str, Any]]:
    chance, actions = table.chance, []
    removed = list(table.removed)
    for name in list(table.live):
        if chance.random() < 0.35:
            actions.append(table.remove(name, at))
            if not table.readable and chance.random() < 0.2:  # the protocol lets a writer leave it out
                del actions[-1]["remove"]["deletionTimestamp"]
        elif chance.random() < 0.35 and not table.readable:
            actions += table.hide_rows(name, at)
    if removed and not table.readable and chance.random() < 0.4:
        actions.append(table.bring_back(removed[0], at))
    actions += [table.add(at) for _ in range(chance.randint(1, 4))]
    if chance.random() < 0.5 and not table.readable:
        name = f"_change_data/cdc-{table.version}.parquet"
        table.file(name, at)
        actions.append({"cdc": {"path": name, "partitionValues": {}, "size": 10, "dataChange": False}})
    return actions


def _leave_behind(table: Table) -> None:
    """What writers that died and people leave in a directory."""
    chance, now = table.chance, now_ms()
    for number in range(6):
        folder = chance.choice(["", "_p=1/", "left/over/", "_tmp/", ".cache/", "_p=new/"])
        table.file(f"{folder}stray {number}.parquet", now - int(chance.uniform(0, 40) * DAY_MS))
    for folder in ("empty", "empty/inner", "_p=gone", "_hidden"):
        (table.path / folder).mkdir(parents=True, exist_ok=True)

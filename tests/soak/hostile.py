"""Reads hostile logs in a process of its own: `python -m tests.soak.hostile SEED KIND FIRST LAST` reads the cases FIRST to LAST - 1.

The number of each case is printed before it is read, so that whoever started the process knows which one ended it. A case ends it when
anything is raised that isn't a named refusal, when it takes more than SECONDS, or more memory than MEMORY.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.domain.errors import CommandRefused
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.prediction import see
from jobs.pruning.statistics import WantedColumn, bounds_of
from tables.deltalog.read.problems import Problems
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.rules.properties import settings
from tables.deltalog.rules.schema import SchemaError, parse_schema
from tables.deltalog.state.snapshot import Snapshot
from tests.soak.damage import Damage
from tests.tables.deltalog.writing import CHECKPOINT, LogWriter, add, info, metadata, remove, vector

SECONDS = 30
MEMORY = 256 << 20
PREDICATES = [
    "id = 5",
    "id > 3 AND day = 'x'",
    "day IS NULL OR id <> 7",
    "at > TIMESTAMP '2020-01-01 00:00:00' OR price < 2",
]
COLUMNS = {"id": "long", "day": "string", "at": "timestamp", "price": "decimal(10,2)", "x": "double", "born": "date"}
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in COLUMNS.items()],
    }
)
WANTED = [WantedColumn((name,), "bigint" if kind == "long" else kind) for name, kind in COLUMNS.items()]
LOW = {"id": 1, "at": "2020-01-01T00:00:00.000Z", "price": 1.5, "x": 0.5, "born": "2020-01-01"}
STATS = {"numRecords": 10, "minValues": LOW, "maxValues": {**LOW, "id": 9}, "nullCount": dict.fromkeys(LOW, 0)}
PROTOCOL = {
    "protocol": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors", "v2Checkpoint"],
        "writerFeatures": ["deletionVectors", "v2Checkpoint"],
    }
}


def file(number: int, **more: Any) -> dict[str, Any]:
    day = None if number % 5 == 0 else f"d{number % 3}"
    return add(f"part-{number}.parquet", partition={"day": day}, stats=json.dumps(STATS), **more)


ACTIONS = [
    PROTOCOL,
    metadata(schema=SCHEMA, partition=["day"], delta__enableDeletionVectors="true"),
    {"txn": {"appId": "app", "version": 3, "lastUpdated": 1_700_000_000_000}},
    {"domainMetadata": {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}},
    *[file(number) for number in range(12)],
    file(12, deletionVector=vector("ab^-aqEH.-t@S}K{vb[*k^", 4)),
    file(13, deletionVector={"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr9", "sizeInBytes": 40, "cardinality": 6}),
]  # fmt: skip
Files = dict[str, bytes]


def parquet(actions: list[dict[str, Any]], chance: random.Random, *, parsed: bool = False) -> bytes:
    """A checkpoint by one of the many ways to write parquet."""
    schema = _with_parsed(chance) if parsed else CHECKPOINT
    rows = [_row(action, parsed) for action in actions]
    sink = pa.BufferOutputStream()
    plain = chance.random() < 0.5
    pq.write_table(
        pa.Table.from_pylist(rows, schema),
        sink,
        row_group_size=chance.choice([3, 1000]),
        compression=chance.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        use_dictionary=plain,
        column_encoding=None if plain else chance.choice([None, {"add.path": "DELTA_BYTE_ARRAY", "add.size": "DELTA_BINARY_PACKED"}]),
        data_page_version=chance.choice(["1.0", "2.0"]),
        data_page_size=chance.choice([64, 1 << 20]),
        use_deprecated_int96_timestamps=parsed and chance.random() < 0.5,
        write_page_checksum=chance.random() < 0.2,
    )  # fmt: skip
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _with_parsed(chance: random.Random) -> pa.Schema:
    values = pa.struct(
        {
            "id": pa.int64(),
            "at": pa.timestamp(chance.choice(["us", "ms"]), "UTC"),
            "price": pa.decimal128(10, 2),
            "x": pa.float64(),
            "born": pa.date32(),
        }
    )
    parsed = pa.struct({"numRecords": pa.int64(), "minValues": values, "maxValues": values})
    fields = [field for field in CHECKPOINT.field("add").type if field.name != "stats"]
    return pa.schema({**{f.name: f.type for f in CHECKPOINT}, "add": pa.struct([*fields, ("stats_parsed", parsed)])})


def _row(action: dict[str, Any], parsed: bool) -> dict[str, Any]:
    row = {name: {**value} for name, value in action.items()}
    for value in row.values():
        for member in ("partitionValues", "configuration", "options"):
            if isinstance(value.get(member), dict):
                value[member] = list(value[member].items())
    if "format" in row.get("metaData", {}):
        row["metaData"]["format"] = {"provider": "parquet", "options": []}
    if parsed and row.get("add", {}).pop("stats", None):
        row["add"]["stats_parsed"] = {"numRecords": 10, "minValues": {"id": 1, "x": 0.5}, "maxValues": {"id": 9}}
    return row


def commit(*actions: dict[str, Any]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def name(version: int, ending: str = "json") -> str:
    return f"{version:020d}.{ending}"


def _commits(chance: random.Random) -> tuple[Files, str]:
    files = {
        name(0): commit(info("CREATE TABLE"), *ACTIONS),
        name(1): commit(info(operationMetrics={"numFiles": "1"}, inCommitTimestamp=5), file(20), remove("part-3.parquet")),
        name(2): commit(info("DELETE", operationParameters={"predicate": '["(id = 1)"]'}), remove("part-4.parquet")),
    }  # fmt: skip
    return files, chance.choice(sorted(files))


def _checkpoints(chance: random.Random) -> tuple[Files, str]:
    top = name(1, "checkpoint.parquet")
    return {top: parquet(ACTIONS, chance), name(2): commit(info(), file(20))}, top


def _parsed(chance: random.Random) -> tuple[Files, str]:
    top = name(1, "checkpoint.parquet")
    return {top: parquet(ACTIONS, chance, parsed=True), name(2): commit(info(), file(20))}, top


def _multipart(chance: random.Random) -> tuple[Files, str]:
    tops = [name(1, f"checkpoint.{part:010d}.{2:010d}.parquet") for part in (1, 2)]
    halves = (ACTIONS[:8], ACTIONS[8:])
    return {top: parquet(half, chance) for top, half in zip(tops, halves, strict=True)}, chance.choice(tops)


def _v2(chance: random.Random) -> tuple[Files, str]:
    side = "_sidecars/side.parquet"
    head = [
        {"checkpointMetadata": {"version": 1}},
        *ACTIONS[:4],
        {"sidecar": {"path": "side.parquet", "sizeInBytes": 5, "modificationTime": 5}},
    ]
    ending = chance.choice(["parquet", "json"])
    top = name(1, f"checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{ending}")
    content = parquet(head, chance) if ending == "parquet" else commit(*head)
    return {top: content, side: parquet(ACTIONS[4:], chance)}, chance.choice([top, side])  # fmt: skip


def _checksums(chance: random.Random) -> tuple[Files, str]:
    value = {"tableSizeBytes": 1400, "numFiles": 14, "numMetadata": 1, "numProtocol": 1, **ACTIONS[0], **ACTIONS[1]}
    last = {"version": 0, "size": 18, "sizeInBytes": 5, "numOfAddFiles": 14, "checkpointSchema": {"type": "struct"}}
    files = {
        name(0): commit(info(), *ACTIONS),
        name(0, "crc"): json.dumps(value).encode(),
        name(0, "checkpoint.parquet"): parquet(ACTIONS, chance),
        "_last_checkpoint": json.dumps(last).encode(),
    }
    return files, chance.choice([name(0, "crc"), "_last_checkpoint"])


def _vectors(chance: random.Random) -> tuple[Files, str]:
    vectors = [
        {
            "storageType": chance.choice(["u", "i", "p", "x", "", None]),
            "pathOrInlineDv": chance.choice(["ab^-aqEH.-t@S}K{vb[*k^", "", "/etc/x", "file:///x", "\u0000", "ü" * 30, "x" * 5_000]),
            "offset": chance.choice([None, 1, -1, 2**31, 2**63, "1", 1.5]),
            "sizeInBytes": chance.choice([None, 36, -1, 2**40, "x"]),
            "cardinality": chance.choice([0, 4, -1, 2**63 - 1, 2**64, None, "4", 1e3]),
        }
        for _ in range(4)
    ]  # fmt: skip
    target = name(1)
    adds = [file(number, deletionVector=found) for number, found in enumerate(vectors)]
    return {name(0): commit(info(), *ACTIONS), target: commit(info(), *adds)}, target


LOGS: dict[str, Callable[[random.Random], tuple[Files, str]]] = {
    "commits": _commits,
    "checkpoints": _checkpoints,
    "parsed": _parsed,
    "multipart": _multipart,
    "v2": _v2,
    "checksums": _checksums,
    "vectors": _vectors,
}
KINDS = ("statistics", *LOGS)


def read_log(kind: str, chance: random.Random) -> None:
    files, target = LOGS[kind](chance)
    files[target] = Damage(chance).of(files[target], list(files.values()))
    with tempfile.TemporaryDirectory(prefix="levee-hostile-") as folder:
        writer = LogWriter(Path(folder) / "table")
        for path, content in files.items():
            place = writer.log / path
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content)
        use(writer.table, Path(folder) / "files.arrow")


def use(table: Path, target: Path) -> None:
    """All that pages and previews do with a log."""
    log = open_log(str(table))
    try:
        run = log.sync(target)
        commits = list(run.commits())
        snapshot = run.snapshot()
    except NoTable:
        return
    for found in commits:
        str(found).encode()
    snapshot.files().to_pylist()
    settings(snapshot.metadata.configuration if snapshot.metadata else {})
    list(log.actions(commits[-1].version if commits else 0, Problems()))
    preview(snapshot)


def preview(snapshot: Snapshot) -> None:
    if snapshot.metadata is None:
        return
    try:
        struct = parse_schema(snapshot.metadata.schema_json)
        schema = schema_of(struct)
        for text in PREDICATES:
            see(snapshot, struct, schema, parse(text, schema))
    except (SchemaError, CommandRefused):
        return  # in words, by what they say


def read_statistics(chance: random.Random) -> None:
    damage = Damage(chance)
    sound = json.dumps(STATS)
    texts = [chance.choice([None, sound, damage.text(sound), damage.text(sound)]) for _ in range(chance.randint(1, 5))]
    found = bounds_of(pa.chunked_array([texts], pa.string()), pa.nulls(len(texts), pa.int64()), WANTED, 32)
    for place, text in enumerate(texts):
        if text == sound:
            assert found[("id",)].low[place].as_py() == 1


def main(seed: str, kind: str, first: int, last: int) -> None:
    def read(number: str) -> None:
        chance = random.Random(f"{seed} {kind} {number}")
        read_statistics(chance) if kind == "statistics" else read_log(kind, chance)

    read("before all")
    before = _peak()
    for number in range(first, last):
        print(number, flush=True)
        signal.alarm(SECONDS)
        read(str(number))
        if _peak() - before > MEMORY:
            raise SystemExit(f"it took more than {MEMORY >> 20} MiB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

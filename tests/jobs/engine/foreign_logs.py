"""Tables whose logs Spark didn't write: by deltalake, and by a writer that uses the freedoms that the protocol leaves.

Columns are those that `tests.jobs.predicates.making.Maker` asks for. Values lie close together within a file, so that files differ.
"""

from __future__ import annotations

import json
import math
import random
import struct
import uuid
import zlib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from tests.tables.deltalog.writing import CHECKPOINT, LogWriter, info, remove

Row = dict[str, Any]
HIVE = "__HIVE_DEFAULT_PARTITION__"
TEXTS = ("FR", "a", "ab", "b" * 40, "x%", "it's", "é %", "", HIVE, "\U0001f600" * 20, "z\ufffd")
KINDS: dict[str, tuple[Any, pa.DataType]] = {
    "id": ("long", pa.int64()),
    "n": ("integer", pa.int32()),
    "small": ("short", pa.int16()),
    "tiny": ("byte", pa.int8()),
    "name": ("string", pa.string()),
    "Price": ("decimal(10,2)", pa.decimal128(10, 2)),
    "big": ("decimal(38,10)", pa.decimal128(38, 10)),
    "d": ("double", pa.float64()),
    "f": ("float", pa.float32()),
    "day": ("date", pa.date32()),
    "moment": ("timestamp", pa.timestamp("us", "UTC")),
    "local": ("timestamp_ntz", pa.timestamp("us")),
    "ok": ("boolean", pa.bool_()),
    "data": ("binary", pa.binary()),
    "we`ird.x": ("integer", pa.int32()),
    "a b": ("string", pa.string()),
    "nested": ("struct", pa.struct([("x", pa.int32()), ("deep", pa.struct([("y z", pa.string())]))])),
    "list": ({"type": "array", "elementType": "integer", "containsNull": True}, pa.list_(pa.int32())),
}
WIDENED: dict[str, tuple[str, pa.DataType]] = {
    "id": ("integer", pa.int32()),
    "n": ("short", pa.int16()),
    "d": ("float", pa.float32()),
    "Price": ("decimal(8,1)", pa.decimal128(8, 1)),
    "local": ("date", pa.date32()),
}
LAYOUTS: tuple[list[str], ...] = (["name"], [], ["n", "a b"], ["moment"], ["day"], ["ok"], ["Price"], ["local"], ["d"])
# In what a log's statistics may differ from Spark's; `whole` are as Spark writes them.
STATISTICS = ("whole", "whole", "whole", "wide", "none", "null", "empty", "uncounted", "some", "odd", "bounds")


def values(chance: random.Random, group: int) -> Row:
    """A row. NULLs in every third file; ends of ranges, infinities and NaN now and then."""

    def perhaps(value: Any) -> Any:
        return None if chance.random() < (0.4 if group % 3 == 0 else 0) else value

    number = group * 20 + chance.randint(0, 15)
    text = chance.choice(TEXTS)
    far = chance.random() < 0.05
    day = date(9999, 12, 31) if far else date(2020, 1, 1) + timedelta(days=number * 3)
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=number, microseconds=chance.randint(0, 10**7))
    moment = datetime(9999, 12, 31, tzinfo=UTC) if far else moment
    wild = chance.choice([float(number), number / 10, math.nan, -0.0, 0.0, math.inf, -math.inf, 0.7])
    return {
        "id": number, "n": perhaps(number), "small": perhaps(number % 100), "tiny": perhaps(number % 100),
        "name": perhaps(text), "Price": perhaps(Decimal(number) + Decimal("0.50")), "big": perhaps(Decimal(number)),
        "d": perhaps(wild), "f": perhaps(number / 10), "day": perhaps(day), "moment": perhaps(moment),
        "local": perhaps(datetime(2020, 1, 1) + timedelta(days=number)), "ok": perhaps(chance.random() < 0.5),
        "data": perhaps(b"\x00\xff"), "we`ird.x": perhaps(number), "a b": perhaps(text),
        "nested": {"x": perhaps(number), "deep": {"y z": perhaps(text)}}, "list": [1],
    }  # fmt: skip


@dataclass
class Foreign:
    """A table of the tests' own writer: what it chose is in the attributes, so that a failure can be read."""

    folder: Path
    chance: random.Random
    partitions: list[str]
    mapped: bool = field(init=False)
    widened: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.mapped = self.chance.random() < 0.7
        self.widened = {name for name in WIDENED if self.chance.random() < 0.4} - set(self.partitions)

    def write(self, files: int = 8) -> None:
        """A file of the first commit is removed by another spelling, and comes back; perhaps there is a checkpoint."""
        log = LogWriter(self.folder)
        adds = [self._add(group) for group in range(files)]
        log.commit(0, info(), self._protocol(), self._metadata(), *map(as_logged, adds))
        gone, kept = adds[0], adds[1:]
        log.commit(1, info("DELETE"), remove(_respelled(gone["path"]), **_vector_of(gone)))
        if self.chance.random() < 0.5:
            structs = self.chance.random() < 0.6
            write_checkpoint(log, [self._protocol(), self._metadata()], kept, structs, self._stats_type())
        log.commit(2, info("RESTORE"), as_logged(gone))

    def _protocol(self) -> dict[str, Any]:
        features = ["columnMapping", "deletionVectors", "timestampNtz", "typeWidening"]
        writers = [*features, "invariants", "appendOnly"]
        return {
            "protocol": {
                "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": writers,
            }
        }  # fmt: skip

    def _metadata(self) -> dict[str, Any]:
        fields = [self._field(name, kind) for name, (kind, _) in KINDS.items()]
        return {
            "metaData": {
                "id": str(uuid.UUID(int=self.chance.getrandbits(128))),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": self.partitions,
                "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "99"}
                if self.mapped
                else {},
            }
        }

    def _field(self, name: str, kind: Any) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if name in self.widened:
            more["delta.typeChanges"] = [{"fromType": WIDENED[name][0], "toType": kind}]
        if kind == "struct":
            deep = {"type": "struct", "fields": [self._field("y z", "string")]}
            kind = {"type": "struct", "fields": [self._field("x", "integer"), self._field("deep", deep)]}
        if self.mapped:
            more |= {
                "delta.columnMapping.physicalName": self._physical(name),
                "delta.columnMapping.id": 1 + zlib.crc32(name.encode()) % 10_000,
            }
        return {"name": name, "type": kind, "nullable": name != "id", "metadata": more}

    def _physical(self, name: str) -> str:
        """Columns were renamed: what files call `n` is another column's name, or has a dot, a quote, a blank."""
        old = {"n": "Small", "small": "n", "name": 'o"ld.na`me', "a b": "col 1", "x": "x.y"}
        return old.get(name, name) if self.mapped else name

    def _add(self, group: int) -> dict[str, Any]:
        rows = [values(self.chance, group) for _ in range(self.chance.randint(1, 5))]
        for name in self.partitions:  # one value in a file
            for row in rows:
                row[name] = rows[0][name]
        narrow = {name for name in self.widened if self.chance.random() < 0.7}
        rows = [
            {name: _narrowed(name, value) if name in narrow else value for name, value in row.items()} for row in rows
        ]
        name = f"part {group} é.parquet"
        size = self._data(self.folder / name, rows, narrow)
        vector, hidden = self._vector(group, len(rows))
        stats = statistics(self.chance, [self._as_stored(row) for row in rows], narrow_floats="d" in narrow)
        stats = _loose(stats) if hidden else stats
        return {
            "path": self._spelled(name), "size": size, "modificationTime": 1_700_000_000_000, "dataChange": True,
            "partitionValues": {self._physical(p): self._partition_text(rows[0][p]) for p in self.partitions},
            "statistics": stats, **({"deletionVector": vector} if vector else {}),
        }  # fmt: skip

    def _as_stored(self, row: Row) -> Row:
        """By physical names, without partition columns and what statistics don't keep; with a column that was dropped since."""
        kept = {self._physical(n): v for n, v in row.items() if n not in (*self.partitions, "data", "list", "nested")}
        nested = {self._physical("x"): row["nested"]["x"], "deep": row["nested"]["deep"]}
        return {**kept, "nested": nested, "dropped": 7}

    def _data(self, path: Path, rows: list[Row], narrow: set[str]) -> int:
        kinds = {name: WIDENED[name][1] if name in narrow else kind for name, (_, kind) in KINDS.items()}
        columns = {
            self._physical(n): pa.array([row[n] for row in rows], kinds[n]) for n in kinds if n not in self.partitions
        }
        if self.mapped:
            x = pa.array([row["nested"]["x"] for row in rows], pa.int32())
            deep = pa.array([row["nested"]["deep"] for row in rows], pa.struct([("y z", pa.string())]))
            columns["nested"] = pa.StructArray.from_arrays([x, deep], names=[self._physical("x"), "deep"])
        columns["dropped"] = pa.array([7] * len(rows), pa.int32())
        pq.write_table(
            pa.table(columns), path, use_deprecated_int96_timestamps=self.chance.random() < 0.2 and _near(rows)
        )
        return path.stat().st_size

    def _spelled(self, name: str) -> str:
        encoded = quote(name)
        return self.chance.choice(
            [encoded, encoded, encoded.lower().replace("%c3", "%C3"), f"./{encoded}", f"file:{self.folder}/{encoded}",
             f"file://{self.folder}/{encoded}", f"{self.folder}/{encoded}"]
        )  # fmt: skip

    def _partition_text(self, value: Any) -> str | None:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, datetime):
            text = value.strftime("%Y-%m-%d %H:%M:%S.%f")
            return f"{text.replace(' ', 'T')}Z" if value.tzinfo and self.chance.random() < 0.8 else text
        if isinstance(value, float):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN" if value != value else repr(value))
        if isinstance(value, int | Decimal) and self.chance.random() < 0.2:
            return f"0{value}"
        return None if value is None else str(value)

    def _vector(self, group: int, rows: int) -> tuple[dict[str, Any] | None, int]:
        if rows < 2 or self.chance.random() < 0.6:
            return None, 0
        hidden = sorted(self.chance.sample(range(rows), self.chance.randint(1, rows - 1)))
        data = bitmap(hidden)
        found: dict[str, Any] = {"sizeInBytes": len(data), "cardinality": len(hidden)}
        if self.chance.random() < 0.5:
            return {"storageType": "i", "pathOrInlineDv": z85(data), **found}, len(hidden)
        name = uuid.UUID(int=self.chance.getrandbits(128))
        framed = b"\x01" + struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
        (self.folder / f"deletion_vector_{name}.bin").write_bytes(framed)
        return {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": 1, **found}, len(hidden)

    def _stats_type(self) -> pa.StructType:
        leaves = [
            (self._physical(n), kind)
            for n, (_, kind) in KINDS.items()
            if n not in (*self.partitions, "data", "list", "nested", "ok")
        ]
        below = pa.struct([*leaves, ("dropped", pa.int32())])
        counts = pa.struct([(leaf, pa.int64()) for leaf, _ in leaves])
        parts = [("minValues", below), ("maxValues", below), ("nullCount", counts)]
        return pa.struct([("numRecords", pa.int64()), *parts, ("tightBounds", pa.bool_())])


def _near(rows: list[Row]) -> bool:
    """INT96 of pyarrow holds nanoseconds, until 2262."""
    return all(row["moment"] is None or row["moment"].year < 2262 for row in rows)


def _narrowed(name: str, value: Any) -> Any:
    if value is None:
        return None
    match name:
        case "d":
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        case "local":
            return value.date()
    return value


def _respelled(path: str) -> str:
    """Another spelling that is the same to Delta."""
    if path.startswith("file:"):
        return path.replace("file:///", "file:/") if path.startswith("file:///") else path.replace("file:/", "file:///")
    return path if path.startswith("/") else path.removeprefix("./") if path.startswith("./") else f"./{path}"


def _vector_of(add: dict[str, Any]) -> dict[str, Any]:
    return {"deletionVector": add["deletionVector"]} if "deletionVector" in add else {}


def statistics(chance: random.Random, rows: list[Row], *, narrow_floats: bool) -> Any:
    """A file's statistics as values: a dict, or a text for what no dict says, or None for none."""
    kind = chance.choice(STATISTICS)
    if kind in ("none", "null", "empty"):
        return {"none": None, "null": "null", "empty": "{}"}[kind]
    names = [name for name in rows[0] if name != "nested" and (kind != "some" or chance.random() < 0.5)]
    found: dict[str, Any] = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name in names:
        column = [row[name] for row in rows]
        found["nullCount"][name] = column.count(None)
        if name == "d" and narrow_floats:
            column = [value if value is None else _as_float_is_written(value) for value in column]
        if any(value is not None for value in column) and not isinstance(
            next(v for v in column if v is not None), bool
        ):
            low, high = _ends([value for value in column if value is not None])
            found["minValues"][name] = _lowered(low) if kind == "wide" else low
            found["maxValues"][name] = _raised(high) if kind == "wide" else high
    if kind == "uncounted":
        del found["numRecords"]
    if kind == "bounds":
        del found["nullCount"]
    if kind == "odd":
        return json.dumps(_odd(json.loads(logged_text(found)), chance))
    return found


def _ends(column: list[Any]) -> tuple[Any, Any]:
    """Least and greatest as Spark orders them: NaN above all; texts cut after 32 characters, the upper raised."""
    if isinstance(column[0], float):
        numbers = [value for value in column if value == value]
        high = math.nan if len(numbers) < len(column) else max(numbers)
        return (min(numbers) if numbers else math.nan), high
    low, high = min(column), max(column)
    if isinstance(column[0], str):
        ordered = sorted(column, key=lambda text: text.encode())
        low, high = ordered[0][:32], ordered[-1]
        high = high if len(high) <= 32 else high[:32] + "\U0010ffff"
    return low, high


def _as_float_is_written(value: float) -> float:
    """The shortest decimal that is the same float: 0.7, where the row is 0.699999988."""
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((text for text in shorter if struct.pack("<f", text) == struct.pack("<f", value)), value)


def _lowered(value: Any) -> Any:
    if isinstance(value, str):
        return value[:1]
    return value - timedelta(days=3) if isinstance(value, date) else value - 3


def _raised(value: Any) -> Any:
    if isinstance(value, str):
        return value[:3] + "\U0010ffff"
    if isinstance(value, date):
        return value if value.year == 9999 else value + timedelta(days=3)
    return value + 3


def _loose(stats: Any) -> Any:
    """Says that the bounds are those of rows that a vector hides, too."""
    if isinstance(stats, str) and stats.startswith("{"):
        return json.dumps({**json.loads(stats), "tightBounds": False})
    return {**stats, "tightBounds": False} if isinstance(stats, dict) else stats


def _odd(stats: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Some members are of other kinds than the columns."""
    for part in ("minValues", "maxValues", "nullCount"):
        for name, value in list(stats[part].items()):
            if chance.random() < 0.3:
                stats[part][name] = chance.choice([str(value), [value], {"x": value}, None, True, "zz"])
    return stats


def as_logged(add: dict[str, Any]) -> dict[str, Any]:
    stats = add["statistics"]
    plain = {name: value for name, value in add.items() if name != "statistics"}
    return {
        "add": plain if stats is None else {**plain, "stats": stats if isinstance(stats, str) else logged_text(stats)}
    }


def logged_text(stats: dict[str, Any]) -> str:
    return json.dumps(_json(stats), ensure_ascii=False)


def _json(value: Any) -> Any:
    """As Spark writes it: times cut to milliseconds, what JSON has no number for as text."""
    if isinstance(value, dict):
        return {name: _json(item) for name, item in value.items()}
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03}" + ("Z" if value.tzinfo else "")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def write_checkpoint(
    log: LogWriter, head: list[dict[str, Any]], adds: list[dict[str, Any]], structs: bool, stats: pa.StructType
) -> None:
    """A checkpoint of version 1, with the statistics as structs only where asked for (odd ones are none there)."""
    rows = [*head, *([_with_struct(add) for add in adds] if structs else [as_logged(add) for add in adds])]
    schema = CHECKPOINT
    if structs:
        members = [member for member in CHECKPOINT.field("add").type if member.name != "stats"]
        at = CHECKPOINT.get_field_index("add")
        schema = CHECKPOINT.set(at, pa.field("add", pa.struct([*members, ("stats_parsed", stats)])))
    plain = [{name: _pairs(value) for name, value in row.items()} for row in rows]
    far = any("9999" in str(add["statistics"]) for add in adds)
    path = log.log / f"{1:020d}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(plain, schema), path, use_deprecated_int96_timestamps=structs and not far)


def _with_struct(add: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in add.items() if name != "statistics"}
    stats = add["statistics"]
    return {"add": {**plain, "stats_parsed": _widened(stats) if isinstance(stats, dict) else None}}


def _widened(stats: dict[str, Any]) -> dict[str, Any]:
    """Structs have each column's type of now: what was a date is a time there."""
    local = {
        part: stats[part]["local"] for part in ("minValues", "maxValues") if type(stats[part].get("local")) is date
    }
    return stats | {
        part: {**stats[part], "local": datetime(value.year, value.month, value.day)} for part, value in local.items()
    }


def _pairs(value: dict[str, Any]) -> dict[str, Any]:
    maps = ("partitionValues", "configuration", "options")
    return {
        name: list(item.items()) if name in maps else _pairs(item) if name == "format" else item
        for name, item in value.items()
    }


def bitmap(positions: list[int]) -> bytes:
    """Row numbers below 65,536 as Delta's portable RoaringBitmapArray: one bitmap of one array container."""
    container = struct.pack("<IIHHI", 12346, 1, 0, len(positions) - 1, 16)
    data = container + b"".join(struct.pack("<H", position) for position in positions)
    return struct.pack("<IQI", 1681511377, 1, 0) + data


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    data += b"\x00" * (-len(data) % 4)
    groups = (int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4))
    return "".join(_Z85[number // 85**power % 85] for number in groups for power in (4, 3, 2, 1, 0))


def write_by_deltalake(folder: Path, chance: random.Random, files: int = 8) -> None:
    """By delta-rs: partition texts that are empty, texts cut by it, rows deleted, perhaps its checkpoint."""
    partitions = chance.choice([[], ["name"], ["day"], ["n"], ["ok"]])
    schema = pa.schema({name: kind for name, (_, kind) in KINDS.items()})
    for group in range(files):
        rows = [values(chance, group) for _ in range(chance.randint(1, 5))]
        data = pa.Table.from_pylist(rows, schema)
        write_deltalake(folder, data, mode="append", partition_by=partitions or None)
    table = DeltaTable(folder)
    table.delete(f"id = {chance.randint(0, files * 20)}")
    if chance.random() < 0.5:
        table.create_checkpoint()

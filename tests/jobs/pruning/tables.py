"""Tables for the preview: a log written by hand, read by Levee's own reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.matching import match
from jobs.pruning.prediction import Prediction, files_of, see
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.deltalog.state.snapshot import Snapshot


def column(name: str, kind: Any, *, physical: str | None = None, nullable: bool = True) -> dict[str, Any]:
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": 1} if physical else {}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


COLUMNS = [
    column("id", "long", nullable=False),
    column("n", "integer"),
    column("name", "string"),
    column("price", "decimal(10,2)"),
    column("d", "double"),
    column("f", "float"),
    column("ok", "boolean"),
    column("at", "timestamp"),
    column("local", "timestamp_ntz"),
    column("born", "date"),
    column("s", {"type": "struct", "fields": [column("x", "integer")]}),
    column("day", "date"),
    column("country", "string"),
]


def stats(rows: int | None, low: dict[str, Any], high: dict[str, Any], nulls: dict[str, Any]) -> str:
    value: dict[str, Any] = {} if rows is None else {"numRecords": rows}
    return json.dumps({**value, "minValues": low, "maxValues": high, "nullCount": nulls})


def add(
    number: int, stats_text: str | None = None, values: dict[str, Any] | None = None, vector: int | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": f"part-{number}.parquet",
        "partitionValues": values or {},
        "size": 100 * (number + 1),
        "modificationTime": 0,
        "dataChange": True,
    }
    if stats_text is not None:
        found["stats"] = stats_text
    if vector is not None:
        found["deletionVector"] = {
            "storageType": "i", "pathOrInlineDv": "abc", "sizeInBytes": 3, "cardinality": vector,
        }  # fmt: skip
    return {"add": found}


def write(
    folder: Path,
    adds: list[dict[str, Any]],
    *,
    columns: list[dict[str, Any]] | None = None,
    partitions: list[str] | None = None,
    properties: dict[str, str] | None = None,
    features: list[str] | None = None,
) -> Snapshot:
    """The snapshot of a table that one commit made."""
    metadata = {
        "id": "5b7e3a8e-0000-4000-8000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": columns or COLUMNS}),
        "partitionColumns": partitions or [],
        "configuration": properties or {},
    }
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if features:
        protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
    log = folder / "table" / "_delta_log"
    log.mkdir(parents=True)
    lines = [{"protocol": protocol}, {"metaData": metadata}, *adds]
    (log / f"{0:020}.json").write_text("\n".join(json.dumps(line) for line in lines))
    return open_log(str(folder / "table")).snapshot(0, folder / "files.arrow")


def verdicts(snapshot: Snapshot, text: str) -> str:
    """One letter per file: c(an't), m(ay), M(ust)."""
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    files = files_of(snapshot, struct, schema)
    outcome = match(parse(text, schema), files)
    pairs = zip(outcome.true.to_pylist(), outcome.must.to_pylist(), strict=True)
    order = sorted(zip(files.table.column("path").to_pylist(), pairs, strict=True))
    return "".join("c" if not true else "M" if must else "m" for _, (true, must) in order)


def prediction(snapshot: Snapshot, text: str | None) -> Prediction:
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    return see(snapshot, struct, schema, None if text is None else parse(text, schema))[0]

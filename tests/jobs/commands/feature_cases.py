"""A table and a request for each refusal of the table of features: its log alone, written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.commands.drop_feature.rules import REFUSED as DROP
from jobs.domain.delta.feature_support import EVERYWHERE
from jobs.domain.delta.protocols import FEATURES, closure
from tables.models import Root, Table
from tests import factories
from tests.jobs import small_delta

MODE = "delta.columnMapping.mode"
NAMED = {MODE: "name", "delta.columnMapping.maxColumnId": "9"}
VECTORS, TRACKING = "delta.enableDeletionVectors", "delta.enableRowTracking"
CONSTRAINT = {"delta.constraints.c": "id < 100"}
CLUSTERED = {
    "domain": "delta.clustering",
    "configuration": json.dumps({"clusteringColumns": [["id"]]}),
    "removed": False,
}


def column(name: str, kind: str, number: int) -> dict[str, Any]:
    """A column with what column mapping keeps of it, which other tables ignore."""
    mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapped}


ID, TEXT = column("id", "integer", 1), column("v", "string", 2)
_THIRD = {"delta.columnMapping.id": 3, "delta.columnMapping.physicalName": "c"}
GENERATED = column("g", "integer", 3) | {"metadata": {**_THIRD, "delta.generationExpression": "id + 1"}}
IDENTITY = column("i", "long", 3) | {
    "nullable": False,
    "metadata": {
        **_THIRD,
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": False,
    },
}
WIDENED = column("w", "double", 3) | {
    "metadata": {**_THIRD, "delta.typeChanges": [{"fromType": "integer", "toType": "double"}]},
}
VARIANT, VOID = column("x", "variant", 3), column("x", "void", 3)


@dataclass(frozen=True)
class Case:
    """A refusal: of `asked`, the body of a request without its table, on a table with `feature` and what else it takes."""

    command: str
    feature: str
    condition: str | None
    asked: Mapping[str, Any]
    properties: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[str] = ()
    columns: Sequence[Mapping[str, Any]] = (ID, TEXT)
    domains: Sequence[Mapping[str, Any]] = ()
    counted: bool = True

    def __str__(self) -> str:
        return f"{self.command}-{self.feature}-{self.condition}"

    def table(self, root: Root) -> Table:
        place = Path(root.uri) / "t"
        (place / "_delta_log").mkdir(parents=True)
        small_delta.commit(place, "WRITE", list(self._actions()), version=0)
        return factories.TableFactory(root=root, path=str(place), name="t")

    def _actions(self) -> Iterator[dict[str, Any]]:
        names = sorted(closure([self.feature, *self.more]))
        readers = [name for name in names if FEATURES[name].for_readers]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": readers, "writerFeatures": names}
        yield {"protocol": protocol}
        yield {"metaData": {
            "id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "createdTime": 0,
            "schemaString": json.dumps({"type": "struct", "fields": list(self.columns)}),
            "configuration": dict(self.properties),
        }}  # fmt: skip
        for domain in self.domains:
            yield {"domainMetadata": dict(domain)}
        stats = {"stats": json.dumps({"numRecords": 1})} if self.counted else {}
        file = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
        yield {"add": file | stats}


SIMPLE: dict[str, dict[str, Any]] = {
    "delete": {"predicate": "id = 1"},
    "restore": {"version": 0},
    "optimize": {},
    "reorg": {},
    "repair": {},
    "vacuum": {},
    "set_properties": {"set": {"team": "me"}, "unset": []},
    "alter_schema": {"changes": [{"table_comment": "x"}]},
    "clone": {"target": "copy", "kind": "shallow"},
    "drop_feature": {"feature": "checkConstraints"},
}


def _set(name: str, value: str) -> dict[str, Any]:
    return {"set": {name: value}, "unset": []}


def _changed(change: Mapping[str, Any]) -> dict[str, Any]:
    return {"changes": [change]}


_VIOLATION = "DELTA_ICEBERG_COMPAT_VIOLATION"
_NO_VECTORS = f"{_VIOLATION}.DELETION_VECTORS_SHOULD_BE_DISABLED"
_ONE = f"{_VIOLATION}.VERSION_MUTUAL_EXCLUSIVE"


def _compat(number: int) -> str:
    return f"delta.enableIcebergCompatV{number}"


SPECIAL = [
    Case("delete", "appendOnly", "DELTA_CANNOT_MODIFY_APPEND_ONLY", SIMPLE["delete"], {"delta.appendOnly": "true"}),
    Case("repair", "appendOnly", "DELTA_CANNOT_MODIFY_APPEND_ONLY", SIMPLE["repair"], {"delta.appendOnly": "true"}),
    Case("optimize", "clustering", "DELTA_CLUSTERING_WITH_ZORDER_BY", {"zorder_by": ["id"]}, domains=[CLUSTERED]),
    Case("optimize", "clustering", "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", {"predicate": "id = 1"}, domains=[CLUSTERED]),
    Case("reorg", "clustering", "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", {"predicate": "id = 1"}, domains=[CLUSTERED]),
    Case("clone", "rowTracking", "DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS", SIMPLE["clone"], {TRACKING: "true"}, counted=False),
    Case("set_properties", "columnMapping", None, _set(MODE, "none"), NAMED),
    Case("set_properties", "columnMapping", "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", _set(MODE, "id"), NAMED),
    Case("set_properties", "icebergCompatV1", _NO_VECTORS, _set(VECTORS, "true"), NAMED | {_compat(1): "true"}),
    Case("set_properties", "icebergCompatV1", _ONE, _set(_compat(2), "true"), NAMED | {_compat(1): "true"}),
    Case("set_properties", "icebergCompatV2", _NO_VECTORS, _set(VECTORS, "true"), NAMED | {_compat(2): "true"}),
    Case("set_properties", "icebergCompatV2", _ONE, _set(_compat(1), "true"), NAMED | {_compat(2): "true"}),
    Case("set_properties", "icebergCompatV3", _ONE, _set(_compat(2), "true"), NAMED | {_compat(3): "true"}),
    Case("set_properties", "deletionVectors", _NO_VECTORS, _set(_compat(1), "true"), NAMED | {VECTORS: "true"}, ["columnMapping"]),
    Case("set_properties", "rowTracking", None, _set(_compat(3), "true"), NAMED | {TRACKING: "true"}, ["columnMapping"]),
    Case(
        "set_properties", "rowTracking", "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION",
        _set("delta.rowTrackingSuspended", "true"), {TRACKING: "true"},
    ),
    Case(
        "alter_schema", "checkConstraints", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
        _changed({"drop": {"path": "id"}}), NAMED | CONSTRAINT, ["columnMapping"],
    ),
    Case(
        "alter_schema", "generatedColumns", "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
        _changed({"drop": {"path": "id"}}), NAMED, ["columnMapping"], (ID, TEXT, GENERATED),
    ),
    Case(
        "alter_schema", "generatedColumns", "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
        _changed({"widen": {"path": "g", "type": "bigint"}}), {"delta.enableTypeWidening": "true"}, ["typeWidening"], (ID, TEXT, GENERATED),
    ),
    Case(
        "alter_schema", "identityColumns", "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED",
        _changed({"nullable": {"path": "i"}}), more=["invariants"], columns=(ID, TEXT, IDENTITY),
    ),
    Case(
        "alter_schema", "clustering", "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN",
        _changed({"drop": {"path": "id"}}), NAMED, ["columnMapping"], domains=[CLUSTERED],
    ),
    Case(
        "set_properties", "variantType", f"{_VIOLATION}.UNSUPPORTED_DATA_TYPE",
        _set(_compat(2), "true"), NAMED, ["columnMapping"], (ID, TEXT, VARIANT),
    ),
    *(
        Case(
            "set_properties", name, f"{_VIOLATION}.UNSUPPORTED_TYPE_WIDENING",
            _set(_compat(2), "true"), NAMED, ["columnMapping"], (ID, TEXT, WIDENED),
        )
        for name in ("typeWidening", "typeWidening-preview")
    ),
    *(
        Case(
            "alter_schema", f"icebergCompatV{number}", f"{_VIOLATION}.UNSUPPORTED_TYPE_WIDENING",
            _changed({"widen": {"path": "id", "type": "double"}}),
            NAMED | {_compat(number): "true", "delta.enableTypeWidening": "true"}, ["typeWidening"],
        )
        for number in (1, 2, 3)
    ),
    *(
        Case(
            "alter_schema", f"icebergCompatV{number}", f"{_VIOLATION}.UNSUPPORTED_DATA_TYPE",
            _changed({"add": {"path": "z", "type": kind}}), NAMED | {_compat(number): "true"}, more, (ID, TEXT, *columns),
        )
        for number, kind, columns, more in (
            (1, "array<int>", (), ()), (2, "int", (VARIANT,), ("variantType",)), (3, "int", (VOID,), ()),
        )
    ),
    Case(
        "alter_schema", "variantType", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED",
        _changed({"cluster_by": ["x"]}), columns=(ID, TEXT, VARIANT),
    ),
]  # fmt: skip
# What a case of dropping a feature takes beside the feature itself.
_DROPS: dict[str, dict[str, Any]] = {
    "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE": {"properties": CONSTRAINT},
    "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING": {
        "properties": NAMED,
        "columns": (ID, column("a b", "string", 2)),
    },
}
_DEPENDENTS = {"domainMetadata": "clustering", "columnMapping": "icebergCompatV1", "rowTracking": "icebergCompatV3"}


def _drops() -> Iterator[Case]:
    for name, cells in DROP.items():
        for cell in cells:
            asked = {"feature": name, "truncate_history": "TRUNCATION_NOT_ALLOWED" in str(cell.condition)}
            more = [_DEPENDENTS[name]] if "DEPENDENT" in str(cell.condition) else []
            yield Case("drop_feature", name, cell.condition, asked, more=more, **_DROPS.get(str(cell.condition), {}))


CASES = [
    *SPECIAL,
    *_drops(),
    *(
        Case(command, name, cell.condition, asked)
        for command, asked in SIMPLE.items()
        for name, cells in EVERYWHERE.items()
        for cell in cells
    ),
]

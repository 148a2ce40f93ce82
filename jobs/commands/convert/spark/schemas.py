"""Merges the columns of all footers with Delta's own SchemaMergingUtils, as CONVERT will."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.domain.errors import EngineFailure
from jobs.domain.results import SchemaConflict
from jobs.engine.errors import as_failure

MERGING = "org.apache.spark.sql.delta.schema.SchemaMergingUtils$"
SCHEMA_UTILS = "org.apache.spark.sql.delta.schema.SchemaUtils$"
PARQUET = "org.apache.spark.sql.execution.datasources.parquet"
INVALID_CHARACTERS = " ,;{}()\n\t="
CONFLICT_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Footers:
    """All footers together. `schema` is Spark's JSON struct, None when Delta can't merge them; `failure` is then Delta's.

    `unreadable` are files whose types Spark doesn't support, with its failure.
    """

    schema: Mapping[str, Any] | None
    conflicts: tuple[SchemaConflict, ...]
    failure: EngineFailure | None
    missing_columns: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, EngineFailure], ...] = field(default=())


@dataclass
class _Column:
    """One top-level column over all files: its types (as text) with files, examples and the type itself."""

    name: str
    files: int = 0
    types: dict[str, tuple[int, list[str], Any]] = field(default_factory=dict)


def merge_footers(session: SparkSession, root: str, schemas: Mapping[str, tuple[int, list[str]]]) -> Footers:
    """Merges one footer of each kind. `schemas` maps a kind to its number of files and some of their paths below `root`."""
    reader = _Reader(session)
    kinds: list[tuple[Any, int, list[str]]] = []
    unreadable: list[tuple[str, EngineFailure]] = []
    for files, examples in sorted(schemas.values(), key=lambda kind: kind[1]):
        try:
            kinds.append((reader.struct(f"{root}/{examples[0]}"), files, examples))
        except (PySparkException, Py4JJavaError) as error:
            unreadable.append((examples[0], as_failure(error)))
    columns = _columns(kinds)
    schema, failure = reader.merge([struct for struct, _, _ in kinds])
    total = sum(files for _, files, _ in kinds)
    return Footers(
        schema=json.loads(schema.json()) if schema is not None and kinds else None,
        conflicts=tuple(_conflicts(reader, columns)),
        failure=failure,
        missing_columns=tuple(column.name for column in columns.values() if column.files < total),
        unreadable=tuple(unreadable),
    )


def invalid_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Column names, nested ones included, that Delta refuses without column mapping."""
    names: list[str] = []
    _collect_invalid(schema, "", names)
    return tuple(names)


def has_invalid_character(name: str) -> bool:
    return any(char in INVALID_CHARACTERS for char in name)


def _collect_invalid(kind: Any, prefix: str, names: list[str]) -> None:
    if not isinstance(kind, Mapping):
        return
    for struct_field in kind.get("fields", ()):
        path = prefix + struct_field["name"]
        if has_invalid_character(struct_field["name"]):
            names.append(path)
        _collect_invalid(struct_field["type"], path + ".", names)
    for part in ("elementType", "keyType", "valueType"):
        _collect_invalid(kind.get(part), prefix, names)


def _columns(kinds: list[tuple[Any, int, list[str]]]) -> dict[str, _Column]:
    columns: dict[str, _Column] = {}
    for struct, files, examples in kinds:
        for struct_field in struct.fields():
            column = columns.setdefault(struct_field.name().lower(), _Column(struct_field.name()))
            column.files += files
            text = struct_field.dataType().sql()
            known = column.types.get(text)
            if known:
                column.types[text] = (known[0] + files, known[1] + examples, known[2])
            else:
                column.types[text] = (files, list(examples), struct_field)
    return columns


def _conflicts(reader: _Reader, columns: Mapping[str, _Column]) -> list[SchemaConflict]:
    conflicts = []
    for column in columns.values():
        if len(column.types) < 2:
            continue
        merged, failure = reader.merge([reader.only(struct_field) for _, _, struct_field in column.types.values()])
        types = {text.lower(): files for text, (files, _, _) in column.types.items()}
        examples = [path for _, paths, _ in column.types.values() for path in paths[:2]]
        if failure is None:
            kept = merged.fields()[0].dataType().sql().lower()
            text = f"{column.name} becomes {kept}"
        else:
            text = f"{column.name} is {' in some files and '.join(types)} in others, which Delta can't merge: {failure.message}"
        conflicts.append(
            SchemaConflict(
                column.name, types, tuple(examples[:CONFLICT_EXAMPLES]), fatal=failure is not None, text=text
            )
        )
    return conflicts


class _Reader:
    """Reads and merges schemas in the JVM, with the same classes that CONVERT uses."""

    def __init__(self, session: SparkSession) -> None:
        self.jvm: Any = session._jvm
        state = session._jsparkSession.sessionState()
        self.hadoop_conf = state.newHadoopConf()
        self.converter = getattr(self.jvm, f"{PARQUET}.ParquetToSparkSchemaConverter")(state.conf())
        self.parquet = self._object(f"{PARQUET}.ParquetFileFormat$")
        self.merging = self._object(MERGING)
        self.widening = getattr(self.merging, "mergeSchemas$default$5")()

    def struct(self, path: str) -> Any:
        """A file's schema (a Java StructType), all columns nullable, as Delta reads it."""
        hadoop = self.jvm.org.apache.parquet.hadoop
        place = self.jvm.org.apache.hadoop.fs.Path(path)
        file = hadoop.ParquetFileReader.open(hadoop.util.HadoopInputFile.fromPath(place, self.hadoop_conf))
        try:
            footer = hadoop.Footer(place, file.getFooter())
        finally:
            file.close()
        return self.parquet.readSchemaFromFooter(footer, self.converter).asNullable()

    def only(self, struct_field: Any) -> Any:
        empty = self.jvm.org.apache.spark.sql.types.StructType()
        return empty.add(struct_field)

    def merge(self, structs: list[Any]) -> tuple[Any, EngineFailure | None]:
        """(merged struct, None), or (None, Delta's failure)."""
        merged = self.jvm.org.apache.spark.sql.types.StructType()
        for struct in structs:
            try:
                merged = self.merging.mergeSchemas(merged, struct, False, False, self.widening, False)
            except (PySparkException, Py4JJavaError) as error:
                return None, as_failure(error)
        return merged, None

    def _object(self, name: str) -> Any:
        return getattr(self.jvm, name).__getattr__("MODULE$")

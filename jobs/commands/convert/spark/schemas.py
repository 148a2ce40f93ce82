"""Merges the columns of all footers with Delta's own SchemaMergingUtils, as CONVERT will."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.commands.convert.spark.footer_text import difference
from jobs.domain.delta.column_names import is_invalid
from jobs.domain.errors import EngineFailure
from jobs.domain.results import FooterDifference, SchemaConflict
from jobs.engine.errors import as_failure

MERGING = "org.apache.spark.sql.delta.schema.SchemaMergingUtils$"
SCHEMA_UTILS = "org.apache.spark.sql.delta.schema.SchemaUtils$"
PARQUET = "org.apache.spark.sql.execution.datasources.parquet"
TYPE_CHECK = "spark.databricks.delta.schema.typeCheck.enabled"
CONFLICT_EXAMPLES = 5
# What Delta's CONVERT says of a file without a column: it makes a statement of each footer's schema, and parses that.
NO_COLUMNS = EngineFailure("PARSE_EMPTY_STATEMENT", "42617", "Syntax error, unexpected empty statement.")
MOST_TYPE = 100  # characters of a parquet type in a message


@dataclass(frozen=True, slots=True)
class Footers:
    """All footers together. `schema` is Spark's JSON struct, None when Delta can't merge them; `failure` is then Delta's.

    `unreadable` are files whose types Spark doesn't support. `differences` are kinds of files whose footer describes other
    columns than they have. `unsupported` are columns, with their types, that Spark reads and Delta refuses.
    """

    schema: Mapping[str, Any] | None
    conflicts: tuple[SchemaConflict, ...]
    failure: EngineFailure | None
    missing_columns: tuple[str, ...] = ()
    unreadable: tuple[UnreadableTypes, ...] = field(default=())
    differences: tuple[FooterDifference, ...] = ()
    unsupported: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadableTypes:
    """A file whose types Spark doesn't support, with its failure; `columns` of what parquet type, where they are known."""

    example: str
    failure: EngineFailure
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Own:
    """A file's columns as Spark converts them one by one, whatever its footer says: a JSON struct, and (type, failure) of the others."""

    struct: Mapping[str, Any]
    failed: Mapping[str, tuple[str, EngineFailure]]

    def whole(self) -> Mapping[str, Any]:
        """All columns; those that Spark can't convert by parquet's words."""
        odd = [{"name": name, "type": kind} for name, (kind, _) in self.failed.items()]
        return {"fields": [*self.struct["fields"], *odd]}


@dataclass
class _Column:
    """One top-level column over all files: its types (as text) with files, examples and the type itself."""

    name: str
    files: int = 0
    types: dict[str, tuple[int, list[str], Any]] = field(default_factory=dict)


def merge_footers(
    session: SparkSession,
    root: str,
    schemas: Mapping[str, tuple[int, list[str]]],
    partitions: Collection[str] = (),
) -> Footers:
    """Merges one footer of each kind. `schemas` maps a kind to its number of files and some of their paths below `root`;
    `partitions` are the columns of directories, in small letters."""
    reader = _SchemaReader(session)
    kinds: list[tuple[Any, int, list[str]]] = []
    unreadable: list[UnreadableTypes] = []
    differences: list[FooterDifference] = []
    for files, examples in sorted(schemas.values(), key=lambda kind: kind[1]):
        try:  # Arrow reads some footers that Spark's parquet doesn't
            footer = reader.footer(f"{root}/{examples[0]}")
        except Py4JJavaError as error:
            unreadable.append(UnreadableTypes(examples[0], as_failure(error)))
            continue
        own = reader.own(footer)
        try:
            struct = reader.struct(footer)
        except (PySparkException, Py4JJavaError) as error:
            unreadable.append(_unreadable(examples[0], own, own.failed, as_failure(error)))
            continue
        if struct.isEmpty():
            unreadable.append(UnreadableTypes(examples[0], NO_COLUMNS))
            continue
        kinds.append((struct, files, examples))
        text = json.loads(struct.json())
        named = {field["name"].lower() for field in text["fields"]} - set(partitions)
        if failed := [name for name in own.failed if name.lower() in named]:
            unreadable.append(_unreadable(examples[0], own, failed, own.failed[failed[0]][1]))
        elif found := difference(text, own.whole(), partitions, examples[0], files):
            differences.append(found)
    columns = _columns(kinds)
    schema, failure = reader.merge([struct for struct, _, _ in kinds])
    unsupported = reader.unsupported(schema) if schema is not None else ()
    total = sum(files for _, files, _ in kinds)
    return Footers(
        schema=json.loads(schema.json()) if schema is not None and kinds else None,
        conflicts=tuple(_conflicts(reader, columns)),
        failure=failure,
        missing_columns=tuple(column.name for column in columns.values() if column.files < total),
        unreadable=tuple(unreadable),
        differences=tuple(differences),
        unsupported=unsupported,
    )


def _unreadable(example: str, own: _Own, columns: Iterable[str], failure: EngineFailure) -> UnreadableTypes:
    return UnreadableTypes(example, failure, tuple((name, own.failed[name][0]) for name in columns))


def invalid_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Column names, nested ones included, that Delta refuses without column mapping."""
    names: list[str] = []
    _collect_invalid(schema, "", names)
    return tuple(names)


def parquet_type(text: str, name: str) -> str:
    """A column as parquet-mr prints it, in one short line without its name: `optional int64 (TIMESTAMP(NANOS,false))`."""
    line = " ".join(text.split()).replace(f" {name}", "", 1)
    return line if len(line) <= MOST_TYPE else f"{line[:MOST_TYPE]}…"


def _collect_invalid(kind: Any, prefix: str, names: list[str]) -> None:
    if not isinstance(kind, Mapping):
        return
    for struct_field in kind.get("fields", ()):
        path = prefix + struct_field["name"]
        if is_invalid(struct_field["name"]):
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


def _conflicts(reader: _SchemaReader, columns: Mapping[str, _Column]) -> list[SchemaConflict]:
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


class _SchemaReader:
    """Reads and merges schemas in the JVM, with the same classes that CONVERT uses."""

    def __init__(self, session: SparkSession) -> None:
        self.jvm: Any = session._jvm
        state = session._jsparkSession.sessionState()
        self.conf = session.conf
        self.hadoop_conf = state.newHadoopConf()
        self.converter = getattr(self.jvm, f"{PARQUET}.ParquetToSparkSchemaConverter")(state.conf())
        self.parquet = self._object(f"{PARQUET}.ParquetFileFormat$")
        self.merging = self._object(MERGING)
        self.widening = getattr(self.merging, "mergeSchemas$default$5")()

    def footer(self, path: str) -> Any:
        """A file's footer, a Java object."""
        hadoop = self.jvm.org.apache.parquet.hadoop
        place = self.jvm.org.apache.hadoop.fs.Path(path)
        file = hadoop.ParquetFileReader.open(hadoop.util.HadoopInputFile.fromPath(place, self.hadoop_conf))
        try:
            return hadoop.Footer(place, file.getFooter())
        finally:
            file.close()

    def struct(self, footer: Any) -> Any:
        """A file's schema (a Java StructType), all columns nullable, as Delta reads it."""
        return self.parquet.readSchemaFromFooter(footer, self.converter).asNullable()

    def own(self, footer: Any) -> _Own:
        """A file's own columns, without what its footer says of them."""
        schema = footer.getParquetMetadata().getFileMetaData().getSchema()
        try:
            return _Own(json.loads(self.converter.convert(schema).json()), {})
        except (PySparkException, Py4JJavaError):
            return self._one_by_one(schema)

    def _one_by_one(self, schema: Any) -> _Own:
        fields: list[Any] = []
        failed: dict[str, tuple[str, EngineFailure]] = {}
        for column in schema.getFields():
            alone = self.jvm.java.util.ArrayList()
            alone.add(column)
            message = self.jvm.org.apache.parquet.schema.MessageType("spark_schema", alone)
            try:
                fields += json.loads(self.converter.convert(message).json())["fields"]
            except (PySparkException, Py4JJavaError) as error:
                failed[column.getName()] = (parquet_type(column.toString(), column.getName()), as_failure(error))
        return _Own({"fields": fields}, failed)

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

    def unsupported(self, struct: Any) -> tuple[tuple[str, str], ...]:
        """(column, type) of what Delta's own check of a new table's schema refuses; none where a setting turns the check off."""
        if str(self.conf.get(TYPE_CHECK, "true")).lower() != "true":
            return ()
        found = self._object(SCHEMA_UTILS).findUnsupportedDataTypes(struct)
        each = [found.apply(at) for at in range(found.size())]
        return tuple((str(info.column()), str(info.dataType().sql()).lower()) for info in each)

    def _object(self, name: str) -> Any:
        return getattr(self.jvm, name).__getattr__("MODULE$")

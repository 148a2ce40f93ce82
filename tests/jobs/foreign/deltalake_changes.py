"""Tables as deltalake changes them: rows, columns, properties, checkpoints, files."""

from __future__ import annotations

import inspect
from pathlib import Path

import pyarrow as pa

from tests.jobs.foreign.deltalake_api import Lacks, as_schema, asked, by_rust, noted, rows, table, write
from tests.jobs.foreign.write import Recipe

RECIPES: dict[str, Recipe] = {}


def recipe(made: Recipe) -> Recipe:
    RECIPES[made.__name__.rstrip("_")] = made
    return made


@recipe
def plain(path: Path) -> None:
    write(path, rows())


@recipe
def appended(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start))


@recipe
def described(path: Path) -> None:
    write(path, rows(), name="sold", description="all that's sold", configuration={"delta.appendOnly": "false"})


@recipe
def marked(path: Path) -> None:
    import deltalake

    write(path, rows(), **noted(deltalake.write_deltalake, {"step": "load-7", "userName": "ana@example.org"}))
    write(path, rows(20))


@recipe
def overwritten(path: Path) -> None:
    write(path, rows())
    write(path, rows(20, 7), mode="overwrite")


@recipe
def overwritten_where(path: Path) -> None:
    parts = pa.array(["a", "b"] * 10)
    write(path, rows(p=parts), partition_by=["p"])
    data = rows(50, 4, p=pa.array(["a"] * 4))
    write(path, data, mode="overwrite", predicate="p = 'a'", **by_rust(), partition_by=["p"])


@recipe
def deleted(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start, p=pa.array(["x", "y"] * 10)), partition_by=["p"])
    table(path).delete("id = 3")
    table(path).delete("p = 'y'")
    table(path).delete("id >= 20")


@recipe
def emptied(path: Path) -> None:
    write(path, rows())
    table(path).delete()


@recipe
def updated(path: Path) -> None:
    write(path, rows())
    write(path, rows(20))
    table(path).update(updates={"amount": "0.5"}, predicate="id % 4 = 1")


@recipe
def merged(path: Path) -> None:
    write(path, rows())
    write(path, rows(20))
    source = rows(15, 10)
    merging = table(path).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    merging = table(path).merge(rows(30, 20), "t.id = s.id", source_alias="s", target_alias="t")
    merging.when_matched_delete().execute()


@recipe
def evolved(path: Path) -> None:
    write(path, rows())
    write(path, rows(20, more=pa.array(["m"] * 20)), schema_mode="merge")


@recipe
def replaced(path: Path) -> None:
    write(path, rows())
    write(path, pa.table({"other": pa.array([1, 2, 3], pa.int32())}), mode="overwrite", schema_mode="overwrite")


@recipe
def columns_added(path: Path) -> None:
    write(path, rows())
    import deltalake

    alter = table(path).alter
    asked(alter, "add_columns")([deltalake.Field("later", "string"), deltalake.Field("n", "integer")])
    write(path, rows(20, later=pa.array(["l"] * 20), n=pa.array(range(20), pa.int32())))


@recipe
def checkpointed(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start, p=pa.array(["x", None] * 10)), partition_by=["p"])
    table(path).delete("id = 3")
    table(path).create_checkpoint()
    write(path, rows(40, p=pa.array(["z"] * 20)), partition_by=["p"])


@recipe
def cleaned(path: Path) -> None:
    """Its first commits are gone: the checkpoint has all that they said."""
    for start in (0, 20, 40):
        write(path, rows(start))
    table(path).create_checkpoint()
    for version in range(2):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    write(path, rows(60))


@recipe
def logs_compacted(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start))
    asked(table(path), "compact_logs")(0, 2)
    write(path, rows(60))


@recipe
def vacuumed(path: Path) -> None:
    write(path, rows())
    write(path, rows(20), mode="overwrite")
    table(path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)


@recipe
def feed(path: Path) -> None:
    write(path, rows(), configuration={"delta.enableChangeDataFeed": "true"})
    write(path, rows(20))
    table(path).delete("id = 3")
    table(path).update(updates={"amount": "0.5"}, predicate="id % 4 = 1")
    if "large_dtypes" not in inspect.signature(table(path).merge).parameters or hasattr(table(path), "load_cdf"):
        merging = table(path).merge(rows(15, 10), "t.id = s.id", source_alias="s", target_alias="t")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()


@recipe
def append_only(path: Path) -> None:
    write(path, rows(), configuration={"delta.appendOnly": "true"})
    write(path, rows(20))


@recipe
def constrained(path: Path) -> None:
    write(path, rows())
    table(path).alter.add_constraint({"small": "id < 1000"})
    write(path, rows(20), **by_rust())


@recipe
def unconstrained(path: Path) -> None:
    write(path, rows())
    table(path).alter.add_constraint({"small": "id < 1000"})
    asked(table(path).alter, "drop_constraint")("small")


@recipe
def not_null(path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    write(path, pa.table({"id": range(9), "name": ["n"] * 9}, schema))


@recipe
def null_allowed(path: Path) -> None:
    not_null(path)
    asked(table(path).alter, "drop_column_not_null")("id")


@recipe
def compacted(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start, p=pa.array(["x", "y"] * 10)), partition_by=["p"])
    table(path).optimize.compact()
    write(path, rows(60, p=pa.array(["x"] * 20)), partition_by=["p"])


@recipe
def zordered(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    table(path).optimize.z_order(["id", "amount"])


@recipe
def repaired(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    sorted(path.glob("*.parquet"))[0].unlink()
    table(path).repair()


@recipe
def restored(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    table(path).delete("id = 3")
    table(path).restore(1)


@recipe
def properties_set(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_table_properties")({"delta.logRetentionDuration": "interval 60 days"})
    write(path, rows(20))


@recipe
def feature_added(path: Path) -> None:
    import deltalake

    write(path, rows())
    add = asked(table(path).alter, "add_feature")
    add(deltalake.TableFeatures.AppendOnly, allow_protocol_versions_increase=True)


@recipe
def vectors_added(path: Path) -> None:
    """Deletion vectors are supported and switched on; deltalake writes none."""
    import deltalake

    write(path, rows())
    add = asked(table(path).alter, "add_feature")
    add(deltalake.TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    asked(table(path).alter, "set_table_properties")({"delta.enableDeletionVectors": "true"})


@recipe
def annotated(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_column_metadata")("name", {"comment": "what it's called"})


@recipe
def renamed(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_table_name")("sold")
    asked(table(path).alter, "set_table_description")("all that's sold")


@recipe
def transacted(path: Path) -> None:
    import deltalake

    transaction = getattr(deltalake, "Transaction", None)
    if transaction is None:
        raise Lacks("it has no Transaction")
    for version in (1, 2):
        properties = deltalake.CommitProperties(app_transactions=[transaction("app", version)])
        write(path, rows(20 * version), commit_properties=properties)


@recipe
def converted(path: Path) -> None:
    import deltalake
    from pyarrow import dataset

    kinds = {"partitioning": dataset.partitioning(pa.schema([("p", pa.string())]), flavor="hive")}
    dataset.write_dataset(rows(p=pa.array(["x", "y"] * 10)), path, format="parquet", **kinds)
    schema = pa.schema([("p", pa.string())])
    by = schema if hasattr(deltalake.Schema, "from_pyarrow") else as_schema(schema)  # it was pyarrow's, once
    deltalake.convert_to_deltalake(str(path), partition_by=by, partition_strategy="hive")


@recipe
def created_empty(path: Path) -> None:
    import deltalake

    deltalake.DeltaTable.create(str(path), schema=as_schema(rows().schema), name="empty")


@recipe
def often_checkpointed(path: Path) -> None:
    write(path, rows(0, 4), configuration={"delta.checkpointInterval": "2"})
    for start in range(4, 28, 4):
        write(path, rows(start, 4))

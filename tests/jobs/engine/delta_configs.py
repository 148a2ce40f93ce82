"""Delta's own list of table properties, by reflection."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def configs_of(session: SparkSession) -> Any:
    """Delta's `DeltaConfigs`."""
    delta = session._jvm.org.apache.spark.sql.delta
    return getattr(getattr(delta, "DeltaConfigs$"), "MODULE$")


def entries_of(session: SparkSession) -> dict[str, Any]:
    """Each property's `DeltaConfig`, by its name."""
    configs = configs_of(session)
    for field in configs.getClass().getDeclaredFields():
        if field.getType().getName() == "java.util.HashMap":
            field.setAccessible(True)
            return {config.key(): config for config in field.get(configs).values()}
    raise LookupError("DeltaConfigs has no list of its properties")

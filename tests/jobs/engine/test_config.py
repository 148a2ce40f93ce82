"""The table of settings: every one has a reason, sizes follow the machine, safety can't be overridden."""

from pathlib import Path
from typing import Any

import pytest

from jobs.engine.config import Cluster, SettingRefused, driver_memory, spark_conf, table

GIB = 1 << 30
MASTER = "spark://127.0.0.1:7077"
MACHINE: dict[str, Any] = {
    "jars": [Path("/jars/a.jar"), Path("/jars/b.jar")],
    "archive": Path("/levee.jsa"),
    "scratch": Path("/scratch"),
}


def conf(kind="spark", cores=2, memory=8 * GIB, **more):
    return spark_conf(kind, cores=cores, memory_bytes=memory, **MACHINE, **more)


def test_every_setting_is_made_once_and_says_why():
    settings = table("spark", cores=4, memory_bytes=16 * GIB, **MACHINE)
    keys = [setting.key for setting in settings]
    assert len(keys) == len(set(keys))
    assert all(setting.key.startswith("spark.") and len(setting.reason) > 10 for setting in settings)


def test_sizes_follow_the_machine():
    assert driver_memory(2 * GIB) == GIB
    assert driver_memory(24 * GIB) == 3 * GIB
    assert driver_memory(512 * GIB) == 8 * GIB
    assert driver_memory(64 * GIB, 4 * GIB) == 2 * GIB, "in a container"
    assert driver_memory(64 * GIB, GIB) == GIB
    assert driver_memory(64 * GIB, 32 * GIB) == 8 * GIB
    assert conf(memory=64 * GIB, memory_limit=6 * GIB)["spark.driver.memory"] == f"{3 << 10}m"
    assert conf(cores=2)["spark.master"] == "local[2]"
    assert conf(cores=16)["spark.databricks.delta.snapshotPartitions"] == "8"


def test_delta_keeps_as_many_logs_as_a_tenth_of_the_heap_holds():
    kept = "spark.databricks.delta.delta.log.cacheSize"
    assert [conf(memory=gib * GIB)[kept] for gib in (8, 24, 64)] == ["64", "192", "512"]


def test_interactive_has_free_slots_and_shares_them():
    found = conf("interactive", cores=2)
    assert (found["spark.master"], found["spark.scheduler.mode"]) == ("local[4]", "FAIR")


def test_a_streams_jvm_is_like_that_of_jobs_with_a_name_of_its_own():
    found = conf("streams", cores=2)
    assert found == {**conf(cores=2), "spark.app.name": "levee-streams"}
    assert (found["spark.master"], found["spark.scheduler.mode"]) == ("local[2]", "FIFO")


def test_jars_go_on_the_class_path_where_class_data_sharing_works():
    found = conf()
    assert found["spark.driver.extraClassPath"] == found["spark.executor.extraClassPath"] == "/jars/a.jar:/jars/b.jar"
    assert "spark.jars" not in found
    assert "-XX:SharedArchiveFile=/levee.jsa" in found["spark.driver.extraJavaOptions"]


def test_an_exhausted_heap_ends_the_jvm():
    assert "-XX:+ExitOnOutOfMemoryError" in conf()["spark.driver.extraJavaOptions"]


def test_an_override_comes_last():
    found = conf(overrides={"spark.sql.shuffle.partitions": "64", "spark.hadoop.fs.s3a.endpoint": "http://s3"})
    assert found["spark.sql.shuffle.partitions"] == "64"
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://s3"


@pytest.mark.parametrize(
    "key",
    [
        "spark.ui.enabled",
        "spark.authenticate",
        "spark.network.crypto.enabled",
        "spark.network.crypto.saslFallback",
        "spark.sql.variable.substitute",
        "spark.sql.ansi.enabled",
        "spark.sql.session.timeZone",
        "spark.sql.files.ignoreMissingFiles",
        "spark.databricks.delta.retentionDurationCheck.enabled",
        "spark.sql.catalog.spark_catalog",
        "spark.databricks.delta.convert.partitionValues.ignoreCastFailure",
    ],
)
def test_a_safety_setting_is_not_overridden(key):
    with pytest.raises(SettingRefused, match=f"LEVEE_SPARK_CONF: {key} stays"):
        conf(overrides={key: "surely not this"})


def test_a_cluster_of_its_own_needs_its_secret():
    with pytest.raises(
        SettingRefused,
        match=r"LEVEE_SPARK_SECRET: is missing \(and LEVEE_SPARK_CONF has no spark\.authenticate\.secret\)",
    ):
        conf(cluster=Cluster(MASTER))
    in_file = conf(cluster=Cluster(MASTER), overrides={"spark.authenticate.secret": "shared"})
    for found in (in_file, conf(cluster=Cluster(MASTER, secret="shared"))):
        assert (found["spark.authenticate"], found["spark.authenticate.secret"]) == ("true", "shared")


def test_no_secret_is_written_where_each_start_makes_one():
    assert "spark.authenticate.secret" not in conf()


def test_an_override_that_repeats_a_safety_setting_is_fine():
    assert conf(overrides={"spark.sql.ansi.enabled": "true"})["spark.sql.ansi.enabled"] == "true"


def test_a_key_that_is_no_setting_of_spark_is_named():
    with pytest.raises(SettingRefused, match=r"fs\.s3a\.endpoint isn't a Spark setting"):
        conf(overrides={"fs.s3a.endpoint": "x"})


def test_a_cluster_replaces_the_local_master():
    found = conf(cluster=Cluster(MASTER, secret="shared"))
    assert found["spark.master"] == MASTER
    assert found["spark.task.reaper.enabled"] == "true"
    assert not {"spark.executor.memory", "spark.executor.cores", "spark.cores.max"} & found.keys(), (
        "Spark's own defaults"
    )


def test_a_cluster_is_asked_for_what_the_settings_say():
    found = conf(cluster=Cluster(MASTER, "shared", "2g", 2, 32, "levee.example.org"))
    assert (found["spark.executor.memory"], found["spark.executor.cores"], found["spark.cores.max"]) == (
        "2g",
        "2",
        "32",
    )
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "levee.example.org"
    assert found["spark.sql.shuffle.partitions"] == "16", "half of the cores that it gets, not of the driver's machine"
    few = conf(cluster=Cluster(MASTER, "shared", cores_max=2))
    assert few["spark.sql.shuffle.partitions"] == "8", "a shuffle in one part is one task"


def test_executors_count_time_as_the_driver_does_and_that_stays():
    found = conf(cluster=Cluster(MASTER, "shared"))
    for options in (found["spark.driver.extraJavaOptions"], found["spark.executor.extraJavaOptions"]):
        assert "-Duser.timezone=UTC" in options
    with pytest.raises(SettingRefused, match=r"spark\.executor\.extraJavaOptions stays"):
        conf(
            cluster=Cluster(MASTER, "shared"),
            overrides={"spark.executor.extraJavaOptions": "-Duser.timezone=Asia/Tokyo"},
        )


def test_a_local_master_is_no_cluster():
    found = conf(cluster=Cluster("local[3]", "unused", "2g", 2, 6))
    assert found == {**conf(), "spark.master": "local[3]"}
    assert found["spark.driver.host"] == "127.0.0.1"

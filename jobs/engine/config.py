"""Every Spark setting that Levee sets, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from console.base.env import Env, SettingError

Kind = Literal["spark", "interactive", "streams"]

GIB = 1 << 30
DELTA = "spark.databricks.delta"
# Class loading is a third of the start; the collector with the smallest footprint is the right one for small heaps.
SECRET = "spark.authenticate.secret"
SMALL_HEAP_BYTES = 2 * GIB
LOOPBACK = "127.0.0.1"
# A cluster's tables are large: one part of a shuffle would be one task, and all of it in one executor's memory.
LEAST_PARTS = 8


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where tasks run if not in the driver: the master's address, and what this instance asks of it.

    `secret` is the cluster's own. An executor has `executor_cores` and `executor_memory`; one JVM of Levee's takes `cores_max` at most
    (None: what Spark gives without the setting). `driver_host` is the name by which executors reach the driver (None: this machine's
    loopback, for a cluster on it).
    """

    master: str
    secret: str | None = None
    executor_memory: str | None = None
    executor_cores: int | None = None
    cores_max: int | None = None
    driver_host: str | None = None


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """One setting. `safety` ones can't be overridden by LEVEE_SPARK_CONF."""

    key: str
    value: str
    reason: str
    safety: bool = False


class SettingRefused(ValueError):
    """An override in LEVEE_SPARK_CONF that Levee refuses; the message names the key."""


def cluster_of(env: Env) -> Cluster | None:
    """The cluster that the settings name; None for a Spark inside the driver."""
    if env.spark_master is None:
        return None
    return Cluster(
        env.spark_master,
        env.spark_secret,
        env.spark_executor_memory,
        env.spark_executor_cores,
        env.spark_cores_max,
        env.spark_driver_host,
    )


def overrides_of(env: Env) -> dict[str, str] | None:
    """Spark's settings in the file of LEVEE_SPARK_CONF; None without one. Raises SettingError."""
    return read_conf(env.spark_conf) if env.spark_conf else None


def read_conf(path: Path) -> dict[str, str]:
    """Reads a file of `key value` lines, in the format of spark-defaults.conf. Raises SettingError with the line's number."""
    conf = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parts = re.split(r"[\s=]+", text, maxsplit=1)
        if len(parts) != 2:
            raise SettingError("LEVEE_SPARK_CONF", f"line {number} of {path} has no value")
        conf[parts[0]] = parts[1]
    return conf


def spark_conf(
    kind: Kind,
    *,
    jars: Sequence[Path],
    archive: Path | None,
    cores: int,
    memory_bytes: int,
    memory_limit: int | None = None,
    scratch: Path,
    cluster: Cluster | None = None,
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The settings of one JVM as `spark.*` keys.

    `cores` and `memory_bytes` are the machine's; `memory_limit` is what this process may have of it, if less; `scratch` is a directory
    for this JVM alone; `archive` is the class data sharing file (the JVM ignores a missing one). `overrides` win. Raises
    SettingRefused if they change a safety setting.
    """
    settings = table(
        kind,
        jars=jars,
        archive=archive,
        cores=cores,
        memory_bytes=memory_bytes,
        memory_limit=memory_limit,
        scratch=scratch,
        cluster=cluster,
    )
    known = {setting.key: setting.value for setting in settings}
    fixed = {setting.key: setting for setting in settings if setting.safety}
    for key, value in (overrides or {}).items():
        if key in fixed and value != fixed[key].value:
            raise SettingRefused(f"LEVEE_SPARK_CONF: {key} stays {fixed[key].value!r}: {fixed[key].reason}")
        if not key.startswith("spark."):
            raise SettingRefused(f"LEVEE_SPARK_CONF: {key} isn't a Spark setting (those start with spark.)")
        known[key] = value
    if needs_secret(known["spark.master"]) and not known.get(SECRET):
        raise SettingRefused(
            f"LEVEE_SPARK_SECRET: is missing (and LEVEE_SPARK_CONF has no {SECRET}): set the cluster's secret, which keeps other "
            "programs off it and off Levee"
        )
    return known


def needs_secret(master: str) -> bool:
    """Whether Spark takes its processes' secret from the settings; otherwise each start generates one that never leaves Spark."""
    return master.startswith("spark://")


def table(
    kind: Kind,
    *,
    jars: Sequence[Path],
    archive: Path | None,
    cores: int,
    memory_bytes: int,
    memory_limit: int | None = None,
    scratch: Path,
    cluster: Cluster | None = None,
) -> tuple[SparkSetting, ...]:
    """The settings as a table, for documentation, logs and `spark_conf`. A `local…` master runs tasks in the driver."""
    away = cluster is not None and not cluster.master.startswith("local")
    master, host = (cluster.master, cluster.driver_host) if cluster else (None, None)
    return (
        *_identity(kind, cores, master),
        *(_on_cluster(cluster) if cluster and away else ()),
        *_process(jars, archive, driver_memory(memory_bytes, memory_limit), scratch),
        *_meaning(),
        *_safety(scratch),
        *_reached_as(host or LOOPBACK),
        *_sizes(
            kind, ((cluster and cluster.cores_max) or 8 * cores) if away else cores, least=LEAST_PARTS if away else 1
        ),
    )


def _on_cluster(cluster: Cluster) -> tuple[SparkSetting, ...]:
    asked = (
        (SECRET, cluster.secret, "the cluster's; it reaches Spark by a file for this user alone"),
        ("spark.executor.memory", cluster.executor_memory, "LEVEE_SPARK_EXECUTOR_MEMORY"),
        ("spark.executor.cores", cluster.executor_cores, "LEVEE_SPARK_EXECUTOR_CORES"),
        ("spark.cores.max", cluster.cores_max, "LEVEE_SPARK_CORES_MAX: without a limit the first JVM takes every core"),
    )
    return (
        *_REAPER,
        SparkSetting(
            "spark.executor.extraJavaOptions",
            f"{' '.join(_MEANING_OPTIONS)} -XX:+ExitOnOutOfMemoryError",
            "tasks cast dates in the JVM's zone in places that ignore the session's",
            safety=True,
        ),
        *(SparkSetting(key, str(value), why) for key, value, why in asked if value is not None),
    )


# Dates in messages and casts of partition values use the JVM's zone in places that ignore the session's.
_MEANING_OPTIONS = ("-Duser.timezone=UTC", "-Dfile.encoding=UTF-8")
_REAPER = (
    SparkSetting(
        "spark.task.reaper.enabled", "true", "a cancelled task that keeps running holds a slot that others need"
    ),
    SparkSetting("spark.task.reaper.killTimeout", "10s", "then Spark kills its executor and starts another"),
)


def driver_memory(machine: int, limit: int | None = None) -> int:
    """The heap of one JVM, bytes, 1 to 8 GiB: an eighth of the machine, which several JVMs share, or half of the worker's own limit.

    The other half is for what a JVM has beside its heap, and for Python.
    """
    return min(max(machine // 8 if limit is None else limit // 2, GIB), 8 * GIB)


def cached_logs(heap: int) -> int:
    """How many tables' logs Delta keeps in memory: each takes 1 to 2 MiB with the session that loaded it, here a tenth of the heap."""
    return heap // (16 << 20)


def slots(kind: Kind, cores: int) -> int:
    """Tasks at once in local mode. `interactive` has more than cores: FAIR never takes a slot back, so a read needs a free one."""
    return max(4, 2 * cores) if kind == "interactive" else cores


def _identity(kind: Kind, cores: int, master: str | None) -> tuple[SparkSetting, ...]:
    mode = "FAIR" if kind == "interactive" else "FIFO"
    return (
        SparkSetting("spark.app.name", f"levee-{kind}", "tells the JVMs apart in logs"),
        SparkSetting(
            "spark.master", master or f"local[{slots(kind, cores)}]", "the machine's cores, or the configured cluster"
        ),
        SparkSetting(
            "spark.scheduler.mode", mode, "short reads run beside a long scan; changes run one after the other"
        ),
        SparkSetting("spark.submit.deployMode", "client", "the JVM is a child of the worker"),
    )


def _process(jars: Sequence[Path], archive: Path | None, heap: int, scratch: Path) -> tuple[SparkSetting, ...]:
    path = ":".join(str(jar) for jar in jars)
    return (
        SparkSetting("spark.driver.memory", f"{heap // (1 << 20)}m", "sized by the machine"),
        SparkSetting(
            f"{DELTA}.delta.log.cacheSize",
            str(cached_logs(heap)),
            "Delta's own bound, 10,000 logs for an hour each, fills the heap with a few hundred tables",
        ),
        SparkSetting(
            "spark.driver.extraClassPath", path, "Delta's jars; class data sharing works for the class path only"
        ),
        SparkSetting("spark.executor.extraClassPath", path, "executors see the same files"),
        SparkSetting(
            "spark.driver.extraJavaOptions",
            _java_options(archive, heap, scratch),
            "start-up, memory, logs, scratch place",
        ),
        SparkSetting(
            "spark.local.dir", str(scratch / "blocks"), "Spark's own files are removed with the scratch directory"
        ),
        SparkSetting(
            "spark.python.worker.reuse", "true", "a Python worker costs 0.3 s and reads footers for every inspection"
        ),
        SparkSetting("spark.ui.showConsoleProgress", "false", "the log has lines, no progress bars"),
    )


def _java_options(archive: Path | None, heap: int, scratch: Path) -> str:
    options = [
        # A JVM that ran out of heap can't be trusted any more: it exits, and the worker starts a fresh one.
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djava.io.tmpdir={scratch / 'tmp'}",
        f"-Dlog4j2.configurationFile=file:{scratch / 'log4j2.properties'}",
        *_MEANING_OPTIONS,
    ]
    if heap <= SMALL_HEAP_BYTES * 2:
        options.append("-XX:+UseSerialGC")
    if archive is not None:
        options += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    return " ".join(options)


def _meaning() -> tuple[SparkSetting, ...]:
    return (
        SparkSetting(
            "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension", "Delta's statements", safety=True
        ),
        SparkSetting(
            "spark.sql.catalog.spark_catalog",
            "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "Delta's tables",
            safety=True,
        ),
        SparkSetting(
            "spark.sql.session.timeZone", "UTC", "times mean the same in preview, approval and run", safety=True
        ),
        SparkSetting(
            "spark.sql.ansi.enabled", "true", "overflow and bad casts fail instead of turning into NULL", safety=True
        ),
        SparkSetting("spark.sql.caseSensitive", "false", "names mean the same in the gate and in Spark", safety=True),
    )


def _safety(scratch: Path) -> tuple[SparkSetting, ...]:
    return (
        SparkSetting("spark.ui.enabled", "false", "Spark's pages have no password", safety=True),
        *_authenticated(),
        SparkSetting(
            "spark.sql.variable.substitute", "false", "Spark would expand ${env:…} inside statements", safety=True
        ),
        SparkSetting(
            "spark.sql.files.ignoreMissingFiles", "false", "a missing file is an error, never fewer rows", safety=True
        ),
        SparkSetting(
            "spark.sql.files.ignoreCorruptFiles", "false", "a damaged file is an error, never fewer rows", safety=True
        ),
        SparkSetting(
            f"{DELTA}.deltaLog.minorCompaction.useForReads",
            "false",
            "a compaction that lies, or is damaged, would take the place of commits: previews go by the commits themselves",
            safety=True,
        ),
        SparkSetting(
            f"{DELTA}.generatedColumn.partitionFilterOptimization.enabled",
            "false",
            "a read would skip files by what a generated partition column should hold, as no DELETE does: a count would be too low",
            safety=True,
        ),
        SparkSetting(
            f"{DELTA}.retentionDurationCheck.enabled", "true", "history that readers need is kept", safety=True
        ),
        SparkSetting(
            f"{DELTA}.convert.partitionValues.ignoreCastFailure",
            "false",
            "a value that no reader can cast would make the table unreadable elsewhere",
            safety=True,
        ),
        SparkSetting(
            "spark.sql.warehouse.dir",
            str(scratch / "warehouse"),
            "managed tables must not land in the working directory",
        ),
        SparkSetting(
            "spark.sql.catalogImplementation", "in-memory", "Levee's own database names tables; Derby is never started"
        ),
        SparkSetting("spark.logConf", "false", "settings may hold secrets"),
    )


def _reached_as(host: str) -> tuple[SparkSetting, ...]:
    why = "nothing listens beyond this machine unless a cluster needs it"
    return SparkSetting("spark.driver.host", host, why), SparkSetting("spark.driver.bindAddress", host, why)


def _authenticated() -> tuple[SparkSetting, ...]:
    """Authentication, since every user of the machine can connect to the driver's ports. Directory permissions protect Spark's files."""
    crypto = "spark.network.crypto"
    return (
        SparkSetting(
            "spark.authenticate", "true", "the driver's ports answer only processes with the secret", safety=True
        ),
        SparkSetting(
            f"{crypto}.enabled", "true", "the secret is never sent, and all later traffic is encrypted", safety=True
        ),
        SparkSetting(f"{crypto}.authEngineVersion", "2", "the key exchange that later Sparks recommend", safety=True),
        SparkSetting(
            f"{crypto}.saslFallback", "false", "clients can't fall back to the older, weaker SASL", safety=True
        ),
    )


def _sizes(kind: Kind, cores: int, least: int) -> tuple[SparkSetting, ...]:
    few = str(max(least, cores // 2))
    return (
        SparkSetting(
            "spark.default.parallelism", str(slots(kind, cores)), "one task per slot unless a stage says otherwise"
        ),
        SparkSetting("spark.sql.shuffle.partitions", few, "small tables: 200 empty tasks cost seconds on few cores"),
        SparkSetting(
            f"{DELTA}.snapshotPartitions", few, "the log's state in as many parts as cores can use (default 50)"
        ),
        SparkSetting(
            "spark.sql.sources.parallelPartitionDiscovery.parallelism",
            str(max(4, 2 * cores)),
            "listings start this many tasks: the default 10,000 takes 91 s for a table of 4 files",
        ),
        SparkSetting("spark.sql.adaptive.enabled", "true", "large shuffles still get as many tasks as they need"),
        SparkSetting(
            "spark.ui.liveUpdate.period", "0", "a task that holds a slot is seen at once, not at the next heartbeat"
        ),
        SparkSetting("spark.ui.retainedJobs", "50", "the driver's memory stays flat over thousands of jobs"),
        SparkSetting("spark.ui.retainedStages", "100", "the driver's memory stays flat over thousands of jobs"),
        SparkSetting("spark.ui.retainedTasks", "2000", "the driver's memory stays flat over thousands of jobs"),
        SparkSetting("spark.sql.ui.retainedExecutions", "20", "the driver's memory stays flat over thousands of jobs"),
    )

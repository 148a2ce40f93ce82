"""One JVM with one Spark session: its start, identity and end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from jobs.domain.errors import EngineFailure, EngineLost
from jobs.engine.errors import translate
from jobs.engine.processes import ProcessIdentity, identify, resident_bytes

# Functions that call arbitrary Java. Each new session copies the registry, so Levee drops them before the first one.
DROPPED_FUNCTIONS = ("reflect", "java_method", "try_reflect")

LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSS}{UTC}Z %p %c{1}: %m%n%ex{short}
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.conf.name = org.apache.spark.sql.catalyst.util.SparkStringUtils
logger.conf.level = error
"""


class Runtime:
    """A Spark driver JVM in a process group of its own, started lazily and once.

    It calls `on_launch` with the JVM's identity before making its session, so that a later crash leaves a record. `log`
    receives everything that the JVM prints. Thread-safe.
    """

    def __init__(
        self,
        conf: Mapping[str, str],
        *,
        scratch: Path,
        log: Path,
        on_launch: Callable[[ProcessIdentity], None] | None = None,
    ) -> None:
        self._conf = dict(conf)
        self._scratch = scratch
        self._log = log
        self._on_launch = on_launch
        self._lock = threading.Lock()
        self._gateway: JavaGateway | None = None
        self._identity: ProcessIdentity | None = None
        self._session: SparkSession | None = None

    @property
    def scratch(self) -> Path:
        return self._scratch

    @property
    def conf(self) -> Mapping[str, str]:
        return self._conf

    def start(self) -> SparkSession:
        """The session, made on the first call. Raises EngineLost if the JVM doesn't start."""
        with self._lock:
            if self._session is None:
                with translate():
                    self._launch()
                    self._session = self._make_session()
            return self._session

    @property
    def session(self) -> SparkSession:
        """The running session. Raises EngineLost before start and after the end."""
        if self._session is None:
            raise EngineLost(EngineFailure(None, None, "Spark has not been started", retryable=True))
        return self._session

    def new_session(self) -> SparkSession:
        """A session that shares the catalog and JVM with the others, but no settings."""
        return self.start().newSession()

    def identity(self) -> ProcessIdentity | None:
        """The JVM's process identity; None before the start."""
        return self._identity

    def alive(self) -> bool:
        return self._identity is not None and self._identity.alive()

    def memory_bytes(self) -> int | None:
        """The JVM's resident memory; None if it isn't running."""
        return resident_bytes(self._identity.pid) if self._identity else None

    def log_position(self) -> int:
        """The current end of the JVM's log: the lines after it belong to what runs now."""
        return self._log.stat().st_size if self._log.exists() else 0

    def warnings_since(self, position: int, limit: int = 50) -> list[str]:
        """At most `limit` lines of warnings and errors that the JVM wrote after `position`. Never raises for an unreadable log,
        since callers use it while handling another error."""
        try:
            return self._warnings(position, limit)
        except OSError as error:
            return [f"The JVM's log can't be read: {error}"]

    def _warnings(self, position: int, limit: int) -> list[str]:
        warnings: list[str] = []
        with self._log.open("rb") as lines:
            lines.seek(position)
            for line in lines:
                if b" WARN " in line or b" ERROR " in line:
                    warnings.append(line.decode("utf-8", "replace").rstrip()[:1000])
                if len(warnings) == limit:
                    break
        return warnings

    def stop(self, *, seconds: float = 30) -> None:
        """Shuts the JVM down gracefully; kills its process group if that takes longer than `seconds`."""
        with self._lock:
            session, self._session = self._session, None
            try:
                if session is not None:
                    session.stop()
            except (Py4JError, ConnectionError):
                pass  # it is gone already
            self._end_process(seconds)
            self._forget()

    def kill(self) -> None:
        """Sends SIGKILL to the JVM's process group at once, from any thread."""
        if self._identity is not None:
            self._identity.kill_group()
        self._reap(10)

    def wait(self, seconds: float) -> None:
        """Waits for the JVM to exit by itself (it writes a class archive at its exit)."""
        self._reap(seconds)

    def _launch(self) -> None:
        self._prepare_scratch()
        properties = self._write_properties()
        with self._log.open("ab") as output, _environment(properties):
            gateway = launch_gateway(
                popen_kwargs={
                    "start_new_session": True,
                    "stdout": output,
                    "stderr": output,
                    "cwd": str(self._scratch),
                }
            )
        self._gateway = gateway
        self._identity = identify(gateway.proc.pid)
        if self._on_launch:
            self._on_launch(self._identity)

    def _prepare_scratch(self) -> None:
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("tmp", "blocks", "warehouse"):
            (self._scratch / name).mkdir(exist_ok=True)
        (self._scratch / "log4j2.properties").write_text(LOG4J)
        self._log.parent.mkdir(parents=True, exist_ok=True)

    def _write_properties(self) -> Path:
        """Writes the settings to a private file, since every user of the machine can read a process's arguments."""
        path = self._scratch / "spark.properties"
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            for key, value in self._conf.items():
                file.write(f"{_escaped(key, key=True)}={_escaped(value)}\n")
        return path

    def _make_session(self) -> SparkSession:
        context = SparkContext(gateway=self._gateway)
        self._drop_functions(context)
        return SparkSession(context)

    def _drop_functions(self, context: SparkContext) -> None:
        jvm: Any = context._jvm
        registry = (
            getattr(jvm, "org.apache.spark.sql.catalyst.analysis.FunctionRegistry$").__getattr__("MODULE$").builtin()
        )
        for name in DROPPED_FUNCTIONS:
            registry.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))

    def _end_process(self, seconds: float) -> None:
        if self._gateway is None:
            return
        self._gateway.shutdown()
        stdin = self._gateway.proc.stdin
        if stdin is not None:
            stdin.close()
        self._reap(seconds)
        if self._identity is not None:
            self._identity.kill_group()
        self._reap(10)

    def _reap(self, seconds: float) -> None:
        if self._gateway is None:
            return
        try:
            self._gateway.proc.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return

    def _forget(self) -> None:
        """Clears what SparkContext keeps in class attributes, so that a later start doesn't reuse it. One that a master refused stays there
        as the active one, though it never ran."""
        SparkContext._gateway = None
        SparkContext._jvm = None
        SparkContext._active_spark_context = None
        self._gateway = None


class _environment:
    """Sets the environment variables that launch_gateway and SparkContext read."""

    def __init__(self, properties: Path) -> None:
        self._arguments = f"--properties-file {properties} pyspark-shell"

    def __enter__(self) -> None:
        os.environ["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ["PYSPARK_SUBMIT_ARGS"] = self._arguments

    def __exit__(self, *_: object) -> None:
        del os.environ["PYSPARK_SUBMIT_ARGS"]


def _escaped(text: str, *, key: bool = False) -> str:
    """The text escaped for a Java properties file: ASCII, backslashes as \\uXXXX."""
    out = []
    for char in text:
        if char in "\\\n\r\t" or ord(char) > 126:
            units = char.encode("utf-16-be")
            out += [f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)]
        elif key and char in "=: #!":
            out.append("\\" + char)
        else:
            out.append(char)
    text = "".join(out)
    return "\\" + text if text.startswith(" ") else text

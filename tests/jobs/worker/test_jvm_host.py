"""The settings that a worker's JVM starts with."""

import socket
from collections.abc import Callable

import pytest

from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.engine.runtime import Runtime
from jobs.worker import jvm_host
from jobs.worker.jvm_host import SparkHost
from jobs.worker.precedence import GivingWay
from tests import clock


@pytest.mark.parametrize(
    ("kind", "mode"), [("spark", "FIFO"), ("streams", "FIFO"), ("interactive", "FAIR")], ids=lambda value: value
)
def test_each_kind_has_the_settings_of_its_name(monkeypatch, tmp_path, kind, mode):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta.jar").touch()
    monkeypatch.setattr(jvm_host, "TOOLS", tmp_path)
    conf = SparkHost(kind, f"{kind}@here")._conf()
    assert (conf["spark.app.name"], conf["spark.scheduler.mode"]) == (f"levee-{kind}", mode)


@pytest.mark.parametrize(("kind", "warms"), [("spark", True), ("interactive", True), ("streams", False)])
@pytest.mark.django_db
def test_a_worker_of_streams_doesnt_let_its_first_round_wait_for_a_warm_up(monkeypatch, tmp_path, kind, warms):
    done: list[str] = []

    class Engine:
        def __init__(self, runtime: object) -> None: ...

        def start(self) -> None:
            done.append("start")

        def warm_up(self, report: object, is_awaited: Callable[[], bool]) -> None:
            assert isinstance(report, GivingWay)
            assert not is_awaited()
            done.append("warm-up")

    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta.jar").touch()
    monkeypatch.setattr(jvm_host, "TOOLS", tmp_path)
    monkeypatch.setattr(jvm_host, "SparkEngine", Engine)
    SparkHost(kind, f"{kind}@here").start()
    assert done == ["warm-up" if warms else "start"]


@pytest.fixture
def jars(monkeypatch, tmp_path):
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta.jar").touch()
    monkeypatch.setattr(jvm_host, "TOOLS", tmp_path)


class Cold:
    """An engine that starts, and must not be warmed up."""

    def __init__(self, runtime: object) -> None: ...

    def start(self) -> None: ...


@pytest.fixture
def master(monkeypatch, tmp_path):
    """A port that takes connections, as a master's does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"spark://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("LEVEE_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("LEVEE_SPARK_MASTER", address)
        monkeypatch.setenv("LEVEE_SPARK_SECRET", "s" * 32)
        yield address


@pytest.mark.parametrize("kind", ["spark", "interactive", "streams"])
def test_a_driver_of_a_cluster_is_ready_without_executors(monkeypatch, jars, master, kind):
    monkeypatch.setattr(jvm_host, "SparkEngine", Cold)
    host = SparkHost(kind, f"{kind}@here")
    assert isinstance(host.start(), Cold)
    assert host.waiting == ""


def test_a_master_that_is_away_is_asked_again_and_named_meanwhile(monkeypatch, jars, tmp_path):
    server = socket.socket()
    server.bind(("127.0.0.1", 0))  # nobody else gets the port, and until it listens it refuses connections
    port = server.getsockname()[1]
    monkeypatch.setenv("LEVEE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LEVEE_SPARK_MASTER", f"spark://127.0.0.1:{port}")
    monkeypatch.setenv("LEVEE_SPARK_SECRET", "s" * 32)
    monkeypatch.setattr(jvm_host, "SparkEngine", Cold)
    host = SparkHost("spark", "spark@here")
    seen: list[str] = []

    def pause(seconds: float) -> None:
        seen.append(host.waiting)
        if len(seen) == 2:
            server.listen()

    clock.replace(monkeypatch, "jobs.worker.jvm_host", sleep=pause)
    with server:
        host.start()
    away = f"LEVEE_SPARK_MASTER: spark://127.0.0.1:{port} doesn't answer (Connection refused); tried again every 5 s"
    assert (seen, host.waiting) == ([away, away], "")


def test_a_master_that_refuses_is_told_by_spark_s_log_alone(monkeypatch, jars, master):
    """Spark's exception says only that its context was stopped."""
    starts: list[str] = []

    class Refused(Cold):
        def __init__(self, runtime: Runtime) -> None:
            self.runtime = runtime

        def start(self) -> None:
            starts.append("start")
            if len(starts) == 1:
                log = self.runtime._log
                log.parent.mkdir(parents=True)
                log.write_text(
                    f"2026-01-01T00:00:00.000Z WARN ClientEndpoint: Failed to connect to master {master.removeprefix('spark://')}\n"
                )
                raise EngineFailed(EngineFailure(None, None, "Cannot call methods on a stopped SparkContext"))
            if len(starts) == 2:
                raise EngineFailed(EngineFailure(None, None, "no Java here"))

    waited: list[str] = []
    monkeypatch.setattr(jvm_host, "SparkEngine", Refused)
    host = SparkHost("spark", "spark@here")
    clock.replace(monkeypatch, "jobs.worker.jvm_host", sleep=lambda _: waited.append(host.waiting))
    with pytest.raises(EngineFailed, match="no Java here"):
        host.start()
    assert len(waited) == 1
    assert waited[0].startswith(f"LEVEE_SPARK_MASTER: {master} answers, and refuses this worker: its secret isn't")


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        (["Failed to connect to master a:7077"], False),
        (["Failed to connect to master a:7077", "Failed to connect to master b:70771"], False),
        (["Failed to connect to master a:7077", "Failed to connect to master b:7077"], True),
        (["All masters are unresponsive! Giving up."], True),
    ],
)
def test_of_a_list_of_masters_each_must_have_refused(tmp_path, lines, refused):
    class Log(Runtime):
        def warnings_since(self, position: int, limit: int = 50) -> list[str]:
            return [str(line) for line in lines]

    host = SparkHost("spark", "spark@here")
    host._runtime = Log({}, scratch=tmp_path, log=tmp_path / "jvm.log")
    assert host._was_refused("spark://a:7077,b:7077") is refused


def test_a_start_that_hangs_says_no_longer_that_it_waits(monkeypatch, jars, master):
    """The supervisor takes that text for a reason not to end the worker."""
    said: list[str] = []

    class Slow(Cold):
        def start(self) -> None:
            said.append(host.waiting)

    monkeypatch.setattr(jvm_host, "SparkEngine", Slow)
    host = SparkHost("spark", "spark@here")
    host.waiting = "LEVEE_SPARK_MASTER: was away"
    host.start()
    assert said == [""]

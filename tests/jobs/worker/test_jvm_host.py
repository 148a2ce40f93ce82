"""The settings that a worker's JVM starts with."""

import pytest

from jobs.worker import jvm_host
from jobs.worker.jvm_host import SparkHost


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
def test_a_worker_of_streams_doesnt_let_its_first_round_wait_for_a_warm_up(monkeypatch, tmp_path, kind, warms):
    done: list[str] = []

    class Engine:
        def __init__(self, runtime: object) -> None: ...

        def start(self) -> None:
            done.append("start")

        def warm_up(self) -> None:
            done.append("warm-up")

    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta.jar").touch()
    monkeypatch.setattr(jvm_host, "TOOLS", tmp_path)
    monkeypatch.setattr(jvm_host, "SparkEngine", Engine)
    SparkHost(kind, f"{kind}@here").start()
    assert done == ["warm-up" if warms else "start"]

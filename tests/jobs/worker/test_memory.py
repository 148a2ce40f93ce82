"""What a process may have of its machine's memory, by control groups of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.worker.memory import limit_bytes, machine_bytes

GIB = 1 << 30


@pytest.fixture
def limit(tmp_path: Path):
    """The limit of a process in these groups, with these files below the mount."""

    def told(groups: str, files: dict[str, str]) -> int | None:
        own, mount = tmp_path / "cgroup", tmp_path / "mount"
        own.write_text(groups)
        for name, text in files.items():
            (mount / name).parent.mkdir(parents=True, exist_ok=True)
            (mount / name).write_text(text)
        return limit_bytes(own, mount)

    return told


@pytest.fixture(autouse=True)
def _of_a_large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.worker.memory.machine_bytes", lambda: 64 * GIB)


def test_version_2_inside_a_container_and_on_its_host(limit) -> None:
    assert limit("0::/\n", {"memory.max": f"{2 * GIB}\n"}) == 2 * GIB
    above = {"memory.max": "max\n", "a.slice/memory.max": f"{6 * GIB}\n", "a.slice/b/memory.max": "max\n"}
    assert limit("0::/a.slice/b\n", above) == 6 * GIB, "that of the group above counts"


def test_version_1_inside_a_container_and_on_its_host(limit) -> None:
    inside = {"memory/memory.limit_in_bytes": f"{3 * GIB}\n"}
    assert limit("4:memory:/docker/abc\n0::/\n", inside) == 3 * GIB, "the host's name of the group isn't mounted"
    assert limit("4:memory:/x\n", {"memory/x/memory.limit_in_bytes": f"{GIB}\n"}) == GIB


@pytest.mark.parametrize(
    ("groups", "files"),
    [
        ("0::/\n", {"memory.max": "max\n"}),
        ("0::/\n", {}),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}),
        ("0::/\n", {"memory.max": f"{65 * GIB}\n"}),
        ("2:pids:/\n", {"memory.max": f"{GIB}\n"}),
    ],
)
def test_no_limit_is_none(limit, groups: str, files: dict[str, str]) -> None:
    assert limit(groups, files) is None


def test_a_machine_without_control_groups_has_no_limit(tmp_path: Path) -> None:
    assert limit_bytes(tmp_path / "missing", tmp_path) is None
    assert machine_bytes() > 0

"""A pid means a process only together with the boot and the pid namespace that it counts in."""

import subprocess
import sys

import pytest

from console.base.processes import boot_id, is_same_boot

TELL = "from console.base.processes import boot_id; print(boot_id())"


def told_in_a_namespace():
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", TELL]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_container_of_the_same_boot_has_an_id_of_its_own():
    told = told_in_a_namespace()
    if told.returncode:
        pytest.skip(f"this machine lets nobody make a pid namespace: {told.stderr.strip()}")
    assert told.stdout.strip() != boot_id()
    assert is_same_boot(told.stdout.strip(), boot_id())


def test_one_namespace_has_one_id():
    assert boot_id() == boot_id()
    assert not is_same_boot(boot_id(), "another boot")

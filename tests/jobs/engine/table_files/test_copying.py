"""A task that copies files, where it runs: in a Python process without a copy of Levee."""

import subprocess
import sys
from functools import partial

from pyspark import cloudpickle

from jobs.engine.table_files.copying import CopyOrder, _copied
from tables.storage.local.tree import LocalReach
from tables.storage.s3.buckets import ObjectStoreOptions
from tables.storage.s3.tree import Bucket

TASK = """
import pickle, sys
task = pickle.load(sys.stdin.buffer)
(copied,) = task([("a.parquet", "b.parquet", None)])
assert not {"jobs", "tables"} & set(sys.modules)
print(copied.fault, copied.missing, sep="|")
"""


def faults_of(order, cwd):
    """What a task says, in a process that finds no module of Levee."""
    task = cloudpickle.dumps(partial(_copied, order=order))
    done = subprocess.run([sys.executable, "-I", "-c", TASK], input=task, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_request_that_obstore_gives_up_by_a_panic_is_the_store_s_fault(tmp_path):
    settings = ObjectStoreOptions("lake", endpoint="http://host.7", key_id="key", secret="secret").for_obstore()
    bucket = Bucket("lake", settings)  # requests go to what is no host
    (tmp_path / "a.parquet").write_bytes(b"x")
    for order in (
        CopyOrder("s3://lake/t", str(tmp_path), bucket, LocalReach()),
        CopyOrder(str(tmp_path), "s3://lake/t", LocalReach(), bucket),
    ):
        assert faults_of(order, tmp_path) == "a.parquet: the object store refused it (Panicked)|False"

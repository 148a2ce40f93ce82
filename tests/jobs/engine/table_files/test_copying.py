"""Tasks that copy files or walk them, where they run: in a Python process without a copy of Levee."""

import subprocess
import sys
from functools import partial

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle

from jobs.engine import survey  # noqa: F401 - what registers the modules of a walk
from jobs.engine.table_files.copying import CopyOrder, _copied
from jobs.engine.walk import WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach
from tables.storage.s3.options import S3Options

TASK = """
import pickle, sys
task = pickle.load(sys.stdin.buffer)
(copied,) = task([("a.parquet", "b.parquet", None)])
assert not {"jobs", "tables"} & set(sys.modules)
print(copied.fault, copied.missing, sep="|")
"""


WALK = """
import pickle, sys
found = pickle.load(sys.stdin.buffer)()
assert not {"jobs", "tables"} & set(sys.modules)
print(found.total("files"), found.total("rows"))
"""


def faults_of(order, cwd):
    """What a task says, in a process that finds no module of Levee."""
    task = cloudpickle.dumps(partial(_copied, order=order))
    done = subprocess.run([sys.executable, "-I", "-c", TASK], input=task, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_request_that_obstore_gives_up_by_a_panic_is_the_store_s_fault(tmp_path):
    bucket = S3Options(
        "lake", endpoint="http://host.7", key_id="key", secret="secret"
    ).for_tasks()  # requests go to what is no host
    (tmp_path / "a.parquet").write_bytes(b"x")
    for order in (
        CopyOrder("s3://lake/t", str(tmp_path), bucket, LocalReach()),
        CopyOrder(str(tmp_path), "s3://lake/t", LocalReach(), bucket),
    ):
        assert faults_of(order, tmp_path) == "a.parquet: the object store refused it (Panicked)|False"


def test_a_copy_within_a_bucket_that_came_out_shorter_is_a_fault(monkeypatch):
    """Of a deletion vector's file the log says no size: the store is asked for that of its source."""
    bucket = S3Options("lake", key_id="key", secret="secret").for_tasks()
    monkeypatch.setattr(obstore, "copy", lambda *_: None)
    monkeypatch.setattr(obstore, "head", lambda _store, key: {"size": 7 if key == "t/a" else 3})
    (copied,) = _copied([("a", "b", None)], CopyOrder("s3://lake/t", "s3://lake/u", bucket, bucket))
    assert copied.fault == "a: 3 bytes were copied of 7"


def test_a_walk_of_a_task_needs_no_copy_of_levee(tmp_path):
    (tmp_path / "p=1").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "p=1" / "a.parquet")
    order = WalkOrder(str(tmp_path), True, (("p", "int"),), LocalReach())
    task = cloudpickle.dumps(partial(scan, [WorkShare(tree="")], order))
    done = subprocess.run(
        [sys.executable, "-I", "-c", WALK], input=task, cwd=tmp_path, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout.decode().strip()) == (0, "1 1"), done.stderr.decode()

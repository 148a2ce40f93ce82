"""One cluster and one Levee with a worker on it, for all tests that need them."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests import s3
from tests.cluster import standalone
from tests.cluster.asked import QUIET_S, TIMING, settings
from tests.jobs.instance import opened


@pytest.fixture(scope="package")
def folder():
    made = Path(tempfile.mkdtemp(prefix="levee-cluster-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="package")
def cluster(folder):
    (folder / "cluster").mkdir()
    with standalone.running(folder / "cluster") as made:
        yield made


@pytest.fixture(scope="package")
def instance(folder, cluster):
    (folder / "instance").mkdir()
    with opened(folder / "instance", TIMING, engine="spark") as made:
        made.add_dispatcher()
        made.add_worker(**settings(cluster))
        made.wait_ready(quiet_s=QUIET_S)
        yield made


@pytest.fixture(scope="module")
def store():
    with s3.serving() as served, s3.a_bucket(*served) as bucket:
        yield bucket

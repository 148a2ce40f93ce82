"""What the JVM is told of a bucket, when, and what becomes of the connection that it has: without a JVM."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jobs.engine.object_stores import settings as bucket_settings
from jobs.engine.object_stores.settings import BucketSettings, s3a_settings
from jobs.engine.storage import Unreachable
from tables.deltalog.read import object_stores
from tables.deltalog.read.object_stores import ObjectStoreOptions

LAKE = ObjectStoreOptions("lake", endpoint="http://127.0.0.1:9000", key_id="id", secret="hidden")
PATH = "s3://lake/orders"


class Jvm:
    """Hadoop's configuration, and the connections that were closed."""

    def __init__(self):
        self.values: dict[str, str] = {}
        self.closed: list[str] = []
        files = SimpleNamespace(get=lambda uri, _: SimpleNamespace(close=lambda: self.closed.append(uri)))
        java = SimpleNamespace(net=SimpleNamespace(URI=SimpleNamespace(create=str)))
        hadoop = SimpleNamespace(fs=SimpleNamespace(FileSystem=files))
        self._jvm = SimpleNamespace(java=java, org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop)))
        conf = SimpleNamespace(set=self.values.__setitem__, unset=lambda key: self.values.pop(key, None))
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: conf))


@pytest.fixture
def described(monkeypatch):
    known = {"lake": LAKE}
    monkeypatch.setattr(object_stores, "_lookup", known.get)
    return known


def own(settings):
    return {key.removeprefix("fs.s3a.bucket.lake."): value for key, value in settings.items()}


def test_a_store_of_one_s_own_is_reached_by_its_address_and_key():
    told = own(s3a_settings(LAKE))
    assert told["endpoint"] == "http://127.0.0.1:9000"
    assert (told["path.style.access"], told["connection.ssl.enabled"]) == ("true", "false")
    assert (told["access.key"], told["secret.key"]) == ("id", "hidden")
    assert told["aws.credentials.provider"] == bucket_settings.GIVEN_KEY


def test_a_store_that_is_gone_or_overloaded_is_given_a_minute():
    """Hadoop pauses twice as long before each retry as before the one before, from twice the interval on, half as long again at most."""
    told = own(s3a_settings(LAKE))
    for kind in ("retry", "retry.throttle"):
        pauses = [
            int(told[f"{kind}.interval"].removesuffix("ms")) * 2**n for n in range(1, int(told[f"{kind}.limit"]) + 1)
        ]
        assert 5_000 < sum(pauses) * 1.5 < 60_000


def test_a_token_takes_the_provider_that_reads_it():
    told = own(s3a_settings(replace(LAKE, token="t", endpoint="https://s3.example")))
    assert (told["session.token"], told["connection.ssl.enabled"]) == ("t", "true")
    assert told["aws.credentials.provider"] == bucket_settings.GIVEN_TOKEN


def test_without_a_key_s3a_looks_for_the_process_s_own_identity():
    told = own(s3a_settings(ObjectStoreOptions("lake", region="eu-west-1", path_style=False)))
    assert (told["endpoint.region"], told["path.style.access"]) == ("eu-west-1", "false")
    assert not told.keys() & {"endpoint", "access.key", "secret.key", "session.token", "aws.credentials.provider"}


def test_a_local_path_tells_the_jvm_nothing(described):
    jvm = Jvm()
    with BucketSettings().reaching(jvm, ["/lake/orders", ""]):
        assert jvm.values == {}


def test_a_bucket_named_hdfs_leaves_hdfs_its_patience(described):
    described["hdfs"] = replace(LAKE, bucket="hdfs")
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, ["s3://hdfs/orders"]), settings.reaching(jvm, ["hdfs://nn:8020/lake"]):
        assert jvm.values.items() >= bucket_settings.HDFS_PATIENCE.items()
    jvm.values.clear()
    with settings.reaching(jvm, ["s3://hdfs/orders", "hdfs://nn:8020/lake"]):
        assert (jvm.values, jvm.closed) == ({}, [])


def test_a_bucket_is_told_once_and_its_connection_closed_only_for_another_description(described):
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [PATH, "s3://lake/other"]):
        assert jvm.values["fs.s3a.bucket.lake.access.key"] == "id"
        assert jvm.values["fs.s3.impl"] == bucket_settings.S3A
    jvm.values.clear()
    with settings.reaching(jvm, [PATH]):
        assert (jvm.values, jvm.closed) == ({}, [])
    described["lake"] = replace(LAKE, key_id="", secret="")
    jvm.values["fs.s3a.bucket.lake.access.key"] = "id"
    with settings.reaching(jvm, [PATH]):
        assert "fs.s3a.bucket.lake.access.key" not in jvm.values
        assert jvm.closed == ["s3://lake/", "s3a://lake/"]


def test_work_under_the_old_description_may_end_before_its_connection_closes(described):
    jvm, settings = Jvm(), BucketSettings()
    inside, go_on = threading.Event(), threading.Event()

    def work():
        with settings.reaching(jvm, [PATH]):
            inside.set()
            assert go_on.wait(10)
            assert jvm.closed == []

    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(10)
    described["lake"] = replace(LAKE, key_id="new")
    threading.Timer(0.2, go_on.set).start()
    with settings.reaching(jvm, [PATH]):
        assert not worker.is_alive() or go_on.is_set()
        assert jvm.closed == ["s3://lake/", "s3a://lake/"]
    worker.join(10)


def test_work_that_doesn_t_end_keeps_no_one_from_the_new_key_for_ever(described, monkeypatch):
    monkeypatch.setattr(bucket_settings, "GRACE_SECONDS", 0.05)
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        described["lake"] = replace(LAKE, key_id="new")
        with settings.reaching(jvm, [PATH]):
            assert jvm.values["fs.s3a.bucket.lake.access.key"] == "new"


def test_a_bucket_that_no_root_describes_is_unreachable(described):
    jvm = Jvm()
    with pytest.raises(Unreachable, match="no root says"), BucketSettings().reaching(jvm, ["s3://other/x"]):
        pass
    assert jvm.values == {}


def test_two_that_wait_for_the_old_work_don_t_wait_for_each_other(described):
    jvm, settings = Jvm(), BucketSettings()
    inside = threading.Barrier(3)  # passed only when both work at once
    old = settings.reaching(jvm, [PATH])
    old.__enter__()
    described["lake"] = replace(LAKE, key_id="new")

    def work():
        with settings.reaching(jvm, [PATH]):
            inside.wait(10)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(0.2)  # both wait by now
    old.__exit__(None, None, None)
    inside.wait(10)
    for worker in workers:
        worker.join(10)

"""What the JVM is told of a bucket, when, and what becomes of the connection that it has: without a JVM."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jobs.domain.errors import EngineLost
from jobs.engine.object_stores import settings as bucket_settings
from jobs.engine.object_stores.settings import BucketSettings
from tables.storage.gcs.account import Account
from tables.storage.gcs.options import GcsOptions
from tables.storage.hdfs.kind import HDFS
from tables.storage.objects import buckets as object_stores
from tables.storage.s3 import hadoop
from tables.storage.s3.options import S3Options
from tables.storage.trees import Unreachable

LAKE = S3Options("lake", endpoint="http://127.0.0.1:9000", key_id="id", secret="hidden")
PATH = "s3://lake/orders"


class Jvm:
    """Hadoop's configuration, the connections that were closed, and the executors that the cluster was told to end."""

    def __init__(self, master="local[2]", executors=(), answers=True):
        self.values: dict[str, str] = {}
        self.closed: list[str] = []
        self.ended: list[tuple[str, ...]] = []
        self.active, self.answers, self.logs_forgotten = tuple(executors), answers, 0
        self.open: dict[str, dict[str, str]] = {}
        self.before_opening = lambda uri: None
        files = SimpleNamespace(get=lambda uri, _: self._files(uri))
        java = SimpleNamespace(net=SimpleNamespace(URI=SimpleNamespace(create=str)))
        log = SimpleNamespace(DeltaLog=SimpleNamespace(clearCache=self._forget))
        spark = SimpleNamespace(sql=SimpleNamespace(delta=log))
        hadoop = SimpleNamespace(fs=SimpleNamespace(FileSystem=files))
        self._jvm = SimpleNamespace(java=java, org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop, spark=spark)))
        conf = SimpleNamespace(set=self.values.__setitem__, unset=lambda key: self.values.pop(key, None))
        jsc = SimpleNamespace(
            hadoopConfiguration=lambda: conf, sc=lambda: SimpleNamespace(schedulerBackend=lambda: self)
        )
        self.sparkContext = SimpleNamespace(_jsc=jsc, master=master)

    def _files(self, uri):
        if uri not in self.open:
            self.before_opening(uri)
        settings = self.open.setdefault(uri, dict(self.values))
        conf = SimpleNamespace(getRaw=settings.get)
        return SimpleNamespace(getConf=lambda: conf, close=lambda: self._close(uri))

    def _close(self, uri):
        self.closed.append(uri)
        del self.open[uri]

    def _forget(self):
        self.logs_forgotten += 1

    # Spark's scheduler of a cluster: one that was told to end an executor counts it as there until it is gone.

    def getExecutorIds(self):
        return Seq(self.active)

    def isExecutorActive(self, executor):
        return not any(executor in ended for ended in self.ended)

    def killExecutors(self, executors, adjust, count, force):
        assert (adjust, count, force) == (False, False, True)
        ended = tuple(each for each in executors.values if self.isExecutorActive(each))
        self.ended.append(ended)
        return Seq(ended if self.answers else ())


class Seq:
    """One of Scala's."""

    def __init__(self, values):
        self.values = values

    def size(self):
        return len(self.values)

    def apply(self, number):
        return self.values[number]


@pytest.fixture
def described(monkeypatch):
    known = {"lake": LAKE}
    monkeypatch.setattr(object_stores, "_lookup", lambda prefix: known.get(prefix.removeprefix("s3://")))
    return known


def own(options):
    told = options.for_hadoop().values
    return {key.removeprefix("fs.s3a.bucket.lake."): value for key, value in told.items()}


def test_a_store_of_one_s_own_is_reached_by_its_address_and_key():
    told = own(LAKE)
    assert told["endpoint"] == "http://127.0.0.1:9000"
    assert (told["path.style.access"], told["connection.ssl.enabled"]) == ("true", "false")
    assert (told["access.key"], told["secret.key"]) == ("id", "hidden")
    assert told["aws.credentials.provider"] == hadoop.GIVEN_KEY


def test_a_store_that_is_gone_or_overloaded_is_given_a_minute():
    """Hadoop pauses twice as long before each retry as before the one before, from twice the interval on, half as long again at most."""
    told = own(LAKE)
    for kind in ("retry", "retry.throttle"):
        pauses = [
            int(told[f"{kind}.interval"].removesuffix("ms")) * 2**n for n in range(1, int(told[f"{kind}.limit"]) + 1)
        ]
        assert 5_000 < sum(pauses) * 1.5 < 60_000


def test_a_token_takes_the_provider_that_reads_it():
    told = own(replace(LAKE, token="t", endpoint="https://s3.example"))
    assert (told["session.token"], told["connection.ssl.enabled"]) == ("t", "true")
    assert told["aws.credentials.provider"] == hadoop.GIVEN_TOKEN


def test_without_a_key_s3a_looks_for_the_process_s_own_identity():
    told = own(S3Options("lake", region="eu-west-1", path_style=False))
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
        assert jvm.values.items() >= HDFS.hadoop.items()
    jvm.values.clear()
    with settings.reaching(jvm, ["s3://hdfs/orders", "hdfs://nn:8020/lake"]):
        assert (jvm.values, jvm.closed) == ({}, [])


def test_a_bucket_is_told_once_and_its_connection_closed_only_for_another_description(described):
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [PATH, "s3://lake/other"]):
        assert jvm.values["fs.s3a.bucket.lake.access.key"] == "id"
        assert jvm.values["fs.s3.impl"] == hadoop.S3A
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
            assert go_on.wait(60)
            assert jvm.closed == []

    worker = threading.Thread(target=work)
    worker.start()
    assert inside.wait(60)
    described["lake"] = replace(LAKE, key_id="new")
    threading.Timer(0.2, go_on.set).start()
    with settings.reaching(jvm, [PATH]):
        assert not worker.is_alive() or go_on.is_set()
        assert jvm.closed == ["s3://lake/", "s3a://lake/"]
    worker.join(60)


def test_work_that_doesn_t_end_keeps_no_one_from_the_new_key_for_ever(described, monkeypatch):
    monkeypatch.setattr(bucket_settings, "GRACE_SECONDS", 0.05)
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        described["lake"] = replace(LAKE, key_id="new")
        with settings.reaching(jvm, [PATH]):
            assert jvm.values["fs.s3a.bucket.lake.access.key"] == "new"


def test_executors_of_a_cluster_are_replaced_for_another_description_and_for_no_first_one(described):
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0", "1"]), BucketSettings()
    for _ in range(2):
        with settings.reaching(jvm, [PATH]):
            assert (jvm.ended, jvm.logs_forgotten) == ([], 0)
    described["lake"] = replace(LAKE, key_id="new")
    for _ in range(2):
        with settings.reaching(jvm, [PATH]):
            assert (jvm.ended, jvm.logs_forgotten) == ([("0", "1")], 1)
    jvm.active = ("1", "2")  # of which the first is still ending
    described["lake"] = replace(LAKE, key_id="newest")
    with settings.reaching(jvm, [PATH]):
        assert jvm.ended == [("0", "1"), ("2",)]


def test_work_that_outlives_the_grace_takes_the_executors_along_that_its_tasks_were_the_first_on(
    described, monkeypatch
):
    monkeypatch.setattr(bucket_settings, "GRACE_SECONDS", 0.05)
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"]), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        described["lake"] = replace(LAKE, key_id="new")
        with settings.reaching(jvm, [PATH]):
            assert jvm.ended == [("0",)]
            jvm.active = ("1",)
        assert jvm.ended == [("0",)], "it has the new one"
    assert jvm.ended == [("0",)], "its own outcome doesn't wait for the cluster"
    with settings.reaching(jvm, [PATH]):
        assert jvm.ended == [("0",), ("1",)]
    with settings.reaching(jvm, [PATH]):
        assert len(jvm.ended) == 2


def test_a_cluster_that_replaces_nothing_ends_this_spark(described):
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"], answers=False), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        pass
    described["lake"] = replace(LAKE, key_id="new")
    with pytest.raises(EngineLost, match="didn't replace the executors"), settings.reaching(jvm, [PATH]):
        pass


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
            inside.wait(60)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(0.2)  # both wait by now
    old.__exit__(None, None, None)
    inside.wait(60)
    for worker in workers:
        worker.join(60)


KEY = "fs.s3a.bucket.lake.access.key"


@pytest.fixture
def brief_grace(monkeypatch):
    monkeypatch.setattr(bucket_settings, "GRACE_SECONDS", 0.05)


def straggler_ends(straggler, jvm):
    """Its work has its outcome, and Spark has been stopped."""
    jsc, jvm.sparkContext._jsc = jvm.sparkContext._jsc, None
    try:
        return straggler.__exit__(None, None, None)
    finally:
        jvm.sparkContext._jsc = jsc


def test_what_the_work_has_come_to_stands_where_the_cluster_or_spark_is_gone(described, brief_grace):
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"]), BucketSettings()
    straggler = settings.reaching(jvm, [PATH])
    straggler.__enter__()
    described["lake"] = replace(LAKE, key_id="new")
    with settings.reaching(jvm, [PATH]):
        pass
    jvm.active, jvm.answers = ("1",), False
    assert not straggler_ends(straggler, jvm)
    with pytest.raises(EngineLost), settings.reaching(jvm, [PATH]):
        pass


def test_of_many_that_outlive_the_grace_the_last_takes_the_executors_along(described, brief_grace):
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"]), BucketSettings()
    first, last = settings.reaching(jvm, [PATH]), settings.reaching(jvm, [PATH])
    first.__enter__()
    last.__enter__()
    described["lake"] = replace(LAKE, key_id="new")
    for straggler, ended in ((first, [("0",)]), (last, [("0",)]), (None, [("0",), ("1",)])):
        with settings.reaching(jvm, [PATH]):
            assert jvm.ended == ended
        jvm.active = ("1",)
        if straggler:
            straggler.__exit__(None, None, None)


def test_while_the_cluster_is_asked_others_come_and_go(described, brief_grace, monkeypatch):
    described["other"] = replace(LAKE, bucket="other")
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"]), BucketSettings()
    asked, answer = threading.Event(), threading.Event()
    kill = jvm.killExecutors

    def slowly(*given):
        asked.set()
        assert answer.wait(60)
        return kill(*given)

    def work(paths):
        with settings.reaching(jvm, paths):
            pass

    monkeypatch.setattr(jvm, "killExecutors", slowly)
    straggler = settings.reaching(jvm, [PATH])
    straggler.__enter__()
    described["lake"] = replace(LAKE, key_id="new")
    rotating = threading.Thread(target=work, args=[[PATH]])
    rotating.start()
    assert asked.wait(60)
    others = [
        threading.Thread(target=work, args=[["s3://other/x"]], daemon=True),
        threading.Thread(target=straggler.__exit__, args=[None, None, None], daemon=True),
    ]
    for other in others:
        other.start()
    for other in others:
        other.join(20)
    held = [other.is_alive() for other in others]
    answer.set()
    rotating.join(60)
    assert held == [False, False]


def test_after_a_description_that_failed_halfway_the_old_one_is_applied_again(described):
    jvm, settings = Jvm("spark://127.0.0.1:7077", ["0"]), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        pass
    described["lake"] = replace(LAKE, key_id="new")
    jvm.answers = False
    with pytest.raises(EngineLost), settings.reaching(jvm, [PATH]):
        pass
    assert jvm.values[KEY] == "new"
    described["lake"], jvm.active, jvm.answers = LAKE, ("1",), True
    with settings.reaching(jvm, [PATH]):
        assert (jvm.values[KEY], jvm.open["s3://lake/"][KEY], jvm.ended[-1]) == ("id", "id", ("1",))


@pytest.mark.parametrize("times", [2, 100])
def test_a_connection_that_older_work_opens_with_the_old_key_is_closed_again(described, times):
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [PATH]):
        old = dict(jvm.values)
    described["lake"] = replace(LAKE, key_id="new")
    left = [old] * times

    def older_work(uri):
        if left:
            jvm.open[uri] = left.pop()

    jvm.before_opening = older_work
    if times == 2:
        with settings.reaching(jvm, [PATH]):
            assert {opened[KEY] for opened in jvm.open.values()} == {"new"}
    else:
        with pytest.raises(Unreachable, match="key of before"), settings.reaching(jvm, [PATH]):
            pass


GOOGLES = "fs.gs.auth.service.account.private.key.id"
FIRST, SECOND = (Account(f"{name}@x", f"{name}-key", "-") for name in ("first", "second"))


@pytest.fixture
def google(monkeypatch):
    """Two buckets of Google's, which Hadoop has one description for."""
    known = {f"gs://{name}": GcsOptions(name, account=FIRST) for name in ("a", "b")}
    monkeypatch.setattr(object_stores, "_lookup", known.get)
    return known


def connected(jvm):
    return {uri: settings[GOOGLES] for uri, settings in jvm.open.items()}


def test_where_one_description_counts_for_all_buckets_a_new_one_reopens_all_of_them(google):
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, ["gs://a/x", "gs://b/x"]):
        assert (jvm.values[GOOGLES], jvm.closed) == ("first-key", [])
    for name in ("a", "b"):
        google[f"gs://{name}"] = GcsOptions(name, account=SECOND)
    with settings.reaching(jvm, ["gs://a/x"]):
        assert connected(jvm) == {"gs://a/": "second-key", "gs://b/": "second-key"}
    closed = list(jvm.closed)
    with settings.reaching(jvm, ["gs://b/x"]):
        assert (jvm.closed, connected(jvm)["gs://b/"]) == (closed, "second-key")


def test_an_endpoint_of_its_own_doesn_t_stay_for_the_next_description(google):
    google["gs://a"] = GcsOptions("a", "http://127.0.0.1:9", SECOND)
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, ["gs://a/x"]):
        assert jvm.values["fs.gs.storage.root.url"] == "http://127.0.0.1:9/"
    google["gs://a"] = GcsOptions("a", account=FIRST)
    with settings.reaching(jvm, ["gs://a/x"]):
        assert "fs.gs.storage.root.url" not in jvm.values

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import obstore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from tables.rules.locations import (
    InvalidRoot,
    NoSuchDirectory,
    OutsideRoots,
    PlaceUnreadable,
    canonical,
    refuse_home,
    resolve,
    root_uri,
)
from tables.storage.hdfs.client import NameNode
from tables.storage.objects import buckets as object_stores


@dataclass(frozen=True)
class Root:
    uri: str


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    for name in ("orders", "50% off", "a*b", "lakeside", "orders/day=2026-01-01"):
        (lake / name).mkdir(parents=True)
    (lake / "file.txt").write_text("no directory")
    (tmp_path / "lake2" / "secret").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    return lake


def found(text: str, *roots: Path | str) -> str:
    return resolve(text, [Root(str(root)) for root in roots]).path


@pytest.mark.parametrize(
    "spelling", ["{0}/orders", "{0}/orders/", "{0}//orders", "{0}/./orders", "file:{0}/orders", "file://{0}/orders"]
)
def test_one_directory_has_one_canonical_path(lake: Path, spelling: str) -> None:
    assert found(spelling.format(lake), lake) == f"{lake}/orders"


@pytest.mark.parametrize("name", ["50% off", "a*b", "orders/day=2026-01-01"])
def test_a_name_is_taken_literally(lake: Path, name: str) -> None:
    assert found(f"{lake}/{name}", lake) == f"{lake}/{name}"


def test_nothing_is_percent_decoded(lake: Path) -> None:
    with pytest.raises(NoSuchDirectory):
        found(f"file:{lake}/50%25%20off", lake)


def test_the_root_itself_is_inside(lake: Path) -> None:
    location = resolve(str(lake), [Root(str(lake))])
    assert location.path == str(lake)
    assert location.below == ()
    assert location.uri == f"file:{lake}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "orders",
        "./orders",
        "../lake/orders",
        "~",
        "{0}/../outside",
        "{0}/orders/..",
        "{0}2",
        "{0}2/secret",
        "{0}/or*",
        "{0}/{{orders,x}}",
        "{0}/[o]rders",
        "{0}/order?",
        "s3a://lake/orders",
        "hdfs://{0}",
        "file://host{0}/orders",
        "file:orders",
        "{0}/orders\x00",
        "{0}/or\nders",
        "{0}/\udcff",
        "http://{0}/orders",
        "/",
        "//",
        "/etc",
        "{0}/" + "x" * 5000,
        "{0}/" + "é" * 1000,
        "FILE:..",
        "dbfs:{0}",
        "jar:file:{0}!/x",
    ],
)
def test_it_refuses_what_is_not_below_a_root(lake: Path, text: str) -> None:
    with pytest.raises(OutsideRoots):
        found(text.format(lake), lake)


@pytest.mark.parametrize("name", ["nothing", "file.txt", "orders/nothing", "file.txt/below", "x" * 300])
def test_it_says_when_no_directory_is_there(lake: Path, name: str) -> None:
    with pytest.raises(NoSuchDirectory):
        found(f"{lake}/{name}", lake)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT])
def test_a_directory_that_does_not_answer_is_not_missing(
    lake: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = os.open

    def failing(path: str, flags: int, dir_fd: int | None = None) -> int:
        if path == "orders":
            raise OSError(number, os.strerror(number), path)
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(PlaceUnreadable, match=os.strerror(number)):
        found(f"{lake}/orders", lake)


@pytest.mark.parametrize("target", ["../outside", "orders", "/etc", "loop", "."])
def test_it_refuses_links_below_a_root(lake: Path, target: str) -> None:
    (lake / "loop").symlink_to(target)
    with pytest.raises(OutsideRoots):
        found(f"{lake}/loop", lake)
    with pytest.raises(OutsideRoots):
        found(f"{lake}/loop/orders", lake)


def test_the_links_of_a_root_are_resolved_once_when_it_is_registered(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(lake)
    root = root_uri(f"{tmp_path}/alias")
    assert found(f"{lake}/orders", root) == f"{lake}/orders"
    with pytest.raises(OutsideRoots):
        found(f"{tmp_path}/alias/orders", root)


def test_a_root_that_became_a_link_leads_nowhere(lake: Path, tmp_path: Path) -> None:
    """One root may lie in another, below which others may write."""
    roots = [lake, lake / "orders"]
    (lake / "orders").rename(tmp_path / "moved")
    (lake / "orders").symlink_to(tmp_path / "moved")
    for path in (f"{lake}/orders", f"{lake}/orders/day=2026-01-01"):
        with pytest.raises(OutsideRoots, match="link"):
            found(path, *roots)


def test_the_innermost_root_owns_a_path(lake: Path) -> None:
    location = resolve(f"{lake}/orders", [Root(str(lake)), Root(f"{lake}/orders")])
    assert location.root.uri == f"{lake}/orders"


def test_a_root_one_may_not_see_is_outside_also_inside_another(lake: Path) -> None:
    roots = [Root(str(lake)), Root(f"{lake}/orders")]
    with pytest.raises(OutsideRoots):
        resolve(f"{lake}/orders/day=2026-01-01", roots, lambda root: root.uri == str(lake))
    with pytest.raises(OutsideRoots):
        resolve(f"{lake}/orders/missing", roots, lambda root: root.uri == str(lake))


def test_a_refusal_outside_is_the_same_whether_something_is_there_or_not(lake: Path, tmp_path: Path) -> None:
    words = set()
    (tmp_path / "elsewhere").mkdir()
    for name in ("elsewhere", "missing"):
        with pytest.raises(OutsideRoots) as refused:
            found(f"{tmp_path}/{name}", lake)
        words.add(str(refused.value).replace(name, "…"))
    assert len(words) == 1


def test_outside_nothing_is_looked_at(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = os.open

    def watched(path: str, flags: int, dir_fd: int | None = None) -> int:
        looked.append(path)
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", watched)
    found(f"{lake}/orders", lake)
    assert "orders" in looked
    with pytest.raises(OutsideRoots):
        found(f"{tmp_path}/elsewhere/deep", lake)
    assert not [path for path in looked if "elsewhere" in path]


def test_object_stores_are_compared_by_bucket_and_component(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = MemoryStore()
    monkeypatch.setattr(object_stores, "opened", lambda uri: (keys, object_stores.split(uri)[1]))
    obstore.put(keys, "sales/orders/part.parquet", b"x")
    roots = ["s3://lake/sales"]
    for text in ("S3A://lake/sales/orders/", "s3://lake/sales//orders", "s3a://lake/sales/./orders"):
        assert found(text, *roots) == "s3://lake/sales/orders"
    for text in ("s3://lake/sales/order", "s3a://lake/sales/none", "s3://lake/sales/orders/part.parquet"):
        with pytest.raises(NoSuchDirectory):
            found(text, *roots)
    for text in (
        "s3a://lake/sales2",
        "s3a://lake2/sales/orders",
        "s3a://lake",
        "s3a://key:secret@lake/sales/x",
        "s3a://lake/sales/../hr",
        "s3a://lake/sales/*",
    ):
        with pytest.raises(OutsideRoots):
            found(text, *roots)


def test_hdfs_is_compared_by_name_node_and_component(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NameNode, "status", lambda *_: SimpleNamespace(isdir=True))
    roots = ["hdfs://nn:8020", "hdfs://nn:8020/lake/hr"]
    for text in ("HDFS://NN:08020/lake/hr/pay/", "hdfs://nn:8020/lake//hr/./pay"):
        location = resolve(text, [Root(uri) for uri in roots])
        assert (location.path, location.root.uri) == ("hdfs://nn:8020/lake/hr/pay", roots[1])
    for text in (
        "hdfs://nn:8020/lake/.snapshot/s0/hr/pay",
        "hdfs://nn:8020/lake/hr/.snapshot",
        "hdfs://nn:8020/.reserved/.inodes/16386/pay",
        "hdfs://nn:8020/.reserved/raw/lake/hr",
        "hdfs://nn:8021/lake",
        "hdfs://nn/lake",
    ):
        with pytest.raises(OutsideRoots):
            found(text, *roots)
    assert found("hdfs://nn:8020/lake/snapshot", *roots) == "hdfs://nn:8020/lake/snapshot"
    assert canonical("s3://lake/.snapshot/s0") == "s3://lake/.snapshot/s0"


PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "orders",
        "outside",
        "link",
        "dir link",
        "%2e%2e",
        "*",
        "a\\b",
        "\u2025",
        "\uff0e\uff0e",
        "x:y",
        "~",
        "\x00",
        "day=2026-01-01",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=7), st.sampled_from(["", "file:", "file://", "FILE:", "s3a://"]), st.booleans())
def test_whatever_is_typed_ends_below_the_root_or_is_refused(
    hostile_lake: Path, pieces: list[str], scheme: str, inside: bool
) -> None:
    text = scheme + (str(hostile_lake) if inside else "") + "/" + "/".join(pieces)
    try:
        path = found(text, hostile_lake)
    except (OutsideRoots, NoSuchDirectory):
        return
    real = os.path.realpath(path)
    assert real == path
    assert os.path.commonpath([real, hostile_lake]) == str(hostile_lake)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_at_all_is_answered(hostile_lake: Path, text: str) -> None:
    with pytest.raises((OutsideRoots, NoSuchDirectory)):
        found(text, hostile_lake / "orders")
    assert str(canonical("/" + "x")) == "/x"


@pytest.fixture(scope="module")
def hostile_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("hostile")
    lake = base / "lake"
    (lake / "orders" / "day=2026-01-01").mkdir(parents=True)
    (base / "outside" / "orders").mkdir(parents=True)
    (lake / "link").symlink_to("../outside")
    (lake / "orders" / "dir link").symlink_to(base / "outside")
    return lake


def test_a_new_root_has_its_links_resolved(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(lake)
    assert root_uri(f"file:{tmp_path}/alias/") == str(lake)
    assert root_uri("s3a://bucket/lake/") == "s3://bucket/lake"
    assert root_uri("GS://my_bucket.x/lake//a/") == "gs://my_bucket.x/lake/a"
    assert root_uri("s3://bucket") == "s3://bucket" == canonical("s3a://bucket/")
    assert root_uri("HDFS://Name-Node.example:08020//Lake/") == "hdfs://name-node.example:8020/Lake"
    assert root_uri("hdfs://nn:065535") == "hdfs://nn:65535"


@pytest.mark.parametrize(
    "text",
    [
        "abfss://bucket/lake",
        "gs://Bucket/x",
        "gs://b",
        "gs://bucket-/x",
        "s3://Bucket/x",
        "s3://b",
        "s3://bucket/a*",
        "hdfs://a b:1/x",
        "hdfs://nn:8020/a*",
        "hdfs://nn:/x",
        "hdfs://nn:0/x",
        "hdfs://nn:00/x",
        "hdfs://nn:65536/x",
        "hdfs://nn:008020000/x",
        "hdfs://nn:+80/x",
        "hdfs://nn:٨٠/x",
        "hdfs://nn:80:80/x",
        "hdfs://nn:8020/lake/.snapshot",
        "hdfs://nn:8020/.reserved/raw",
    ],
)
def test_what_is_no_prefix_of_s3_or_directory_on_hdfs_is_no_root(text: str) -> None:
    with pytest.raises(InvalidRoot):
        root_uri(text)


def test_a_store_that_does_not_tell_is_not_a_missing_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "_lookup", lambda _: None)
    with pytest.raises(PlaceUnreadable, match="no root says how to reach the bucket"):
        found("s3://nobody-knows-it/lake/x", "s3://nobody-knows-it/lake")


@pytest.mark.parametrize("where", ["home", "home/database", ".", "home/lake2", "home/lakes"])
def test_levee_s_own_files_are_no_root(tmp_path: Path, where: str) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "home")
    for home in (tmp_path / "home", tmp_path / "alias"):
        with pytest.raises(InvalidRoot, match="own files"):
            refuse_home(os.path.normpath(tmp_path / where), str(home), "lake")
        for fine in ("home/lake", "home/lake/deep", "homes", "elsewhere"):
            refuse_home(str(tmp_path / fine), str(home), "lake")


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "lake",
        "/no/such/directory",
        "/etc/..",
        "/etc/hostname",
        "/proc",
        "/proc/self",
        "/sys",
        "/dev/shm",
        "//dev/",
    ],
)
def test_it_refuses_a_root_that_can_not_be_one(text: str) -> None:
    with pytest.raises(InvalidRoot):
        root_uri(text)

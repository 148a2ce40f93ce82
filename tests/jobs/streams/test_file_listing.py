"""What waits for a stream, from directories and checkpoints as Spark 4.2 and Delta 4.4 wrote them."""

import json
import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from jobs.commands.stream_round.rules import FileSource
from jobs.streams.file_listing import Waiting, directory_columns, query_id, waiting_files, waiting_versions
from tables.storage.objects import buckets as object_stores
from tests.jobs.engine.object_store import ObjectStore

NOW = 1_795_376_457
DAY = 86_400


@pytest.fixture
def root(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def checkpoint(tmp_path):
    return tmp_path / "checkpoint"


def put(root, *names, at=NOW, text="12345"):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))


def source(root, **options):
    return FileSource(str(root), "json", {}, options)


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def entry(path, batch=0, at=NOW):
    return json.dumps({"path": path, "timestamp": at * 1000, "batchId": batch}, ensure_ascii=False)


def log(checkpoint, name, *entries):
    write(checkpoint / "sources/0" / str(name), "v1", *entries)


def ended(checkpoint, batch, offset):
    write(checkpoint / "offsets" / str(batch), "v1", '{"batchWatermarkMs":0}', json.dumps(offset))
    write(checkpoint / "commits" / str(batch), "v1", "{}")
    write(checkpoint / "commits" / f".{batch}.crc", "x")


def seen(root, checkpoint, most=10_000, **options):
    found = waiting_files(source(root, **options), str(checkpoint), most)
    assert found is not None
    return found


def listed(root, checkpoint, **options):
    """Which files Levee counts, each told by its own size."""
    paths = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    for number, path in enumerate(paths):
        (root / path).write_bytes(b"x" * (1 << number))
    found = waiting_files(source(root, **options), str(checkpoint))
    if found is None:
        return None
    names = [path for number, path in enumerate(paths) if found.bytes >> number & 1]
    assert found.files == len(names)
    return names


def test_without_a_checkpoint_all_files_wait(root, checkpoint):
    put(root, "b.json", at=NOW)
    put(root, "a.json", at=NOW - 30 * DAY, text="123")
    oldest = datetime.fromtimestamp(NOW - 30 * DAY, UTC)
    assert seen(root, checkpoint) == Waiting(files=2, oldest=oldest, bytes=8, complete=True)


def test_an_empty_directory_has_nothing_waiting(root, checkpoint):
    assert seen(root, checkpoint) == Waiting(0, None, 0, True)


def test_a_file_uri_is_a_local_path_with_its_escapes(root, checkpoint):
    put(root, "a%20b/x.json")
    for uri in (f"file:{root}/a%20b", f"file://{root}/a%20b/"):
        found = waiting_files(FileSource(uri, "json", {}), f"file:{checkpoint}")
        assert found is not None
        assert found.files == 1


def test_names_that_spark_hides(root, checkpoint):
    """As a run listed them, but for the link."""
    put(
        root,
        "a b.json",
        "c%20d.json",
        ".hid.json",
        "_u.json",
        "_x=1.json",
        "_metadata_q.json",
        "e.json._COPYING_",
        "k.txt",
        "_h/x.json",
        ".h/y.json",
    )
    assert listed(root, checkpoint) == ["_metadata_q.json", "_x=1.json", "a b.json", "c%20d.json", "k.txt"]


@pytest.mark.parametrize(
    ("paths", "taken"),
    [
        (["x=1/a", "x=2/b"], ["x=1/a", "x=2/b"]),
        (["r", "x=1/a"], ["r", "x=1/a"]),
        (["x=1/a", "x=1/deep/d"], ["x=1/a", "x=1/deep/d"]),
        (["x=1/y=2/a", "x=1/y=3/b"], ["x=1/y=2/a", "x=1/y=3/b"]),
        (["x=1/a", "x=1/y=2/d"], None),
        (["sub/x=1/a"], ["sub/x=1/a"]),
        (["sub/x=1/a", "sub2/x=1/a"], None),
        (["sub/s"], []),
        (["r", "sub/s"], ["r"]),
        (["x=1/a", "y=2/a"], None),
        (["x=1/a", "X=2/a"], ["X=2/a", "x=1/a"]),
        (["_y=3/c", "_y=4/c"], ["_y=3/c", "_y=4/c"]),
        (["x=1/_metadata", "r"], ["r"]),
        (["x=/a", "r"], None),
        (["=1/a", "r"], None),
        (["x=1/.h", "r"], ["r"]),
        (["r", "x=1/a", "sub/s"], None),
    ],
)
def test_directories_as_a_run_listed_them(root, checkpoint, paths, taken):
    """None: Spark refuses the layout (CONFLICTING_DIRECTORY_STRUCTURES and the like)."""
    put(root, *paths)
    assert listed(root, checkpoint) == taken


def test_a_recursive_listing_takes_all(root, checkpoint):
    put(root, "r", "x=1/a", "sub/s", "_metadatadir/a", "_other/a")
    assert listed(root, checkpoint, recursiveFileLookup="TRUE") == ["_metadatadir/a", "r", "sub/s", "x=1/a"]


@pytest.mark.parametrize(
    ("pattern", "names", "taken"),
    [
        ("{r,s}.json", ["r.json", "s.json", "t.json", "rr.json"], ["r.json", "s.json"]),
        ("[!r]*.json", ["r.json", "s.json", "a-b.json", "^x.json"], ["^x.json", "a-b.json", "s.json"]),
        ("[^r]*.json", ["r.json", "s.json", "^x.json"], ["^x.json", "s.json"]),
        ("r\\*.json", ["r*.json", "rs.json"], ["r*.json"]),
        ("r.jso[m-o]", ["R.json", "r.json", "r.JSON"], ["r.json"]),
        ("r?.{json,c*}", ["rs.json", "r.json", "rt.csv"], ["rs.json", "rt.csv"]),
        ("\\{a\\[", ["{a[", "a"], ["{a["]),
        ("", ["a"], ["a"]),
        ("{a,{b,c}}", ["a"], None),
        ("a[", ["a"], None),
        ("a\\", ["a"], None),
        ("{a,b}" * 7, ["a"], None),
    ],
)
def test_the_glob_filter_as_hadoop_reads_it(root, checkpoint, pattern, names, taken):
    put(root, *names)
    assert listed(root, checkpoint, pathGlobFilter=pattern) == taken


def test_the_glob_filter_looks_at_names_alone(root, checkpoint):
    put(root, "r.json", "x=1/s.json")
    assert listed(root, checkpoint, pathGlobFilter="s.json") == ["x=1/s.json"]


def test_links_are_not_followed_and_said(root, checkpoint, tmp_path):
    put(root, "a")
    put(tmp_path, "out/b")
    (root / "file").symlink_to(root / "a")
    (root / "directory").symlink_to(tmp_path / "out")
    found = seen(root, checkpoint, recursiveFileLookup="true")
    assert (found.files, found.complete) == (1, False)
    (root / "file").unlink()
    (root / "directory").unlink()
    assert seen(root, checkpoint).complete


def test_a_pipe_is_no_file(root, checkpoint):
    os.mkfifo(root / "pipe")
    assert seen(root, checkpoint).files == 0


def test_too_many_entries(root, checkpoint):
    put(root, *"abcde")
    assert (seen(root, checkpoint, 5).files, seen(root, checkpoint, 5).complete) == (5, True)
    assert (seen(root, checkpoint, 4).files, seen(root, checkpoint, 4).complete) == (4, False)


@pytest.mark.parametrize(
    "path",
    [
        "s3a://bucket/in",
        "hdfs:/in",
        "in",
        "",
        "/no/such/directory",
        "/dev/null",
        "/etc/hosts",
        "/tmp/\x00",
        "file://host/in",
    ],
)
def test_a_place_that_is_no_local_directory(path, checkpoint):
    assert waiting_files(FileSource(path, "json", {}), str(checkpoint)) is None


def test_a_checkpoint_elsewhere_tells_nothing(root):
    assert waiting_files(source(root), "s3a://bucket/checkpoint") is None


def test_a_pattern_or_a_streams_output_is_not_listed(tmp_path, checkpoint):
    put(tmp_path, "a[1]/x", "out/y", "out/_spark_metadata/0")
    assert waiting_files(source(tmp_path / "a[1]"), str(checkpoint)) is None
    assert waiting_files(source(tmp_path / "out"), str(checkpoint)) is None


def test_an_unreadable_directory(root, checkpoint, monkeypatch):
    put(root, "x=1/a")
    real = os.scandir

    def scandir(path):
        if str(path).endswith("x=1"):
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert waiting_files(source(root), str(checkpoint)) is None


def test_a_directory_that_goes_meanwhile(root, checkpoint, monkeypatch):
    put(root, "a", "x=1/a")
    real = os.scandir

    def scandir(path):
        if str(path).endswith("x=1"):
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert seen(root, checkpoint).files == 1


def test_taken_files_are_told_by_their_uris(root, checkpoint):
    put(root, "a b.json", "c%20d.json", "é.json", "^x.json", "a:b.json", "new.json")
    uris = ["a%20b.json", "c%2520d.json", "é.json", "%5Ex.json", "a:b.json"]
    log(checkpoint, 0, *(entry(f"file://{root}/{uri}") for uri in uris))
    ended(checkpoint, 0, {"logOffset": 0})
    found = seen(root, checkpoint)
    assert (found.files, found.bytes) == (1, 5)


def test_the_log_is_its_newest_compact_file_and_those_after_it(root, checkpoint):
    put(root, *"abcdef")
    log(checkpoint, 8, entry(f"file://{root}/f", 8))  # before the compact one, which doesn't have it
    log(checkpoint, "9.compact", entry(f"file://{root}/a", 0), entry(f"file://{root}/b", 9))
    log(checkpoint, 10, entry(f"file://{root}/c", 10))
    write(checkpoint / "sources/0/.10.crc", "x")
    write(checkpoint / "sources/0/.11.abc.tmp", "half")
    ended(checkpoint, 9, {"logOffset": 9})
    ended(checkpoint, 10, {"logOffset": 10})
    assert listed(root, checkpoint) == ["d", "e", "f"]


def test_files_of_a_batch_that_has_not_ended_wait(root, checkpoint):
    put(root, *"abc")
    log(checkpoint, 0, entry(f"file:{root}/a", 0))
    log(checkpoint, 1, entry(f"file:{root}/b", 1))
    ended(checkpoint, 0, {"logOffset": 0})
    write(checkpoint / "offsets/1", "v1", "{}", '{"logOffset":1}')
    assert listed(root, checkpoint) == ["b", "c"]


def test_files_of_the_first_batch_that_has_not_ended_wait(root, checkpoint):
    put(root, "a", at=NOW - 30 * DAY)
    put(root, "b")
    log(checkpoint, 0, entry(f"file://{root}/a", 0, NOW - 30 * DAY), entry(f"file://{root}/b"))
    (checkpoint / "commits").mkdir()
    found = seen(root, checkpoint)
    assert (found.files, found.too_old) == (2, 0)


def test_a_file_that_spark_will_never_take(root, checkpoint):
    put(root, "a")
    put(root, "c", at=NOW - 8 * DAY)
    put(root, "d", at=NOW - 6 * DAY)
    put(root, "e", at=NOW - 7 * DAY)
    log(checkpoint, 0, entry(f"file://{root}/a"))
    ended(checkpoint, 0, {"logOffset": 0})
    found = seen(root, checkpoint)
    assert (found.files, found.too_old) == (2, 1)
    assert found.oldest == datetime.fromtimestamp(NOW - 7 * DAY, UTC)
    assert seen(root, checkpoint, latestFirst="true").too_old == 1
    assert seen(root, checkpoint, maxFilesPerTrigger="1").too_old == 1
    assert seen(root, checkpoint, latestFirst="true", maxFilesPerTrigger="1") == Waiting(
        3, datetime.fromtimestamp(NOW - 8 * DAY, UTC), 15, True
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["v2", entry("file:///a")],
        [""],
        ["v1", "{"],
        ["v1", "[]"],
        ["v1", '{"path": 7, "timestamp": 1, "batchId": 0}'],
        ["v1", '{"path": "file:///a", "timestamp": 1}'],
        ["v1", "[" * 100_000],
    ],
)
def test_a_log_that_can_not_be_read(root, checkpoint, lines):
    write(checkpoint / "sources/0/0", *lines)
    ended(checkpoint, 0, {"logOffset": 0})
    assert waiting_files(source(root), str(checkpoint)) is None


def test_offsets_that_do_not_fit_a_file_source(root, checkpoint):
    put(root, "a")
    log(checkpoint, 0, entry(f"file://{root}/a"))
    ended(checkpoint, 0, {"reservoirVersion": 1})
    assert waiting_files(source(root), str(checkpoint)) is None
    (checkpoint / "offsets/0").unlink()
    assert waiting_files(source(root), str(checkpoint)) is None


def test_a_file_that_goes_meanwhile(root, checkpoint, monkeypatch):
    put(root, "a", "b")
    real = os.lstat
    monkeypatch.setattr(os, "stat", lambda path, **more: real("/gone" if str(path).endswith("/a") else path))
    monkeypatch.setattr(os, "lstat", lambda path, **more: real("/gone" if str(path).endswith("/a") else path))
    assert seen(root, checkpoint).files == 1


def test_a_time_beyond_the_calendar(root, checkpoint, monkeypatch):
    put(root, "a")
    far = SimpleNamespace(modified=1e18, milliseconds=10**21, size=5)
    monkeypatch.setattr("jobs.streams.file_listing._stat", lambda path, entry: far)
    assert waiting_files(source(root), str(checkpoint)) is None


def test_columns_from_directories(root):
    put(root, "x%201=1/y=2/a", "x%201=2/y=3/b")
    assert directory_columns(source(root)) == ("x 1", "y")
    assert directory_columns(source(root, recursiveFileLookup="true")) == ()
    put(root, "z=1/a")
    assert directory_columns(source(root)) == ()
    assert directory_columns(FileSource("s3a://b/c", "json", {})) == ()


# A Delta source


def delta(version, index=-1, is_starting=False, **more):
    return {
        "sourceVersion": 1,
        "reservoirId": "0ddde634",
        "reservoirVersion": version,
        "index": index,
        "isStartingVersion": is_starting,
        **more,
    }


@pytest.mark.parametrize(
    ("offset", "head", "waiting"),
    [
        (delta(1), 0, 0),
        (delta(3), 2, 0),
        (delta(3), 5, 3),
        (delta(3, 7), 5, 3),
        (delta(3, 7), 3, 1),
        (delta(4, 2, True), 4, 1),
        (delta(4, 2, True), 6, 3),
        (delta(5, -20, sourceVersion=3), 5, 1),
        (delta(9), 2, 0),  # a table made anew
        (delta("3"), 5, None),
        (delta(True), 5, None),
        ({"logOffset": 1}, 5, None),
    ],
)
def test_versions_that_wait(checkpoint, offset, head, waiting):
    ended(checkpoint, 0, delta(0))
    ended(checkpoint, 10, offset)
    ended(checkpoint, 9, delta(1))
    assert waiting_versions(str(checkpoint), head) == waiting


def test_a_batch_that_has_not_ended_has_read_nothing(checkpoint):
    assert waiting_versions(str(checkpoint), 5) is None
    write(checkpoint / "offsets/0", "v1", "{}", json.dumps(delta(2)))
    assert waiting_versions(str(checkpoint), 5) is None
    ended(checkpoint, 0, delta(2))
    write(checkpoint / "offsets/1", "v1", "{}", json.dumps(delta(6)))
    assert waiting_versions(str(checkpoint), 5) == 4


@pytest.mark.parametrize(
    "lines", [["v1", "{}"], ["v1", "{}", "-"], ["v9", "{}", json.dumps(delta(1))], [""], ["v1", "{}", "[1]"]]
)
def test_offsets_that_can_not_be_read(checkpoint, lines):
    ended(checkpoint, 0, delta(1))
    write(checkpoint / "offsets/0", *lines)
    assert waiting_versions(str(checkpoint), 5) is None


def test_bytes_that_are_no_text(checkpoint):
    ended(checkpoint, 0, delta(1))
    (checkpoint / "offsets/0").write_bytes(b"v1\n{}\n\xff\xfe")
    (checkpoint / "metadata").write_bytes(b"\xff")
    assert waiting_versions(str(checkpoint), 5) is None
    assert query_id(str(checkpoint)) is None


def test_versions_of_a_checkpoint_elsewhere():
    assert waiting_versions("s3a://bucket/checkpoint", 5) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"id":"f0dbe2db"}', "f0dbe2db"),
        ('{"id":7}', None),
        ("[]", None),
        ("{", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_the_query_of_a_checkpoint(checkpoint, text, found):
    write(checkpoint / "metadata", text)
    assert query_id(str(checkpoint)) == found
    assert query_id(f"file:{checkpoint}") == found


def test_no_checkpoint_no_query(checkpoint):
    assert query_id(str(checkpoint)) is None
    assert query_id("s3a://bucket/checkpoint") is None


def test_a_file_beyond_all_measure_is_not_read(checkpoint, monkeypatch):
    monkeypatch.setattr("jobs.streams.file_listing.MAX_LOG_FILE", 10)
    write(checkpoint / "metadata", '{"id":"f0dbe2db"}')
    assert query_id(str(checkpoint)) is None


# A source in an object store


@pytest.fixture
def store(monkeypatch):
    made = ObjectStore()
    monkeypatch.setattr(object_stores, "_lookup", made.lookup)
    yield made
    made.shut()


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_files_of_an_object_store_wait_until_a_batch_has_taken_them(store, checkpoint, scheme, monkeypatch):
    monkeypatch.setattr(object_stores, "_lookup", lambda _prefix: store.options)
    for key in ("day=1/a b.json", "day=2/c.json", "day=2/_hidden/x.json", ".d.json"):
        store.put(f"in/{key}", b"12345")
    stored = FileSource(f"{scheme}://lake/in", "json", {}, {})
    assert directory_columns(stored) == ("day",)
    log(checkpoint, 0, entry(f"{scheme}://lake/in/day=1/a%20b.json"))
    ended(checkpoint, 0, {"logOffset": 0})
    found = waiting_files(stored, str(checkpoint))
    assert found
    assert found.oldest
    assert (found.files, found.bytes, found.complete) == (1, 5, True)
    assert (datetime.now(UTC) - found.oldest).total_seconds() < 60
    store.put("in/_spark_metadata/0", b"v1")
    assert waiting_files(stored, str(checkpoint)) is None


def test_files_of_a_store_that_is_away_are_not_known(store, checkpoint):
    stored = FileSource("s3://lake/away", "json", {}, {})
    assert waiting_files(stored, str(checkpoint)) == Waiting(0, None, 0, complete=True)
    store.shut()
    assert (waiting_files(stored, str(checkpoint)), directory_columns(stored)) == (None, ())

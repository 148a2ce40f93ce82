"""One task of an inspection, without Spark: which names count, what is folded, what stays bounded."""

import pytest

from jobs.domain.partition_values import partition_values
from jobs.engine import walk
from jobs.engine.commits.metadata_log import metadata_log_files
from jobs.engine.footers import reading
from jobs.engine.walk import WalkFindings, WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach
from tables.storage.stores import tree_at
from tests.factories.lakes import Lake


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def scanned(path, *shares, fields=(), lines=walk.LINES):
    return scan(list(shares) or [WorkShare(tree="")], WalkOrder(str(path), True, tuple(fields), LocalReach(), lines))


@pytest.mark.parametrize(
    ("relative", "pairs"),
    [
        ("", []),
        ("2024/01", []),
        ("p=1", [("p", "1")]),
        ("a=1/b=2", [("a", "1"), ("b", "2")]),
        ("a=1/plain", [("a", "1")]),
        ("a=1/plain/b=2", [("b", "2")]),
        ("a=x=y", [("a", "x=y")]),
        ("a=b%2Fc%20d", [("a", "b/c d")]),
        ("a%3D=1%", [("a=", "1%")]),
        ("p=", None),
        ("=1", None),
        ("a=1/p=", None),
    ],
)
def test_partition_values_are_read_as_spark_reads_them(relative, pairs):
    assert partition_values(relative) == pairs


def test_hidden_names_are_left_out_but_not_partition_directories(lake):
    lake.write("t/_p=1")
    lake.write("t/.q=1")
    lake.write("t/_temporary/x")
    path = lake.write("t", name="_part.parquet")
    found = scanned(path)
    assert (found.total("files"), found.total("hidden")) == (2, 2)
    assert set(found.layouts) == {("_p",), (".q",)}


def test_slices_of_a_directory_see_every_file_once(lake):
    for number in range(30):
        path = lake.write("t", name=f"part-{number}.parquet")
    whole = scanned(path)
    parts = [scanned(path, WorkShare(files_of="", part=part, of=4)) for part in range(4)]
    folded = WalkFindings()
    for part in reversed(parts):
        folded.merge(part)
    assert [part.total("files") for part in parts] != [30, 0, 0, 0]
    assert folded.total("files") == 30
    assert folded.digest == whole.digest
    assert sorted(folded.lines or []) == sorted(whole.lines or [])
    assert folded.total("rows") == 90


def test_what_is_kept_per_file_is_bounded(lake):
    for number in range(8):
        path = lake.write("t", name=f"part-{number}.parquet")
        (path / f"stray-{number:02}").write_text("x")
    found = scanned(path, lines=5)
    assert found.lines is None
    assert found.total("files") == 16
    assert found.total("stray") == 8
    assert len(found.schemas) == 1


def test_examples_are_the_first_in_path_order(lake):
    path = lake.write("t")
    for number in range(walk.EXAMPLES * 3):
        (path / f"stray-{number:03}").write_text("x")
    found = scanned(path)
    assert found.first("stray") == [f"stray-{number:03}" for number in range(walk.EXAMPLES)]
    assert found.total("stray") == walk.EXAMPLES * 3


def test_a_directory_marker_on_a_disk_is_a_file_like_others_which_spark_reads_too(lake):
    path = lake.write("t/p=1")
    for name in ("p=1_$folder$", "p=1/deep_$folder$", "p=1/readme"):
        (path / name).touch()
    found = scanned(path)
    assert found.first("stray") == ["p=1/deep_$folder$", "p=1/readme", "p=1_$folder$"]
    assert (found.total("stray"), found.total("markers")) == (3, 2)
    assert found.layouts.keys() == {("p",)}


def test_a_value_that_the_given_type_cannot_read_is_named(lake):
    lake.write("t/p=1")
    path = lake.write("t/p=x1")
    assert scanned(path, fields=[("P", "int")]).misfits == {"p": ("x1", "p=x1")}


def test_a_footer_longer_than_the_tail_is_read_whole(lake, monkeypatch):
    monkeypatch.setattr(reading, "TAIL", 64)
    path = lake.write("t", {f"column_{number}": [1] for number in range(50)})
    found = scanned(path)
    assert (found.total("stray"), found.total("rows")) == (0, 1)


def test_equal_schemas_are_one_kind(lake):
    lake.write("t", {"id": [1]}, name="a.parquet")
    lake.write("t", {"id": [2]}, name="b.parquet")
    path = lake.write("t", {"id": ["x"]}, name="c.parquet")
    assert sorted(files for files, _ in scanned(path).schemas.values()) == [1, 2]


def write_log(path, name, *lines):
    (path / "_spark_metadata").mkdir(exist_ok=True)
    (path / "_spark_metadata" / name).write_text("\n".join(["v1", *lines]))


def entry(path, action="add"):
    return (
        f'{{"path":"file://{path}","size":1,"isDir":false,"modificationTime":5,"blockReplication":1,'
        f'"blockSize":1,"action":"{action}"}}'
    )


def test_the_newest_compacted_batch_replaces_all_before_it(tmp_path):
    write_log(tmp_path, "8", entry(f"{tmp_path}/old"))
    write_log(tmp_path, "9.compact", entry(f"{tmp_path}/a"), entry(f"{tmp_path}/gone"))
    write_log(tmp_path, "10", entry(f"{tmp_path}/p=a%2520b/c"), entry(f"{tmp_path}/gone", "delete"))
    (tmp_path / "_spark_metadata" / ".10.crc").write_text("x")
    assert metadata_log_files(tree_at(str(tmp_path))) == (("a", 1, 5_000_000), ("p=a%20b/c", 1, 5_000_000))


def test_no_stream_log_is_no_list(tmp_path):
    assert metadata_log_files(tree_at(str(tmp_path))) is None


@pytest.mark.parametrize("place", ["/etc/passwd", "{here}/../x", "{here}x/y"])
def test_a_stream_log_that_names_files_elsewhere_is_refused(tmp_path, place):
    from jobs.domain.errors import CommandRefused

    write_log(tmp_path, "0", entry(place.format(here=tmp_path)))
    with pytest.raises(CommandRefused) as caught:
        metadata_log_files(tree_at(str(tmp_path)))
    assert caught.value.refusals[0].code == "outside_roots"

import pytest

from tables.deltalog.read.filenames import LogFileKind, commit_version, parse
from tables.deltalog.state.listing import read_listing
from tables.storage.store import Entry

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def listing(*names: str):
    return read_listing(Entry(name, 1, 1) for name in names)


def commit(version: int) -> str:
    return f"{version:020d}.json"


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        (commit(7), LogFileKind.COMMIT, 7),
        (f"{7:020d}.crc", LogFileKind.CHECKSUM, 7),
        (f"{7:020d}.{9:020d}.compacted.json", LogFileKind.COMPACTION, 7),
        (f"{7:020d}.checkpoint.parquet", LogFileKind.CLASSIC, 7),
        (f"{7:020d}.checkpoint.{1:010d}.{2:010d}.parquet", LogFileKind.MULTIPART, 7),
        (f"{7:020d}.checkpoint.{UUID}.parquet", LogFileKind.V2, 7),
        (f"{7:020d}.checkpoint.{UUID}.json", LogFileKind.V2, 7),
    ],
)
def test_it_knows_every_name_of_the_protocol(name, kind, version):
    found = parse(name)
    assert found is not None
    assert (found.kind, found.version) == (kind, version)


@pytest.mark.parametrize(
    "name",
    [
        "7.json",
        "_last_checkpoint",
        f"{7:020d}.json.tmp",
        f".{7:020d}.json.crc",
        "\N{ARABIC-INDIC DIGIT ZERO}" * 20 + ".json",
        "-" + "0" * 19 + ".json",
        "9" * 20 + ".json",
    ],
)
def test_it_ignores_other_names(name):
    assert parse(name) is None
    assert commit_version(name) is None


def test_versions_rise_however_the_folder_is_listed():
    assert list(listing(commit(3), commit(1), commit(2)).commits) == [1, 2, 3]


def test_the_head_is_a_checkpoint_when_its_commit_is_gone():
    assert listing(commit(3), f"{4:020d}.checkpoint.parquet").head == 4


def test_an_empty_log_has_no_head():
    assert listing("_last_checkpoint").head is None


def test_an_incomplete_checkpoint_is_not_used_but_said():
    found = listing(f"{7:020d}.checkpoint.{1:010d}.{2:010d}.parquet")
    assert found.checkpoints == ()
    assert "1 of the 2 parts" in found.problems[0].reason


def test_gaps_are_named():
    assert listing(commit(0), commit(2), commit(5)).gaps(0, 6) == [range(1, 2), range(3, 5), range(6, 7)]


def test_a_huge_gap_does_not_fill_the_memory():
    assert listing(commit(0), commit(10**18)).gaps(0, 10**18) == [range(1, 10**18)]


def test_it_says_which_versions_can_be_rebuilt():
    found = listing(commit(0), commit(1), commit(3), commit(5), commit(6), f"{5:020d}.checkpoint.parquet")
    assert found.rebuildable == [range(0, 2), range(5, 7)]


def test_a_v2_checkpoint_is_tried_before_a_classic_one_of_the_same_version():
    found = listing(f"{7:020d}.checkpoint.{UUID}.json", f"{7:020d}.checkpoint.parquet")
    assert found.checkpoints_until(7)[0].kind is LogFileKind.V2

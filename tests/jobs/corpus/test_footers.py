"""The whole corpus by its footers alone, as each task of an inspection reads them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jobs.commands.convert.spark.file_faults import CODES
from jobs.domain.footers.chunks import LONG, FooterFault
from jobs.engine.footers.reading import LARGEST, TAIL
from jobs.engine.walk import WalkFindings, WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach, LocalTree
from tests.jobs.corpus.collection import FILES
from tests.jobs.corpus.verdicts import BY_FOOTERS, STRAY


def found(top: Path, data: bytes) -> WalkFindings:
    (top / "a.parquet").write_bytes(data)
    return scan([WorkShare(tree="")], WalkOrder(str(top), True, (), LocalReach()))


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_read_or_its_trouble_named(name: str, tmp_path: Path) -> None:
    seen = found(tmp_path, FILES[name])
    codes = {CODES[fault.kind] for fault in seen.faults} | ({STRAY} if seen.total("stray") else set())
    assert codes == ({BY_FOOTERS[name]} if name in BY_FOOTERS else set())
    assert seen.total("files") == 1


def test_the_corpus_is_whole() -> None:
    assert len(FILES) >= 200
    assert set(BY_FOOTERS) <= set(FILES)


def test_the_same_trouble_of_many_files_is_one(tmp_path: Path) -> None:
    for name in ("b", "c"):
        (tmp_path / f"{name}.parquet").write_bytes(FILES["codec-lzo"])
    seen = found(tmp_path, FILES["codec-lzo"])
    ((fault, faulty),) = seen.faults.items()
    assert (fault.what, faulty.files, faulty.example, faulty.column) == ("LZO", 3, "a.parquet", "id")


def test_beyond_the_limit_no_trouble_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.engine.walk.FAULTS", 1)
    (tmp_path / "b.parquet").write_bytes(FILES["schema-empty"])
    (tmp_path / "c.parquet").write_bytes(FILES["footer-zeros"])
    seen = found(tmp_path, FILES["schema-type-unknown"])
    assert sum(faulty.files for faulty in seen.faults.values()) == 3
    assert "it is damaged in other ways" in {fault.what for fault in seen.faults}


def test_a_footer_is_not_read_at_the_length_that_it_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def tail(self: LocalTree, relative: str, length: int) -> bytes:
        lengths.append(length)
        return (tmp_path / relative).read_bytes()[-length:]

    monkeypatch.setattr(LocalTree, "tail", tail)
    (fault,) = found(tmp_path, FILES["footer-length-beyond"]).faults
    assert fault.what == "its footer would be longer than the file"
    assert lengths == [TAIL]


def test_a_footer_that_would_fill_the_memory_is_not_read_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    whole = LocalTree.tail

    def tail(self: LocalTree, path: str, length: int) -> bytes:
        lengths.append(length)
        return whole(self, path, length)

    monkeypatch.setattr(LocalTree, "tail", tail)
    with (tmp_path / "a.parquet").open("wb") as file:
        file.write(b"PAR1")
        file.truncate(LARGEST + (1 << 20))  # sparse: it takes no room
        file.seek(0, 2)
        file.write((LARGEST + 1).to_bytes(4, "little") + b"PAR1")
    seen = scan([WorkShare(tree="")], WalkOrder(str(tmp_path), True, (), LocalReach()))
    assert set(seen.faults) == {FooterFault(LONG, "128 MiB")}  # it may be sound
    assert lengths == [TAIL]


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Some bytes of the footer, or of its length, overwritten."""
    file = bytearray(data)
    footer = len(file) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        at = draw.randrange(max(0, footer), len(file) - 4)
        file[at] = draw.choice((draw.randrange(256), 0, 255, file[at] ^ 1 << draw.randrange(8)))
    return bytes(file)


def test_whatever_is_damaged_in_a_footer_the_task_goes_on(tmp_path: Path) -> None:
    draw = random.Random(1)
    whole = [data for name, data in FILES.items() if name not in BY_FOOTERS]
    for _ in range(500):
        assert found(tmp_path, damaged(draw.choice(whole), draw)).total("files") == 1

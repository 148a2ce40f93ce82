"""What is removed after a run without a commit."""

import time
from pathlib import Path

import obstore
import pytest

from jobs.commands.clone import cleanup
from tables.storage.objects import buckets as object_stores
from tables.storage.s3.options import S3Options
from tables.storage.store import StorageError

JOB = "0b8c0c2e-0000-4000-8000-000000000001"
CLAIM = cleanup.CloneClaim(JOB, 7)


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def test_an_unfinished_commit_goes_only_if_the_log_holds_nothing_else(tmp_path):
    unfinished = f".{0:020d}.json.0b8c0c2e-0000-4000-8000-000000000002.tmp"
    write(tmp_path / "alone" / "_delta_log" / unfinished)
    write(tmp_path / "other" / "_delta_log" / unfinished)
    write(tmp_path / "other" / "_delta_log" / f"{0:020d}.json")
    for name in ("alone", "other"):
        cleanup.remove(str(tmp_path / name), CLAIM)
    assert not list((tmp_path / "alone").iterdir())
    assert len(list((tmp_path / "other" / "_delta_log").iterdir())) == 2


def test_no_link_is_followed_or_removed(tmp_path):
    kept = write(tmp_path / "elsewhere" / f"part-0-{JOB}-7-c000.parquet")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "p=1").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "target" / f"part-1-{JOB}-7-c000.parquet").symlink_to(kept)
    cleanup.remove(str(tmp_path / "target"), CLAIM)
    assert kept.exists()
    assert len(list((tmp_path / "target").iterdir())) == 2


def test_a_target_that_is_gone_needs_none(tmp_path):
    cleanup.remove(str(tmp_path / "nowhere"), CLAIM)


def test_another_job_s_copies_stay(tmp_path):
    other = write(tmp_path / f"part-0-{JOB[:-1]}2-7-c000.parquet")
    own = write(tmp_path / CLAIM.vector_directory / "deletion_vector_a.bin")
    cleanup.remove(str(tmp_path), CLAIM)
    assert (other.exists(), own.exists(), own.parent.exists()) == (True, False, False)


def test_what_a_newer_attempt_has_written_stays(tmp_path):
    newer = cleanup.CloneClaim(JOB, 10)
    own = [
        write(tmp_path / "p=1" / f"part-0-{JOB}-7-c000.parquet"),
        write(tmp_path / f"part-1{cleanup.CloneClaim(JOB, 2).file_mark}.snappy.parquet"),
        write(tmp_path / CLAIM.vector_directory / "deletion_vector_a.bin"),
        write(tmp_path / f"part-2-{JOB}-c000.parquet"),  # of a Levee whose names had no token
    ]
    others = [
        write(tmp_path / "p=1" / f"part-0{newer.file_mark}.parquet"),
        write(tmp_path / newer.vector_directory / "deletion_vector_a.bin"),
    ]
    cleanup.remove(str(tmp_path), CLAIM)
    assert [file for file in (*own, *others) if file.exists()] == others
    cleanup.remove(str(tmp_path), newer)
    assert not list(tmp_path.iterdir())


def test_so_do_the_directories_and_the_log_that_it_has_begun(tmp_path):
    """The clean-up was decided before, and comes while the newer attempt writes."""
    decided = time.time() - 60
    unfinished = write(tmp_path / "_delta_log" / f".{0:020d}.json.0b8c0c2e-0000-4000-8000-000000000002.tmp")
    (tmp_path / "p=1").mkdir()
    cleanup.remove(str(tmp_path), CLAIM, decided)
    assert (unfinished.exists(), (tmp_path / "p=1").exists()) == (True, True)
    cleanup.remove(str(tmp_path), CLAIM, time.time() + 60)
    assert not list(tmp_path.iterdir())


def test_the_logs_of_other_programs_stay_also_where_they_hold_no_commit_yet(tmp_path):
    unfinished = f".{0:020d}.json.0b8c0c2e-0000-4000-8000-000000000002.tmp"
    others = [
        write(tmp_path / "_delta_log" / "_staged_commits" / f"{0:020d}.0b8c0c2e-0000-4000-8000-000000000003.json"),
        write(tmp_path / "_delta_log" / "_sidecars" / f"part-{JOB}-c000.parquet"),
        write(tmp_path / "theirs" / "_delta_log" / unfinished),
    ]
    own = write(tmp_path / "_delta_log" / unfinished)
    cleanup.remove(str(tmp_path), CLAIM)
    assert ([file for file in others if file.exists()], own.exists()) == (others, False)


def test_a_request_that_obstore_gives_up_by_a_panic_is_a_failure_of_the_store(monkeypatch):
    class PanicException(BaseException):
        __module__ = "pyo3_runtime"

    def panics(*_given):
        raise PanicException

    monkeypatch.setattr(object_stores, "_lookup", lambda prefix: S3Options(prefix.removeprefix("s3://")))
    monkeypatch.setattr(obstore, "list", panics)
    with pytest.raises(StorageError, match="as it is described"):
        cleanup.remove("s3://lake/target", CLAIM)

"""A backup's file: whole or refused, and nothing of it lands outside the place that it is unpacked to."""

import io
import json
import os
import stat
import tarfile
import time
from dataclasses import asdict

import pytest

from console.management.backup import archive, snapshot
from console.management.backup.archive import ArchiveError, Manifest


def manifest(files):
    return Manifest(
        archive.FORMAT,
        "0.1.0",
        "2026-01-02T03:04:05+00:00",
        "/home",
        15,
        3,
        "ab" * 32,
        "cd" * 32,
        ["audit.0001_event"],
        files,
    )


@pytest.fixture
def written(tmp_path):
    """A backup of two members."""
    members = {}
    for name, content in (("database.dump", b"rows" * 10), ("audit/key", b"secret")):
        members[name] = tmp_path / name.replace("/", "-")
        members[name].write_bytes(content)
    said = manifest({name: archive.described(file) for name, file in members.items()})
    archive.write(tmp_path / "b.tar", said, members)
    return tmp_path / "b.tar"


def test_it_comes_back_as_it_was_and_is_for_its_owner_alone(written, tmp_path):
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    said = archive.extract(written, tmp_path / "out")
    assert (tmp_path / "out" / "audit" / "key").read_bytes() == b"secret"
    assert stat.S_IMODE((tmp_path / "out" / "audit" / "key").stat().st_mode) == 0o600
    assert said == archive.manifest_of(written)
    assert [file.name for file in tmp_path.glob(".b.tar*")] == []


def test_a_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive.write(tmp_path / "b.tar", manifest({"gone": {"size": 1}}), {"gone": tmp_path / "gone"})
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_that_nothing_would_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LARGEST_MANIFEST", 10)
    with pytest.raises(ArchiveError, match="too many files"):
        archive.write(tmp_path / "b.tar", manifest({}), {})
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_backup_has_left_goes_with_a_later_one(tmp_path):
    for name, age in ((".levee-backup-old", 25 * 3600), (".levee-backup-running", 3600)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "database.dump").write_bytes(b"rows")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    snapshot._clear_away(tmp_path)
    assert [place.name for place in tmp_path.iterdir()] == [".levee-backup-running"]


def test_any_flipped_byte_is_found(written, tmp_path):
    content = bytearray(written.read_bytes())
    place = content.index(b"rowsrows")
    content[place] ^= 1
    written.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"database\.dump differs from its checksum"):
        archive.extract(written, tmp_path / "out")


@pytest.mark.parametrize("left", [0, 300, 2_000])
def test_a_cut_file_is_refused(written, tmp_path, left):
    written.write_bytes(written.read_bytes()[:left])
    with pytest.raises(ArchiveError):
        archive.extract(written, tmp_path / "out")


def tar(file, *members, said=None):
    with tarfile.open(file, "w") as made:
        for name, content in (("manifest.json", json.dumps(said or {}).encode()), *members):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return file


@pytest.mark.parametrize("name", ["../out", "/etc/levee", "a/../../b"])
def test_a_name_that_leads_out_is_refused(tmp_path, name):
    said = asdict(manifest({name: {"sha256": "0", "size": 1}}))
    file = tar(tmp_path / "b.tar", (name, b"x"), said=said)
    with pytest.raises(ArchiveError, match="leads out"):
        archive.extract(file, tmp_path / "place" / "in")
    assert not (tmp_path / "place").exists()


def test_a_member_that_the_manifest_lacks_is_refused(tmp_path):
    file = tar(tmp_path / "b.tar", ("more", b"x"), said=asdict(manifest({})))
    with pytest.raises(ArchiveError, match="isn't in its manifest"):
        archive.extract(file, tmp_path / "in")


def test_a_link_is_refused(tmp_path):
    file = tar(tmp_path / "b.tar", said=asdict(manifest({"key": {"sha256": "0", "size": 0}})))
    with tarfile.open(file, "a") as made:
        info = tarfile.TarInfo("key")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(info)
    with pytest.raises(ArchiveError):
        archive.extract(file, tmp_path / "in")


@pytest.mark.parametrize("said", [{"format": 2}, {"format": 1}, [], None])
def test_what_is_no_manifest_is_refused(tmp_path, said):
    with pytest.raises(ArchiveError):
        archive.manifest_of(tar(tmp_path / "b.tar", said=said))


def test_any_other_file_is_refused(tmp_path):
    (tmp_path / "b.tar").write_text("not a backup")
    with pytest.raises(ArchiveError):
        archive.manifest_of(tmp_path / "b.tar")
    with pytest.raises(ArchiveError):
        archive.manifest_of(tmp_path / "none")

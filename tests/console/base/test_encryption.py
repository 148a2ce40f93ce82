"""What Levee keeps for other systems is readable with its own key alone, which is made once."""

from __future__ import annotations

import dataclasses
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from console.base import encryption


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with_key(monkeypatch, tmp_path, None)
    return tmp_path


def with_key(monkeypatch: pytest.MonkeyPatch, home: Path, key: str | None) -> None:
    monkeypatch.setattr(settings, "ENV", dataclasses.replace(settings.ENV, home=home, credentials_key=key))


def test_a_text_comes_back_for_its_owner_alone(home: Path) -> None:
    stored = encryption.encrypt("sesame", "the door")
    assert encryption.decrypt(stored, "the door") == "sesame"
    assert encryption.encrypt("sesame", "the door") != stored
    for wrong, owner in ((stored, "a window"), (stored[:-1], "the door"), (b"", "the door"), (stored[:5], "the door")):
        with pytest.raises(encryption.WrongKey):
            encryption.decrypt(wrong, owner)
    assert (home / encryption.FILE).stat().st_mode & 0o777 == 0o600


def test_the_setting_goes_before_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_file = encryption.encrypt("sesame", "x")
    with_key(monkeypatch, home, "k" * 40)
    by_setting = encryption.encrypt("sesame", "x")
    with pytest.raises(encryption.WrongKey):
        encryption.decrypt(by_file, "x")
    with_key(monkeypatch, home, None)
    assert encryption.decrypt(by_file, "x") == "sesame"
    with pytest.raises(encryption.WrongKey):
        encryption.decrypt(by_setting, "x")


def test_many_at_once_make_one_key(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        stored: list[Any] = list(pool.map(lambda n: encryption.encrypt(str(n), "x"), range(16)))
    assert [encryption.decrypt(each, "x") for each in stored] == [str(n) for n in range(16)]
    assert [file.name for file in home.iterdir()] == [encryption.FILE]


def test_a_new_key_is_on_the_disk_before_anything_is_encrypted_with_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file first, and then its name."""
    kept: list[tuple[bool, bool]] = []

    def fsync(descriptor: int) -> None:
        kept.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), (home / encryption.FILE).exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    encryption.encrypt("sesame", "x")
    encryption.encrypt("sesame", "x")
    assert kept == [(False, False), (True, True)]


def test_a_key_that_is_gone_is_not_replaced_by_reading(home: Path) -> None:
    stored = encryption.encrypt("sesame", "x")
    (home / encryption.FILE).unlink()
    with pytest.raises(encryption.WrongKey):
        encryption.decrypt(stored, "x")
    assert not (home / encryption.FILE).exists()

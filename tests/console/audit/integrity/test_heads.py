"""Heads: signed, written outside the database, at the right moments."""

import json
import os
import stat
from datetime import timedelta

import pytest
from django.utils import timezone

from console.audit.integrity import chain, heads
from console.audit.models import Head, Seal
from tests.console.audit.making import event, sealed, signed

pytestmark = pytest.mark.django_db


def test_a_head_lies_in_the_file_and_in_the_database_and_is_signed(head_lines):
    sealed(3)
    head = signed()
    assert head.sequence == 3
    assert head.hash == Seal.objects.get(sequence=3).hash
    assert head.is_signed_by(heads.public_key())
    assert [line["signature"] for line in head_lines()] == [Head.objects.get().signature] == [head.signature]


def test_a_head_with_another_hash_or_key_is_not_signed():
    sealed(1)
    head = signed()
    changed = heads.SignedHead(head.sequence, "0" * 64, head.signed_at, head.key, head.signature)
    assert not changed.is_signed_by(heads.public_key())
    assert not head.is_signed_by("00" * 32)


def test_the_next_head_waits_for_five_minutes():
    sealed(1)
    first = signed()
    event(2)
    chain.seal_waiting()
    assert heads.sign_when_due() is None
    old = heads.EVERY + timedelta(seconds=1)
    assert heads._is_due(2, Head(sequence=first.sequence, signed_at=timezone.now() - old))


def test_the_next_head_waits_for_no_more_than_a_thousand_events():
    now = timezone.now()
    assert heads._is_due(1_001, Head(sequence=1, signed_at=now))
    assert not heads._is_due(1_000, Head(sequence=1, signed_at=now))


def test_an_unchanged_chain_is_not_signed_again():
    assert not heads._is_due(5, Head(sequence=5, signed_at=timezone.now() - timedelta(days=1)))


def test_nothing_is_signed_before_there_is_a_link(heads_file):
    assert heads.sign_when_due() is None
    assert not heads_file.exists()


def test_the_key_and_the_file_are_for_their_owner_alone(heads_file, settings):
    sealed(1)
    heads.sign_when_due()
    for file in (heads_file, settings.ENV.home / "audit" / "key"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_that_a_crash_has_torn_spoils_no_later_one(heads_file):
    sealed(1)
    heads.sign_when_due()
    with open(heads_file, "a") as file:
        file.write('{"sequence": 2, "ha')
    event(2)
    chain.seal_waiting()
    heads.sign(2, Seal.objects.get(sequence=2).hash)
    assert sorted(heads.exported().heads) == [1, 2]
    assert heads.exported().unreadable == 1


@pytest.mark.parametrize("sequence", [1, 10**15])
def test_a_row_that_somebody_inserted_ends_no_signing(sequence, head_lines):
    sealed(2)
    later = timezone.now() + timedelta(days=9_000)
    Head.objects.create(sequence=sequence, hash="0" * 64, signed_at=later, key="0" * 64, signature="0" * 128)
    assert signed().sequence == 2
    assert [line["sequence"] for line in head_lines()] == [2]
    assert heads.sign_when_due() is None


def test_a_line_that_somebody_else_signed_ends_no_signing(heads_file):
    sealed(2)
    line = {
        "sequence": 2,
        "hash": "0" * 64,
        "signed_at": "2999-01-01T00:00:00+00:00",
        "key": "0" * 64,
        "signature": "00",
    }
    heads_file.parent.mkdir(parents=True)
    heads_file.write_text(json.dumps(line) + "\n")
    assert signed().sequence == 2


def test_a_second_thread_that_makes_the_key_at_once_never_changes_it(tmp_path, monkeypatch):
    file, link, first = tmp_path / "audit" / "key", os.link, []

    def linked(part, target):
        link(part, target)
        monkeypatch.setattr(os, "link", link)
        first.append(file.read_text())
        heads._make_key(file)

    monkeypatch.setattr(os, "link", linked)
    heads._make_key(file)
    assert [file.read_text()] == first
    assert [path.name for path in file.parent.iterdir()] == ["key"]

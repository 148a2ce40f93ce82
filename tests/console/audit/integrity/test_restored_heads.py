"""A restored backup takes the chain back. That is what an attack looks like too: only a line signed by this home's key tells them apart."""

import io
import json
import os
import uuid
from dataclasses import asdict, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from django.utils import timezone

from console.audit import verify_export
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import chain, heads, verification
from console.audit.integrity.heads import SignedHead
from console.audit.integrity.restores import note_on
from console.audit.services import record
from jobs.dispatcher.attribution import judgement
from jobs.evidence.consistency import differences
from jobs.models import Job
from tables.models import Commit
from tests import factories
from tests.clients import browser
from tests.console.audit.making import event, sealed, signed

pytestmark = pytest.mark.django_db
MADE_AT = "2026-01-02T03:04:05+00:00"


def append_head(sequence: int) -> None:
    """A head in the file whose link the database doesn't have."""
    key = heads._signing_key()
    head = SignedHead(sequence, "ab" * 32, timezone.now().isoformat(), key.public_key().public_bytes_raw().hex(), "")
    heads._append(heads.heads_file(), [json.dumps(asdict(replace(head, signature=key.sign(head.signed_text).hex())))])


@pytest.fixture
def gone(heads_file):
    """A chain of three links under heads of #3 and #5, as after a backup of #3 was put in place."""
    sealed(3)
    signed()
    append_head(5)


def recorded(made_at: str, sequence: int) -> None:
    """The event of a restore."""
    facts = {"made_at": made_at, "sequence": sequence}
    record(Actor.system("tests"), Action.INSTANCE_RESTORE, ObjectKind.INSTANCE, "home", "home", after=facts)
    chain.seal_waiting()


def restored_to_3(lines=()) -> heads.Restored:
    """What `restore_backup` leaves: an event, and the signed line."""
    recorded(MADE_AT, 3)
    return heads.restore(lines, 3, MADE_AT)


def kinds():
    return {finding["kind"] for finding in verification.verify("test").problems}


def kinds_without_levee():
    with open(heads.heads_file(), encoding="utf-8") as lines:
        good, wrong = verify_export.signed_heads(verify_export.heads_of(lines), heads.public_key())
    return sorted(good), [finding.kind for finding in wrong]


def go_on(count):
    for number in range(count):
        event(number)
    chain.seal_waiting()


def test_an_older_chain_under_newer_heads_is_a_cut_tail(gone):
    assert kinds() == {"tail_cut"}


def test_after_a_restore_the_chain_verifies_and_goes_on(gone):
    restored = restored_to_3()
    assert (restored.restored_to, restored.last_head) == (3, 5)
    assert kinds() == set()
    go_on(4)
    assert kinds() == set()  # its #5 is another one than the head of #5 from before the restore
    assert kinds_without_levee() == ([3], [])


def test_heads_after_a_restore_count_again(gone, head_lines):
    restored_to_3()
    go_on(1)
    append_head(6)
    assert kinds() == {"tail_cut"}
    assert [line.get("sequence") for line in head_lines()] == [3, 5, None, 6]  # nothing was removed


def test_a_copy_of_the_line_hides_no_later_head(gone, heads_file):
    restored_to_3()
    line = heads_file.read_text().splitlines()[-1]
    append_head(6)
    heads._append(heads_file, [line])
    assert kinds() == {"tail_cut"}
    assert kinds_without_levee() == ([3, 6], [])


@pytest.mark.parametrize(
    "change", [{"restored_to": 1}, {"restored_at": "2099-01-01T00:00:00+00:00"}, {"signature": "00"}]
)
def test_a_line_that_this_home_did_not_sign_takes_nothing_back(gone, heads_file, change):
    restored = restored_to_3()
    text = heads_file.read_text().splitlines()[:-1]
    heads_file.write_text("\n".join([*text, json.dumps({**asdict(restored), **change})]) + "\n")
    assert "tail_cut" in kinds()
    assert heads.exported().unreadable == 1
    assert kinds_without_levee() == ([3, 5], [])


def test_a_line_of_another_key_takes_nothing_back(gone, heads_file):
    restored = restored_to_3()
    other = Ed25519PrivateKey.generate()
    forged = replace(restored, key=other.public_key().public_bytes_raw().hex())
    forged = replace(forged, signature=other.sign(forged.signed_text).hex())
    text = heads_file.read_text().splitlines()[:-1]
    heads_file.write_text("\n".join([*text, json.dumps(asdict(forged))]) + "\n")
    assert "tail_cut" in kinds()


def test_a_backup_takes_the_heads_of_its_chain_alone_and_a_restore_adds_those_that_are_lost(gone, heads_file):
    lines = heads.lines_until(3)
    assert [json.loads(line)["sequence"] for line in lines] == [3]
    heads_file.unlink()
    assert kinds() == {"head_lost"}
    restored_to_3(lines)
    assert kinds() == set()
    before = heads_file.read_text()
    restored_to_3(lines)
    assert heads_file.read_text().startswith(before)
    assert heads_file.read_text().count('"sequence"') == 1


def test_a_forged_head_beyond_the_backup_stays_to_be_found(gone, heads_file):
    forged = json.loads(heads_file.read_text().splitlines()[-1]) | {"sequence": 9, "signature": "00" * 64}
    heads._append(heads_file, [json.dumps(forged)])
    restored_to_3()
    assert kinds() == {"head_forged"}


def test_a_restore_that_no_event_tells_of_is_found(gone):
    heads.restore([], 3, MADE_AT)
    assert kinds() == {"restore_unrecorded"}


def test_the_event_of_a_restore_is_gone_once_an_older_backup_is_back(gone):
    heads.restore([], 3, MADE_AT)
    older = "2026-01-01T00:00:00+00:00"
    recorded(older, 2)
    heads.restore([], 2, older)
    assert kinds() == {"head_lost"}  # of #3, whose row this test left in the database


def test_every_verification_says_that_the_chain_was_taken_back(gone, heads_file, tmp_path, capsys, monkeypatch):
    restored_to_3()
    out = io.StringIO()
    call_command("audit", "verify", stdout=out)
    assert "restored: taken back to #3 at 20" in out.getvalue()
    assert "of a backup of 2026-01-02 03:04 UTC; heads up to #5 were given up" in out.getvalue()
    out = io.StringIO()
    call_command("audit", "verify", "--json", stdout=out)
    assert len(json.loads(out.getvalue())["restores"]) == 1
    page = browser(factories.person_with("auditor")).get("/audit/verification/").content.decode()
    assert "the chain was taken back to #3 at" in page

    (tmp_path / "export.jsonl").write_text("")
    monkeypatch.setattr("sys.argv", ["verify_export.py", str(tmp_path / "export.jsonl"), "--heads", str(heads_file)])
    verify_export.main()
    assert "The chain was taken back to #3 at" in capsys.readouterr().out


@pytest.mark.parametrize(
    "value", ['"5"', "Infinity", "true", "0", "-1", "1.5", "null", "[" * 100_000], ids=lambda value: value[:9]
)
@pytest.mark.parametrize("name", ["sequence", "restored_to"])
def test_a_line_that_holds_no_number_is_unreadable_and_ends_no_signing(heads_file, name, value):
    sealed(3)
    others: dict[str, dict[str, Any]] = {
        "sequence": {"hash": "ab", "signed_at": MADE_AT},
        "restored_to": {"made_at": MADE_AT, "restored_at": MADE_AT, "last_head": None},
    }
    line = json.dumps({name: 1, "key": "00", "signature": "00", **others[name]}).replace(": 1,", f": {value},")
    heads._append(heads_file, [line])
    assert signed().sequence == 3
    assert (sorted(heads.exported().heads), heads.exported().unreadable) == ([3], 1)
    with open(heads_file, encoding="utf-8") as lines:
        good, _ = verify_export.signed_heads(verify_export.heads_of(lines), heads.public_key())
    assert sorted(good) == [3]


def test_missing_lines_come_by_one_write(heads_file, monkeypatch):
    made = [json.dumps({"number": number}) for number in range(50)]
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    heads.restore(made, 3, MADE_AT)
    assert heads_file.read_text().splitlines()[:-1] == made
    assert len(syncs) == 1


@pytest.fixture
def restored(heads_file):
    """The instance was restored now, from a backup of two hours ago."""
    made_at = (timezone.now() - timedelta(hours=2)).isoformat()
    recorded(made_at, 0)
    heads.restore([], 0, made_at)


@pytest.mark.parametrize(("hours", "noted"), [(3, False), (1, True), (-1, False)])
def test_what_was_done_between_a_backup_and_its_restore_is_said_to_be_so(restored, hours, noted):
    assert bool(note_on(timezone.now() - timedelta(hours=hours))) == noted


def stamped(at, job) -> Commit:
    """A commit of that time which names that job."""
    table = job.table if job.table_id else factories.TableFactory()
    return Commit.objects.create(
        table=table,
        version=4,
        job=job.pk,
        committed_at=at,
        user_metadata="{}",
        operation="WRITE",
        incarnation=table.incarnation,
    )


def strange() -> list[str]:
    return [finding.kind for finding in differences() if finding.kind == "strange_stamp"]


@pytest.mark.parametrize(("hours", "found"), [(3, True), (1, False)])
def test_the_stamp_of_a_lost_job_is_strange_outside_the_gap_alone(restored, hours, found):
    stamped(timezone.now() - timedelta(hours=hours), SimpleNamespace(pk=uuid.uuid4(), table_id=None))
    assert bool(strange()) == found


def test_the_stamp_of_a_job_with_another_version_is_strange_in_the_gap_too(restored):
    job = factories.job("succeeded")
    Job.objects.filter(pk=job.pk).update(version=3, finished_at=timezone.now() - timedelta(days=1))
    stamped(timezone.now() - timedelta(hours=1), job)
    assert strange() == ["strange_stamp"]


@pytest.mark.parametrize("is_time", [True, False], ids=["a time", "no time"])
def test_an_event_that_anyone_inserted_explains_nothing(heads_file, is_time):
    """The application's role may insert events; the signature it lacks."""
    made_at = (timezone.now() - timedelta(hours=2)).isoformat() if is_time else "no time"
    recorded(made_at, 0)
    at = timezone.now() - timedelta(hours=1)
    stamped(at, SimpleNamespace(pk=uuid.uuid4(), table_id=None))
    assert note_on(at) == ""
    assert strange() == ["strange_stamp"]


def test_a_lost_job_s_commit_is_unapproved_with_the_restore_as_its_likely_cause(restored):
    table = factories.TableFactory()
    at = timezone.now() - timedelta(hours=1)
    commit = Commit(table=table, version=4, job=uuid.uuid4(), committed_at=at, user_metadata="{}")
    judged = judgement(commit)
    assert judged.verdict == "forged"
    assert "which Levee doesn't have. Levee was restored at" in judged.why
    commit.committed_at = at - timedelta(hours=2)
    assert "restored" not in judgement(commit).why

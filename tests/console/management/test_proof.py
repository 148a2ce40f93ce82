"""A restore takes newer heads back for good, so the backup's audit is verified first: against itself, the backup's word, and every head."""

import json
import socket
import subprocess
from dataclasses import asdict, replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from console.audit.integrity import heads
from console.audit.models import Event, Seal
from console.base.processes import boot_id, start_ticks
from console.management.backup import proof
from console.management.backup.aftermath import settle
from console.management.backup.archive import ArchiveError, Manifest
from console.management.backup.proof import NotRestored
from console.supervisor.servers import postgres
from jobs.dispatcher.fencing import proven_dead
from jobs.models import Attempt, Worker
from tests import factories
from tests.console.audit.conftest import Intruder
from tests.console.audit.making import sealed, signed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def heads_file(tmp_path, monkeypatch):
    """Heads of one test don't meet the database of another."""
    monkeypatch.setattr(heads, "heads_file", lambda: tmp_path / "heads.jsonl")
    return tmp_path / "heads.jsonl"


@pytest.fixture
def intruder(transactional_db, levee_home):
    with postgres.connect(levee_home) as connection:
        yield Intruder(connection)


def manifest(**values) -> Manifest:
    """What a backup made now says."""
    end = Seal.objects.order_by("-sequence").first()
    made = Manifest(
        format=1, levee="0", made_at=timezone.now().isoformat(), home="/home", postgres_major=15,
        sequence=end.sequence if end else 0, hash=end.hash if end else "", public_key=heads.public_key(), migrations=[], files={},
    )  # fmt: skip
    return replace(made, **values)


def kinds(made, lines=()):
    return {finding.kind for finding in proof.differences(made, lines)}


def test_a_whole_backup_proves_itself_even_where_no_head_is_left(heads_file):
    assert kinds(manifest()) == set()
    sealed(3)
    signed()
    made, lines = manifest(), heads.lines_until(3)
    assert kinds(made, lines) == set()
    heads_file.unlink()
    assert kinds(made, lines) == set()


@pytest.mark.parametrize("claim", [{"sequence": 0, "hash": ""}, {"sequence": 2}, {"hash": "ab" * 32}])
def test_a_backup_that_names_another_end_than_its_chain_s_is_refused(claim):
    """Signed, the claim would take back every head beyond it."""
    sealed(3)
    signed()
    with pytest.raises(NotRestored, match=r"ends at #3 and isn't the one that the backup names"):
        kinds(manifest(**claim), heads.lines_until(3))


def test_a_chain_that_lacks_what_was_signed_before_the_backup_was_made_is_refused():
    sealed(3)
    key = heads._signing_key()
    head = heads.SignedHead(5, "ab" * 32, timezone.now().isoformat(), heads.public_key(), "")
    heads._append(heads.heads_file(), [json.dumps(asdict(replace(head, signature=key.sign(head.signed_text).hex())))])
    with pytest.raises(NotRestored, match="#5 was signed before the backup was made: its end was cut off"):
        kinds(manifest())
    assert kinds(manifest(made_at="2026-01-01T00:00:00+00:00")) == set()  # what came later is what a restore gives up


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-01T00:00:00"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(NotRestored, match="is no time with its zone"):
        kinds(manifest(made_at=text))


@pytest.mark.django_db(transaction=True)
def test_a_changed_event_is_found_by_the_chain_and_a_rewritten_chain_by_its_heads(intruder):
    sealed(3)
    signed()
    event = Event.objects.get(seal__sequence=2)
    intruder.execute("update audit.event set reason = 'another' where id = %s", [event.pk])
    assert kinds(manifest(), heads.lines_until(3)) == {"event_changed"}
    with pytest.raises(NotRestored, match=r"1 difference, and nothing was restored\. event_changed"):
        proof.refuse(proof.differences(manifest(), ()))
    intruder.execute("update audit.event set hash = audit.row_hash(event) where id = %s", [event.pk])
    intruder.execute(
        "with recursive chain(sequence, hash, previous) as ("
        " select 1::bigint, hash::varchar, previous::varchar from audit.seal where sequence = 1 union all"
        " select s.sequence, audit.link_hash(s.sequence, c.hash, s.event, e.hash)::varchar, c.hash::varchar from chain c"
        " join audit.seal s on s.sequence = c.sequence + 1 join audit.event e on e.id = s.event)"
        " update audit.seal s set hash = c.hash, previous = c.previous from chain c where c.sequence = s.sequence"
    )
    assert kinds(manifest(), heads.lines_until(3)) == {"head_differs"}


def test_another_key_than_the_named_one_and_another_audit_s_heads_are_refused(tmp_path, heads_file):
    sealed(1)
    signed()
    key = settings.ENV.home / "audit" / "key"
    proof.check_keys(key, manifest(), heads.lines_until(1))
    with pytest.raises(NotRestored, match="isn't the one that its manifest names"):
        proof.check_keys(key, manifest(public_key="00" * 32), [])
    other = tmp_path / "key"
    other.write_text(Ed25519PrivateKey.generate().private_bytes_raw().hex())
    named = manifest(public_key=heads.public_key_in(other))
    with pytest.raises(NotRestored, match=r"heads of another audit's key .* give LEVEE_AUDIT_HEADS another directory"):
        proof.check_keys(other, named, [])
    heads_file.unlink()
    proof.check_keys(other, named, [])
    other.write_text("no key")
    with pytest.raises(NotRestored, match="is damaged"):
        proof.check_keys(other, named, [])
    with pytest.raises(NotRestored, match="has no key"):
        proof.check_keys(tmp_path / "none", named, [])


def test_a_manifest_with_values_of_another_kind_is_damaged():
    text = json.dumps(asdict(manifest()) | {"sequence": "0"})
    with pytest.raises(ArchiveError, match="is damaged"):
        Manifest.read(text)


def test_nothing_that_a_backup_says_of_processes_ends_one(tmp_path):
    """Beside a trial restore the living instance's workers run on this host, and its dispatcher looks for the dead and the hung."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as living:
        host, ticks = socket.gethostname(), start_ticks(living.pid)
        who: dict[str, Any] = {"host": host, "boot_id": boot_id(), "pid": living.pid, "start_ticks": ticks}
        Worker.objects.create(name="spark@here", kind="spark", condition="ready", **who)
        job = factories.job("running")
        Attempt.objects.filter(job=job).update(**who)
        settle(manifest(), tmp_path)
        assert not Worker.objects.exists()
        assert [proven_dead(attempt) for attempt in Attempt.objects.filter(job=job)] == [None]
        assert living.poll() is None
        living.kill()


def test_a_restore_ends_all_sessions_and_says_whose_rights_are_back(tmp_path):
    Session.objects.create(session_key="a" * 32, session_data="", expire_date=timezone.now())
    settle(manifest(), tmp_path, ["head_lost: 1 signed heads"])
    assert not Session.objects.exists()
    event = Event.objects.get(action="instance.restore")
    assert (event.after or {})["audit_differs"] == ["head_lost: 1 signed heads"]

"""The audit is sealed, signed and verified by itself."""

import threading
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from console.audit.actions import Action, EventOutcome
from console.audit.integrity import verification
from console.audit.models import Event, Head, Seal, Verification
from console.supervisor.leftovers import wait_until
from jobs.evidence import audit_loops
from tests.console.audit.making import event, night, sealed


@pytest.mark.django_db(transaction=True)
def test_an_event_is_sealed_and_signed_within_two_seconds_by_itself(monkeypatch):
    """By the first turn that comes after it; the turns are half a second apart, which leaves time to work on a busy machine."""
    made, turns, act = event(), list[bool](), audit_loops.seal_and_sign

    def seal_and_sign() -> None:
        act()
        turns.append(Seal.objects.filter(event=made).exists())

    monkeypatch.setattr(audit_loops, "seal_and_sign", seal_and_sign)
    with audit_loops.running(threading.Event()):
        assert wait_until(lambda: bool(turns), 60)
    assert turns[0]
    assert Head.objects.exists()
    assert audit_loops.PAUSE <= 0.5


@pytest.mark.django_db
def test_a_night_has_one_verification_and_it_is_an_event():
    sealed(3)
    run = night()
    assert (run.finished_at is not None, run.checked, run.problem_count) == (True, 3, 0)
    assert audit_loops.verify_nightly() is None
    Verification.objects.update(started_at=timezone.now() - timedelta(days=1, seconds=1))
    assert audit_loops.verify_nightly() is not None
    assert Event.objects.filter(action=Action.AUDIT_VERIFY, outcome=EventOutcome.ALLOWED).count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("asked_by", ["nightly", "ines"])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("hours", [0, 23, 25])
def test_the_small_question_says_the_same_as_the_whole_one(hours, ended, asked_by):
    """`_rests` is asked twice a second, `_due` then under a lock: one that rests too long would verify nothing."""
    assert not audit_loops._rests()
    started_at = timezone.now() - timedelta(hours=hours)
    Verification.objects.create(asked_by=asked_by, started_at=started_at, finished_at=started_at if ended else None)
    assert audit_loops._rests() == (audit_loops._due() is None)


@pytest.mark.django_db
def test_a_long_verification_takes_a_slice_a_turn(monkeypatch):
    monkeypatch.setattr(verification, "SLICE", 2)
    sealed(3)
    assert night().finished_at is None
    assert night().finished_at is not None
    assert Verification.objects.count() == 1


def test_a_night_that_finds_something_says_what_and_where(intruder):
    sealed(3)
    intruder.execute(
        "update audit.event set reason = 'another' where id = (select event from audit.seal where sequence = 2)"
    )
    run = night()
    assert verification.first_wrong(run) == 2
    failed = Event.objects.get(action=Action.AUDIT_VERIFY)
    assert (failed.outcome, "#2" in failed.reason) == (EventOutcome.FAILED, True)


@pytest.mark.django_db
def test_the_command_says_that_nothing_differs(capsys):
    sealed(3)
    call_command("audit", "verify")
    assert "#1 to #3: 3 events" in capsys.readouterr().out


def test_the_command_ends_with_1_and_the_sequence(intruder, capsys):
    sealed(3)
    intruder.execute("delete from audit.event where id = (select event from audit.seal where sequence = 3)")
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify")
    assert ended.value.code == 1
    assert "1 difference, from #3 on" in capsys.readouterr().out

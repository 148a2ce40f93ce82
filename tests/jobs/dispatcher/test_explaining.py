"""The round that judges commits: what waits for its job holds up no other."""

import pytest
from django.utils import timezone

from jobs.dispatcher import attribution
from jobs.dispatcher.attribution import Explaining
from jobs.domain.states import State
from tables.models import Commit, Explanation
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(attribution, "AT_ONCE", 2)


def waiting(table, version, job=None):
    """A commit that asks for its explanation; with a job, one that carries that job's mark."""
    mark = f'{{"job": "{job.pk}", "digest": "{job.digest}"}}' if job else ""
    Commit.objects.create(
        table=table, incarnation=0, version=version, operation="DELETE", user_metadata=mark, job=job and job.pk
    )
    return Explanation.objects.create(table=table, incarnation=0, version=version, effects=["delete"])


def verdicts():
    return list(Explanation.objects.order_by("version").values_list("verdict", flat=True))


@pytest.mark.parametrize("state", [State.QUEUED, State.FAILED])
def test_commits_that_name_a_job_without_an_end_hold_up_no_other(orders, olga, few, state):
    now = timezone.now()
    end = {"error": {"code": "x"}, "finished_at": now} if state is State.FAILED else {}
    job = factories.job_on(orders, olga, state=state, claimed_at=now, **end)
    for version in range(5):
        waiting(orders, version, job)
    waiting(orders, 5)
    assert Explaining()() == 1
    assert verdicts() == ["waiting"] * 5 + ["nobody"]


def test_those_that_wait_are_looked_at_by_turns(orders, olga, few, monkeypatch):
    job, looked = factories.job_on(orders, olga, claimed_at=None), []
    for version in range(4):
        waiting(orders, version, job)

    def judge(explanation):
        looked.append(explanation.version)
        return False

    monkeypatch.setattr(attribution, "_judge", judge)
    round_ = Explaining()
    for _ in range(3):
        round_()
    assert looked == [0, 1, 2, 3, 0, 1]


def test_one_that_breaks_the_round_holds_up_no_later_one(orders, few, monkeypatch):
    for version in range(4):
        waiting(orders, version)
    real = attribution._judge

    def judge(explanation):
        if explanation.version == 0:
            raise ValueError("broken")
        return real(explanation)

    monkeypatch.setattr(attribution, "_judge", judge)
    round_ = Explaining()
    with pytest.raises(ValueError, match="broken"):
        round_()
    assert round_() == 2
    assert verdicts() == ["waiting", "nobody", "nobody", "waiting"]


def test_a_commit_that_the_catalog_lost_holds_up_no_other(orders):
    waiting(orders, 0)
    waiting(orders, 1)
    Commit.objects.filter(version=0).delete()
    assert Explaining()() == 1
    assert verdicts() == ["waiting", "nobody"]

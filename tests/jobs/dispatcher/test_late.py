"""Late commits: found by their mark, each commit read once, every job in its turn."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.commands.optimize.rules import Optimize
from jobs.commands.vacuum.rules import Vacuum
from jobs.dispatcher import late_commits
from jobs.dispatcher.late_commits import LateCommits
from jobs.domain.states import State
from jobs.lifecycle import endings
from jobs.models import Job
from tables.deltalog.read.lines import read_lines
from tables.sync import log_access
from tests import factories
from tests.jobs import fake_table

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quiet(no_wakes):
    return no_wakes


@pytest.fixture
def read(monkeypatch):
    """The versions whose files were read for a mark, in order."""
    seen = []

    def reads(storage, path, *more):
        seen.append(int(path.rsplit("/", 1)[-1].split(".")[0]))
        return read_lines(storage, path, *more)

    monkeypatch.setattr("tables.deltalog.replay.log.read_lines", reads)
    return seen


def failed(at, who, base=None, **values):
    now = timezone.now()
    values = {"error": {"code": "x"}, "claimed_at": now, "finished_at": now} | values
    return factories.job_on(at, who, state=State.FAILED, base_version=base, **values)


def commits(table, count, mark=""):
    for _ in range(count):
        last = fake_table.commit(table.path, "WRITE", mark, {fake_table.write_data(table.path, 1): 1})
    return last


def mark_of(job):
    return f'{{"job": "{job.pk}", "attempt": 1, "digest": null}}'


def test_only_what_came_after_the_base_version_is_read_and_once(orders, olga, read):
    commits(orders, 30)
    job, look = failed(orders, olga, base=25), LateCommits()
    assert look() == 0
    assert read == [26, 27, 28, 29]
    assert look() == 0
    assert read == [26, 27, 28, 29]
    version = commits(orders, 1, mark_of(job))
    assert look() == 1
    assert read[4:] == [30]
    assert Job.objects.get().version == version == 30
    assert look() == 0


@pytest.mark.parametrize(("command", "found"), [(Vacuum, [30, 32]), (Optimize, [30])])
def test_of_a_run_with_several_commits_each_is_found(orders, olga, read, command, found):
    """A vacuum that nobody could end may delete files for an hour between its two commits."""
    commits(orders, 30)
    now = timezone.now()
    values = {"error": {"code": "x"}, "claimed_at": now, "finished_at": now}
    job = factories.job_on(
        orders, olga, command(str(orders.pk), path=orders.path), State.STALE, base_version=25, **values
    )
    look, seen = LateCommits(), []
    for mark in (mark_of(job), "", mark_of(job), ""):
        version = commits(orders, 1, mark)
        if look():
            seen.append(version)
            assert Job.objects.get().version == version
    assert seen == found
    assert read.count(30) == 1


def test_a_lost_run_is_looked_for_after_its_base_version(orders, olga, read):
    commits(orders, 10)
    job = failed(orders, olga, base=7)
    assert endings.committed(job) is None
    assert read == [8, 9]


def test_a_table_without_a_log_is_looked_at_from_its_first_commit(orders, olga):
    job, look = failed(orders, olga), LateCommits()
    assert look() == 0
    commits(orders, 1, mark_of(job))
    assert look() == 1


def test_a_log_that_was_replaced_is_read_again_from_the_base_version(orders, olga, read, tmp_path):
    commits(orders, 9)
    job, look = failed(orders, olga, base=3), LateCommits()
    look()
    (place := tmp_path / "lake" / "orders" / "_delta_log").rename(tmp_path / "away")
    commits(orders, 6, mark_of(job))
    commits(orders, 4)
    assert place.is_dir()
    assert look() == 1
    assert Job.objects.get().version == 4


def test_commits_behind_a_gap_that_a_checkpoint_explains_are_found(orders, olga, tmp_path):
    commits(orders, 9)
    job, look = failed(orders, olga, base=3), LateCommits()
    log = tmp_path / "lake" / "orders" / "_delta_log"
    for version in range(7):
        (log / f"{version:020d}.json").unlink()
    (log / "_last_checkpoint").write_text('{"version": 7, "size": 1}')
    commits(orders, 1, mark_of(job))
    assert look() == 1
    assert Job.objects.get().version == 9


def test_a_long_way_is_gone_over_several_rounds(orders, olga, monkeypatch):
    monkeypatch.setattr(late_commits, "COMMITS", 4)
    commits(orders, 12)
    job, look = failed(orders, olga, base=1), LateCommits()
    commits(orders, 1, mark_of(job))
    assert [look(), look(), look()] == [0, 0, 1]


@pytest.mark.parametrize("limit", ["AT_ONCE", "SECONDS"])
def test_with_more_jobs_than_fit_a_round_each_has_its_turn(orders, olga, monkeypatch, limit):
    monkeypatch.setattr(late_commits, limit, 2 if limit == "AT_ONCE" else 0)
    jobs, looked = [failed(orders, olga) for _ in range(5)], []

    def looks(job, since, most):
        looked.append(job.pk)
        return None, since

    monkeypatch.setattr(endings, "committed_after", looks)
    look = LateCommits()
    for _ in range(5):
        look()
    assert set(looked) == {job.pk for job in jobs}
    assert len({looked.count(pk) for pk in looked}) == 1


def test_a_log_that_can_not_be_read_holds_up_no_other(lake, olga):
    table = factories.table_in(lake, "there")
    first, second = sorted((failed(table, olga) for _ in range(2)), key=lambda job: job.pk)
    Job.objects.filter(pk=first.pk).update(location="/nowhere/at/all")
    commits(table, 1, mark_of(second))
    assert LateCommits()() == 1


def test_what_ended_long_ago_is_left(orders, olga, timing):
    job = failed(orders, olga, finished_at=timezone.now() - timedelta(hours=2))
    commits(orders, 1, mark_of(job))
    assert LateCommits()() == 0
    assert log_access.find_mark(orders.path, job.pk, None) is not None

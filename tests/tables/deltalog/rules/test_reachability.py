from datetime import UTC, datetime, timedelta

from tables.deltalog.rules.reachability import FileKnowledge, VacuumRun, VersionFacts, VersionReach, reachability

NOW = datetime(2026, 6, 30, tzinfo=UTC)
WEEK = timedelta(weeks=1)


def fact(
    version: int, days_ago: float, *, in_log: bool = True, removes: bool = False, feed: bool = True
) -> VersionFacts:
    return VersionFacts(version, NOW - timedelta(days=days_ago), in_log, removes, feed)


def reach(*facts: VersionFacts, rebuildable=None, vacuums=(), head: int | None = None) -> list[VersionReach]:
    last = facts[-1].version
    return reachability(
        facts,
        head=last if head is None else head,
        rebuildable=[range(last + 1)] if rebuildable is None else rebuildable,
        vacuums=vacuums,
        retention=WEEK,
        now=NOW,
    )


def test_a_young_version_can_be_read_restored_and_followed():
    old, _ = reach(fact(0, 3), fact(1, 1))
    assert (old.readable, old.restorable, old.change_feed, old.files) == (True, True, True, FileKnowledge.THERE)
    assert old.until == NOW + timedelta(days=4)
    assert old.why is None


def test_a_version_beyond_the_retention_is_refused_even_without_a_vacuum():
    old, _ = reach(fact(0, 8), fact(1, 1))
    assert (old.readable, old.restorable, old.change_feed) == (False, False, False)
    assert old.files is FileKnowledge.THERE
    assert "deletedFileRetentionDuration" in (old.why or "")


def test_the_newest_version_never_expires():
    (newest,) = reach(fact(0, 400))
    assert newest.readable
    assert newest.until is None


def test_at_the_very_end_of_the_retention_it_is_still_allowed():
    old, _ = reach(fact(0, 7), fact(1, 1))
    assert old.readable


def test_a_version_that_the_log_can_not_rebuild_is_out_of_reach():
    gone, kept = reach(fact(0, 3, in_log=False), fact(1, 1), rebuildable=[range(1, 2)])
    assert (gone.rebuildable, gone.readable, gone.change_feed, gone.until) == (False, False, False, None)
    assert "log" in (gone.why or "")
    assert kept.readable


def test_a_vacuum_takes_the_files_of_versions_before_a_removal():
    vacuum = VacuumRun(3, NOW - timedelta(hours=1), timedelta(days=2))
    before, removal, after, _ = reach(
        fact(0, 5), fact(1, 4, removes=True), fact(2, 1, removes=True), fact(3, 0), vacuums=[vacuum]
    )
    assert before.files is FileKnowledge.PERHAPS_GONE
    assert not before.readable
    assert "vacuum" in (before.why or "")
    assert removal.files is FileKnowledge.THERE  # what version 2 removed was younger than the vacuum's retention
    assert after.files is FileKnowledge.THERE


def test_a_vacuum_before_the_removal_takes_nothing():
    vacuum = VacuumRun(1, NOW - timedelta(days=3), timedelta())
    old, *_ = reach(fact(0, 4), fact(1, 3), fact(2, 1, removes=True), vacuums=[vacuum])
    assert old.files is FileKnowledge.THERE


def test_the_change_feed_needs_to_have_been_on():
    off, on = reach(fact(0, 2, feed=False), fact(1, 1))
    assert not off.change_feed
    assert on.change_feed


def test_a_cleaned_commit_has_no_change_feed_though_its_state_can_be_read():
    cleaned, _ = reach(fact(0, 2, in_log=False), fact(1, 1))
    assert cleaned.readable
    assert not cleaned.change_feed


def test_a_retention_beyond_all_years_is_no_error():
    facts = [fact(0, 3), fact(1, 1)]
    old, _ = reachability(facts, head=1, rebuildable=[range(2)], vacuums=[], retention=timedelta.max, now=NOW)
    assert old.readable

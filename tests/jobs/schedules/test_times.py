"""When schedules are due: cron expressions in time zones, also where clocks change."""

import struct
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace

import pytest

from console.base import zones
from jobs.schedules import times

BERLIN = "Europe/Berlin"


def at(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2027, month, day, hour, minute, tzinfo=UTC)


def test_an_expression_is_read_in_its_zone():
    assert times.upcoming("30 3 * * MON-FRI", BERLIN, at(1, 8, 12), 2) == [at(1, 11, 2, 30), at(1, 12, 2, 30)]
    assert times.upcoming("30 3 * * *", "UTC", at(1, 8, 12), 1) == [at(1, 9, 3, 30)]


def test_a_time_that_the_clocks_skip_is_due_when_they_have_skipped_it():
    # 28 March 2027: 02:00 is 03:00 in Berlin, 01:00 UTC.
    assert times.upcoming("30 2 * * *", BERLIN, at(3, 27, 12), 2) == [at(3, 28, 1), at(3, 29, 0, 30)]


def test_a_time_that_comes_twice_is_due_once():
    # 31 October 2027: 03:00 is 02:00 again in Berlin, 01:00 UTC.
    assert times.upcoming("30 2 * * *", BERLIN, at(10, 30, 12), 2) == [at(10, 31, 0, 30), at(11, 1, 1, 30)]
    between = at(10, 31, 1, 10)  # after the first 02:30, before the second
    assert times.upcoming("30 2 * * *", BERLIN, between, 1) == [at(11, 1, 1, 30)]


def test_an_expression_of_each_hour_follows_the_time_that_passes():
    assert times.upcoming("0 * * * *", BERLIN, at(10, 30, 23, 15), 4) == [at(10, 31, hour) for hour in range(4)]
    assert times.upcoming("*/30 * * * *", BERLIN, at(3, 28, 0, 45), 2) == [at(3, 28, 1), at(3, 28, 1, 30)]


@pytest.mark.parametrize(
    "cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "61 * * * *", "@daily", "* * * * * *", "5-1 * * * *", "", "a b c d e"]
)
def test_what_never_fits_a_date_is_refused(cron):
    with pytest.raises(times.NeverDue):
        times.check(cron, BERLIN)


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "../etc/passwd", "CEST+1", "localtime", "Factory"])
def test_an_unknown_zone_is_refused(zone):
    with pytest.raises(times.NeverDue, match="no time zone"):
        times.check("0 3 * * *", zone)


def test_a_zone_that_is_gone_since_the_list_was_read_is_refused_too(monkeypatch):
    monkeypatch.setattr(times, "known_zones", cache(lambda: frozenset({"Europe/Atlantis"})))
    with pytest.raises(times.NeverDue, match="no time zone"):
        times.zone_of("Europe/Atlantis")


def test_a_zone_that_is_back_on_the_machine_is_known_again(monkeypatch):
    times.known_zones.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(times, "available_timezones", lambda: {"Europe/Paris"})
        with pytest.raises(times.NoZone):
            times.zone_of(BERLIN)
    assert str(times.zone_of(BERLIN)) == BERLIN


@pytest.mark.parametrize("fault", [OSError("short"), ValueError("Invalid TZif file"), struct.error("short")])
def test_a_zone_whose_file_can_t_be_read_counts_as_missing(monkeypatch, fault):
    def unreadable(_name):
        raise fault

    monkeypatch.setattr(zones, "ZoneInfo", SimpleNamespace(from_file=unreadable))
    zones.read.cache_clear()
    with pytest.raises(times.NoZone, match="no time zone"):
        times.zone_of(BERLIN)


def test_why_a_stored_expression_has_no_next_time_is_told():
    assert times.fault_of("0 3 * * *", BERLIN) == ""
    assert times.fault_of("0 3 * * *", "Europe/Atlantis").startswith("There is no time zone")
    assert times.fault_of("0 0 30 2 *", BERLIN).startswith("The expression 0 0 30 2 * never fits a date")


def test_of_the_times_that_passed_the_newest_counts():
    since = at(1, 1, 0)
    assert times.newest("0 * * * *", "UTC", since, at(1, 1, 5)) == at(1, 1, 5)
    assert times.newest("0 * * * *", "UTC", since, at(1, 1, 4, 59)) == at(1, 1, 4)
    assert times.newest("0 * * * *", "UTC", since, at(1, 1, 0, 30)) == since

"""Time zones of this machine whose files are damaged."""

import zoneinfo
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.base import zones

BERLIN = "Europe/Berlin"


def _forget():
    zones.read.cache_clear()
    zones.names.cache_clear()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.fixture
def file(tmp_path):
    """That of Berlin, in a copy of the machine's zones that holds no other."""
    real = zoneinfo.TZPATH
    file = tmp_path / BERLIN
    file.parent.mkdir()
    file.write_bytes(next(found for folder in real if (found := Path(folder, BERLIN)).is_file()).read_bytes())
    zoneinfo.reset_tzpath([str(tmp_path)])
    _forget()
    yield file
    zoneinfo.reset_tzpath(real)
    zones.show_in(zones.UTC_NAME)
    _forget()


def test_a_zone_s_file_that_ends_too_early_is_unreadable_wherever_it_ends(file):
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(zones.UnreadableZone, match="Europe/Berlin can’t be read"):
            zones.read(BERLIN)
    file.write_bytes(whole)
    assert str(zones.read(BERLIN)) == BERLIN


def test_the_last_hour_of_the_calendar_is_shown_in_utc_where_the_zone_has_no_date_for_it():
    """A log may name it: one such table breaks no page."""
    last = datetime.max.replace(microsecond=0, tzinfo=UTC)
    zones.show_in(BERLIN)
    try:
        assert zones.in_full(last) == "9999-12-31 23:59:59 UTC (23:59:59 UTC)"
    finally:
        zones.show_in(zones.UTC_NAME)


def test_a_person_whose_zone_can_t_be_read_sees_utc_until_it_can(file):
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])  # within its last line
    zones.show_in(BERLIN)
    assert zones.shown() == zones.UTC_NAME
    file.write_bytes(whole)
    zones.show_in(BERLIN)
    assert zones.shown() == BERLIN

"""When a schedule is due: a cron expression of five fields, read in a time zone.

As Debian's cron about summer time: a time of day that the clocks skip is due as soon as they have skipped it, one that comes twice is due
once, the first time; expressions whose minute or hour begins with `*` follow the time that passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import cache
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError

from console.base import zones

FIELDS = 5
LONGEST = 100  # characters
_OF_A_MACHINE = {"localtime", "Factory"}  # what they mean isn't the same everywhere, so nobody can approve them


CHOOSE_AGAIN = "Edit the schedule to choose its times again."


class NeverDue(ValueError):
    """The expression or the zone can't be read, or no moment fits the expression; the text says which."""


class NoZone(NeverDue):
    """This machine doesn't know the zone, or can't read it, perhaps only for now."""


def check(cron: str, zone: str) -> None:
    """Raises NeverDue unless the expression is due some day in the zone."""
    zone_of(zone)
    upcoming(cron, zone, datetime.now(UTC), 1)


@cache
def known_zones() -> frozenset[str]:
    """The names of the time zones that this machine knows."""
    return frozenset({*available_timezones(), zones.UTC_NAME} - _OF_A_MACHINE)


def zone_of(name: str) -> tzinfo:
    """The zone of that name. Raises NoZone."""
    if name == zones.UTC_NAME:
        return UTC
    found = _looked_up(name)
    if found is None:  # the machine's list of zones may have changed since this process read it
        known_zones.cache_clear()
        found = _looked_up(name)
    if found is None:
        raise NoZone(f"There is no time zone {name[:60]!a}. Use a name like Europe/Berlin, or UTC.")
    return found


def _looked_up(name: str) -> tzinfo | None:
    if name not in known_zones():
        return None
    try:
        return zones.read(name)
    except zones.UnreadableZone:
        return None


def fault_of(cron: str, zone: str) -> str:
    """Why a stored expression has no next time on this machine, such as a zone that is gone from its list; empty if it has one."""
    try:
        check(cron, zone)
    except NeverDue as never:
        return str(never)
    return ""


def upcoming(cron: str, zone: str, after: datetime, count: int) -> list[datetime]:
    """The next moments after `after`, in UTC; fewer if none follow within 50 years. Raises NeverDue if none does at all."""
    found: list[datetime] = []
    for moment in _from(cron, zone, after, reverse=False):
        # A local time that comes twice is given as its first moment, which may lie before `after`.
        if moment > after and (not found or moment > found[-1]):
            found.append(moment)
        if len(found) == count:
            break
    if not found:
        raise NeverDue(f"The expression {cron} never fits a date.")
    return found


def newest(cron: str, zone: str, since: datetime, until: datetime) -> datetime:
    """The last moment at or before `until`; `since`, itself such a moment, if none lies between."""
    passed = next(_from(cron, zone, until, reverse=True), since)
    return passed if since < passed <= until else since


def _from(cron: str, zone: str, start: datetime, *, reverse: bool) -> Iterator[datetime]:
    """The moments of an expression from `start` on, in UTC. Backwards, `start` itself is one of them."""
    parts = cron.split()
    if len(cron) > LONGEST or len(parts) != FIELDS:
        raise NeverDue("A cron expression has five fields: minute, hour, day of month, month, day of week.")
    begin = start.astimezone(zone_of(zone))
    if reverse:  # so that a moment that is `start` to the second counts as passed
        begin = begin.replace(microsecond=999_999)
    try:
        moments = CronSim(" ".join(parts), begin, reverse=reverse)
    except CronSimError as error:
        raise NeverDue(f"The expression {cron} never fits a date: {str(error)[:1].lower()}{str(error)[1:]}.") from None
    for moment in moments:
        yield moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)

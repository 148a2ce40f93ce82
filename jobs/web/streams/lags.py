"""How far a stream is behind its source, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html

from console.base.text.counted import counted
from console.templatetags.levee import ago, since, unknown
from jobs.models import Stream

STALE_LAG = timedelta(minutes=5)  # an older measure says when it was made
STOPPED = "A stopped stream isn’t measured."
BEFORE_A_ROUND = "Levee measures a stream before each round, from its source and its checkpoint."


@dataclass(frozen=True, slots=True)
class LagText:
    """A lag in words. `why`: why there is none; `measured_at` is set where it was measured a while ago.

    `too_old` files wait as well, but Spark never takes them; `too_old_text` begins a sentence about them.
    """

    text: str = ""
    oldest: datetime | None = None
    why: str = ""
    measured_at: datetime | None = None
    too_old: int = 0
    too_old_text: str = ""


def lag_of(stream: Stream) -> LagText:
    if stream.lag is None:
        return LagText(why=STOPPED if stream.state == Stream.State.STOPPED else stream.lag_text or BEFORE_A_ROUND)
    told = stream.lag
    at_least = "" if told["exact"] else "at least "
    too_old = int(told.get("too_old", 0))
    late = stream.lag_at if stream.lag_at and timezone.now() - stream.lag_at > STALE_LAG else None
    text_of_old = f"{at_least}{too_old:,} file{' is' if too_old == 1 else 's are'} too old" if too_old else ""
    aged = LagText(measured_at=late, too_old=too_old, too_old_text=text_of_old)
    if stream.state == Stream.State.STOPPED:
        return replace(aged, why=STOPPED)
    waiting, unit = int(told["waiting"]), told["unit"]
    if not waiting:
        return replace(aged, text="up to date")
    text = f"{at_least}{counted(waiting, unit)}"
    return replace(aged, text=text, oldest=parse_datetime(told["oldest"] or ""))


SECOND = '<span class="lv-second">{}</span>'
TOO_OLD = '<abbr title="Spark never reads them; the stream’s page says what to do">{} too old</abbr>'


def lag_cell(lag: LagText) -> str:
    """The lag as a cell of the list."""
    parts = [unknown(lag.why, "not measured") if lag.why else lag.text]
    if lag.oldest:
        parts.append(format_html(SECOND, format_html("oldest {}", since(lag.oldest))))
    if lag.measured_at and not lag.why:
        parts.append(format_html(SECOND, format_html("measured {}", ago(lag.measured_at))))
    if lag.too_old:
        parts.append(format_html(SECOND, format_html(TOO_OLD, f"{lag.too_old:,}")))
    return format_html("{}" * len(parts), *parts)

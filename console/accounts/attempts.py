"""Limits on password attempts, so that no one can guess a password and no stranger can lock a person out.

Wrong passwords count against where they come from: a name from an address, an address as a whole, and apart from both the
devices and sessions that are already the person's own. Guesses from elsewhere never use up the person's own limit.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone

from console.accounts.devices import known_device
from console.accounts.models import PasswordAttempt, Person
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.logs import log, request_address
from console.base.text.counted import counted

WINDOW = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class PasswordSource:
    """The origin of a password: at most `most` wrong ones for one name in the window, `most_in_all` for all names (None: no limit).

    Other things that are tried are counted the same way: `what` they are.
    """

    key: str
    most: int
    most_in_all: int | None = None
    what: str = "wrong passwords"


def source_of_sign_in(request: HttpRequest, name: str) -> PasswordSource:
    """The person's own device, else the network it comes from."""
    device = known_device(request, name)
    if device is not None:
        return PasswordSource(f"device:{device}", most=10)
    return PasswordSource(f"address:{network_of(request_address.get())}", most=5, most_in_all=30)


def source_of_session(actor: Actor) -> PasswordSource:
    """A session that asks for the password again: an intruder in it can guess here and nowhere else."""
    return PasswordSource(f"session:{actor.session}", most=5)


def network_of(address: str) -> str:
    """The address; of IPv6 the /64, which one subscriber has as a whole."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def admit(name: str, source: PasswordSource) -> PasswordAttempt:
    """Notes an attempt before its password is looked at. Raises Problem 429 `too_many_attempts` when there were too many.

    Noted first and counted afterwards, so that attempts at the same moment see each other and never exceed the limit.
    """
    PasswordAttempt.objects.filter(at__lt=Now() - WINDOW).delete()
    attempt = PasswordAttempt.objects.create(name=name.lower()[:64], source=source.key)
    until = _closed_until(attempt, source)
    if until is not None:
        attempt.delete()
        log.warning("too_many_attempts", name=name[:64], source=source.key)
        raise _too_many(source, until)
    return attempt


def succeeded(attempt: PasswordAttempt) -> None:
    """The password was right: earlier wrong ones for this name from this place count no more."""
    PasswordAttempt.objects.filter(name=attempt.name, source=attempt.source).delete()


def _closed_until(attempt: PasswordAttempt, source: PasswordSource) -> datetime | None:
    others = PasswordAttempt.objects.filter(source=source.key).exclude(pk=attempt.pk).order_by("-at")
    closed = [_end(others.filter(name=attempt.name), source.most)]
    if source.most_in_all is not None:
        closed.append(_end(others, source.most_in_all))
    return max((end for end in closed if end is not None), default=None)


def _end(others: QuerySet[PasswordAttempt], most: int) -> datetime | None:
    """When the oldest of the newest `most` stops counting; None while there are fewer."""
    newest = list(others.values_list("at", flat=True)[:most])
    return newest[-1] + WINDOW if len(newest) == most else None


def _too_many(source: PasswordSource, until: datetime) -> Problem:
    seconds = max(1, round((until - timezone.now()).total_seconds()))
    minutes = -(-seconds // 60)
    wait = counted(minutes, "minute")
    detail = f"Too many {source.what} from here. Try again in {wait}, at {until:%H:%M:%S} UTC."
    return Problem(429, "too_many_attempts", detail, retry_after=seconds, try_again_at=until.isoformat())


def check_password(actor: Actor, person: Person, password: str) -> bool:
    """Whether it is the signed-in person's password. Raises Problem 429 `too_many_attempts`."""
    attempt = admit(person.name, source_of_session(actor))
    if not person.check_password(password):
        return False
    succeeded(attempt)
    return True

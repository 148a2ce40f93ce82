"""The frame of every page: what doesn't work now, and what waits for the person."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from console.accounts import admins
from console.accounts.models import Person
from console.accounts.sign_in import drafts, step_up
from console.audit.integrity import chain
from console.audit.readings import last_verification
from console.base.disks import DiskRoom, disks, fullest
from console.base.version import VERSION
from console.pages.health import redis_answers
from console.pages.home.bar import bar_of
from jobs.lifecycle.worker_states import DOWN, HUNG, worker_state
from jobs.models import Worker
from jobs.web.approvals import queries as approval_queries

SPARK_TROUBLES = {
    DOWN: {
        "title": "No Spark worker responds.",
        "text": "Levee accepts and keeps jobs; they start when a worker is back. You can still read tables and history.",
    },
    HUNG: {
        "title": "The Spark worker hangs.",
        "text": "Levee replaces it within two minutes. Jobs are accepted and kept; tables and history can be read.",
    },
}


def chrome(request: HttpRequest) -> dict[str, Any]:
    """The banners of every page: what doesn't work now, and what still does; how many requests wait for the person; Levee's version.

    Computed only when a template uses them.
    """
    person = getattr(request, "user", None)
    if not isinstance(person, Person):
        return {}
    waiting = SimpleLazyObject(lambda: approval_queries.count_waiting(person))
    return {
        "banners": SimpleLazyObject(lambda: _troubles(request)),
        "waiting_count": waiting,
        "levee_version": VERSION,
        "confirm_first": SimpleLazyObject(lambda: confirm_first(request, request.get_full_path())),
        "kept": SimpleLazyObject(lambda: drafts.shown(request)),
        "story_bar": SimpleLazyObject(
            lambda: bar_of(person, request.resolver_match, request.GET or request.POST, request.get_full_path())
        ),
    }


def confirm_first(request: HttpRequest, back: str) -> str:
    """Where to enter the password before changes to who may do what; empty where it was entered lately."""
    return "" if step_up.is_recent(request) else step_up.confirm_url(back, step_up.Purpose.ACCESS)


def spark_state(request: HttpRequest) -> str:
    """The state of the Spark workers, asked once for a request: its page and its banners say the same."""
    if not hasattr(request, "spark_state"):
        request.spark_state = worker_state(Worker.Kind.SPARK)  # type: ignore[attr-defined]
    return request.spark_state  # type: ignore[attr-defined,no-any-return]


def _troubles(request: HttpRequest) -> list[dict[str, str]]:
    banners = _disk_troubles()
    if isinstance(request.user, Person) and request.user.has_no_role:
        text = f"{admins.ask_admins()} Until then you see no tables and no jobs."
        banners.append({"level": "info", "title": "You have no role yet.", "text": text})
    if not redis_answers():
        text = "Levee accepts and keeps jobs; they start when Redis is back. You can still read tables and history."
        banners.append({"level": "warning", "title": "Redis doesn’t respond.", "text": text})
    if trouble := SPARK_TROUBLES.get(spark_state(request)):
        banners.append({"level": "warning", **trouble})
    if chain.is_behind():
        text = "Levee records events but doesn’t chain them yet; check the dispatcher’s log."
        banners.append({"level": "warning", "title": "The audit isn’t being sealed.", "text": text})
    broken = last_verification(request)
    if broken is not None and broken.problem_count:
        text = f"{broken.problems[0]['text']} An auditor must look into it; the Audit page lists the differences."
        banners.append({"level": "error", "title": "The audit is not what was recorded.", "text": text})
    return banners


def _disk_troubles() -> list[dict[str, str]]:
    disk = fullest(disks(settings.ENV))
    if disk is None or disk.room is DiskRoom.ENOUGH:
        return []
    title = f"{disk.words[0].upper()}{disk.words[1:]} is {'full' if disk.room is DiskRoom.FULL else 'nearly full'}."
    if disk.room is DiskRoom.LOW:
        return [{"level": "warning", "title": title, "text": f"{disk.left.capitalize()}. Free some space on it."}]
    if not disk.records:
        text = f"{disk.left.capitalize()}. Programs that Levee starts may fail there; free some space on it."
    else:
        text = (
            f"{disk.left.capitalize()}. Levee accepts no new work until there is space; then it continues on its own."
        )
    return [{"level": "error", "title": title, "text": text}]

"""503 when a part that Levee depends on is down or full: as a problem or a page, made without the database."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import ResolverMatch

from console.base import errors
from console.base.disks import Disk, DiskRoom, disks, full_disk, fullest, says_full
from console.base.errors import Problem, problem_response
from console.base.logs import log

SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
# What helps to get out of it is tried even then: to sign in and look, to end a job that fills the disk.
TRIED_ON_A_FULL_DISK = {
    *("accounts:sign_in", "accounts:sign_out", "accounts:confirm"),
    *("jobs:cancel", "api_job_cancel", "api_job_withdraw"),
}
ENDS_A_JOB = {"cancel", "withdraw"}
KEY, KEYED = "Idempotency-Key", {"api_jobs", "api_job_undo"}  # where a key is heeded
RETRY_AFTER = {"database_down": 5, "disk_full": 30}  # seconds
TITLES = {"database_down": "The database doesn’t answer", "disk_full": "A disk is full"}


class DatabaseDownMiddleware:
    """PostgreSQL down, or without space, while a view works: 503. What other middleware meets is `server_error`'s."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Refuses changes while there is still space to record accepted work to its end."""
        if request.method in SAFE_METHODS or not request.resolver_match:
            return None
        disk = full_disk(settings.ENV)
        if disk is None or _is_tried(request.resolver_match):
            return None
        return unavailable(request, disk_full(disk, "Nothing was done."))

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return _answer(request, error)


def _is_tried(match: ResolverMatch) -> bool:
    by_short_id = match.view_name == "api_job_act_by_short_id" and match.kwargs.get("act") in ENDS_A_JOB
    return by_short_id or match.view_name in TRIED_ON_A_FULL_DISK


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler of uncaught errors. Each middleware is wrapped on its own, so an error of one never reaches another."""
    error = sys.exc_info()[1]
    return (error and _answer(request, error)) or errors.server_error(request)


def _answer(request: HttpRequest, error: BaseException) -> HttpResponse | None:
    """The answer to an error outside Levee: the database, or a disk without the space that a page needs."""
    if isinstance(error, OperationalError | InterfaceError):
        return database_down(request, error)
    if isinstance(error, OSError) and says_full(error):
        log.error("disk_full", error=str(error))
        return unavailable(request, no_room(_known(request)))
    return None


def no_room(known: str) -> Problem:
    """The refusal of a request that needed room to work, on the disk that has the least."""
    disk = fullest(disks(settings.ENV))
    words = (
        f"{disk.words[0].upper()}{disk.words[1:]} is full ({disk.left})"
        if disk and disk.room is DiskRoom.FULL
        else "A disk is full"
    )
    text = f"{words}: there is no space left to answer this request. {known} Free some space."
    return Problem(503, "disk_full", text, disk=disk.place if disk else "home")


def database_down(request: HttpRequest, error: BaseException) -> HttpResponse:
    """The 503 answer to a request that lost PostgreSQL; names a full disk as the cause."""
    log.error("database_down", error=str(error).strip().split("\n")[0])
    known = _known(request)
    disk = full_disk(settings.ENV)
    if disk is not None or says_full(error):
        return unavailable(request, disk_full(disk, known))
    return unavailable(request, Problem(503, "database_down", f"PostgreSQL doesn't answer. {known}".strip()))


def _known(request: HttpRequest) -> str:
    """What Levee knows of an interrupted request: its transaction may have ended, with only the answer lost."""
    if request.method in SAFE_METHODS:
        return "Try again in a moment."
    unknown = "Levee doesn't know whether it recorded this request; if it did, the record is complete. Check before you try again"
    return (
        f"{unknown}: with its Idempotency-Key Levee never does it twice."
        if "Idempotency-Key" in request.headers
        else f"{unknown}."
    )


def disk_full(disk: Disk | None, known: str) -> Problem:
    """The refusal that names the disk: None is PostgreSQL's, if only PostgreSQL knows it. `known` is what happened to the request."""
    words = f"{disk.words} is full ({disk.left})" if disk else "The disk of PostgreSQL's data is full"
    text = f"{words[0].upper()}{words[1:]}: Levee can't record anything. {known}"
    return Problem(
        503,
        "disk_full",
        f"{text} Once there is space, Levee continues on its own.",
        disk=disk.place if disk else "database",
    )


def unavailable(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The problem as a response that reads nothing from the database."""
    if request.path_info.startswith("/api/"):
        response: HttpResponse = problem_response(problem)
    else:
        context = {"problem": problem, "title": TITLES[problem.code]}
        response = HttpResponse(render_to_string("errors/503.html", context), status=503)
    response["Retry-After"] = str(RETRY_AFTER[problem.code])
    return response

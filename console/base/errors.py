"""Errors as answers: `application/problem+json` for the API, a page for people. One shape, one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import DataError, IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django_htmx.http import HttpResponseClientRedirect
from rest_framework import exceptions
from rest_framework.response import Response

PROBLEM_TYPE = "application/problem+json"
# As psycopg and PostgreSQL refuse a text or a JSON value: only a request can bring one, since all else is made storable first.
_UNSTORABLE = re.compile(r"cannot contain NUL|u0000 cannot be converted|Unicode (high|low) surrogate")


class Problem(Exception):
    """A request that can't be done. `code` is stable; `detail` is what is wrong, the state of things, and what you can do.

    `engine` is `{condition, sqlstate, message}` where Delta or Spark has one; `fields` maps a field's name to its message;
    `retry_after` is the seconds after which the same may be asked again.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        fields: Mapping[str, str] | None = None,
        engine: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = fields
        self.engine = engine
        self.retry_after = retry_after
        self.extra = extra

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": f"urn:levee:problem:{self.code}",
            "title": self.code.replace("_", " "),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
        }
        if self.fields:
            body["fields"] = dict(self.fields)
        if self.engine:
            body["engine"] = {key: self.engine.get(key) for key in ("condition", "sqlstate", "message")}
        return body | self.extra

    @property
    def headers(self) -> dict[str, str]:
        """Of the answer, beside the type."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def problem_response(problem: Problem) -> JsonResponse:
    """The problem as a response outside DRF."""
    return JsonResponse(problem.as_json(), status=problem.status, content_type=PROBLEM_TYPE, headers=problem.headers)


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler: every error becomes a problem. Unexpected ones go on to Django, which logs them and answers 500."""
    problem = _as_problem(error)
    if problem is None:
        return None
    response = Response(problem.as_json(), status=problem.status, content_type=PROBLEM_TYPE, headers=problem.headers)
    if isinstance(error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        response["WWW-Authenticate"] = "Bearer"
    return response


def _as_problem(error: Exception) -> Problem | None:
    match error:
        case Problem():
            return error
        case RequestDataTooBig():
            return _too_large()
        case DataError() if is_unstorable(error):
            return _unstorable()
        case Http404() | exceptions.NotFound():
            return Problem(404, "not_found", "Not found, or you don't have access.")
        case PermissionDenied() | exceptions.PermissionDenied():
            return Problem(403, "forbidden", str(error) or "Your roles don't allow this.")
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Problem(401, "not_authenticated", str(error.detail))
        case exceptions.ValidationError():
            return _invalid(error.detail)
        case exceptions.ParseError():
            return Problem(400, "malformed", str(error.detail))
        case exceptions.APIException():
            return Problem(error.status_code, str(error.default_code), str(error.detail))
    return None


def is_unstorable(error: Exception) -> bool:
    """Whether the database refused a text for a NUL or half a character in it."""
    return isinstance(error, DataError) and _UNSTORABLE.search(str(error)) is not None


def broken(error: IntegrityError) -> str:
    """The name of the constraint; of one that a trigger holds too, whose message doesn't name it. Empty if the database gave none."""
    diagnosis = getattr(error.__cause__, "diag", None)
    return getattr(diagnosis, "constraint_name", None) or ""


def unexpected(error: Exception) -> str:
    """An unexpected error in one line for a page. A broken constraint's name means nothing to a reader: it stays in the log."""
    kind = type(error).__name__
    if isinstance(error, IntegrityError):
        return f"{kind}. The log has the details."
    return f"{kind}: {(str(error).splitlines() or [''])[0]}"


def _unstorable() -> Problem:
    text = "The request holds a NUL character or half of one, which no text in Levee has. Nothing was changed."
    return Problem(400, "malformed", text)


def _too_large() -> Problem:
    return Problem(413, "too_large", "The request body is larger than 1 MiB. Nothing was changed.")


def _invalid(detail: Any) -> Problem:
    if isinstance(detail, dict):
        fields = {name: _first(value) for name, value in detail.items()}
        return Problem(400, "invalid", "; ".join(f"{name}: {text}" for name, text in fields.items()), fields=fields)
    return Problem(400, "invalid", _first(detail))


def _first(value: Any) -> str:
    """The first message; half a character that it quotes from the request couldn't be answered."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
    if isinstance(value, dict) and value:
        name, inner = next(iter(value.items()))
        return f"{name}: {_first(inner)}"
    return str(value).encode("utf-8", "replace").decode()


class ProblemMiddleware:
    """Turns a Problem raised by a page's view into an error page, and by an API view outside DRF into problem+json.

    So it does with a NUL that a query or a form brought as far as the database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        error = _unstorable() if is_unstorable(error) else error
        if not isinstance(error, Problem):
            return None
        if request.path_info.startswith("/api/"):
            return problem_response(error)
        return to_confirm(request, error) if "confirm_url" in error.extra else problem_page(request, error)


def to_confirm(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Away to the page that asks for the password, and from there back to where the person was; a swap goes there as a whole."""
    purpose = {"for": problem.extra["purpose"]} if "purpose" in problem.extra else {}
    target = f"{problem.extra['confirm_url']}?{urlencode({'next': page_of(request), **purpose})}"
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(target)
    return HttpResponseRedirect(target)


def page_of(request: HttpRequest) -> str:
    """The page from which a form or a swap asks; the home page where the browser doesn’t say."""
    came_from = urlsplit(request.headers.get("Referer", ""))
    here = came_from.netloc == request.get_host()
    return urlunsplit(("", "", came_from.path, came_from.query, "")) if here else get_script_prefix()


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The page that says what is wrong."""
    template = f"errors/{problem.status}.html" if problem.status in {400, 403, 404, 500} else "errors/400.html"
    page = render_to_string(template, {"problem": problem}, request=request)
    return HttpResponse(page, status=problem.status, headers=problem.headers)


class BodyLimitMiddleware:
    """Refuses a body that is too long before reading it, whatever it holds: Django's own limit lets a form's files pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return _plain(request, _too_large())
        return self.get_response(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return _plain(request, _too_large())
    return _plain(request, Problem(400, "malformed", "Levee can't read this request."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _plain(request, Problem(403, "forbidden", str(exception) or "Your roles don't allow this."))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _plain(request, Problem(404, "not_found", "Not found, or you don't have access."))


def server_error(request: HttpRequest) -> HttpResponse:
    problem = Problem(500, "broken", "Something went wrong in Levee. The log has the details under this request ID.")
    if request.path_info.startswith("/api/"):
        return problem_response(problem)
    return HttpResponse(render_to_string("errors/500.html", {"problem": problem}), status=500)


def _plain(request: HttpRequest, problem: Problem) -> HttpResponse:
    return problem_response(problem) if request.path_info.startswith("/api/") else problem_page(request, problem)

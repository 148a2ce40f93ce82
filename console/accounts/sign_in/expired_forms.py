"""Django's CSRF view: the answer to a form that is stale, or comes from elsewhere."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.models import Person
from console.accounts.sign_in import drafts
from console.base.errors import Problem, problem_response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """What was entered is shown to be copied, if the form is one of this console's own pages.

    It isn't kept: whether the page was this person's, or somebody's who had signed in here before, can't be known.
    """
    if request.path_info.startswith("/api/"):
        return problem_response(Problem(403, "forbidden", f"CSRF check failed: {reason}"))
    is_own = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    draft = drafts.draft_of(request) if is_own and isinstance(request.user, Person) else None
    return render(request, "errors/csrf.html", {"reason": reason, "draft": draft}, status=403)

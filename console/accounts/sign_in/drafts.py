"""Drafts: what a person had entered in a form that wasn't taken, because a session or a password's 15 minutes had run out.

The form is never sent by Levee itself. Its draft lies in the person's own session; where there is none, sealed in the sign-in page, for
whoever signed in last in this browser and nobody else. It is never part of an address, holds no password or key, has a bounded length,
and ends with the form's being sent, after an hour, or with the session. A session has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from django.core import signing
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from console.accounts.devices import known_name
from console.accounts.models import Person
from console.base.addresses import leads_into_levee
from console.base.errors import page_of
from console.base.text.masking import is_secret_name, masked_text

LIFE = timedelta(hours=1)
SEALED_LIFE = timedelta(hours=12)  # a sign-in page may stand open overnight
LONGEST = 60_000  # characters of names and values
BUTTON = "do"  # the name of the buttons with which a form says what is wanted
_KEY = "draft"
_SALT = "levee.draft"
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_NO_INPUT = frozenset({"csrfmiddlewaretoken", "next"})


@dataclass(frozen=True, slots=True)
class Draft:
    """The path that a form was sent to, the page where it was filled in, its fields in order, and the names of those left out as secret."""

    action: str
    page: str
    fields: list[list[str]]
    secrets: list[str]

    @property
    def data(self) -> QueryDict:
        """The fields as a form takes them."""
        data = QueryDict(mutable=True)
        for name, value in self.fields:
            data.appendlist(name, value)
        return data

    @property
    def texts(self) -> list[tuple[str, str]]:
        """What was entered, to be read: names as words, and no empty fields."""
        return [(name.replace("_", " ").strip().capitalize(), value) for name, value in self.fields if value]

    def is_of(self, path: str) -> bool:
        """Whether the form stands on this page, whatever its query asks for."""
        return path in {self.action, unquote(urlsplit(self.page).path)}

    def as_json(self) -> dict[str, Any]:
        return {"action": self.action, "page": self.page, "fields": self.fields, "secrets": self.secrets}


def draft_of(request: HttpRequest) -> Draft | None:
    """What the form of this request holds; None if it is no form, an empty one, or too long to keep."""
    if request.method != "POST" or request.content_type not in _FORMS or request.FILES:
        return None
    given = [[name, str(value)] for name, values in request.POST.lists() if name not in _NO_INPUT for value in values]
    fields = [field for field in given if not _is_secret(*field)]
    length = sum(len(name) + len(value) for name, value in fields)
    page = page_of(request)
    if not any(value for _, value in fields) or length > LONGEST or not leads_into_levee(page):
        return None
    secrets = sorted({name for name, value in given if value and _is_secret(name, value)})
    return Draft(request.path, page, fields, secrets)


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or masked_text(value) != value


def seal(request: HttpRequest) -> str:
    """The draft of a request without a session, for a sign-in page; empty if there is none, or nobody known had a session here."""
    name, draft = known_name(request), draft_of(request)
    return signing.dumps([name, draft.as_json()], salt=_SALT, compress=True) if name and draft else ""


def unseal(sealed: str, person: Person) -> Draft | None:
    """The draft of a sign-in page; None if it isn't this person's, is too old, or is none."""
    try:
        name, held = signing.loads(sealed, salt=_SALT, max_age=SEALED_LIFE)
    except signing.BadSignature:
        return None
    return Draft(**held) if name == person.name.lower() else None


def keep(request: HttpRequest, draft: Draft | None) -> None:
    """Keeps the draft in the session, in place of an earlier one."""
    if draft is not None:
        request.session[_KEY] = draft.as_json() | {"at": timezone.now().timestamp()}


def kept(request: HttpRequest) -> Draft | None:
    """The session's draft, for an hour."""
    held = request.session.get(_KEY)
    if held is None or not 0 <= timezone.now().timestamp() - held["at"] <= LIFE.total_seconds():
        return None
    return Draft(**{name: value for name, value in held.items() if name != "at"})


def forget(request: HttpRequest, action: str | None = None) -> None:
    """Ends the session's draft; with an action only one of that form."""
    if _KEY in request.session and action in {None, request.session[_KEY]["action"]}:
        del request.session[_KEY]


def entered(request: HttpRequest, action: str = "") -> QueryDict | None:
    """What a page's form shows: what was just sent, or the draft that the person comes back to; None for a fresh form.

    `action` is the form's address where it isn't the page's own. A draft comes without its button: showing it asks for nothing. It is that
    of this very page alone: an address that asks for another version or table gets a fresh form.
    """
    action = action or request.path
    if request.method == "POST":
        return request.POST if request.path == action else None
    draft = kept(request)
    if draft is None or draft.action != action or unquote(draft.page) != _page_shown(request):
        return None
    cast(Any, request).draft_is_filled_in = True
    data = draft.data
    data.pop(BUTTON, None)
    return data


def _page_shown(request: HttpRequest) -> str:
    """The address of the page, also of one that asks for a part of itself."""
    shown = urlsplit(request.headers.get("HX-Current-URL", "") or request.get_full_path())
    return unquote(urlunsplit(("", "", shown.path, shown.query, "")))


def entered_or_linked(request: HttpRequest) -> QueryDict:
    """The same for a form that a link can fill in too, by its query."""
    given = entered(request)
    return request.GET if given is None else given


def shown(request: HttpRequest) -> dict[str, Any] | None:
    """The draft for the page where it was entered, and whether its form is filled in with it."""
    draft = kept(request) if request.method in {"GET", "HEAD"} else None
    if draft is None or not draft.is_of(request.path):
        return None
    return {"draft": draft, "filled_in": getattr(request, "draft_is_filled_in", False)}

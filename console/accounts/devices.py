"""The device cookie: distinguishes a browser in which a person has signed in before from strangers who guess.

It proves nothing else: its owner still needs the password. It is signed, and bound to one name.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from console.accounts.models import Person

LIFE_SECONDS = 180 * 24 * 3600
_SALT = "levee.device"


def remember(request: HttpRequest, response: HttpResponse, person: Person) -> None:
    """Marks the browser as known to this person."""
    value = signing.dumps({"name": person.name.lower(), "id": secrets.token_hex(16)}, salt=_SALT)
    response.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        value,
        max_age=LIFE_SECONDS,
        path=settings.SESSION_COOKIE_PATH,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )


def known_device(request: HttpRequest, name: str) -> str | None:
    """The id of the device if this person has signed in with it, else None, as for a forged cookie."""
    given = _given(request)
    return given["id"] if given and given["name"] == name.lower() else None


def known_name(request: HttpRequest) -> str | None:
    """The name, in small letters, of the person who signed in last with this device; None for a stranger's or a forged cookie."""
    given = _given(request)
    return given["name"] if given else None


def _given(request: HttpRequest) -> dict[str, str] | None:
    try:
        return dict(
            signing.loads(request.COOKIES.get(settings.DEVICE_COOKIE_NAME, ""), salt=_SALT, max_age=LIFE_SECONDS)
        )
    except signing.BadSignature:
        return None

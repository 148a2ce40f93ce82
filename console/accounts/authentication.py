"""Bearer tokens: the prefix finds the row, a constant-time comparison proves the secret."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console.accounts.models import Person, Token

USE_NOTED_EVERY = timedelta(minutes=1)


def new_secret() -> tuple[str, str, str]:
    """A fresh token: (prefix, sha256 of the secret, the text shown once)."""
    prefix, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    return prefix, _sha256(secret), f"lv_{prefix}_{secret}"


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer lv_<prefix>_<secret>`."""

    def authenticate(self, request: Request) -> tuple[Person, Token] | None:
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        kind, _, text = header.partition(" ")
        if kind.lower() != "bearer":
            raise AuthenticationFailed("The Authorization header must be: Bearer TOKEN.")
        token = _find(text.strip())
        if token is None:
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        _note_use(token)
        return token.person, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _find(text: str) -> Token | None:
    parts = text.split("_", 2)
    if len(parts) != 3 or parts[0] != "lv":
        return None
    live = Q(revoked_at=None, expires_at__gt=Now(), person__is_active=True)
    token = Token.objects.select_related("person").filter(live, prefix=parts[1]).first()
    if token is None or not hmac.compare_digest(token.secret_sha256, _sha256(parts[2])):
        return None
    return token


def _note_use(token: Token) -> None:
    """Last use, at most once a minute: a busy token must not write at every call."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY:
        Token.objects.filter(pk=token.pk).update(last_used_at=Now())

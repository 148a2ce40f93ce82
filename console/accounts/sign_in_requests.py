"""Rows about programs that wait to be signed in by somebody's word in a browser."""

from __future__ import annotations

import uuid
from enum import StrEnum

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class SignInState(StrEnum):
    """What became of it."""

    WAITING = "waiting"
    GRANTED = "granted"
    DENIED = "denied"
    EXPIRED = "expired"


class SignInRequest(models.Model):
    """A program that wants to be signed in. It has its token from the start, which works from the moment that a person confirms the code.

    Of the code only a keyed hash is stored, of the token only the sha256 of its secret. The database takes one decision, in time.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    code_hmac = models.CharField(max_length=64, unique=True)
    machine = models.CharField(max_length=100)  # as the program names it
    address = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=10))
    prefix = models.CharField(max_length=12, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    requested_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    token = models.OneToOneField(
        "accounts.Token", null=True, on_delete=models.PROTECT, related_name="+"
    )  # none: denied

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="sign_in_decided_by_somebody",
                condition=models.Q(decided_at=None, decided_by=None, token=None)
                | models.Q(decided_at__isnull=False, decided_by__isnull=False),
            )
        ]
        indexes = [models.Index(fields=["expires_at"], name="sign_in_age")]

    def __str__(self) -> str:
        return f"sign-in of {self.machine}"

    @property
    def state(self) -> SignInState:
        """What it is now; a decision stays."""
        if self.decided_at is not None:
            return SignInState.GRANTED if self.token_id else SignInState.DENIED
        return SignInState.WAITING if self.expires_at > timezone.now() else SignInState.EXPIRED

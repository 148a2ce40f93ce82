"""Refuses passwords that Django's own validators accept: long ones that only repeat a few characters."""

from __future__ import annotations

from itertools import pairwise

from django.core.exceptions import ValidationError

LEAST_SIGNS = 7
MOST_STEPS = 0.75  # of the neighbours, that may follow one another in the alphabet or be the same


class MonotonousPasswordValidator:
    """Refuses repetitions of a few characters, and sequences of the alphabet or the digits."""

    def validate(self, password: str, user: object = None) -> None:
        """Raises ValidationError."""
        if len(set(password.lower())) < LEAST_SIGNS or _runs(password):
            raise ValidationError(
                "This password repeats a few characters or follows a sequence of them.", code="password_monotonous"
            )

    def get_help_text(self) -> str:
        return "Your password must not repeat a few characters, or follow the alphabet or the digits in order."


def _runs(password: str) -> bool:
    steps = [abs(ord(b) - ord(a)) <= 1 for a, b in pairwise(password.lower())]
    return len(steps) > 0 and sum(steps) / len(steps) > MOST_STEPS

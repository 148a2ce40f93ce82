"""A test of a place: what it says of the form, and the secrets that its page doesn't keep.

With scripts the answer is put beside the form, which stays as it is. Without, the form comes again, and a secret is never sent back.
"""

from __future__ import annotations

from django.forms import Form
from django.http import QueryDict

from tables.catalog.roots.places import PlaceCheck

SECRETS = ("secret", "session_token")
TYPED = "typed"  # the hidden field that names the secrets of a test


def faults_of(form: Form, without: str = "") -> list[PlaceCheck]:
    """What is wrong with the form's fields, as failed checks; `without` leaves out one field."""
    of_fields = [
        PlaceCheck(str(field.label), False, " ".join(map(str, field.errors)))
        for field in form
        if field.errors and field.name != without
    ]
    return of_fields + [PlaceCheck("Form", False, str(error)) for error in form.non_field_errors()]


def hidden_of(sent: QueryDict) -> list[str]:
    """The secrets that were typed in a test, and aren't in the form that comes again."""
    if sent.get("do") != "test":
        return []
    return [name for name in SECRETS if sent.get(name) or name in sent.getlist(TYPED)]


def refuse_forgotten(form: Form, sent: QueryDict) -> bool:
    """Asks for the secrets again that a test had and the form has no more: without them, others than the tested would be stored."""
    forgotten = [name for name in sent.getlist(TYPED) if name in SECRETS and not sent.get(name)]
    for name in forgotten:
        form.add_error(name, "Enter it again: a test doesn’t keep it.")
    return not forgotten

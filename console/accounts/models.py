"""People, the roles granted to them on a scope, and their API tokens."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now

from console.accounts.kept_lists import ListPreference as ListPreference
from console.accounts.kept_lists import SavedFilter as SavedFilter
from console.accounts.roles import MAY, Permission, Role, TokenScope
from console.accounts.sign_in_requests import SignInRequest as SignInRequest
from console.accounts.sign_in_requests import SignInState as SignInState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of a permission: everything, or these roots and tables (ids)."""

    everything: bool
    roots: frozenset[uuid.UUID]
    tables: frozenset[uuid.UUID]

    def __bool__(self) -> bool:
        return self.everything or bool(self.roots) or bool(self.tables)

    def covers_root(self, root_id: uuid.UUID) -> bool:
        return self.everything or root_id in self.roots

    def covers_table(self, root_id: uuid.UUID, table_id: uuid.UUID) -> bool:
        return self.covers_root(root_id) or table_id in self.tables

    def __and__(self, allowed: bool) -> Scopes:
        return self if allowed else NOWHERE


NOWHERE = Scopes(everything=False, roots=frozenset(), tables=frozenset())


class PersonManager(BaseUserManager["Person"]):
    def get_by_natural_key(self, name: str | None) -> Person:
        return self.get(name__iexact=name)


class Person(AbstractBaseUser):
    """A person who signs in, shown in events and on pages by `name`."""

    class Theme(models.TextChoices):
        AUTO = "auto"
        LIGHT = "light"
        DARK = "dark"

    class Density(models.TextChoices):
        COMPACT = "compact"
        COMFORTABLE = "comfortable"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=64)
    is_active = models.BooleanField(default=True)
    must_change_password = models.BooleanField(default=False)
    access_epoch = models.IntegerField(default=0)  # raised by whatever ends the person's sessions
    theme = models.CharField(max_length=5, choices=Theme.choices, default=Theme.AUTO)
    time_zone = models.CharField(max_length=64, default="UTC")  # by its IANA name
    density = models.CharField(max_length=11, choices=Density.choices, default=Density.COMPACT)
    shortcuts = models.BooleanField(default=True)  # single keys that act; WCAG 2.1.4 wants them off where they hinder
    # The guided first story on home: when its table's history was looked at, and when the story was put away.
    story_looked_at = models.DateTimeField(null=True, blank=True)
    story_dismissed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")

    objects: ClassVar[PersonManager] = PersonManager()

    USERNAME_FIELD = "name"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="person_name_unique"),
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[a-zA-Z0-9][a-zA-Z0-9._@+-]*$"), name="person_name_plain"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_session_auth_hash(self) -> str:
        """The hash that a session stores of its person: a new password or a new epoch ends the session."""
        return f"{super().get_session_auth_hash()}.{self.access_epoch}"

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        """The same under the earlier secret keys."""
        for earlier in super().get_session_auth_fallback_hash():
            yield f"{earlier}.{self.access_epoch}"

    @cached_property
    def granted(self) -> list[Grant]:
        """The person's grants, read once per instance (so once per request)."""
        return list(self.grants.all())

    @property
    def has_no_role(self) -> bool:
        """Whether nobody has given this person a role yet: they see nothing but their own account."""
        return not self.granted

    def scopes(self, permission: Permission) -> Scopes:
        """The scopes on which this person has the permission. There is no superuser, and no bypass."""
        if not self.is_active:
            return NOWHERE
        return _scopes_of(g for g in self.granted if permission in MAY[Role(g.role)])

    def may(self, permission: Permission) -> bool:
        """True when the person has the permission somewhere."""
        return bool(self.scopes(permission))

    @cached_property
    def nav(self) -> dict[str, bool]:
        """For templates: whether the person has each permission somewhere, by its name with `_` for the dot."""
        return {p.value.replace(".", "_"): self.may(p) for p in Permission}


def _scopes_of(grants: Iterable[Grant]) -> Scopes:
    held = list(grants)
    return Scopes(
        everything=any(g.scope == Grant.Scope.EVERYTHING for g in held),
        roots=frozenset(g.root_id for g in held if g.root_id),
        tables=frozenset(g.table_id for g in held if g.table_id),
    )


class Grant(models.Model):
    """A role on a scope: everything, one root, or one table."""

    class Scope(models.TextChoices):
        EVERYTHING = "everything"
        ROOT = "root"
        TABLE = "table"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="grants")
    role = models.CharField(max_length=10, choices=Role.choices)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    root = models.ForeignKey("tables.Root", null=True, on_delete=models.PROTECT, related_name="+")
    table = models.ForeignKey("tables.Table", null=True, on_delete=models.PROTECT, related_name="+")
    granted_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    granted_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="grant_scope_matches",
                condition=models.Q(scope="everything", root=None, table=None)
                | models.Q(scope="root", root__isnull=False, table=None)
                | models.Q(scope="table", root=None, table__isnull=False),
            ),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="grant_role_known"),
            models.UniqueConstraint(
                fields=["person", "role", "scope", "root", "table"], nulls_distinct=False, name="grant_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} on {self.scope_text}"

    @property
    def scope_text(self) -> str:
        """`everything`, `root:NAME` or `table:PATH`, as the command line takes it."""
        if self.root:
            return f"root:{self.root.name}"
        return f"table:{self.table.path}" if self.table else "everything"


class Appointment(models.Model):
    """Who added a person or gave them a role, on record for good: it stays even after the role is removed.

    Triggers of the database write these rows, whoever writes a person or a grant; nothing else does. `by` is None for what was
    done on the machine itself. What is vouched for counts as done there from then on.
    """

    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="appointments")
    by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=10, blank=True, default="")  # empty: the account itself
    grant_id = models.UUIDField(null=True)  # as it was given: its row is gone when the role is taken away
    at = models.DateTimeField(db_default=Now())
    vouched_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["person"], name="appointment_person"),
            models.Index(fields=["grant_id"], name="appointment_grant"),
        ]

    def __str__(self) -> str:
        return f"{self.role or 'account'} of {self.person_id}"


class Notice(models.Model):
    """A change of roles or rules: on the home page of the scope's admins and auditors until one of the others acknowledges it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    at = models.DateTimeField(db_default=Now())
    event = models.UUIDField()  # of the audit
    text = models.TextField()
    by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")  # None: on the machine
    about = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")  # no witness either
    root = models.ForeignKey("tables.Root", null=True, on_delete=models.PROTECT, related_name="+")
    table = models.ForeignKey("tables.Table", null=True, on_delete=models.PROTECT, related_name="+")
    acknowledged_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    acknowledged_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-at"]
        indexes = [models.Index(fields=["-at"], name="notice_open", condition=models.Q(acknowledged_at=None))]

    def __str__(self) -> str:
        return self.text


class Token(models.Model):
    """An API token: `lv_<prefix>_<secret>`; only the sha256 of the secret is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="tokens")
    label = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=10, choices=TokenScope.choices))
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.label} ({self.prefix})"

    def allows(self, scope: TokenScope) -> bool:
        return scope.value in self.scopes


class FirstLink(models.Model):
    """A link with which a person who has no password yet sets their first one: once, and not for long.

    Only the sha256 of its secret is kept. The database takes one from nobody but whoever added the person.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="first_links")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(
        null=True
    )  # used, replaced by a newer one, or the account has a password or was closed

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person"], condition=models.Q(ended_at=None), name="first_link_one_open_per_person"
            )
        ]

    def __str__(self) -> str:
        return f"first link of {self.person_id}"


class PasswordAttempt(models.Model):
    """A password being tried, or one that was wrong: the name as typed, and where it came from. Gone when it counts no more."""

    name = models.CharField(max_length=64)  # in lower case, of a person or of none
    source = models.CharField(max_length=80)  # address:…, device:… or session:…
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["source", "name", "-at"], name="password_attempt_source"),
            models.Index(fields=["at"], name="password_attempt_age"),
        ]

    def __str__(self) -> str:
        return f"{self.name} from {self.source}"


def as_json(grant: Grant) -> dict[str, Any]:
    """A grant as the audit keeps it."""
    return {"role": grant.role, "scope": grant.scope_text}

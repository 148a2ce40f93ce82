"""What was filled in on the page that changes a schema: the changes so far, and the fields of one more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django import forms
from django.http import HttpRequest

from console.accounts.sign_in.drafts import entered_or_linked
from jobs.commands.alter_schema.rules import fault_of, words_of
from jobs.predicates.reading import MAX_LENGTH

KINDS = (
    ("add", "Add a column"), ("rename", "Rename a column"), ("drop", "Drop a column"), ("widen", "Widen a type"),
    ("comment", "Comment a column"), ("nullable", "Allow NULL"), ("add_constraint", "Add a CHECK constraint"),
    ("drop_constraint", "Drop a CHECK constraint"), ("cluster_by", "Cluster by columns"), ("table_comment", "Comment the table"),
)  # fmt: skip
LONGEST = 10_000
_MOST_JSON = 200_000
_MONO = {"spellcheck": "false", "autocapitalize": "off"}


def _text(label: str, hint: str = "", **more: Any) -> forms.CharField:
    widget = forms.TextInput(attrs=_MONO | more.pop("attrs", {}))
    return forms.CharField(
        label=label, help_text=hint, required=False, max_length=more.pop("most", LONGEST), strip=True, widget=widget
    )


def _column(
    hint: str = "A field inside a struct: a.b; in an array a.element.b, in a map m.key or m.value.",
) -> forms.CharField:
    return _text("Column", hint, attrs={"list": "columns"})


_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "add": {
        "path": lambda: _text("New column", "Inside a struct: a.b; inside an array of structs: a.element.b."),
        "type": lambda: _text("Type", "As Spark writes it: bigint, decimal(10,2), array<string>.", attrs={"list": "types"}),
        "comment": lambda: _text("Comment"),
        "after": lambda: _text("After", "The column that it follows; empty puts it last.", attrs={"list": "columns"}),
        "first": lambda: forms.BooleanField(label="First of its level", required=False),
    },
    "rename": {"path": _column, "to": lambda: _text("New name", "The last part of the name alone.")},
    "drop": {"path": _column},
    "widen": {"path": _column, "type": lambda: _text("Wider type", attrs={"list": "wider"})},
    "comment": {"path": _column, "text": lambda: _text("Comment", "Empty leaves an empty comment.")},
    "nullable": {"path": lambda: _column("A column that is NOT NULL now.")},
    "add_constraint": {
        "name": lambda: _text("Name", most=255),
        "expression": lambda: _text("Condition", "It must be true in every row: where it is NULL, a row violates it.", most=MAX_LENGTH),
    },
    "drop_constraint": {"name": lambda: _text("Name", most=255, attrs={"list": "constraints"})},
    "cluster_by": {"columns": lambda: _text("Columns", "At most four, separated by commas; leave it empty to remove the clustering.")},
    "table_comment": {"text": lambda: _text("Comment", "Empty leaves an empty comment.")},
}  # fmt: skip


class ChangeForm(forms.Form):
    """The fields of one change of a kind, and the request's reason."""

    def __init__(self, kind: str, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.kind = kind
        for name, made in _FIELDS[kind].items():
            self.fields[name] = made()

    @property
    def begun(self) -> bool:
        """Whether anything is filled in."""
        return any(str(self.data.get(name) or "").strip() for name in self.fields)

    @property
    def fault(self) -> str:
        """What is wrong with what is filled in, so that no request leaves it out; empty if nothing."""
        return next((f"{self.fields[name].label}: {texts[0]}" for name, texts in self.errors.items()), "")

    def change(self) -> dict[str, Any] | None:
        """The change, for the page to check; None while nothing of it is filled in."""
        if not self.is_valid() or not (self.begun or self.data.get("sure") == self.kind):
            return None
        given = self.cleaned_data
        match self.kind:
            case "cluster_by":
                return {"cluster_by": [name.strip() for name in given["columns"].split(",") if name.strip()]}
            case "table_comment":
                return {"table_comment": given["text"]}
            case "add":
                optional = {
                    "comment": given["comment"] or None,
                    "after": given["after"] or None,
                    "first": given["first"],
                }
                return {"add": {"path": given["path"], "type": given["type"], **optional}}
        return {self.kind: dict(given)}


class ReasonForm(forms.Form):
    """Why the schema changes."""

    reason = forms.CharField(label="Reason", required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))


@dataclass(frozen=True, slots=True)
class AskedChanges:
    """The page's form. `changes` are those added so far; `act` is the button: preview, kind, add, remove, up, down or request."""

    changes: tuple[Mapping[str, Any], ...] = ()
    kind: str = "add"
    act: str = "preview"
    place: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    @property
    def listed(self) -> list[dict[str, Any]]:
        """The changes so far in words, numbered from 1."""
        last = len(self.changes)
        return [
            {"number": number, "text": words_of(change), "first": number == 1, "last": number == last}
            for number, change in enumerate(self.changes, 1)
        ]

    @property
    def changes_json(self) -> str:
        return json.dumps(list(self.changes))


def asked_in(request: HttpRequest) -> AskedChanges:
    """What was posted; a link may bring `changes` along, and the `kind` and fields of one more."""
    given = entered_or_linked(request)
    changes, fault = _changes(given.get("changes", ""))
    act, _, place = given.get("do", "preview").partition(":") if request.method == "POST" else ("preview", "", "")
    kind = given.get("kind", "add")
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < 4 else 0
    return _acted(AskedChanges(changes, kind if kind in _FIELDS else "add", act, number, given, fault))


def _changes(text: str) -> tuple[tuple[Mapping[str, Any], ...], str]:
    if not text:
        return (), ""
    try:
        value = json.loads(text[:_MOST_JSON])
    except (ValueError, RecursionError):
        return (), "The changes in the address can’t be read."
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        return (), "The changes in the address can’t be read."
    fault = fault_of(value) if value else ""
    return ((), fault) if fault else (tuple(value), "")


def _acted(asked: AskedChanges) -> AskedChanges:
    """After a button of the list of changes."""
    changes, place = list(asked.changes), asked.place - 1
    if asked.act not in ("remove", "up", "down") or not 0 <= place < len(changes):
        return asked
    moved = changes.pop(place)
    if asked.act != "remove":
        changes.insert(max(0, place + (1 if asked.act == "down" else -1)), moved)
    return replace(asked, changes=tuple(changes))


def added(asked: AskedChanges, change: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """The changes with the one that is being filled in."""
    return asked.changes if change is None else (*asked.changes, change)

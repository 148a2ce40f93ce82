"""The form of a schedule: which command with which values on which table, when, and within what."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Q
from rest_framework import serializers

from console.accounts.models import Person
from console.base.errors import Problem
from jobs.commands.registry import ROWS
from jobs.domain.commands import Command
from jobs.models import Schedule
from jobs.requests.asking import REASON_LENGTH
from jobs.schedules import times
from jobs.schedules.definition import LONGEST_WINDOW, MOST_BYTES, NAME_LENGTH, TAG_LENGTH, WantedSchedule
from jobs.schedules.places import SchedulePlace, of_no_table
from jobs.web.parts import Shape, shapes
from jobs.web.schedules.serializers import NO_TABLE
from tables.catalog import listing
from tables.models import Root, Table

# Of a command's body: what the page has in other places, and what no run of a schedule does.
OWN = ("command", "table", "reason", "rehearse")
UNITS = {"B": 1, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def kinds() -> list[tuple[str, str]]:
    """The commands that can be scheduled, by kind and in words."""
    return [(row.kind, row.kind.replace("_", " ").capitalize()) for row in ROWS.values() if row.may_be_scheduled]


def table_named(person: Person, text: str) -> Table | None:
    """The one table that the person may see with this id, path, catalog name or name."""
    if "\x00" in text:
        return None
    try:
        fits = Q(pk=uuid.UUID(text))
    except ValueError:
        fits = Q(path=text) | Q(catalog_name=text) | Q(name=text)
    found = list(listing.visible_to(person).filter(fits)[:2])
    return found[0] if len(found) == 1 else None


class ChoiceForm(forms.Form):
    """What to schedule, and where, before its values: on one table, on all of a root or on all with a tag."""

    command = forms.ChoiceField(label="Command", choices=kinds)
    table = forms.CharField(label="Table", required=False, max_length=4096, help_text="Its name, path or id.")
    root = forms.ChoiceField(label="Or all tables of the root", required=False)
    tag = forms.CharField(
        label="Or all tables with the tag",
        required=False,
        max_length=TAG_LENGTH,
        help_text="Those that have it when a run is due.",
    )

    def __init__(
        self, person: Person, roots: Sequence[Root], given: Mapping[str, Any] | None, initial: Mapping[str, Any]
    ) -> None:
        super().__init__(given, initial=dict(initial))
        self.person, self.roots, self.place = person, {str(root.pk): root for root in roots}, SchedulePlace()
        choices = [("", "none"), *((pk, root.name) for pk, root in self.roots.items())]
        self.fields["root"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        named = [name for name in ("table", "root", "tag") if str(given.get(name) or "").strip()]
        if len(named) != 1 and not self.errors:
            self.add_error("table", "Name a table, a root or a tag." if not named else "Name one of the three.")
        elif named and not self.errors:
            self._find(named[0], str(given[named[0]]).strip())
        return given

    def _find(self, field: str, text: str) -> None:
        if field == "table":
            table = table_named(self.person, text)
            if table is None:
                self.add_error("table", "No single table of that name that you can see. Try its path.")
            self.place = SchedulePlace(table=table)
        elif field == "root":
            self.place = SchedulePlace(root=self.roots[text])
        else:
            self.place = SchedulePlace(tag=text)


class ScheduleForm(forms.Form):
    """The whole definition. The command's own fields are those of its API, below their names there."""

    name = forms.CharField(label="Name", max_length=NAME_LENGTH)
    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH, widget=forms.Textarea(attrs={"rows": 2}))
    cron = forms.CharField(
        label="Cron expression",
        max_length=times.LONGEST,
        help_text="Minute, hour, day of month, month, day of week: 30 3 * * 1-5 is 03:30 from Monday to Friday.",
    )
    time_zone = forms.CharField(label="Time zone", max_length=60, help_text="For example Europe/Berlin, or UTC.")
    window_minutes = forms.IntegerField(
        label="Window, minutes",
        min_value=1,
        max_value=LONGEST_WINDOW,
        help_text="A run that hasn’t started this long after it is due is skipped.",
    )
    max_size = forms.IntegerField(
        label="At most, size",
        required=False,
        min_value=1,
        help_text="By the run’s preview. Leave it empty for any size.",
    )
    max_unit = forms.ChoiceField(label="Unit", choices=[(unit, unit) for unit in UNITS], initial="GiB", required=False)
    max_minutes = forms.IntegerField(
        label="At most, minutes",
        required=False,
        min_value=1,
        max_value=LONGEST_WINDOW,
        help_text="A run is stopped after this time, which can’t be longer than the window.",
    )

    def __init__(
        self, given: Mapping[str, Any] | None, place: SchedulePlace, kind: str, initial: Mapping[str, Any]
    ) -> None:
        super().__init__(given, initial=dict(initial))
        self.place, self.kind = place, kind
        for name, field in own_fields(shapes()[kind]).items():
            self.fields[name] = field
        self.own = list(own_fields(shapes()[kind]))

    @property
    def command_fields(self) -> list[forms.BoundField]:
        """The command's own fields."""
        return [self[name] for name in self.own]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        size, unit = given.get("max_size"), given.get("max_unit") or "GiB"
        given["max_bytes"] = size * UNITS[unit] if size else None
        if size and given["max_bytes"] > MOST_BYTES:
            self.add_error("max_size", "That is larger than any table.")
        return given

    def command(self) -> Command:
        """The command that a valid form asks for. Raises Problem 400 with what its values got wrong."""
        shape = shapes()[self.kind]
        asked = {name: self.cleaned_data[name] for name in self.own}
        table = NO_TABLE if self.place.table is None else str(self.place.table.pk)
        body = shape.body(data={"command": self.kind, "table": table, "reason": "scheduled", **_values(shape, asked)})
        if not body.is_valid():
            fields = {name: " ".join(map(str, errors)) for name, errors in body.errors.items()}
            raise Problem(400, "invalid", "Nothing was changed.", fields=fields)
        command = shape.as_command(body.validated_data)
        return command if self.place.table is not None else of_no_table(command)

    def wanted(self) -> WantedSchedule:
        """The definition. Raises Problem 400."""
        given = self.cleaned_data
        return WantedSchedule(
            self.command(),
            given["cron"].strip(),
            given["time_zone"].strip(),
            given["window_minutes"],
            given["max_bytes"],
            given["max_minutes"],
            self.place.root.pk if self.place.root else None,
            self.place.tag,
        )

    def refused(self, problem: Problem) -> None:
        """Shows a refusal at its fields; that of a field that the form hasn't, above it."""
        at = {"max_bytes": "max_size"}
        fields = {at.get(name, name): text for name, text in (problem.fields or {}).items()}
        shown = {name: text for name, text in fields.items() if name in self.fields}
        for name, text in shown.items():
            self.add_error(name, text)
        if len(shown) < len(fields) or not fields:
            self.add_error(None, " ".join(text for name, text in fields.items() if name not in shown) or problem.detail)


def own_fields(shape: Shape) -> dict[str, forms.Field]:
    """The fields of a command’s body as those of a form."""
    return {name: _field(field) for name, field in shape.body().fields.items() if name not in OWN and _is_plain(field)}


def _is_plain(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    plain = (serializers.BooleanField, serializers.IntegerField, serializers.FloatField, serializers.CharField)
    return isinstance(field, (*plain, serializers.ListField))


def _field(field: serializers.Field[Any, Any, Any, Any]) -> forms.Field:
    said: dict[str, Any] = {
        "label": field.label,
        "required": False,
        "help_text": field.help_text or "",
    }
    match field:
        case serializers.BooleanField():
            return forms.BooleanField(**said)
        case serializers.IntegerField():
            return forms.IntegerField(**said)
        case serializers.FloatField():
            return forms.FloatField(**said)
        case serializers.ListField():
            said["help_text"] = f"{said['help_text']} Separated by commas.".strip()
    return forms.CharField(**said, max_length=20_000)


def _values(shape: Shape, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed as the body has it; what was left empty is left out."""
    fields = shape.body().fields
    values = {name: _value(fields[name], value) for name, value in given.items()}
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _value(field: serializers.Field[Any, Any, Any, Any], value: Any) -> Any:
    if isinstance(field, serializers.ListField):
        return [part.strip() for part in str(value).split(",") if part.strip()]
    return value


def values_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A command's values as the form has them."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in asked.items()
        if name not in OWN and value is not None
    }


def definition_of(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the form has it."""
    size, unit = _size_of(schedule.max_bytes)
    return {
        **values_of(schedule.asked),
        "name": schedule.name,
        "reason": schedule.reason,
        "cron": schedule.cron,
        "time_zone": schedule.time_zone,
        "window_minutes": schedule.window_minutes,
        "max_size": size,
        "max_unit": unit,
        "max_minutes": schedule.max_minutes,
    }


def _size_of(size: int | None) -> tuple[int | None, str]:
    """In the largest unit in which it is whole."""
    if size is None:
        return None, "GiB"
    unit = next(unit for unit in reversed(UNITS) if size % UNITS[unit] == 0)
    return size // UNITS[unit], unit

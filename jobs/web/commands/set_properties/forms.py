"""The form of a table's properties: one field for each property that can be set, with its value now; a change is what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.datastructures import MultiValueDict

from console.base.text.masking import masked_properties
from jobs.commands.set_properties.rules import LONGEST_VALUE, SetProperties
from jobs.domain.delta.protocols import FEATURES
from jobs.targets.definition import protocol_of
from jobs.targets.subject import Subject
from jobs.web.rewrites import RewriteForm
from tables.deltalog.rules.properties import PROPERTIES
from tables.deltalog.rules.property_types import FEATURE_PREFIX, TYPES, PropertyGroup, ValueKind, ValueType
from tables.models import Table

FIELD = "property:"
OTHERS = "Your own"
# Taken by a page of their own, or never asked for by hand.
_NOT_OFFERED = frozenset({"clustering", "catalogManaged", "coordinatedCommits-preview", "adaptiveMetadata-preview"})


@dataclass(frozen=True, slots=True)
class EditedProperty:
    """A property on the page. `is_hidden`: the filter leaves it out, and its field keeps its value."""

    field: BoundField
    name: str
    meaning: str
    default: str
    read_by: str
    follows: str
    is_hidden: bool


class PropertiesForm(RewriteForm):
    """Every property's value. Emptied, it is unset; `added` are new ones, `name = value` a line."""

    filter = forms.CharField(label="Filter", required=False, max_length=100, help_text="A part of a name or meaning.")
    feature = forms.ChoiceField(label="Feature to support", required=False)
    added = forms.CharField(
        label="New properties",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One a line: name = value.",
    )

    def __init__(self, given: Mapping[str, Any], subject: Subject) -> None:
        self.subject = subject
        self.current = {name: str(value) for name, value in subject.configuration.items()}
        self.shown = masked_properties(dict(self.current))
        super().__init__(_filled(given, self._values(given)), subject)
        self._add_features()
        for name in self._names():
            self.fields[FIELD + name] = self._field(name)

    def clean_added(self) -> dict[str, str]:
        """The new properties. Raises ValidationError for a line that isn't `name = value`."""
        found: dict[str, str] = {}
        for line in self.cleaned_data["added"].splitlines():
            name, equals, value = line.partition("=")
            if line.strip() and (not equals or not name.strip()):
                raise forms.ValidationError(f"“{line.strip()}” isn’t name = value.")
            if line.strip():
                found[name.strip()] = value.strip()
        return found

    def wanted(self, table: Table) -> SetProperties:
        """The command for what differs from the table's properties now."""
        given, removed = dict(self.cleaned_data["added"]), []
        for name in self._names():
            value, now = self.cleaned_data[FIELD + name], self.shown.get(name) or ""
            if value == now:
                continue
            if value:
                given[name] = value
            else:
                removed.append(name)
        if feature := self.cleaned_data["feature"]:
            given[FEATURE_PREFIX + feature] = "supported"
        return SetProperties(str(table.pk), given, removed)

    def groups(self) -> Iterator[tuple[str, list[EditedProperty]]]:
        """The rows under their headings; a heading without rows to show isn't there."""
        text = self.data.get("filter", "").strip().lower()
        rows: dict[str, list[EditedProperty]] = {}
        for name in self._names():
            known = TYPES.get(name)
            rows.setdefault(known.group.value if known else OTHERS, []).append(self._row(name, text))
        for heading in (*PropertyGroup, OTHERS):
            if found := rows.get(str(heading)):
                yield str(heading), found

    def kept(self) -> list[tuple[str, str]]:
        """What Delta keeps itself and the table has, with its value."""
        return [(name, self.shown[name] or "") for name in sorted(self.current) if _is_kept(name)]

    def _row(self, name: str, text: str) -> EditedProperty:
        known, described = TYPES.get(name), PROPERTIES.get(name)
        meaning = described.meaning if described else ""
        default = described.default if described and described.default is not None else ""
        is_hidden = bool(text) and text not in f"{name} {meaning}".lower()
        read_by, follows = (known.read_by, _follows(known)) if known else ("", "")
        return EditedProperty(self[FIELD + name], name, meaning, default, read_by, follows, is_hidden)

    def _names(self) -> list[str]:
        typed = [
            name
            for name, known in TYPES.items()
            if known.kind is not ValueKind.KEPT and (not _is_protocol(name) or name in self.current)
        ]
        own = [n for n in self.current if n not in TYPES and not n.startswith("delta.constraints.")]
        return [*typed, *sorted(own)]

    def _field(self, name: str) -> forms.Field:
        known, now = TYPES.get(name), self.shown.get(name) or ""
        if known is None or not known.choices or known.kind is ValueKind.FORMATS:
            return forms.CharField(label=name, required=False, max_length=LONGEST_VALUE)
        return forms.ChoiceField(label=name, required=False, choices=_choices(name, known, now))

    def _add_features(self) -> None:
        there = protocol_of(self.subject).features
        names = [name for name in sorted(FEATURES) if name not in there | _NOT_OFFERED]
        self.fields["feature"] = forms.ChoiceField(
            label="Feature to support",
            required=False,
            choices=[("", "None"), *((name, name) for name in names)],
            help_text="Only for writers that need it in the protocol before they use it.",
        )

    def _values(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Each field's value: the table's, or in a link `set` and `unset` beside it."""
        values = {FIELD + name: value or "" for name, value in self.shown.items()}
        lists = given if isinstance(given, MultiValueDict) else MultiValueDict()
        added = []
        for text in lists.getlist("set"):
            name, _, value = text.partition("=")
            if name in TYPES or name in self.current:
                values[FIELD + name] = value
            else:
                added.append(f"{name} = {value}")
        values |= {FIELD + name: "" for name in lists.getlist("unset") if name in TYPES or name in self.current}
        return {**values, "added": "\n".join(added)}


def _filled(given: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """What was given, over the values of fields that it lacks."""
    return {**values, **{name: given[name] for name in given if name not in ("set", "unset")}}


def _choices(name: str, known: ValueType, now: str) -> list[tuple[str, str]]:
    described = PROPERTIES[name]
    unset = f"not set ({described.default})" if described.default else "not set"
    values = known.choices if now in ("", *known.choices) else (now, *known.choices)
    return [("", unset), *((value, value) for value in values)]


def _follows(known: ValueType) -> str:
    """What its value does to the protocol; empty if nothing."""
    if known.feature is None:
        return ""
    kept = "only DROP FEATURE removes it again" if FEATURES[known.feature].removable else "Delta can’t drop it again"
    return f"{' or '.join(known.switched_on)} puts the feature {known.feature} into the protocol: {kept}."


def _is_kept(name: str) -> bool:
    return name in TYPES and TYPES[name].kind is ValueKind.KEPT


def _is_protocol(name: str) -> bool:
    return TYPES[name].group is PropertyGroup.PROTOCOL

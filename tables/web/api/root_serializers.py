"""Roots, the findings of their scans and their additions in the API: checks the input, and gives the output one shape."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.base.rest import Body, Flag, LiteralText, Whole
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import object_stores, scans, sync_interval
from tables.catalog.roots.figures import RootFigures
from tables.catalog.roots.object_stores import description_of
from tables.models import MOST_SCAN_HOURS, Addition, Finding, Root, Table
from tables.rules.table_formats import TableFormat
from tables.storage.description import Description


def _pause() -> Whole:
    text = "The shortest pause between syncs of a table; null: by hand, and after Levee's jobs, only."
    return Whole(
        required=False,
        allow_null=True,
        min_value=sync_interval.SHORTEST,
        max_value=sync_interval.LONGEST,
        help_text=text,
    )


def _hours() -> Whole:
    text = "A scan begins by itself after so many hours; null: on request only."
    return Whole(required=False, allow_null=True, min_value=1, max_value=MOST_SCAN_HOURS, help_text=text)


def _adds() -> Flag:
    return Flag(required=False, help_text="Whether Levee adds what scans find new; needs a person who stands for it.")


class StorageIn(Body):
    """How a bucket is reached. The secret is never answered; without one, the present secret of the same key and endpoint stays."""

    endpoint = LiteralText(
        max_length=300,
        required=False,
        allow_blank=True,
        help_text="http(s)://HOST[:PORT]; empty: the cloud itself, AWS or Google.",
    )
    region = LiteralText(max_length=50, required=False, allow_blank=True)
    path_style = Flag(required=False, help_text="Whether the bucket is named in the path; true unless told.")
    key_id = LiteralText(
        max_length=128, required=False, allow_blank=True, help_text="Empty: the identity of Levee's own processes."
    )
    secret = LiteralText(
        max_length=10_000,
        required=False,
        allow_blank=True,
        write_only=True,
        help_text="Of Google's: the service account's key, a JSON file, as text; the key ID is read from it.",
    )
    session_token = LiteralText(max_length=10_000, required=False, allow_blank=True, write_only=True)


class NewRoot(Body):
    name = LiteralText(max_length=100)
    uri = LiteralText(max_length=4096)
    storage = StorageIn(required=False, help_text="For a place in a bucket that no root lies in yet.")
    sync_seconds = _pause()
    scan_hours = _hours()
    adds_found = _adds()


class PlaceAsked(Body):
    """A place to test before it is registered. With `writes`, Levee writes one empty object or file there, and deletes it."""

    uri = LiteralText(max_length=4096)
    storage = StorageIn(required=False)
    writes = Flag(required=False)


class CheckOut(serializers.Serializer[Any]):
    """One question about a place; `passed` is null for what was not asked after an earlier answer."""

    name = serializers.CharField()
    passed = serializers.BooleanField(allow_null=True)
    answer = serializers.CharField()


class PlaceOut(serializers.Serializer[Any]):
    passed = serializers.BooleanField()
    checks = CheckOut(many=True)


class StorageOut(serializers.Serializer[Any]):
    """How a root's bucket is reached. `key` is the end of the key's ID, empty without a key."""

    bucket = serializers.CharField()
    endpoint = serializers.CharField()
    region = serializers.CharField()
    path_style = serializers.BooleanField()
    key = serializers.CharField()
    session = serializers.BooleanField()
    changed_at = serializers.DateTimeField()


class RootChange(Body):
    name = LiteralText(max_length=100, required=False)
    sync_seconds = _pause()
    scan_hours = _hours()
    adds_found = _adds()


class ProgressOut(serializers.Serializer[Any]):
    """Of a scan that has begun and goes on: names and directories of tables so far, and the directory that comes next."""

    began_at = serializers.DateTimeField()
    entries = serializers.IntegerField()
    found = serializers.IntegerField()
    next = serializers.CharField()


class AdditionOut(serializers.Serializer[Any]):
    """An addition of all that scans found new. `done` of `total` are worked off: added, refused, or known by then."""

    id = serializers.UUIDField()
    requested_by = serializers.CharField()
    automatic = serializers.BooleanField()
    requested_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    stopped = serializers.CharField(allow_null=True)
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    added = serializers.IntegerField()
    refused = serializers.IntegerField()


class RootOut(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    uri = serializers.CharField()
    sync_seconds = serializers.IntegerField(allow_null=True)
    scan_hours = serializers.IntegerField(allow_null=True)
    adds_found = serializers.BooleanField()
    paused_at = serializers.DateTimeField(allow_null=True)
    added_at = serializers.DateTimeField()
    scanned_at = serializers.DateTimeField(allow_null=True)
    scan_progress = ProgressOut(allow_null=True)
    scan_stopped = serializers.CharField(allow_null=True)


class FiguresOut(serializers.Serializer[Any]):
    tables = serializers.IntegerField()
    due = serializers.IntegerField()
    never_synced = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    missing = serializers.IntegerField()
    oldest_sync_at = serializers.DateTimeField(allow_null=True)


class OtherTableOut(serializers.Serializer[Any]):
    """A table in another format, which the last scan met and didn't take for parquet files."""

    path = serializers.CharField()
    format = serializers.ChoiceField([each.value for each in TableFormat])


class OtherFormatsOut(serializers.Serializer[Any]):
    """How many the last scan met, and the first of them."""

    total = serializers.IntegerField()
    named = OtherTableOut(many=True)


class RootDetailOut(RootOut):
    figures = FiguresOut()
    other_formats = OtherFormatsOut()
    storage = StorageOut(allow_null=True)


class FindingOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    kind = serializers.ChoiceField(Table.Format.choices)
    table = serializers.UUIDField(allow_null=True)
    state = serializers.ChoiceField(["new", "known", "gone"])
    refusal = serializers.CharField(allow_null=True)


def root_json(root: Root) -> dict[str, Any]:
    return {
        "id": str(root.pk),
        "name": root.name,
        "uri": root.uri,
        "sync_seconds": root.sync_seconds,
        "scan_hours": root.scan_hours,
        "adds_found": root.adds_found_by_id is not None,
        "paused_at": root.paused_at,
        "added_at": root.added_at,
        "scanned_at": root.scanned_at,
        "scan_progress": _progress(root),
        "scan_stopped": root.scan_stopped or None,
    }


def _progress(root: Root) -> dict[str, Any] | None:
    """A scan between two of its turns; None before the first turn has ended, and after the last."""
    under_way = scans.under_way(root)
    if under_way is None or under_way.place is None:
        return None
    counted = {"entries": under_way.entries, "found": under_way.found}
    return {"began_at": under_way.began_at, **counted, "next": under_way.place.path}


def addition_json(addition: Addition) -> dict[str, Any]:
    """`left` is an annotation of `bulk_additions.of_root`."""
    return {
        "id": str(addition.pk),
        "requested_by": addition.requested_by.name,
        "automatic": addition.is_automatic,
        "requested_at": addition.requested_at,
        "ended_at": addition.ended_at,
        "stopped": addition.stopped or None,
        "total": addition.total,
        "done": bulk_additions.done_of(addition),
        "added": addition.added,
        "refused": addition.refused,
    }


def root_detail_json(root: Root, figures: RootFigures) -> dict[str, Any]:
    """A root with how its tables stand."""
    counted = {
        "tables": figures.tables,
        "due": figures.due,
        "never_synced": figures.never,
        "unreadable": figures.failing,
        "missing": figures.missing,
        "oldest_sync_at": figures.oldest,
    }
    others = root.scan_others or {"total": 0, "named": []}
    return root_json(root) | {
        "figures": counted,
        "other_formats": others,
        "storage": storage_json(root),
    }


def storage_json(root: Root) -> dict[str, Any] | None:
    """How the root's bucket is reached; None for storage that no root describes."""
    bucket, store = object_stores.bucket_of(root.uri), object_stores.row_of(root)
    if bucket is None or store is None:
        return None
    named = {"bucket": object_stores.name_of(bucket)}
    return {**named, **object_stores.shown(store), "changed_at": store.changed_at}


def description(body: dict[str, Any] | None) -> Description | None:
    """A body's storage; None without one. Raises Problem 400 `invalid`."""
    return None if body is None else description_of(body)


def finding_json(finding: Finding) -> dict[str, Any]:
    """`state` and `known_id` are annotations of `queries.findings_of`."""
    known = getattr(finding, "known_id", None)
    return {
        "path": finding.path,
        "kind": finding.kind,
        "table": str(known) if known else None,
        "state": getattr(finding, "state", None),
        "refusal": finding.refusal or None,
    }

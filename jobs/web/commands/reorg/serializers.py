"""A reorg over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, LiteralText
from jobs.commands.reorg.rules import Reorg
from jobs.predicates.reading import MAX_LENGTH
from jobs.web.parts import CLASSES, ConsequenceSerializer, PastSerializer, Shape


class ReorgBody(Body):
    """REORG TABLE … APPLY (PURGE): writes the files again that hold deleted rows or dropped columns."""

    command = serializers.ChoiceField([Reorg.kind])
    table = serializers.UUIDField()
    predicate = LiteralText(
        allow_null=True,
        required=False,
        default=None,
        max_length=MAX_LENGTH,
        help_text="On partition columns alone; without one, the whole table.",
    )
    reason = LiteralText(max_length=2000, allow_blank=True)


def _reorg(given: Mapping[str, Any]) -> Reorg:
    return Reorg(table=str(given["table"]), predicate=given["predicate"])


class ReorgPreviewSerializer(serializers.Serializer[Any]):
    """What a reorg would rewrite, by the log. `files_out` is a bound; unless `exact`, so are the others."""

    files_total = serializers.IntegerField()
    files_in = serializers.IntegerField()
    bytes_in = serializers.IntegerField()
    files_out = serializers.IntegerField(allow_null=True, help_text="null for a clustered table: only Delta can tell.")
    deletion_vectors = serializers.IntegerField(help_text="Files among them with a deletion vector.")
    rows_hidden = serializers.IntegerField(allow_null=True, help_text="Rows that these vectors hide.")
    dropped_columns = serializers.BooleanField(help_text="Whether files may still hold columns that were dropped.")
    partitions = serializers.IntegerField()
    exact = serializers.BooleanField()
    past = PastSerializer(allow_null=True, required=False)
    nothing_to_do = serializers.BooleanField()
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log"])
    consequences = ConsequenceSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(ReorgBody, _reorg, ReorgPreviewSerializer)

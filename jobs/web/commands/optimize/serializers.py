"""An optimize over HTTP: what asks for it, and its preview. Unknown is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from console.base.rest import Body, Flag, LiteralText
from jobs.commands.optimize.handling import MOST_COLUMNS
from jobs.commands.optimize.rules import Optimize
from jobs.predicates.reading import MAX_LENGTH
from jobs.web.parts import CLASSES, ConsequenceSerializer, PastSerializer, RehearsalSerializer, Shape, rehearse_flag

LONGEST_NAME = 255


class OptimizeBody(Body):
    """OPTIMIZE of a Delta table: joins small files, sorts by columns, or clusters a clustered table."""

    command = serializers.ChoiceField([Optimize.kind])
    table = serializers.UUIDField()
    predicate = LiteralText(
        allow_null=True,
        required=False,
        default=None,
        max_length=MAX_LENGTH,
        help_text="On partition columns alone; without one, the whole table.",
    )
    zorder_by = serializers.ListField(
        child=LiteralText(max_length=LONGEST_NAME),
        allow_null=True,
        required=False,
        default=None,
        max_length=MOST_COLUMNS,
        label="Z-order by",
        help_text="Data columns with statistics.",
    )
    full = Flag(required=False, default=False, help_text="All files of a clustered table, also those clustered before.")
    reason = LiteralText(max_length=2000, allow_blank=True)
    rehearse = rehearse_flag()


def _optimize(given: Mapping[str, Any]) -> Optimize:
    return Optimize(
        table=str(given["table"]),
        predicate=given["predicate"],
        zorder_by=given["zorder_by"] or None,
        full=given["full"],
    )


class OptimizePreviewSerializer(serializers.Serializer[Any]):
    """What an optimize would rewrite, by the log. `files_out` is a bound; unless `exact`, so are the others."""

    mode = serializers.ChoiceField(["compaction", "zorder", "clustering"])
    files_total = serializers.IntegerField()
    files_in = serializers.IntegerField(allow_null=True, help_text="null for a clustered table: only Delta can tell.")
    bytes_in = serializers.IntegerField(allow_null=True)
    files_out = serializers.IntegerField(allow_null=True)
    deletion_vectors = serializers.IntegerField(allow_null=True, help_text="Files among them with a deletion vector.")
    partitions = serializers.IntegerField(allow_null=True)
    exact = serializers.BooleanField()
    past = PastSerializer(allow_null=True, required=False)
    nothing_to_do = serializers.BooleanField()
    measured_at_version = serializers.IntegerField()
    speed = serializers.ChoiceField(["log"])
    consequences = ConsequenceSerializer(many=True)
    rehearsal = RehearsalSerializer(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name that Python lets a field have."""
        return {"class": serializers.ChoiceField(CLASSES), **super().get_fields()}


SHAPE = Shape(OptimizeBody, _optimize, OptimizePreviewSerializer)

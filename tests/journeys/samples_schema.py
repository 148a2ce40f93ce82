"""Sample contexts of the page that changes a schema: several changes with a new constraint, and one that Delta refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from console.base.errors import Problem
from jobs.commands.alter_schema.log.preview import from_log
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.alter_schema.wording import CLASSES
from jobs.domain.delta.data_types import OFFERED, parse_type
from jobs.targets.subject import Subject
from jobs.web.commands.alter_schema.forms import KINDS, AskedChanges, ChangeForm, ReasonForm
from tables.deltalog.read.actions import Protocol
from tests.journeys.samples_tables import TABLE

CHANGES: list[dict[str, Any]] = [
    {"add": {"path": "customer.country_of_origin", "type": "array<struct<code:string,since:date>>", "comment": "ISO", "after": "id"}},
    {"drop": {"path": "amount"}},
    {"add_constraint": {"name": "paid_orders_only", "expression": "order_id > 0 AND customer.id IS NOT NULL"}},
]  # fmt: skip
SUBJECT = cast(
    "Subject",
    SimpleNamespace(
        table=TABLE,
        version=64,
        other_formats=(),
        snapshot=SimpleNamespace(features=frozenset(), protocol=Protocol(1, 2, None, None), domain_metadata={}),
        metadata=SimpleNamespace(
            id="1",
            description=None,
            partition_columns=("day",),
            configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "6"},
            schema_json=json.dumps(
                parse_type(
                    "struct<order_id:bigint,customer:struct<id:bigint,name:string>,amount:decimal(10,2),day:date>"
                )
            ),
        ),
    ),
)
PREVIEW = from_log(SUBJECT, AlterSchema("1", CHANGES))[1]
OPEN: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64, "asked": AskedChanges(tuple(CHANGES[:2]), "add_constraint"), "wanted": CHANGES,
    "kinds": KINDS, "form": ChangeForm("add_constraint", dict(CHANGES[2]["add_constraint"])), "reason_form": ReasonForm({"reason": ""}),
    "columns": ["order_id", "customer", "customer.id"], "types": OFFERED, "constraints": ["positive"], "preview": PREVIEW,
    "class_text": CLASSES["irreversible"],
    "needs": {"required_approvals": 1, "reasons": ["“A schema change that can’t be taken back is seen by a second person”: 1 approver."]},
}  # fmt: skip
REFUSED: dict[str, Any] = OPEN | {
    "asked": AskedChanges((), "rename"), "form": ChangeForm("rename", {"path": "day", "to": "order_id"}), "preview": None, "needs": None,
    "preview_problem": Problem(400, "invalid", "Column rename is not supported.", engine={"condition": "DELTA_UNSUPPORTED_RENAME_COLUMN"}),
    "properties_url": "/tables/1/properties/?set=1",
    "request_problem": {"detail": "The same request is open already.", "extra": {"job": TABLE.pk}},
}  # fmt: skip
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "schema-change": ("jobs/alter_schema/page.html", OPEN),
    "schema-change-refused": ("jobs/alter_schema/page.html", REFUSED),
}

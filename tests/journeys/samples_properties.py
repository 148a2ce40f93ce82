"""Sample contexts of the pages that change properties and drop a feature: changes, one that Delta refuses, the wait between two steps."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from console.base.errors import Problem
from jobs.commands.drop_feature.log import from_log as dropped
from jobs.commands.drop_feature.log import kept
from jobs.commands.drop_feature.rules import DropFeature, steps_of
from jobs.commands.set_properties.log.preview import from_log
from jobs.commands.set_properties.rules import SetProperties
from jobs.targets.subject import Subject
from jobs.web.commands.drop_feature.pages import DropFeatureForm
from jobs.web.commands.set_properties.forms import PropertiesForm
from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.schema import Struct
from tests.journeys.samples_accounts import LONG_PATH, NOW
from tests.journeys.samples_tables import TABLE

CONFIGURATION = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "6", "owner": LONG_PATH}
FEATURES = ("appendOnly", "columnMapping", "deletionVectors", "invariants")
CHANGED = SetProperties("1", {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}, ["owner"])


def subject(protocol: Protocol, configuration: dict[str, str]) -> Subject:
    """A table with these, as its log has it."""
    return cast(
        "Subject",
        SimpleNamespace(
            table=TABLE, version=64, configuration=configuration, shape_sha256="5" * 64,
            metadata=SimpleNamespace(id="1", partition_columns=()),
            snapshot=SimpleNamespace(protocol=protocol, num_files=1_204, set_transactions={}),
            struct=Struct(()), change_feed=False, other_formats=(),
        ),
    )  # fmt: skip


PLAIN = subject(Protocol(2, 5, None, None), CONFIGURATION)
LISTED = subject(Protocol(3, 7, ("columnMapping", "deletionVectors"), FEATURES), CONFIGURATION)
NEEDS = {
    "required_approvals": 1,
    "reasons": ["“Properties that can’t be taken back are seen by a second person”: 1 approver."],
}
PROPERTIES: dict[str, Any] = {
    "table": TABLE, "table_name": TABLE.name, "version": 64, "form": PropertiesForm({}, PLAIN), "nothing": "",
    "preview": from_log(PLAIN, CHANGED), "needs": NEEDS,
}  # fmt: skip
REFUSED: dict[str, Any] = PROPERTIES | {
    "form": PropertiesForm({"filter": "retention", "added": "delta.nosuch = 1", "reason": ""}, PLAIN), "preview": None, "needs": None,
    "preview_problem": Problem(
        400, "invalid", "Unknown configuration was specified: delta.nosuch", engine={"condition": "DELTA_UNKNOWN_CONFIGURATION"}
    ),
    "request_problem": {"detail": "The same request is open already.", "extra": {"job": TABLE.pk}},
}  # fmt: skip
FEATURE: dict[str, Any] = PROPERTIES | {
    "form": DropFeatureForm({"feature": "deletionVectors"}, LISTED), "preview": dropped(LISTED, DropFeature("1", "deletionVectors")),
    "kept": kept(LISTED), "wait": "1 day",
}  # fmt: skip
READY = NOW + timedelta(hours=20)
CUT = DropFeature("1", "deletionVectors", True)
WAITING: dict[str, Any] = FEATURE | {
    "form": DropFeatureForm({"feature": "deletionVectors", "truncate_history": "on"}, LISTED),
    "preview": {**FEATURE["preview"], "ask_again_after": READY.isoformat(), "steps": steps_of(CUT, "1 day", READY)},
}
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "properties": ("jobs/set_properties/page.html", PROPERTIES),
    "properties-refused": ("jobs/set_properties/page.html", REFUSED),
    "drop-feature": ("jobs/drop_feature/page.html", FEATURE),
    "drop-feature-waiting": ("jobs/drop_feature/page.html", WAITING),
}

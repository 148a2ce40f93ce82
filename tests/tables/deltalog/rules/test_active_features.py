"""Features that schema and properties switch on, beside those that a protocol lists. What Delta makes of each: tests/jobs/engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.domain.delta.protocols import FEATURES
from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.rules.active_features import REQUIRED, unlisted_features, unlisted_reason

NOT_NULL = {"name": "id", "type": "long", "nullable": False, "metadata": {}}
PLAIN = NOT_NULL | {"nullable": True}


def metadata(*fields: dict[str, Any], **properties: str) -> Metadata:
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    configuration = {f"delta.{name}": value for name, value in properties.items()}
    return Metadata("id", None, None, "parquet", schema, (), configuration, None)


@pytest.mark.parametrize(
    ("listed", "missing"),
    [((), ("domainMetadata", "invariants", "rowTracking")), (("rowTracking", "invariants"), ("domainMetadata",))],
)
def test_features_that_others_require_are_asked_for_as_well(listed, missing):
    found = metadata(NOT_NULL, enableRowTracking="true")
    assert unlisted_features(Protocol(1, 7, None, listed), found) == missing
    assert all(name in str(unlisted_reason(Protocol(1, 7, None, listed), found)) for name in missing)


def test_versions_that_list_no_features_lack_none():
    assert unlisted_features(Protocol(1, 2, None, None), metadata(NOT_NULL, enableChangeDataFeed="true")) == ()


@pytest.mark.parametrize(
    ("kind", "listed"),
    [("variant", "variantType-preview"), ("variant", "variantType"), ("timestamp_ntz", "timestampNtz")],
)
def test_a_type_s_feature_may_be_its_preview(kind, listed):
    found = metadata(PLAIN | {"type": {"type": "array", "elementType": kind, "containsNull": True}})
    assert unlisted_features(Protocol(3, 7, (listed,), (listed,)), found) == ()
    assert unlisted_features(Protocol(3, 7, (listed,), ()), found) != ()


@pytest.mark.parametrize(("protocol", "found"), [(None, metadata(NOT_NULL)), (Protocol(1, 7, None, ()), None)])
def test_of_what_is_unknown_nothing_is_said(protocol, found):
    assert unlisted_reason(protocol, found) is None


def test_a_schema_that_can_not_be_read_has_none():
    odd = Metadata("id", None, None, "parquet", "{", (), {"delta.appendOnly": "true"}, None)
    assert unlisted_features(Protocol(1, 7, None, ()), odd) == ("appendOnly",)


def test_what_features_require_is_the_same_to_log_and_commands():
    assert {name: set(others) for name, others in REQUIRED.items()} == {
        name: set(feature.requires) for name, feature in FEATURES.items() if feature.requires
    }

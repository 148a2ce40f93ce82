"""Which well-known readers and writers a table's protocol locks out, on its page and over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests import factories
from tests.clients import browser, caller

pytestmark = pytest.mark.django_db

PLAIN = {"min_reader_version": 1, "min_writer_version": 2, "reader_features": None, "writer_features": None}
VECTORS = {
    "min_reader_version": 3,
    "min_writer_version": 7,
    "reader_features": ["deletionVectors"],
    "writer_features": ["deletionVectors", "rowTracking", "domainMetadata"],
}
UNKNOWN = {**VECTORS, "reader_features": ["fromTheFuture"], "writer_features": ["fromTheFuture"]}


def shown(protocol: dict[str, Any] | None) -> tuple[str, list[dict[str, Any]]]:
    table, viewer = factories.TableFactory(version=3, protocol=protocol), caller("viewer")
    page = browser(viewer.person).get(f"/tables/{table.pk}/protocol/").content.decode()
    return page, viewer.get(f"/tables/{table.pk}/protocol").json()["engines"]


def test_a_protocol_that_all_support_locks_none_out() -> None:
    page, engines = shown(PLAIN)
    assert "locks none of these out" in page
    assert all(each["reads"] and (each["writes"] is not False or each["only_reads"]) for each in engines)
    assert {each["name"] for each in engines if each["only_reads"]} >= {"Microsoft Fabric SQL analytics endpoint"}


def test_readers_and_writers_that_lack_a_feature_are_named_with_it() -> None:
    page, engines = shown(VECTORS)
    assert "Locked out: Flink connector (Delta Standalone) 3.0 can’t read this table." in page
    assert "Spark with Delta Lake 2.4" in page.partition("can read it but not write to it")[0]
    why = {f"{each['name']} {each['version']}": each["why"] for each in engines}
    assert why["Spark with Delta Lake 2.4"] == "It can’t write: it doesn’t support domainMetadata, rowTracking."
    assert why["Spark with Delta Lake 4.4.0"] == ""
    assert all(each["source"] and each["seen"] for each in engines)


def test_a_feature_that_no_source_names_locks_all_out() -> None:
    assert not any(each["reads"] for each in shown(UNKNOWN)[1])


def test_without_a_protocol_nothing_is_said() -> None:
    page, engines = shown(None)
    assert engines == []
    assert "Readers and writers" not in page

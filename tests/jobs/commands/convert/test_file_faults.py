"""Refusals of files that this Spark can't read: in words, and only where its settings leave them unread."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from jobs.commands.convert.spark import file_faults
from jobs.commands.convert.spark.file_faults import KEYS, VECTORIZED, fault_refusals, unreadable_refusals
from jobs.commands.convert.spark.schemas import Footers, UnreadableTypes
from jobs.domain.errors import EngineFailure
from jobs.domain.footers.chunks import CODEC, DAMAGED, DECIMAL, ENCODING, ENCRYPTED, RANGE, SCHEMA, Faulty, FooterFault
from jobs.engine.walk import WalkFindings


class Hadoop:
    def __init__(self, classes: set[str], settings: dict[str, str]) -> None:
        self.classes, self.settings = classes, settings

    def get(self, name: str) -> str | None:
        return self.settings.get(name)

    def getClassByName(self, name: str) -> str:
        if name not in self.classes:
            raise Py4JError("ClassNotFoundException")
        return name


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The refusals of faults by a session's settings, the classes and the settings of its Hadoop."""

    def find(
        *faults: FooterFault, conf: dict[str, str] | None = None, classes: tuple[str, ...] = (), **hadoop: str
    ) -> list[Any]:
        found = WalkFindings()
        for fault in faults:
            found.fault(fault, Faulty(1, "a.parquet", "c"))
        settings = {KEYS: hadoop["factory"]} if hadoop else {}
        monkeypatch.setattr(file_faults, "_hadoop_conf", lambda session: Hadoop(set(classes), settings))
        session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: (conf or {}).get(name, default)))
        return fault_refusals(session, found)

    return find


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (FooterFault(ENCRYPTED, "footer"), "encrypted_files", "its footer is encrypted, and Spark has no keys"),
        (FooterFault(ENCRYPTED, "columns"), "encrypted_files", "the column c is encrypted"),
        (
            FooterFault(DAMAGED, "its columns lie outside of it"),
            "damaged_files",
            "it is damaged: its columns lie outside of it",
        ),
        (FooterFault(SCHEMA, "no such type"), "unreadable_files", "a schema that Levee can’t read: no such type"),
        (FooterFault(CODEC, "LZO"), "unreadable_files", "compressed with the codec LZO"),
        (FooterFault(CODEC, "42"), "unreadable_files", "the codec 42"),
        (FooterFault(ENCODING, "BYTE_STREAM_SPLIT"), "unreadable_files", "encoded as BYTE_STREAM_SPLIT"),
        (FooterFault(DECIMAL, ""), "unreadable_files", "decimals of 18 digits at most as bytes"),
        (FooterFault(RANGE, ""), "times_out_of_range", "beyond Spark’s range"),
    ],
)
def test_each_trouble_has_a_code_the_file_and_a_remedy(refused: Any, fault: FooterFault, code: str, words: str) -> None:
    (refusal,) = refused(fault)
    assert (refusal.code, refusal.place) == (code, "a.parquet")
    assert refusal.message.startswith("a.parquet: ")
    assert words in refusal.message
    assert refusal.remedy


def test_what_this_spark_can_read_stops_nothing(refused: Any) -> None:
    by_rows = {VECTORIZED: "false"}
    assert refused(FooterFault(ENCODING, "BYTE_STREAM_SPLIT"), FooterFault(DECIMAL, ""), conf=by_rows) == []
    assert refused(FooterFault(CODEC, "BROTLI"), classes=("org.apache.hadoop.io.compress.BrotliCodec",)) == []
    assert len(refused(FooterFault(CODEC, "42"), classes=("42",))) == 1
    assert refused(FooterFault(ENCRYPTED, "columns"), factory="Keys") == []


def test_many_files_are_counted() -> None:
    found = WalkFindings()
    for name in ("b", "a", "c"):
        found.fault(FooterFault(RANGE, ""), Faulty(1, f"{name}.parquet", "c"))
    (refusal,) = fault_refusals(None, found)
    assert refusal.message.startswith("a.parquet (and 2 more): ")


def test_a_file_is_named_once() -> None:
    footers = Footers(None, (), None, unreadable=(UnreadableTypes("a.parquet", EngineFailure(None, None, "it can't")),))
    found = WalkFindings()
    assert len(unreadable_refusals("/t", footers, found)) == 1
    found.fault(FooterFault(DAMAGED, "it is cut"), Faulty(1, "a.parquet"))
    assert unreadable_refusals("/t", footers, found) == []

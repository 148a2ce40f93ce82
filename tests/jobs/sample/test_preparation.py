"""The first start prepares the sample lake; every later one finds it prepared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from console.management.commands import prepare
from jobs.models import Job, Stream
from tables.models import Root, Table
from tables.rules import sample_lake
from tests import factories

pytestmark = pytest.mark.django_db


def test_two_starts_prepare_the_sample_once(tmp_path: Path, settings: Any, no_wakes: list[str]) -> None:
    settings.ENV = replace(settings.ENV, home=tmp_path)
    factories.person_named("ines", "admin", "operator")
    lake = tmp_path / sample_lake.DIRECTORY
    places = [str(lake / name) for name in sample_lake.DELTA_TABLES]
    for _ in range(2):
        prepare._sample()
        found = dict(Table.objects.filter(path__in=places).values_list("path", "version"))
        assert found == {place: DeltaTable(place).version() for place in places}
        assert len(found) == 8
        asked = Job.objects.order_by("requested_at").values_list("command", "parameters__path")
        assert sorted(asked) == [("convert", str(lake / each.directory)) for each in sample_lake.CONVERSIONS]
        assert Stream.objects.get().name == sample_lake.SAMPLE_STREAM.name
        assert Root.objects.get().uri == str(lake)

"""The features that Levee says Delta knows are those that Delta itself names."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.domain.delta.protocols import FEATURES, Feature

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


def test_every_feature_of_delta_is_known_with_its_versions_and_what_it_needs(runtime: Any) -> None:
    session = runtime.new_session()
    # Delta lists a preview's feature as the active session's settings say; without a session in this thread it leaves it out.
    session._jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
    package = session._jvm.org.apache.spark.sql.delta
    known = package.TableFeature.allSupportedFeaturesMap().values().toList()
    found = {}
    for number in range(known.size()):
        feature = known.apply(number)
        kinds = names_of(feature.getClass())
        readers = bool(feature.isReaderWriterFeature())
        required = feature.requiredFeatures().toList()
        found[str(feature.name())] = Feature(
            str(feature.name()),
            int(feature.minReaderVersion()) if readers else 0,
            int(feature.minWriterVersion()),
            bool(feature.isLegacyFeature()),
            any(name.endswith("RemovableFeature") for name in kinds),
            tuple(sorted(str(required.apply(place).name()) for place in range(required.size()))),
        )
    testing = {name for name in found if "test" in name.lower()}
    expected = {
        name: (f.reader, f.writer, f.legacy, f.removable, tuple(sorted(f.requires))) for name, f in FEATURES.items()
    }
    told = {
        name: (f.reader, f.writer, f.legacy, f.removable, f.requires)
        for name, f in found.items()
        if name not in testing
    }
    assert told == expected


def names_of(kind: Any) -> set[str]:
    """A class's interfaces, and those of what it extends."""
    names: set[str] = set()
    while kind is not None:
        waiting = list(kind.getInterfaces())
        while waiting:
            face = waiting.pop()
            names.add(str(face.getName()))
            waiting += list(face.getInterfaces())
        kind = kind.getSuperclass()
    return names

"""The other formats by which a table is read as well: Delta's Universal Format, which is a property and no table feature.

Source: Delta 4.4.0, `UniversalFormat.scala` (`SUPPORTED_FORMATS`, `icebergEnabled`, `hudiEnabled`).
"""

from __future__ import annotations

from collections.abc import Mapping

ENABLED = "delta.universalFormat.enabledFormats"
_LABELS = {"iceberg": "Iceberg", "hudi": "Hudi"}


def other_formats(configuration: Mapping[str, str | None]) -> tuple[str, ...]:
    """The names of the formats whose metadata a writer keeps beside Delta's, as people write them."""
    listed = [part.strip() for part in (configuration.get(ENABLED) or "").split(",")]
    return tuple(label for name, label in _LABELS.items() if name in listed)

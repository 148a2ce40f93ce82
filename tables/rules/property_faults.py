"""What of a table's properties makes Delta refuse changes, fail in them, or leave something out, as far as its log tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tables.deltalog.rules.property_values import UnreadValue, failing_values, quiet_values
from tables.deltalog.rules.schema import Struct
from tables.rules.column_statistics import STATS_COLUMNS, listed_fault


@dataclass(frozen=True, slots=True)
class PropertyFaults:
    """`failing`: values for which Delta fails in changes; `quiet`: those for which it writes no checkpoint; `listed`: what it refuses
    of the columns to keep statistics of, in its words."""

    failing: tuple[UnreadValue, ...] = ()
    quiet: tuple[UnreadValue, ...] = ()
    listed: str = ""

    @property
    def names(self) -> list[str]:
        """The properties that have a fault."""
        return [*(value.name for value in (*self.failing, *self.quiet)), *([STATS_COLUMNS] if self.listed else [])]


NO_FAULTS = PropertyFaults()


def property_faults(
    configuration: Mapping[str, str], schema: Struct | None, partitions: Sequence[str]
) -> PropertyFaults:
    """The faults of the properties of a table that Delta opens; without a schema nothing is said of its columns."""
    fault = None if schema is None else listed_fault(schema, partitions, configuration.get(STATS_COLUMNS, ""))
    return PropertyFaults(
        tuple(failing_values(configuration)), tuple(quiet_values(configuration)), fault.text if fault else ""
    )

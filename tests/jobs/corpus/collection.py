"""All files of the corpus that are made without Spark, by name."""

from __future__ import annotations

from tests.jobs.corpus import damaged, encodings, kept, names, nesting, rust, shapes, times, types

FILES: dict[str, bytes] = {
    name: data
    for module in (kept, rust, types, encodings, nesting, times, names, shapes, damaged)
    for name, data in module.FILES.items()
}

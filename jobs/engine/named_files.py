"""The one way to read files of a table into a DataFrame without Delta: each by its literal name, never as a glob.

Spark treats `[`, `*`, `?`, `{` and the backslash in a path as a glob, Delta doesn't: Levee would check a table called `g[x]` by the
files of `gx`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

_PATTERN = re.compile(r"[\\*?\[\]{}]")


def json_lines(session: SparkSession, files: Sequence[str], schema: str) -> DataFrame:
    """The lines of these files, each a JSON object. `files` are full paths or URIs, taken literally; a missing one fails the read."""
    if not files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).json([literal_path(file) for file in files])


def literal_path(path: str) -> str:
    """The path escaped so that Spark's readers take it literally."""
    return _PATTERN.sub(r"\\\g<0>", path)

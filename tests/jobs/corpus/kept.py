"""Files of writers that aren't installed here: DuckDB, Polars and fastparquet. README.md beside the files says how they were made."""

from __future__ import annotations

from pathlib import Path

FILES = {file.stem: file.read_bytes() for file in sorted((Path(__file__).parent / "other_writers").glob("*.parquet"))}

"""Text ⇄ predicate: reads what a person typed into Levee's own tree, or says where and why not. No user text goes any further."""

from jobs.domain.predicates.stored import from_json, to_json
from jobs.predicates.reading import MAX_LENGTH, parse
from jobs.predicates.table_schema import schema_of

__all__ = ["MAX_LENGTH", "from_json", "parse", "schema_of", "to_json"]

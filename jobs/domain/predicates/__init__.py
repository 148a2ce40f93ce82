"""Predicates: conditions on rows as trees. Standard library only; text is read in jobs.predicates, Spark is told in jobs.engine."""

from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.tree import Node, columns

__all__ = ["Field", "Node", "Schema", "columns", "to_text"]

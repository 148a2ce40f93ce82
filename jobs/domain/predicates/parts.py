"""Facts about the parts of one tree: computed once per part, and counted, so that no text makes it endless.

Parts are told apart by identity; the tree must live as long as what is known of it.
"""

from __future__ import annotations

from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.tree import ColumnPath, Literal, Node, children
from jobs.domain.predicates.values import Values

MAX_STEPS = 100_000
"""Far more than a tree of 65,536 characters takes: a part of it costs a step for its type and one for its value."""


class Misfit(ValueError):
    """A part of a tree that doesn't fit; `node` is that part, `remedy` how to write what may have been meant."""

    def __init__(self, node: Node, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason
        self.remedy = remedy


class StepCounter:
    """Counts the steps taken so far."""

    def __init__(self, most: int = MAX_STEPS) -> None:
        self.most = most
        self.taken = 0

    def take(self, node: Node) -> None:
        """Raises Misfit beyond the most."""
        self.taken += 1
        if self.taken > self.most:
            remedy = "Use several requests, or ranges."
            raise Misfit(node, f"judging it takes more than {self.most:,} steps", remedy)


class Constants(Values):
    """The values of the parts without columns."""

    def __init__(self, steps: StepCounter) -> None:
        super().__init__({})
        self.steps = steps
        self._found: dict[int, Literal | Undecided | Fails] = {}
        self._varying: dict[int, bool] = {}

    def worth(self, node: Node) -> Literal:
        if (outcome := self._found.get(id(node))) is None:
            self.steps.take(node)
            outcome = self._found[id(node)] = self._outcome(node)
        if isinstance(outcome, Literal):
            return outcome
        raise type(outcome)(*outcome.args)

    def _outcome(self, node: Node) -> Literal | Undecided | Fails:
        try:
            return super().worth(node)
        except (Undecided, Fails) as error:
            return error.with_traceback(None)

    def varies(self, node: Node) -> bool:
        """Whether the part reads a column."""
        if (varying := self._varying.get(id(node))) is None:
            below = isinstance(node, ColumnPath) or any(self.varies(child) for child in children(node))
            varying = self._varying[id(node)] = below
        return varying

    def constant(self, node: Node) -> Literal | None:
        """The value of a part without columns; None where it has some, or only Spark can say. Raises Fails."""
        if self.varies(node):
            return None
        try:
            return self.worth(node)
        except Undecided:
            return None

"""Checks a tree against a schema: every name a column, every type as Spark's ANSI rules want it, no NULL where it has no meaning.

Narrower than Spark on purpose: where Spark would convert column by column and fail on the first odd row, the tree must say CAST.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.domain.predicates import functions, patterns, typenames
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.constants import as_compared
from jobs.domain.predicates.functions import FUNCTIONS, WORDS, accepts
from jobs.domain.predicates.parts import Constants, Misfit, StepCounter
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Cast,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
)

MAX_OPTIONS = 1_000


class Checker:
    """Checks the parts of one tree. Names must have been resolved."""

    def __init__(self, schema: Schema, steps: StepCounter | None = None) -> None:
        self.schema = schema
        self.steps = steps or StepCounter()
        self.constants = Constants(self.steps)
        self._types: dict[int, str] = {}

    def condition(self, node: Node) -> None:
        """A part that says yes or no. Raises Misfit at the first part of it that doesn't fit."""
        match node:
            case And(terms) | Or(terms):
                for term in terms:
                    self.condition(term)
            case Not(operand):
                self.condition(operand)
            case _:
                kind = self.type(node)
                if kind == "void":
                    raise _null(node)
                if kind != "boolean":
                    raise Misfit(node, f"this is {kind}, where a condition is needed", "Compare it with something.")

    def type(self, node: Node) -> str:
        """The type of an expression that fits, found once: what is around a part asks for it again. Raises Misfit."""
        if (kind := self._types.get(id(node))) is None:
            self.steps.take(node)
            kind = self._types[id(node)] = self._found_type(node)
        return kind

    def _found_type(self, node: Node) -> str:
        match node:
            case Literal():
                return node.type
            case ColumnPath(path):
                return self.schema.field(path).type
            case Negative(operand):
                return self._numbers(operand)
            case Arithmetic():
                return self._arithmetic(node)
            case Cast():
                return self._cast(node)
            case Call():
                return self._call(node)
            case And() | Or() | Not():
                self.condition(node)
            case _:
                self._test(node)
        return "boolean"

    def _test(self, node: Comparison | IsNull | In | Between | Like) -> None:
        match node:
            case Comparison(operator, left, right):
                self._comparable(node, left, right, null=operator == "<=>")
            case IsNull(operand, _):
                self.type(operand)
            case In(operand, options):
                self._options(node, operand, options)
            case Between(operand, low, high):
                self._comparable(node, operand, low)
                self._comparable(node, operand, high)
            case Like(operand, pattern, escape):
                self._text(operand)
                _check_pattern(node, pattern, escape)

    def _options(self, node: In, operand: Node, options: Sequence[Node]) -> None:
        if len(options) > MAX_OPTIONS:
            remedy = "Use several requests, or a range that contains them all."
            raise Misfit(node, f"IN takes at most {MAX_OPTIONS:,} values, this has {len(options):,}", remedy)
        for option in options:
            self._comparable(node, operand, option)
        if len({typenames.family(self.type(option)) for option in options}) > 1:
            raise Misfit(node, "the values after IN are of different kinds", "Write all of them in one way.")

    def _comparable(self, node: Node, left: Node, right: Node, *, null: bool = False) -> None:
        kinds = [self.type(left), self.type(right)]
        if "void" in kinds:
            if null:
                return
            raise _null(left if kinds[0] == "void" else right)
        families = [typenames.family(kind) for kind in kinds]
        if None in families:
            odd = kinds[families.index(None)]
            raise Misfit(node, f"a value of type {odd} can’t be compared", "Ask IS NULL, or compare a field of it.")
        if families[0] != families[1]:
            self._beside_text(node, (left, right), kinds)
        self._constant(node, left, right)

    def _beside_text(self, node: Node, pair: tuple[Node, Node], kinds: list[str]) -> None:
        """A text literal beside a number, date, … is read as one, as Spark does; all else must be cast by hand."""
        for here, there in ((0, 1), (1, 0)):
            if isinstance(pair[here], Literal) and kinds[here] == "string" and kinds[there] != "binary":
                return
        raise Misfit(node, f"{kinds[0]} is compared with {kinds[1]}", "Write both as one type, with CAST if need be.")

    def _constant(self, node: Node, left: Node, right: Node) -> None:
        """Evaluates constants now, to report here what would fail at the run."""
        values = [self._worth(side) for side in (left, right)]
        pair = [value or Literal(self.type(side), None) for value, side in zip(values, (left, right), strict=True)]
        try:
            for known, other in ((pair[0], pair[1]), (pair[1], pair[0])):
                if known.type == "string" and known.value is not None and typenames.family(other.type) != "text":
                    as_compared(known, other.type)
        except Fails as failure:
            raise Misfit(node, str(failure), "Correct the value.") from None
        except Undecided:
            pass

    def _worth(self, node: Node) -> Literal | None:
        """A constant's value; None when it has columns, or only Spark can say."""
        try:
            return self.constants.constant(node)
        except Fails as failure:
            raise Misfit(node, str(failure), "Correct the value.") from None

    def _text(self, node: Node) -> None:
        kind = self.type(node)
        if kind == "void":
            raise _null(node)
        if typenames.family(kind) != "text":
            raise Misfit(node, f"LIKE needs text, this is {kind}", "Write CAST(… AS STRING) around it.")

    def _numbers(self, *nodes: Node) -> str:
        """The type that numbers meet in."""
        kinds = [self.type(node) for node in nodes]
        for node, kind in zip(nodes, kinds, strict=True):
            if kind == "void":
                raise _null(node)
            if typenames.family(kind) != "number":
                raise Misfit(node, f"a number is needed, this is {kind}", "Write CAST(… AS …) around it.")
        for wide in ("double", "float"):
            if wide in kinds:
                return "double" if len(set(kinds)) > 1 else wide
        if all(kind in typenames.INTEGERS for kind in kinds):
            return max(kinds, key=typenames.INTEGERS.index)
        return "decimal(38,18)" if len(nodes) > 1 else kinds[0]

    def _arithmetic(self, node: Arithmetic) -> str:
        left, right = self.type(node.left), self.type(node.right)
        if left == "date" and node.operator in "+-":
            return self._days(node, right)
        kind = self._numbers(node.left, node.right)
        self._worth(node)
        if node.operator in ("/", "DIV", "%"):
            self._not_zero(node)
        if node.operator == "DIV":
            return self._whole_division(node, kind)
        return "double" if node.operator == "/" and kind in typenames.INTEGERS + typenames.FLOATS else kind

    def _whole_division(self, node: Arithmetic, kind: str) -> str:
        if kind in typenames.FLOATS:
            raise Misfit(node, f"DIV takes whole numbers and decimals, not {kind}", "Write floor(a / b).")
        return "bigint"

    def _not_zero(self, node: Arithmetic) -> None:
        divisor = self._worth(node.right)
        if divisor is not None and divisor.value == 0:
            raise Misfit(node, "division by zero", "Correct the divisor.")

    def _days(self, node: Arithmetic, right: str) -> str:
        if right not in ("tinyint", "smallint", "int"):
            raise Misfit(
                node, f"date {node.operator} {right} isn’t supported", "Add whole days, or write datediff(a, b)."
            )
        self._worth(node)
        return "date"

    def _cast(self, node: Cast) -> str:
        source = self.type(node.operand)
        if source == "void":
            raise _null(node)
        if not typenames.can_cast(source, node.type):
            raise Misfit(node, f"{source} can’t be cast to {node.type}", "Compare it as it is.")
        self._worth(node)
        return node.type

    def _call(self, node: Call) -> str:
        function = FUNCTIONS[node.name]
        kinds = [self.type(argument) for argument in node.arguments]
        self._count(node, function, len(kinds))
        takes = [*function.takes, *function.takes[-1:] * (len(kinds) - len(function.takes))]
        for argument, kind, wanted in zip(node.arguments, kinds, takes, strict=False):
            if kind == "void":
                raise _null(argument)
            if not accepts(wanted, kind):
                raise Misfit(argument, f"{node.name} needs {WORDS[wanted]} here, this is {kind}", "Write CAST(…).")
        return _result(node, function, kinds)

    def _count(self, node: Call, function: functions.Function, count: int) -> None:
        most = None if function.repeats else len(function.takes)
        if count < function.needed or (most is not None and count > most):
            wanted = f"{function.needed}" + (" or more" if most is None else f" to {most}" * (most > function.needed))
            raise Misfit(
                node, f"{node.name} takes {wanted} arguments, not {count}", f"{node.name}: {function.meaning}."
            )


def _result(node: Call, function: functions.Function, kinds: list[str]) -> str:
    if function.takes[0] == "any" and len(set(kinds)) > 1:
        remedy = "Write CAST(… AS …) around the odd one."
        raise Misfit(node, f"{node.name} needs values of one type, these are {', '.join(kinds)}", remedy)
    if function.gives == "same":
        return kinds[0]
    if function.gives == "whole":
        return "decimal(38,0)" if kinds[0].startswith("decimal") else "bigint"
    return function.gives


def _check_pattern(node: Like, pattern: str, escape: str) -> None:
    try:
        wildcards = patterns.wildcards(pattern, escape)
    except patterns.BadPattern as error:
        raise Misfit(node, str(error), "In a text, a backslash is written twice: '50\\\\%' means 50%.") from None
    if wildcards > patterns.MAX_WILDCARDS:
        text = f"a pattern has at most {patterns.MAX_WILDCARDS} wildcards, not {wildcards:,}"
        raise Misfit(node, text, "Join several LIKE by AND, or leave out what you don’t need.")


def _null(node: Node) -> Misfit:
    remedy = "Write IS NULL or IS NOT NULL; `a <=> b` also compares NULLs."
    return Misfit(node, "NULL is never equal to anything, so this is true for no row", remedy)

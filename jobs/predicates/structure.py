"""What sqlglot says of a skeleton, rebuilt node by node: what isn't on the list is refused, what is lost or added is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from jobs.domain.errors import CommandRefused
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
from jobs.predicates import leaves, skeleton
from jobs.predicates.refusals import refused
from jobs.predicates.skeleton import FunctionCall, Leaf, Name, Null, Pattern, Skeleton, TypeName, UnsignedNumber

_COMPARISONS: dict[type[Any], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_ARITHMETIC: dict[type[Any], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}
_TESTS = (exp.In, exp.Between, exp.Like, exp.Is)
_BRACKETS = "Put brackets around what belongs together."
# What the skeleton lets through is not as deep: its levels with a bracket each, its arithmetic. sqlglot also nests what follows one
# another (a NOT IN (1) NOT IN (1) …), which is refused in the end, but not before Python's stack would be full.
MAX_DEPTH = 2 * skeleton.MAX_DEPTH + skeleton.MAX_ARITHMETIC + 10
# Members that say how other dialects divide.
_HARMLESS = frozenset(("typed", "safe"))

Resolve = Callable[[Name, int], ColumnPath]


class Built:
    """A tree and where each of its nodes stands in the text (by identity: equal nodes may stand in several places)."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self.retained: list[Node] = []

    def at(self, node: Node) -> int:
        return self.places.get(id(node), 0)

    def put(self, node: Node, place: int) -> Node:
        self.places[id(node)] = place
        self.retained.append(node)
        return node


def build(outline: Skeleton, resolve: Resolve) -> tuple[Node, Built]:
    """The tree of a skeleton. `resolve` finds a name's column. Raises CommandRefused."""
    try:
        parsed = sqlglot.parse(outline.text, read="spark")
    except SqlglotError:
        raise refused(0, "the parts of the predicate don’t fit together", _BRACKETS) from None
    except RecursionError:
        raise refused(0, "nested too deeply", "Use fewer nested parentheses.") from None
    if len(parsed) != 1 or parsed[0] is None:
        raise refused(0, "one condition is read, not several")
    rebuilder = _Rebuilder(outline, resolve)
    tree = rebuilder.node(parsed[0])
    rebuilder.check_complete()
    return tree, rebuilder.built


class _Rebuilder:
    def __init__(self, outline: Skeleton, resolve: Resolve) -> None:
        self.skeleton = outline
        self.resolve = resolve
        self.built = Built()
        self.parts: Counter[str] = Counter()
        self.seen: list[int] = []
        self.depth = 0

    def check_complete(self) -> None:
        """Every leaf once and in order, every operator, comma and bracket that was written and no other."""
        if self.seen != list(range(len(self.skeleton.leaves))) or self.parts != self.skeleton.parts:
            raise refused(0, "it can be read in more than one way", _BRACKETS)

    def node(self, parsed: Any) -> Node:
        first = len(self.seen)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise refused(0, "it is nested too deeply", "Use fewer nested parentheses.")
        made = self._made(parsed)
        self.depth -= 1
        place = self.seen[first] if first < len(self.seen) else 0
        start = self.skeleton.leaves[place].start
        return made if id(made) in self.built.places else self.built.put(made, start)

    def _made(self, parsed: Any) -> Node:
        kind = type(parsed)
        if kind is exp.Paren:
            self._only(parsed, "this")
            self.parts["("] += 1
            return self.node(parsed.this)
        if kind in (exp.And, exp.Or):
            return self._chain(parsed)
        if kind in _COMPARISONS:
            return Comparison(_COMPARISONS[kind], *self._pair(parsed, _COMPARISONS[kind]))
        if kind in _ARITHMETIC:
            return Arithmetic(_ARITHMETIC[kind], *self._pair(parsed, _ARITHMETIC[kind]))
        if kind in _TESTS:
            return self._test(parsed)
        return self._single(parsed)

    def _single(self, parsed: Any) -> Node:
        match parsed:
            case exp.Not():
                self._only(parsed, "this")
                self.parts["NOT"] += 1
                return Not(self.node(parsed.this))
            case exp.Neg():
                self._only(parsed, "this")
                self.parts["-"] += 1
                return self._negative(parsed.this)
            case exp.Column():
                return self._leaf(parsed)
            case exp.Anonymous():
                return self._call(parsed)
        raise refused(0, f"{type(parsed).__name__.upper()} isn’t supported")

    def _only(self, parsed: Any, *names: str) -> None:
        """Nothing but the named members is set: what sqlglot adds elsewhere would be lost."""
        odd = [name for name, value in parsed.args.items() if value and name not in names and name not in _HARMLESS]
        if odd:
            raise refused(0, f"{odd[0]} isn’t supported", _BRACKETS)

    def _pair(self, parsed: Any, operator: str) -> tuple[Node, Node]:
        self._only(parsed, "this", "expression")
        left = self._operand(parsed.this)
        self.parts[operator] += 1
        return left, self._operand(parsed.expression)

    def _operand(self, parsed: Any) -> Node:
        """A condition inside a comparison needs brackets: without them, dialects differ in what belongs to what."""
        if isinstance(parsed, exp.And | exp.Or | exp.Not) or type(parsed) in _COMPARISONS or isinstance(parsed, _TESTS):
            raise self._doubtful(parsed)
        return self.node(parsed)

    def _doubtful(self, parsed: Any) -> CommandRefused:
        """Its first leaf is looked up, not built: such conditions may stand in thousands around one another."""
        first = next(parsed.find_all(exp.Column, exp.Anonymous, bfs=False), None)
        at = 0 if first is None else self._number(str(first.this if type(first) is exp.Anonymous else first.name))
        start = self.skeleton.leaves[at].start
        return refused(start, "a condition inside a condition needs brackets", _BRACKETS)

    def _chain(self, parsed: Any) -> Node:
        """a AND b AND c is one node of three; long chains lean to the left."""
        kind, rest, current = type(parsed), [], parsed
        while type(current) is kind:
            self._only(current, "this", "expression")
            rest.append(current.expression)
            current = current.this
        word, node_type = ("AND", And) if kind is exp.And else ("OR", Or)
        self.parts[word] += len(rest)
        terms: list[Node] = []
        for term in (current, *reversed(rest)):
            made = self.node(term)
            terms.extend(made.terms if isinstance(made, node_type) else (made,))
        return node_type(tuple(terms))

    def _test(self, parsed: Any) -> Node:
        operand = self._operand(parsed.this)
        match parsed:
            case exp.In():
                made = self._in(parsed, operand)
            case exp.Between():
                made = self._between(parsed, operand)
            case exp.Like():
                made = self._like(parsed, operand)
            case _:
                made = self._is(parsed, operand)
        if parsed.args.get("negate"):
            self.parts["NOT"] += 1
            return Not(self.built.put(made, self.built.at(operand)))
        return made

    def _in(self, parsed: Any, operand: Node) -> Node:
        self._only(parsed, "this", "expressions", "negate")
        options = [self._operand(option) for option in parsed.expressions]
        self.parts["IN"] += 1
        self.parts[","] += max(len(options) - 1, 0)
        return In(operand, tuple(options))

    def _between(self, parsed: Any, operand: Node) -> Node:
        self._only(parsed, "this", "low", "high", "negate")
        self.parts["BETWEEN"] += 1
        self.parts["AND"] += 1
        return Between(operand, self._operand(parsed.args["low"]), self._operand(parsed.args["high"]))

    def _like(self, parsed: Any, operand: Node) -> Node:
        self._only(parsed, "this", "expression", "negate")
        self.parts["LIKE"] += 1
        leaf = self._payload(parsed.expression)
        if not isinstance(leaf.payload, Pattern):
            raise refused(leaf.start, "LIKE needs a text", _BRACKETS)
        return Like(operand, leaf.payload.pattern, leaf.payload.escape)

    def _is(self, parsed: Any, operand: Node) -> Node:
        self._only(parsed, "this", "expression")
        self.parts["IS"] += 1
        leaf = self._payload(parsed.expression)
        if not isinstance(leaf.payload, Null):
            raise refused(leaf.start, "after IS stands NULL or NOT NULL", _BRACKETS)
        return IsNull(operand, leaf.payload.negated)

    def _negative(self, parsed: Any) -> Node:
        """A minus right before a number is part of it, so that the smallest bigint can be written."""
        if type(parsed) is exp.Column:
            leaf = self._payload(parsed)
            if isinstance(leaf.payload, UnsignedNumber):
                return leaves.number(leaf.payload.token, negative=True)
            return Negative(self._value(leaf))
        return Negative(self._operand(parsed))

    def _call(self, parsed: Any) -> Node:
        self._only(parsed, "this", "expressions")
        leaf = self._mark(str(parsed.this), "f")
        if not isinstance(leaf.payload, FunctionCall):
            raise refused(leaf.start, "a function is expected here", _BRACKETS)
        arguments = list(parsed.expressions)
        self.parts[","] += max(len(arguments) - 1, 0)
        if leaf.payload.name != "cast":
            return Call(leaf.payload.name, tuple(self.node(argument) for argument in arguments))
        operand = self.node(arguments[0])
        target = self._payload(arguments[-1])
        if len(arguments) != 2 or not isinstance(target.payload, TypeName):
            raise refused(leaf.start, "CAST needs AS and a type", "Write CAST(value AS type).")
        return Cast(operand, target.payload.name)

    def _leaf(self, parsed: Any) -> Node:
        return self._value(self._payload(parsed))

    def _value(self, leaf: Leaf) -> Node:
        match leaf.payload:
            case Name():
                return self.resolve(leaf.payload, leaf.start)
            case UnsignedNumber(token):
                return leaves.number(token, negative=False)
            case Literal(kind, value):
                # A node of its own for every place: places are told apart by object.
                return Literal(kind, value)
        raise refused(leaf.start, "a value is expected here", _BRACKETS)

    def _payload(self, parsed: Any) -> Leaf:
        if type(parsed) is not exp.Column:
            raise refused(0, "a name or a value is expected", _BRACKETS)
        self._only(parsed, "this")
        return self._mark(str(parsed.name), "v")

    def _mark(self, text: str, sort: str) -> Leaf:
        number = self._number(text)
        if text[:1] != sort:
            raise refused(0, "the parts of the predicate don’t fit together", _BRACKETS)
        self.seen.append(number)
        return self.skeleton.leaves[number]

    def _number(self, mark: str) -> int:
        number = mark[1:]
        if not number.isdigit() or int(number) >= len(self.skeleton.leaves):
            raise refused(0, "the parts of the predicate don’t fit together", _BRACKETS)
        return int(number)

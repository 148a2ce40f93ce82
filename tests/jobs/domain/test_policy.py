"""What the rules say about a case."""

import pytest

from jobs.domain.policy import Case, Rule, Scope, TableClass, applies, decide, lowers, reason


def rule(approvals=1, **changes):
    values = {"id": f"r{approvals}", "version": 3, "name": "seen by another", "command": "delete"}
    return Rule(**{**values, "required_approvals": approvals, **changes})


def case(**changes):
    return Case(**{"command": "delete", "root": "lake", "table": "orders", **changes})


def test_without_a_rule_nothing_is_asked():
    found = decide([], case(command="convert"))
    assert (found.required_approvals, found.rules) == (0, ())
    assert found.reasons == ("No rule asks for an approval of this convert job.",)


def test_the_strictest_rule_counts_whatever_their_order():
    rules = [rule(1), rule(3), rule(2)]
    for ordered in (rules, rules[::-1]):
        found = decide(ordered, case())
        assert found.required_approvals == 3
        assert [r["id"] for r in found.rules] == ["r3", "r2", "r1"]


def test_a_rule_that_asks_for_nothing_lowers_nothing():
    assert decide([rule(0), rule(1)], case()).required_approvals == 1


def test_each_rule_that_applied_is_named_with_its_version():
    found = decide([rule(2, version=7)], case())
    assert found.rules == ({"id": "r2", "version": 7},)
    assert found.as_json()["rules"] == [{"id": "r2", "version": 7}]


@pytest.mark.parametrize(
    ("scope", "scope_id", "expected"),
    [
        (Scope.TABLE, "people", True),
        (Scope.ROOT, "vault", True),
        (Scope.TABLE, "orders", True),
        (Scope.ROOT, "lake", True),
        (Scope.TABLE, "others", False),
        (Scope.ROOT, "elsewhere", False),
    ],
)
def test_a_rule_for_the_table_that_a_command_reads_from_applies_too(scope, scope_id, expected):
    found = case(reads=frozenset({"people", "vault"}))
    assert applies(rule(scope=scope, scope_id=scope_id), found) is expected


def test_a_rule_is_about_its_command_alone():
    assert not applies(rule(), case(command="restore"))


@pytest.mark.parametrize(
    ("of_rule", "of_case", "expected"),
    [
        (None, TableClass.ORDINARY, True),
        (None, TableClass.WHOLE_TABLE, True),
        (TableClass.WHOLE_TABLE, TableClass.WHOLE_TABLE, True),
        (TableClass.WHOLE_TABLE, TableClass.ORDINARY, False),
        (TableClass.ORDINARY, TableClass.WHOLE_TABLE, False),
    ],
)
def test_a_rule_is_about_its_class(of_rule, of_case, expected):
    assert applies(rule(table_class=of_rule), case(table_class=of_case)) is expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, True), (0.51, True), (1.0, True), (0.49, False), (0.0, False), (None, True)]
)
def test_a_share_that_is_not_known_counts_as_large_enough(share, expected):
    assert applies(rule(min_share=0.5), case(share=share)) is expected


def test_a_rule_without_a_share_is_about_any():
    assert applies(rule(), case(share=0.0))


@pytest.mark.parametrize(
    ("scope", "scope_id", "expected"),
    [
        (Scope.EVERYTHING, None, True),
        (Scope.ROOT, "lake", True),
        (Scope.ROOT, "other", False),
        (Scope.ROOT, "orders", False),
        (Scope.TABLE, "orders", True),
        (Scope.TABLE, "lake", False),
    ],
)
def test_a_rule_holds_on_its_place(scope, scope_id, expected):
    assert applies(rule(scope=scope, scope_id=scope_id), case()) is expected


def test_one_rule_that_refuses_tokens_does_so_for_all():
    assert not decide([rule(2)], case()).refuses_tokens
    assert decide([rule(2), rule(1, refuses_tokens=True)], case()).refuses_tokens


def test_a_rule_that_does_not_apply_refuses_no_token():
    assert not decide([rule(2), rule(1, refuses_tokens=True, command="restore")], case()).refuses_tokens


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "“seen by another”: a delete job needs 1 approver."),
        ({"required_approvals": 0}, "“seen by another”: a delete job needs no approval."),
        (
            {"required_approvals": 2, "table_class": TableClass.WHOLE_TABLE},
            "“seen by another”: a delete job on a whole table needs 2 approvers.",
        ),
        (
            {"min_share": 0.25, "table_class": TableClass.ORDINARY, "refuses_tokens": True},
            "“seen by another”: an ordinary delete job (from 25% of the rows on) needs 1 approver; "
            "a token’s approval doesn’t count.",
        ),
    ],
)
def test_a_rule_is_said_in_a_sentence(changes, text):
    assert reason(rule(**changes)) == text


@pytest.mark.parametrize(
    ("before", "after", "lower"),
    [
        (rule(1), None, True), (rule(0), None, False), (rule(0, refuses_tokens=True), None, True), (None, rule(0), False),
        (rule(2), rule(1), True), (rule(1), rule(2), False), (rule(1), rule(1, name="other"), False),
        (rule(1, refuses_tokens=True), rule(2), True), (rule(1), rule(1, refuses_tokens=True), False),
        (rule(1), rule(1, min_share=0.1), True), (rule(1, min_share=0.2), rule(1, min_share=0.1), False),
        (rule(1), rule(1, min_share=0.0), False), (rule(1, min_share=0.2), rule(1), False),
        (rule(1), rule(1, table_class=TableClass.ORDINARY), True), (rule(1, table_class=TableClass.ORDINARY), rule(1), False),
        (rule(1, table_class=TableClass.ORDINARY), rule(1, table_class=TableClass.WHOLE_TABLE), True),
    ],
)  # fmt: skip
def test_it_is_lowered_where_it_would_ask_for_less_somewhere(before, after, lower):
    assert lowers(before, after) is lower

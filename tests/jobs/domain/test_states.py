"""The states as data, and the database's own copy of them."""

import importlib

import pytest

from jobs.domain.states import (
    CANCELLABLE,
    CLAIMED,
    ENDED,
    OPEN,
    SENTENCE,
    TRANSITIONS,
    Cause,
    State,
    may,
    sources,
    table_state,
)


def test_no_transition_leaves_an_end():
    assert not [t for t in TRANSITIONS if t.source in ENDED]


def test_every_open_state_leads_to_an_end_by_the_dispatcher_or_the_worker_alone():
    """No job waits for a person for ever: it expires, or a machine ends it."""
    machines = {Cause.WORKER, Cause.DISPATCHER}
    reach = {s: {t.target for t in TRANSITIONS if t.source is s and t.causes & machines} for s in OPEN}
    for start in OPEN:
        seen, todo = set(), [start]
        while todo:
            state = todo.pop()
            if state not in seen:
                seen.add(state)
                todo += reach.get(state, set())
        assert seen & ENDED, start


def test_each_pair_of_states_is_written_once():
    pairs = [(t.source, t.target) for t in TRANSITIONS]
    assert len(pairs) == len(set(pairs))


def test_the_database_holds_the_same_transitions():
    written = importlib.import_module("jobs.migrations.0002_rules").TRANSITIONS
    known = {(State(s), State(t)) for s, targets in written.items() for t in targets.split()}
    assert known == {(t.source, t.target) for t in TRANSITIONS}


def test_only_a_worker_starts_a_run_and_only_people_withdraw_or_reject():
    assert sources(State.RUNNING, Cause.WORKER) == {State.QUEUED}
    for cause in set(Cause) - {Cause.WORKER}:
        assert not sources(State.RUNNING, cause)
    assert not sources(State.WITHDRAWN, Cause.DISPATCHER)
    assert not sources(State.REJECTED, Cause.REQUESTER)


def test_a_cancel_is_possible_until_the_end():
    assert OPEN - {State.CANCELLING} == CANCELLABLE


def test_may_asks_for_the_cause():
    assert may(State.RUNNING, State.SUCCEEDED, Cause.WORKER)
    assert not may(State.RUNNING, State.SUCCEEDED, Cause.DISPATCHER)
    assert not may(State.SUCCEEDED, State.QUEUED, Cause.DISPATCHER)


@pytest.mark.parametrize("state", State)
def test_every_state_says_what_it_is_and_what_it_means_for_the_table(state):
    assert SENTENCE[state].endswith(".")
    assert table_state(state, None)
    assert table_state(state, 1234) == "Committed as version 1,234."


def test_an_unknown_run_is_never_called_uncommitted():
    for state in (State.RECONCILING, State.STALE):
        assert table_state(state, None) != "Nothing was committed."
    assert {State.RUNNING, State.CANCELLING, State.RECONCILING} == CLAIMED

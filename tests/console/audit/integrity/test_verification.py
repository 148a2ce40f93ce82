"""Tampering is seen and located (F6)."""

import json
import os
import random
from dataclasses import dataclass

import pytest
from django.db import connection
from psycopg.types.string import TextLoader

from console.audit import definitions
from console.audit.integrity import canonical, chain, heads, verification
from console.audit.models import Event, Seal
from console.audit.verify_export import COLUMNS
from tests.console.audit.making import event, last_link, sealed

ROUNDS = 500 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 40
EVENTS = 60


def kinds(run):
    return {problem["kind"] for problem in run.problems}


@pytest.mark.django_db
def test_an_untouched_chain_is_whole():
    sealed(25)
    heads.sign_when_due()
    event(26)  # waits to be sealed
    run = verification.verify("tests")
    assert (run.problem_count, run.first, run.last, run.checked) == (0, 1, 25, 25)
    assert verification.as_json(run)["ok"]


@pytest.mark.django_db
def test_it_goes_on_where_a_slice_ended(monkeypatch):
    monkeypatch.setattr(verification, "SLICE", 10)
    sealed(25)
    run = verification.begin("tests")
    verification.advance(run)
    assert (run.last, run.finished_at) == (10, None)
    verification.advance(run)
    verification.advance(run)
    assert run.finished_at is not None
    assert (run.problem_count, run.checked) == (0, 25)


@pytest.mark.django_db
def test_a_part_is_verified_from_the_link_before_it():
    sealed(10)
    run = verification.verify("tests", since=6)
    assert (run.first, run.checked, run.problem_count) == (7, 4, 0)
    assert not verification.as_json(run)["whole"]


@dataclass
class Tampering:
    """One act of somebody who has the server, and the sequence from which on it must be found."""

    sql: list
    where: int


def link(sequence):
    return Seal.objects.select_related("event").get(sequence=sequence)


def edit_event(at, other):
    return Tampering([("update audit.event set reason = reason || 'x' where id = %s", [link(at).event_id])], at)


def edit_event_and_its_hash(at, other):
    new = """hash = audit.row_hash(jsonb_populate_record(e, '{"outcome": "refused"}'))"""
    sql = f"update audit.event e set outcome = 'refused', {new} where id = %s"
    return Tampering([(sql, [link(at).event_id])], at)


def delete_event(at, other):
    return Tampering([("delete from audit.event where id = %s", [link(at).event_id])], at)


def delete_link_and_event(at, other):
    gone = link(at).event_id
    return Tampering(
        [("delete from audit.seal where sequence = %s", [at]), ("delete from audit.event where id = %s", [gone])], at
    )


def edit_link(at, other):
    return Tampering([("update audit.seal set hash = md5(hash) || md5(hash) where sequence = %s", [at])], at)


def swap_events_of_two_links(at, other):
    one, two = link(at).event_id, link(other).event_id
    swap = "update audit.seal set event = %s where sequence = %s"
    spare = "00000000-0000-0000-0000-000000000000"
    return Tampering([(swap, [spare, at]), (swap, [one, other]), (swap, [two, at])], min(at, other))


def swap_two_events(at, other):
    one, two = link(at).event, link(other).event
    sql = "update audit.event set object_id = %s, object_name = %s, reason = %s where id = %s"
    return Tampering(
        [
            (sql, [two.object_id, two.object_name, two.reason, one.pk]),
            (sql, [one.object_id, one.object_name, one.reason, two.pk]),
        ],
        min(at, other),
    )


def insert_link(at, other):
    """A forged event between two, the rest moved on by one and linked anew up to nowhere."""
    forged = (
        "insert into audit.event (id, actor_kind, actor_name, action, object_kind, object_id, object_name, outcome)"
        " values ('11111111-1111-1111-1111-111111111111', 'system', 'x', 'table.change', 'path', '1', 'x', 'allowed')"
    )
    return Tampering(
        [
            (forged, []),
            ("update audit.seal set sequence = -sequence where sequence >= %s", [at]),
            ("update audit.seal set sequence = 1 - sequence where sequence < 0", []),
            (
                "insert into audit.seal values (%s, '11111111-1111-1111-1111-111111111111', 'x', 'x', now())",
                [at],
            ),
        ],
        at,
    )


def cut_the_tail(at, other):
    return Tampering(
        [
            ("delete from audit.event where id in (select event from audit.seal where sequence >= %s)", [at]),
            ("delete from audit.seal where sequence >= %s", [at]),
        ],
        at,
    )


def rewrite_from(at, other):
    """An event changed and the whole chain after it linked anew: only the exported heads tell."""
    changed = link(at).event_id
    relink = """
    do $$ declare s record; before text; begin
        select hash into before from audit.seal where sequence = %d - 1;
        before := coalesce(before, repeat('0', 64));
        for s in select l.sequence, l.event, e.hash from audit.seal l join audit.event e on e.id = l.event
                 where l.sequence >= %d order by 1 loop
            update audit.seal set previous = before, hash = audit.link_hash(s.sequence, before, s.event, s.hash)
                where sequence = s.sequence returning hash into before;
        end loop;
    end $$"""
    edited = edit_event_and_its_hash(at, other).sql
    assert changed
    return Tampering(
        [*edited, (relink % (at, at), [])], (at - 1) // 10 * 10 + 1
    )  # a head every ten: seen from there on


TAMPERINGS = [
    edit_event, edit_event_and_its_hash, delete_event, delete_link_and_event, edit_link, swap_events_of_two_links,
    swap_two_events, insert_link, cut_the_tail, rewrite_from,
]  # fmt: skip


def with_heads(count, every=10):
    for number in range(count):
        event(number)
        if number % every == every - 1:
            chain.seal_waiting()
            last = last_link()
            heads.sign(last.sequence, last.hash)


def test_every_random_tampering_is_found_and_located(intruder):
    chance = random.Random(7)
    with_heads(EVENTS)
    missed = []
    for turn in range(ROUNDS):
        kind = TAMPERINGS[turn % len(TAMPERINGS)]
        at, other = chance.sample(range(1, EVENTS + 1), 2)
        tampering = kind(at, other)
        undo = remembered(intruder)
        for sql, values in tampering.sql:
            intruder.execute(sql, values or None)
        run = verification.verify("tests")
        if not run.problem_count or verification.first_wrong(run) != tampering.where:
            missed.append((kind.__name__, at, other, verification.first_wrong(run), run.problems[:3]))
        undo()
    assert not missed
    assert not verification.verify("tests").problem_count


def remembered(intruder):
    """Keeps both tables; the function that it returns puts them back."""
    for table in ("event", "seal"):
        intruder.execute(f"drop table if exists pg_temp.kept_{table}")
        intruder.execute(f"create temp table kept_{table} as table audit.{table}")

    def undo():
        for table in ("event", "seal"):
            intruder.execute(f"truncate audit.{table}")
            intruder.execute(f"insert into audit.{table} select * from pg_temp.kept_{table}")

    return undo


def test_a_tail_is_missed_back_to_the_last_exported_head(intruder):
    with_heads(20)
    intruder.execute("delete from audit.seal where sequence > 17")
    intruder.execute("delete from audit.event where id not in (select event from audit.seal)")
    run = verification.verify("tests")
    assert (kinds(run), verification.first_wrong(run)) == ({"tail_cut"}, 18)


def test_an_event_beside_the_chain_is_found(intruder):
    sealed(3)
    intruder.execute(
        "insert into audit.event (id, actor_kind, actor_name, action, object_kind, object_id, object_name, outcome)"
        " values (gen_random_uuid(), 'system', 'x', 'table.change', 'path', '1', 'x', 'allowed')"
    )
    assert kinds(verification.verify("tests")) == {"unsealed"}


def test_a_head_removed_from_the_file_is_found(heads_file, intruder):
    with_heads(20)
    heads_file.write_text("".join(heads_file.read_text().splitlines(keepends=True)[:1]))
    assert kinds(verification.verify("tests")) == {"head_lost"}


@pytest.mark.django_db
def test_a_head_that_is_signed_during_the_walk_is_none_that_was_lost(monkeypatch):
    sealed(5)

    def meanwhile(last, most):
        found = canonical.links(last, most)
        assert heads.sign_when_due()
        return found

    monkeypatch.setattr(verification, "links", meanwhile)
    assert kinds(verification.verify("tests")) == set()


def test_a_forged_head_is_found(heads_file, head_lines, intruder):
    with_heads(10)
    forged = head_lines()[0] | {"hash": "0" * 64}
    heads_file.write_text(json.dumps(forged) + "\n")
    assert kinds(verification.verify("tests")) == {"head_forged"}


@pytest.mark.django_db
def test_a_row_from_before_the_table_was_noted_hashes_as_it_did():
    plain = event(1)
    plain.refresh_from_db()
    sealed(0)
    assert plain.table_id is None
    assert not verification.verify("tests").problem_count
    assert Event.objects.get().hash == plain.hash


REPLACED = """
create or replace function audit.row_hash(e audit.event) returns text language sql stable as $$
    select case when e.hash <> '' then e.hash else 'unknown' end
$$"""


@pytest.fixture
def restored(intruder):
    """The definitions of the audit's functions are put back."""
    found = intruder.connection.execute(
        "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'audit'::regnamespace"
    ).fetchall()
    yield
    for (definition,) in found:
        intruder.execute(definition)


def test_an_edited_event_is_found_though_the_database_says_it_is_well(intruder, restored):
    sealed(3)
    intruder.execute(REPLACED)
    intruder.execute("update audit.event set reason = 'another' where id = %s", [link(2).event_id])
    run = verification.verify("tests")
    assert kinds(run) == {"event_changed", "definition_changed"}
    assert verification.first_wrong(run) == 2
    assert "function row_hash(e audit.event)" in str(run.problems)


@pytest.mark.parametrize(
    ("act", "undo", "said"),
    [
        (
            "alter table audit.event disable trigger refuse_change",
            "alter table audit.event enable always trigger refuse_change",
            "trigger refuse_change on event",
        ),
        (
            "alter table audit.seal enable replica trigger refuse_truncate",
            "alter table audit.seal enable always trigger refuse_truncate",
            "trigger refuse_truncate on seal",
        ),
        ("alter function audit.refuse() owner to levee_migrate", "alter function audit.refuse() owner to levee_audit",
         "function refuse()"),
        ("grant update on audit.event to levee_app", "revoke update on audit.event from levee_app", "relation event"),
        ("alter table audit.seal enable row level security", "alter table audit.seal disable row level security",
         "relation seal"),
        ("create rule quiet as on insert to audit.pending do instead nothing", "drop rule quiet on audit.pending",
         "relation pending"),
        ("create function audit.more() returns int language sql as 'select 1'", "drop function audit.more()",
         "function more()"),
    ],
)  # fmt: skip
def test_what_the_migrations_did_not_make_is_found(intruder, act, undo, said):
    intruder.connection.execute(act)
    try:
        run = verification.verify("tests")
    finally:
        intruder.connection.execute(undo)
    assert kinds(run) == {"definition_changed"}
    assert said in run.problems[0]["text"]


@pytest.mark.django_db
def test_the_definitions_are_those_of_a_migrated_database():
    assert definitions.actual() == definitions.EXPECTED


@pytest.mark.django_db
@pytest.mark.parametrize(
    "at",
    ["2026-01-02 03:04:05.6+00", "2026-01-02 03:04:05+02", "0044-03-15 12:00+00 BC", "12026-01-02 03:04:05.000001+00",
     "infinity", "-infinity"],
)  # fmt: skip
def test_a_time_is_hashed_as_the_database_does(at):
    columns = ", ".join(canonical._SPELT.get(name, f"e.{name}") for name in COLUMNS)
    sql = f"select {columns}, audit.row_hash(e) from jsonb_populate_record(null::audit.event, %s) e"
    with connection.cursor() as cursor:
        for kind in canonical._AS_SENT:
            cursor.adapters.register_loader(kind, TextLoader)
        cursor.execute(sql, [json.dumps({"at": at})])
        *values, expected = cursor.fetchone()
    assert canonical.row_hash(values) == expected

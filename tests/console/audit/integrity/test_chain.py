"""Sealing: every committed event gets its place in the chain, whenever its transaction commits."""

import threading
import time

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from console.audit import verify_export
from console.audit.integrity import chain
from console.audit.models import Event, Seal
from console.supervisor.servers import postgres
from tests.console.audit.making import event, sealed

INSERT = """
    insert into audit.event (id, actor_kind, actor_name, action, object_kind, object_id, object_name, outcome)
    values (gen_random_uuid(), 'system', 'tests', 'table.change', 'path', '1', %s, 'allowed')
"""


def app(home):
    """Another connection of the application."""
    made = postgres.connect(home, user="levee_app")
    made.autocommit = False
    return made


@pytest.mark.django_db
def test_links_are_numbered_from_one_and_each_follows_the_one_before():
    sealed(3)
    seals = list(Seal.objects.select_related("event"))
    assert [seal.sequence for seal in seals] == [1, 2, 3]
    assert [seal.previous for seal in seals] == [verify_export.START, seals[0].hash, seals[1].hash]
    for seal in seals:
        assert seal.hash == verify_export.link_hash(seal.sequence, seal.previous, seal.event.pk, seal.event.hash)


@pytest.mark.django_db
def test_an_event_is_sealed_once():
    sealed(2)
    assert chain.seal_waiting() == 0
    assert Seal.objects.count() == 2


@pytest.mark.django_db
def test_more_than_a_batch_is_sealed_at_once(monkeypatch):
    monkeypatch.setattr(chain, "BATCH", 2)
    sealed(5)
    assert Seal.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_after_later_ones_were_sealed_is_sealed_then(levee_home):
    with app(levee_home) as slow:
        slow.execute(INSERT, ["early, committed late"])
        event(1)
        assert chain.seal_waiting() == 1
        slow.commit()
    assert chain.seal_waiting() == 1
    names = [seal.event.object_name for seal in Seal.objects.select_related("event")]
    assert names == ["path 1", "early, committed late"]


@pytest.mark.django_db(transaction=True)
def test_an_event_of_a_transaction_that_was_rolled_back_is_in_no_chain(levee_home):
    with app(levee_home) as undone:
        undone.execute(INSERT, ["undone"])
        undone.rollback()
    event(1)
    assert chain.seal_waiting() == 1


@pytest.mark.django_db(transaction=True)
def test_many_writers_and_two_sealers_leave_one_chain_with_every_event(levee_home):
    stop = threading.Event()

    def write(number):
        with app(levee_home) as mine:
            for turn in range(40):
                mine.execute(INSERT, [f"{number}/{turn}"])
                if turn % 3 == 0:
                    time.sleep(0.002)
                mine.commit()

    def keep_sealing():
        while not stop.is_set():
            chain.seal_waiting()
        connection.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    sealers = [threading.Thread(target=keep_sealing) for _ in range(2)]
    for thread in writers + sealers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in sealers:
        thread.join()
    chain.seal_waiting()
    assert list(Seal.objects.values_list("sequence", flat=True)) == list(range(1, 161))
    assert Seal.objects.count() == Event.objects.count()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "update audit.seal set hash = 'x'",
        "delete from audit.seal",
        "truncate audit.seal",
        "insert into audit.seal (sequence, event, previous, hash) values (9, gen_random_uuid(), '', '')",
        "delete from audit.pending",
        "insert into audit.pending (event) values (gen_random_uuid())",
        "update audit.event set reason = 'x'",
        "delete from audit.event",
        "update audit.head set hash = 'x'",
        "delete from audit.head",
    ],
)
def test_the_application_may_not(statement):
    sealed(1)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement", ["update audit.seal set hash = 'x'", "delete from audit.head", "truncate audit.seal"]
)
def test_even_a_superuser_is_refused_by_the_triggers(statement, levee_home):
    sealed(1)
    with postgres.connect(levee_home) as root:
        root.execute("insert into audit.head values (1, 'x', now(), 'x', 'x')")
        with pytest.raises(psycopg.DatabaseError):
            root.execute(statement.encode())

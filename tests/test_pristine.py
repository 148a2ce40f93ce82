"""Between tests with real transactions, the database is what the migrations left."""

import psycopg
import pytest
from django.db import connection, transaction

from console.accounts.models import Appointment, Person
from console.audit.models import Event
from console.supervisor.servers import postgres
from jobs.models import PolicyRule
from tests import factories
from tests.environment import HOME
from tests.pristine import as_new

pytestmark = pytest.mark.django_db(transaction=True)


def rules():
    return list(PolicyRule.objects.order_by("pk").values())


def test_rows_go_and_those_of_the_migrations_come_back(django_db_setup):
    before = rules()
    factories.event(factories.TableFactory())
    factories.PersonFactory()
    with postgres.connect(HOME) as superuser:
        superuser.execute("set session_replication_role = replica")
        superuser.execute("delete from jobs_policyrule")
    assert before
    assert not rules()
    django_db_setup.restore()
    assert not Person.objects.exists()
    assert not Event.objects.exists()
    assert rules() == before


def test_ids_begin_again(django_db_setup):
    factories.PersonFactory()
    django_db_setup.restore()
    factories.PersonFactory()
    assert Appointment.objects.get().pk == 1


def test_the_rules_of_the_audit_hold_again(django_db_setup):
    factories.event(factories.TableFactory())
    django_db_setup.restore()
    event = factories.event(factories.TableFactory())
    with postgres.connect(HOME) as superuser, pytest.raises(psycopg.errors.InsufficientPrivilege):
        superuser.execute("delete from audit.event where id = %s", [event.pk])


def setting(name):
    with connection.cursor() as cursor:
        cursor.execute("select current_setting(%s)", [name])
        return cursor.fetchone()[0]


def locks():
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_connection_keeps_nothing_of_a_test():
    before = [setting(name) for name in ("TimeZone", "lock_timeout", "role")]
    with connection.cursor() as cursor:
        cursor.execute("set TimeZone = 'Asia/Tokyo'; set lock_timeout = '7s'; select pg_advisory_lock(7)")
    assert locks() == 1
    assert as_new(connection)
    assert [setting(name) for name in ("TimeZone", "lock_timeout", "role")] == before
    assert locks() == 0


def test_a_connection_within_a_transaction_is_not_kept():
    with transaction.atomic():
        assert not as_new(connection)
    connection.connection.close()
    assert not as_new(connection)
    connection.close()
    assert as_new(connection)

"""What the command line says when it can't reach the database: one line, and only then."""

import contextlib
import json
import warnings
from dataclasses import replace
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db import InterfaceError, OperationalError, connections
from psycopg import errors

from console.base.env import Env
from console.management import troubles


def caused(sqlstate_class):
    error = OperationalError("said by the server")
    error.__cause__ = sqlstate_class()
    return error


@pytest.fixture
def env(tmp_path):
    """The settings of a home whose server has run before."""
    (tmp_path / "home.json").write_text(json.dumps({"pg_socket_dir": str(tmp_path)}))
    return Env.read({"LEVEE_HOME": str(tmp_path)})


def test_it_tells_apart_a_home_without_an_instance_a_stopped_one_and_one_that_starts(env, tmp_path):
    never = replace(env, home=tmp_path / "never")
    assert "no instance has ever been started in" in troubles.down(never)
    assert "isn't running" in troubles.down(env)
    (tmp_path / troubles.SOCKET).touch()
    assert "doesn't answer yet" in troubles.down(env)


def test_it_names_the_user_whom_the_server_admits(env, tmp_path):
    (tmp_path / troubles.SOCKET).touch()
    said = troubles.down(env, OperationalError('FATAL: Peer authentication failed for user "levee_app"'))
    assert f"admits only {tmp_path.owner()}" in said


@pytest.mark.parametrize(
    "lost", [OperationalError("no socket"), InterfaceError("closed"), caused(errors.AdminShutdown)]
)
def test_a_lost_connection_is_found_behind_what_a_command_said_of_it(lost):
    told = CommandError("Unable to serialize database")
    told.__cause__ = lost
    assert troubles.unreached(told) is lost


def test_an_error_that_was_told_in_one_line_is_not_told_again():
    with pytest.raises(CommandError) as told, troubles.in_one_line():
        raise OperationalError("no socket")
    assert troubles.unreached(told.value) is None


def test_a_server_that_answers_is_not_called_away():
    with pytest.raises(CommandError, match="PostgreSQL refused: said by the server"), troubles.in_one_line():
        raise caused(errors.LockNotAvailable)


@pytest.fixture
def away():
    """No database answers. By `mock`: an object's own attribute goes again with it, and monkeypatch would leave the method of now there."""
    with contextlib.ExitStack() as replaced:
        for alias in ("default", "admin"):
            for name in ("ensure_connection", "cursor"):
                replaced.enter_context(
                    mock.patch.object(connections[alias], name, side_effect=OperationalError("no socket"))
                )
        yield


@pytest.mark.usefixtures("away")
def test_migrations_are_compared_with_the_models_without_a_database():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with contextlib.suppress(SystemExit):  # models that are ahead of their migrations are another test's
            call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
    assert [each for each in said if "consistent migration history" in str(each.message)] == []

"""Wake-ups may be lost, never more: what asks for one goes on."""

import copy
import json

import pytest
import redis
from kombu.transport import redis as kombu_redis

from console.celery import app
from console.wake_ups import REFUSED, is_wake_up
from jobs.lifecycle import wakeups
from jobs.worker.tasks import look


@pytest.fixture
def that_takes_nothing(redis_server):
    """The tests' Redis, answering every write with an error, as it does while its disk is full."""
    with redis.Redis.from_url(redis_server) as client:
        client.config_set("min-replicas-to-write", 1)
        yield client
        client.config_set("min-replicas-to-write", 0)


def test_a_redis_that_takes_nothing_loses_the_wake_up_and_nothing_else(that_takes_nothing):
    with pytest.raises(redis.ResponseError):
        that_takes_nothing.lpush("light", "x")
    assert wakeups.wake("light") is False
    assert wakeups.pending("light") == 0


def test_a_redis_that_takes_something_is_woken(redis_server):
    assert wakeups.wake("light") is True
    assert wakeups.pending("light") == 1


def test_a_wake_up_counts_as_taken_though_redis_can_not_be_told(redis_server, monkeypatch):
    def dead(qos, delivery_tag):
        raise redis.ConnectionError("it is gone")

    wakeups.wake("light")
    with app.connection_for_read() as connection:
        message = connection.SimpleQueue("light").get(timeout=60)
        qos = message.channel.qos
        qos.prefetch_count = 1
        assert not qos.can_consume()
        monkeypatch.setattr(kombu_redis.QoS, "ack", dead)
        with pytest.raises(redis.ConnectionError):
            message.ack()
        assert qos.can_consume()


@pytest.fixture
def wake_up(redis_server):
    """One as it lies in Redis."""
    wakeups.wake("light")
    with redis.Redis.from_url(redis_server) as client:
        return json.loads(client.lpop("light"))


def changed(message, path, value):
    found = copy.deepcopy(message)
    *way, last = path
    place = found
    for name in way:
        place = place[name]
    place[last] = value
    return json.dumps(found).encode()


FOREIGN = [
    b"", b"hello", b"1", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"headers": null, "properties": []}',
    b'{"body": {"__type__": "datetime", "__value__": "no day"}}',
]  # fmt: skip
ODD = [
    (("headers", "task"), "os.system"), (("headers", "timelimit"), 5), (("headers", "eta"), "never"), (("headers", "retries"), "x"),
    (("headers", "expires"), {}), (("headers", "id"), None), (("properties", "delivery_tag"), None), (("properties", "delivery_info"), "x"),
    (("headers", "parent_id"), 5),
    (("properties",), None), (("headers",), []), (("body",), 7), (("content-type",), "application/x-python-serialize"),
]  # fmt: skip


def test_what_wakes_is_a_wake_up(wake_up):
    assert is_wake_up(json.dumps(wake_up).encode())


def test_what_a_task_sends_is_one_too(redis_server, monkeypatch):
    """A worker that has measured a job wakes the ones that may run it; Celery then names the task that it comes from."""
    monkeypatch.setattr(look, "run", lambda: wakeups.wake("light"))
    assert look.apply(task_id="the-sender").get() is True
    with redis.Redis.from_url(redis_server) as client:
        sent = client.lpop("light")
    assert json.loads(sent)["headers"]["parent_id"] == "the-sender"
    assert is_wake_up(sent)


@pytest.mark.parametrize(("path", "value"), ODD, ids=lambda value: str(value))
def test_what_differs_from_one_is_none(wake_up, path, value):
    assert not is_wake_up(changed(wake_up, path, value))


def test_what_is_none_is_dropped_and_the_next_one_taken(redis_server, wake_up):
    """By Celery's own consumer, which each of these ended."""
    taken = []
    with redis.Redis.from_url(redis_server) as client, app.connection_for_read() as connection:
        foreign = [*FOREIGN, *(changed(wake_up, path, value) for path, value in ODD)]
        client.lpush("light", *foreign, json.dumps(wake_up))
        with connection.Consumer(
            queues=[app.amqp.queues["light"]], callbacks=[lambda body, message: taken.append(message)], no_ack=True
        ):
            while not taken:
                connection.drain_events(timeout=30)
        assert client.llen("light") == 0
        assert int(client.get(REFUSED)) == len(foreign)
    assert [message.headers["task"] for message in taken] == [wakeups.LOOK]

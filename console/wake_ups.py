"""Kombu's Redis transport for queues that hold wake-ups and nothing else: what is none is dropped, and ends no worker.

Celery takes whatever lies in a queue for a message of its own, and a worker that can't read it ends.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import redis
from kombu.transport import redis as kombu_redis

from console.base.logs import log

LOOK = "jobs.look"
REFUSED = "levee:wake_ups_refused"  # the key of their count
_TAKEN = "BRPOP"


def is_wake_up(raw: bytes) -> bool:
    """Whether it is what `jobs.lifecycle.wakeups.wake` sends: a call of the one task, without arguments, now."""
    try:
        message = json.loads(raw, object_hook=_plain)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict):
        return False
    headers, properties = message.get("headers"), message.get("properties")
    return (
        (message.get("content-type"), message.get("content-encoding")) == ("application/json", "utf-8")
        and isinstance(message.get("body"), str)
        and isinstance(headers, dict)
        and _asks_to_look(headers)
        and isinstance(properties, dict)
        and _can_be_delivered(properties)
    )


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Kombu makes objects of a dictionary that names a type."""
    if "__type__" in value:
        raise ValueError("names a type")
    return value


def _asks_to_look(headers: dict[str, Any]) -> bool:
    texts = all(isinstance(headers.get(name), str) for name in ("id", "root_id", "lang", "origin"))
    empty = all(headers.get(name) is None for name in _NONE)
    return (
        texts
        and empty
        and isinstance(headers.get("parent_id"), str | None)  # the sending task's, where a worker wakes another
        and headers.get("task") == LOOK
        and headers.get("retries") == 0
        and headers.get("timelimit") == [None, None]
    )


_NONE = ("eta", "expires", "group", "group_index", "shadow", "stamped_headers")


def _can_be_delivered(properties: dict[str, Any]) -> bool:
    info = properties.get("delivery_info")
    return (
        properties.get("body_encoding") == "base64"
        and isinstance(properties.get("delivery_tag"), str)
        and isinstance(info, dict)
        and all(isinstance(info.get(name), str) for name in ("exchange", "routing_key"))
    )


class Client(redis.Redis):
    """Takes from queues what is a wake-up."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        """Redis's answer; None, as after a wait in vain, for what is no wake-up: it is out of the queue then."""
        answer = super().parse_response(connection, command_name, **options)  # type: ignore[no-untyped-call]
        if command_name == _TAKEN and answer and not is_wake_up(answer[1]):
            log.warning("foreign_message", queue=answer[0].decode(errors="replace"), size=len(answer[1]))
            with suppress(redis.RedisError, OSError):  # the count is for people: no worker ends for it
                self.incr(REFUSED)
            return None
        return answer


class QoS(kombu_redis.QoS):  # type: ignore[misc]  # kombu has no types
    """Counts a wake-up as taken though Redis can't be told.

    Kombu would count it as held for ever when Redis dies at that moment: a worker that may hold one then takes no other, and looks
    at no connection, so that it never learns that Redis is back.
    """

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        except (redis.RedisError, OSError):
            self._quick_ack(delivery_tag)
            raise


class Channel(kombu_redis.Channel):  # type: ignore[misc]
    QoS = QoS

    def _get_client(self) -> type[redis.Redis]:
        return Client


class Transport(kombu_redis.Transport):  # type: ignore[misc]
    Channel = Channel

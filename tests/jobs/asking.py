"""Asks for each command as tests write it: in one line."""

import uuid

from console.audit.actor import Actor
from jobs.commands.delete.rules import Delete
from jobs.commands.restore.rules import Restore
from jobs.requests.asking import Requested, request


def request_delete(actor: Actor, table_id: uuid.UUID, predicate: str | None, reason: str) -> Requested:
    return request(actor, Delete(str(table_id), predicate), reason)


def request_restore(actor: Actor, table_id: uuid.UUID, version: int, reason: str) -> Requested:
    return request(actor, Restore(str(table_id), version), reason)

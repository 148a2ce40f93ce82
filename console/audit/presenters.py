"""Events as pages show them: a sentence, a look, links to follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.models import Event, Seal
from console.templatetags.formatting.looks import LevelLook
from console.templatetags.formatting.texts import as_json

PHRASES: Mapping[str, str] = {
    Action.SIGN_IN: "signed in",
    Action.SIGN_OUT: "signed out",
    Action.SESSION_CONFIRM: "confirmed the password",
    Action.PASSWORD_CHANGE: "changed a password",
    Action.PERSON_ADD: "added a person",
    Action.PERSON_CHANGE: "changed a person",
    Action.PERSON_VOUCH: "vouched for a person",
    Action.GRANT_ADD: "gave a role",
    Action.GRANT_REMOVE: "removed a role",
    Action.TOKEN_ADD: "created a token",
    Action.TOKEN_REVOKE: "revoked a token",
    Action.POLICY_ADD: "added a rule",
    Action.POLICY_CHANGE: "changed a rule",
    Action.POLICY_REMOVE: "removed a rule",
    Action.POLICY_ASK: "asked to lower a rule",
    Action.POLICY_CONFIRM: "confirmed a change of a rule",
    Action.POLICY_DECLINE: "declined a change of a rule",
    Action.ROOT_ADD: "added a root",
    Action.ROOT_CHANGE: "changed a root",
    Action.ROOT_SCAN: "had a root scanned",
    Action.ROOT_PAUSE: "paused a root",
    Action.ROOT_RESUME: "resumed a root",
    Action.ROOT_REMOVE: "removed a root",
    Action.ROOT_DELETE_SAMPLE: "had the sample lake deleted",
    Action.ROOT_CREDENTIAL: "changed the storage of a root",
    Action.ROOT_ADD_FOUND: "had the tables found in a root added",
    Action.METASTORE_ADD: "had tables of the metastore added",
    Action.TABLE_ADD: "added the table",
    Action.TABLE_CHANGE: "described the table",
    Action.TABLE_HIDE: "hid the table",
    Action.TABLE_SYNC: "synced the table",
    Action.TABLE_NAME: "named the table",
    Action.TABLE_UNNAME: "removed the table’s name",
    Action.TABLE_CHECK_FILES: "had the files of the table checked",
    Action.TABLE_READ_ROWS: "read rows",
    Action.CONVERSION_INSPECT: "inspected a directory",
    Action.JOB_REQUEST: "requested it",
    Action.JOB_APPROVE: "approved",
    Action.JOB_REJECT: "rejected",
    Action.JOB_COMMENT: "commented",
    Action.JOB_EDIT: "edited the request",
    Action.JOB_CANCEL: "cancelled",
    Action.JOB_WITHDRAW: "withdrew the request",
    Action.JOB_START: "began an attempt",
    Action.JOB_RETRY: "found no commit; the job starts over",
    Action.JOB_END: "recorded the end",
    Action.JOB_LATE_COMMIT: "found a commit after the end",
    Action.STREAM_CREATE: "created the stream",
    Action.STREAM_CHANGE: "changed the stream",
    Action.STREAM_DELETE: "removed the stream",
    Action.STREAM_START: "started the stream",
    Action.STREAM_STOP: "stopped the stream",
    Action.STREAM_FAIL: "recorded the failure of the stream",
    Action.SCHEDULE_CREATE: "defined the schedule",
    Action.SCHEDULE_CHANGE: "changed the schedule",
    Action.SCHEDULE_DELETE: "removed the schedule",
    Action.SCHEDULE_APPROVE: "approved the schedule",
    Action.SCHEDULE_REJECT: "rejected the schedule",
    Action.SCHEDULE_PAUSE: "paused the schedule",
    Action.SCHEDULE_RESUME: "resumed the schedule",
    Action.SCHEDULE_SKIP: "skipped a run of the schedule",
    Action.SCHEDULE_STOP: "stopped the schedule",
    Action.COMMIT_UNEXPLAINED: "found an unapproved commit",
    Action.NOTICE_ACKNOWLEDGE: "acknowledged a change of roles or rules",
    Action.COMMIT_ACKNOWLEDGE: "acknowledged a commit",
    Action.ADDRESS_CALL: "called an endpoint",
    Action.AUDIT_READ: "read the audit",
    Action.AUDIT_EXPORT: "exported the audit",
    Action.AUDIT_VERIFY: "verified the audit",
    Action.WORKER_DRAIN: "drained a worker",
    Action.WORKER_RESTART: "restarted a worker",
    Action.INSTANCE_BACKUP: "made a backup",
    Action.INSTANCE_RESTORE: "restored a backup",
}
TRIED: Mapping[str, str] = {  # what was refused, where it is refused often; the others say "was refused: …"
    Action.SIGN_IN: "tried to sign in",
    Action.SESSION_CONFIRM: "gave a wrong password",
    Action.ADDRESS_CALL: "tried to call an endpoint",
    Action.ROOT_SCAN: "tried to have a root scanned",
    Action.TABLE_READ_ROWS: "tried to read rows",
    Action.CONVERSION_INSPECT: "tried to inspect a directory",
    Action.JOB_REQUEST: "tried to request it",
    Action.JOB_APPROVE: "tried to approve",
    Action.JOB_REJECT: "tried to reject",
    Action.JOB_COMMENT: "tried to comment",
    Action.JOB_EDIT: "tried to edit the request",
    Action.JOB_CANCEL: "tried to cancel",
    Action.JOB_WITHDRAW: "tried to withdraw the request",
}
LOOKS: Mapping[str, LevelLook] = {
    EventOutcome.ALLOWED: LevelLook("ok", "circle-check", "allowed"),
    EventOutcome.REFUSED: LevelLook("bad", "ban", "refused"),
    EventOutcome.FAILED: LevelLook("bad", "circle-x", "failed"),
}
UNEXPLAINED = LevelLook("wait", "alert-triangle", "no approved job")
CONTRADICTS = LevelLook("bad", "alert-triangle", "not as predicted")
_CODE = re.compile(r"([a-z_]{3,40}): ")


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event as a row or a step of a story."""

    event: Event
    sequence: int | None
    link: str
    phrase: str
    reason: str
    object_text: str
    object_url: str
    look: LevelLook
    code: str
    is_flagged: bool


def lines(events: Iterable[Event], jobs: Mapping[str, str] = MappingProxyType({})) -> list[EventLine]:
    """The events as lines, in their order. `jobs` are titles of jobs by id: an event has the name that it was recorded with."""
    return [line(event, jobs) for event in events]


def line(event: Event, jobs: Mapping[str, str] = MappingProxyType({})) -> EventLine:
    """One event as a line."""
    link: Seal | None = getattr(event, "seal", None)
    unexplained = event.action == Action.COMMIT_UNEXPLAINED
    code = _CODE.match(event.reason) if event.outcome != EventOutcome.ALLOWED else None
    return EventLine(
        event,
        link.sequence if link else None,
        f"{link.hash[:4]}…{link.hash[-4:]}" if link else "",
        _phrase(event),
        event.reason[code.end() :] if code else event.reason,
        _object_text(event, jobs),
        _object_url(event),
        _unexplained_look(event) if unexplained else LOOKS[event.outcome],
        code[1] if code else "",
        unexplained,
    )


def _contradicts(event: Event) -> bool:
    """Whether a commit's job was approved, and predicted something else than Delta recorded."""
    return (event.after or {}).get("verdict") == "contradicts"


def _unexplained_look(event: Event) -> LevelLook:
    return CONTRADICTS if _contradicts(event) else UNEXPLAINED


def _phrase(event: Event) -> str:
    phrase = PHRASES.get(event.action, event.action)
    if event.action == Action.COMMIT_UNEXPLAINED and _contradicts(event):
        return "found a commit unlike its prediction"
    return TRIED.get(event.action, f"was refused: {phrase}") if event.outcome == EventOutcome.REFUSED else phrase


def _object_text(event: Event, jobs: Mapping[str, str]) -> str:
    version = "" if event.table_version is None else f", version {event.table_version:,}"
    if event.object_kind == ObjectKind.JOB:
        return f"job {event.object_id[:8]}, {jobs.get(event.object_id, event.object_name)}{version}"
    return f"{event.object_name}{version}" if event.object_name else event.object_kind


def _object_url(event: Event) -> str:
    """The story of what the event is about."""
    if event.job is not None:
        return reverse("jobs:life", args=[event.job])
    wanted = {"table": str(event.table_id)} if event.table_id else {"object": f"{event.object_kind}:{event.object_id}"}
    return story_url(**wanted) if event.object_id else ""


def story_url(**wanted: str) -> str:
    """The list of events, narrowed."""
    return f"{reverse('audit:list')}?{urlencode(wanted)}"


def follow(event: Event) -> list[dict[str, str]]:
    """Links from an event: its actor, its object, its job."""
    who = str(event.actor_id or event.actor_name)
    links = [{"text": f"everything {event.actor_name} did", "url": story_url(actor=who)}]
    if event.table_id:
        links.append({"text": "everything that happened to this table", "url": story_url(table=str(event.table_id))})
    if event.job:
        links.append({"text": "the full timeline of this job", "url": reverse("jobs:life", args=[event.job])})
    elif event.object_id:
        this = story_url(object=f"{event.object_kind}:{event.object_id}")
        links.append({"text": f"everything about this {event.object_kind}", "url": this})
    return links


def changes(event: Event) -> list[dict[str, Any]]:
    """What the act changed, field by field: the value before and after, None where there is none."""
    before, after = event.before or {}, event.after or {}
    return [
        {"name": name, "before": as_json(before.get(name)), "after": as_json(after.get(name))}
        for name in dict.fromkeys((*before, *after))
    ]


def facts(event: Event, *, origins: bool) -> list[dict[str, Any]]:
    """The recorded facts beside the sentence; the origin only for auditors."""
    rows: list[tuple[str, Any]] = [
        ("Act", event.action), ("Outcome", event.outcome), ("Who", f"{event.actor_name} ({event.actor_kind})"),
        ("Object", f"{event.object_kind} {event.object_id}"), ("Name then", event.object_name), ("Reason", event.reason),
        ("Table version", event.table_version), ("Digest", event.digest),
    ]  # fmt: skip
    if origins:
        rows += [
            ("Address", event.address),
            ("Session", event.session),
            ("Request", event.request_id),
            ("Token", event.token_id),
        ]
    return [{"name": name, "value": value} for name, value in rows if value not in (None, "")]

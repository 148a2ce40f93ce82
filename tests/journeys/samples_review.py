"""Sample contexts for reviews, approvals, the outcome of a delete or a restore, and its undo."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from console.accounts.models import Person
from jobs.commands.registry import compared, facts_of, title_of
from jobs.domain import comparison
from jobs.domain.results import Result
from jobs.models import Decision, Job
from jobs.policy.approvers import Weight
from jobs.targets.undo_window import Undo
from jobs.web.approvals import outcome as review_outcome
from jobs.web.approvals.checks import ReviewCheck
from jobs.web.approvals.figures import figures_of, outcome_of, rehearsed_of
from jobs.web.approvals.forms import CommentForm, DecisionForm, UndoForm
from jobs.web.approvals.review_queries import DecisionRights
from jobs.web.approvals.revisions import FieldChange, Revision
from jobs.web.approvals.revisions import parts_of as words_of
from jobs.web.commands.delete.edit import DeleteEditForm
from jobs.web.jobs.naming import JobName
from jobs.web.parts import parts_of
from tables.models import Commit, Table
from tests.hostile_texts import hostile_long
from tests.journeys.samples_accounts import NOW, before
from tests.journeys.samples_lists import listing

DIGEST = "9f2c41d7b80e4d6a91c3f7e2a05b8c4d1e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"
TABLE = Table(id=uuid.UUID("0b7c2f7e-9d0e-4c53-8a8f-5b8d0f7d9a11"), name="sales.orders", version=1_482)
PREDICATE = "country = 'FR' AND source = 'loadtest' AND day BETWEEN DATE '2026-10-01' AND DATE '2026-10-14'"
CONSEQUENCES = [
    {
        "code": "readable_until",
        "text": "You can still read the rows at version 1,478, and bring them back with a restore, until VACUUM removes their files.",
    },
    {"code": "change_feed", "text": "The change feed is on: Delta writes the deleted rows to _change_data as well."},
]
DELETE: dict[str, Any] = {
    "class": "ordinary",
    "branch": "rewrite",
    "why": "The table has no deletion vectors: each file with a matching row is written again without it.",
    "files_total": 18_940,
    "files_matched": 198,
    "files_whole": 0,
    "files_to_rewrite": 198,
    "bytes_matched": 22_441_000_000,
    "bytes_to_rewrite": 22_441_000_000,
    "rows_matched": 184_207,
    "rows_matched_exact": True,
    "rows_total": 1_284_930_112,
    "rows_copied": 11_204_118,
    "partitions": 14,
    "measured_at_version": 1_478,
    "speed": "spark",
    "notes": [],
    "consequences": CONSEQUENCES,
    "rehearsal": {
        "operation_metrics": {
            "numDeletedRows": "184207",
            "numCopiedRows": "11204118",
            "numAddedFiles": "198",
            "numAddedBytes": "21998000000",
        },
        "rows_after": 1_284_745_905,
        "seconds": 412.6,
    },
}
BOUND = DELETE | {
    "rows_matched": None,
    "rows_matched_exact": False,
    "speed": "log",
    "notes": ["The statistics of files only say what can’t match: the number of rows is an upper bound."],
}
RESTORE: dict[str, Any] = {
    "class": "whole_table",
    "to_version": 1_480,
    "commits_undone": [
        {"version": 1_482, "operation": "STREAMING UPDATE", "committed_at": "2026-11-20T21:58:03+00:00", "by": None, "job": None},
        {"version": 1_481, "operation": "DELETE", "committed_at": "2026-11-20T20:12:00+00:00", "by": "ana", "job": str(uuid.uuid4())},
    ],
    "num_commits_undone": 2,
    "rows_back": 184_207,
    "rows_gone": 12,
    "rows_exact": True,
    "files_back": 198,
    "files_gone": 201,
    "bytes_back": 22_441_000_000,
    "bytes_gone": 22_104_000_000,
    "missing_files": [],
    "schema_changes": [{"kind": "added", "column": "margin", "before": "decimal(12,2)", "after": None}],
    "property_changes": [{"property": "delta.enableChangeDataFeed", "before": "true", "after": None}],
    "num_property_changes": 1,
    "measured_at_version": 1_482,
    "rows_to": 1_284_930_112,
    "speed": "spark",
    "consequences": CONSEQUENCES[:1],
}  # fmt: skip
UNDO = Undo(1_482, possible=True, until=NOW + timedelta(days=6, hours=3), why=None)
TOO_LATE = Undo(1_482, possible=False, until=before(days=3), why="Delta refuses to restore a version that is so old.")
REASONS = [
    "“A delete is seen by a second person”: a delete job needs 1 approver.",
    "“Production is seen by two”: a delete job needs 2 approvers.",
]
EVENTS = [
    {"at": before(hours=15), "who": "ana", "kind": "requested", "text": "Requested: load test LT-118 wrote fake orders."},
    {"at": before(hours=15), "who": "spark@node-1", "kind": "awaiting_approval", "text": "Waiting for approval."},
    {"at": before(hours=13), "who": "marc", "kind": "approved", "text": "Approved by marc: every row is of the load test."},
    {"at": before(hours=1), "who": "kai", "kind": "comment", "text": hostile_long("Does finance know?\nI would ask <them> first.")},
]  # fmt: skip

FORMERLY = "country = 'FR' AND day BETWEEN DATE '2026-10-01' AND DATE '2026-10-31'"
EDITED = {
    "at": before(minutes=30), "who": "ana", "kind": "previewing", "text": "Edited.",
    "revision": Revision(2, [
        FieldChange("Condition", FORMERLY, PREDICATE, tuple(words_of(FORMERLY, PREDICATE))),
        FieldChange("Reason", "none", "Load test LT-118."),
        FieldChange("Rows to delete", "401,118", "184,207"),
    ]),
}  # fmt: skip


def job(command: str = "delete", state: str = "awaiting_approval", **changes: Any) -> Job:
    """A request that was never stored."""
    values: dict[str, Any] = {
        "command": command, "state": state, "table": TABLE, "requested_by": Person(id=uuid.uuid4(), name="ana"),
        "requested_at": before(hours=15), "expires_at": NOW + timedelta(days=6, hours=9), "digest": DIGEST,
        "reason": "Load test LT-118 wrote fake orders into production. OPS-2291.", "base_version": 1_478, "revision": 2,
        "parameters": {"predicate": PREDICATE, "tree": {}} if command == "delete" else {"version": 1_480},
        "preview": DELETE if command == "delete" else RESTORE,
    }  # fmt: skip
    return Job(**{**values, **changes})


def asked(of: Job, undo: Undo | None = UNDO) -> dict[str, Any]:
    return {
        "job": of,
        "preview": of.preview or {},
        "heading": title_of(of),
        "figures": figures_of(of, undo),
        "rehearsed": rehearsed_of(of),
        "undo": undo,
        "is_ended": of.is_ended,
        "parts": parts_of(of),
        "table_url": "/tables/",
        "undoes": JobName(of.undoes_id, hostile_long("Delete rows"), hostile_long("why")) if of.undoes_id else None,
        "facts": facts_of(of),
    }


def yes() -> Decision:
    return Decision(person=Person(name="marc"), decision="approve", decided_at=before(hours=13))


def review(of: Job, standing: DecisionRights, undo: Undo | None = UNDO, **more: Any) -> dict[str, Any]:
    void = Decision(
        person=Person(name="ines"), decision="approve", decided_at=before(hours=14), voided_at=before(hours=13)
    )
    shown = {
        **asked(of, undo),
        "required": 2 if of.digest else None,
        "open_places": range(1),
        "progress_text": "1 of 2 approvals",
        "next_text": "Your approval would be number 2 of 2. The request then runs on its own.",
        "may_comment": True,
        "may_see_rows": of.command == "delete",
        "preview_text": "Waiting for approval.",
        "decisions": [{"decision": void, "weight": None}, {"decision": yes(), "weight": COUNTS}],
        "events": EVENTS,
        "reasons": REASONS,
        "standing": standing,
    }
    return page(of, shown | more)


def page(of: Job, shown: dict[str, Any]) -> dict[str, Any]:
    return {
        "review": shown,
        "has_changed": False,
        "now_url": "/pending",
        "confirm_url": None,
        "rows_url": "/rows/",
        "checks": CHECKS,
        "decision_form": DecisionForm(auto_id="decide-%s", initial={"digest": of.digest}),
        "comment_form": CommentForm(auto_id="say-%s"),
        "edit_form": DeleteEditForm(auto_id="edit-%s", initial={"predicate": PREDICATE, "reason": of.reason}),
    }


COUNTS = Weight("added by a command on the machine, made approver by admin", "")
DOUBT = "It doesn’t count: ana added ben, and ben added marc."
NEVER = Weight("added by ben, made approver by admin", DOUBT, "manage.py person vouch marc")
CHECKS = [
    ReviewCheck("warning", "The table has moved.", "It is at version 1,482 now. Other files may match by now."),
    ReviewCheck("info", "It has 1 of 2 approvals.", "It runs on its own once it has them all."),
    ReviewCheck("success", "The digest holds.", "Levee just recomputed it from the stored request."),
    ReviewCheck("success", "It can be undone.", "You can restore version 1,482 for 6 days more."),
]
AGAIN = "Request it again to measure the table as it is now."
STALE = [ReviewCheck("error", "The table has moved: this would end stale.", AGAIN), *CHECKS[1:]]
MAY = DecisionRights(may_approve=True, may_reject=True, why="")
LATE = DecisionRights(
    may_approve=False, may_reject=True, why="It has all its approvals. A rejection still ends it until it runs."
)
OWN = DecisionRights(may_approve=False, may_reject=False, why="You requested this, so another person decides.")
DOUBTED = DecisionRights(
    may_approve=False,
    may_reject=True,
    why="Your approval doesn’t count here: ana added ben, and ben added marc. A rejection still ends it.",
    remedy="If marc is an independent person, vouch for them once on the machine that runs Levee:",
    command="manage.py person vouch marc",
)
NO_TREE = {"predicate": None, "tree": None}


def card(of: Job, weight: dict[str, Any], **more: Any) -> dict[str, Any]:
    usual = {
        "id": of.pk, "job": of, "title": title_of(of), "state": of.state, "reason": of.reason, "requested_by": "ana",
        "requested_at": of.requested_at, "expires_at": of.expires_at, "finished_at": None, "approvals": 1, "required": 2,
        "weight": weight, "is_strict": (of.preview or {}).get("class") == "whole_table",
        "table_state_text": "Nothing was committed.",
    }  # fmt: skip
    return usual | more


CARDS = [
    card(job(), {"label": "Rewrites", "value": "20.9 GiB"}),
    card(job("restore"), {"label": "Undoes", "value": "14 commits"}, approvals=0),
    card(
        job(parameters=NO_TREE, table=Table(id=uuid.uuid4(), name=hostile_long("staging.orders")), reason=hostile_long("reason")),
        {"label": "Removes", "value": "288 GiB"},
    ),
]  # fmt: skip
TABS = [
    {"text": "Waiting for me", "url": "?show=waiting", "current": True, "count": 3},
    {"text": "Requested by me", "url": "?show=mine", "current": False, "count": 1},
    {"text": "Decided by me", "url": "?show=decided", "current": False, "count": None},
]


def approvals(shown: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "jobs/approvals/approvals.html", {
        "shown": shown,
        "tabs": TABS,
        "counts": {"waiting": 3, "mine": 1},
        "listing": listing("approvals"),
        **more,
    }


METRICS = {
    "numRemovedFiles": "198", "numAddedFiles": "187", "numDeletedRows": "184207", "numCopiedRows": "11204118",
    "numAddedChangeFiles": "14", "numRemovedBytes": "22441000000", "numAddedBytes": "22104000000",
    "executionTimeMs": "154210", "scanTimeMs": "38204", "rewriteTimeMs": "115980",
}  # fmt: skip


def outcome(of: Job, result: Result | None, undo: Undo = UNDO, **more: Any) -> tuple[str, dict[str, Any]]:
    lines = compared(of, result) if result else []
    details = {
        "id": of.pk, "short_id": str(of.pk)[:8], "command": of.command, "state": of.state, "title": title_of(of),
        "state_text": "DELETE finished.", "table_state_text": "Committed as version 1,483.",
        "table": {"id": TABLE.pk, "name": TABLE.name, "url": "/tables/"}, "reason": of.reason, "digest": DIGEST,
        "requested_by": "ana", "requested_at": of.requested_at, "finished_at": before(minutes=3), "base_version": 1_478,
        "events": EVENTS, "progress": {"stages": []}, "attempts": [], "result": result.as_json() if result else None, "log": [],
    }  # fmt: skip
    found = {
        **asked(of, undo),
        "approvers": ["marc", "ines"],
        "figures": figures_of(of, None),
        "counted": outcome_of(of, result) if result else [],
        "is_reviewed": True,
        "lines": [review_outcome.shown(line) for line in lines if line.why != comparison.OUT_OF_LOG],
        "kept_out": [line.label.lower() for line in lines if line.why == comparison.OUT_OF_LOG],
        "differing": len(comparison.differ(lines)),
        "may_undo": True,
        "undone_by": [job("restore", id=uuid.uuid4())],
    }
    again = more.pop("again_url", None)
    return "jobs/jobs/job.html", {"job": details, "outcome": found | more, "again_url": again, "parts": parts_of(of)}


RAN: dict[str, Any] = {"state": "succeeded", "version": 1_483, "finished_at": before(minutes=3)}
DELETED = Result(1_483, "DELETE", {"predicate": '["true"]'}, METRICS, 184_207, read_version=1_478)
DRIFTED = Result(1_483, "DELETE", {}, {"numRemovedFiles": "211"}, None, drifted=True, read_version=1_482)
NOTHING = Result(None, None, no_op=True)
RESTORED = Result(
    1_483, "RESTORE", {"version": "1480"}, {"numRestoredFiles": "198", "numRemovedFiles": "201"}, read_version=1_482,
    details={"rows": 1_284_930_112, "proven": True, "text": "All 1,284,930,112 rows were read again."},
)  # fmt: skip


def undoing(later: list[int], form: UndoForm, undo: Undo = UNDO, **more: Any) -> tuple[str, dict[str, Any]]:
    of = job(**RAN)
    rows = [{"version": v, "commit": Commit(version=v, operation="WRITE", committed_at=before(hours=1))} for v in later]
    usual = {
        "job": of,
        "form": form,
        "asked": asked(of, undo),
        "heading": title_of(of),
        "later": rows,
        "later_count": len(later),
    }
    return "jobs/approvals/undo.html", usual | more


LATER = {"1484": "version 1,484", "1485": "version 1,485"}
UNTICKED = {"detail": "Going back to before version 1,483 undoes later commits as well: 1484, 1485.", "extra": {}}
PLAIN = {"path": "/lake/orders", "source_format": "parquet", "partition_schema": "day date", "collect_stats": True}
TAKEN_IN = {
    "num_files": 18_940,
    "size_bytes": 1_284_930_112,
    "num_records": None,
    "hidden_files": 2,
    "stray_files": ["a.csv"],
}
REVIEW = "jobs/approvals/review.html"
DECIDED = [CARDS[0] | {"state": "succeeded", "decision": Decision(decision="approve", decided_at=before(days=1))}]
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "review": (REVIEW, review(job(), MAY)),
    "review-own": (REVIEW, review(job(), OWN, may_edit=True, may_withdraw=True)),
    "review-confirm": (REVIEW, review(job(), MAY) | {"confirm_url": "/confirm/?next=/jobs/"}),
    "review-doubted": (REVIEW, review(job(), DOUBTED, decisions=[{"decision": yes(), "weight": NEVER}])),
    "review-stale": (
        REVIEW,
        review(job(), MAY)
        | {"checks": STALE, "problem": {"detail": "The request is no longer the one that you looked at."}},
    ),
    "review-changed": (REVIEW, review(job(), MAY) | {"has_changed": True, "checks": None}),
    "review-counting": (
        REVIEW,
        review(job(state="previewing", preview=BOUND, digest=None, progress={}), OWN, decisions=[], may_withdraw=True),
    ),
    "review-whole": (REVIEW, review(job(state="queued", parameters=NO_TREE), LATE, TOO_LATE)),
    "review-restore": (REVIEW, review(job("restore"), MAY)),
    "review-convert": (
        REVIEW,
        review(job("convert", parameters=PLAIN, preview=TAKEN_IN, location="/lake/orders"), MAY, None),
    ),
    "review-edit-refused": (
        REVIEW,
        review(job(), OWN, may_edit=True)
        | {"edit_form": DeleteEditForm({"predicate": "", "reason": ""}, auto_id="edit-%s")},
    ),
    "review-edited": (REVIEW, review(job(), MAY, events=[*EVENTS, EDITED])),
    "review-past": (REVIEW, review(job(**RAN), OWN) | {"now_url": None}),
    "approvals": approvals(
        "waiting",
        waiting=CARDS,
        others=[card(job(), {}, why="You requested this, so another person decides.")],
        waiting_count=3,
    ),
    "approvals-none": approvals("waiting", waiting=[], others=[], counts={"waiting": 0}),
    "approvals-mine": approvals(
        "mine",
        mine=[
            CARDS[0] | {"state": "previewing", "required": None},
            CARDS[1] | {"state": "rejected", "finished_at": before(days=2)},
        ],
    ),
    "approvals-decided": approvals("decided", decided=DECIDED),
    "outcome": outcome(job(**RAN), DELETED),
    "outcome-drifted": outcome(job(**RAN), DRIFTED, TOO_LATE, undone_by=[]),
    "outcome-rejected": outcome(
        job(state="rejected", finished_at=before(minutes=3)),
        NOTHING,
        again_url="/tables/",
        may_undo=False,
        undone_by=[],
    ),
    "outcome-restore": outcome(job("restore", **RAN), RESTORED),
    "outcome-nothing": outcome(job(state="succeeded", no_op=True), NOTHING, approvers=[], may_undo=False, undone_by=[]),
    "undo": undoing([], UndoForm(later={})),
    "undo-later": undoing([1_485, 1_484], UndoForm(later=LATER)),
    "undo-refused": undoing([1_485, 1_484], UndoForm({"reason": ""}, later=LATER), problem=UNTICKED),
    "undo-many": undoing(
        [1_485, 1_484], UndoForm(later={"1484-2900": "all 1,417 of them"}), later_count=1_417, together=True
    ),
    "undo-too-late": undoing([], UndoForm(later={}), TOO_LATE),
}

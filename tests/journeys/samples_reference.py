"""Sample contexts for the reference of the API: an operation that reads, one that changes with bodies of two kinds, one for everybody."""

from __future__ import annotations

from typing import Any

from console.accounts.roles import SCOPE_MEANS
from console.pages.reference.curl import curl
from console.pages.reference.operations import Operation, OperationGroup, Parameter, Response, Variant
from console.pages.reference.schemas import Object, SchemaField

BASE = "https://levee.example.org/api/v1"
TABLE_ID = Parameter(SchemaField("table_id", "id", True, ""), "path", [], False)
STATES = ["open", "queued", "succeeded"]
QUERY = [
    Parameter(
        SchemaField("state", "choice", False, "`open` stands for every state that isn’t final."), "query", STATES, False
    ),
    Parameter(SchemaField("tag", "list of text", False, "Tables with all of these."), "query", [], True),
    Parameter(SchemaField("limit", "integer", True, "1 to 500."), "query", [], False),
]
KEY = Parameter(
    SchemaField("Idempotency-Key", "text", False, "The same key and body answer with the same job."),
    "header",
    [],
    False,
)
JOB = Object(
    "Job",
    "A job as it is now.",
    [
        SchemaField("id", "id", True, ""),
        SchemaField("table", "TableRef or null", True, "What it works on.", ("TableRef",)),
        SchemaField("approvals", "list of object", True, "One person’s decision on one digest. " * 3),
        SchemaField("a_name_that_is_rather_long.and_one_below_it", "object of text", False, "By `name`."),
    ],
)
TABLE = Object("TableRef", "", [SchemaField("path", "text", True, "")])
BODIES = [
    Variant("convert", "CONVERT TO DELTA of a directory.", [SchemaField("path", "text", True, "Absolute.")],
            '{\n  "path": "/lake/50% off"\n}'),
    Variant("vacuum", "", [], "{}"),
]  # fmt: skip


def operation(name: str, method: str, address: str, **facts: Any) -> Operation:
    usual: dict[str, Any] = {
        "subject": "jobs", "parameters": (), "bodies": (), "answers": (), "objects": (), "permissions": ["table.read"],
        "roles": ["viewer", "admin"], "scopes": ["read"], "text": "What it does, with a `code` in it.",
    }  # fmt: skip
    return Operation(id=name, method=method, address=address, **usual | facts)


READING = operation(
    "jobs_list",
    "GET",
    "/tables/{table_id}/jobs",
    parameters=[TABLE_ID, *QUERY],
    answers=[Response("200", "OK", "a page of Job", ("Job",), ""), Response("204", "No Content", "", (), "")],
    objects=[JOB, TABLE],
)
CHANGING = operation(
    "jobs_request",
    "POST",
    "/jobs/a/{b}/rather-long/address/that-goes-on/and-on/to-the-edge-of-a-phone",
    text="Asks for a job: 201.\n\n409 `already_open` while another is open.",
    parameters=[KEY],
    bodies=BODIES,
    answers=[Response("201", "Created", "Job", ("Job",), "The job.")],
    objects=[JOB, TABLE],
    permissions=["job.request", "job.decide"],
    roles=["operator", "approver"],
    scopes=["approve", "request"],
)
OPEN = operation("index", "GET", "/", permissions=[], roles=[], scopes=[])
PERSONAL = operation("tokens_revoke", "DELETE", "/tokens/{token_id}", permissions=[], roles=[], scopes=["admin"])
SUBJECTS = [OperationGroup("jobs", "Jobs", [READING, CHANGING]), OperationGroup("api", "This API", [OPEN, PERSONAL])]


def page(shown: Operation) -> tuple[str, dict[str, Any]]:
    bodies = [(each, curl(shown, BASE, each.sample)) for each in shown.bodies]
    context = {
        "operation": shown, "subject": SUBJECTS[0], "bodies": bodies, "curl": "" if bodies else curl(shown, BASE),
        "try_url": f"/api/v1{shown.address}",
    }  # fmt: skip
    return "reference/operation.html", context


PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "reference": (
        "reference/index.html",
        {
            "subjects": SUBJECTS,
            "base": BASE,
            "schema_url": "/api/v1/schema/",
            "scopes": [(scope.value, text) for scope, text in SCOPE_MEANS.items()],
            "problem_type": "application/problem+json",
            "example": f'export LEVEE_TOKEN=lv_…\ncurl -s -H "Authorization: Bearer $LEVEE_TOKEN" "{BASE}/me"',
        },
    ),
    "reference-reading": page(READING),
    "reference-changing": page(CHANGING),
    "reference-open": page(OPEN),
    "reference-personal": page(PERSONAL),
    "reference-signed-out": page(READING),
}

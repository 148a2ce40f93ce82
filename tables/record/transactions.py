"""What the newest state of a log holds beside schema and files: transactions of applications, domain metadata, times in commits.

Delta's protocol calls them `txn`, `domainMetadata` and in-commit timestamps (PROTOCOL.md, "Actions").
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from console.base.text.masking import masked_text
from tables.deltalog.read.actions import SetTransaction
from tables.deltalog.rules.retention import transaction_retention
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Table
from tables.record.commit_rows import bounded, short, text

LISTED = 100  # of each kind; a streaming table has one transaction per query, a hostile log any number
LONGEST = 4_000  # characters of a domain's configuration

UNKNOWN: dict[str, Any] = {
    "transactions": None,
    "num_transactions": None,
    "domains": None,
    "num_domains": None,
    "in_commit_timestamps": None,
}


def of_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """As the catalog keeps it: `{transactions: [{app_id, version, last_updated}], num_transactions, domains: [{domain, configuration}],
    num_domains, in_commit_timestamps: {enabled, since_version, since}}`, times in ISO 8601, the latest transactions first."""
    retention = transaction_retention(snapshot.metadata.configuration) if snapshot.metadata else None
    transactions = sorted(remembered(snapshot, retention), key=lambda t: (t.last_updated is None, t.app_id))
    transactions.sort(key=lambda t: t.last_updated.timestamp() if t.last_updated else 0.0, reverse=True)
    domains = sorted((each for each in snapshot.domain_metadata.values() if not each.removed), key=lambda d: d.domain)
    times = snapshot.in_commit_timestamps
    return {
        "transactions": [
            {
                "app_id": short(each.app_id),
                "version": bounded(each.version),
                "last_updated": each.last_updated.isoformat() if each.last_updated else None,
            }
            for each in transactions[:LISTED]
        ],
        "num_transactions": len(transactions),
        "domains": [
            {"domain": short(each.domain), "configuration": _told(each.configuration)} for each in domains[:LISTED]
        ],
        "num_domains": len(domains),
        "in_commit_timestamps": {
            "enabled": times.enabled,
            "since_version": bounded(times.enablement_version),
            "since": times.enablement_timestamp.isoformat() if times.enablement_timestamp else None,
        },
    }


def remembered(snapshot: Snapshot, retention: timedelta | None) -> list[SetTransaction]:
    """Delta forgets those that have expired, and with a retention also those that don't say when they were."""
    every = list(snapshot.set_transactions.values())
    if retention is None:
        return every
    oldest = timezone.now() - retention
    return [each for each in every if each.last_updated is not None and each.last_updated > oldest]


def at(table: Table, version: int) -> dict[str, Any]:
    """The same of a version: of the newest as it is kept, of others unknown (null), for only the log's newest state has it."""
    return UNKNOWN | (table.log_state if version == table.version else {})


def shown(held: dict[str, Any]) -> dict[str, Any]:
    """What a page shows of it: times as times, and for a transaction of Levee's own the job behind it."""
    transactions = [
        {**each, "last_updated": _time(each["last_updated"]), "job": job_id(each["app_id"])}
        for each in held["transactions"] or ()
    ]
    times = held["in_commit_timestamps"]
    return {
        **held,
        "transactions": transactions,
        "in_commit_timestamps": times and {**times, "since": _time(times["since"])},
    }


def job_id(app_id: str) -> uuid.UUID | None:
    """The job of a transaction that a job of Levee's has set (`levee:<job>`)."""
    name, _, rest = app_id.partition(":")
    try:
        return uuid.UUID(rest) if name == "levee" else None
    except ValueError:
        return None


def _time(iso: str | None) -> datetime | None:
    return datetime.fromisoformat(iso) if iso else None


def _told(configuration: str) -> str:
    plain = masked_text(text(configuration)) or ""
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}… (cut)"

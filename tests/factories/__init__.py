"""Rows as tests need them, in states that the database allows. They mirror the models; nothing here is clever."""

from tests.factories.catalog import RootFactory, TableFactory, event, root_at, table_in
from tests.factories.jobs import (
    PolicyRuleFactory,
    WorkerFactory,
    attempt,
    change_rules,
    holder,
    inspection,
    job,
    job_on,
    queued_on,
    read,
)
from tests.factories.people import (
    PASSWORD,
    GrantFactory,
    PersonFactory,
    appointed,
    notice,
    person_named,
    person_with,
    token_row,
    token_text,
)

__all__ = [
    "PASSWORD",
    "GrantFactory",
    "PersonFactory",
    "PolicyRuleFactory",
    "RootFactory",
    "TableFactory",
    "WorkerFactory",
    "appointed",
    "attempt",
    "change_rules",
    "event",
    "holder",
    "inspection",
    "job",
    "job_on",
    "notice",
    "person_named",
    "person_with",
    "queued_on",
    "read",
    "root_at",
    "table_in",
    "token_row",
    "token_text",
]

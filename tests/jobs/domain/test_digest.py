"""A digest proves the row unchanged; the table's movement is drift, and alters no digest."""

import pytest

from jobs.lifecycle.cancelling import digest_of
from jobs.models import Job
from tables.models import Table
from tests import factories


@pytest.mark.django_db
def test_a_table_that_moves_alters_no_digest(orders, olga):
    job = factories.job_on(orders, olga)
    Table.objects.filter(pk=orders.pk).update(table_id="another", version=7)
    assert digest_of(Job.objects.get(pk=job.pk)) == job.digest


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"path": "/elsewhere", "rows": 1}},
        {"location": "/elsewhere"},
        {"reason": "another"},
        {"preview": {"table_id": "another"}},
        {"policy": {"required_approvals": 0}},
        {"base_version": 3},
        {"command": "convert"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_changed_field_of_the_request_alters_it(orders, olga, change):
    job = factories.job_on(orders, olga)
    Job.objects.filter(pk=job.pk).update(**change)
    assert digest_of(Job.objects.get(pk=job.pk)) != job.digest

"""A table's history shows what jobs did to it, and which job undid which, to those who may see them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tables import ports
from tables.models import Commit, Table
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def sales() -> Table:
    table = factories.TableFactory(format=Table.Format.DELTA, version=2, first_version=0, first_readable=0)
    Commit.objects.bulk_create(
        Commit(table=table, version=version, operation="WRITE", committed_at=timezone.now()) for version in range(3)
    )
    return table


def test_an_undo_is_drawn_with_what_it_undid(sales: Table) -> None:
    asked = timezone.now() - timedelta(days=2)
    first = factories.job("succeeded", table=sales, version=1, claimed_at=asked + timedelta(hours=1))
    undo = factories.job("succeeded", table=sales, version=2, undoes=first, claimed_at=asked, parameters={"n": 2})
    factories.job("cancelled", table=sales, parameters={"n": 3})
    html = browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/history/").content.decode()
    assert "Jobs and their commits" in html
    assert html.count('class="link" d="M') == 1
    assert f"/jobs/{undo.pk}/" in html
    assert "<td>v1</td>" in html
    assert html.count('class="mark-dot" d="M') >= 2


def test_jobs_that_you_may_not_see_are_not_there(sales: Table, django_assert_num_queries: object) -> None:
    factories.job("succeeded", table=sales, version=1)
    other = factories.person_with("viewer", root=factories.RootFactory())
    assert ports.acts_on(other, sales, 15) == []
    vera = factories.person_with("viewer")
    vera.scopes  # noqa: B018 - a person, not what they may do, is at hand
    acts = ports.acts_on(vera, sales, 15)
    assert [act.version for act in acts] == [1]
    for number in range(4):
        factories.job("succeeded", table=sales, parameters={"n": number}, version=1)
    assert len(ports.acts_on(vera, sales, 3)) == 3

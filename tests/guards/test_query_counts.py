"""A page or list with many rows asks the database as often as one with few."""

from dataclasses import asdict

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.domain.policy import Policy
from jobs.models import PolicyChange
from jobs.policy import services as policy_services
from tables.models import Commit, Explanation, SyncTimes, Table
from tests import factories
from tests.clients import browser, caller

pytestmark = pytest.mark.django_db

PAGES = {
    "/": 33,  # one for favourites
    "/tables/commits/": 12,
    "/tables/commits/?kind=unapproved": 13,
    "/approvals/": 19,
    "/audit/": 17,  # two for how the person has the list
    "/jobs/": 12,
    "/tables/": 25,  # two for what was found and not added, one for streams at plain directories, two for favourites
    "/people/": 10,
    "/policies/": 10,
    "/workers/": 14,
    "/account/tokens/": 10,
    "/tables/{watched}/": 22,  # one for whether it is a favourite
    "/tables/{watched}/history/": 30,  # one for whether the bar of the first story belongs here, one for rules that protect
}
CALLS = {
    "/jobs": 8,
    "/tables": 8,
    "/people": 8,
    "/grants": 8,
    "/policies": 8,
    "/tokens": 6,
    "/workers": 12,
    "/roots": 6,
    "/notices": 6,
    "/audit": 6,
    "/tables/{watched}/history": 12,
}
FEW = {"/": 21}  # home counts what is more than it lists, which is a query of its own
WATCHED = "watched"  # the table whose history grows


def everybody():
    person = factories.PersonFactory()
    for role in ("admin", "operator", "auditor", "approver"):
        factories.GrantFactory(person=person, role=role)
    return person


def more(person, number):
    """As many of everything again."""
    watched = Table.objects.get(name=WATCHED)
    for _ in range(number):
        job = factories.job("running", requested_by=person)
        factories.job("succeeded", requested_by=person)
        factories.GrantFactory(root=job.table.root, role="viewer")
        factories.GrantFactory(table=job.table, role="viewer")
        factories.WorkerFactory()
        factories.token_row(person)
        factories.PolicyRuleFactory(scope="root", root=job.table.root, changed_by=person)
        factories.PolicyRuleFactory(scope="table", table=job.table)
        waiting_rows(person, job.table)
        for table in (watched, job.table):
            unexplained_commit(table)


def waiting_rows(person, table):
    """A request of this person and one of somebody else, a change of a rule, and a notice, each for somebody's word."""
    policy = Policy(1, "approver", ("Each convert.",)).as_json()
    factories.job("awaiting_approval", policy=policy, requested_by=person)
    factories.job("awaiting_approval", policy=policy)
    rule = factories.PolicyRuleFactory(scope="table", table=table)
    before = asdict(policy_services.terms_of(rule))
    after = {**before, "required_approvals": 0}
    asker = factories.person_with("admin")
    PolicyChange.objects.create(rule=rule, rule_version=rule.version, before=before, after=after, asked_by=asker)
    factories.notice(by=asker, about=factories.PersonFactory(), table=table)


def unexplained_commit(table):
    """A delete, the next version of the table, that carries a job which is not its own and that nobody has acknowledged."""
    version = Commit.objects.filter(table=table).count()
    job = factories.job("succeeded", table=table) if version == 0 else factories.job("failed", table=table)
    Commit.objects.create(
        table=table, version=version, operation="DELETE", committed_at=timezone.now(), job=job.pk, files_removed=1,
        user_name=f"user{version}", operation_parameters={"predicate": '["(id = 1)"]'},
    )  # fmt: skip
    Explanation.objects.create(
        table=table, incarnation=0, version=version, effects=["delete"], job=job.pk, verdict="forged",
        judged_at=timezone.now(), why="It names a job that isn’t its job.",
    )  # fmt: skip
    Table.objects.filter(pk=table.pk).update(version=version, first_version=0, format="delta")
    SyncTimes.objects.filter(pk=table.pk).update(synced_at=timezone.now())


def queries(client, path):
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path)
    assert answer.status_code == 200
    return [query["sql"] for query in seen]


@pytest.mark.parametrize("at_first", sorted({2, *FEW.values()}))
def test_they_ask_as_often_for_many_rows_as_for_few(at_first, redis_server):
    person = everybody()
    watched = factories.TableFactory(name=WATCHED)
    clients = {True: caller("admin").client, False: browser(person)}
    every = {**PAGES, **{f"/api/v1{path}": most for path, most in CALLS.items()}}
    most_of = {path.format(watched=watched.pk): most for path, most in every.items() if FEW.get(path, 2) == at_first}

    def asked(path):
        return queries(clients[path.startswith("/api")], path)

    more(person, at_first)
    for path in most_of:
        asked(path)  # the first call notes the token's use
    few = {path: asked(path) for path in most_of}
    more(person, 5)
    many = {path: asked(path) for path in most_of}
    assert most_of
    assert {path: told for path, told in many.items() if len(told) != len(few[path])} == {}
    assert {path: told for path, told in few.items() if len(told) > most_of[path]} == {}

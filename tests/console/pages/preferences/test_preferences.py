"""What people set for themselves: looks, time zone, keys, the arrangement of their lists, filters with names. Each their own alone."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts import lists
from console.accounts.models import ListPreference, Person, SavedFilter
from console.audit.models import Event
from console.base import zones
from console.base.errors import Problem
from console.pages.preferences.kinds import KINDS
from console.templatetags import levee
from jobs.models import Decision
from jobs.web.approvals import queries
from jobs.web.kinds import JOBS
from tables.models import Commit, Table
from tables.record import table_fields
from tables.web.kinds import TABLES
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db
MOMENT = datetime(2026, 11, 20, 23, 6, 2, tzinfo=UTC)
LISTED = re.compile(r'<a\b[^>]*class="lv-name\b')  # a row of a list
LOOKS = {"theme": "dark", "density": "comfortable", "time_zone": "Europe/Berlin", "shortcuts": "on"}


@pytest.fixture
def person():
    return factories.person_with("viewer")


@pytest.fixture
def _in_utc():
    yield
    zones.show_in("UTC")


def test_preferences_are_one_s_own_and_leave_the_audit_alone(person):
    other, events = factories.person_with("viewer"), Event.objects.count()
    answer = browser(person).post("/account/preferences/", {**LOOKS, "shortcuts": ""}, follow=True)
    html = answer.content.decode()
    assert 'data-bs-theme="dark"' in html
    assert 'data-density="comfortable"' in html
    assert 'data-shortcuts="off"' in html
    person.refresh_from_db()
    assert (person.time_zone, person.shortcuts) == ("Europe/Berlin", False)
    untouched = Person.objects.get(pk=other.pk)
    assert (untouched.theme, untouched.density, untouched.time_zone, untouched.shortcuts) == (
        "auto",
        "compact",
        "UTC",
        True,
    )
    assert Event.objects.count() == events


@pytest.mark.parametrize(("field", "value"), [("theme", "pink"), ("density", ""), ("time_zone", "Mars/Olympus")])
def test_what_is_no_choice_is_refused_and_changes_nothing(person, field, value):
    answer = browser(person).post("/account/preferences/", {**LOOKS, field: value})
    assert answer.status_code == 400
    person.refresh_from_db()
    assert (person.theme, person.density, person.time_zone) == ("auto", "compact", "UTC")


@pytest.mark.usefixtures("_in_utc")
def test_times_are_shown_in_the_zone_with_utc_beside_them():
    zones.show_in("Europe/Berlin")
    full = "2026-11-21 00:06:02 CET (2026-11-20 23:06:02 UTC)"
    assert f">{full}</time>" in levee.exact(MOMENT)
    assert levee.clock(MOMENT) == f'<time datetime="2026-11-20T23:06:02Z" title="{full}">00:06:02</time>'
    assert ">21 Nov 00:06:02</time>" in levee.day_and_clock(MOMENT)
    zones.show_in("Asia/Dubai")  # a zone without letters
    assert ">2026-11-21 03:06:02 UTC+04 (2026-11-20 23:06:02 UTC)</time>" in levee.exact(MOMENT)
    zones.show_in("Nowhere/Land")  # of another machine’s database
    assert ">2026-11-20 23:06:02 UTC</time>" in levee.exact(MOMENT)


def test_the_next_request_of_the_same_thread_has_its_own_person_s_zone(person):
    event = factories.event(factories.TableFactory())
    Person.objects.filter(pk=person.pk).update(time_zone="Asia/Tokyo")
    there, here = browser(Person.objects.get(pk=person.pk)), browser(factories.person_with("viewer"))
    for _ in range(2):
        assert "Time, Asia/Tokyo" in there.get("/audit/").content.decode()
        assert "Time, UTC" in here.get("/audit/").content.decode()
        there.get(f"/audit/{event.pk}/")
        browser(factories.person_with("viewer")).get("/sign-in/")
        assert zones.shown() == "UTC"


def arrange(client, kind, **sent):
    return client.post("/account/lists/", {"list": kind, "do": "arrange", "rows": "50", "next": "/", **sent})


def test_a_list_remembers_columns_order_and_page_size(person):
    for number in range(30):
        factories.TableFactory(name=f"t{number:02}", size_bytes=number)
    client, other = browser(person), browser(factories.person_with("viewer"))
    sent = {"rows": "25", "column": ["size", "health"], "order": "-size", "next": "/tables/?q=t&cursor=x&order=name"}
    assert arrange(client, "tables", **sent).url == "/tables/?q=t"
    page = client.get("/tables/")
    html = page.content.decode()
    assert [head["name"] for head in page.context["heads"]] == ["table", "size", "health"]
    assert 'data-label="Files"' not in html
    assert 'data-label="Size"' in html
    names = re.findall(r'class="lv-name lv-clip"[^>]*>(\w+)<', html)
    assert names == [f"t{number:02}" for number in range(29, 4, -1)]
    # The next page keeps the order, for whoever is given its address.
    following = page.context["page"]["next_url"]
    assert "order=-size" in following
    assert "t04" in other.get(f"/tables/{following}").content.decode()
    # Nobody else's list has changed, and one's own can be as it was.
    assert len(other.get("/tables/").context["heads"]) == 7
    client.post("/account/lists/", {"list": "tables", "do": "usual", "next": "/tables/"})
    assert len(client.get("/tables/").context["heads"]) == 7
    assert not ListPreference.objects.filter(person=person).exists()


def test_jobs_are_listed_oldest_first_for_those_who_want_it(person):
    made = [factories.job("running") for _ in range(3)]
    client = browser(person)
    first = [job["id"] for job in client.get("/jobs/").context["page"]["jobs"]]
    assert first == [job.pk for job in reversed(made)]
    arrange(client, "jobs", order="oldest", column=["state", "when"])
    page = client.get("/jobs/")
    assert [job["id"] for job in page.context["page"]["jobs"]] == [job.pk for job in made]
    assert 'aria-sort="ascending"' in page.content.decode()
    assert "What it means" not in page.content.decode().split("<thead")[1].split("</thead>")[0]
    turned = client.get(page.context["turned_url"].join(("/jobs/", "")))
    assert [job["id"] for job in turned.context["page"]["jobs"]] == first


def test_a_link_from_the_usual_order_means_the_same_to_who_has_another(person):
    for number in range(30):
        table = factories.TableFactory(name=f"t{number:02}", size_bytes=30 - number)
        table_fields.index_words(table)
        table.save()
    usual, other = browser(person), browser(factories.person_with("viewer"))
    for client, orders in ((usual, ("", "")), (other, ("-size", "oldest"))):
        for kind, order in zip(("tables", "jobs"), orders, strict=True):
            arrange(client, kind, rows="25", order=order)
    for query in ("", "?q=t"):
        following = usual.get(f"/tables/{query}").context["page"]["next_url"]
        pages = [client.get(f"/tables/{following}") for client in (usual, other)]
        found = [[row.name for row in page.context["rows"]] for page in pages]
        assert found == [[f"t{number}" for number in range(25, 30)]] * 2
        # Nobody chose that order: a search from there begins in its own.
        assert [order["value"] for order in pages[0].context["orders"] if order["checked"]] in ([""], [])
    for _ in range(30):
        factories.job("running")
    following = usual.get("/jobs/").context["page"]["next_url"]
    rows = [client.get(f"/jobs/{following}").context["page"]["jobs"] for client in (usual, other)]
    assert len(rows[0]) == 5
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", KINDS)
def test_every_list_is_shown_without_the_columns_that_can_be_left_out(name, tmp_path):
    person = factories.person_with("operator")
    table = factories.TableFactory(name="shop.orders", format="delta", version=0, first_version=0)
    factories.job("awaiting_approval", table=table, requested_by=person)
    factories.stream(table, person)
    factories.schedule(table, person)
    factories.event(table)
    commits_of(table, 1)
    client, kind = browser(person), KINDS[name]
    url = reverse(kind.address) if kind.address else reverse("tables:history", args=[table.pk])
    html = client.get(url).content.decode()
    assert 'aria-label="Arrange this list"' in html
    full = html.count('role="columnheader"')
    arrange(client, name, rows="100")
    bare = client.get(url)
    assert bare.status_code == 200
    assert bare.context["listing"].rows == 100
    if kind.columns:
        assert full
        assert bare.content.decode().count('role="columnheader"') == full - len(kind.columns)


def commits_of(table, many):
    for version in range(many):
        Commit.objects.create(table=table, version=version, operation=f"WRITE {version}", committed_at=timezone.now())


def rows_of(kind, many, person):
    """So many rows in the list, at least."""
    table = factories.TableFactory(name="shop.orders", format="delta", version=many - 1, first_version=0)
    if kind in ("history", "commits"):
        return commits_of(table, many)
    make = {
        "tables": factories.TableFactory,
        "jobs": lambda: factories.job("running"),
        "approvals": lambda: factories.job("awaiting_approval", requested_by=person),
        "streams": lambda: factories.stream(table, person),
        "schedules": lambda: factories.schedule(table, person),
        "audit": lambda: factories.event(table),
    }[kind]
    return [make() for _ in range(many)]


@pytest.mark.parametrize("name", KINDS)
def test_a_page_of_every_list_has_as_many_rows_as_its_person_wants(name):
    person, kind = factories.person_with("operator"), KINDS[name]
    rows_of(name, 26, person)
    # A history has a table; runs of like commits stay unfolded.
    of_table = [reverse("tables:history", args=[each.pk]) + "?unfold=1" for each in Table.objects.all()]
    url = reverse(kind.address) if kind.address else of_table[0]
    client, other = browser(person), browser(factories.person_with("operator"))
    arrange(client, name, rows="25")
    arranged, usual = (len(LISTED.findall(each.get(url).content.decode())) for each in (client, other))
    assert (arranged, usual > 25) == (25, True)


def test_approvals_are_listed_in_the_order_that_the_person_wants(person):
    approver = factories.person_with("approver")
    first, last = (factories.job("awaiting_approval", requested_by=person) for _ in range(2))
    client = browser(approver)
    waiting = [card["job"].pk for card in client.get("/approvals/").context["waiting"]]
    assert waiting == [first.pk, last.pk]
    arrange(client, "approvals", order="newest", column=["reason"])
    page = client.get("/approvals/")
    assert [card["job"].pk for card in page.context["waiting"]] == [last.pk, first.pk]
    assert "<dt>Approvals</dt>" not in page.content.decode()
    assert first.reason in page.content.decode()
    assert [card["job"].pk for card in client.get("/approvals/?order=oldest").context["waiting"]] == waiting


@pytest.mark.parametrize("rows", ["", "0", "51", "100000", "-25", "x"])
def test_another_page_size_is_refused(person, rows):
    answer = arrange(browser(person), "tables", rows=rows)
    assert answer.status_code == 302
    assert not ListPreference.objects.exists()


def save(client, name, query="?state=failed&cursor=x&next=/evil", kind="jobs", **more):
    return client.post(
        "/account/filters/", {"do": "save", "list": kind, "name": name, "query": query, "next": "/jobs/", **more}
    )


def test_a_filter_is_saved_by_name_and_stands_above_its_list_pinned_ones_first(person):
    client, other = browser(person), browser(factories.person_with("viewer"))
    save(client, " Failed   lately ")
    save(client, "Zero", "state=open", pinned="true")
    assert list(SavedFilter.objects.filter(person=person).values_list("name", "query", "pinned")) == [
        ("Zero", "state=open", True),
        ("Failed lately", "state=failed", False),
    ]
    page = client.get("/jobs/?state=failed")
    assert [(chip["filter"].name, chip["current"]) for chip in page.context["listing"].chips] == [
        ("Zero", False),
        ("Failed lately", True),
    ]
    assert re.search(r'href="\?state=failed"[^<>]* aria-current="true"', page.content.decode())
    assert "Failed lately" not in other.get("/jobs/").content.decode()
    assert "Failed lately" not in client.get("/tables/").content.decode()


def test_two_addresses_of_one_filter_read_alike():
    assert TABLES.narrowing("?tag=b&q=x&tag=a&cursor=1&order=-size") == TABLES.narrowing("tag=a&tag=b&q=x")
    assert TABLES.narrowing("&".join(f"q={n}" for n in range(300))) == ""


@pytest.mark.parametrize(
    ("name", "query"), [("", "state=failed"), ("x" * 61, "state=failed"), ("a", ""), ("a", "cursor=1"), ("a\x00", "state=x"),
                        ("a", f"by={'x' * 2001}")]
)  # fmt: skip
def test_what_is_no_filter_or_no_name_is_refused(person, name, query):
    assert save(browser(person), name, query).status_code == 302
    assert not SavedFilter.objects.exists()


def test_a_name_is_given_once_per_list_and_fifty_times_in_all(person):
    for number in range(lists.MOST_FILTERS - 1):
        lists.save_filter(person, JOBS, f"n{number}", "state=failed", pinned=False)
    with pytest.raises(Problem, match="already have a filter named N0"):
        lists.save_filter(person, JOBS, "N0", "state=open", pinned=False)
    lists.save_filter(person, TABLES, "n0", "q=x", pinned=False)
    with pytest.raises(Problem, match="50 saved filters"):
        lists.save_filter(person, TABLES, "one more", "q=x", pinned=False)
    lists.save_filter(factories.PersonFactory(), TABLES, "n0", "q=x", pinned=False)


@pytest.mark.parametrize("act", ["pin", "unpin", "remove"])
def test_nobody_changes_another_s_filter(person, act):
    saved = lists.save_filter(factories.PersonFactory(), JOBS, "theirs", "state=failed", pinned=act == "unpin")
    answer = browser(person).post("/account/filters/", {"do": act, "filter": str(saved.pk)})
    assert answer.status_code == 404
    kept = SavedFilter.objects.get(pk=saved.pk)
    assert kept.pinned == saved.pinned
    assert "theirs" not in browser(person).get("/account/preferences/").content.decode()


def test_one_s_own_filters_are_pinned_and_removed_in_the_preferences(person):
    saved = lists.save_filter(person, JOBS, "mine", "state=failed", pinned=False)
    client = browser(person)
    assert 'href="/jobs/?state=failed">mine</a>' in client.get("/account/preferences/").content.decode()
    for act, pinned in (("pin", True), ("unpin", False)):
        client.post("/account/filters/", {"do": act, "filter": str(saved.pk)})
        assert SavedFilter.objects.get().pinned == pinned
    client.post("/account/filters/", {"do": "remove", "filter": str(saved.pk)})
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize("sent", [{}, {"do": "save", "list": "nothing"}, {"do": "pin", "filter": "x"}])
def test_what_names_no_list_no_act_or_no_filter_is_not_there(person, sent):
    assert browser(person).post("/account/filters/", sent).status_code == 404


def test_a_list_of_another_site_is_not_returned_to(person):
    assert arrange(browser(person), "tables", next="https://example.com/").url == "/"


def test_streams_schedules_audit_and_history_are_read_in_the_order_that_a_person_keeps():
    person = factories.person_with("operator")
    table = factories.TableFactory(name="shop.orders", format="delta", version=1, first_version=0)
    for version in range(2):
        Commit.objects.create(
            table=table, version=version, operation="MERGE", committed_at=MOMENT + timedelta(hours=version)
        )
    failed, stopped = {"state": "failed", "error": {"message": "gone"}}, {"state": "stopped", "next_due_at": None}
    for name, of_stream, of_schedule in (("a", {}, {}), ("b", failed, stopped)):
        factories.stream(factories.TableFactory(), person, name=name, **of_stream)
        factories.schedule(table, person, name=name, **of_schedule)
        factories.event(table)
    client = browser(person)
    pages = ("/streams/?", "/schedules/?", "/audit/?", f"/tables/{table.pk}/history/?unfold=1&")

    def listed(query=""):
        streams_page, schedules, audit, history = (client.get(url + query) for url in pages)
        times = [line.event.at for line in audit.context["lines"]]
        return (
            [row.name for row in streams_page.context["rows"]],
            [row.name for row in schedules.context["rows"]],
            "old" if times == sorted(times) else "new",
            [row.commit.version for row in history.context["rows"]],
        )

    assert listed() == (["a", "b"], ["a", "b"], "new", [1, 0])
    for kind, order in (("streams", "failed"), ("schedules", "stopped"), ("audit", "oldest"), ("history", "oldest")):
        arrange(client, kind, order=order)
    assert listed() == (["b", "a"], ["b", "a"], "old", [0, 1])
    assert listed("order=newest")[2:] == ("new", [1, 0])  # a link keeps the order in which it was given
    assert listed("order=sideways") == (["b", "a"], ["b", "a"], "old", [0, 1])


def test_an_open_page_whose_session_ended_goes_on_with_the_next_one_s_token(person):
    client = browser(person)
    page = client.get("/jobs/").content.decode()
    assert f'data-person="{person.pk}"' in page
    assert "data-token" not in page
    assert re.search(r'data-token="\w{64}"', client.get("/banners/").content.decode())


@pytest.mark.parametrize(("order", "by_age"), [("", 1), ("oldest", 1), ("newest", -1)])
def test_no_order_hides_those_that_wait_longest_or_the_newest_of_all_else(person, order, by_age):
    approver, decider = factories.person_with("approver"), factories.person_with("approver")
    waiting = [factories.job("awaiting_approval", requested_by=person) for _ in range(4)]
    for job in waiting:
        Decision.objects.create(job=job, person=decider, decision="approve", digest=job.digest or "")
    listed = queries.page_of(approver, "waiting", 2, order)["waiting"]
    assert [card["job"] for card in listed] == waiting[:2][::by_age]
    by_age = 1 if order == "oldest" else -1
    mine = queries.page_of(person, "mine", 2, order)["mine"]
    decided = queries.page_of(decider, "decided", 2, order)["decided"]
    assert [card["job"] for card in mine] == waiting[2:][::by_age]
    assert [row["decision"].job for row in decided] == waiting[2:][::by_age]

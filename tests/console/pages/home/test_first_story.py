"""The guided first story on home: each step follows from what has happened, for whom it concerns, under the rule of independence."""

import io
import re
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.accounts import services
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.accounts.sign_in import first_links
from console.audit.actor import Actor
from console.audit.models import Event
from console.pages.home.story import story_of
from jobs.models import Job
from tables.models import Root, Table
from tables.rules.sample_lake import ROOT_NAME
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, confirmed_browser
from tests.factories.people import PASSWORD, hashed_password

pytestmark = pytest.mark.django_db
DELETE = "Preview a delete, and request it"
NEEDS_ONE = {"required_approvals": 1, "role": "approver"}


@pytest.fixture
def admin():
    """The first person, as the first start makes them."""
    services.first_person()
    first = Person.objects.get()
    Person.objects.filter(pk=first.pk).update(password=hashed_password(), must_change_password=False)
    return Person.objects.get()


@pytest.fixture
def root():
    return factories.RootFactory(name="sample")


@pytest.fixture
def orders(root):
    """Converted already."""
    factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    return Table.objects.get()


def story(client):
    """The steps as the page has them, by state, and the page's text."""
    page = client.get("/").content.decode()
    found = page.partition('id="story"')[2].partition("</section>")[0]
    steps = re.findall(r'<li class="lv-tone[^>]*>.*?</li>', found, re.S)
    return [re.sub(r"<[^>]+>", "", re.findall(r"<h3.*?</h3>", s, re.S)[0]) for s in steps if "aria-current" in s], found


def step(client):
    return story(client)[0]


def add_both(client, asker="ana", approver="marc"):
    """Adds the two on home: the links to hand over, by name."""
    return add_one(client, asker=asker, approver=approver)


def add_one(client, **given):
    """The same of those who are given."""
    answer = client.post("/home/story/colleagues/", given)
    assert answer.status_code == 200, answer.content
    return {each.name: each.link for each in answer.context["story"].invitations}


def added(name, role, active=True):
    """Somebody whom a command on the machine added."""
    person = services.add_person(Actor.system("cli"), name, PASSWORD)
    services.grant(Actor.system("cli"), person, role, EVERYTHING)
    Person.objects.filter(pk=person.pk).update(is_active=active)
    return Person.objects.get(pk=person.pk)


def looked(client):
    client.get("/home/story/history/")
    return client


def opened(link):
    """The browser of who opened the link and set the password."""
    client = Client()
    given = {"link": urlsplit(link).query[5:], "new_password": PASSWORD, "new_password_again": PASSWORD}
    assert client.post("/first-sign-in/", given).status_code == 302
    return client


def request_delete(orders, by, state="awaiting_approval", **more):
    return factories.job(state, table=orders, requested_by=by, command="delete", policy=NEEDS_ONE, **more)


def request_undo(orders, by, state="awaiting_approval", **more):
    return factories.job(state, table=orders, requested_by=by, command="restore", policy=NEEDS_ONE, **more)


def approve(client, job):
    return client.post(f"/jobs/{job.pk}/review/", {"act": "approve", "digest": job.digest})


def test_it_is_played_from_the_conversion_to_the_undo_by_two_colleagues(admin, root, redis_server):
    mine = confirmed_browser(admin)
    assert step(mine) == ["Convert orders to a Delta table"]
    assert f"/convert/?path={root.uri.replace('/', '%2F')}%2Forders&amp;reason=First+story" in story(mine)[1]

    orders = factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    assert step(mine) == ["Look at its history"]
    assert mine.get("/home/story/history/")["Location"] == f"/tables/{orders.pk}/history/"

    assert step(mine) == ["Add two colleagues"]
    links = add_both(mine)
    assert step(mine) == [DELETE]
    assert "First, ana opens the link and sets a password" in story(mine)[1]

    hers = opened(links["ana"])
    assert "It is ana’s turn: the button is on their home page." in story(mine)[1]
    assert "opens the link" not in story(mine)[1]
    assert 'id="story-delete"' not in story(mine)[1], "the first person leaves it to her, but can"
    assert f'id="story-yourself" href="/tables/{orders.pk}/delete/' in story(mine)[1]
    assert step(hers) == [DELETE]
    assert (
        f'id="story-delete" class="btn btn-primary" href="/tables/{orders.pk}/delete/?predicate=country'
        in story(hers)[1]
    )
    assert "&amp;reason=First+story" in story(hers)[1]
    job = request_delete(orders, Person.objects.get(name="ana"))

    assert step(mine) == step(hers) == ["Have it approved by a second person"]
    assert "marc opens the link and sets a password" in story(mine)[1]
    assert "person vouch" not in story(mine)[1], "whoever has the link is marc until then"
    his = opened(links["marc"])
    assert "manage.py person vouch marc" in story(mine)[1], "the admin who has added ana has added him"
    assert "manage.py person vouch marc" in story(hers)[1]
    assert approve(his, job).status_code == 403
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"

    call_command("person", "vouch", "marc")
    assert "marc can approve it" in story(mine)[1]
    assert step(his) == ["Approve a colleague’s request"]
    assert f"/jobs/{job.pk}/review/" in story(his)[1]
    assert approve(his, job).status_code == 302

    assert step(mine) == step(hers) == ["Undo it"]
    assert "hx-get" in story(mine)[1], "it goes on by itself"
    Job.objects.filter(pk=job.pk).update(table=factories.TableFactory())  # makes room: one open job for a table
    done = request_delete(orders, Person.objects.get(name="ana"), "succeeded", version=1, parameters={"n": 1})
    assert f'id="story-undo" class="btn btn-primary" href="/jobs/{done.pk}/undo/?reason=First' in story(hers)[1]
    assert 'id="story-undo"' not in story(mine)[1]
    assert f'id="story-yourself" href="/jobs/{done.pk}/undo/?reason=First' in story(mine)[1]
    undo = request_undo(orders, Person.objects.get(name="ana"))
    assert "marc can approve it" in story(mine)[1]
    assert f"/jobs/{undo.pk}/review/" in story(his)[1]

    Job.objects.filter(pk=undo.pk).update(table=factories.TableFactory())
    request_undo(orders, admin, "succeeded", version=2, parameters={"n": 2})
    assert story(mine) == ([], "")
    request_delete(orders, admin, parameters={"n": 3})
    request_delete(orders, admin, "succeeded", version=3, parameters={"n": 4})
    assert story(mine) == ([], ""), "what was done once isn't begun again"


@pytest.fixture
def second(admin):
    """Another admin, added on the machine, who takes no other part: nobody is above both."""
    return added("nora", Role.ADMIN)


def add_under_people(by, orders, name):
    """As the page of people does it: the link of an approver on the sample."""
    [(_, secret)] = first_links.add_people(
        Actor.acting_for(by), {name: Role.APPROVER}, GrantScope(root_id=orders.root_id)
    )
    return f"http://testserver/first-sign-in/?link={secret}"


def test_where_there_is_another_admin_each_adds_one_and_no_command_is_needed(admin, second, orders, redis_server):
    mine = looked(confirmed_browser(admin))
    page = story(mine)[1]
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["asker"]
    assert "So add who asks; nora, an admin too, then adds who approves" in page
    ana = opened(add_one(mine, asker="ana")["ana"])

    page = story(mine)[1]
    assert "So nora, an admin too, adds that one" in page
    assert "<summary>Or add them yourself, and vouch for them by a command" in page
    marc = opened(add_under_people(second, orders, "marc"))

    assert step(mine) == step(ana) == [DELETE]
    job = request_delete(orders, Person.objects.get(name="ana"))
    for client in (mine, ana):
        assert "marc can approve it" in story(client)[1]
        assert "manage.py" not in story(client)[1]
    assert approve(marc, job).status_code == 302


def test_an_admin_who_asks_as_well_is_the_colleague(admin, orders):
    """Whom the reader adds is independent of that one: nobody has to be sent for."""
    services.grant(Actor.system("cli"), added("nora", Role.ADMIN), Role.OPERATOR, EVERYTHING)
    mine = looked(confirmed_browser(admin))
    page = story(mine)[1]
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["approver"]
    assert "nora can ask for a delete" in page
    assert "an admin too" not in page


def test_one_who_asks_in_person_has_the_other_admin_add_who_approves(admin, second, orders):
    request_delete(orders, admin)
    assert "So nora, an admin too, adds that one" in story(looked(confirmed_browser(admin)))[1]
    opened(add_under_people(second, orders, "marc"))
    assert "marc can approve it" in story(browser(admin))[1]


def test_who_was_added_all_the_same_is_vouched_for_or_the_other_admin_adds_one(admin, second, orders):
    mine = looked(confirmed_browser(admin))
    add_one(mine, asker="ana")
    opened(add_one(mine, approver="marc")["marc"])
    request_delete(orders, Person.objects.get(name="ana"))
    page = story(mine)[1]
    assert "nora, an admin, can add an approver on the sample lake under People" in page
    assert "manage.py person vouch marc" in page
    services.grant(Actor.system("cli"), second, Role.OPERATOR, EVERYTHING)
    assert "You can add an approver on the sample lake under People" in story(browser(second))[1]


@pytest.mark.parametrize("lacks", ["independence", "an account", "a password", "the whole"])
def test_an_admin_who_would_be_no_help_is_not_sent_for(lacks, admin, orders):
    by = Actor.acting_for(admin) if lacks == "independence" else Actor.system("cli")
    nora = services.add_person(by, "nora", None if lacks == "a password" else PASSWORD)
    services.grant(by, nora, Role.ADMIN, GrantScope(root_id=orders.root_id) if lacks == "the whole" else EVERYTHING)
    if lacks == "an account":
        services.set_active(Actor.system("cli"), nora, False)
    page = story(looked(confirmed_browser(admin)))[1]
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["asker", "approver"]
    assert "an admin too" not in page


def test_the_links_are_on_that_answer_alone(admin, orders):
    mine = looked(confirmed_browser(admin))
    answer = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    page = answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert page.count("/first-sign-in/?link=") == 2
    assert "hx-get" not in page.partition('id="story"')[2].partition(">")[0], "nothing takes them away"
    assert "/first-sign-in/" not in story(mine)[1]
    grants = Grant.objects.exclude(person=admin).filter(scope="root", root=orders.root, granted_by=admin)
    assert sorted(grants.values_list("person__name", "role")) == [("ana", "operator"), ("marc", "approver")]
    assert Grant.objects.exclude(person=admin).count() == 2, "and no role on anything else"
    again = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    assert again["Location"] == "/people/", "asked for again, it makes nobody else"
    assert "replace their links on their pages" in mine.get("/people/").content.decode()
    assert mine.get("/home/story/colleagues/")["Location"] == "/"


@pytest.mark.parametrize(
    ("given", "field", "why"),
    [
        ({"asker": "ana", "approver": "ADMIN"}, "approver", "already a person with this name. Nobody was added."),
        ({"asker": "admin", "approver": "marc"}, "asker", "already a person with this name. Nobody was added."),
        ({"asker": "ana", "approver": "a b"}, "approver", "only letters, digits"),
        ({"asker": "ana", "approver": "Ana"}, "approver", "must be two people"),
        ({"asker": "ana", "approver": ""}, "approver", "This field is required."),
        ({"asker": "x" * 65, "approver": "marc"}, "asker", "at most 64 characters"),
        ({}, "asker", "This field is required."),
    ],
)
def test_with_a_name_that_cannot_be_nobody_is_added_and_the_form_says_which(given, field, why, admin, orders):
    answer = looked(confirmed_browser(admin)).post("/home/story/colleagues/", given)
    assert answer.status_code == 400
    page = answer.content.decode()
    shown = re.search(rf'id="colleague-{field}_error">(.*?)</p>', page, re.S)
    assert shown
    assert why in shown[1]
    assert all(f'value="{name}"' in page for name in given.values() if name), "what was typed stays"
    assert Person.objects.get() == admin
    assert not Event.objects.filter(action="person.add", actor_name="admin").exists()


@pytest.mark.parametrize("why", ["the team is there", "dismissed", "done", "no sample", "not at hand"])
def test_nobody_is_added_where_no_links_would_be_shown(why, admin, orders):
    mine = looked(confirmed_browser(admin))
    if why == "the team is there":
        added("eve", Role.OPERATOR)
        added("tom", Role.APPROVER)
    elif why == "dismissed":
        mine.post("/home/story/dismiss/")
    elif why == "done":
        request_delete(orders, admin, "succeeded", version=1)
        request_undo(orders, admin, "succeeded", version=2)
    elif why == "no sample":
        Root.objects.update(name="lake")
    else:
        Table.objects.update(version=None)
    people = Person.objects.count()
    answer = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    assert answer["Location"] == "/people/"
    assert Person.objects.count() == people
    assert "Nobody was added now" in mine.get("/people/").content.decode()


def test_of_two_answers_asked_for_at_once_the_other_one_leads_to_people(admin, orders, monkeypatch):
    mine, real = looked(confirmed_browser(admin)), first_links.add_people

    def second(*given):
        real(*given)
        return real(*given)

    monkeypatch.setattr(first_links, "add_people", second)
    answer = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    assert answer["Location"] == "/people/"
    assert Person.objects.count() == 3


def test_the_links_are_shown_even_if_the_story_ends_meanwhile(admin, orders, monkeypatch):
    mine = looked(confirmed_browser(admin))
    asked = []

    def once(*given):
        asked.append(given)
        return story_of(*given) if len(asked) == 1 else None

    monkeypatch.setattr("console.pages.home.story.story_of", once)
    assert add_both(mine).keys() == {"ana", "marc"}


def test_a_form_from_before_a_colleague_was_there_adds_nobody_and_asks_for_the_other(admin, orders):
    mine = looked(confirmed_browser(admin))
    added("eve", Role.OPERATOR)
    answer = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "eve can ask for a delete, a colleague is missing who approves it" in page
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["approver"]
    assert "Meanwhile one of the two is there already" in page
    assert 'value="marc"' in page
    assert not Person.objects.filter(name__in=["ana", "marc"]).exists()


def test_a_form_from_before_a_colleague_was_lost_asks_for_both(admin, orders):
    answer = looked(confirmed_browser(admin)).post("/home/story/colleagues/", {"approver": "marc"})
    page = answer.content.decode()
    assert "one colleague asks for a delete, the other one approves it" in page
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["asker", "approver"]
    assert 'value="marc"' in page
    assert Person.objects.get() == admin


def written_orders(root):
    """The story's table with a log: converted, then deleted from."""
    path = f"{root.uri}/orders"
    write_deltalake(path, pa.table({"country": ["DE", "FR"], "amount": [1, 99]}))
    DeltaTable(path).delete("country = 'DE'")
    return syncing.sync(factories.TableFactory(root=root, name="orders", path=path).pk)


def test_colleagues_with_roles_on_the_sample_alone_have_all_pages(admin, tmp_path, redis_server):
    root, path = factories.RootFactory(name=ROOT_NAME, uri=str(tmp_path)), f"{tmp_path}/other"
    (tmp_path / "other").mkdir()
    orders = written_orders(root)
    links = add_both(looked(confirmed_browser(admin)))
    ana, marc = (opened(links[name]) for name in ("ana", "marc"))
    assert step(ana) == [DELETE]
    factories.read(
        Person.objects.get(name="ana"), question={"path": path}, state="answered", answer=factories.inspection(path)
    )
    convert = ana.get("/convert/", {"path": path})
    assert convert.status_code == 200
    assert "You need the operator role" not in convert.content.decode()
    assert ana.get(f"/tables/{orders.pk}/history/").status_code == 200
    assert ana.get(f"/tables/{orders.pk}/delete/").status_code == 200
    job = request_delete(orders, Person.objects.get(name="ana"))
    call_command("person", "vouch", "marc")
    assert marc.get(f"/jobs/{job.pk}/review/").status_code == 200
    assert approve(marc, job).status_code == 302
    Job.objects.filter(pk=job.pk).update(table=factories.TableFactory())  # makes room: one open job for a table
    done = request_delete(orders, Person.objects.get(name="ana"), "succeeded", version=1, parameters={"n": 1})
    assert ana.get(f"/jobs/{done.pk}/").status_code == 200
    assert ana.get(f"/jobs/{done.pk}/undo/").status_code == 200


def test_the_shown_commands_add_a_team_that_needs_no_word(admin, orders, monkeypatch):
    mine = looked(confirmed_browser(admin))
    commands = re.findall(r"manage\.py (person add NAME [^<]+)</pre>", story(mine)[1])
    assert len(commands) == 2
    for name, command in zip(("ana", "marc"), commands, strict=True):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
        call_command(*command.replace("NAME", name).split())
    assert set(Grant.objects.exclude(person=admin).values_list("person__name", "root__name")) == {
        ("ana", ROOT_NAME),
        ("marc", ROOT_NAME),
    }
    request_delete(orders, Person.objects.get(name="ana"))
    assert "marc can approve it" in story(mine)[1]


def test_it_goes_on_by_itself_while_the_delete_is_measured(admin, orders):
    links = add_both(looked(confirmed_browser(admin)))
    opened(links["marc"])
    job = request_delete(orders, Person.objects.get(name="ana"), "previewing")
    page = story(browser(admin))[1]
    assert "measuring what the delete would do" in page
    assert 'hx-trigger="every 5s"' in page
    Job.objects.filter(pk=job.pk).update(table=factories.TableFactory())  # makes room: one open job for a table
    request_delete(orders, Person.objects.get(name="ana"), parameters={"n": 1})
    page = story(browser(admin))[1]
    assert "person vouch marc" in page
    assert "hx-get" not in page, "nothing takes away what is to be copied"


def test_accounts_for_programs_are_no_approvers(admin, orders):
    robot = services.add_person(Actor.system("cli"), "robot", None)
    services.grant(Actor.system("cli"), robot, Role.APPROVER, EVERYTHING)
    mine = looked(confirmed_browser(admin))
    assert re.findall(r'<input[^>]* name="(asker|approver)"', story(mine)[1]) == ["asker", "approver"]
    request_delete(orders, added("ana", Role.OPERATOR))
    assert step(mine) == ["Add two colleagues"]
    assert "robot" not in story(mine)[1]


def test_an_independent_approver_who_has_not_opened_the_link_is_said_to_do_so(admin, orders):
    ana = added("ana", Role.OPERATOR)
    links = add_one(looked(confirmed_browser(admin)), approver="marc")
    request_delete(orders, ana)
    page = story(browser(admin))[1]
    assert "marc can approve it. First, marc opens the link and sets a password." in " ".join(page.split())
    assert "Who added them can replace a lost link under People." in " ".join(page.split())
    opened(links["marc"])
    page = story(browser(admin))[1]
    assert "marc can approve it." in page
    assert "opens the link" not in page


def test_the_part_that_open_pages_ask_for_leads_from_the_password_back_to_home(admin, orders):
    page = looked(browser(admin)).get("/home/story/").content.decode()
    assert re.findall(r'href="(/confirm/[^"]*)"', page) == ["/confirm/?next=%2F&amp;for=access"]


def test_who_may_not_add_people_adds_nobody_and_the_refusal_is_on_record(orders, root):
    for person in (factories.person_with("operator"), factories.person_with("admin", root=root)):
        answer = confirmed_browser(person).post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
        assert answer.status_code == 403
        assert Event.objects.filter(outcome="refused", actor_id=person.pk).count() == 1
    assert not Person.objects.filter(name__in=["ana", "marc"]).exists()


def test_it_takes_the_password_first(admin, orders):
    mine = looked(browser(admin))
    page = story(mine)[1]
    assert "Enter it again" in page
    assert "colleague-asker" not in page
    answer = mine.post("/home/story/colleagues/", {"asker": "ana", "approver": "marc"})
    assert answer["Location"].startswith("/confirm/")
    assert Person.objects.get() == admin


@pytest.mark.parametrize(
    ("role", "form", "text"),
    [
        ("approver", ["asker"], "marc can approve, a colleague is missing who asks"),
        ("operator", ["approver"], "marc can ask for a delete, a colleague is missing who approves it"),
        ("viewer", ["asker", "approver"], "one colleague asks for a delete, the other one approves it"),
    ],
)
def test_only_who_is_missing_is_added(role, form, text, admin, orders):
    added("marc", Role(role))
    mine = looked(confirmed_browser(admin))
    page = story(mine)[1]
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == form
    assert text in page
    commands = re.findall(r"person add NAME --role (\w+) --on root:(\w+) --password-stdin", page)
    assert commands == [({"asker": "operator", "approver": "approver"}[name], ROOT_NAME) for name in form]
    assert page.count("on the sample lake alone") == 1
    assert mine.post("/home/story/colleagues/", dict.fromkeys(form, "eve") | {form[-1]: "tom"}).status_code == 200
    assert step(mine) == [DELETE]


def test_a_team_that_is_there_is_found(admin, orders):
    """Also where one of the two may do both; a closed account and a program's are no colleagues."""
    added("gone", Role.APPROVER, active=False)
    ana = added("ana", Role.OPERATOR, active=False)
    program = services.add_person(Actor.system("cli"), "robot", None)
    services.grant(Actor.system("cli"), program, Role.OPERATOR, EVERYTHING)
    mine = looked(confirmed_browser(admin))
    assert re.findall(r'name="(asker|approver)"', story(mine)[1]) == ["asker", "approver"]
    both = added("both", Role.APPROVER)
    services.grant(Actor.system("cli"), both, Role.OPERATOR, EVERYTHING)
    assert re.findall(r'name="(asker|approver)"', story(mine)[1]) == ["approver"], "nobody approves their own request"
    services.set_active(Actor.system("cli"), ana, True)
    assert step(mine) == [DELETE]
    assert "It is ana’s turn" in story(mine)[1]
    assert step(browser(ana)) == [DELETE]


def test_the_first_person_may_ask_in_person_and_then_needs_an_approver(admin, orders):
    mine = looked(confirmed_browser(admin))
    assert f'id="story-yourself" href="/tables/{orders.pk}/delete/' in story(mine)[1]
    request_delete(orders, admin)
    assert step(mine) == ["Add two colleagues"]
    page = story(mine)[1]
    assert "admin has asked for the delete" in page
    assert re.findall(r'<input[^>]* name="(asker|approver)"', page) == ["approver"]
    added_now = mine.post("/home/story/colleagues/", {"approver": "marc"}).context["story"].invitations
    assert [each.name for each in added_now] == ["marc"]
    assert step(mine) == ["Have it approved by a second person"]
    opened(added_now[0].link)
    assert "manage.py person vouch marc" in story(mine)[1]


@pytest.mark.parametrize("lost", ["account", "role"])
def test_where_who_asked_cannot_go_on_the_first_person_has_the_button(lost, admin, orders):
    ana = added("ana", Role.OPERATOR)
    added("marc", Role.APPROVER)
    request_delete(orders, ana, "succeeded", version=1)
    assert "It is ana’s turn" in story(browser(admin))[1]
    if lost == "account":
        services.set_active(Actor.system("cli"), ana, False)
    else:
        services.remove_grant(Actor.system("cli"), ana.grants.get())
    page = story(browser(admin))[1]
    assert "ana’s turn" not in page
    assert 'id="story-undo"' in page


def test_it_asks_as_often_for_many_colleagues_as_for_one(admin, orders):
    mine = looked(confirmed_browser(admin))
    add_both(mine)

    def queries():
        with CaptureQueriesContext(connection) as asked:
            assert mine.get("/home/story/").status_code == 200
        return len(asked)

    few = queries()
    by_admin, on_the_sample = Actor.acting_for(admin), GrantScope(root_id=orders.root_id)
    for number in range(25):
        name = f"more{number}"
        first_links.add_people(by_admin, {name: Role.APPROVER, f"{name}_too": Role.OPERATOR}, on_the_sample)
    assert queries() == few
    request_delete(orders, Person.objects.get(name="ana"))
    few = queries()
    for number in range(25, 30):
        first_links.add_people(by_admin, {f"more{number}": Role.APPROVER}, on_the_sample)
    assert queries() == few <= 24


def test_many_other_jobs_push_no_step_out(admin, orders):
    """As do the rounds of a stream; and the page reads no preview."""
    request_delete(orders, admin)
    added("marc", Role.APPROVER)
    for number in range(101):
        factories.job("succeeded", table=orders, requested_by=admin, command="optimize", parameters={"n": number})
    with CaptureQueriesContext(connection) as asked:
        assert step(browser(admin)) == ["Have it approved by a second person"]
    of_the_story = [q["sql"] for q in asked if '"jobs_job"."command" = ' in q["sql"]]
    assert of_the_story
    assert not any('"jobs_job"."preview"' in sql for sql in of_the_story)


def test_an_approver_whom_a_command_added_needs_no_word(admin, orders):
    request_delete(orders, admin)
    added("marc", Role.APPROVER)
    assert "marc can approve it" in story(browser(admin))[1]


def test_whose_approval_counts_is_named_before_the_newest(admin, orders):
    added("marc", Role.APPROVER)
    both = {"ana": Role.OPERATOR, "newest": Role.APPROVER}
    first_links.add_people(Actor.acting_for(admin), both, GrantScope(root_id=orders.root_id))
    request_delete(orders, Person.objects.get(name="ana"))
    assert "marc can approve it" in story(browser(admin))[1]


@pytest.mark.parametrize("state", ["rejected", "withdrawn", "failed", "expired"])
def test_a_request_that_came_to_nothing_is_asked_again(state, admin, orders):
    request_delete(orders, admin, state)
    added("marc", Role.APPROVER)
    added("ana", Role.OPERATOR)
    assert step(looked(browser(admin))) == [DELETE]


def test_it_is_dismissed_by_each_person_for_themselves(admin, orders):
    other = factories.person_with("operator")
    assert browser(admin).get("/home/story/dismiss/").status_code == 405
    assert browser(admin).post("/home/story/dismiss/")["Location"] == "/"
    assert story(browser(admin)) == ([], "")
    assert step(browser(other)) != []


@pytest.mark.parametrize("role", ["viewer", "auditor", None])
def test_who_takes_no_part_sees_none(role, orders):
    assert story(browser(factories.person_with(role))) == ([], "")


def test_a_look_at_the_history_is_remembered_over_sign_ins_by_each_person_for_themselves(admin, orders):
    other = factories.person_with("operator")
    looked(browser(admin))
    assert step(browser(admin)) == ["Add two colleagues"]
    assert step(browser(other)) == ["Look at its history"]


def test_without_the_sample_there_is_none(admin):
    factories.RootFactory(name="lake")
    assert story(browser(admin)) == ([], "")
    assert browser(admin).get("/home/story/history/").status_code == 404


def test_an_operator_of_another_root_sees_none(orders):
    assert story(browser(factories.person_with("operator", root=factories.RootFactory()))) == ([], "")


def test_only_an_admin_is_offered_to_add_people(orders):
    operator = factories.person_with("operator")
    request_delete(orders, operator)
    text = story(browser(operator))[1]
    assert "An admin adds a colleague" in text
    assert "colleague-approver" not in text


def test_the_first_person_is_admin_operator_and_auditor(admin):
    assert {grant.role for grant in admin.granted} == {"admin", "operator", "auditor"}
    assert {grant.scope_text for grant in admin.granted} == {"everything"}


@pytest.mark.parametrize(
    "address", ["/tables/{}/history/", "/tables/{}/history/?operation=DELETE", "/home/story/history/"]
)
def test_its_history_counts_as_looked_at_however_one_comes_there(admin, root, redis_server, address):
    mine = confirmed_browser(admin)
    other = factories.TableFactory(root=root, name="orders2", version=0, path=f"{root.uri}/orders2")
    orders = factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    mine.get(f"/tables/{other.pk}/history/")
    mine.get(f"/tables/{orders.pk}/")
    assert step(mine) == ["Look at its history"]
    mine.get(address.format(orders.pk))
    assert step(mine) == ["Add two colleagues"]
    first = Person.objects.get(pk=admin.pk).story_looked_at
    mine.get(f"/tables/{orders.pk}/history/")
    assert Person.objects.get(pk=admin.pk).story_looked_at == first

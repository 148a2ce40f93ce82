"""The bar of the first story: every page of a step leads to the next one, so that nobody goes home to find it."""

import html
import re
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, convert_to_deltalake
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from console.accounts import services
from console.accounts.models import Person
from jobs.domain.states import State
from jobs.models import Job
from tables.models import Table
from tables.rules.sample_lake import ROOT_NAME
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, confirmed_browser
from tests.factories.jobs import _state_values
from tests.factories.people import PASSWORD, hashed_password

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
MOST_CLICKS = 15  # of three people from the first one's home to the end, without those for passwords
NEEDS_ONE = {"required_approvals": 1, "role": "approver"}
FORM = re.compile(r"<form\b(?P<attributes>[^>]*)>(?P<body>.*?)</form>", re.S)
FIELD = re.compile(
    r"<(?P<tag>input|textarea|button|select)\b(?P<attributes>[^>]*)>(?P<text>[^<]*)(?P<options>(?:<option.*?(?=</select>))?)",
    re.S,
)
FAULTS = re.compile(r'class="lv-field-error.*?</p>|role="alert">.*?</div>', re.S)


def attribute(tag, name):
    found = re.search(rf'(?:^|\s){name}="([^"]*)"', tag)
    return html.unescape(found[1]) if found else None


def value_of(field):
    if field["tag"] == "select":
        options = re.findall(r"<option([^>]*)>([^<]*)", field["options"])
        chosen, text = next(((tag, text) for tag, text in options if "selected" in tag), options[0])
        return html.unescape(text) if attribute(chosen, "value") is None else attribute(chosen, "value")
    if field["tag"] == "textarea":
        return html.unescape(field["text"].removeprefix("\n"))
    return attribute(field["attributes"], "value") or ""


class Hand:
    """Somebody in a browser without scripts, who only uses what the page shows. Clicks are counted; Enter in a field is none."""

    def __init__(self, client, address="/", clicks=None):
        self.client, self.clicks = client, [] if clicks is None else clicks
        self.go(address)

    def go(self, address):
        self.answer = self.client.get(address, follow=True)
        assert self.answer.status_code == 200, (address, self.answer.status_code)
        chain = self.answer.redirect_chain
        self.address = chain[-1][0] if chain else address

    @property
    def page(self):
        return self.answer.content.decode()

    @property
    def bar(self):
        found = re.search(r'<aside id="story-bar".*?</aside>', self.page, re.S)
        return " ".join(re.sub(r"<[^>]+>", " ", html.unescape(found[0])).split()) if found else ""

    def click(self, link):
        tag = re.search(rf'<a [^>]*id="{link}"[^>]*>', self.page)
        assert tag, (link, self.address)
        self.clicks.append(link)
        self.go(attribute(tag[0], "href"))

    def copy(self, label):
        """The text beside a button that copies it."""
        self.clicks.append(label)
        shown = re.search(rf'aria-label="{label}">([^<]*)</pre>', self.page)
        assert shown, (label, self.bar)
        return html.unescape(shown[1])

    def press(self, button, **typed):
        self.clicks.append(button)
        self.enter(button, **typed)

    def enter(self, button, **typed):
        """Sends the form with this button, as it stands there."""
        form = next(f for f in FORM.finditer(self.page) if re.search(rf">\s*{button}\s*<", f["body"]))
        own = attribute(form["attributes"], "id")
        beside = [f for f in FIELD.finditer(self.page) if own and attribute(f["attributes"], "form") == own]
        values: dict[str, list[str]] = {}
        for field in [*FIELD.finditer(form["body"]), *beside]:
            tag, name = field["attributes"], attribute(field["attributes"], "name")
            is_other = field["tag"] == "button" and field["text"].strip() != button
            if name and attribute(tag, "type") != "checkbox" and not is_other:
                values.setdefault(name, []).append(value_of(field))
        target = attribute(form["attributes"], "action") or self.address
        self.answer = self.client.post(target, values | typed, follow=True)
        chain = self.answer.redirect_chain
        self.address = chain[-1][0] if chain else target
        assert self.answer.status_code == 200, (
            button,
            self.answer.status_code,
            FAULTS.findall(self.page),
        )

    def wait(self):
        """As the open page does by itself: the bar on a page of the story asks again."""
        tag = re.search(r'<aside id="story-bar"[^>]*hx-get="([^"]*)"', self.page)
        assert tag, ("this page doesn't go on by itself", self.address, self.bar)
        answer = self.client.get(html.unescape(tag[1]))
        if answer.status_code == 204:
            return
        part = answer.content.decode()
        shown = re.sub(r'<aside id="story-bar".*?</aside>', lambda _: part, self.page, flags=re.S)
        self.answer.content = shown.encode()

    def wait_at_home(self):
        """Home asks again for the story alone."""
        assert self.address == "/"
        assert 'hx-get="/home/story/"' in self.page
        self.answer = self.client.get("/home/story/")


@pytest.fixture
def admin():
    services.first_person()
    Person.objects.update(password=hashed_password(), must_change_password=False)
    return Person.objects.get()


@pytest.fixture
def root(tmp_path):
    return factories.RootFactory(name=ROOT_NAME, uri=str(tmp_path))


@pytest.fixture
def parquet(root, tmp_path):
    """The story's directory before anything."""
    (tmp_path / "orders").mkdir()
    rows = {"country": ["DE", "FR", "DE", "IT"], "amount": [10, 40, 99, 3]}
    pq.write_table(pa.table(rows), tmp_path / "orders" / "a.parquet")
    return factories.TableFactory(root=root, name="orders", format=Table.Format.PARQUET, path=f"{root.uri}/orders")


@pytest.fixture
def orders(parquet):
    return converted(parquet)


def converted(table):
    convert_to_deltalake(table.path)
    return syncing.sync(table.pk)


def becomes(job, state, **values):
    """As a worker would leave the job."""
    if state == "succeeded":
        if Job.objects.get(pk=job.pk).state == "previewing":
            Job.objects.filter(pk=job.pk).update(state="queued", **_state_values(State.QUEUED))
        Job.objects.filter(pk=job.pk).update(state="running", **(_state_values(State.RUNNING) | values))
        values |= {"token": None, "lease_until": None}
    Job.objects.filter(pk=job.pk).update(state=state, **(_state_values(State(state)) | values))


def inspected(person, path):
    return factories.read(person, question={"path": path}, state="answered", answer=factories.inspection(path))


def opened(link):
    """The colleague who opens the link in another window and sets the password there by Enter."""
    parts = urlsplit(link)
    return Hand(Client(), f"{parts.path}?{parts.query}")


def newest(command):
    return Job.objects.filter(command=command).latest("requested_at")


def test_three_people_play_it_in_fifteen_clicks_and_no_home(admin, parquet):
    clicks: list[str] = []
    inspected(admin, parquet.path)
    first = Hand(confirmed_browser(admin), clicks=clicks)
    first.click("story-convert")
    assert first.bar.startswith("First story, step 1 of 6: Convert orders to a Delta table. Check the partitions")
    first.press("Request conversion")
    assert "step 1 of 6" in first.bar
    assert "The conversion runs." in first.bar
    converted(parquet)
    becomes(newest("convert"), "succeeded")
    first.wait()
    assert "step 2 of 6: Look at its history" in first.bar
    first.click("story-bar-next")
    assert first.address == f"/tables/{parquet.pk}/history/"
    assert "step 3 of 6: Add two colleagues. Nobody approves their own request" in first.bar
    first.click("story-bar-next")
    first.enter("Add both", asker="ana", approver="marc")
    ana, marc = (opened(first.copy(f"Link for {name}")) for name in ("ana", "marc"))
    for hand in (ana, marc):
        hand.clicks = clicks
        hand.enter("Set password", new_password=PASSWORD, new_password_again=PASSWORD)
    ana.click("story-delete")
    assert "step 4 of 6: Preview a delete, and request it. Read which files and rows" in ana.bar
    ana.press("Request review")
    assert "step 5 of 6: Have it approved by a second person" in ana.bar
    becomes(newest("delete"), "awaiting_approval", policy=NEEDS_ONE)
    ana.wait()
    command = ana.copy("Command that vouches for the approver")
    shown = ana.page
    ana.wait()
    assert ana.page == shown, "nothing takes it away while it is copied"
    call_command("person", "vouch", command.split()[-1])
    ana.wait()
    assert "marc can approve it" in ana.bar
    marc.wait_at_home()
    marc.click("story-approve")
    assert marc.bar.startswith("First story, step 5 of 6: Approve a colleague’s request. Read what it does, then")
    marc.press("Approve")
    assert "The next request of the story comes to you too" in marc.bar
    ana.wait()
    assert "step 6 of 6: Undo it. The delete runs." in ana.bar
    DeltaTable(parquet.path).delete("country = 'DE' AND amount < 50")
    syncing.sync(parquet.pk)
    becomes(newest("delete"), "succeeded", version=1)
    ana.wait()
    ana.click("story-bar-next")
    assert "step 6 of 6: Undo it. Read what comes back" in ana.bar
    ana.press("Request undo")
    becomes(newest("restore"), "awaiting_approval", policy=NEEDS_ONE)
    marc.wait()
    assert "step 6 of 6: Approve a colleague’s request" in marc.bar
    marc.click("story-bar-next")
    marc.press("Approve")
    becomes(newest("restore"), "succeeded", version=2, preview={})
    for hand in (ana, marc):
        hand.go(f"/jobs/{newest('restore').pk}/")
        assert hand.bar.startswith("First story, 6 of 6: The story is complete.")
    assert "Read files into a table with a stream Repeat a command on a schedule" in ana.bar
    assert "with a stream" not in marc.bar, "he may not"
    assert "Read the help" in marc.bar
    first.go("/")
    assert first.bar.startswith("First story, 6 of 6")
    assert len(clicks) == MOST_CLICKS, clicks


def test_it_is_put_away_where_it_stands_with_the_story(admin, orders):
    first = Hand(browser(admin), f"/tables/{orders.pk}/history/")
    assert first.bar
    first.press("Put away")
    assert first.address == f"/tables/{orders.pk}/history/"
    assert first.bar == ""
    first.go("/")
    assert 'id="story' not in first.page


def test_it_leads_to_no_other_site(admin):
    answer = browser(admin).post("/home/story/dismiss/", {"next": "https://evil.example/"})
    assert answer["Location"] == "/"


def test_who_is_alone_is_told_on_the_delete_and_led_to_add_the_two(admin, orders):
    first = Hand(browser(admin), f"/tables/{orders.pk}/history/")
    first.go(f"/tables/{orders.pk}/delete/")
    assert "step 3 of 6: Add two colleagues. Nobody approves their own request" in first.bar
    first.click("story-bar-next")
    assert first.address == "/#story"
    job = factories.job("awaiting_approval", table=orders, requested_by=admin, command="delete", policy=NEEDS_ONE)
    first.go(f"/jobs/{job.pk}/review/")
    assert "admin has asked for the delete. Nobody approves their own request: a colleague is missing" in first.bar
    assert "Add the colleague" in first.bar


def test_people_leads_back_to_where_the_story_adds_both(admin, orders):
    first = Hand(confirmed_browser(admin), "/people/")
    assert first.bar == "", "not yet: the history comes first"
    first.go(f"/tables/{orders.pk}/history/")
    first.go("/people/")
    assert "The first story adds both on the home page" in first.bar
    first.click("story-bar-next")
    assert 'name="asker"' in first.page


def test_an_operator_who_adds_nobody_is_led_to_who_is_missing(admin, orders):
    ana = factories.person_named("ana", "operator")
    hand = Hand(browser(ana), f"/tables/{orders.pk}/delete/")
    assert "step 2 of 6: Look at its history" in hand.bar
    hand.click("story-bar-next")
    assert "See who is missing" in hand.bar


def test_the_approver_who_does_not_count_yet_is_named_with_the_command(admin, orders):
    ana, _ = (factories.person_named(name, role) for name, role in (("ana", "operator"), ("marc", "approver")))
    job = factories.job("awaiting_approval", table=orders, requested_by=ana, command="delete", policy=NEEDS_ONE)
    assert "marc can approve it" in Hand(browser(ana), f"/jobs/{job.pk}/review/").bar


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_it_is_for_whose_story_it_is_alone(role, admin, orders):
    other = browser(factories.person_with(role))
    assert Hand(other, f"/tables/{orders.pk}/history/").bar == ""


def test_other_pages_have_none(admin, orders, root):
    client = confirmed_browser(admin)
    other = factories.TableFactory(root=root, name="orders2", version=0, path=f"{root.uri}/orders2")
    job = factories.job("awaiting_approval", table=other, requested_by=admin, command="delete", policy=NEEDS_ONE)
    for address in (f"/tables/{other.pk}/history/", f"/jobs/{job.pk}/", "/tables/", "/convert/", "/jobs/", "/"):
        assert Hand(client, address).bar == "", address
    assert client.get("/home/story/bar/", {"at": "//[x"}).status_code == 200
    assert client.get("/home/story/bar/", {"at": "/nowhere/"}).content.decode().strip() == ""


def test_the_end_is_shown_to_who_took_part_alone(admin, orders):
    ana = factories.person_named("ana", "operator")
    done = factories.job("succeeded", table=orders, requested_by=ana, command="delete", policy=NEEDS_ONE)
    Job.objects.filter(pk=done.pk).update(version=1)
    undo = factories.job(
        "succeeded", table=orders, requested_by=ana, command="restore", parameters={"version": 0}, preview={}
    )
    page = reverse("jobs:detail", args=[undo.pk])
    assert "6 of 6" in Hand(browser(ana), page).bar
    late = factories.person_named("late", "operator")
    assert Hand(browser(late), page).bar == ""
    assert Hand(browser(late), "/").bar == ""

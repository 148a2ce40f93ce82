"""Administration, roots: what they hold, how far behind they are; adding, changing, pausing and removing them."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import OrderKey, page, pager
from tables.catalog import listing
from tables.catalog.rights import require_everywhere
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import entries as roots
from tables.catalog.roots import object_stores
from tables.catalog.roots import places as root_places
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots.places import PlaceCheck
from tables.models import Root
from tables.web.roots import presenters, testing
from tables.web.roots.forms import NewRootForm, RemoveForm, RootForm, StorageForm

MANAGE = Permission.ROOT_MANAGE
ROWS = 50


@requires(MANAGE)
@require_GET
def root_list(request: HttpRequest) -> HttpResponse:
    """The roots that the person manages."""
    person = person_of(request)
    managed = listing.roots_of(person, MANAGE)
    root_page = page(managed, [OrderKey("name")], ROWS, request.GET.get("cursor", ""))
    context = {
        "rows": presenters.rows(root_page.rows),
        "total": managed.count(),
        "page": pager(request.GET, root_page, "Next"),
        "may_add": person.scopes(MANAGE).everything,
    }
    return render(request, "tables/roots/list.html", context)


@requires(MANAGE)
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Tests a directory, and registers it as a root. A test registers nothing."""
    form = NewRootForm(entered(request))
    if request.method != "POST":
        return render(request, "tables/roots/add.html", {"form": form})
    form.is_valid()
    if request.POST.get("do") == "test":
        return _add_page(request, form, _tested(request, form), 200)
    testing.refuse_forgotten(form, request.POST)
    checks, status, actor = None, 400, Actor.of(request)
    try:
        storage, uri = form.description(), request.POST.get("uri", "")[:4096]
        checks = root_places.examine(actor, uri, storage)
        faults = [check.answer for check in checks if check.passed is False]
        if "://" in uri and faults:
            form.add_error("uri", faults[0])  # at once: a store that is away would be waited for again
        if form.is_valid():
            given = form.wanted()
            root = roots.add_root(actor, given.pop("name"), form.cleaned_data["uri"], **given, storage=storage)
            return _added(request, root)
    except Problem as problem:
        status = _put_into(form, problem)
    return _add_page(request, form, checks, status)


def _add_page(request: HttpRequest, form: NewRootForm, checks: list[PlaceCheck] | None, status: int) -> HttpResponse:
    context = {"form": form, "checks": checks, "hidden": testing.hidden_of(request.POST)}
    return render(request, "tables/roots/add.html", context, status=status)


def _tested(request: HttpRequest, form: NewRootForm) -> list[PlaceCheck]:
    """What the test says of the form, then of the place."""
    if not form.errors.get("name") and (taken := roots.why_name_taken(form.cleaned_data["name"])):
        form.add_error("name", taken)
    writes, uri = bool(form.cleaned_data.get("writes")), request.POST.get("uri", "")[:4096]
    try:
        checks = root_places.examine(Actor.of(request), uri, form.description(), writes=writes)
    except Problem as problem:
        _put_into(form, problem)
        return testing.faults_of(form)
    return [*testing.faults_of(form, without="uri"), *checks]  # the place was asked about it itself


def _added(request: HttpRequest, root: Root) -> HttpResponse:
    may_scan = person_of(request).scopes(Permission.TABLE_ADD).covers_root(root.pk)
    then = "Scan it to find its tables." if may_scan else "Have an operator scan it to find its tables."
    messages.success(request, f"{root.name} is added. {then}")
    return redirect("roots:detail", root.pk)


def _put_into(form: Form, problem: Problem) -> int:
    """The refusal in the form that it is about, and the status of the answer; what no form can tell is raised on."""
    if problem.status not in {400, 409}:
        raise problem
    for name, text in (problem.fields or {}).items():
        form.add_error(name if name in form.fields else None, text)
    if not problem.fields:
        form.add_error(None, problem.detail)
    return problem.status


@requires(MANAGE)
@require_GET
def detail(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """One root: how its tables stand, what fails, its scans and its options."""
    root = _managed(request, root_id)
    return render(request, "tables/roots/detail.html", presenters.details(person_of(request), root))


@requires(MANAGE)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """Its name, how often its tables are synced and it is scanned, and what becomes of finds."""
    root = _managed(request, root_id)
    form = RootForm(entered(request), initial=root_changes.options(root))
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                root_changes.change(Actor.of(request), root, form.wanted())
            except Problem as problem:
                status = _put_into(form, problem)
            else:
                return redirect("roots:detail", root.pk)
    return render(request, "tables/roots/edit.html", {"root": root, "form": form}, status=status)


@requires(MANAGE)
@require_http_methods(["GET", "POST"])
def storage(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """How the root's bucket is reached, for all roots in it. A test changes nothing; the present secret is never shown."""
    root = _managed(request, root_id)
    require_everywhere(Actor.of(request), MANAGE)
    if object_stores.bucket_of(root.uri) is None:
        raise Http404
    kind = object_stores.described_in(root.uri)
    form = StorageForm(entered(request), kind=kind, initial=presenters.storage_initial(root))
    checks, status = None, 200
    if request.method == "POST":
        status = 400
        try:
            if request.POST.get("do") == "test":
                checks, status = _storage_tested(request, root, form), 200
            elif testing.refuse_forgotten(form, request.POST) and form.is_valid():
                object_stores.change(Actor.of(request), root, form.description())
                messages.success(
                    request, f"The storage of {root.name} is saved; the change takes effect within seconds."
                )
                return redirect("roots:detail", root.pk)
        except Problem as problem:
            status = _put_into(form, problem)
    context = {"root": root, "form": form, "checks": checks, "hidden": testing.hidden_of(request.POST)}
    return render(request, "tables/roots/storage.html", context | presenters.storage_of(root), status=status)


def _storage_tested(request: HttpRequest, root: Root, form: StorageForm) -> list[PlaceCheck]:
    try:
        if form.is_valid():
            writes = form.cleaned_data["writes"]
            return root_places.examine_storage(Actor.of(request), root, form.description(), writes=writes)
    except Problem as problem:
        _put_into(form, problem)
    return testing.faults_of(form)


@requires(MANAGE)
@require_POST
def pause(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """No syncs and no scans in the root, until it is resumed."""
    root_changes.pause(Actor.of(request), _managed(request, root_id))
    return redirect("roots:detail", root_id)


@requires(MANAGE)
@require_POST
def resume(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """Syncs and scans go on."""
    root_changes.resume(Actor.of(request), _managed(request, root_id))
    return redirect("roots:detail", root_id)


@requires(MANAGE)
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """What a removal would do, and the removal, once its name is typed."""
    root = _managed(request, root_id)
    require_everywhere(Actor.of(request), MANAGE)
    form = RemoveForm(entered(request), expected=root.name)
    if request.method != "POST":
        return _removal_page(request, root, form)
    if not form.is_valid():
        return _removal_page(request, root, form, 400)
    try:
        root_removal.remove(Actor.of(request), root)
    except Problem as problem:
        return _removal_page(request, root, form, _put_into(form, problem))
    messages.success(request, f"{root.name} is removed. The histories of its tables and the audit stay.")
    return redirect("roots:list")


def _removal_page(request: HttpRequest, root: Root, form: Form, status: int = 200) -> HttpResponse:
    consequences = root_removal.consequences_of(root)
    uses = root_removal.told(consequences.uses) if consequences.uses else ""
    context: dict[str, Any] = {"root": root, "form": form, "consequences": consequences, "uses": uses}
    return render(request, "tables/roots/remove.html", context, status=status)


def _managed(request: HttpRequest, root_id: uuid.UUID) -> Root:
    return listing.root_for(person_of(request), root_id, MANAGE)

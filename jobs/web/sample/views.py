"""The page that removes the sample lake."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.text.counted import counted
from console.templatetags.levee import number
from jobs.sample import removal
from jobs.sample.place import sample_root
from tables.catalog.rights import require_everywhere
from tables.models import Root
from tables.web.roots.forms import RemoveForm


@requires(Permission.ROOT_MANAGE)
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest) -> HttpResponse:
    """What a removal would do, and the removal, once the root's name is typed."""
    require_everywhere(Actor.of(request), Permission.ROOT_MANAGE)
    root = sample_root()
    if root is None:
        raise Http404
    form = RemoveForm(entered(request), expected=root.name)
    if request.method != "POST":
        return _page(request, root, form)
    if not form.is_valid():
        return _page(request, root, form, 400)
    try:
        removed = removal.remove(Actor.of(request))
    except Problem as problem:
        if problem.status != 409:
            raise
        form.add_error(None, problem.detail)
        return _page(request, root, form, 409)
    messages.success(request, _told(removed, root))
    return redirect("roots:list")


def _told(removed: removal.RemovedLake, root: Root) -> str:
    text = f"The sample lake is removed: {counted(removed.deleted, 'file')} deleted."
    if removed.left:
        text += f" {number(removed.left)} that Levee didn’t write stay{'s' if removed.left == 1 else ''} in {root.uri}."
    return text


def _page(request: HttpRequest, root: Root, form: forms.Form, status: int = 200) -> HttpResponse:
    context = {"root": root, "form": form, "consequences": removal.consequences_of(Actor.of(request), root)}
    return render(request, "jobs/sample/remove.html", context, status=status)

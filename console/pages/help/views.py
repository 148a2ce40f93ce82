"""The help. It holds what is in the product's own documentation and no fact of this instance, so it is for everybody."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.accounts.permissions import Open, requires
from console.pages.help import searching
from console.pages.help.site import HelpPage, Site, load

LONGEST_QUERY = 200


@requires(Open.PUBLIC)
@require_safe
def first_page(request: HttpRequest) -> HttpResponse:
    """The first page of the help; with `q`, the sections found."""
    site = _site()
    query = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_QUERY]
    if not query:
        return _shown(request, site, site.pages[""])
    context = {"navigation": site.navigation, "query": query, "hits": searching.search(query, site.pages)}
    return render(request, "help/search.html", context)


@requires(Open.PUBLIC)
@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    """One page by its name, which is its file's path in docs/ without the ending."""
    site = _site()
    if not name or name not in site.pages:
        raise Http404("The help has no such page.")
    return _shown(request, site, site.pages[name])


def _site() -> Site:
    try:
        return load()
    except FileNotFoundError as missing:
        raise Http404("The help isn’t built; `make setup` builds it.") from missing


def _shown(request: HttpRequest, site: Site, shown: HelpPage) -> HttpResponse:
    contents = [section for section in shown.sections if section.level == 2]
    return render(request, "help/page.html", {"navigation": site.navigation, "page": shown, "contents": contents})

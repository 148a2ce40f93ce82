"""Addresses for the sample pages: the product's own, and the two of the catalog that every page's frame names."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("", nothing, name="home"),
    path("banners/", nothing, name="banners"),
    path("", include("console.accounts.urls")),
    path("tables/", include(([path("", nothing, name="list"), path("add/", nothing, name="add")], "tables"))),
    path("", include("jobs.urls")),
]

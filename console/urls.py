"""Every address of the console."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console import health, pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("", pages.home, name="home"),
    path("banners/", pages.banners, name="banners"),
    path("", include("console.accounts.urls")),
    path("health/live", health.live, name="health_live"),
    path("health/ready", health.ready, name="health_ready"),
    path("audit/", include("console.audit.urls")),
    path("tables/", include("tables.urls")),
    path("policies/", include("jobs.policy_urls")),
    path("", include("jobs.urls")),
    path("api/v1/", include("console.api")),
]

handler400 = "console.errors.bad_request"
handler403 = "console.errors.forbidden"
handler404 = "console.errors.not_found"
handler500 = "console.errors.server_error"

"""Every address of the console."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console.metrics.views import Metrics
from console.pages import health
from console.pages.home import views as home

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("banners/", home.banners, name="banners"),
    path("home/now/", home.now, name="home_now"),
    path("home/story/", home.story_now, name="story"),
    path("home/story/bar/", home.story_bar, name="story_bar"),
    path("home/story/history/", home.story_history, name="story_history"),
    path("home/story/colleagues/", home.story_colleagues, name="home_colleagues"),
    path("home/story/dismiss/", home.story_dismiss, name="story_dismiss"),
    path("", include("console.pages.people.urls")),
    path("health/live", health.live, name="health_live"),
    path("health/ready", health.ready, name="health_ready"),
    path("metrics", Metrics.as_view(), name="metrics"),
    path("", include("console.pages.find.urls")),
    path("account/", include("console.pages.preferences.urls")),
    path("audit/", include("console.pages.audit.urls")),
    path("help/api/", include("console.pages.reference.urls")),
    path("help/", include("console.pages.help.urls")),
    path("tables/", include("tables.web.urls")),
    path("roots/", include("tables.web.roots.urls")),
    path("policies/", include("jobs.web.policies.urls")),
    path("", include("jobs.web.urls")),
    path("api/v1/", include("console.api")),
]

handler400 = "console.base.errors.bad_request"
handler403 = "console.base.errors.forbidden"
handler404 = "console.base.errors.not_found"
handler500 = "console.base.unavailable.server_error"

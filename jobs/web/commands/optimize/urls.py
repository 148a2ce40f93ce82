from django.urls import URLPattern, path

from jobs.web.commands.optimize import pages

urlpatterns = [path("tables/<uuid:table_id>/optimize/", pages.optimize, name="optimize")]
api_urlpatterns: list[URLPattern] = []

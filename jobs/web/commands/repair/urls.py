from django.urls import URLPattern, path

from jobs.web.commands.repair import pages

urlpatterns = [path("tables/<uuid:table_id>/repair/", pages.repair, name="repair")]
api_urlpatterns: list[URLPattern] = []

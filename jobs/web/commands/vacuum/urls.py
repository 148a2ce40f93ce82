from django.urls import URLPattern, path

from jobs.web.commands.vacuum import pages

urlpatterns = [path("tables/<uuid:table_id>/vacuum/", pages.vacuum, name="vacuum")]
api_urlpatterns: list[URLPattern] = []

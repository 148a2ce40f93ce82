from django.urls import URLPattern, path

from jobs.web.commands.restore import pages

urlpatterns = [path("tables/<uuid:table_id>/restore/", pages.restore, name="restore")]
api_urlpatterns: list[URLPattern] = []

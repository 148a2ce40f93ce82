from django.urls import URLPattern, path

from jobs.web.commands.alter_schema import pages

urlpatterns = [path("tables/<uuid:table_id>/schema/change/", pages.alter_schema, name="alter_schema")]
api_urlpatterns: list[URLPattern] = []

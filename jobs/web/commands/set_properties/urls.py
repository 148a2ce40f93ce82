from django.urls import URLPattern, path

from jobs.web.commands.set_properties import pages

urlpatterns = [path("tables/<uuid:table_id>/properties/", pages.set_properties, name="set_properties")]
api_urlpatterns: list[URLPattern] = []

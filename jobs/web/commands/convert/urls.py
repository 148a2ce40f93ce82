from django.urls import path

from jobs.web.commands.convert import api, pages

urlpatterns = [
    path("convert/", pages.convert, name="convert"),
    path("convert/again/", pages.inspect_again, name="inspect_again"),
    path("convert/inspection/<uuid:read_id>/", pages.inspection, name="inspection"),
]
api_urlpatterns = [path("conversions/inspect", api.Inspect.as_view(), name="api_inspect")]

from django.urls import path

from jobs.web.streams import form_views, views

urlpatterns = [
    path("streams/", views.streams, name="streams"),
    path("streams/new/", form_views.stream_new, name="stream_new"),
    path("streams/<uuid:stream_id>/", views.stream, name="stream"),
    path("streams/<uuid:stream_id>/live/", views.stream_live, name="stream_live"),
    path("streams/<uuid:stream_id>/edit/", form_views.stream_edit, name="stream_edit"),
    path("streams/<uuid:stream_id>/start/", views.stream_start, name="stream_start"),
    path("streams/<uuid:stream_id>/stop/", views.stream_stop, name="stream_stop"),
    path("streams/<uuid:stream_id>/run-once/", views.stream_run_once, name="stream_run_once"),
    path("streams/<uuid:stream_id>/reset/", views.stream_reset, name="stream_reset"),
    path("streams/<uuid:stream_id>/remove/", views.stream_remove, name="stream_remove"),
]

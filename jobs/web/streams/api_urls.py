from django.urls import path

from jobs.web.streams import api

urlpatterns = [
    path("streams", api.Streams.as_view(), name="api_streams"),
    path("streams/<uuid:stream_id>", api.StreamDetail.as_view(), name="api_stream"),
    path("streams/<uuid:stream_id>/start", api.StartStream.as_view(), name="api_stream_start"),
    path("streams/<uuid:stream_id>/stop", api.StreamStop.as_view(), name="api_stream_stop"),
    path("streams/<uuid:stream_id>/run-once", api.StreamRunOnce.as_view(), name="api_stream_run_once"),
    path("streams/<uuid:stream_id>/reset", api.StreamReset.as_view(), name="api_stream_reset"),
    path("streams/<uuid:stream_id>/batches", api.StreamBatches.as_view(), name="api_stream_batches"),
]

from django.urls import path

from console.pages.audit import views

app_name = "audit"

urlpatterns = [
    path("", views.event_list, name="list"),
    path("<uuid:event_id>/", views.event_detail, name="event"),
]

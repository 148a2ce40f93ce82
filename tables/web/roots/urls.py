from django.urls import path

from tables.web.roots import views

app_name = "roots"

urlpatterns = [
    path("", views.root_list, name="list"),
    path("add/", views.add, name="add"),
    path("<uuid:root_id>/", views.detail, name="detail"),
    path("<uuid:root_id>/edit/", views.edit, name="edit"),
    path("<uuid:root_id>/storage/", views.storage, name="storage"),
    path("<uuid:root_id>/pause/", views.pause, name="pause"),
    path("<uuid:root_id>/resume/", views.resume, name="resume"),
    path("<uuid:root_id>/remove/", views.remove, name="remove"),
]

from django.urls import path

from console.pages.find import views

app_name = "find"

urlpatterns = [
    path("find/", views.find, name="find"),
    path("keys/", views.keys, name="keys"),
]

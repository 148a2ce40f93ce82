from django.urls import path

from console.pages.reference import views

app_name = "reference"

urlpatterns = [
    path("<slug:operation>/", views.operation_page, name="operation"),
]

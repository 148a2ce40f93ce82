from django.urls import path

from jobs.web.policies import views

app_name = "policies"

urlpatterns = [
    path("", views.policies, name="list"),
    path("add/", views.policy_add, name="add"),
    path("protect/", views.policy_protect, name="protect"),
    path("<uuid:policy_id>/", views.policy, name="detail"),
    path("<uuid:policy_id>/switch/", views.policy_switch, name="switch"),
    path("<uuid:policy_id>/remove/", views.policy_remove, name="remove"),
    path("<uuid:policy_id>/confirm/", views.policy_confirm, name="confirm"),
    path("<uuid:policy_id>/decline/", views.policy_decline, name="decline"),
]

from django.urls import path

from jobs.web.policies import api

urlpatterns = [
    path("policies", api.Policies.as_view(), name="api_policies"),
    path("policies/<uuid:policy_id>", api.PolicyDetail.as_view(), name="api_policy"),
    path("policies/<uuid:policy_id>/confirm", api.PolicyConfirm.as_view(), name="api_policy_confirm"),
    path("policies/<uuid:policy_id>/decline", api.PolicyDecline.as_view(), name="api_policy_decline"),
]

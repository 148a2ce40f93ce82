from django.urls import path

from console.pages.audit import api

urlpatterns = [
    path("audit", api.AuditList.as_view(), name="api_audit"),
    path("audit/export", api.AuditExport.as_view(), name="api_audit_export"),
    path("audit/<uuid:event_id>", api.AuditDetail.as_view(), name="api_audit_event"),
]

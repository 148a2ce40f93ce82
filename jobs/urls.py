from django.urls import path

from jobs import audit_views, delete_views, restore_views, review_views, row_views, table_views, views

app_name = "jobs"

urlpatterns = [
    path("jobs/", views.job_list, name="list"),
    path("jobs/<uuid:job_id>/", views.job_detail, name="detail"),
    path("jobs/<uuid:job_id>/live/", views.job_live, name="live"),
    path("jobs/<uuid:job_id>/cancel/", views.job_cancel, name="cancel"),
    path("jobs/<uuid:job_id>/life/", audit_views.life, name="life"),
    path("jobs/<uuid:job_id>/review/", review_views.review, name="review"),
    path("jobs/<uuid:job_id>/review/now/", review_views.review_now, name="review_now"),
    path("jobs/<uuid:job_id>/checks/", review_views.checks, name="checks"),
    path("jobs/<uuid:job_id>/sample/", review_views.sample, name="sample"),
    path("jobs/<uuid:job_id>/undo/", review_views.undo, name="undo"),
    path("approvals/", review_views.approvals, name="approvals"),
    path("audit/verification/", audit_views.verify, name="verify"),
    path("convert/", views.convert, name="convert"),
    path("convert/again/", views.inspect_again, name="inspect_again"),
    path("convert/inspection/<uuid:read_id>/", views.inspection, name="inspection"),
    path("tables/<uuid:table_id>/live/", table_views.live, name="live_table"),
    path("tables/<uuid:table_id>/capabilities/", table_views.capabilities, name="capabilities"),
    path("tables/<uuid:table_id>/delete/", delete_views.delete, name="delete"),
    path("tables/<uuid:table_id>/delete/preview/", delete_views.delete_preview, name="delete_preview"),
    path("tables/<uuid:table_id>/delete/count/", delete_views.delete_count, name="delete_count"),
    path("tables/<uuid:table_id>/restore/", restore_views.restore, name="restore"),
    path("reads/<uuid:read_id>/counted/", delete_views.delete_counted, name="delete_counted"),
    path("tables/<uuid:table_id>/rows/", row_views.rows, name="rows"),
    path("tables/<uuid:table_id>/changes/", row_views.changes, name="changes"),
    path("reads/<uuid:read_id>/rows/", row_views.answer, name="rows_answer"),
    path("reads/<uuid:read_id>/", table_views.live_answer, name="live_answer"),
    path("workers/", views.workers, name="workers"),
    path("workers/now/", views.workers_now, name="workers_now"),
    path("workers/<uuid:worker_id>/drain/", views.worker_drain, name="worker_drain"),
    path("workers/<uuid:worker_id>/restart/", views.worker_restart, name="worker_restart"),
]

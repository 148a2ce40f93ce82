from django.urls import path

from jobs.web import job_page, parts
from jobs.web.approvals import views as review_views
from jobs.web.evidence import views as audit_views
from jobs.web.jobs import views
from jobs.web.metastore import urls as metastore_urls
from jobs.web.profiles import urls as profile_urls
from jobs.web.reads import delta_table_views, file_check_views, row_diff_views, row_views
from jobs.web.sample import urls as sample_urls
from jobs.web.schedules import urls as schedule_urls
from jobs.web.streams import urls as stream_urls
from jobs.web.workers import views as worker_views

app_name = "jobs"

urlpatterns = [
    path("jobs/", views.job_list, name="list"),
    path("jobs/<uuid:job_id>/", job_page.job_detail, name="detail"),
    path("jobs/<short_id:short>/", views.job_by_short_id, name="short"),
    path("jobs/<uuid:job_id>/live/", job_page.job_live, name="live"),
    path("jobs/<uuid:job_id>/cancel/", views.job_cancel, name="cancel"),
    path("jobs/<uuid:job_id>/life/", audit_views.life, name="life"),
    path("jobs/<uuid:job_id>/review/", review_views.review, name="review"),
    path("jobs/<uuid:job_id>/review/now/", review_views.review_now, name="review_now"),
    path("jobs/<uuid:job_id>/checks/", review_views.checks, name="checks"),
    path("jobs/<uuid:job_id>/sample/", review_views.sample, name="sample"),
    path("jobs/<uuid:job_id>/undo/", review_views.undo, name="undo"),
    path("approvals/", review_views.approvals, name="approvals"),
    path("audit/verification/", audit_views.verify, name="verify"),
    path("tables/<uuid:table_id>/capabilities/", delta_table_views.capabilities, name="capabilities"),
    path("tables/<uuid:table_id>/rows/", row_views.rows, name="rows"),
    path("tables/<uuid:table_id>/changes/", row_views.changes, name="changes"),
    path("tables/<uuid:table_id>/compare/rows/", row_diff_views.row_diff, name="row_diff"),
    path("tables/<uuid:table_id>/files/", file_check_views.page, name="file_check"),
    path("tables/<uuid:table_id>/files/now/", file_check_views.now, name="file_check_now"),
    path("tables/<uuid:table_id>/files/check/", file_check_views.check, name="file_check_ask"),
    path("tables/<uuid:table_id>/files/stop/", file_check_views.stop, name="file_check_stop"),
    path("reads/<uuid:read_id>/rows/", row_views.answer, name="rows_answer"),
    path("reads/<uuid:read_id>/rows.<str:kind>", row_views.rows_file, name="rows_file"),
    path("reads/<uuid:read_id>/", delta_table_views.live_answer, name="live_answer"),
    *parts.pages(),
    *metastore_urls.urlpatterns,
    *profile_urls.urlpatterns,
    *sample_urls.urlpatterns,
    *schedule_urls.urlpatterns,
    *stream_urls.urlpatterns,
    path("workers/", worker_views.workers, name="workers"),
    path("workers/now/", worker_views.workers_now, name="workers_now"),
    path("workers/<uuid:worker_id>/drain/", worker_views.worker_drain, name="worker_drain"),
    path("workers/<uuid:worker_id>/restart/", worker_views.worker_restart, name="worker_restart"),
]

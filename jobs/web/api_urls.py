from django.urls import path

from jobs.web import parts
from jobs.web.approvals import api as review_api
from jobs.web.evidence import api as audit_api
from jobs.web.jobs import api
from jobs.web.jobs.short_ids import JobByShortId
from jobs.web.metastore import urls as metastore_urls
from jobs.web.profiles import urls as profile_urls
from jobs.web.reads import api as reads_api
from jobs.web.reads import file_check_api, rows_api
from jobs.web.schedules.api_urls import urlpatterns as schedule_urls
from jobs.web.streams.api_urls import urlpatterns as stream_urls
from jobs.web.workers import api as workers_api

urlpatterns = [
    path("jobs", api.JobList.as_view(), name="api_jobs"),
    path("jobs/<uuid:job_id>", api.JobDetail.as_view(), name="api_job"),
    path("jobs/<uuid:job_id>/events", api.JobEvents.as_view(), name="api_job_events"),
    path("jobs/<uuid:job_id>/log", api.JobLog.as_view(), name="api_job_log"),
    path("jobs/<uuid:job_id>/cancel", api.JobCancel.as_view(), name="api_job_cancel"),
    path("jobs/<uuid:job_id>/withdraw", api.JobWithdraw.as_view(), name="api_job_withdraw"),
    path("jobs/<uuid:job_id>/approve", review_api.JobApprove.as_view(), name="api_job_approve"),
    path("jobs/<uuid:job_id>/reject", review_api.JobReject.as_view(), name="api_job_reject"),
    path("jobs/<uuid:job_id>/comment", review_api.JobComment.as_view(), name="api_job_comment"),
    path("jobs/<uuid:job_id>/edit", review_api.JobEdit.as_view(), name="api_job_edit"),
    path("jobs/<uuid:job_id>/undo", review_api.JobUndo.as_view(), name="api_job_undo"),
    path("jobs/<short_id:short>", JobByShortId.as_view(), name="api_job_by_short_id"),
    path("jobs/<short_id:short>/<str:act>", JobByShortId.as_view(), name="api_job_act_by_short_id"),
    path("jobs/<uuid:job_id>/sample", review_api.JobSample.as_view(), name="api_job_sample"),
    path("tables/<uuid:table_id>/deltatable", reads_api.DeltaTable.as_view(), name="api_deltatable"),
    path("tables/<uuid:table_id>/rows", rows_api.Rows.as_view(), name="api_rows"),
    path("tables/<uuid:table_id>/changes", rows_api.ChangeFeed.as_view(), name="api_changes"),
    path("tables/<uuid:table_id>/row-diff", rows_api.RowDiff.as_view(), name="api_row_diff"),
    path("tables/<uuid:table_id>/check-files", file_check_api.FileCheck.as_view(), name="api_file_check"),
    *parts.api(),
    *metastore_urls.api_urlpatterns,
    *profile_urls.api_urlpatterns,
    *schedule_urls,
    *stream_urls,
    path("roots/<uuid:root_id>/scan", reads_api.RootScan.as_view(), name="api_root_scan"),
    path("reads/<uuid:read_id>", reads_api.ReadDetail.as_view(), name="api_read"),
    path("audit/verify", audit_api.AuditVerify.as_view(), name="api_audit_verify"),
    path("workers", workers_api.Workers.as_view(), name="api_workers"),
    path("workers/<uuid:worker_id>/drain", workers_api.WorkerDrain.as_view(), name="api_worker_drain"),
    path("workers/<uuid:worker_id>/restart", workers_api.WorkerRestart.as_view(), name="api_worker_restart"),
]

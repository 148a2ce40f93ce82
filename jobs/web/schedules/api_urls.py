from django.urls import path

from jobs.web.schedules import api

urlpatterns = [
    path("schedules", api.Schedules.as_view(), name="api_schedules"),
    path("schedules/<uuid:schedule_id>", api.ScheduleDetail.as_view(), name="api_schedule"),
    path("schedules/<uuid:schedule_id>/runs", api.ScheduleRuns.as_view(), name="api_schedule_runs"),
    path("schedules/<uuid:schedule_id>/pause", api.SchedulePause.as_view(), name="api_schedule_pause"),
    path("schedules/<uuid:schedule_id>/resume", api.ScheduleResume.as_view(), name="api_schedule_resume"),
    path("schedules/<uuid:schedule_id>/approve", api.ScheduleApprove.as_view(), name="api_schedule_approve"),
    path("schedules/<uuid:schedule_id>/reject", api.ScheduleReject.as_view(), name="api_schedule_reject"),
]

from django.urls import path

from jobs.web.schedules import views

urlpatterns = [
    path("schedules/", views.schedules, name="schedules"),
    path("schedules/new/", views.schedule_new, name="schedule_new"),
    path("schedules/<uuid:schedule_id>/", views.schedule, name="schedule"),
    path("schedules/<uuid:schedule_id>/edit/", views.schedule_edit, name="schedule_edit"),
    path("schedules/<uuid:schedule_id>/pause/", views.schedule_pause, name="schedule_pause"),
    path("schedules/<uuid:schedule_id>/resume/", views.schedule_resume, name="schedule_resume"),
    path("schedules/<uuid:schedule_id>/remove/", views.schedule_remove, name="schedule_remove"),
    path("schedules/<uuid:schedule_id>/decide/", views.schedule_decide, name="schedule_decide"),
]

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        from jobs.behind import KnownJobs
        from tables import behind

        behind.answers(KnownJobs())

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        from jobs.web.catalog_port import KnownJobs
        from tables import ports

        ports.answers(KnownJobs())

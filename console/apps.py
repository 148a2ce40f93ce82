"""The wiring app: commands, template tags, logging."""

from django.apps import AppConfig
from django.conf import settings

from console.base.logs import apply_logging


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        apply_logging(settings.LOGGING)

import pytest
from django.test import override_settings

PLAIN_FILES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


@pytest.fixture(autouse=True)
def _plain_static_files(settings):
    with override_settings(STORAGES=settings.STORAGES | PLAIN_FILES, STATIC_URL="/static/"):
        yield

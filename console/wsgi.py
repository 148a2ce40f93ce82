"""The web process."""

import os

from django.core.wsgi import get_wsgi_application

from console.base.env import Env
from console.metrics.slots import share
from console.server.prefix import Prefixed
from tables.storage import patience

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
env = Env.read()
share(env.home / "state")  # before the middleware makes its counters

patience.be_brief()  # a request waits for no store longer than a person waits for a page
application = Prefixed(get_wsgi_application(), env.prefix)

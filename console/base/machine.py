"""Commands for the machine that runs Levee, to be copied as they are: with its directory, its Python, and its home if that is elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from django.conf import settings


def machine_command(arguments: str) -> str:
    """The command line that runs `manage.py` with these arguments, from any directory."""
    directory, python = Path(settings.BASE_DIR), Path(sys.executable)
    shown = python.relative_to(directory) if python.is_relative_to(directory) else python
    home = settings.ENV.home
    elsewhere = "" if home == directory / ".levee" else f"LEVEE_HOME={quote(str(home))} "
    return f"cd {quote(str(directory))} && {elsewhere}{quote(str(shown))} manage.py {arguments}"

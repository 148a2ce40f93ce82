#!/usr/bin/env python3
"""Levee's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from console.base.env import Env, SettingError

    try:
        execute_from_command_line(sys.argv)
    except SettingError as error:  # the settings are read before any command runs
        sys.exit(f"Levee can't start. {error}")
    except OperationalError as error:
        from console.management.troubles import down

        sys.exit(f"{down(Env.read())} ({str(error).strip().splitlines()[0]})")


if __name__ == "__main__":
    main()

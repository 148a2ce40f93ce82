#!/usr/bin/env python3
"""Levee's command line."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.management import execute_from_command_line
    from django.db import InterfaceError, OperationalError

    from console.base.env import Env, SettingError
    from console.base.known_settings import unknown

    if "LEVEE_PROCESS" not in os.environ:  # a part's warning was `up`'s already
        for warning in unknown(os.environ):
            sys.stderr.write(f"{warning}\n")
    try:
        execute_from_command_line(sys.argv)
    except SettingError as error:  # the settings are read before any command runs
        sys.exit(f"Levee can't start. {error}")
    except (OperationalError, InterfaceError) as error:
        from console.management.troubles import down, first_line, unreached

        env, cause = Env.read(), first_line(error)
        if unreached(error):  # without any address, the cause would name a socket that nobody has ever made
            cause = f"{down(env, error)} ({cause})" if env.database_url or env.embedded else down(env, error)
        sys.exit(cause)
    except SystemExit as end:
        from console.management.troubles import down, unreached

        # A command of Django's that wrapped the error in one of its own: it has said what it couldn't do, not why.
        if lost := unreached(end):
            print(down(Env.read(), lost), file=sys.stderr)  # noqa: T201
        raise


if __name__ == "__main__":
    main()

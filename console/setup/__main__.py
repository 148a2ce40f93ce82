"""`python3 -m console.setup [--for run|test|test-all|check|bench]`; the Makefile's targets call it first."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python reads first
    sys.exit("Levee needs Python 3.11 or newer; this is {}.{} ({}).".format(*sys.version_info[:2], sys.executable))

from console.setup.cli import main  # an older Python could not even read it, so it comes after the check

sys.exit(main())

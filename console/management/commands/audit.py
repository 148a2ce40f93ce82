"""`manage.py audit verify`: verifies the audit from the host's command line."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from console.audit.actor import Actor
from console.audit.integrity import heads, restores, verification
from console.audit.models import Verification
from console.base.text.counted import counted
from console.management.troubles import in_one_line
from jobs.evidence.audit_loops import record_verification
from jobs.evidence.consistency import differences

WHO = "command line"


class Command(BaseCommand):
    help = (
        "Verifies the audit's chain, its exported heads, and that tables and jobs agree with it. Ends with 1 when not."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        verify = acts.add_parser("verify", help=self.help)
        verify.add_argument("--since", type=int, default=0, metavar="SEQUENCE", help="take the links up to it as given")
        verify.add_argument("--public-key", metavar="HEX", help="the key that heads must be signed with (this home's)")
        verify.add_argument("--json", action="store_true", help="print the result as JSON")
        acts.add_parser("public-key", help="Prints the public key of the signed heads; keep it elsewhere.")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["act"] == "public-key":
            self.stdout.write(heads.public_key())
            return
        with in_one_line():
            run = verification.verify(WHO, options["since"], options["public_key"], differences)
            with transaction.atomic():
                record_verification(Actor.system(WHO), run)
        self._print(run, options["public_key"], as_json=options["json"])
        if run.problem_count:
            sys.exit(1)

    def _print(self, run: Verification, key: str | None, *, as_json: bool) -> None:
        taken_back = [restores.sentence(line) for line in heads.exported(key).restores]
        if as_json:
            result = verification.as_json(run) | {"restores": taken_back}
            self.stdout.write(json.dumps(result, cls=DjangoJSONEncoder, indent=1))
            return
        for sentence in taken_back:
            self.stdout.write(f"restored: {sentence}")
        for problem in run.problems:
            self.stdout.write(f"{problem['kind']}: {problem['text']}")
        wrong = verification.first_wrong(run)
        where = f", from #{wrong} on" if wrong else ""
        verdict = f"{counted(run.problem_count, 'difference')}{where}" if run.problem_count else "nothing differs"
        self.stdout.write(
            f"#{run.first} to #{run.last}: {counted(run.checked, 'event')} in {run.seconds:.1f} s, {verdict}"
        )

"""`make audit-dependencies`: compares every Python lock with published advisories, by pip-audit; needs a source of advisories.

    python -m console.setup.advisories

Ends with 0 when no lock has a known hole, with 1 when one has, with 2 when no source could be asked: then nothing is known.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from console.setup.places import HERE, Places
from console.setup.troubles import CommandFailed
from console.setup.venv import Wheel

LOCKS = ("build", "web", "cli", "spark", "postgres", "redis", "node", "dev")
UNKNOWN = "No source of advisories answered, so nothing is known of this lock"


def main() -> int:
    """One line for each lock, and one for each known hole."""
    wheel = Wheel(HERE, "security")
    if not wheel.ready():
        try:
            wheel.install()
        except CommandFailed as failure:
            print(f"audit-dependencies: pip-audit can't be installed: {failure}", file=sys.stderr)
            return 2
    return max(audit(HERE, lock) for lock in LOCKS)


def audit(places: Places, lock: str) -> int:
    """Audits one lock and says what came out. pip-audit ends with 1 for holes and for troubles alike: its JSON tells them apart."""
    command = [
        str(places.python),
        "-m",
        "pip_audit",
        "--disable-pip",
        "--no-deps",
        "--progress-spinner",
        "off",
        "-f",
        "json",
    ]
    done = subprocess.run(
        [*command, "-r", str(places.requirements / f"{lock}.txt")],
        env={**os.environ, "PYTHONPATH": str(places.tools / "security")},
        capture_output=True,
        text=True,
        check=False,
    )
    code, text = verdict(done.stdout, done.stderr)
    print(f"requirements/{lock}.txt: {text}", flush=True)
    return code


def verdict(printed: str, said: str) -> tuple[int, str]:
    """The exit code and what to say, from pip-audit's output and its errors."""
    try:
        packages = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        return 2, f"{UNKNOWN}: {last}"
    skipped = [each for each in packages if "skip_reason" in each]
    if len(skipped) == len(packages):
        return 2, f"{UNKNOWN}: {skipped[0]['skip_reason'] if skipped else 'it is empty'}"
    holes = [(each, hole) for each in packages for hole in each.get("vulns", ())]
    lines = [f"{len(packages) - len(skipped)} packages compared, {len(holes)} known holes"]
    lines += [f"  {each['name']} {each['version']}: {hole['id']}{_mended(hole)}" for each, hole in holes]
    lines += [f"  {each['name']}: not compared: {each['skip_reason']}" for each in skipped]
    return (1 if holes else 2 if skipped else 0), "\n".join(lines)


def _mended(hole: dict[str, list[str]]) -> str:
    versions = hole.get("fix_versions") or []
    return f", mended in {', '.join(versions)}" if versions else ", not mended yet"


if __name__ == "__main__":
    sys.exit(main())

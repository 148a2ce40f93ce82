"""`make lock`: newest versions that the `.in` files allow, written with hashes and without addresses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from console.setup.commands import run
from console.setup.places import HERE, Places
from console.setup.system.node import npm
from console.setup.troubles import CommandFailed
from console.setup.venv import FOREIGN, LEFT_OUT, Wheel

# In this order: cli.in and spark.in are bound to what web.txt chose, dev.in to all three.
LOCKS = ("lock", "build", "web", "cli", "spark", "dev", "postgres", "redis", "node", "security", *FOREIGN)
# One lock for every supported Python and machine.
COMPILE = ["pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version", "3.11", "--generate-hashes"]
SILENT = ["--no-emit-index-url", "--no-emit-find-links", "--no-header"]


def lock_python(places: Places) -> None:
    """Rewrite every requirements/*.txt."""
    wheel = Wheel(places, "lock")
    if not wheel.ready():
        wheel.install()
    uv = str(places.tools / "lock" / "bin" / "uv")
    for name in LOCKS:
        print(f"lock: requirements/{name}.txt", flush=True)
        left_out = ["--no-emit-package", LEFT_OUT] if name in FOREIGN else []
        command = [uv, *COMPILE, *SILENT, *left_out, f"{name}.in", "-o", f"{name}.txt"]
        run(command, places.logs / "lock.log", cwd=places.requirements)


def lock_frontend(places: Places) -> None:
    """Rewrite frontend/package-lock.json for the versions that package.json pins."""
    print("lock: frontend/package-lock.json", flush=True)
    run([*npm(places), "install", "--package-lock-only"], places.logs / "lock.log", cwd=places.frontend)
    without_addresses(places.frontend / "package-lock.json")


def without_addresses(lock: Path) -> None:
    """npm also notes whom to thank; of a lock, only versions and hashes are kept."""
    content = json.loads(lock.read_text())
    for package in content["packages"].values():
        package.pop("funding", None)
    lock.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def main() -> int:
    """Both locks; 1 with the reason when one can't be made, and then the files before it are already new."""
    try:
        lock_python(HERE)
        lock_frontend(HERE)
    except CommandFailed as failure:
        print(f"lock: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

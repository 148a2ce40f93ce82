"""What no tracked file may hold."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# In two parts each, so that this file doesn't hold them itself.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("yarnpkg", "com"),
        ("maven", "org"), ("maven.apache", "org"), ("crates", "io"), ("proxy.golang", "org"), ("deb.debian", "org"),
    )
]  # fmt: skip


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name]


def test_no_file_names_the_host_of_a_registry():
    """Packages come from where the ordinary clients are set up to look, not from where we say."""
    found = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in tracked()
        if path.is_file()
        for host in REGISTRIES
        if host.encode() in path.read_bytes()
    ]
    assert not found


def test_no_file_is_large():
    """Binaries and data come from set-up; a screenshot or two is what may be large."""
    assert [str(p) for p in tracked() if p.is_file() and p.stat().st_size > 2_000_000] == []

"""What kind of storage a path lies in is asked of one table: no other file names a scheme, or an adapter."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tables.storage import stores
from tables.storage.place import place_of

PROJECT = Path(__file__).parents[2]
SCHEME = re.compile(r"\b(?:s3[an]?|hdfs|abfss?|gs)(?:://|\|)")
ADAPTERS = ("tables.storage.s3", "tables.storage.gcs", "tables.storage.hdfs")


def parts() -> Iterator[tuple[str, ast.Module]]:
    for app in ("console", "tables", "jobs"):
        for file in sorted((PROJECT / app).rglob("*.py")):
            name = str(file.relative_to(PROJECT))
            if "/migrations/" not in name and not name.startswith(("tables/storage/", "console/setup/")):
                yield name, ast.parse(file.read_text())


def texts(tree: ast.Module) -> Iterator[str]:
    """The strings of a module that aren't there for its readers."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def names_a_kind(tree: ast.Module) -> bool:
    return any(SCHEME.search(text) for text in texts(tree)) or any(
        name.startswith(f"{adapter}.") or name == adapter for name in imported(tree) for adapter in ADAPTERS
    )


def test_nothing_else_names_a_kind_of_storage():
    assert [name for name, tree in parts() if names_a_kind(tree)] == []


@pytest.mark.parametrize(
    "source",
    [
        'if path.startswith("hdfs://"): ...',
        'bucket = f"s3a://{name}"',
        "from tables.storage.hdfs import name_nodes",
        "import tables.storage.s3.options",
    ],
)
def test_the_guard_sees_it(source):
    assert names_a_kind(ast.parse(source))


def test_a_docstring_may():
    assert not names_a_kind(ast.parse('"""Such as s3://lake."""\nfrom tables.storage.stores import kind_of'))


def test_what_travels_to_tasks_imports_nothing_of_levee_that_doesnt():
    """A module that is missing there fails on an executor alone, which has no copy of Levee."""
    names = {module.__name__ for module in stores.TRAVELLING}
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"].startswith("What storage has for Spark's tasks"))
    assert set(contract["source_modules"]) == names
    for module in stores.TRAVELLING:
        top = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ImportFrom)]
        imports = [(node.module or "", each.name) for node in top for each in node.names]
        levees = [each for each in imports if each[0].startswith(("tables", "jobs", "console"))]
        assert [each for each in levees if not {each[0], ".".join(each)} & names] == [], module.__name__


@pytest.mark.parametrize("kind", stores.KINDS, ids=lambda kind: kind.scheme or "local")
def test_a_kind_knows_its_own_places(kind):
    path = "/lake/a" if not kind.scheme else f"{kind.scheme}://lake/a"
    assert stores.kind_of(path) is kind
    assert place_of(path).kind is kind
    for alias in sorted(kind.aliases):
        assert place_of(f"{alias.upper()}://lake/a").path == path
        assert stores.with_canonical_scheme(f"{alias}://lake/a") == path


def test_a_path_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="neither an absolute path nor"):
        stores.files_at("made-up://lake/a")

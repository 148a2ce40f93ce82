"""The bill of materials names what is locked, each once, and nothing that only builds or tests."""

import json

from console.setup import bill_of_materials, jars


def test_it_names_every_locked_package_of_an_instance():
    document = json.loads(bill_of_materials.document())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    addresses = [each["purl"] for each in document["components"]]
    assert len(addresses) == len(set(addresses))
    for start in ("pkg:pypi/django@", "pkg:pypi/pyspark@", "pkg:npm/htmx.org@", "pkg:npm/%40tabler/core@"):
        assert any(each.startswith(start) for each in addresses), start
    assert {each.partition("?")[0] for each in addresses} >= {
        f"pkg:maven/{jar.group}/{jar.artifact}@{jar.version}" for jar in jars.pinned()
    }
    (google,) = (each for each in addresses if "gcs-connector" in each)
    assert google.endswith("?classifier=shaded"), "another file than the plain one, with a hash of its own"
    assert not [each for each in addresses if "/pytest" in each or "/esbuild" in each]


def test_a_jar_has_the_hash_that_set_up_checks():
    components = {each["name"]: each for each in json.loads(bill_of_materials.document())["components"]}
    for jar in jars.pinned():
        assert components[jar.artifact]["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]


def test_it_is_written_to_the_named_file_alone(tmp_path, capsys):
    assert bill_of_materials.main([]) == 2
    assert bill_of_materials.main([str(tmp_path / "sbom.json")]) == 0
    assert json.loads((tmp_path / "sbom.json").read_text())["metadata"]["component"]["name"] == "levee"

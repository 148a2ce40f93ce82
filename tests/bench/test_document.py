"""A bench replaces its own section of the document and leaves the others alone."""

from tests.bench.document import figures_of, put_into, table


def test_a_section_is_replaced_in_its_place_and_the_others_stay(tmp_path):
    document = tmp_path / "benchmarks.md"
    put_into(document, "## One\n\nfirst\n")
    put_into(document, "## Another\n\nkept\n")
    put_into(document, "## One\n\nsecond\n")
    assert document.read_text() == "# Benchmarks\n\n## One\n\nsecond\n\n## Another\n\nkept\n"


def test_a_section_of_a_cluster_stands_behind_the_embedded_one_and_beside_its_figures(tmp_path):
    document = tmp_path / "benchmarks.md"
    embedded = table([("time", "1.0 s", ""), ("time / raw", "0.98", "≤ 1.05")])
    put_into(document, f"## One\n\n{embedded}\n")
    put_into(document, "## Another\n\n| time | 9 s |\n")
    there = table([("time", "2.0 s", ""), ("time / raw", "1.01", "≤ 1.05")], figures_of(document, "## One"))
    put_into(document, f"## One on a cluster\n\n{there}\n", beside="## One")
    assert document.read_text() == (
        "# Benchmarks\n\n## One\n\n| what | measured | bar |\n|---|---|---|\n| time | 1.0 s | |\n| time / raw | 0.98 | ≤ 1.05 |\n\n"
        "## One on a cluster\n\n| what | on the cluster | embedded | bar |\n|---|---|---|---|\n"
        "| time | 2.0 s | 1.0 s | |\n| time / raw | 1.01 | 0.98 | ≤ 1.05 |\n\n"
        "## Another\n\n| time | 9 s |\n"
    )
    assert figures_of(document, "## Nothing") == {}

"""A bench replaces its own section of the document and leaves the others alone."""

from tests.bench.document import put_into


def test_a_section_is_replaced_and_the_others_stay(tmp_path):
    document = tmp_path / "benchmarks.md"
    put_into(document, "## One\n\nfirst\n")
    put_into(document, "## Another\n\nkept\n")
    put_into(document, "## One\n\nsecond\n")
    assert document.read_text() == "# Benchmarks\n\n## Another\n\nkept\n\n## One\n\nsecond\n"

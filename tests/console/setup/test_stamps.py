"""A stamp holds exactly as long as what the step was made from."""

from console.setup import stamps


def test_it_holds_for_the_value_it_was_written_with(tmp_path):
    stamps.write(tmp_path / "stamps", "jars", "abc")
    assert stamps.holds(tmp_path / "stamps", "jars", "abc")
    assert not stamps.holds(tmp_path / "stamps", "jars", "abd")


def test_it_does_not_hold_once_dropped(tmp_path):
    stamps.write(tmp_path, "jars", "abc")
    stamps.drop(tmp_path, "jars")
    stamps.drop(tmp_path, "jars")
    assert not stamps.holds(tmp_path, "jars", "abc")


def test_a_digest_changes_with_a_byte_a_word_and_a_missing_file(tmp_path):
    lock = tmp_path / "web.txt"
    lock.write_text("django==5.2.1\n")
    first = stamps.digest([lock], "3.11")
    assert stamps.digest([lock], "3.11") == first
    assert stamps.digest([lock], "3.12") != first
    lock.write_text("django==5.2.2\n")
    second = stamps.digest([lock], "3.11")
    lock.unlink()
    assert len({first, second, stamps.digest([lock], "3.11")}) == 3


def test_a_digest_does_not_depend_on_the_order_of_files(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    assert stamps.digest([one, two]) == stamps.digest([two, one])

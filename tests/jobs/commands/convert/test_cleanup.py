"""What a failed conversion leaves is removed by rmdir alone."""

import pytest

from jobs.commands.convert.cleanup import remove_empty_directories, remove_empty_log


class FailedError(Exception):
    pass


def fail_after(path, act):
    def failing():
        with remove_empty_log(str(path)):
            act()
            raise FailedError

    with pytest.raises(FailedError):
        failing()


def test_an_empty_log_that_was_absent_is_gone_again(tmp_path):
    fail_after(tmp_path, lambda: (tmp_path / "_delta_log" / "_staged_commits").mkdir(parents=True))
    assert list(tmp_path.iterdir()) == []


def test_a_log_with_any_file_stays_whole(tmp_path):
    def act():
        (tmp_path / "_delta_log" / "_staged_commits").mkdir(parents=True)
        (tmp_path / "_delta_log" / "00000000000000000000.json").write_text("{}")

    fail_after(tmp_path, act)
    assert (tmp_path / "_delta_log" / "00000000000000000000.json").read_text() == "{}"


def test_a_log_that_was_there_is_left_alone(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    fail_after(tmp_path, lambda: None)
    assert (tmp_path / "_delta_log").is_dir()


def test_a_success_removes_nothing(tmp_path):
    with remove_empty_log(str(tmp_path)):
        (tmp_path / "_delta_log").mkdir()
    assert (tmp_path / "_delta_log").is_dir()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere" / "empty").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert remove_empty_directories(tmp_path / "link") is False
    assert (tmp_path / "elsewhere" / "empty").is_dir()


COMMIT = "00000000000000000000.json"
UNFINISHED = f".{COMMIT}.7e1a5e92-2a7a-4f4f-9622-0aec4b6687a1.tmp"


def test_commits_that_were_never_finished_count_as_nothing(tmp_path):
    """What a conversion leaves whose disk is full."""

    def act():
        (tmp_path / "_delta_log" / "_staged_commits").mkdir(parents=True)
        (tmp_path / "_delta_log" / UNFINISHED).touch()
        (tmp_path / "_delta_log" / f".{UNFINISHED}.crc").touch()

    fail_after(tmp_path, act)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other", [COMMIT, f".{COMMIT}.tmp", "_last_checkpoint", "notes.txt", UNFINISHED.removesuffix(".tmp")]
)
def test_beside_anything_else_they_stay(tmp_path, other):
    def act():
        (tmp_path / "_delta_log").mkdir()
        (tmp_path / "_delta_log" / UNFINISHED).touch()
        (tmp_path / "_delta_log" / other).touch()

    fail_after(tmp_path, act)
    assert {path.name for path in (tmp_path / "_delta_log").iterdir()} == {UNFINISHED, other}


def test_a_link_by_such_a_name_takes_nothing_with_it(tmp_path):
    (tmp_path / "precious").write_text("rows")

    def act():
        (tmp_path / "_delta_log").mkdir()
        (tmp_path / "_delta_log" / UNFINISHED).symlink_to(tmp_path / "precious")

    fail_after(tmp_path, act)
    assert (tmp_path / "precious").read_text() == "rows"

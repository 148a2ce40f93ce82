"""One directory by two paths: told from the system's table of mounts alone."""

from __future__ import annotations

import pytest

from tables.storage.local.mounts import Mount, listed, second_name

DISK, SHARE = "8:1", "0:45"
TABLE = [
    Mount(DISK, "/", "/"),
    Mount(DISK, "/lake/orders", "/mnt/orders"),
    Mount(DISK, "/srv", "/shared"),
    Mount(SHARE, "/", "/nfs"),
    Mount(SHARE, "/export", "/export"),
    Mount("0:46", "/", "/lake/ram"),
]


@pytest.mark.parametrize(
    ("path", "root", "same"),
    [
        ("/mnt/orders", "/lake", True),
        ("/mnt/orders", "/lake/orders", True),
        ("/mnt/orders/2024", "/lake/orders", True),
        ("/lake", "/mnt/orders", True),
        ("/shared/a", "/srv/a", True),
        ("/export/a", "/nfs/export", True),
        ("/mnt", "/lake", True),
        ("/lake/orders", "/mnt", True),
        ("/mnt/orders", "/lake/other", False),
        ("/mnt/orders-2", "/lake/orders", False),
        ("/lake/orders", "/lake", False),
        ("/lake", "/lake/ram/a", False),
        ("/mnt", "/nfs", False),
        ("/nfs/lake", "/lake", False),
        ("/srv/a", "/shared/b", False),
    ],
)
def test_a_second_name_is_told_and_an_inner_root_is_none(path, root, same):
    assert second_name(path, ["/elsewhere", root], TABLE) == (root if same else None)


def test_of_two_mounts_at_one_point_the_later_one_counts():
    assert second_name("/a", ["/b"], [Mount(DISK, "/", "/"), Mount(DISK, "/x", "/a"), Mount(SHARE, "/", "/a")]) is None


def test_the_systems_table_is_read_with_its_escapes():
    text = "36 35 98:0 /a\\040b /mnt/c\\134d rw,noatime master:1 - ext3 /dev/root rw\nodd\n"
    assert listed(text) == [Mount("98:0", "/a b", "/mnt/c\\d", "ext3")]


def test_without_a_table_there_is_no_second_name():
    assert second_name("/a", ["/b"], []) is None

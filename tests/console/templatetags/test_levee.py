from django.template.backends.django import get_installed_libraries

from tests.console.templatetags.rendering import shown


def test_the_library_can_be_loaded_by_its_name():
    assert shown("{% load levee %}{{ 2048|bytes }}") == "2.00 KiB"


def test_its_parts_are_no_libraries_of_their_own():
    assert get_installed_libraries()["levee"] == "console.templatetags.levee"
    assert not [module for module in get_installed_libraries().values() if "templatetags.formatting" in module]

"""The help as it is served: to everybody, below any path, with a search."""

import re
from urllib.parse import urljoin

import pytest
from django.urls import reverse, set_script_prefix
from PIL import Image

from console.pages.help import build, rendering, site
from console.templatetags.help import term

LINK = re.compile(r'href="([^"]*)"')


def test_everybody_reads_every_page_without_a_session(client):
    """Without the database, too: a client without a cookie asks for nothing there."""
    loaded = site.load()
    assert len(loaded.pages) > 30
    for name in loaded.pages:
        answer = client.get(reverse("help_page", args=[name]) if name else reverse("help"))
        text = answer.content.decode()
        assert (answer.status_code, loaded.pages[name].sections[0].title in site_text(text)) == (200, True), name
        assert "static:" not in text
        assert " style=" not in text


def site_text(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("&#x27;", "'").replace("&quot;", '"').replace("&amp;", "&")


def test_every_link_of_the_help_leads_to_a_page_or_out_of_it(client):
    for name, page in site.load().pages.items():
        address = reverse("help_page", args=[name]) if name else reverse("help")
        for target in LINK.findall(page.html):
            if not target.startswith("#") and not rendering.EXTERNAL.match(target):
                assert client.get(urljoin(address, target).partition("#")[0]).status_code == 200, (name, target)


def test_a_page_that_is_none_is_404(client, db):
    assert client.get("/help/no/such/").status_code == 404
    assert client.get("/help/../settings/").status_code == 404


def test_the_search_finds_the_paragraph_first_and_escapes_what_was_typed(client):
    text = client.get("/help/?q=quorum").content.decode()
    assert text.index("/help/concepts/#quorum") < text.index("/help/approvals/")
    assert "<mark>" in text
    text = client.get("/help/?q=%3Cscript%3E%00zzzz").content.decode()
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "No section of the help" in text


def test_below_a_path_every_address_of_the_console_has_it(client):
    set_script_prefix("/levee/")
    try:
        text = client.get("/help/concepts/").content.decode()
    finally:
        set_script_prefix("/")
    links = [each for each in LINK.findall(text) if each.startswith("/") and "/static/" not in each]
    assert len(links) > 20
    assert [each for each in links if not each.startswith("/levee/")] == []


def test_a_term_leads_to_its_paragraph_and_says_so():
    made = term("reach", "Readable versions")
    assert 'href="/help/concepts/#reach"' in made
    assert 'aria-label="Help: reach"' in made
    assert made.startswith("Readable versions <a")
    assert "&lt;b&gt;" in term("reach", "<b>")


def test_a_file_becomes_a_page_with_links_pictures_and_nothing_that_runs(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "index.md").write_text("# First\n\n## Guide\n\n- [One](deep/one.md)\n")
    (tmp_path / "deep" / "one.md").write_text(
        "# One\n\n## Two & *three*\n\n## Two & *three*\n\n[home](../index.md) [here](#two--three) [code](../../x.py)\n\n"
        "| a | b |\n|---|--:|\n| <script>x</script> | [out](https://example.org/) |\n\n```sh\nls <dir>\n```\n"
    )
    made = build.site(tmp_path)
    assert made["navigation"] == [{"title": "Guide", "pages": [{"name": "deep/one", "title": "One"}]}]
    page = made["pages"]["deep/one"]
    assert [section["anchor"] for section in page["sections"]] == ["one", "two--three", "two--three-1"]
    assert '<a href="../../">home</a> <a href="#two--three">here</a> code' in page["html"]
    assert "&lt;script&gt;" in page["html"]
    assert ' style="' not in page["html"]
    assert '<pre class="lv-code"><code>ls &lt;dir&gt;' in page["html"] or "ls &lt;dir&gt;" in page["html"]


def test_a_picture_is_small_in_each_theme_and_leads_to_the_whole_one(tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "index.md").write_text("# First\n\n![A page](one-light.png)\n\n![Another](none-light.png)\n")
    for theme in ("light", "dark"):
        Image.new("RGB", (1280, 900)).save(tmp_path / f"one-{theme}.png")
        Image.new("RGB", (560, 394)).save(tmp_path / "small" / f"one-{theme}.webp", lossless=True)
    html = build.site(tmp_path)["pages"][""]["html"]
    for theme in ("light", "dark"):
        assert (
            f'<a href="static:one-{theme}.png" class="lv-shot lv-in-{theme}"><img src="static:small/one-{theme}.webp"'
            in html
        )
    assert html.count('width="560" height="394" alt="A page" loading="lazy"') == html.count("<img") == 2
    assert "<p>Another</p>" in html, "one that isn't there is its text"


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("delete.md", "../delete/"),
        ("../concepts.md#reach", "../../concepts/#reach"),
        ("../index.md", "../../"),
        ("../../README.md", None),
        ("https://example.org/", "https://example.org/"),
    ],
)
def test_a_link_is_relative_so_that_it_holds_below_any_path(target, address):
    assert rendering.address_of(target, "guide/undo.md", frozenset({"", "concepts", "guide/delete"})) == address

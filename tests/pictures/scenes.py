"""Which pictures docs/ has, and what each one shows: `docs/screenshots/NAME-light.png` and `NAME-dark.png`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scene:
    """One page of the running product.

    `address` may name `{table}`, `{job}` and `{version}`; `template` is the page's own, from which what it includes follows; `also` are
    templates that it includes by a name that isn't written there. `ready` is a selector that is there once the page is whole; `keys` are
    then pressed, `typed` is written, and `then` waited for. `code` are the modules that reckon what it draws.
    `height` is where the picture ends, in CSS pixels, if the page doesn't before.
    """

    name: str
    address: str
    template: str
    also: tuple[str, ...] = ()
    person: str = "ana"
    ready: str = "main h1"
    keys: str = ""
    typed: str = ""
    then: str = ""
    scripts: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    height: int = 900


CHARTS = "tables/web/charts.py"
LINES_OF_TIME = "tables/web/table/timelines.py"
DELETE = "predicate=country+%3D+%27FR%27+AND+quantity+%3E%3D+4"

SCENES = (
    Scene("home", "/", "home/home.html", code=(CHARTS, "console/pages/home/drawings.py")),
    Scene("list", "/tables/", "tables/list/list.html", height=760),
    Scene(
        "overview",
        "/tables/{table}/",
        "tables/table/overview.html",
        ready="#live-table:not([hx-get])",
        code=(CHARTS,),
        height=1100,
    ),
    Scene(
        "history", "/tables/{table}/history/", "tables/table/history.html", code=(CHARTS, LINES_OF_TIME), height=1100
    ),
    Scene("commit", "/tables/{table}/commits/{version}/", "tables/table/commit.html"),
    Scene("schema", "/tables/{table}/schema/", "tables/table/schema.html", code=(CHARTS, LINES_OF_TIME), height=760),
    Scene(
        "layout",
        "/tables/{table}/layout/",
        "tables/table/layout.html",
        code=(CHARTS, "tables/web/table/layout_figures.py"),
        height=1000,
    ),
    Scene(
        "palette",
        "/tables/",
        "tables/list/list.html",
        also=("find/_options.html",),
        keys="Control+k",
        typed="sales",
        then="#palette [role=option]",
        scripts=("palette.js", "keys.js"),
        height=700,
    ),
    Scene("roots", "/roots/", "tables/roots/list.html", height=480),
    Scene("streams", "/streams/", "jobs/streams/list.html", code=(CHARTS, "jobs/web/streams/charts.py"), height=480),
    Scene(
        "delete",
        f"/tables/{{table}}/delete/?{DELETE}",
        "jobs/delete/page.html",
        ready="#h-preview",
        height=1150,
    ),
    Scene(
        "review",
        "/jobs/{job}/review/",
        "jobs/approvals/review.html",
        also=("jobs/delete/what.html",),
        person="ben",
        ready="#checks .lv-list",
        height=1250,
    ),
)
THEMES = ("light", "dark")


def pictures() -> dict[str, Scene]:
    """Each file's name, and its scene."""
    return {f"{scene.name}-{theme}.png": scene for scene in SCENES for theme in THEMES}

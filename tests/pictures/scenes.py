"""Which pictures docs/ has, and what each one shows: `docs/screenshots/NAME-light.png` and `NAME-dark.png`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlencode


@dataclass(frozen=True)
class Scene:
    """One page of the running product.

    `address` may name what `preparation.prepare` returns, such as `{table}`; `template` is the page's own, from which what it includes
    follows; `also` are templates that it includes by a name that isn't written there. `ready` is a selector that is there once the page
    is whole; `keys` are then pressed, `typed` is written, and `then` waited for. `code` are the modules that reckon what it draws.
    `height` is where the picture ends, in CSS pixels, if the page doesn't before; `width` that of the window.
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
    width: int = 1280


PHONE = 390
AXES, HATCHING, COMMITS, GROWTH, FILES, STRIP, VERSION_AXIS = (
    f"tables/web/charts/{name}.py"
    for name in ("axes", "hatching", "commits", "growth", "layout", "strip", "version_axis")
)
LINES_OF_TIME = "tables/web/table/timelines.py"
DELETE = "predicate=country+%3D+%27FR%27+AND+quantity+%3E%3D+4"
RENAMED = [
    {"rename": {"path": "email", "to": "mail_address"}},
    {"add": {"path": "country", "type": "string", "after": "city", "comment": "ISO 3166, two letters"}},
]
CHANGES = urlencode({"changes": json.dumps(RENAMED), "kind": "drop", "path": "city"})

SCENES = (
    Scene("home", "/", "home/home.html", code=(AXES, HATCHING, "console/pages/home/drawings.py")),
    Scene("list", "/tables/", "tables/list/list.html", height=760),
    Scene(
        "overview",
        "/tables/{table}/",
        "tables/table/overview.html",
        code=(AXES, COMMITS, GROWTH),
        height=1100,
    ),
    Scene(
        "history",
        "/tables/{table}/history/",
        "tables/table/history.html",
        code=(AXES, HATCHING, COMMITS, GROWTH, STRIP, VERSION_AXIS, LINES_OF_TIME),
        height=1100,
    ),
    Scene("commit", "/tables/{table}/commits/{version}/", "tables/table/commit.html"),
    Scene(
        "schema",
        "/tables/{table}/schema/",
        "tables/table/schema.html",
        code=(AXES, VERSION_AXIS, LINES_OF_TIME),
        height=760,
    ),
    Scene(
        "layout",
        "/tables/{table}/layout/",
        "tables/table/layout.html",
        code=(AXES, HATCHING, FILES, "tables/web/table/layout_figures.py"),
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
    Scene("streams", "/streams/", "jobs/streams/list.html", code=(AXES, "jobs/web/streams/charts.py"), height=480),
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
    Scene(
        "capabilities",
        "/tables/{table}/capabilities/",
        "jobs/reads/capabilities.html",
        also=("jobs/reads/_capabilities.html", "jobs/reads/_members.html"),
        ready="#live-capabilities:not([hx-get])",
        height=1100,
    ),
    Scene("finding", "/tables/{small}/", "tables/table/overview.html", height=350),
    Scene("optimize", "/tables/{small}/optimize/", "jobs/optimize/page.html", ready="#h-preview", height=680),
    Scene(
        "vacuum",
        "/tables/{table}/vacuum/?retention_hours=72",
        "jobs/vacuum/page.html",
        ready="#h-preview",
        code=(AXES, HATCHING, COMMITS, STRIP, VERSION_AXIS, "jobs/web/commands/vacuum/drawing.py"),
        height=1250,
    ),
    Scene(
        "properties",
        "/tables/{table}/properties/?filter=vector&set=delta.enableDeletionVectors%3Dtrue",
        "jobs/set_properties/page.html",
        ready="#h-preview",
        height=1250,
    ),
    Scene(
        "alter_schema",
        f"/tables/{{mapped}}/schema/change/?{CHANGES}",
        "jobs/alter_schema/page.html",
        ready="#h-preview",
        height=1250,
    ),
    Scene(
        "clone",
        "/tables/{table}/clone/?target={home}/lake/sales_copy&kind=deep",
        "jobs/clone/page.html",
        ready="#h-preview",
        height=1100,
    ),
    Scene(
        "rehearsal",
        "/jobs/{rehearsed}/review/",
        "jobs/approvals/review.html",
        also=("jobs/delete/what.html",),
        person="ben",
        ready="#checks .lv-list",
        height=1000,
    ),
    Scene("schedules", "/schedules/", "jobs/schedules/list.html", height=470),
    Scene(
        "history_phone",
        "/tables/{table}/history/",
        "tables/table/history.html",
        code=(AXES, HATCHING, COMMITS, GROWTH, STRIP, VERSION_AXIS, LINES_OF_TIME),
        width=PHONE,
    ),
    Scene(
        "review_phone",
        "/jobs/{job}/review/",
        "jobs/approvals/review.html",
        also=("jobs/delete/what.html",),
        person="ben",
        ready="#checks .lv-list",
        width=PHONE,
    ),
)
THEMES = ("light", "dark")


def pictures() -> dict[str, Scene]:
    """Each file's name, and its scene."""
    return {f"{scene.name}-{theme}.png": scene for scene in SCENES for theme in THEMES}

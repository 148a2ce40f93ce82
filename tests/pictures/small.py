"""The small picture that a page of the help shows of each: with its text, frame and script it has to be light."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

from PIL import Image, ImageChops

from console.pages.help import build
from tests.pictures import staleness

WIDTH = 480  # six of them are some 40 KB: a browser may load the pictures of 3,400 px before anybody scrolls
COLOURS = 12
APART = 30  # of two colours as points in a cube of 256: shades of one letter's edge are nearer


def refresh() -> None:
    """Make the small pictures that aren't there or show something else than the whole ones; remove those of no picture."""
    wanted = {build.small_of(file): file for file in staleness.PICTURES.glob("*.png")}
    for small in set(staleness.PICTURES.glob("small/*")) - set(wanted):
        small.unlink()
    for small, file in wanted.items():
        if not is_of(small, file):
            small.parent.mkdir(exist_ok=True)
            made(file).save(small, lossless=True, quality=100, method=6)


def is_of(small: Path, file: Path) -> bool:
    """Whether it is the small picture of that file."""
    if not small.is_file():
        return False
    there, wanted = Image.open(small).convert("RGB"), made(file)
    return there.size == wanted.size and ImageChops.difference(there, wanted).getbbox() is None


def made(file: Path) -> Image.Image:
    """The small picture of a whole one."""
    whole = Image.open(file).convert("RGB")
    width = min(WIDTH, whole.width)
    size = (width, round(whole.height * width / whole.width))
    shrunk = whole.resize(size, Image.Resampling.BOX)
    return shrunk.quantize(palette=_palette(whole), dither=Image.Dither.NONE).convert("RGB")


def _palette(whole: Image.Image) -> Image.Image:
    """The picture's commonest colours that are apart, so that the small one has the theme's own: a quantizer's are tinted."""
    found: list[tuple[int, ...]] = []
    counted = cast(list[tuple[int, tuple[int, ...]]], whole.getcolors(whole.width * whole.height))
    for _, colour in sorted(counted, reverse=True):
        if len(found) < COLOURS and all(math.dist(colour, other) >= APART for other in found):
            found.append(colour)
    palette = Image.new("P", (1, 1))
    filled = found + [found[0]] * (256 - len(found))  # what is left would be black
    palette.putpalette([part for colour in filled for part in colour])
    return palette

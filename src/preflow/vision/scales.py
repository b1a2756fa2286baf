"""Scales in pictures: a colour bar beside disparities, a length beside the colour wheel of a flow.

Numbers are written in a font of 3 x 5 dots, so that pictures need no other package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The dots of each character, row by row from the top; each row is an octal digit, left to right.
FONT = {
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71122",
    "8": "75757",
    "9": "75717",
    ".": "00002",
    "-": "00700",
    "+": "02720",
    "e": "06743",
    "p": "06564",
    "x": "05225",
    " ": "00000",
}
#: A dot is one pixel, plus one for every this many pixels of the picture's shorter side.
PIXELS_PER_DOT = 160
#: Width of a colour bar in dots, and of the empty space around it.
BAR_WIDTH, SPACE = 6, 2


def with_colour_bar(
    picture: NDArray[np.uint8], colours: NDArray[np.uint8], low: float, high: float
) -> NDArray[np.uint8]:
    """Return a picture with a colour bar on its right, which has `low` at its bottom and `high` at its top.

    `colours`, shape (k, 3), are those from `low` to `high`.
    """
    height, width = picture.shape[:2]
    dot = 1 + min(height, width) // PIXELS_PER_DOT
    texts = [written(f"{value:.4g} px", dot) for value in (high, low)]
    space, bar = SPACE * dot, BAR_WIDTH * dot
    strip = np.full((height, 3 * space + bar + max(text.shape[1] for text in texts), 3), 255, np.uint8)
    places = np.linspace(len(colours) - 1, 0, height).round().astype(int)
    strip[:, space : space + bar] = colours[places][:, np.newaxis]
    left = 2 * space + bar
    for text, top in zip(texts, (0, height - texts[1].shape[0]), strict=True):
        if top >= 0 and height >= 3 * text.shape[0]:
            strip[top : top + text.shape[0], left : left + text.shape[1]][text] = 0
    return np.concatenate([picture, strip], axis=1)


def write_beside_wheel(picture: NDArray[np.uint8], wheel: int, largest: float) -> None:
    """Write the speed of full colours left of the wheel in the lower right corner, if there is room."""
    height, width = picture.shape[:2]
    dot = 1 + min(height, width) // PIXELS_PER_DOT
    text = np.pad(written(f"{largest:.3g} px", dot), dot)
    right, bottom = width - wheel - dot, height - dot
    top, left = bottom - text.shape[0], right - text.shape[1]
    if top >= 0 and left >= 0:
        picture[top:bottom, left:right] = np.where(text, 0, 255).astype(np.uint8)[..., np.newaxis]


def written(text: str, dot: int) -> NDArray[np.bool_]:
    """Return a text as a mask; each dot has `dot` x `dot` pixels."""
    columns = []
    for character in text:
        rows = [f"{int(row):03b}0" for row in FONT[character]]
        columns.append(np.array([[bit == "1" for bit in row] for row in rows]))
    mask: NDArray[np.bool_] = np.concatenate(columns, axis=1)[:, :-1].repeat(dot, axis=0).repeat(dot, axis=1)
    return mask

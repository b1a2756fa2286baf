"""Thumbnails of the gallery: one panel of the first figure, since several are too small to be read.

A comment ``# sphinx_gallery_thumbnail_panel = K`` in a script chooses the panel K, from 0 on. Without it the
thumbnail is the last panel with an image, otherwise the last panel.
"""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper
from sphinx_gallery.utils import scale_image

#: The folder, in that of an example's images, for the panel of its first figure.
PANELS = "panels"
#: Width and height of thumbnails, as in the style sheet of sphinx-gallery.
SIZE = (320, 224)
DPI = 200
CHOICE = re.compile(r"^# sphinx_gallery_thumbnail_panel = (\d+)$", re.M)


def chosen(panels: list[Axes], script: Path) -> Axes:
    """Return the panel for the thumbnail of a script."""
    if found := CHOICE.search(script.read_text("utf-8")):
        return panels[int(found[1])]
    return ([panel for panel in panels if panel.images] or panels)[-1]


def save_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save all figures as sphinx-gallery does, and one panel of the first if it has several."""
    paths = block_vars["image_path_iterator"]
    if len(paths) == 0 and (numbers := plt.get_fignums()):
        figure = plt.figure(numbers[0])
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        if len(panels) > 1:
            folder = Path(paths.image_path).parent / PANELS
            folder.mkdir(parents=True, exist_ok=True)
            figure.canvas.draw()
            script = Path(block_vars["src_file"])
            box = (
                chosen(panels, script)
                .get_tightbbox()
                .padded(4)
                .transformed(figure.dpi_scale_trans.inverted())
            )
            figure.savefig(folder / f"sphx_glr_{script.stem}_thumb.png", bbox_inches=box, dpi=DPI)
    found: str = matplotlib_scraper(block, block_vars, gallery_conf)
    return found


def write_thumbnails(app: Sphinx) -> None:
    """Put the panels in place of the thumbnails."""
    for panel in Path(app.srcdir).glob(f"auto_gallery/*/images/{PANELS}/*.png"):
        scale_image(panel, panel.parent.parent / "thumb" / panel.name, *SIZE)


def setup(app: Sphinx) -> None:
    """Connect to the build, after sphinx-gallery."""
    app.connect("builder-inited", write_thumbnails, priority=900)

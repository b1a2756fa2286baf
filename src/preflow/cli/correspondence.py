"""The commands that match the pixels of two images: stereo and optical flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .arguments import device_option, threads_option, time_limit_option
from .files import check_outputs
from .session import TIME_LIMIT_REACHED, Command, solver_progress, timed

if TYPE_CHECKING:
    from ..method_names import DeviceName
    from ..vision.expansion import Labelling

scale_option = click.option(
    "--scale/--no-scale",
    default=True,
    show_default=True,
    help="Write into the picture how many pixels its colours are.",
)
show_option = click.option("--show", is_flag=True, help="Print sizes and times as well.")
out_option = click.option("--out", "-o", required=True, metavar="PNG", help="Picture to write.")
solver_option = click.option(
    "--solver",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="Solver of minimum cuts (assignments): see `preflow methods`.",
)
#: Diameter of the colour wheel in the picture of a flow, as a fraction of the shorter side.
WHEEL = 0.15


@click.command(
    cls=Command,
    demos={
        "wall": "left.png right.png --max-disparity 16 --out demo-depth.png",
    },
)
@click.argument("left", metavar="LEFT", help="The left view: PNG, JPEG, TIFF ...")
@click.argument("right", metavar="RIGHT", help="The right view, rectified.")
@out_option
@click.option("--max-disparity", type=int, required=True, metavar="PIXELS", help="Largest disparity.")
@click.option("--min-disparity", default=0, show_default=True, metavar="PIXELS", help="Least disparity.")
@click.option("--smoothness", default=25.0, show_default=True, help="Weight of smoothness against likeness.")
@click.option(
    "--occlusions/--no-occlusions",
    default=True,
    show_default=True,
    help="Find pixels that the right view does not show.",
)
@click.option("--array", metavar="NPY", help="Also write the disparities as numbers.")
@solver_option
@device_option
@threads_option
@time_limit_option
@scale_option
@show_option
def stereo(
    left: str,
    right: str,
    *,
    out: str,
    max_disparity: int,
    min_disparity: int,
    smoothness: float,
    occlusions: bool,
    array: str | None,
    solver: str,
    device: DeviceName,
    threads: int | None,
    time_limit: float | None,
    scale: bool,
    show: bool,
) -> None:
    """Find the disparities of a rectified stereo pair.

    Pixel (x, y) of the left view is (x - disparity, y) of the right one.
    The picture is yellow where things are near, blue where they are far;
    the bar on its right says how many pixels that is.

    Disparities are labels, chosen by alpha-expansion: one minimum cut for
    each, a few times over (Boykov, Veksler and Zabih 2001).

    For example:

      preflow stereo left.png right.png --max-disparity 64 --out depth.png
    """
    _check_endings(pictures=[out], arrays=[array])
    check_outputs([out, array], [left, right])

    import numpy as np

    from ..io.files import replacing
    from ..vision import disparity_picture, match_stereo, read_image, write_image

    seconds: dict[str, float] = {}
    with timed(seconds, "read", "reading the views"):
        views = read_image(left), read_image(right)
    with solver_progress() as progress:
        result = match_stereo(
            *views,
            max_disparity,
            min_disparity=min_disparity,
            smoothness=smoothness,
            occlusions=occlusions,
            method=solver,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    with timed(seconds, "write", f"writing {out}"):
        write_image(out, disparity_picture(result.disparity, bar=scale))
        if array is not None:
            with replacing(array) as file:
                np.save(file, result.disparity)
    labellings = {"left": result.left}
    if result.right is not None:
        labellings["right"] = result.right
    low, high = float(result.disparity.min()), float(result.disparity.max())
    rows = [("disparity", f"{low:.2f} to {high:.2f} pixels")]
    if occlusions:
        rows.append(("occluded", f"{result.occluded.mean():.1%} of the left view"))
    if show:
        rows += _sizes(result.disparity.shape, labellings) + _times(seconds, result.seconds)
    _report(rows, [out, array], labellings, time_limit)


@click.command(
    cls=Command,
    demos={
        "camera": "frame10.png frame11.png --max-displacement 4 --truth flow10.flo --out demo-flow.png",
    },
)
@click.argument("reference", metavar="FRAME", help="A frame: PNG, JPEG, TIFF ...")
@click.argument("moving", metavar="NEXT", help="The next frame.")
@out_option
@click.option("--flo", metavar="FLO", help="Also write the flow as numbers.")
@click.option("--truth", metavar="FLO", help="Compare with this flow: mean endpoint error.")
@click.option(
    "--method",
    default="expansion",
    show_default=True,
    metavar="expansion|assignment",
    help="Label the frame, or match patches.",
)
@click.option(
    "--max-displacement",
    default=16,
    show_default=True,
    metavar="PIXELS",
    help="Largest motion along an axis.",
)
@click.option(
    "--smoothness",
    default=50.0,
    show_default=True,
    help="For expansion: weight of smoothness against likeness.",
)
@click.option(
    "--patch", default=8, show_default=True, metavar="PIXELS", help="For assignment: side, 2 to 30."
)
@solver_option
@device_option
@threads_option
@time_limit_option
@scale_option
@show_option
def optical_flow(
    reference: str,
    moving: str,
    *,
    out: str,
    flo: str | None,
    truth: str | None,
    method: str,
    max_displacement: int,
    smoothness: float,
    patch: int,
    solver: str,
    device: DeviceName,
    threads: int | None,
    time_limit: float | None,
    scale: bool,
    show: bool,
) -> None:
    """Find the motion of pixels from frame to frame.

    In the picture the hue is the direction, as on the wheel in its lower
    right corner, and strong colours are fast. Beside the wheel is the
    largest motion.

    Expansion labels pixels with displacements by minimum cuts (Boykov,
    Veksler and Zabih 2001). Assignment matches the pixels of small
    patches one to one, at the least total cost (Łupińska's motive).

    For example:

      preflow optical-flow frame10.png frame11.png --out flow.png --show
      preflow optical-flow frame10.png frame11.png --out flow.png
        --method assignment --flo flow.flo --truth flow10.flo
    """
    _check_endings(pictures=[out], flows=[flo])
    check_outputs([out, flo], [reference, moving, truth])

    from ..io.flo import read_flo, write_flo
    from ..vision import endpoint_error, find_optical_flow, flow_picture, read_image, write_image

    seconds: dict[str, float] = {}
    with timed(seconds, "read", "reading the frames"):
        frames = read_image(reference), read_image(moving)
        right = None if truth is None else read_flo(truth)
        if right is not None and right.shape[1:] != frames[0].shape[:2]:
            raise InvalidInputError(
                f"{truth} is {right.shape[2]} x {right.shape[1]} pixels, "
                f"{reference} is {frames[0].shape[1]} x {frames[0].shape[0]}"
            )
    with solver_progress() as progress:
        result = find_optical_flow(
            *frames,
            method=method,
            max_displacement=max_displacement,
            smoothness=smoothness,
            patch=patch,
            solver=solver,
            device=device,
            threads=threads,
            time_limit=time_limit,
            progress=progress,
        )
    with timed(seconds, "write", f"writing {out}"):
        wheel = round(WHEEL * min(result.flow.shape[1:]))
        write_image(out, flow_picture(result.flow, wheel=wheel, scale=scale))
        if flo is not None:
            write_flo(flo, result.flow)
    labellings = {} if result.labelling is None else {"labelling": result.labelling}
    speed = (result.flow**2).sum(axis=0) ** 0.5
    rows = [("motion", f"{speed.mean():.2f} pixels on average, {speed.max():.2f} at most")]
    if right is not None:
        rows.append(("endpoint error", f"{endpoint_error(result.flow, right):.3f} pixels on average"))
    if show:
        rows += _sizes(speed.shape, labellings)
        if result.assignments:
            rows.append(("assignments", f"{result.assignments:,} of {patch * patch} pixels"))
        rows += _times(seconds, result.seconds)
    _report(rows, [out, flo], labellings, time_limit)


def _check_endings(
    pictures: Iterable[str], flows: Iterable[str | None] = (), arrays: Iterable[str | None] = ()
) -> None:
    """Raise InvalidInputError for names of the wrong kind."""
    for names, ending, what in (
        (pictures, ".png", "a picture"),
        (flows, ".flo", "a flow"),
        (arrays, ".npy", "an array"),
    ):
        for name in filter(None, names):
            if not name.lower().endswith(ending):
                raise InvalidInputError(f"{name}: the name of {what} to write ends in {ending}")


def _sizes(shape: tuple[int, ...], labellings: Mapping[str, Labelling]) -> list[tuple[str, str]]:
    rows = [("image", f"{shape[1]:,} x {shape[0]:,} pixels")]
    for name, labelling in labellings.items():
        text = f"{labelling.energy_terms.num_labels} labels, {labelling.moves} minimum cuts"
        rows.append((name, f"{text} in {labelling.sweeps} sweeps, energy {labelling.energy:,}"))
    return rows


def _times(outside: Mapping[str, float], inside: Mapping[str, float]) -> list[tuple[str, str]]:
    times = {"read": outside["read"], **inside, "write": outside["write"]}
    return [("time", ", ".join(f"{phase} {time:.3g} s" for phase, time in times.items()))]


def _report(
    rows: list[tuple[str, str]],
    written: Iterable[str | None],
    labellings: Mapping[str, Labelling],
    time_limit: float | None,
) -> None:
    from .reports import aligned

    stopped = any(labelling.stopped for labelling in labellings.values())
    if stopped:
        rows.append(("status", f"stopped at the time limit of {time_limit:g} s"))
    click.echo("\n".join(aligned([*rows, ("wrote", ", ".join(filter(None, written)))])))
    if stopped:
        raise Exit(TIME_LIMIT_REACHED)

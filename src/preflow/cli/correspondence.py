"""The commands that match the pixels of two images: stereo and optical flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from ..errors import InvalidInputError
from .files import check_ending, check_outputs, write_array
from .session import TIME_LIMIT_REACHED, Command, Steps

if TYPE_CHECKING:
    from ..vision.expansion import Labelling

#: Diameter of the colour wheel in the picture of a flow, as a fraction of the shorter side.
WHEEL = 0.15


def picture(*, out: str, scale: bool = True, show: bool = False) -> None:
    """Options of both commands.

    Parameters
    ----------
    out : PNG
        Picture to write.
    scale
        Write into the picture how many pixels its colours are.
    show
        Print sizes and times as well.
    """


@click.command(
    cls=Command,
    like=[picture, "preflow.vision.match_stereo"],
    without=["method", "max_sweeps"],
    demos={"wall": "left.png right.png --max-disparity 16 --out demo-depth.png"},
)
def stereo(
    left: str,
    right: str,
    *,
    array: str | None = None,
    solver: str = "auto",
    out: str,
    scale: bool,
    show: bool,
    max_disparity: int,
    **solving: Any,
) -> None:
    """Find the disparities of a rectified stereo pair.

    Pixel (x, y) of the left view is (x - disparity, y) of the right one.
    The picture is yellow where things are near, blue where they are far;
    the bar on its right says how many pixels that is.

    Disparities are labels, chosen by alpha-expansion: one minimum cut for
    each, a few times over (Boykov, Veksler and Zabih 2001).

    For example:

      preflow stereo left.png right.png --max-disparity 64 --out depth.png

    Parameters
    ----------
    left : LEFT
        The left view: PNG, JPEG, TIFF ...
    right : RIGHT
        The right view, rectified.
    array : NPY
        Also write the disparities as numbers.
    solver : NAME
        Solver of minimum cuts: see `preflow methods`.
    """
    check_ending(out, "a picture", ".png")
    check_ending(array, "an array", ".npy")
    check_outputs([out, array], [left, right])

    from ..vision import disparity_picture, match_stereo, read_image, write_image

    steps = Steps()
    with steps.timed("read", "reading the views"):
        views = read_image(left), read_image(right)
    result = steps.solve("match", match_stereo, *views, max_disparity, method=solver, **solving)
    with steps.timed("write", f"writing {out}"):
        write_image(out, disparity_picture(result.disparity, bar=scale))
        if array is not None:
            write_array(array, result.disparity)
    labellings = {"left": result.left}
    if result.right is not None:
        labellings["right"] = result.right
    low, high = float(result.disparity.min()), float(result.disparity.max())
    rows = [("disparity", f"{low:.2f} to {high:.2f} pixels")]
    if result.right is not None:
        rows.append(("occluded", f"{result.occluded.mean():.1%} of the left view"))
    if show:
        rows += _sizes(result.disparity.shape, labellings) + _times(steps.seconds, result.seconds)
    _report(rows, [out, array], labellings, solving["time_limit"])


@click.command(
    cls=Command,
    like=[picture, "preflow.vision.find_optical_flow"],
    without=["max_sweeps"],
    demos={"camera": "frame10.png frame11.png --max-displacement 4 --truth flow10.flo --out demo-flow.png"},
)
def optical_flow(
    reference: str,
    moving: str,
    *,
    flo: str | None = None,
    truth: str | None = None,
    out: str,
    scale: bool,
    show: bool,
    **solving: Any,
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

    Parameters
    ----------
    reference : FRAME
        A frame: PNG, JPEG, TIFF ...
    moving : NEXT
        The next frame.
    flo : FLO
        Also write the flow as numbers.
    truth : FLO
        Compare with this flow: mean endpoint error.
    """
    check_ending(out, "a picture", ".png")
    check_ending(flo, "a flow", ".flo")
    check_outputs([out, flo], [reference, moving, truth])

    from ..io.flo import read_flo, write_flo
    from ..vision import endpoint_error, find_optical_flow, flow_picture, read_image, write_image

    steps = Steps()
    with steps.timed("read", "reading the frames"):
        frames = read_image(reference), read_image(moving)
        right = None if truth is None else read_flo(truth)
        if right is not None and right.shape[1:] != frames[0].shape[:2]:
            raise InvalidInputError(
                f"{truth} is {right.shape[2]} x {right.shape[1]} pixels, "
                f"{reference} is {frames[0].shape[1]} x {frames[0].shape[0]}"
            )
    result = steps.solve("match", find_optical_flow, *frames, **solving)
    with steps.timed("write", f"writing {out}"):
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
            rows.append(("assignments", f"{result.assignments:,} of {solving['patch'] ** 2} pixels"))
        rows += _times(steps.seconds, result.seconds)
    _report(rows, [out, flo], labellings, solving["time_limit"])


def _sizes(shape: tuple[int, ...], labellings: Mapping[str, Labelling]) -> list[tuple[str, str]]:
    rows = [("image", f"{shape[1]:,} x {shape[0]:,} pixels")]
    for name, labelling in labellings.items():
        text = f"{labelling.energy_terms.num_labels} labels, {labelling.moves} minimum cuts"
        rows.append((name, f"{text} in {labelling.sweeps} sweeps, energy {labelling.energy:,}"))
    return rows


def _times(outside: Mapping[str, float], inside: Mapping[str, float]) -> list[tuple[str, str]]:
    from .reports import times

    return [("time", times({"read": outside["read"], **inside, "write": outside["write"]}))]


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

"""The commands that find where the pixels of an image are in another: stereo and optical flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidInputError
from .arguments import Device, Threads, TimeLimit
from .files import check_outputs
from .session import TIME_LIMIT_REACHED, timed

if TYPE_CHECKING:
    from ..vision.expansion import Labelling

Show = Annotated[bool, typer.Option("--show", help="Print sizes and times as well.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="PNG", help="Picture to write.")]
Solver = Annotated[
    str, typer.Option(metavar="NAME", help="Solver of minimum cuts (assignments): see `preflow methods`.")
]
#: Diameter of the colour wheel in the picture of a flow, as a share of its shorter side.
WHEEL = 0.15


def stereo(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="The left view: PNG, JPEG, TIFF ...")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The right view, rectified.")],
    out: Out,
    max_disparity: Annotated[int, typer.Option(metavar="PIXELS", help="Largest disparity looked for.")],
    min_disparity: Annotated[int, typer.Option(metavar="PIXELS", help="Least disparity.")] = 0,
    smoothness: Annotated[float, typer.Option(help="Weight of smoothness against likeness.")] = 25.0,
    occlusions: Annotated[
        bool, typer.Option("--occlusions/--no-occlusions", help="Find what the right view does not see.")
    ] = True,
    array: Annotated[
        str | None, typer.Option(metavar="NPY", help="Write the disparities as numbers, too.")
    ] = None,
    solver: Solver = "auto",
    device: Device = "auto",
    threads: Threads = None,
    time_limit: TimeLimit = None,
    show: Show = False,
) -> None:
    """Find the disparity of every pixel of a rectified stereo pair.

    Pixel (x, y) of the left view is (x - disparity, y) of the right one.
    The picture is yellow where things are near, blue where they are far.

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
    with timed(seconds, "solve", "labelling disparities"):
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
        )
    with timed(seconds, "write", f"writing {out}"):
        write_image(out, disparity_picture(result.disparity))
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


def optical_flow(
    reference: Annotated[str, typer.Argument(metavar="FRAME", help="A frame: PNG, JPEG, TIFF ...")],
    moving: Annotated[str, typer.Argument(metavar="NEXT", help="The next frame.")],
    out: Out,
    flo: Annotated[str | None, typer.Option(metavar="FLO", help="Write the flow as numbers, too.")] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="FLO", help="Compare with this flow: mean endpoint error.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(metavar="expansion|assignment", help="Label the frame, or match patches."),
    ] = "expansion",
    max_displacement: Annotated[
        int, typer.Option(metavar="PIXELS", help="Largest motion along an axis.")
    ] = 16,
    smoothness: Annotated[
        float, typer.Option(help="Of expansion: weight of smoothness against likeness.")
    ] = 50.0,
    patch: Annotated[int, typer.Option(metavar="PIXELS", help="Of assignment: side, 2 to 30.")] = 8,
    solver: Solver = "auto",
    device: Device = "auto",
    threads: Threads = None,
    time_limit: TimeLimit = None,
    show: Show = False,
) -> None:
    """Find the motion of every pixel from one frame to the next.

    In the picture the hue is the direction, as on the wheel in its lower
    right corner, and strong colours are fast.

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
    with timed(seconds, "solve", "finding motions"):
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
        )
    with timed(seconds, "write", f"writing {out}"):
        write_image(out, flow_picture(result.flow, wheel=round(WHEEL * min(result.flow.shape[1:]))))
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
    typer.echo("\n".join(aligned([*rows, ("wrote", ", ".join(filter(None, written)))])))
    if stopped:
        raise typer.Exit(TIME_LIMIT_REACHED)

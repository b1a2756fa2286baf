"""Arguments and options that several commands share."""

from __future__ import annotations

import click

from ..errors import InvalidInputError

problem_file = click.argument(
    "file",
    metavar="FILE",
    help="DIMACS .max, .min or .asn, perhaps .gz, .npz, or a table .csv, .tsv or .parquet; - reads DIMACS "
    "from stdin.",
)
method_option = click.option(
    "--method", default="auto", show_default=True, help="A name from `preflow methods`, or auto."
)
method_options = click.option(
    "--option",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the method, A:B for a pair; may be repeated.",
)
device_option = click.option(
    "--device", default="auto", show_default=True, metavar="auto|cpu|cuda", help="Device to solve on."
)
threads_option = click.option(
    "--threads", type=int, help="Most CPU threads; default: all that the method can use."
)
time_limit_option = click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Stop after this time with the best result found, exit code 3.",
)


def _two_names(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[str, str] | None:
    """Return the two names of columns in an option."""
    if text is None:
        return None
    names = text.split(",")
    if len(names) != 2 or not all(name.strip() for name in names):
        raise InvalidInputError(f"--ends is two names of columns, FIRST,SECOND, got {text!r}")
    return names[0], names[1]


ends_option = click.option(
    "--ends",
    metavar="FIRST,SECOND",
    callback=_two_names,
    help="Of a table: the columns of both ends of its rows, where their names do not say so.",
)
verify_option = click.option("--verify", is_flag=True, help="Prove the answer, independently of the solver.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else to stdout."
)

# Options of segmentations

sigma_option = click.option(
    "--sigma", type=float, help="Contrast at which an outline is cheap; inf counts its length only."
)
connectivity_option = click.option(
    "--connectivity",
    type=int,
    metavar="4|8|6|18|26",
    help="Neighbours of a pixel; default: 8, or 26 in a volume.",
)
spacing_option = click.option(
    "--spacing",
    metavar="X,Y[,Z]",
    help="Sides of a pixel, in any unit; default: those in the header of a volume.",
)
model_option = click.option(
    "--model",
    default="histogram",
    show_default=True,
    metavar="histogram|mixture",
    help="Model of the seeds' colours.",
)
prior_option = click.option(
    "--prior",
    default=0.5,
    show_default=True,
    help="Probability that a pixel belongs to the object before its colour is known.",
)

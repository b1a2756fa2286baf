"""The options of every command: no spelling, default or kind of value is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import click
import pytest

from preflow.cli import app
from tests.support.paths import ROOT

RECORD = ROOT / "tests" / "data" / "command_line.json"


def parameter(context: click.Context, each: click.Parameter) -> str:
    """Return the spellings of an option or an argument, its kind, and its default."""
    kind = getattr(each.type, "name", "text")
    default = each.to_info_dict().get("default")
    if isinstance(each, click.Option):
        spelled = " ".join([*each.opts, *each.secondary_opts])
        kind = "flag" if each.is_flag else kind
    else:
        spelled = each.make_metavar(context)
    default = None if each.multiple or each.nargs == -1 or default is False else default
    notes = ["required"] * each.required + ["repeated"] * (each.multiple or each.nargs == -1)
    kind = "text" if kind == "choice" else kind
    return ", ".join([spelled, kind, *notes] + ([] if default is None else [f"default {default}"]))


def listing() -> dict[str, list[str]]:
    """Return what every command takes."""
    found: dict[str, list[str]] = {}
    commands: dict[str, Any] = {"preflow": app, **app.commands}
    for name, command in commands.items():
        context = click.Context(command)
        found[name] = sorted(parameter(context, each) for each in command.get_params(context))
    return found


def test_options_are_the_recorded_ones() -> None:
    recorded = json.loads(RECORD.read_text("utf-8"))
    assert listing() == recorded, "python -m tests.cli.test_listing records new ones"


@pytest.mark.parametrize("name", [name for name, command in app.commands.items() if not command.hidden])
def test_every_option_is_explained(name: str) -> None:
    command = app.commands[name]
    for each in command.get_params(click.Context(command)):
        help_text = getattr(each, "help", None)
        assert help_text
        assert not re.search(r"`\w+`|:\w+:`|\bAs (for|in)\b", help_text)


def test_help_texts_are_those_of_the_functions() -> None:
    """References are followed, and spellings of Python become those of options."""
    command = app.commands["segment-labels"]
    texts = {each.name: getattr(each, "help", "") for each in command.get_params(click.Context(command))}
    assert texts["connectivity"].startswith("4 or 8 neighbours in an image")
    assert texts["connectivity"].endswith("2 in a signal, 8 in a series of volumes.")
    assert texts["method"] == 'A name from `preflow methods grid_cut`, or "auto".'
    assert "if there is one and --threads is not given" in texts["device"]


if __name__ == "__main__":
    RECORD.write_text(json.dumps(listing(), indent=0, sort_keys=True) + "\n", "utf-8")

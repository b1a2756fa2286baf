"""The places that name the version, the address and the platforms of the package agree.

On a commit with a tag, the tag must be the version, the notes must be written, and no placeholder is left.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import preflow

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
URLS = PROJECT["project"].get("urls", {})

pytestmark = pytest.mark.fast


def text(name: str) -> str:
    return ROOT.joinpath(name).read_text("utf-8")


def entry(name: str, key: str) -> str | None:
    """Return the value of a key of a YAML file that is written on one line."""
    found = re.search(rf"^ *{key}: \"?([^\"\n]+)\"?$", text(name), re.M)
    return found and found[1]


def releases() -> list[tuple[str, str]]:
    """Return number and date of each release in the changelog, the last one first."""
    return re.findall(r"^## (\d\S*) \((\d{4}-\d\d-\d\d)\)$", text("CHANGELOG.md"), re.M)


def tag() -> str | None:
    """Return the tag of this commit that names a version."""
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        return os.environ["GITHUB_REF_NAME"]
    done = subprocess.run(
        ["git", "tag", "--points-at", "HEAD", "v*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.split()[0] if done.returncode == 0 and done.stdout.strip() else None


def test_places_with_the_version_agree() -> None:
    version = preflow.__version__
    assert entry("CITATION.cff", "version") == version
    assert entry("recipe/recipe.yaml", "version") == version
    if ".dev" in version:
        assert all(number != version.split(".dev")[0] for number, _ in releases())
        assert entry("CITATION.cff", "date-released") is None
    else:
        assert releases(), "the changelog has no section of this version"
        assert releases()[0] == (version, entry("CITATION.cff", "date-released"))


def test_a_tag_is_the_version_and_nothing_is_left_to_write() -> None:
    name = tag()
    if name is None:
        return
    assert name == f"v{preflow.__version__}"
    unreleased = text("CHANGELOG.md").split("## Unreleased", 1)[-1].split("\n## ", 1)[0]
    assert not unreleased.strip(), "what is below Unreleased belongs to this version"
    assert "Homepage" in URLS, "pyproject.toml has no address of the project yet"


def test_places_with_the_list_of_problems_agree() -> None:
    description = PROJECT["project"]["description"]
    assert text("src/preflow/__init__.py").startswith(f'"""{description}.')
    assert entry("recipe/recipe.yaml", "summary") == description
    problems = description.removesuffix(", fast and proved")
    assert entry("CITATION.cff", "title") == f"preflow: {problems[0].lower()}{problems[1:]}"
    sentence = text("README.md").split("\n\n")[1]
    assert text("docs/index.md").split("\n\n")[1] == sentence
    for problem in re.split(", | and ", description.lower())[:6]:
        assert problem in sentence.lower()


def test_addresses_agree() -> None:
    """No place has an address as long as the project has none."""
    assert URLS.get("Homepage") == entry("CITATION.cff", "url") == entry("recipe/recipe.yaml", "homepage")
    assert URLS.get("Source") == entry("CITATION.cff", "repository-code")
    assert URLS.get("Source") == entry("recipe/recipe.yaml", "repository")
    assert URLS.get("Documentation") == entry("recipe/recipe.yaml", "documentation")


#: Packages that conda-forge has under another name.
CONDA_NAMES = {"xxhash": "python-xxhash"}


def test_the_recipe_has_the_requirements_of_the_package() -> None:
    """With the bounds, and the names that conda-forge has."""
    recipe = text("recipe/recipe.yaml")
    needed = PROJECT["project"]["dependencies"]
    built = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["compiler"]
    host = recipe.split("  host:\n")[1].split("  run:\n")[0]
    run = recipe.split("  run:\n")[1].split("  run_constraints:\n")[0]
    # The build imports preflow, as hatch_build.py says to pip.
    for requirements, part in (
        ((*built, *needed, *PROJECT["build-system"]["requires"]), host),
        (needed, run),
    ):
        for each in requirements:
            name, bound = re.fullmatch(r"(\w+)([<>=].+)", each).groups()  # type: ignore[union-attr]
            called = CONDA_NAMES.get(name, name.replace("_", "-"))
            assert f"- {called} {bound}\n" in part, each


def test_a_build_in_isolation_has_what_kernels_import() -> None:
    """pip installs only the compiler, and NumPy with it, into the environment that compiles kernels."""
    settings = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    there, needed = (
        {re.split("[<>=]", each)[0] for each in listed}
        for listed in (settings["compiler"], PROJECT["project"]["dependencies"])
    )
    code = f"""if 1:
        import importlib, sys
        sys.modules.update(dict.fromkeys({sorted(needed - there - {"numpy"})}))  # None: cannot be imported
        import build, translate
        import preflow.kernels.cache_folder, preflow.kernels.fingerprint, preflow.kernels.library_file
        for name in build.read_kinds(build.KINDS):
            importlib.import_module(name.partition(":")[0])
    """
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "native")])
    environment = {**os.environ, "PYTHONPATH": path, "PREFLOW_NATIVE": "0", "NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


#: Each row of the table of platforms: the runner of the tests, and the wheel that cibuildwheel makes.
ROWS = {
    "Linux, x86-64": ("ubuntu-24.04", "manylinux_x86_64"),
    "Linux, AArch64": ("ubuntu-24.04-arm", "manylinux_aarch64"),
    "macOS 14 or later, Apple silicon": ("macos-14", "macosx_arm64"),
    "Windows, x86-64": ("windows-2022", "win_amd64"),
}


def test_the_table_of_platforms_is_what_the_workflows_build_and_test() -> None:
    table = {
        cells[0]: cells[1:]
        for line in text("docs/getting_started.md").split("### What runs where")[1].splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 4
    }
    tests, wheels = text(".github/workflows/tests.yml"), text(".github/workflows/wheels.yml")
    runners = re.findall(r"runner: \[(.*)\]", tests)[0].split(", ")
    pythons = re.findall(r"python: \[(.*)\]", tests)[0].replace('"', "")
    assert runners == [runner for runner, _ in ROWS.values()]
    assert re.findall(r"runner: (\S+), build: cp311-(\S+) ", wheels) == list(ROWS.values())
    assert [name for name, cells in table.items() if cells[0] == "compiled"] == list(ROWS)
    for name in ROWS:
        assert table[name][1] == pythons
    classifiers = PROJECT["project"]["classifiers"]
    named = [each.rsplit(" ", 1)[1] for each in classifiers if "Python :: 3." in each]
    assert ", ".join(named) == pythons
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"

"""The command ``fetch``: the matrices of published experiments."""

from __future__ import annotations

import click
from click.exceptions import Exit

from ..errors import InvalidInputError, ParseError, StorageError
from .files import make_folder
from .session import BAD_INPUT, Command, say, working


@click.command(cls=Command)
def fetch(
    set_name: str,
    names: tuple[str, ...],
    *,
    folder: str | None = None,
    mirror: str | None = None,
    list_: bool = False,
) -> None:
    """Fetch the matrices of a published experiment.

    deveci28 are the 28 matrices of Deveci et al. (2013), Table I: 5 GB of
    archives from the SuiteSparse Matrix Collection, 15 GB of Matrix Market
    files. Matrices in the folder are not fetched again, and an archive that
    was cut off is fetched from there on.

    Each file must have the published rows, columns and entries. The
    collection has no checksums: the first fetch writes SHA256SUMS into the
    folder, and later ones compare.

    Experiments run without the matrices, too: generated graphs of the same
    kind and size replace them, with names that end in "-like".

    For example:

      preflow fetch deveci28 --list
      preflow fetch deveci28 amazon0505 roadNet-PA --folder matrices
      preflow fetch deveci28 --mirror file:///media/copy/MM

    Parameters
    ----------
    set_name : SET
        deveci28.
    names : MATRIX
        Matrices of the set; default: all.
    folder : DIR
        Folder to write into; default: one with the name of the set, here.
    mirror : ADDRESS
        Address before the group of a matrix: https:, http: or file:. Default: that of the collection.
    list_
        Print the matrices and their addresses, fetch nothing.
    """
    from ..io.matrix_collection import COLLECTION, SETS, fetch_matrix

    if set_name not in SETS:
        raise InvalidInputError(f"there is no set {set_name!r}: there are {', '.join(SETS)}")
    matrices = SETS[set_name]
    if unknown := [name for name in names if name not in matrices]:
        raise InvalidInputError(f"{set_name} has no matrix {unknown[0]!r}: it has {', '.join(matrices)}")
    address = COLLECTION if mirror is None else mirror.rstrip("/")
    chosen = list(dict.fromkeys(names)) or list(matrices)
    if list_:
        click.echo("\n".join(f"{address}/{matrices[name].group}/{name}.tar.gz" for name in chosen))
        return
    target = make_folder(folder or set_name)
    failed = 0
    for number, name in enumerate(chosen, 1):
        try:
            with working(f"fetching {name}, {number} of {len(chosen)}"):
                path = fetch_matrix(name, matrices[name], target, address)
        except (InvalidInputError, ParseError) as error:  # the next matrix may be right
            say(f"error: {error}")
            failed += 1
        except StorageError as error:  # the next one fails in the same way
            hint = "what was fetched is kept, and experiments replace what is missing by generated graphs"
            raise StorageError(f"{error}; {hint}") from error
        else:
            click.echo(str(path))
    if failed:
        say(f"{failed} of {len(chosen)} matrices could not be fetched")
        raise Exit(BAD_INPUT)

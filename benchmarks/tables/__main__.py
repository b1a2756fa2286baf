"""Write the table of the README, or print a table or the list of records: see :mod:`benchmarks.tables`."""

import sys

from .pages import README, TABLES, filled, index


def main() -> None:
    """Run the command."""
    if names := sys.argv[1:]:
        for name in names:
            print(index() if name == "records" else f"{TABLES[name].markdown()}\n{TABLES[name].caption()}\n")
        return
    text = README.read_text("utf-8")
    if (new := filled(text)) != text:
        README.write_text(new, "utf-8")
        print("wrote README.md")


if __name__ == "__main__":
    main()

"""Write all tables: see :mod:`benchmarks.tables`."""

from .pages import PAGES, filled
from .table import ROOT


def main() -> None:
    """Write the pages whose tables have changed."""
    for page in PAGES:
        text = page.read_text("utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, "utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

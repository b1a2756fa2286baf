"""Print a ``.cu`` file as it is compiled, with headers and declarations: ``python -m preflow.cuda FILE``."""

import sys
from pathlib import Path

from .structs import source_with_headers

for name in sys.argv[1:]:
    print(source_with_headers(Path(name).resolve()))

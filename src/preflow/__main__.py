"""``python -m preflow`` is the command ``preflow``."""

from .cli import main

if __name__ == "__main__":
    main()

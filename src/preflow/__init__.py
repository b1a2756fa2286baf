"""Maximum flow, minimum cut, matching and assignment, fast and proved."""

__version__ = "0.1.0.dev0"

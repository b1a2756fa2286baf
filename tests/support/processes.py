"""Child processes that tests start."""

from __future__ import annotations

import signal


def obey_ctrl_c() -> None:
    """Let a child process obey SIGINT, which children of a background process ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

"""Warnings that point to the caller's line, however deep in shaff they arise."""

from __future__ import annotations

import sys
import warnings


def warn(message: str | Warning) -> None:
    """Warn at the innermost line outside of shaff."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "shaff" or module.startswith("shaff.")

"""Smooth regressions, each row predicted without itself."""

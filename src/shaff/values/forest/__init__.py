"""Projected random forests."""

"""Projected boosting."""

"""Regressions with a link: means of counts and of two classes as functions of a sum of curves."""

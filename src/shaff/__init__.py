"""Shapley effects from data, correct when inputs depend on each other."""

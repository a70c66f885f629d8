"""Categories as numbers: levels ranked by their mean outcome over all rows, as ranger does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem


def order_levels(problem: Problem) -> Problem:
    """The problem with the codes of categories replaced by the rank of their mean y (of the first
    output), as columns of numbers.

    What ranger does with unordered factors (``respect.unordered.factors = "order"``), and the
    paper with it: once, over all rows. The order has seen the rows that are evaluated later.

    Examples
    --------
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.level_order import order_levels
    >>> problem = Problem.of([[0], [1], [2], [0]], [5, 1, 4, 5], categorical=[True])
    >>> order_levels(problem).X.ravel().tolist()
    [2.0, 0.0, 1.0, 2.0]
    """
    if not problem.categorical.any():
        return problem
    X = ordered_rows(level_ranks(problem), problem.X)
    numbers = np.zeros_like(problem.categorical)
    return replace(problem, frame=X, table=replace(problem.table, X=X, categorical=numbers))


def level_ranks(problem: Problem) -> dict[int, FloatArray]:
    """Column of categories -> the rank of each code by its mean y; NaN for one that has no row."""
    ranks = {}
    for j in np.flatnonzero(problem.categorical):
        present = ~np.isnan(problem.X[:, j])
        known, codes = np.unique(problem.X[present, j].astype(np.intp), return_inverse=True)
        means = np.bincount(codes, weights=problem.y[present, 0]) / np.bincount(codes)
        rank_of = np.full(int(known.max(initial=-1)) + 1, np.nan)
        rank_of[known] = np.argsort(np.argsort(means, kind="stable"))
        ranks[int(j)] = rank_of
    return ranks


def ordered_rows(ranks: Mapping[int, FloatArray], X: FloatArray) -> FloatArray:
    """Rows with the ranks of their categories in the place of the codes."""
    out = X.copy()
    for j, rank_of in ranks.items():
        present = ~np.isnan(X[:, j])
        out[present, j] = rank_of[X[present, j].astype(np.intp)]
    return out

"""Rows that are equal in all inputs: copies, or one unit that was seen several times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from shaff._util.statistics import normal_scores
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.canonical import distinct_rows
from shaff.data.problem import NothingToExplainError, Problem
from shaff.fitting.checks.residuals import scores, within_groups
from shaff.fitting.facts import Facts, Twins
from shaff.subsets import Subsets
from shaff.values.making import make_values

# Rows that have a twin, as a share of all, and groups of twins, below which they decide nothing.
LEAST_SHARE, LEAST_GROUPS = 0.05, 20
# Rows that are predicted once more, whole groups of them.
MOST_ROWS = 4000
# Chance of a false alarm, and the explained variance from which on too little is left to tell.
LEVEL, NEARLY_ALL = 0.002, 0.9
# The correlation of twins, beyond that of neighbours, from which on they depend on each other. Few
# different rows leave a learner short of what the inputs say, which twins have in common: what is
# added for them, over their number, and the most that is asked for.
# Both sides: `benchmarks.dependence`.
LEAST_CORRELATION, SHORTFALL, MOST_ASKED = 0.1, 30.0, 0.45
# Share of all combinations of the columns' values that rows have, from which on the columns are
# crossed, as the factors of an experiment are: equal rows are then a cell with a mean of its own.
CROSSED = 0.1


def dependent_twins(facts: Facts) -> Twins | None:
    """Return how alike the outcomes of rows are that are equal in all inputs.

    Twins are predicted by learners that have seen none of them. What is left of two twins may be
    alike because the learner falls short, which shows in the nearest rows with other inputs and in
    its own noise; what goes beyond that is dependence. None if there is none.
    """
    problem = facts.task.problem
    if facts.solution is None or problem.row_groups is not None or problem.has_splits:
        return None
    groups = distinct_rows(problem.X)[1]
    size = np.bincount(groups)
    share = float(np.mean(size[groups] > 1))
    if share < LEAST_SHARE or np.count_nonzero(size > 1) < LEAST_GROUPS:
        return None
    if _are_crossed(problem.X, len(size)):
        return None
    return _compared(_some_groups(replace(problem, row_groups=groups)), share)


def _are_crossed(X: FloatArray, n_distinct: int) -> bool:
    """Whether rows have a good part of all combinations of the columns' values."""
    n_values = [len(np.unique(x)) for x in X.T]
    return bool(np.log(n_distinct) > np.log(CROSSED) + np.log(n_values).sum())


def _some_groups(problem: Problem) -> Problem:
    """As many whole groups, in random order, as make up `MOST_ROWS` rows."""
    groups = problem.row_groups
    assert groups is not None
    if len(groups) <= MOST_ROWS:
        return problem
    order = np.random.default_rng(problem.seed).permutation(int(groups.max()) + 1)
    sizes = np.bincount(groups)[order]
    chosen = order[np.cumsum(sizes) <= MOST_ROWS]
    return problem.take(np.flatnonzero(np.isin(groups, chosen)))


def _compared(problem: Problem, share: float) -> Twins | None:
    """Predict rows without their twins, and compare what is left."""
    assert problem.row_groups is not None
    try:
        game = make_values("boosting", problem)
    except NothingToExplainError:
        return None
    full = Subsets.full(len(problem.players))
    values, left = game.values.values(full), problem.y - game.values.predict(full)[0]
    explained, plain = float(values.v[0]), float(values.v_plain[0])
    ranked = scores(left[:, left.var(axis=0).argmax()])
    twins = within_groups(ranked, problem.row_groups)
    noise = (explained - plain) / max(1 - plain, 1e-6)
    near = _of_neighbours(problem, ranked)
    correlation = twins.correlation - max(noise, near, 0.0)
    n_groups = len(np.unique(problem.row_groups))
    asked = min(LEAST_CORRELATION + SHORTFALL / n_groups, MOST_ASKED)
    if explained > NEARLY_ALL or correlation < asked or twins.p_value > LEVEL:
        return None
    return Twins(share, twins.correlation, explained)


def _of_neighbours(problem: Problem, ranked: FloatArray) -> float:
    """Correlation of the scores of rows with those of the nearest rows that have other inputs."""
    groups = problem.row_groups
    assert groups is not None
    first = np.unique(groups, return_index=True)[1]
    size = np.bincount(groups)
    means = np.bincount(groups, ranked) / np.maximum(size, 1)
    points = _places(problem, first)
    nearest = np.asarray(cKDTree(points).query(points, k=2)[1])[:, 1]
    here = means[size > 0]
    return float(np.average(here * here[nearest], weights=size[size > 0]))


def _places(problem: Problem, rows: IntpArray) -> FloatArray:
    """Rows as points: ranks of numbers, and a step apart for other categories."""
    columns = [
        np.eye(int(np.nanmax(x, initial=0.0)) + 2)[np.nan_to_num(x[rows], nan=-1).astype(int)]
        if is_category
        else np.nan_to_num(normal_scores(x, x[rows]))[:, None]
        for x, is_category in zip(problem.X.T, problem.categorical, strict=True)
    ]
    return np.hstack(columns)

"""What half of the rows would have explained: do more rows still help?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray
from shaff.data.folds import Fold, fold_numbers, make_folds
from shaff.data.problem import Problem, Views
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.boosting.fold import in_first_half
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.mixing import Predictions
from shaff.values.smooth.smooth_values import SmoothValues

# Rows, or groups of rows, below which halves tell nothing.
FEWEST_UNITS = 60
# Folds that weigh the parts against each other.
N_FOLDS = 5


def learning_curve(
    problem: Problem, boosting: ProjectedBoosting, smooth: SmoothValues | None = None
) -> tuple[Values, Values] | None:
    """Evaluate all inputs together as the learners do, and by learners of half of the rows.

    Each half of the rows is predicted by learners of the other half. These take over the choices
    made on all rows (start, number of trees, functions, products), since the choices cost most.
    Where each fold has screened its columns, boosting sees half of the training rows of each fold,
    and smooth values are left out.

    Parameters
    ----------
    problem : Problem
    boosting : ProjectedBoosting
    smooth : SmoothValues or None
        What is stacked with it.

    Returns
    -------
    pair of Values, or None
        v of the full set by all rows and by halves, with influences. None where halves would not
        be like all rows: few rows, or splits that were given.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.boosting.projected_boosting import ProjectedBoosting
    >>> from shaff.values.halves import learning_curve
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> problem = Problem.of(X, np.sin(3 * X[:, 0]) * X[:, 1], random_state=0)
    >>> now, half = learning_curve(problem, ProjectedBoosting(problem))
    >>> bool(now.v[0] > half.v[0])
    True
    """
    if problem.has_splits or problem.n_units < FEWEST_UNITS:
        return None
    full = Subsets.full(len(problem.players))
    halves = make_folds(len(problem.X), 2, problem.row_groups, problem.seed)
    split = replace(problem, cv=[(half.train, half.test) for half in halves])
    if problem.views is not None:
        split = _half_of_each_fold(problem, problem.views, boosting.folds)
    now = [boosting.predict(full)]
    with one_blas_thread:
        then = [ProjectedBoosting(split, like=boosting).predict(full)]
    if smooth is not None and problem.views is None:
        now.append(smooth.predict(full))
        then.append(smooth.predict_halves(halves))
    return _evaluate(problem, boosting, now), _evaluate(problem, boosting, then)


def _half_of_each_fold(problem: Problem, views: Views, folds: Sequence[Fold]) -> Problem:
    """The problem with half of the training rows of each fold, which see what all of them see."""
    halves = [fold.train[in_first_half(fold, problem.row_groups)] for fold in folds]
    keys = [Views.key(half, len(problem.X)) for half in halves]
    columns = {key: problem.visible(fold.train) for key, fold in zip(keys, folds, strict=True)}
    splits = [(half, fold.test) for half, fold in zip(halves, folds, strict=True)]
    return replace(problem, cv=splits, views=replace(views, columns={**views.columns, **columns}))


def _evaluate(problem: Problem, boosting: ProjectedBoosting, parts: Sequence[FloatArray]) -> Values:
    """v of the full set by predictions that are stacked."""
    outcome, n_rows = boosting.outcome, len(problem.X)
    fold_of = fold_numbers(make_folds(n_rows, N_FOLDS, problem.row_groups, problem.seed), n_rows)
    means = parts[0]
    if len(parts) > 1:
        means, _ = Predictions(np.stack(parts, axis=1), outcome).combine(fold_of)
    full = Subsets.full(len(problem.players))
    return outcome.evaluate(full, outcome.y - means, influences=True)

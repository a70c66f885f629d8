"""Ridge regressions without a row, or without a group of rows, from one factorisation.

With centred features F, weights w and their sum W, the fit at penalty l is mean(y) + T c / (s + l)
in the eigenvectors V of F' w F: T = F V, c = V' F' w (y - mean), eigenvalues s. The hat matrix is
sqrt(w) (1 1'/W + T (s + l)^-1 T') sqrt(w), with block H_g for the rows that are left out together;
their residuals without themselves are (1 - H_g)^-1 times their residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.ridge import penalised_solve
from shaff._util.typing import BoolArray, FloatArray, IntpArray

# Relative to the sum of the weights; the last leaves nothing but the mean.
# A narrower grid ends at its edge for single columns or for all of them (`benchmarks.truth`).
PENALTIES = np.append(np.logspace(-6, 1, 15), np.inf)
# As everywhere; fewer folds choose penalties on fewer rows (`benchmarks.truth`).
N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class LeaveOutTarget:
    """The outcome to predict, and which rows are left out and judged together.

    Parameters
    ----------
    y : float array of shape (n, n_outputs)
    weight : float array of shape (n,)
    unit_of : int array of shape (n,) or None
        Rows of one unit are left out together; None means each by itself.
    fold_of : int array of shape (n,)
        What is chosen with y, is chosen for a row by the rows of other folds.
    mean : float array of shape (n_outputs,)
        Mean of y over all rows, even if ``y`` holds only some of them.
    total : float
        Sum of the weights of all rows.
    """

    y: FloatArray
    weight: FloatArray
    unit_of: IntpArray | None
    fold_of: IntpArray
    mean: FloatArray
    total: float

    @classmethod
    def of(
        cls,
        y: FloatArray,
        weight: FloatArray | None = None,
        row_groups: npt.NDArray[Any] | None = None,
        fold_of: IntpArray | None = None,
        seed: int = 0,
    ) -> LeaveOutTarget:
        """Fill in what is None: weights of 1, and random folds."""
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        unit_of = None if row_groups is None else np.unique(row_groups, return_inverse=True)[1]
        if fold_of is None:
            fold_of = _random_folds(np.arange(len(y)) if unit_of is None else unit_of, seed)
        mean = np.average(y, axis=0, weights=weight)
        return cls(y, weight, unit_of, fold_of, mean, float(weight.sum()))

    @property
    def copies(self) -> float:
        """Mean weight of the unit that a piece of weight belongs to."""
        unit_of = np.arange(len(self.y)) if self.unit_of is None else self.unit_of
        size = np.bincount(unit_of, weights=self.weight)
        return float(size @ size / size.sum())

    def take(self, rows: BoolArray) -> LeaveOutTarget:
        """Return the target of some rows; units must not be divided."""
        units = None if self.unit_of is None else self.unit_of[rows]
        return replace(
            self,
            y=self.y[rows],
            weight=self.weight[rows],
            unit_of=units,
            fold_of=self.fold_of[rows],
        )


def _random_folds(unit_of: IntpArray, seed: int) -> IntpArray:
    n_units = int(unit_of.max()) + 1
    order = np.random.default_rng(seed).permutation(n_units)
    return np.asarray(order % min(N_FOLDS, n_units), dtype=np.intp)[unit_of]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One set of features in its eigenvectors.

    Parameters
    ----------
    scores : float array of shape (n, rank)
        T above, of the rows that are asked for.
    values : float array of shape (rank,)
        Eigenvalues s.
    moments : float array of shape (rank, n_outputs)
        c above.
    """

    scores: FloatArray
    values: FloatArray
    moments: FloatArray

    @classmethod
    def of(
        cls,
        features: FloatArray,
        target: LeaveOutTarget,
        rows: BoolArray | None = None,
        gram: FloatArray | None = None,
    ) -> Spectrum:
        """Decompose centred features of shape (n_features, n); ``gram`` is F' w F, if known."""
        rows = np.ones(len(target.y), dtype=bool) if rows is None else rows
        if features.shape[0] > features.shape[1] and (target.weight > 0).all():
            return cls._by_rows(features, target, rows)
        gram = (features * target.weight) @ features.T if gram is None else gram
        values, vectors = np.linalg.eigh(gram)
        moments = vectors.T @ (features @ (target.weight[:, None] * (target.y - target.mean)))
        asked = features if rows.all() else features[:, rows]
        return cls(asked.T @ vectors, np.maximum(values, 0.0), moments)

    @classmethod
    def _by_rows(cls, features: FloatArray, target: LeaveOutTarget, rows: BoolArray) -> Spectrum:
        """Decompose in the space of the rows, where these are fewer than the features."""
        root = np.sqrt(target.weight)
        scaled = features * root
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        size = np.sqrt(np.maximum(values, 0.0))
        moments = size[:, None] * (vectors.T @ (root[:, None] * (target.y - target.mean)))
        return cls(vectors[rows] * size / root[rows, None], size**2, moments)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Each row predicted without itself, at several penalties.

    Parameters
    ----------
    residuals : float array of shape (n_penalties, n, n_outputs)
    leverages : float array of shape (n_penalties, n)
        With rows that are left out together, the leverage of the group in the direction of its
        residuals: the sum of e^2 (1 - h) is that of e times the residual of the fit.
    """

    residuals: FloatArray
    leverages: FloatArray

    @classmethod
    def empty(cls, target: LeaveOutTarget) -> LeftOut:
        """Return empty arrays for all penalties, to be filled in."""
        residuals = np.empty((len(PENALTIES), *target.y.shape))
        return cls(residuals, np.empty(residuals.shape[:2]))

    def fill(self, rows: BoolArray, part: LeftOut) -> None:
        """Fill in some rows from another fit."""
        self.residuals[:, rows], self.leverages[:, rows] = part.residuals, part.leverages


def leave_out(
    spectrum: Spectrum, target: LeaveOutTarget, penalties: FloatArray = PENALTIES
) -> LeftOut:
    """Residuals and leverages of the rows of the target, which are those of the scores.

    Penalties are relative to the sum of the weights.
    """
    shrink = 1.0 / (spectrum.values[:, None] + penalties * target.total)
    steps = shrink[:, :, None] * spectrum.moments[:, None, :]
    fit = spectrum.scores @ steps.reshape(len(shrink), steps.shape[1] * steps.shape[2])
    fit = fit.reshape(len(fit), *steps.shape[1:]).transpose(1, 0, 2)
    residuals = (target.y - target.mean) - fit
    if target.unit_of is not None:
        return _leave_out_units(spectrum, target, shrink, residuals)
    leverages = (target.weight[:, None] * (1.0 / target.total + spectrum.scores**2 @ shrink)).T
    return LeftOut(residuals / (1.0 - leverages)[:, :, None], leverages)


def _leave_out_units(
    spectrum: Spectrum, target: LeaveOutTarget, shrink: FloatArray, residuals: FloatArray
) -> LeftOut:
    """Residuals and leverages where rows are left out in units."""
    # The mean is one more feature, one that no penalty reaches.
    scores = np.column_stack([np.ones(len(target.y)), spectrum.scores])
    shrink = np.vstack([np.full(shrink.shape[1], 1.0 / target.total), shrink])
    out = LeftOut(np.empty_like(residuals), np.empty(residuals.shape[:2]))
    for rows in _units_by_size(target.unit_of):
        root = np.sqrt(target.weight[rows])[:, :, None]
        for k, factor in enumerate(shrink.T):
            left = _without(root * scores[rows], factor, root * residuals[k, rows])
            change = scores[rows] @ (factor[:, None] * _inner(root * scores[rows], left))
            out.residuals[k, rows] = residuals[k, rows] + change
            out.leverages[k, rows] = _direction(left, root * change)[:, None]
    return out


def _units_by_size(unit_of: IntpArray | None) -> list[IntpArray]:
    """Rows of the units, shape (n_units, size), for each size."""
    _, unit, size = np.unique(unit_of, return_inverse=True, return_counts=True)  # type: ignore[call-overload]
    units = np.split(np.argsort(unit, kind="stable"), np.cumsum(size)[:-1])
    return [np.stack([units[u] for u in np.flatnonzero(size == s)]) for s in np.unique(size)]


def _without(scores: FloatArray, shrink: FloatArray, residual: FloatArray) -> FloatArray:
    """(1 - H_g)^-1 residual of units of one size, in the smaller of the two spaces."""
    size = scores.shape[1]
    if size <= len(shrink):
        hat = (scores * shrink) @ scores.transpose(0, 2, 1)
        return np.asarray(np.linalg.solve(np.eye(size) - hat, residual), dtype=np.float64)
    scores, shrink = scores[:, :, shrink > 0], shrink[shrink > 0]
    rest = np.diag(1.0 / shrink) - scores.transpose(0, 2, 1) @ scores
    return np.asarray(residual + scores @ np.linalg.solve(rest, _inner(scores, residual)))


def _inner(scores: FloatArray, residual: FloatArray) -> FloatArray:
    return np.asarray(scores.transpose(0, 2, 1) @ residual)


def _direction(left: FloatArray, change: FloatArray) -> FloatArray:
    """Leverage of units in the direction of their residuals."""
    size = (left**2).sum(axis=(1, 2))
    return np.asarray((left * change).sum(axis=(1, 2)) / np.where(size > 0, size, 1.0))


def ridge_slopes(
    features: FloatArray, target: LeaveOutTarget, penalty: float, gram: FloatArray | None = None
) -> FloatArray:
    """Coefficients of centred features, fitted on all rows, shape (n_features, n_outputs)."""
    if not len(features) or not np.isfinite(penalty):
        return np.zeros((len(features), target.y.shape[1]))
    weighted = features * target.weight
    gram = weighted @ features.T if gram is None else gram
    return penalised_solve(gram, weighted @ (target.y - target.mean), penalty * target.total)


@dataclass(frozen=True, eq=False)
class Choice:
    """What the other folds choose for each row, and what all of them choose for new rows.

    Parameters
    ----------
    residuals : float array of shape (n, n_outputs)
    leverages : float array of shape (n,)
    model : int
        The model that all folds choose together.
    penalty : float
    """

    residuals: FloatArray
    leverages: FloatArray
    model: int
    penalty: float

    def error(self, target: LeaveOutTarget) -> float:
        """Summed squared error of the rows without themselves."""
        return float(target.weight @ (self.residuals**2).sum(axis=1))


def choose(
    models: Sequence[LeftOut], target: LeaveOutTarget, penalties: FloatArray = PENALTIES
) -> Choice:
    """The model and penalty of the smallest error, that of a row by the other folds' rows."""
    squares = [(m.residuals**2).sum(axis=2) * target.weight for m in models]
    folds = [target.fold_of == fold for fold in np.unique(target.fold_of)]
    errors = np.stack([np.hstack([s[:, rows].sum(axis=1) for s in squares]) for rows in folds])
    best = errors.sum(axis=0).argmin()
    out = Choice(
        np.empty_like(target.y),
        np.empty(len(target.y)),
        int(best // len(penalties)),
        float(penalties[best % len(penalties)]),
    )
    for error, rows in zip(errors, folds, strict=True):
        others = errors.sum(axis=0) - error if len(folds) > 1 else error
        model, penalty = divmod(int(others.argmin()), len(penalties))
        out.residuals[rows] = models[model].residuals[penalty, rows]
        out.leverages[rows] = models[model].leverages[penalty, rows]
    return out

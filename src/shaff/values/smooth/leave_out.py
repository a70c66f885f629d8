"""Ridge regressions without a row, from one factorisation; and the choice between several.

With centred features F, weights w and their sum W, the fit at penalty l is mean(y) + T c / (s + l)
in the eigenvectors V of F' w F: T = F V, c = V' F' w (y - mean), eigenvalues s. The hat matrix is
sqrt(w) (1 1'/W + T (s + l)^-1 T') sqrt(w), with h on its diagonal; the residual of a row without
itself is 1 / (1 - h) times its residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shaff._util.ridge import penalised_solve
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.folds import Fold, fold_numbers
from shaff.values.noise import n_noise_folds, spread_noise

# Relative to the sum of the weights; the last leaves nothing but the mean.
# A narrower grid ends at its edge for single columns or for all of them (`benchmarks.truth`).
PENALTIES = np.append(np.logspace(-7, 1, 17), np.inf)
# As everywhere; fewer folds choose penalties on fewer rows (`benchmarks.truth`).
N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class LeaveOutTarget:
    """The outcome to predict, which rows are left out, and which are judged together.

    Parameters
    ----------
    y : float array of shape (n, n_outputs)
    weight : float array of shape (n,)
    fold_of : int array of shape (n,)
        What is chosen with y, is chosen for a row by the rows of other folds; -1 for rows that are
        not measured.
    mean : float array of shape (n_outputs,)
        Mean of y over all rows, even if ``y`` holds only some of them.
    total : float
        Sum of the weights of all rows.
    folds : tuple of Fold or None
        Folds that are left out as a whole; None means each row by itself.
    in_first : bool array of shape (n,)
        Half of the rows, where folds are left out.
    copies : float
        Mean weight of what is independent: a row, or a group of rows.
    """

    y: FloatArray
    weight: FloatArray
    fold_of: IntpArray
    mean: FloatArray
    total: float
    folds: tuple[Fold, ...] | None = None
    in_first: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    copies: float = 1.0

    @classmethod
    def of(
        cls,
        y: FloatArray,
        weight: FloatArray | None = None,
        fold_of: IntpArray | None = None,
        seed: int = 0,
    ) -> LeaveOutTarget:
        """Leave out each row by itself; fill in what is None: weights of 1, and random folds."""
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        if fold_of is None:
            fold_of = _random_folds(len(y), seed)
        mean = np.average(y, axis=0, weights=weight)
        copies = float(weight @ weight / weight.sum())
        return cls(y, weight, fold_of, mean, float(weight.sum()), copies=copies)

    @classmethod
    def by_folds(
        cls,
        y: FloatArray,
        weight: FloatArray,
        folds: Sequence[Fold],
        row_groups: npt.NDArray[Any] | None,
        seed: int,
    ) -> LeaveOutTarget:
        """Leave out the rows of each fold."""
        fold_of = fold_numbers(folds, len(y), elsewhere=-1)
        unit = np.arange(len(y))
        if row_groups is not None:
            unit = np.unique(row_groups, return_inverse=True)[1]
        in_first = np.random.default_rng(seed).permutation(unit.max() + 1)[unit] % 2 == 0
        size = np.bincount(unit, weights=weight)
        return cls(
            y,
            weight,
            fold_of,
            np.average(y, axis=0, weights=weight),
            float(weight.sum()),
            tuple(folds),
            in_first,
            float(size @ size / size.sum()),
        )

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold_of.max()) + 1

    @cached_property
    def tests(self) -> list[IntpArray]:
        """Rows of each fold, those of the first half first."""
        return [self._places(fold) for fold in range(self.n_folds)]

    @property
    def unmeasured(self) -> IntpArray:
        """Rows that no fold holds out, those of the first half first."""
        return self._places(-1)

    def _places(self, fold: int) -> IntpArray:
        rows = np.flatnonzero(self.fold_of == fold)
        if self.folds is None:
            return rows
        return np.concatenate([rows[self.in_first[rows]], rows[~self.in_first[rows]]])

    @property
    def n_noise_folds(self) -> int:
        """Number of folds, the last ones, whose rows tell the noise of a fit."""
        return n_noise_folds(self.tests)

    @property
    def training(self) -> list[BoolArray]:
        """Which rows each fold is trained on."""
        if self.folds is None:
            return [self.fold_of != fold for fold in range(self.n_folds)]
        return [np.isin(np.arange(len(self.y)), fold.train) for fold in self.folds]

    @property
    def is_partition(self) -> bool:
        """Whether each fold is trained on the rows of all others."""
        return bool((self.fold_of >= 0).all()) and all(
            (trained == (self.fold_of != fold)).all() for fold, trained in enumerate(self.training)
        )

    def take(self, rows: BoolArray) -> LeaveOutTarget:
        """Return the target of some rows."""
        return replace(self, y=self.y[rows], weight=self.weight[rows], fold_of=self.fold_of[rows])


def _random_folds(n: int, seed: int) -> IntpArray:
    order = np.random.default_rng(seed).permutation(n)
    return np.asarray(order % min(N_FOLDS, n), dtype=np.intp)


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


class LeftOut(Protocol):
    """Rows predicted without themselves, at several penalties."""

    @property
    def penalties(self) -> FloatArray:
        """Penalties, relative to the sum of the weights."""

    def errors(self, target: LeaveOutTarget) -> FloatArray:
        """Summed squared errors of each fold, shape (n_penalties, n_folds)."""

    def of_fold(
        self, place: int, fold: int, target: LeaveOutTarget
    ) -> tuple[FloatArray, FloatArray]:
        """Residuals of the rows of a fold at one penalty, and what the noise of the fit adds to
        their squares; both of shape (n_test, n_outputs)."""


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Each row predicted without itself.

    Parameters
    ----------
    residuals : float array of shape (n_penalties, n, n_outputs)
    leverages : float array of shape (n_penalties, n)
    penalties : float array of shape (n_penalties,)
    """

    residuals: FloatArray
    leverages: FloatArray
    penalties: FloatArray = field(default_factory=lambda: PENALTIES)

    @classmethod
    def empty(cls, target: LeaveOutTarget) -> RowsLeftOut:
        """Return empty arrays for all penalties, to be filled in."""
        residuals = np.empty((len(PENALTIES), *target.y.shape))
        return cls(residuals, np.empty(residuals.shape[:2]))

    def fill(self, rows: BoolArray, part: RowsLeftOut) -> None:
        """Fill in some rows from another fit."""
        self.residuals[:, rows], self.leverages[:, rows] = part.residuals, part.leverages

    def within_others(self, target: LeaveOutTarget) -> RowsLeftOut:
        """Bring predictions into the range of the other rows' outcomes: at the ends of a column a
        row of much leverage is predicted by what its neighbours extrapolate."""
        low, high = -_largest_of_others(-target.y), _largest_of_others(target.y)
        return replace(self, residuals=np.clip(self.residuals, target.y - high, target.y - low))

    def errors(self, target: LeaveOutTarget) -> FloatArray:
        """Summed squared errors of each fold, shape (n_penalties, n_folds)."""
        squares = (self.residuals**2).sum(axis=2) * target.weight
        return np.stack([squares[:, rows].sum(axis=1) for rows in target.tests], axis=1)

    def of_fold(
        self, place: int, fold: int, target: LeaveOutTarget
    ) -> tuple[FloatArray, FloatArray]:
        """Residuals of the rows of a fold; e^2 (1 - h) is e times the residual of the fit, which
        is what an error without noise would be on average."""
        rows = target.tests[fold]
        residuals = self.residuals[place, rows]
        return residuals, residuals**2 * self.leverages[place, rows, None]


def _largest_of_others(y: FloatArray) -> FloatArray:
    """The largest value of the other rows, for each row and output."""
    if len(y) < 2:
        return y
    second, first = np.partition(y, -2, axis=0)[-2:]
    return np.asarray(np.where(y == first, second, first), dtype=np.float64)


def leave_out(
    spectrum: Spectrum, target: LeaveOutTarget, penalties: FloatArray = PENALTIES
) -> RowsLeftOut:
    """Residuals and leverages of the rows of the target, which are those of the scores.

    Penalties are relative to the sum of the weights.
    """
    shrink = 1.0 / (spectrum.values[:, None] + penalties * target.total)
    steps = shrink[:, :, None] * spectrum.moments[:, None, :]
    fit = spectrum.scores @ steps.reshape(len(shrink), steps.shape[1] * steps.shape[2])
    fit = fit.reshape(len(fit), *steps.shape[1:]).transpose(1, 0, 2)
    residuals = (target.y - target.mean) - fit
    leverages = (target.weight[:, None] * (1.0 / target.total + spectrum.scores**2 @ shrink)).T
    return RowsLeftOut(residuals / (1.0 - leverages)[:, :, None], leverages, penalties)


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
        0 for rows that are not measured.
    noise : float array of shape (n, n_outputs)
        What the noise of the fit adds to the squared residuals, on average.
    model : int
        The model that all folds choose together.
    penalty : float
    """

    residuals: FloatArray
    noise: FloatArray
    model: int
    penalty: float

    def error(self, target: LeaveOutTarget) -> float:
        """Summed squared error of the rows without themselves."""
        return float(target.weight @ (self.residuals**2).sum(axis=1))


def choose(models: Sequence[LeftOut], target: LeaveOutTarget) -> Choice:
    """The model and penalty of the smallest error, that of a row by the other folds' rows."""
    places = [(m, k) for m, model in enumerate(models) for k in range(len(model.penalties))]
    errors = np.concatenate([model.errors(target) for model in models])
    together = errors.sum(axis=1)
    model, place = places[int(together.argmin())]
    residuals, noise = np.zeros_like(target.y), np.zeros_like(target.y)
    for fold, rows in enumerate(target.tests):
        others = together - errors[:, fold] if target.n_folds > 1 else together
        m, k = places[int(others.argmin())]
        residuals[rows], noise[rows] = models[m].of_fold(k, fold, target)
    noise = spread_noise(noise, residuals**2, target.weight)
    return Choice(residuals, noise, model, float(models[model].penalties[place]))

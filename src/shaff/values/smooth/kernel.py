"""Ridge regression with a product of column kernels: interactions of any order.

The kernel of a subset U is the product over its columns of 1 + theta_j k_j. The relevances theta
are found once, on all columns, by the marginal likelihood of some rows. A subset's kernel is
used through some of its columns (landmarks), so that the algebra of features serves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from shaff._util.lapack import invert_positive
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.values.smooth.basis import BasisSize, CategoryColumn, NumericColumn
from shaff.values.smooth.leave_out import (
    LeaveOutTarget,
    RowsLeftOut,
    Spectrum,
    leave_out,
    ridge_slopes,
)

# Fewer waves miss what bends; fewer landmarks or likelihood rows blur the kernel, more take time
# (`benchmarks.truth` for errors, `benchmarks.values` for cost).
WAVES = 16
MAX_LANDMARKS = 150
MIN_LIKELIHOOD_ROWS, MAX_LIKELIHOOD_ROWS = 10, 400
MAX_STEPS = 40
# Prior of log theta, and the smallest theta relative to the largest: a column that tells nothing
# beside all others may tell much without them.
# Without prior or floor, columns that copies stand for get nothing (`benchmarks.truth`).
LOG_THETA, LOG_THETA_SD = np.log(0.1), 2.0
THETA_FLOOR = 0.02
LOG_NOISE, LOG_NOISE_SD = np.log(0.1), 3.0
# Outliers of y would choose theta without it (`benchmarks.truth`, log-normal).
CLIP_SPREADS = 3.0 * 1.4826
# The mean is not penalised; this is much beside kernels of mean diagonal 1.
# A penalised mean rejects true nulls (`benchmarks.coverage`).
CONSTANT = 10.0
JITTER = 1e-9


class ColumnKernel:
    """k_j(x, x') = b(x)' b(x') of the functions b of one column, with mean diagonal 1."""

    def __init__(self, x: FloatArray, weight: FloatArray, categorical: bool) -> None:
        if categorical:
            self._column: CategoryColumn | NumericColumn = CategoryColumn(x, weight)
        else:
            self._column = NumericColumn(x, weight, BasisSize(WAVES, 0, 0, 0, 0), plain_scale=0.5)
        size = np.average((self._column.main(x) ** 2).sum(axis=1), weights=weight)
        self._scale = 1.0 / np.sqrt(size) if size > 1e-12 else 0.0

    def functions(self, x: FloatArray) -> FloatArray:
        """b of some entries, shape (n, n_functions)."""
        return self._scale * self._column.main(x)


class KernelRidge:
    """Product-kernel ridge regressions of subsets of columns.

    There are two vectors theta, each found on one half of the folds and used for the rows of the
    other: with a theta that knew their y, twelve columns of noise would seem to explain 2 % of
    150 rows.

    Parameters
    ----------
    X : float array of shape (n, n_columns)
        NaN is missing.
    target : LeaveOutTarget
    categorical : bool array of shape (n_columns,)
    seed : int
        Seed for drawing the landmarks and the rows whose likelihood is used.
    """

    def __init__(
        self, X: FloatArray, target: LeaveOutTarget, categorical: BoolArray, seed: int
    ) -> None:
        assert target.folds is None, "rows are left out one by one"
        self._target = target
        self._kernels = [
            ColumnKernel(x, target.weight, bool(c)) for x, c in zip(X.T, categorical, strict=True)
        ]
        self._functions = self._functions_of(X)
        rng = np.random.default_rng(seed)
        self._halves = halves(target.fold_of)
        self.thetas = [self._find_theta(X, ~half, rng) for half in self._halves]
        # Distinct rows: copies of a row change nothing.
        rows, _ = _distinct(X, target.weight)
        self._landmarks = rows[np.sort(rng.permutation(len(rows))[:MAX_LANDMARKS])]

    def leave_out(self, mask: BoolArray) -> RowsLeftOut:
        """Each row predicted without itself at every penalty."""
        out = RowsLeftOut.empty(self._target)
        for half, theta in zip(self._halves, self.thetas, strict=True):
            features = self._centred(self._features(mask, self._functions, theta))
            spectrum = Spectrum.of(features, self._target, half)
            out.fill(half, leave_out(spectrum, self._target.take(half)))
        return out.within_others(self._target)

    def known_features(self) -> FloatArray:
        """Features of all rows on all columns, with the first theta."""
        everything = np.ones(len(self._kernels), dtype=bool)
        return self._centred(self._features(everything, self._functions, self.thetas[0]))

    def _functions_of(self, rows: FloatArray) -> list[FloatArray]:
        return [k.functions(x) for k, x in zip(self._kernels, rows.T, strict=True)]

    def prepare(self, rows: FloatArray) -> list[list[FloatArray]]:
        """For each theta and column, the factor 1 + theta_j k_j of the kernel between the
        landmarks and other rows."""
        functions = zip(self._marks, self._functions_of(rows), strict=True)
        kernels = [mark @ function.T for mark, function in functions]
        return [[1.0 + t * k for t, k in zip(theta, kernels, strict=True)] for theta in self.thetas]

    def fit(self, mask: BoolArray, penalty: float) -> list[_KernelFit]:
        """Fit a subset with each theta."""
        return [self._fit_theta(mask, penalty, theta) for theta in self.thetas]

    def _fit_theta(self, mask: BoolArray, penalty: float, theta: FloatArray) -> _KernelFit:
        known = self._features(mask, self._functions, theta)
        slopes = ridge_slopes(self._centred(known), self._target, penalty)
        centre = known @ self._target.weight / self._target.total
        columns = np.flatnonzero(mask)
        if not len(columns):
            return _KernelFit(columns, slopes, self._target.mean)
        # Features of rows are L^-1 times their kernel with the landmarks: apply that to the slopes.
        factor, size = self._factor(columns, theta)
        weights = solve_triangular(factor, slopes, lower=True, trans=1) / size
        return _KernelFit(columns, weights, self._target.mean - centre @ slopes)

    def apply(self, fit: list[_KernelFit], prepared: list[list[FloatArray]]) -> FloatArray:
        """Predictions at other rows: the mean of those with each theta."""
        parts = [one.predict(factors) for one, factors in zip(fit, prepared, strict=True)]
        return np.asarray(np.mean(parts, axis=0))

    @property
    def _marks(self) -> list[FloatArray]:
        """Functions of the landmarks."""
        return [f[self._landmarks] for f in self._functions]

    def _factor(self, columns: IntpArray, theta: FloatArray) -> tuple[FloatArray, float]:
        """Cholesky factor of the kernel of the landmarks over its mean diagonal, and that."""
        among = _product(columns, self._marks, self._marks, theta)
        size = max(float(np.trace(among)) / len(among), 1e-300)
        factor = np.linalg.cholesky(among / size + JITTER * np.eye(len(among)))
        return np.asarray(factor, dtype=np.float64), size

    def _find_theta(self, X: FloatArray, half: BoolArray, rng: np.random.Generator) -> FloatArray:
        y, weight = self._target.y, np.where(half, self._target.weight, 0.0)
        rows, weight = _distinct(np.column_stack([X, y]), weight)
        some = rng.permutation(len(rows))[:MAX_LIKELIHOOD_ROWS]
        functions = [f[rows[some]] for f in self._functions]
        return find_theta(functions, y[rows[some]], weight[some])

    def _centred(self, features: FloatArray) -> FloatArray:
        centre = features @ self._target.weight / self._target.total
        return np.asarray(features - centre[:, None])

    def _features(
        self, mask: BoolArray, functions: list[FloatArray], theta: FloatArray
    ) -> FloatArray:
        """Features whose inner products are the kernel seen through the landmarks, with mean
        diagonal 1 at these; shape (n_landmarks, n_rows)."""
        columns = np.flatnonzero(mask)
        if not len(columns):
            return np.zeros((0, len(functions[0])))
        factor, size = self._factor(columns, theta)
        across = _product(columns, self._marks, functions, theta) / size
        return np.asarray(solve_triangular(factor, across, lower=True))


@dataclass(frozen=True, eq=False)
class _KernelFit:
    """Weights of the landmarks, for the kernel of some columns without its constant."""

    columns: IntpArray
    weights: FloatArray
    mean: FloatArray

    def predict(self, factors: list[FloatArray]) -> FloatArray:
        """Predict from the factors of the columns, each of shape (n_landmarks, n_rows)."""
        if not len(self.columns):
            return np.tile(self.mean, (factors[0].shape[1], 1))
        product = factors[self.columns[0]].copy()
        for column in self.columns[1:]:
            product *= factors[column]
        return np.asarray(self.mean + (product - 1.0).T @ self.weights)


def halves(fold_of: IntpArray) -> list[BoolArray]:
    """The rows of some folds, and those of the others."""
    folds = np.unique(fold_of)
    first = np.isin(fold_of, folds[: (len(folds) + 1) // 2])
    return [first, ~first]


def _product(
    columns: IntpArray, left: list[FloatArray], right: list[FloatArray], theta: FloatArray
) -> FloatArray:
    """Kernel between rows, without its constant."""
    out = np.ones((len(left[0]), len(right[0])))
    for j in columns:
        out *= 1.0 + (theta[j] * left[j]) @ right[j].T
    return out - 1.0


def _distinct(rows: FloatArray, weight: FloatArray) -> tuple[IntpArray, FloatArray]:
    """Positions of distinct rows that have weight, and the weight of all of their copies."""
    there = np.flatnonzero(weight > 0)
    known = np.nan_to_num(rows[there], nan=np.inf)
    _, first, copy_of = np.unique(known, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(copy_of.ravel(), weights=weight[there])
    return there[first], np.asarray(total, dtype=np.float64)


def find_theta(functions: list[FloatArray], y: FloatArray, weight: FloatArray) -> FloatArray:
    """Relevance of each column by the marginal likelihood of rows and a prior."""
    by_prior = np.full(len(functions), np.exp(LOG_THETA))
    if len(y) < MIN_LIKELIHOOD_ROWS:
        return by_prior
    likelihood = Likelihood([f @ f.T for f in functions], _clipped(y), weight / weight.mean())
    start = np.append(np.full(len(functions), LOG_THETA), LOG_NOISE)
    bounds = [(np.log(1e-6), np.log(1e2))] * len(functions) + [(np.log(1e-6), np.log(1e3))]
    options: Any = {"maxiter": MAX_STEPS, "ftol": 1e-5}
    function: Any = likelihood
    try:
        found = minimize(
            function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
    except np.linalg.LinAlgError:
        # Columns of few values repeat in many rows: with next to no noise nothing can be inverted.
        return by_prior
    theta = np.exp(found.x[:-1])
    return np.asarray(np.maximum(theta, THETA_FLOOR * theta.max()))


def _clipped(y: FloatArray) -> FloatArray:
    """Standardised outputs without outliers, which would have the likelihood to themselves."""
    middle = np.median(y, axis=0)
    spread = CLIP_SPREADS * np.median(np.abs(y - middle), axis=0)
    spread = np.where(spread > 0, spread, np.inf)
    clipped = np.clip(y, middle - spread, middle + spread)
    scale = clipped.std(axis=0)
    return np.asarray((clipped - clipped.mean(axis=0)) / np.where(scale > 0, scale, 1.0))


class Likelihood:
    """Minus log of likelihood times prior, and its gradient, of log theta and log noise.

    y is Gaussian with covariance s^2 (c + product of 1 + theta_j k_j + noise / weight), where s^2
    is the best for each output. Matrices are symmetric: one side of them is kept.

    Parameters
    ----------
    kernels : list of float arrays of shape (n, n)
    y : float array of shape (n, n_outputs)
    weight : float array of shape (n,)
    """

    def __init__(self, kernels: list[FloatArray], y: FloatArray, weight: FloatArray) -> None:
        self._side = np.tril_indices(len(y))
        self._kernels = np.stack([kernel[self._side] for kernel in kernels])
        self._y, self._weight = y, weight

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at the logs of all theta, followed by that of the noise."""
        theta, noise = np.exp(x[:-1]), float(np.exp(x[-1]))
        factors = 1.0 + theta[:, None] * self._kernels
        product = factors.prod(axis=0)
        value, slope = self._fit(product, noise)
        by_noise = noise * float((np.diag(slope) / self._weight).sum())
        centre = np.append(np.full(len(theta), LOG_THETA), LOG_NOISE)
        spread = np.append(np.full(len(theta), LOG_THETA_SD), LOG_NOISE_SD)
        away = (x - centre) / spread
        gradient = np.append(self._by_theta(slope, product, factors), by_noise) + away / spread
        return value + 0.5 * float(away @ away), gradient

    def _by_theta(self, slope: FloatArray, product: FloatArray, factors: FloatArray) -> FloatArray:
        """Derivatives by log theta: the product with one factor f replaced by f - 1."""
        both = np.where(self._side[0] == self._side[1], 1.0, 2.0)
        along = both * slope[self._side] * product
        safe = np.where(np.abs(factors) > 1e-10, factors, 1e-10)
        return np.asarray(along.sum() - (along / safe).sum(axis=1))

    def _fit(self, product: FloatArray, noise: float) -> tuple[float, FloatArray]:
        """Minus log likelihood, and its derivative by the covariance."""
        n, outputs = self._y.shape
        covariance = np.empty((n, n))
        covariance[self._side] = covariance.T[self._side] = product + CONSTANT
        covariance[np.diag_indices(n)] += noise / self._weight
        inverse, log_root = invert_positive(covariance)
        solved = inverse @ self._y
        scale = np.maximum((self._y * solved).sum(axis=0) / n, 1e-300)
        value = 0.5 * n * float(np.log(scale).sum()) + outputs * log_root
        return value, 0.5 * (outputs * inverse - (solved / scale) @ solved.T)

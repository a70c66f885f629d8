"""Errors of the effects from data, design, ensemble and algorithm (docs/theory.md, section 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, ndtr, ndtri

from shaff._util.alike import all_differ, averaged, averaged_covariance
from shaff._util.typing import FloatArray, IntpArray
from shaff.protocols import Effects, Values

Units = npt.NDArray[np.intp]

# The influences take the fitted models as given, but other rows would have given other models too.
# On simulated data outside the benchmarks the variance over data sets was that many times larger:
# the more so, the less of an effect a straight line tells.
# Smaller, and intervals cover less than they say; `benchmarks.calibration` estimates them and
# `benchmarks.coverage` shows the coverage.
LINEAR_FACTOR, FLEXIBLE_FACTOR = 1.3, 1.7
_UNKNOWN_SHARE = 0.25  # of the flexible part, where there is no linear game to compare with
# Effects are shares of 1: a sum of values in double precision may be off by less than this.
_ROUNDING = 1e-12
_ROWS_AT_ONCE = 10_000
_PAIRS_AT_ONCE = 64  # for memory only


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariances of the raw effects by source, and the null test's p-values.

    Parameters
    ----------
    data, design, ensemble, algorithm : float arrays of shape (n_players, n_players)
        Covariances due to the choice of rows; to the subsets that were not evaluated; to the
        finite number of trees; to random splits and seeds.
    explained_variance_error : float
        Standard error of v(all).
    p_values : float array of shape (n_players,)
        P-values of the hypothesis that an effect is 0; not adjusted. See `null_p_values`.
    plain : float array of shape (n_players,)
        Raw effects from the values without correction, which the test is about.
    by_output : float array of shape (n_players, n_outputs) or None
        Standard errors of the effects on each output.
    squared : float array of shape (n_players, 1) or None
        Standard errors of the effects by squared errors, beside those by log-loss.
    """

    data: FloatArray
    design: FloatArray
    ensemble: FloatArray
    algorithm: FloatArray
    explained_variance_error: float
    p_values: FloatArray
    plain: FloatArray
    by_output: FloatArray | None = None
    squared: FloatArray | None = None

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the raw effects from all sources."""
        return np.asarray(sum(self._sources.values()), dtype=np.float64)

    @property
    def standard_errors(self) -> dict[str, FloatArray]:
        """Standard errors of the raw effects by source."""
        return {name: np.sqrt(np.diag(source)) for name, source in self._sources.items()}

    def shared_by_copies(self, kinds: IntpArray) -> Uncertainty:
        """Return the same with equal bits for players of the same kind; see `shaff.solve.copies`.

        Sums over rows and subsets may differ in their last bits with the place of a player.
        """
        if all_differ(kinds):
            return self
        by_output = None if self.by_output is None else averaged(self.by_output, kinds)
        squared = None if self.squared is None else averaged(self.squared, kinds)
        return replace(
            self,
            data=averaged_covariance(self.data, kinds),
            design=averaged_covariance(self.design, kinds),
            ensemble=averaged_covariance(self.ensemble, kinds),
            algorithm=averaged_covariance(self.algorithm, kinds),
            p_values=averaged(self.p_values, kinds),
            plain=averaged(self.plain, kinds),
            by_output=by_output,
            squared=squared,
        )

    @property
    def _sources(self) -> dict[str, FloatArray]:
        return {
            "data": self.data,
            "design": self.design,
            "ensemble": self.ensemble,
            "algorithm": self.algorithm,
        }


class DataErrors(Protocol):
    """Errors of the values of some subsets that are due to the choice of rows."""

    def covariance(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of ``weights @ v``."""

    def by_output(self, weights: FloatArray) -> list[FloatArray] | None:
        """Return the same for each output, or None where that is not known."""


@dataclass(frozen=True, eq=False)
class Covariances:
    """Data errors whose covariances are known: of v, then of each output if there are several."""

    of_values: list[FloatArray]

    def covariance(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of ``weights @ v``."""
        return np.asarray(weights @ self.of_values[0] @ weights.T)

    def by_output(self, weights: FloatArray) -> list[FloatArray] | None:
        """Return the same for each output; None with a single output."""
        return [weights @ each @ weights.T for each in self.of_values[1:]] or None


@dataclass(frozen=True, eq=False)
class RowErrors:
    """Data errors from the influences of rows, which come in groups or alone."""

    values: Values
    row_groups: Units | None = None

    def covariance(self, weights: FloatArray) -> FloatArray:
        """Return the covariance of ``weights @ v``."""
        assert self.values.influences is not None
        return data_covariance(_combined(weights, self.values.influences), self.row_groups)

    def by_output(self, weights: FloatArray) -> list[FloatArray] | None:
        """Return the same for each output; None with a single output."""
        psi = self.values.output_influences
        if psi is None:
            return None
        each = (_combined(weights, psi[:, k]) for k in range(psi.shape[1]))
        return [data_covariance(one, self.row_groups) for one in each]


def uncertainty(
    effects: Effects,
    values: Values,
    row_groups: Units | None = None,
    linear_effects: FloatArray | None = None,
    data_errors: DataErrors | None = None,
) -> Uncertainty | None:
    """Return error bars from the influences of rows, the design and the jackknife over trees.

    ``values`` holds the full set first, then the subsets that the solver was given, in order.
    Rows of one group count as one observation. ``linear_effects`` are those of least squares, for
    `training_factor`. ``data_errors`` stand in for influences that the values do not carry. None if
    the solver has no linear map, or there are neither.
    """
    if effects.linear_map is None or (values.influences is None and data_errors is None):
        return None
    rows = RowErrors(values, row_groups) if data_errors is None else data_errors
    # The solver has v(all) last, the values have it first.
    weights = np.hstack([effects.linear_map[:, -1:], effects.linear_map[:, :-1]])
    given_models = rows.covariance(weights)
    none = np.zeros_like(given_models)
    design = none if effects.covariance is None else effects.covariance
    ensemble = none if values.replicates is None else jackknife(weights @ values.replicates)
    algorithm = none if values.runs is None else mean_covariance(weights @ values.runs)
    factor = training_factor(effects.raw, linear_effects)
    scale, plain = np.sqrt(factor), weights @ values.v_plain
    given = np.diag(given_models + design + ensemble + algorithm)
    return Uncertainty(
        data=given_models * np.outer(scale, scale),
        design=design,
        ensemble=ensemble,
        algorithm=algorithm,
        explained_variance_error=_error_of_all(values, rows, linear_effects),
        # A column that is constant has an effect of rounding errors, and a deviation of the same.
        p_values=null_p_values(np.where(np.abs(plain) < _ROUNDING, 0.0, plain), given),
        plain=plain,
        by_output=_errors_by_output(rows.by_output(weights), factor, design + algorithm),
        squared=_errors_by_output(
            _of_squares(weights, values, row_groups), factor, design + algorithm
        ),
    )


def _of_squares(
    weights: FloatArray, values: Values, row_groups: Units | None
) -> list[FloatArray] | None:
    """Covariance of effects by squared errors, where they stand beside others."""
    if values.squared_influences is None:
        return None
    return [data_covariance(_combined(weights, values.squared_influences), row_groups)]


def pair_errors(
    weights: FloatArray, values: Values, design: FloatArray, row_groups: Units | None = None
) -> dict[str, FloatArray] | None:
    """Standard errors of the interactions ``weights @ values.v`` by source, shape (n_pairs,) each.

    No straight line finds an interaction, so the variance by the
    rows has the factor of flexible effects. None if the values carry no influences.
    """
    if values.influences is None:
        return None
    starts = range(0, len(weights), _PAIRS_AT_ONCE)
    parts = [
        _variances(weights[k : k + _PAIRS_AT_ONCE], values, values.influences, row_groups)
        for k in starts
    ]
    data, ensemble, algorithm = np.concatenate([np.zeros((3, 0)), *parts], axis=1)
    variances = {
        "data": FLEXIBLE_FACTOR * data,
        "design": design,
        "ensemble": ensemble,
        "algorithm": algorithm,
    }
    return {source: np.sqrt(variance) for source, variance in variances.items()}


def _variances(
    weights: FloatArray,
    values: Values,
    influences: npt.NDArray[np.float32],
    row_groups: Units | None,
) -> FloatArray:
    """Variances due to rows, trees and random seeds, shape (3, len(weights))."""
    none = np.zeros(len(weights))
    by_source = (
        np.diag(data_covariance(_combined(weights, influences), row_groups)),
        none if values.replicates is None else np.diag(jackknife(weights @ values.replicates)),
        none if values.runs is None else np.diag(mean_covariance(weights @ values.runs)),
    )
    return np.stack(by_source)


def _error_of_all(values: Values, rows: DataErrors, linear_effects: FloatArray | None) -> float:
    """Standard error of v(all)."""
    total = None if linear_effects is None else linear_effects.sum(keepdims=True)
    factor = training_factor(values.v[:1], total)[0]
    variance = factor * rows.covariance(np.eye(1, len(values.v)))[0, 0]
    if values.runs is not None:
        variance += mean_covariance(values.runs[:1])[0, 0]
    return float(np.sqrt(variance))


def _errors_by_output(
    data: list[FloatArray] | None, factor: FloatArray, others: FloatArray
) -> FloatArray | None:
    """Standard errors of the effects on each output, shape (n_players, n_outputs).

    Errors that are not due to the rows are taken to be those of all outputs together.
    """
    if data is None:
        return None
    variances = np.stack([np.diag(each) for each in data], axis=1)
    return np.sqrt(factor[:, None] * variances + np.diag(others)[:, None])


def mean_covariance(runs: FloatArray) -> FloatArray:
    """Covariance of the mean over runs of estimates, shape (n_estimates, n_runs).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import mean_covariance
    >>> mean_covariance(np.array([[1.0, 3.0]])).tolist()
    [[1.0]]
    """
    n_runs = runs.shape[1]
    centred = runs - runs.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred.T / (n_runs * max(n_runs - 1, 1)), dtype=np.float64)


def training_factor(effects: FloatArray, linear_effects: FloatArray | None) -> FloatArray:
    """Ratio of the variance over data sets to the variance given the fitted models.

    It is between `LINEAR_FACTOR` and `FLEXIBLE_FACTOR`, by the share of each effect that least
    squares does not find.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import training_factor
    >>> training_factor(np.array([0.2, 0.2]), np.array([0.2, 0.1])).round(2).tolist()
    [1.3, 1.5]
    """
    share = np.full(len(effects), _UNKNOWN_SHARE)
    if linear_effects is not None:
        share = 1 - np.clip(linear_effects / np.maximum(effects, 1e-3), 0, 1)
    return np.asarray(LINEAR_FACTOR + (FLEXIBLE_FACTOR - LINEAR_FACTOR) * share, dtype=np.float64)


def _combined(weights: FloatArray, influences: npt.NDArray[np.float32]) -> FloatArray:
    """``weights @ influences``, which would copy all influences to double precision at once."""
    blocks = range(0, influences.shape[1], _ROWS_AT_ONCE)
    return np.hstack([weights @ influences[:, k : k + _ROWS_AT_ONCE] for k in blocks])


def data_covariance(influences: FloatArray, row_groups: Units | None = None) -> FloatArray:
    """Covariance of means over independent rows, or over rows that come in independent groups.

    Parameters
    ----------
    influences : float array of shape (n_estimates, n_rows)
    row_groups : int array of shape (n_rows,) or None
        Codes 0, 1, ... of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import data_covariance
    >>> rows = np.array([[1.0, -1.0, 1.0, -1.0]])
    >>> data_covariance(rows).round(4).tolist()
    [[0.3333]]
    >>> data_covariance(rows, np.array([0, 0, 1, 1])).tolist()
    [[0.0]]
    """
    sums, n_rows = np.asarray(influences, dtype=np.float64), influences.shape[1]
    if row_groups is not None:
        codes = np.unique(row_groups, return_inverse=True)[1]
        sums = np.stack([np.bincount(codes, weights=row) for row in sums])
    n_units = sums.shape[1]
    centred = sums - sums.mean(axis=1, keepdims=True)
    scale = n_units / max(n_units - 1, 1) / n_rows**2
    return np.asarray(scale * (centred @ centred.T), dtype=np.float64)


def jackknife(replicates: FloatArray) -> FloatArray:
    """Covariance of estimates, shape (n_estimates, n_blocks), that leave out one block each.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import jackknife
    >>> jackknife(np.array([[1.0, 3.0]])).tolist()
    [[1.0]]
    """
    n_blocks = replicates.shape[1]
    centred = replicates - replicates.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred.T * (n_blocks - 1) / n_blocks, dtype=np.float64)


def null_p_values(raw: FloatArray, variances: FloatArray) -> FloatArray:
    """One-sided p-values of "the effect is 0", from out-of-sample errors.

    Given the fitted models, an effect is a mean over rows that these have not seen: of how much
    smaller the squared error is with the player than without it. The variance is that of the mean
    given the models. At an effect of 0 both estimate and variance vanish, so the ratio is not
    normal, but it errs on the safe side: what a model learns from a player that tells nothing is
    noise, which makes errors on other rows larger, and the estimate falls below 0 on average. For
    a linear model the ratio is then a little below half the absolute value of a normal variable.
    The level is checked by simulation (`benchmarks.coverage`), not proved.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import null_p_values
    >>> null_p_values(np.array([0.2, -0.01, 0.0]), np.array([0.01, 0.01, 0.0])).round(3).tolist()
    [0.023, 0.54, 1.0]
    """
    deviations = np.sqrt(variances)
    z = np.divide(raw, deviations, out=np.full(len(raw), -np.inf), where=deviations > 0)
    return np.asarray(ndtr(-z), dtype=np.float64)


def spanned_p_values(estimates: FloatArray, errors: FloatArray) -> FloatArray:
    """Two-sided p-values of 0 for quantities that were estimated in one or several ways.

    They go with intervals that span the estimates: 0 is as far as the nearest of them.

    Parameters
    ----------
    estimates : float array of shape (n_ways, n)
    errors : float array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import spanned_p_values
    >>> estimates = np.array([[0.4, 0.1], [0.2, -0.1]])
    >>> spanned_p_values(estimates, np.array([0.1, 0.1])).round(3).tolist()
    [0.046, 1.0]
    """
    return np.asarray(2 * ndtr(-_spanned_z(estimates, errors)), dtype=np.float64)


def joint_p_value(estimates: FloatArray, covariance: FloatArray) -> float:
    """P-value of "all of these are 0", for quantities estimated in one or several ways.

    The statistic is the sum of squares of the standardised estimates. Its null distribution is a
    weighted sum of chi-squares, which a multiple of one chi-square with the same mean and variance
    replaces (Box 1954). Unlike Wald's, it inverts no matrix: covariances of effects are nearly
    singular, because effects sum to what is explained, and those of useless inputs are next to 0.
    As in `spanned_p_values`, 0 is as far as the nearest estimate.

    Parameters
    ----------
    estimates : float array of shape (n_ways, n)
    covariance : float array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import joint_p_value
    >>> round(joint_p_value(np.array([[1.96, 0.0]]), np.eye(2)), 3)
    0.146
    >>> round(joint_p_value(np.array([[1.96, 1.96]]), np.ones((2, 2))), 3)  # one number twice
    0.05
    """
    errors = np.sqrt(np.diag(covariance))
    z = _spanned_z(estimates, errors)
    if np.isinf(z).any():
        return 0.0
    known = errors > 0
    if not known.any():
        return 1.0
    correlation = (covariance / np.outer(errors, errors).clip(np.finfo(float).tiny))[known][
        :, known
    ]
    squares = float((np.clip(correlation, -1.0, 1.0) ** 2).sum())
    n = int(known.sum())
    return float(chdtrc(n**2 / squares, float((z[known] ** 2).sum()) * n / squares))


def _spanned_z(estimates: FloatArray, errors: FloatArray) -> FloatArray:
    """How many errors 0 is away from the nearest estimate, shape (n,)."""
    nearest = np.maximum(np.maximum(estimates.min(axis=0), -estimates.max(axis=0)), 0.0)
    none = np.where(nearest > 0, np.inf, 0.0)
    return np.asarray(np.divide(nearest, errors, out=none, where=errors > 0))


def effect_influences(
    effects: Effects, values: Values, players: npt.NDArray[np.intp]
) -> FloatArray | None:
    """Influence of each row on the raw effects of some players, shape (n_chosen, n_rows).

    ``values`` are as in `uncertainty`; None where they carry no influences.
    """
    if effects.linear_map is None or values.influences is None:
        return None
    chosen = effects.linear_map[players]
    return _combined(np.hstack([chosen[:, -1:], chosen[:, :-1]]), values.influences)


def adjust_p_values(p_values: FloatArray) -> FloatArray:
    """Holm's step-down adjustment: controls the chance of any false positive.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import adjust_p_values
    >>> adjust_p_values(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.maximum.accumulate(p_values[order] * factors)
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def false_discovery_p_values(p_values: FloatArray) -> FloatArray:
    """Benjamini and Hochberg's step-up adjustment: controls the expected share of false positives
    among the positives, for tests that are independent or depend on each other positively.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import false_discovery_p_values
    >>> false_discovery_p_values(np.array([0.01, 0.5, 0.02])).round(3).tolist()
    [0.03, 0.5, 0.03]
    """
    order = np.argsort(p_values, kind="stable")[::-1]
    factors = len(p_values) / np.arange(len(p_values), 0, -1)
    stepped = np.minimum.accumulate(p_values[order] * factors)
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


# Adjustments for the number of tests, by name. That of Benjamini and Yekutieli, which holds under
# any dependence, is six times as strict for 200 inputs (`benchmarks.selection fdr`).
ADJUSTMENTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": adjust_p_values,
    "fdr": false_discovery_p_values,
}


def surely_above(
    estimates: FloatArray,
    covariance: FloatArray,
    level: float,
    reach: FloatArray | None = None,
) -> npt.NDArray[np.bool_]:
    """Return which effects are above which others, at a simultaneous confidence ``level``.

    Parameters
    ----------
    estimates : float array of shape (n_estimates, n_players)
        Effects estimated in one or several ways: a difference must be clear by each of them.
    covariance : float array of shape (n_players, n_players)
    level : float
        Probability that no answer is wrong, by Sidak's inequality over the pairs.
    reach : float array of shape (n_players,) or None
        How much larger than the first estimate each effect may be.

    Returns
    -------
    bool array of shape (n_players, n_players)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.uncertainty.inference import surely_above
    >>> surely_above(np.array([[0.5, 0.1, 0.09]]), 1e-4 * np.eye(3), 0.95).astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    variances = np.diag(covariance)
    # Players that were never looked at have no error: they count as one.
    n_different = int((variances > 0).sum()) + int((variances == 0).any())
    n_pairs = max(n_different * (n_different - 1) // 2, 1)
    quantile = float(ndtri((1 + level ** (1 / n_pairs)) / 2))
    errors = np.sqrt(np.maximum(np.add.outer(variances, variances) - 2 * covariance, 0.0))
    least = np.min([np.subtract.outer(e, e) for e in estimates], axis=0)
    if reach is not None:
        least = np.minimum(least, np.subtract.outer(estimates[0], estimates[0] + reach))
    return np.asarray(least > quantile * errors)

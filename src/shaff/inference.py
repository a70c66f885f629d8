"""How sure the effects are: data, design and ensemble error (ALGORITHMS section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from shaff.protocols import Effects, Values
from shaff.subsets import FloatArray


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariances of the raw effects by source, and the null test's p-values.

    Parameters
    ----------
    data, design, ensemble : float arrays of shape (n_players, n_players)
    explained_variance_error : float
    p_values : float array of shape (n_players,)
        Of the hypothesis that an effect is 0, by sample splitting; not adjusted.
    """

    data: FloatArray
    design: FloatArray
    ensemble: FloatArray
    explained_variance_error: float
    p_values: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Of the raw effects, all sources."""
        return np.asarray(self.data + self.design + self.ensemble, dtype=np.float64)

    @property
    def standard_errors(self) -> dict[str, FloatArray]:
        """By source."""
        sources = {"data": self.data, "design": self.design, "ensemble": self.ensemble}
        return {name: np.sqrt(np.diag(covariance)) for name, covariance in sources.items()}


def uncertainty(
    effects: Effects,
    values: Values,
    row_groups: np.ndarray | None = None,
    seed: int = 0,
) -> Uncertainty | None:
    """Error bars from the rows' influences, the design's covariance and the jackknife.

    ``values`` holds the full set first, then the subsets that the solver was given, in order.
    Rows of one group count as one observation. None if the solver has no linear map, or the
    values carry no influences.
    """
    if effects.linear_map is None or values.influences is None:
        return None
    n_players = len(effects.raw)
    weights = np.hstack([effects.linear_map[:, -1:], effects.linear_map[:, :-1]])
    psi = values.influences.astype(np.float64)
    by_row = _sum_groups(weights @ psi, row_groups)
    all_by_row = _sum_groups(psi[:1], row_groups)
    n_rows = psi.shape[1]
    none = np.zeros((n_players, n_players))
    return Uncertainty(
        data=_covariance_of_sums(by_row) / n_rows**2,
        design=none if effects.covariance is None else effects.covariance,
        ensemble=_jackknife(weights, values) if values.replicates is not None else none,
        explained_variance_error=float(np.sqrt(_covariance_of_sums(all_by_row)[0, 0]) / n_rows),
        p_values=split_test(weights, values.v, psi, row_groups, seed),
    )


def _sum_groups(by_row: FloatArray, row_groups: np.ndarray | None) -> FloatArray:
    """Influences of independent units, shape (n_players, n_units)."""
    if row_groups is None:
        return by_row
    total = np.zeros((len(by_row), int(row_groups.max()) + 1))
    np.add.at(total, (slice(None), row_groups), by_row)
    return total


def _covariance_of_sums(by_unit: FloatArray) -> FloatArray:
    """Covariance of the sum over independent units."""
    n_units = by_unit.shape[1]
    centred = by_unit - by_unit.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred.T * n_units / max(n_units - 1, 1), dtype=np.float64)


def _jackknife(weights: FloatArray, values: Values) -> FloatArray:
    """Delete-one-block jackknife over the blocks of the ensemble."""
    assert values.replicates is not None
    replicates = weights @ values.replicates
    n_blocks = replicates.shape[1]
    centred = replicates - replicates.mean(axis=1, keepdims=True)
    return np.asarray(centred @ centred.T * (n_blocks - 1) / n_blocks, dtype=np.float64)


def split_test(
    weights: FloatArray,
    v: FloatArray,
    psi: FloatArray,
    row_groups: np.ndarray | None = None,
    seed: int = 0,
) -> FloatArray:
    """One-sided p-values of "the effect is 0", valid at 0.

    At an effect of 0 its influence function vanishes, so a plain z-test has no level. Here the
    subsets that count for a player and those that count against it are measured on different
    halves of the rows (as vimp does for its importances): the difference of two independent
    measurements is never degenerate. Each half is measured by what its rows add to v.
    """
    n_rows = psi.shape[1]
    units = np.arange(n_rows) if row_groups is None else row_groups
    n_units = int(units.max()) + 1
    first = np.random.RandomState(seed).permutation(n_units) < n_units // 2
    in_first = first[units]
    statistic, variance = np.zeros(len(weights)), np.zeros(len(weights))
    for part, rows in ((np.maximum(weights, 0), in_first), (np.minimum(weights, 0), ~in_first)):
        by_row = part @ psi[:, rows]
        statistic += part @ v + by_row.mean(axis=1)
        grouped = None if row_groups is None else np.unique(units[rows], return_inverse=True)[1]
        sums = _sum_groups(by_row, grouped)
        variance += np.diag(_covariance_of_sums(sums)) / rows.sum() ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, statistic / np.sqrt(variance), 0.0)
    return np.asarray(1 - ndtr(z), dtype=np.float64)


def adjust_p_values(p_values: FloatArray) -> FloatArray:
    """Holm's step-down adjustment: controls the chance of any false positive.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.inference import adjust_p_values
    >>> adjust_p_values(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    stepped = np.maximum.accumulate(p_values[order] * factors)
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted

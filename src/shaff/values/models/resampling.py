"""More rows like those of the data, for models that can label them."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from shaff._util.typing import BoolArray, FloatArray

# Fewer repeat rows, more blur them (`benchmarks.data`).
N_NEIGHBOURS = 5


def resample_rows(
    X: FloatArray, n_rows: int, categorical: BoolArray | None = None, seed: int = 0
) -> FloatArray:
    """Rows drawn between neighbours: the dependence between the columns is kept locally.

    A new row lies at a uniform place on the line from a random row to one of its five nearest
    neighbours (in columns scaled to unit variance, missing values at the mean). Categories, and
    values missing in either row, are taken from one of the two. No new row leaves the range of the
    data, and its spread is slightly smaller.

    Parameters
    ----------
    X : float array of shape (n, p)
        NaN is missing.
    n_rows : int
        Number of new rows.
    categorical : bool array of shape (p,) or None
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.values.models.resampling import resample_rows
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> resample_rows(X, 1000).shape
    (1000, 2)
    """
    rng = np.random.RandomState(seed)
    mean, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scaled = np.nan_to_num((X - mean) / np.where(sd > 0, sd, 1.0))
    n_neighbours = min(N_NEIGHBOURS, len(X) - 1)
    neighbours = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(scaled)
    near = neighbours.kneighbors(scaled, return_distance=False)[:, 1:]
    first = rng.randint(len(X), size=n_rows)
    second = near[first, rng.randint(n_neighbours, size=n_rows)]
    share = rng.uniform(size=(n_rows, 1))
    between = X[first] + share * (X[second] - X[first])
    whole = np.isnan(between) | (False if categorical is None else categorical)
    either = np.where(share < 0.5, X[first], X[second])
    return np.where(whole, either, between)

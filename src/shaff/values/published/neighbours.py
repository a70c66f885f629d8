"""Values from the variance of y among nearest neighbours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from shaff._util.seeds import draw_seed
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.values.means import MeanValues, refuse_missing

JITTER = 1e-7
# Distances that one query may take: nothing ends it before it is done (`benchmarks.interrupt`).
DISTANCES_AT_ONCE = 2 * 10**7


class NeighbourValues(MeanValues):
    """``v(U) = 1 - E[Var(Y | X_U)] / Var(Y)``, the variance taken among nearest neighbours.

    The given-data estimator of Broto, Bachoc & Depecker (2020): for each row the sample variance
    of y over the row and its ``n_neighbours - 1`` nearest ones in the columns of U. No model is
    fitted. This is not the out-of-sample error (docs/theory.md, section 1): that of the mean of the
    other neighbours would count their noise as well, the sample variance does not. `predict`
    gives that mean of the other neighbours.

    Columns are scaled to unit variance; equal distances are broken at random.

    Parameters
    ----------
    problem : Problem
        Without missing values.
    n_neighbours : int
        Size of a neighbourhood, the row itself included (3, as its authors recommend).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.published.neighbours import NeighbourValues
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = NeighbourValues(Problem.of(X, X[:, 0], random_state=0))
    >>> (model.values(Subsets.singletons(2)).v > 0.5).tolist()
    [True, False]
    """

    def __init__(self, problem: Problem, *, n_neighbours: int = 3) -> None:
        super().__init__(problem)
        refuse_missing(self.X, "Nearest neighbours")
        self.n_neighbours = n_neighbours
        spread = self.X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        noise = np.random.default_rng(draw_seed(problem.seed)).standard_normal(self.X.shape)
        self._points = self.X / self._scale + JITTER * noise

    def _errors(self, known: BoolArray) -> FloatArray:
        return np.stack([self._local_variance(columns) for columns in known])

    def _local_variance(self, columns: BoolArray) -> FloatArray:
        others = self._nearest(self._points[:, columns], None)
        neighbourhood = np.concatenate([np.arange(len(self.y))[:, None], others], axis=1)
        variance: FloatArray = self.y[neighbourhood].var(axis=1, ddof=1)
        return variance

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        return np.stack([self._neighbour_mean(columns, rows) for columns in known])

    def _neighbour_mean(self, columns: BoolArray, rows: FloatArray | None) -> FloatArray:
        queries = None if rows is None else (rows / self._scale)[:, columns]
        mean: FloatArray = self.y[self._nearest(self._points[:, columns], queries)].mean(axis=1)
        return mean

    def _nearest(self, points: FloatArray, queries: FloatArray | None) -> npt.NDArray[np.intp]:
        """The nearest points, without the row itself when ``queries`` is None."""
        itself = queries is None
        index = NearestNeighbors(n_neighbors=self.n_neighbours - 1 + itself).fit(points)
        asked = points if queries is None else queries
        size = max(1, DISTANCES_AT_ONCE // len(points))
        blocks = [asked[start : start + size] for start in range(0, len(asked), size)]
        found = np.concatenate([index.kneighbors(b, return_distance=False) for b in blocks])
        return _without_itself(found) if itself else np.asarray(found, dtype=np.intp)


def _without_itself(found: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Neighbours of all rows in turn but the row, which is near the front; else but the first."""
    others = found != np.arange(len(found))[:, None]
    others[others.all(axis=1), 0] = False
    return np.asarray(found[others].reshape(len(found), found.shape[1] - 1), dtype=np.intp)

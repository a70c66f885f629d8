"""The process of both parts of a game: what is expected of v of a subset that was not evaluated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve

from shaff._util.typing import BoolArray, FloatArray
from shaff.gaussian_process.even_kernel import EvenKernel
from shaff.gaussian_process.kernel import OddKernel, Points
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.model import OddModel
from shaff.gaussian_process.posterior import stable_cholesky
from shaff.subsets import Subsets


class ValueModel:
    """Posterior mean of v(U), given the values of some subsets.

    v(U) is half the sum of its odd part g(U), its even part e(U) and v(all), which are independent
    in the prior and share their hyper-parameters: those that the odd part is fitted with.

    Parameters
    ----------
    subsets : Subsets
        Subsets that the hyper-parameters are fitted to, without the full set.
    v : float array of shape (n_subsets,)
    v_all : float
    proxy : Proxy or None, default=None
    relevance : array of shape (n_players,) or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.sampling import paired
    >>> from shaff.gaussian_process.value_model import ValueModel
    >>> shares = np.array([0.4, 0.2, 0.2, 0.1])
    >>> subsets = paired(np.eye(4, dtype=bool))
    >>> v = subsets.masks() @ shares
    >>> model = ValueModel(subsets, v, 0.9)
    >>> two = np.array([[True, True, False, False], [False, False, True, True]])
    >>> model.mean(subsets.masks(), v, two).round(2).tolist()
    [0.6, 0.3]
    """

    def __init__(
        self,
        subsets: Subsets,
        v: FloatArray,
        v_all: float,
        proxy: Proxy | None = None,
        relevance: npt.ArrayLike | None = None,
    ) -> None:
        model = OddModel(subsets.n_players, proxy=proxy, relevance=relevance)
        odd = model.fit(subsets, v, v_all).posterior
        assert isinstance(odd.kernel, OddKernel)
        self._odd, self._proxy, self._v_all = odd.kernel, proxy, v_all
        self._even = EvenKernel(odd.kernel.signal, odd.kernel.rates)
        # The last pair, {full, empty}, is known; each other has the noise of two values.
        self._noise = float(np.median(odd.noise[:-1])) / 2 if len(odd.noise) > 1 else 0.0

    def mean(self, known: BoolArray, v: FloatArray, asked: BoolArray) -> FloatArray:
        """Return the posterior mean of v at some subsets.

        Parameters
        ----------
        known : bool array of shape (n_known, n_players)
            What has been evaluated.
        v : float array of shape (n_known,)
        asked : bool array of shape (n_asked, n_players)
        """
        points = self._points(known)
        covariance = self._covariance(points, points)
        covariance[np.diag_indices_from(covariance)] += self._noise
        weights = cho_solve((stable_cholesky(covariance), True), v - self._v_all / 2)
        return np.asarray(self._v_all / 2 + self._covariance(self._points(asked), points) @ weights)

    def _points(self, masks: BoolArray) -> Points:
        return Points.make(np.where(masks, 1.0, -1.0), self._proxy)

    def _covariance(self, a: Points, b: Points) -> FloatArray:
        both = self._odd.covariance(a, b) + self._even.covariance(a, b)
        return np.asarray(both / 4, dtype=np.float64)

"""The even-part process fitted to values of subsets, for interactions of pairs of players."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray
from shaff.gaussian_process.even_kernel import EvenKernel
from shaff.gaussian_process.hyperparameters import Hyperparameters, Observations, root_mean_square
from shaff.gaussian_process.kernel import Points
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.model import OddModel, inflation
from shaff.gaussian_process.pairing import Pairing
from shaff.gaussian_process.posterior import Posterior
from shaff.subsets import Subsets


@dataclass(frozen=True, eq=False)
class InteractionFit:
    """Posterior of the interaction indices given the values of some subsets.

    Parameters
    ----------
    pairing : Pairing
    data : Observations
        Values of e(U) = v(U) + v(complement) - v(all).
    posterior : Posterior
    """

    pairing: Pairing
    data: Observations
    posterior: Posterior

    @cached_property
    def pair_map(self) -> FloatArray:
        """W with indices = W e. The sum over the pairs of a player is known: `with_known_sums`."""
        return with_known_sums(self.posterior.linear_map, self.data.points.signs)

    @property
    def linear_map(self) -> FloatArray:
        """W with indices = W @ [v(subsets), v(all)], shape (n_pairs_of_players, n_subsets + 1)."""
        weights, pairing = self.pair_map, self.pairing
        whole = ~pairing.lonely
        out = np.zeros((len(weights), pairing.n_values + 1))
        out[:, pairing.first[whole]] = weights
        out[:, pairing.second[whole]] = weights
        out[:, -1] = -weights.sum(axis=1)
        return out

    @cached_property
    def variances(self) -> FloatArray:
        """Calibrated variance of the design error of each index."""
        return inflation(self.posterior, self.data.g, n_exact=0) * self.posterior.variances

    @property
    def standard_errors(self) -> FloatArray:
        """Calibrated standard error that the design leaves to each index."""
        return np.sqrt(self.variances)


class InteractionModel:
    """The process with its settings; see `OddModel`, which it is the other half of.

    Subsets without their complements are left out. Odd and even part are independent, and have
    the same hyper-parameters: both speak for them.

    Parameters
    ----------
    n_players : int
    noise : float or None
    proxy : Proxy or None
        For the odd part.
    relevance : array of shape (n_players,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.sampling import paired
    >>> from shaff.gaussian_process.interaction_model import InteractionModel
    >>> subsets = paired(np.eye(3, dtype=bool))
    >>> v = subsets.masks() @ np.array([0.4, 0.3, 0.2])
    >>> fit = InteractionModel(3).fit(subsets, v, 0.9)
    >>> bool(np.abs(fit.linear_map @ np.append(v, 0.9)).max() < 1e-9)
    True
    """

    def __init__(
        self,
        n_players: int,
        *,
        noise: float | None = None,
        proxy: Proxy | None = None,
        relevance: npt.ArrayLike | None = None,
    ) -> None:
        self._odd = OddModel(n_players, noise=noise, proxy=proxy, relevance=relevance)

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Hyper-parameters of the last fit."""
        return self._odd.hyperparameters

    def fit(self, subsets: Subsets, v: FloatArray, v_all: float) -> InteractionFit:
        """Fit the hyper-parameters and condition on the values."""
        pairing = Pairing.of(subsets)
        odd, even = self._odd.observations(pairing, v, v_all), _even(pairing, v, v_all)
        whole = np.append(~pairing.lonely, True)
        odd = Observations(odd.points[whole], odd.g[whole], odd.known[whole], odd.learnt[whole])
        even = Observations(even.points, even.g, odd.known[:-1], odd.learnt[:-1])
        scale = root_mean_square(odd.g)
        found = self._odd.hyperparameters.fitted(odd, scale, even=even)
        self._odd.hyperparameters = found
        kernel = found.kernel(scale, None)
        noise = even.known + even.learnt * found.noise(scale)
        posterior = Posterior(EvenKernel(kernel.signal, kernel.rates), even.points, noise)
        return InteractionFit(pairing, even, posterior)


def _even(pairing: Pairing, v: FloatArray, v_all: float) -> Observations:
    """Values of e at the complete pairs, but for {full, empty}, where it is 0."""
    signs = pairing.signs[:-1][~pairing.lonely]
    none = np.zeros(len(signs))
    return Observations(Points.make(signs), pairing.even(v, v_all)[:-1] - v_all, none, none)


def with_known_sums(weights: FloatArray, signs: FloatArray) -> FloatArray:
    """Move a map from e to indices, as little as it takes, to where the sums are known.

    The indices of a player's pairs sum to [v(all) - v(all but it)] - v(it alone) = -e({player}).
    A player whose e is not among the values keeps its sum.
    """
    p = signs.shape[1]
    # A pair {U, complement} is that of one player where its signs are the player's, or opposite.
    is_alone = np.abs(signs @ (2 * np.eye(p) - 1)) == p
    known = np.flatnonzero(is_alone.any(axis=0))
    sums = np.zeros((len(known), len(signs)))
    sums[np.arange(len(known)), is_alone.argmax(axis=0)[known]] = -1.0
    takes_part = np.stack(np.triu_indices(p, 1)) == known[:, None, None]
    rows = takes_part.any(axis=1).astype(np.float64)
    return np.asarray(weights - np.linalg.pinv(rows) @ (rows @ weights - sums), dtype=np.float64)

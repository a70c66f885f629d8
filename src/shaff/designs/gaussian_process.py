"""The active design: the pairs of subsets that tell most about the effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from shaff._util.threads import one_blas_thread
from shaff._util.typing import BoolArray, FloatArray, IntpArray, RandomState
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.designs.sampling import canonical, paired, random_of_sizes, unseen
from shaff.gaussian_process.interaction_model import InteractionFit, InteractionModel
from shaff.gaussian_process.kernel import Points
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.model import OddFit, OddModel
from shaff.gaussian_process.posterior import Kernel, Posterior
from shaff.protocols import DesignContext, DesignSetting, Proposal, Values
from shaff.subsets import Subsets, n_owen_coalitions, owen_coalitions

# Candidates for a batch: this many times the pairs of the batch, within the limits.
# A smaller pool gives a worse design, a larger one only takes time (`benchmarks.designs`).
POOL_FACTOR, POOL_LIMITS = 20, (1000, 4000)
# A batch adds this share of what has been evaluated, and never fewer pairs than the second.
# Larger ones choose by stale hyper-parameters, smaller ones refit too often (`benchmarks.designs`).
BATCH_SHARE, BATCH_LEAST = 0.3, 8
# Gains that differ by this share are equal but for rounding.
TIE = 1e-9
# No error bar is believed before this many evaluations, and this many per player.
# Fewer, and a run may end on a lucky fit (`benchmarks.designs`).
LEAST_SUBSETS, LEAST_PER_PLAYER = 50, 3
# The tolerance is a share of the error of v(all) that the rows leave, within limits: more rows
# deserve more subsets.
# Looser, and the design adds to the error; tighter, and time goes where the rows decide
# (`benchmarks.accuracy`).
DATA_SHARE, TOLERANCES = 0.5, (0.0003, 0.003)


class GaussianProcessDesign:
    """Pairs of subsets chosen greedily to lower the error of the effects, in batches.

    It starts with the single players and their complements. Then, in turn, the hyper-parameters
    of the process are fitted to the values so far, and a batch of pairs is added from a pool of
    candidates whose size is uniform (that is, sampled by leverage score): each time the pair with
    the largest expected fall of the summed posterior variance of the effects (docs/theory.md,
    section 7). When there are no more than ``n_subsets`` subsets, all are proposed at once.

    Parameters
    ----------
    n_players : int
    n_subsets : int
        Cap on the number of subsets to evaluate; the empty and the full set do not count.
    tol : float or None
        Stop when the largest calibrated standard error of an effect is at most this, though not
        before 50 evaluations and 3 per player.
    relevance : array of shape (n_players,) or None
        Rough importance of the players, such as split gains.
    proxy : Proxy or None
        A game close to v with known Shapley values.
    noise : float or None
        Standard deviation of the error of the values; None learns it.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from shaff.designs.gaussian_process import GaussianProcessDesign
    >>> from shaff.protocols import DesignContext, DesignSetting, Proposal, Values
    >>> from shaff.subsets import Subsets
    >>> import numpy as np
    >>> design = GaussianProcessDesign(n_players=10, n_subsets=100, random_state=0)
    >>> start = Values(Subsets.full(10), np.array([0.9]))
    >>> sorted(set(design.propose(start).subsets.sizes.tolist()))
    [1, 9]
    """

    def __init__(
        self,
        n_players: int,
        n_subsets: int,
        tol: float | None = None,
        relevance: npt.ArrayLike | None = None,
        random_state: RandomState = None,
        *,
        proxy: Proxy | None = None,
        noise: float | None = None,
    ) -> None:
        self.n_players, self.n_subsets, self.tol, self.proxy = n_players, n_subsets, tol, proxy
        self._rng = check_random_state(random_state)
        self._model = self._make_model(n_players, noise=noise, proxy=proxy, relevance=relevance)

    def _make_model(self, n_players: int, **known: Any) -> OddModel | InteractionModel:
        return OddModel(n_players, **known)

    def propose(self, history: Values) -> Proposal | None:
        """Propose the next batch; None once ``n_subsets`` or the tolerance is reached."""
        if self._n_needed <= self.n_subsets:
            return unseen(self._needed(), history)
        inner = history.subsets.sizes < self.n_players
        subsets, v = history.subsets[inner], history.v[inner]
        n_left = (self.n_subsets - len(subsets)) // 2
        if n_left < 1:
            return None
        if not len(subsets) and self.n_players <= n_left:
            alone = Subsets.singletons(self.n_players)
            return Proposal(paired(alone.masks()))
        with one_blas_thread:
            fit = self._model.fit(subsets, v, float(history.v[~inner][0]))
            error = float(fit.standard_errors.max())
            if self.tol is not None and error <= self.tol and len(subsets) >= self._least:
                return None
            batch = self._batch(fit, history.subsets, n_left)
        return None if batch is None else Proposal(batch, error=error)

    @property
    def _n_needed(self) -> int:
        """Number of subsets whose values leave nothing open."""
        return int(2**self.n_players - 2)

    def _needed(self) -> Subsets:
        return ExhaustiveDesign(self.n_players).subsets

    @property
    def _least(self) -> int:
        return max(LEAST_SUBSETS, LEAST_PER_PLAYER * self.n_players)

    def _batch(self, fit: OddFit | InteractionFit, seen: Subsets, n_left: int) -> Subsets | None:
        size = max(BATCH_LEAST, int(BATCH_SHARE * len(fit.data)))
        size = n_left if n_left < 1.5 * size else size
        masks = self._candidates(size, seen)
        if not len(masks):
            return None
        pool = Points.make(np.where(masks, 1.0, -1.0), self.proxy)
        noise = float(np.median(fit.posterior.noise[:-1])) if len(fit.data) > 1 else 0.0
        chosen = choose(fit.posterior, pool, noise, min(size, len(masks)))
        return paired(masks[chosen])

    def _candidates(self, n_pairs: int, seen: Subsets) -> BoolArray:
        """Draw distinct pairs, one member each, with no member in ``seen``."""
        n_pool = int(np.clip(POOL_FACTOR * n_pairs, *POOL_LIMITS))
        pool = Subsets.from_masks(canonical(self._draw(n_pool))).unique()
        known = set(seen.keys()) | set(seen.complement().keys())
        keys = pool.keys()
        return pool.masks()[[key not in known for key in keys]]

    def _draw(self, n_pool: int) -> BoolArray:
        """Draw subsets of uniform size, shape (n_pool, n_players)."""
        sizes = self._rng.randint(1, self.n_players, size=n_pool)
        return random_of_sizes(sizes, self.n_players, self._rng)


class OwenDesign(GaussianProcessDesign):
    """A `GaussianProcessDesign` for the Owen values of players in groups.

    Half of its candidates are made of whole groups and a part of one more: Owen values depend on no
    other subsets. If all of these are no more than ``n_subsets``, they are proposed at once.

    Parameters
    ----------
    *known, **more
        As of `GaussianProcessDesign`.
    unions : int array of shape (n_players,)
        Codes 0, 1, ... of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.gaussian_process import OwenDesign
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> design = OwenDesign(6, 60, unions=np.array([0, 0, 0, 1, 1, 1]))
    >>> len(design.propose(Values(Subsets.full(6), np.array([0.9]))).subsets)
    26
    """

    def __init__(self, *known: Any, unions: IntpArray, **more: Any) -> None:
        self.unions = unions
        super().__init__(*known, **more)

    def _make_model(self, n_players: int, **known: Any) -> OddModel:
        return OddModel(n_players, **known, unions=self.unions)

    @property
    def _n_needed(self) -> int:
        return n_owen_coalitions(self.unions)

    def _needed(self) -> Subsets:
        return owen_coalitions(self.unions)

    def _draw(self, n_pool: int) -> BoolArray:
        anything = super()._draw(n_pool - n_pool // 2)
        return np.concatenate([anything, self._coalitions(n_pool // 2)])

    def _coalitions(self, n: int) -> BoolArray:
        """Draw whole groups, as many as it comes, and a part of one group that all may be."""
        n_unions = int(self.unions.max()) + 1
        sizes = self._rng.randint(0, n_unions + 1, size=n)
        masks = random_of_sizes(sizes, n_unions, self._rng)[:, self.unions]
        own = self.unions == self._rng.randint(0, n_unions, size=n)[:, None]
        share = self._rng.random_sample((n, 1))
        return np.where(own, self._rng.random_sample(masks.shape) < share, masks)


def choose(posterior: Posterior, pool: Points, noise: float, n_chosen: int) -> list[int]:
    """Return the places in the pool of the pairs that lower the summed variance most.

    One pair at a time, each given those before. The Cholesky factor is never formed again: a new
    observation appends a row to L^-1 K(observed, pool), from which all that is needed follows.
    """
    greedy = _Greedy(posterior, pool, noise, n_chosen)
    return [greedy.step() for _ in range(n_chosen)]


class _Greedy:
    """State of the greedy search: posterior moments of the pool given what was chosen."""

    def __init__(self, posterior: Posterior, pool: Points, noise: float, steps: int) -> None:
        self.kernel: Kernel = posterior.kernel
        self.pool, self.noise, self.n_rows = pool, noise, len(posterior.points)
        self.rows = np.empty((self.n_rows + steps, len(pool)))
        self.rows[: self.n_rows] = posterior.whiten(self.kernel.covariance(posterior.points, pool))
        known = self.rows[: self.n_rows]
        # Noise keeps this positive for a pair that the others already determine.
        floor = noise + 1e-9 * float(self.kernel.variance(pool).max())
        self.variance: FloatArray = floor + np.maximum(
            self.kernel.variance(pool) - np.einsum("kj,kj->j", known, known), 0.0
        )
        self.with_effects = self.kernel.with_effects(pool) - posterior.half.T @ known
        self.free = np.ones(len(pool), dtype=bool)

    def step(self) -> int:
        """Take the best free pair and condition on it."""
        gain = np.einsum("ij,ij->j", self.with_effects, self.with_effects) / self.variance
        gain = np.where(self.free, gain, -1.0)
        # The first of those that only rounding tells apart: units must not decide.
        best = int((gain >= (1 - TIE) * gain.max()).argmax())
        self.free[best] = False
        known = self.rows[: self.n_rows]
        own = (
            self.kernel.covariance(self.pool[best : best + 1], self.pool)[0]
            - known[:, best] @ known
        )
        row = own / np.sqrt(self.variance[best])
        effect = self.with_effects[:, best] / np.sqrt(self.variance[best])
        self.rows[self.n_rows] = row
        self.n_rows += 1
        self.with_effects -= np.outer(effect, row)
        self.variance = np.maximum(self.variance - row**2, self.noise + 1e-12)
        return best


def default_tolerance(context: DesignContext) -> float:
    """Return a tolerance that is small beside the data error of v(all)."""
    return float(np.clip(DATA_SHARE * context.data_error, *TOLERANCES))


@dataclass(frozen=True)
class GaussianProcess(DesignSetting):
    """``design="gaussian_process"``, the default.

    Examples
    --------
    >>> from shaff.designs.gaussian_process import GaussianProcess
    >>> GaussianProcess().screened
    True
    """

    name = "gaussian_process"
    solver = "gaussian_process"
    linear_game = True
    screened = True

    def make(self, context: DesignContext) -> GaussianProcessDesign:
        """Return the design. It stops at a tolerance unless only ``n_subsets`` was asked for."""
        default = None if context.n_subsets is not None else default_tolerance(context)
        known = (
            context.n_players,
            context.max_subsets,
            default if context.tol is None else context.tol,
            context.relevance,
            context.seed,
        )
        unions = context.structure.unions
        if unions is not None:
            return OwenDesign(*known, proxy=context.proxy, unions=unions)
        return GaussianProcessDesign(*known, proxy=context.proxy)

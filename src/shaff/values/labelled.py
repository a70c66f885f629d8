"""Labels by a better model: values on a large sample of points that a learner has labelled.

Where the distribution of the inputs is known, points can be drawn at will. A learner of the rows
labels many of them, and the conditional means of its labels are found on far more points than there
are rows. What the labels get wrong is measured on the rows, where the outcome is known and the
learner has not seen it: with the label m, the residual r = y - m and the conditional mean g of y,

    Var E[y | U] = Var E[m | U] + 2 Cov(g_U, r) + O(Var r),

the first part by the labelled points, the second by the rows. So the share of the variance comes
from held-out rows, never from the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from shaff._util.typing import FloatArray
from shaff.data.new_rows import read_new_rows
from shaff.data.problem import Problem
from shaff.data.target import Target
from shaff.protocols import Game, ValueFunction, Values, some_rows
from shaff.subsets import Subsets
from shaff.values.auto import make_auto
from shaff.values.making import make_values

# Points that are labelled: more take time, fewer leave the error of the points. They come in
# independent blocks, each of which fills the space of the inputs evenly; the spread of the values
# between blocks tells the error of the points. More blocks know it better, but fill the space less
# evenly (`benchmarks.simulators`).
N_LABELLED, N_BLOCKS = 8192, 16
# Intervals are those of normal errors: so much wider they are for errors known from few blocks.
FEW_BLOCKS = float(stdtrit(N_BLOCKS - 1, 0.975) / ndtri(0.975))
# Other points would also have made another second learner: the root of the factor of flexible
# learners in `shaff.uncertainty.inference`.
OTHER_LEARNER = 1.3
# Share of the variance of the outcome that a learner must explain on held-out rows for its labels
# to be used. Labels of 0.89 and more have helped (`benchmarks.simulators --n 80 --cases hinges
# waves jump`); with less, what they miss is as large as what is asked for.
FAITHFUL = 0.9


@dataclass(frozen=True, eq=False)
class Labelling:
    """Where points to be labelled come from.

    Parameters
    ----------
    draw : callable
        ``draw(n, seed)`` returns n rows like those of the table, by the distribution of its inputs.
    n_points : int or None, default=None
        Number of points; None means `N_LABELLED`, if the learner is faithful enough.
    noise_free : bool, default=True
        Whether the outcome is a function of the inputs, which explain all of it then.
    """

    draw: Callable[[int, int], Any]
    n_points: int | None = None
    noise_free: bool = True


def make_labelled(estimator: Any, problem: Problem, labelling: Labelling) -> Game:
    """Make the value function of a learner of shaff, and let it label further points if that helps.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.labelled import Labelling, make_labelled
    >>> def draw(n, seed):
    ...     return np.random.default_rng(seed).random((n, 2))
    >>> X = draw(100, 0)
    >>> make_labelled("smooth", Problem.of(X, X.sum(axis=1), random_state=0), Labelling(draw)).name
    'labelled smooth'
    """
    distinct = problem.without_copies()
    game = _learner(estimator, distinct, labelling.noise_free)
    explained = game.values.values(Subsets.full(game.values.n_players))
    if not _is_plain(game, distinct) or not _is_faithful(explained, labelling):
        return game
    further = _further(distinct, labelling)
    labels = game.values.predict(Subsets.full(len(distinct.players)), further.X)[0]
    labelled = replace(further, target=Target(labels))
    second = make_values(estimator, labelled)
    values = LabelledValues(distinct, game.values, labelled, second.values)
    missed = max(1 - float(explained.v[0]), 0.0) * labelling.noise_free
    facts = replace(game.facts, n_labelled=len(labels), not_learnt=missed)
    return replace(game, values=values, name=f"labelled {game.name}", facts=facts, evaluated=None)


def _learner(estimator: Any, problem: Problem, noise_free: bool) -> Game:
    if estimator not in (None, "auto"):
        return make_values(estimator, problem)
    problem.check_varies()
    return make_auto(problem, noise_free)


def _is_plain(game: Game, problem: Problem) -> bool:
    """Whether nothing but the rows of the table and one outcome are in the game."""
    explained = game.problem is None or game.problem is problem
    others = (problem.views, problem.row_groups, game.encode)
    one = problem.y.shape[1] == 1 and problem.target.classes is None and not problem.has_splits
    return one and explained and all(other is None for other in others)


def _is_faithful(explained: Values, labelling: Labelling) -> bool:
    return labelling.n_points is not None or bool(explained.v_plain[0] >= FAITHFUL)


def _further(problem: Problem, labelling: Labelling) -> Problem:
    """Points without labels, in blocks that are never on both sides of a split."""
    size = max((labelling.n_points or N_LABELLED) // N_BLOCKS, 1)
    # Seeds that are not that of the rows.
    seeds = np.random.SeedSequence(problem.seed).generate_state(N_BLOCKS)
    drawn = [labelling.draw(size, int(seed)) for seed in seeds]
    X = np.vstack([read_new_rows(rows, problem.table, named=True).X for rows in drawn])
    blocks = np.repeat(np.arange(N_BLOCKS), size)
    plain = replace(problem, sample_weight=None, row_groups=blocks, row_of=None, places=None)
    return plain.with_matrix(np.ascontiguousarray(X))


@dataclass(frozen=True, eq=False)
class LabelledValues:
    """Value function: what a learner's labels of many points say, put right by the rows.

    Parameters
    ----------
    problem : Problem
        The rows, with one outcome.
    first : ValueFunction
        A learner of the outcome on the rows, which has labelled the points.
    labelled : Problem
        The points with their labels; its row groups are independent blocks of them.
    second : ValueFunction
        A learner of the labels on the points.
    """

    problem: Problem
    first: ValueFunction
    labelled: Problem
    second: ValueFunction

    @property
    def n_players(self) -> int:
        """Number of players."""
        return self.first.n_players

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; the spread between the blocks of points stands in ``runs``."""
        share, plain_share, by_block = self._shares(subsets)
        means = self.first.predict(subsets)
        parts = self._rows.covariances(means[:, :, 0])
        plain, exact = (self._put_right(s, parts, subsets) for s in (plain_share, share))
        v = exact + share * self._correction
        kept = some_rows(len(self._rows.residual))
        return Values(
            subsets,
            v,
            plain=plain,
            runs=v[:, None] + by_block,
            influences=self._influences(parts, exact) if influences else None,
            means=self._rows.centred(means[:, kept]) if influences else None,
        )

    def _put_right(self, share: FloatArray, parts: FloatArray, subsets: Subsets) -> FloatArray:
        """Values by shares of the variance of the labels and by what the rows add to them."""
        found = (self._label_variance * share + _row_means(parts)) / self._variance
        return np.where(subsets.sizes > 0, found, 0.0)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means: of rows of the problem by the first learner, which has not seen their
        outcomes; of others by the second."""
        if rows is None:
            return self.first.predict(subsets)
        return self.second.predict(subsets, rows)

    def _shares(self, subsets: Subsets) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Shares of the variance of the labels with correction and without, and how far each block
        of points is from their value, shape (n_subsets, n_blocks).

        All inputs tell the label: what they are short of is the second learner's.
        """
        found = self.second.values(subsets, influences=True)
        blocks = self.labelled.row_groups
        assert found.influences is not None
        assert blocks is not None
        sums = np.stack([np.bincount(blocks, weights=psi) for psi in found.influences])
        away = sums * (sums.shape[1] / len(blocks)) * (self._label_variance / self._variance)
        whole = self._whole
        return (
            found.v / whole.v[0],
            found.v_plain / whole.v_plain[0],
            FEW_BLOCKS * OTHER_LEARNER * away,
        )

    @cached_property
    def _whole(self) -> Values:
        return self.second.values(Subsets.full(self.n_players))

    @cached_property
    def _label_variance(self) -> float:
        return float(self.labelled.y.var())

    @cached_property
    def _rows(self) -> HeldOutRows:
        held_out = self.first.predict(Subsets.full(self.n_players))[0, :, 0]
        return HeldOutRows(self.problem, held_out)

    @cached_property
    def _variance(self) -> float:
        """Variance of the outcome: of the labels, and what the rows add to it."""
        return self._label_variance + float(_row_means(self._rows.beside_labels)[0])

    @cached_property
    def _correction(self) -> float:
        """What the noise of the first learner takes of v(all) on held-out rows."""
        whole = self.first.values(Subsets.full(self.n_players))
        return float(whole.v[0] - whole.v_plain[0])

    def _influences(self, parts: FloatArray, v: FloatArray) -> npt.NDArray[np.float32]:
        psi = (parts - v[:, None] * self._rows.beside_labels) / self._variance
        return (psi - _row_means(psi)[:, None]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows whose outcomes the labels have been checked on.

    Parameters
    ----------
    problem : Problem
    held_out : float array of shape (n_rows,)
        Labels of the rows by learners that have not seen them.
    """

    problem: Problem
    held_out: FloatArray

    @cached_property
    def residual(self) -> FloatArray:
        """What the labels get wrong, about its mean; shape (n_rows,)."""
        residual = self.problem.y[:, 0] - self.held_out
        return np.asarray(residual - np.average(residual, weights=self.problem.weight))

    def covariances(self, means: FloatArray) -> FloatArray:
        """What each row adds to 2 Cov(g, r), for conditional means g of shape (n, n_rows)."""
        weight = self.problem.weight / self.problem.weight.mean()
        about = means - _row_means(means * weight)[:, None]
        return np.asarray(2 * about * self.residual * weight)

    @cached_property
    def beside_labels(self) -> FloatArray:
        """What each row adds to Var y beyond the variance of the labels; shape (1, n_rows)."""
        weight = self.problem.weight / self.problem.weight.mean()
        return np.asarray(self.covariances(self.held_out[None]) + weight * self.residual**2)

    def centred(self, means: FloatArray) -> npt.NDArray[np.float32]:
        """Conditional means about the mean of the outcome."""
        return np.asarray(means - self.problem.y.mean(), dtype=np.float32)


def _row_means(matrix: FloatArray) -> FloatArray:
    """Mean of each row by itself: the bits of a matrix product depend on the number of rows."""
    return np.asarray(np.ascontiguousarray(matrix).mean(axis=1), dtype=np.float64)

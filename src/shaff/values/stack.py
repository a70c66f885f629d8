"""Several value functions as one: their predictions averaged over splits and stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from shaff._util.seeds import LARGEST_SEED
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.folds import fold_numbers
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.protocols import Game, LearnerFacts, ValueFunction, Values
from shaff.subsets import Subsets
from shaff.values.boosting.grown import make_boosting
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.forest.grown import make_forest
from shaff.values.forest.projected_forest import ProjectedForest
from shaff.values.outcome import Outcome
from shaff.values.ridge import RidgeValues
from shaff.values.smooth.smooth_values import SmoothValues

# Subsets at a time: the predictions of all parts in all runs are held for each.
BLOCK = 16
# Few rows: the luck of one split decides much, and another split costs little.
# Fewer runs leave the answer to luck (`benchmarks.seeds`), more take time (`benchmarks.pairs`).
MAX_RUNS, MIN_RUNS, RUN_ROWS = 5, 2, 1600
# Rows up to which each run of boosting makes its own choices.
# Fewer, and one lucky choice is in all runs (`benchmarks.seeds`).
OWN_CHOICES = 600
# What is stacked, in words.
KINDS = ("linear", "forest", "boosted trees", "smooth curves")


class Part(Protocol):
    """A learner in the stack."""

    def runs(self, subsets: Subsets) -> FloatArray:
        """Out-of-sample predictions, shape (n_runs, n_subsets, n_rows, n_outputs)."""

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Predictions averaged over the runs, shape (n_subsets, n_rows, n_outputs)."""


class AveragedValues:
    """The same value function on several splits: its predictions are averaged."""

    def __init__(self, parts: Sequence[ValueFunction]) -> None:
        self.parts = list(parts)

    def runs(self, subsets: Subsets) -> FloatArray:
        """Out-of-sample predictions on each split."""
        return np.stack([part.predict(subsets) for part in self.parts])

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Predictions averaged over the splits."""
        return np.asarray(np.mean([part.predict(subsets, rows) for part in self.parts], axis=0))


class TreeBlocks:
    """A forest whose trees, in blocks, stand for several runs."""

    def __init__(self, forest: ProjectedForest, n_runs: int) -> None:
        self.forest, self.n_runs = forest, n_runs

    def runs(self, subsets: Subsets) -> FloatArray:
        """Out-of-bag predictions of each block; of all trees where a block has none."""
        return self.forest.predict_blocks(subsets, self.n_runs)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Predictions of all trees."""
        return self.forest.predict(subsets, rows)


class StackedValues:
    """Value function: a non-negative combination of predictions, found anew for each subset.

    For one subset U the out-of-sample predictions of the parts are combined by non-negative least
    squares against y. The weights that a row's error is measured with come from the other folds,
    so stacking costs no optimism, however small the data. Parts are averaged over several runs,
    each with a split and seeds of its own; the spread of their values tells how much chance is
    left.

    Parameters
    ----------
    parts : sequence of Part
        NaN where a part cannot predict a row.
    problem : Problem
    fold_of : sequence of int arrays of shape (n_rows,)
        The fold of each row in each run; rows that belong together have one fold.
    smooth : SmoothValues or None
        The part, if any, whose leverages say what its variance has taken.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.datasets import experiment_1a
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.ridge import RidgeValues
    >>> from shaff.values.stack import AveragedValues, StackedValues
    >>> exp = experiment_1a(n=500, random_state=0)
    >>> problem = Problem.of(exp.X, exp.y, random_state=0)
    >>> parts = [AveragedValues([RidgeValues(problem, scale=s)]) for s in ("linear", "quadratic")]
    >>> stack = StackedValues(parts, problem, [np.arange(500) % 5])
    >>> stack.values(Subsets.full(15)).v.round(1).tolist()
    [0.9]
    """

    def __init__(
        self,
        parts: Sequence[Part],
        problem: Problem,
        fold_of: Sequence[IntpArray],
        smooth: SmoothValues | None = None,
    ) -> None:
        self.parts, self._problem = list(parts), problem
        self.n_players = len(problem.players)
        self.fold_of = [np.asarray(folds, dtype=np.intp) for folds in fold_of]
        self._smooth = smooth
        self._mix_of: dict[bytes, _Mix] = {}
        self.outcome = Outcome.by_fold(problem, self.fold_of[0])

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset."""
        return Values.concatenate([self._evaluate(block, influences) for block in _blocks(subsets)])

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Combined conditional means, shape (n_subsets, n_rows, n_outputs)."""
        if rows is None:
            blocks = [self._runs(block)[0].mean(axis=2) for block in _blocks(subsets)]
            return np.stack([self._average(table)[0] for tables in blocks for table in tables])
        smooth = () if self._smooth is None else (self._smooth.predict(subsets, rows),)
        new = np.stack([*(part.predict(subsets, rows) for part in self.parts), *smooth], axis=1)
        return np.stack([m.of(p) for m, p in zip(self._mixes(subsets), new, strict=True)])

    def _mixes(self, subsets: Subsets) -> list[_Mix]:
        """How the parts are combined for further rows: as `values` has found, or finds now."""
        unknown = np.array([key not in self._mix_of for key in subsets.keys()], dtype=bool)
        if unknown.any():
            self.values(subsets[unknown])
        return [self._mix_of[key] for key in subsets.keys()]

    def _runs(self, subsets: Subsets) -> tuple[FloatArray, FloatArray | None]:
        """Predictions of all parts, shape (n_subsets, n_parts, n_runs, n_rows, n_outputs), the
        smooth part last; and its leverages, shape (n_subsets, n_rows)."""
        runs = [part.runs(subsets) for part in self.parts]
        leverages = None
        if self._smooth is not None:
            last, leverages = self._smooth.runs_and_leverages(subsets)
            runs.append(last)
        return np.stack(runs).transpose(2, 0, 1, 3, 4), leverages

    def _evaluate(self, subsets: Subsets, influences: bool) -> Values:
        tables, leverages = self._runs(subsets)
        means = tables.mean(axis=2)
        combined = [self._average(table) for table in means]
        mixes = [self._mix(table) for table in means]
        self._mix_of.update(zip(subsets.keys(), mixes, strict=True))
        stacked = np.stack([mean for mean, _ in combined])
        errors = (self.outcome.y - stacked) ** 2
        corrected = None
        if leverages is not None:
            # The share of the smooth part's own variance that is in the error.
            share = np.minimum(1.0, np.stack([weight for _, weight in combined])) * leverages
            corrected = errors - share[:, :, None] * (self.outcome.y - means[:, -1]) ** 2
        kept = stacked[:, self.outcome.sample]
        values = self.outcome.values(subsets, errors, influences, corrected, kept)
        return replace(values, runs=self._single_runs(subsets, tables))

    def _single_runs(self, subsets: Subsets, tables: FloatArray) -> FloatArray | None:
        """Values by each run alone, shape (n_subsets, n_runs)."""
        if len(self.fold_of) == 1:
            return None
        out = np.empty((len(subsets), len(self.fold_of)))
        for r, fold_of in enumerate(self.fold_of):
            means = np.stack([self._combine(table, fold_of)[0] for table in tables[:, :, r]])
            out[:, r] = self.outcome.values(subsets, (self.outcome.y - means) ** 2).v
        return out

    def _average(self, table: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Combination and weight of the last part as every division into folds has them, averaged:
        where an outlier falls would decide much."""
        found = [self._combine(table, fold_of) for fold_of in self.fold_of]
        return np.mean([c for c, _ in found], axis=0), np.mean([w for _, w in found], axis=0)

    def _combine(self, table: FloatArray, fold_of: IntpArray) -> tuple[FloatArray, FloatArray]:
        """Each row's combination as the other folds have it, NaN where a part has none; and the
        weight of the last part in it."""
        combined: FloatArray = np.empty_like(table[0])
        weight = np.empty(len(combined))
        sums = _Sums.by_fold(table, self.outcome, fold_of)
        for fold, own in enumerate(sums):
            rows = fold_of == fold
            mix = (_Sums.total(sums) - own).mix()
            combined[rows], weight[rows] = mix.of(table[:, rows]), mix.weights[-1]
        return combined, weight

    def _mix(self, table: FloatArray) -> _Mix:
        """Combine the parts by all rows."""
        return _Sums.by_fold(table, self.outcome, np.zeros(table.shape[1], dtype=np.intp))[0].mix()


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over some rows for non-negative least squares: moments of y and of the parts'
    predictions, both about a common centre, which keeps their digits.

    Parameters
    ----------
    weight : float
    y : float array of shape (n_outputs,)
    parts : float array of shape (n_parts, n_outputs)
    gram : float array of shape (n_parts, n_parts)
    moment : float array of shape (n_parts,)
    centre : float array of shape (n_outputs,)
    """

    weight: float
    y: FloatArray
    parts: FloatArray
    gram: FloatArray
    moment: FloatArray
    centre: FloatArray

    @classmethod
    def by_fold(cls, table: FloatArray, outcome: Outcome, fold_of: IntpArray) -> list[_Sums]:
        """Sums over the rows of each fold that all parts predict."""
        usable = np.asarray(~np.isnan(table).any(axis=(0, 2)))
        weight = np.where(usable, outcome.weight, 0.0)
        centre = np.average(outcome.y, axis=0, weights=outcome.weight)
        parts, y = np.where(usable[:, None], table - centre, 0.0), outcome.y - centre
        out = []
        for fold in range(int(fold_of.max()) + 1):
            rows = fold_of == fold
            w, some, own = weight[rows], parts[:, rows], y[rows]
            weighted = some * w[:, None]
            flat = weighted.reshape(len(some), -1)
            gram = flat @ some.reshape(len(some), -1).T
            out.append(
                cls(w.sum(), w @ own, weighted.sum(axis=1), gram, flat @ own.ravel(), centre)
            )
        return out

    @classmethod
    def total(cls, sums: Sequence[_Sums]) -> _Sums:
        """Sums over all folds."""
        added = {
            field.name: sum(getattr(part, field.name) for part in sums) for field in fields(cls)
        }
        return cls(**{**added, "centre": sums[0].centre})

    def __sub__(self, other: _Sums) -> _Sums:
        less = {f.name: getattr(self, f.name) - getattr(other, f.name) for f in fields(self)}
        return _Sums(**{**less, "centre": self.centre})

    def mix(self) -> _Mix:
        """Non-negative least squares about the mean of y in these rows.

        Not about the mean of all: that knows the rows which are measured later, and would explain
        a share of 1/n of pure noise.
        """
        mean = self.y / self.weight
        across = self.parts @ mean
        gram = self.gram - across[:, None] - across + self.weight * (mean @ mean)
        moment = self.moment - across
        return _Mix(_non_negative(gram, moment), self.centre + mean)


def _non_negative(gram: FloatArray, moment: FloatArray) -> FloatArray:
    """Non-negative least squares from its normal equations."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    if not kept.any():
        return np.zeros(len(moment))
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    target = (vectors[:, kept].T @ moment) / np.sqrt(values[kept])
    return np.asarray(nnls(root, target)[0])


@dataclass(frozen=True, eq=False)
class _Mix:
    """Weights of the parts, for their distances from the mean."""

    weights: FloatArray
    mean: FloatArray

    def of(self, predictions: FloatArray) -> FloatArray:
        """Predictions of shape (n_parts, n_rows, n_outputs), combined."""
        return np.asarray(self.mean + np.tensordot(self.weights, predictions - self.mean, 1))


def _blocks(subsets: Subsets) -> list[Subsets]:
    return [subsets[start : start + BLOCK] for start in range(0, len(subsets), BLOCK)]


def n_runs(problem: Problem) -> int:
    """How many splits are averaged: more, the fewer rows there are.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.stack import n_runs
    >>> [n_runs(Problem.of(np.zeros((n, 1)), np.zeros(n))) for n in (200, 400, 1000)]
    [5, 4, 2]
    """
    return int(np.clip(RUN_ROWS // problem.n_units, MIN_RUNS, MAX_RUNS))


def make_stack(problem: Problem) -> Game:
    """Make the stack of ridge, projected forest, projected boosting and smooth values, combined
    anew for each subset and averaged over several splits."""
    if problem.has_splits:
        raise InputError(
            "cv is not used by the forest of a stack, which is measured on the rows out of its "
            'bags: boosting (estimator="boosting") keeps to it.'
        )
    seeds = run_seeds(problem)
    return stacked(problem, seeds, _boosting_runs(problem, seeds), make_forest(problem))


def run_seeds(problem: Problem, few: bool = False) -> list[int]:
    """A seed for each run; ``few`` asks for as few as there may be."""
    if problem.views is not None:
        return problem.views.seeds
    rng = np.random.RandomState(problem.seed)
    n_more = (MIN_RUNS if few else n_runs(problem)) - 1
    return [problem.seed, *rng.randint(LARGEST_SEED, size=n_more).tolist()]


def _boosting_runs(problem: Problem, seeds: list[int]) -> list[Game]:
    """Boosting with each seed; with few rows each run makes its own choices, as they vary by
    chance."""
    first = make_boosting(replace(problem, seed=seeds[0]))
    assert isinstance(first.values, ProjectedBoosting)
    like = first.values if problem.n_units > OWN_CHOICES else None
    games = [first]
    for seed in seeds[1:]:
        # The forest is one more to grow.
        problem.tell(len(games), len(seeds) + 1)
        games.append(make_boosting(replace(problem, seed=seed), like=like))
    problem.tell(len(seeds), len(seeds) + 1)
    return games


def stacked(problem: Problem, seeds: list[int], boosting: list[Game], forest: Game) -> Game:
    """Stack boosters (one per run) and a forest with ridge and smooth values."""
    fold_of = [_fold_of(game.values) for game in boosting]
    assert isinstance(forest.values, ProjectedForest)
    parts: list[Part] = [
        AveragedValues([RidgeValues(replace(problem, seed=seed)) for seed in seeds]),
        TreeBlocks(forest.values, len(seeds)),
        AveragedValues([game.values for game in boosting]),
    ]
    values = StackedValues(parts, problem, fold_of, SmoothValues(problem, fold_of))
    facts = LearnerFacts(blended=KINDS, n_splits=len(seeds))
    gains = np.mean([game.gains for game in boosting if game.gains is not None], axis=0)
    return Game(values, "stack", gains, forest.forest, facts=facts)


def _fold_of(values: ValueFunction) -> IntpArray:
    assert isinstance(values, ProjectedBoosting)
    return fold_numbers(values.folds, sum(len(fold.test) for fold in values.folds))

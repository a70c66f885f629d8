"""Several value functions as one: their predictions averaged over splits and stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

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
from shaff.values.halves import learning_curve
from shaff.values.link.linked_values import LinkedValues
from shaff.values.link.links import Link
from shaff.values.mixing import Mix, Predictions
from shaff.values.outcome import Outcome
from shaff.values.ridge import RidgeValues
from shaff.values.smooth.smooth_values import SmoothValues, leaves_folds

# Subsets at a time: the predictions of all parts in all runs are held for each.
BLOCK = 16
# Few rows: the luck of one split decides much, and another split costs little.
# Fewer runs leave the answer to luck (`benchmarks.seeds`), more take time (`benchmarks.pairs`).
MAX_RUNS, RUN_ROWS = 5, 2000
# Rows up to which each run of boosting makes its own choices.
# Fewer, and one lucky choice is in all runs (`benchmarks.seeds`).
OWN_CHOICES = 600


class Part(Protocol):
    """A learner in the stack."""

    @property
    def words(self) -> str:
        """What the learner fits, in words."""

    def runs(self, subsets: Subsets) -> tuple[FloatArray, FloatArray | None]:
        """Out-of-sample predictions, shape (n_runs, n_subsets, n_rows, n_outputs); and what the
        noise of the fits adds to their squared errors, where that is known."""

    def predict(self, subsets: Subsets, rows: npt.ArrayLike) -> FloatArray:
        """Predictions of other rows, averaged over the runs: (n_subsets, n_rows, n_outputs)."""


@dataclass(frozen=True, eq=False)
class AveragedValues:
    """The same value function on several splits: its predictions are averaged."""

    words: str
    parts: Sequence[ValueFunction]

    def runs(self, subsets: Subsets) -> tuple[FloatArray, None]:
        """Out-of-sample predictions on each split."""
        return np.stack([part.predict(subsets) for part in self.parts]), None

    def predict(self, subsets: Subsets, rows: npt.ArrayLike) -> FloatArray:
        """Predictions averaged over the splits."""
        return np.asarray(np.mean([part.predict(subsets, rows) for part in self.parts], axis=0))


@dataclass(frozen=True, eq=False)
class TreeBlocks:
    """A forest whose trees, in blocks, stand for several runs."""

    words: str
    forest: ProjectedForest
    n_runs: int

    def runs(self, subsets: Subsets) -> tuple[FloatArray, None]:
        """Out-of-bag predictions of each block; of all trees where a block has none."""
        return self.forest.predict_blocks(subsets, self.n_runs), None

    def predict(self, subsets: Subsets, rows: npt.ArrayLike) -> FloatArray:
        """Predictions of all trees."""
        return self.forest.predict(subsets, rows)


@dataclass(frozen=True, eq=False)
class NoisyRuns:
    """Value functions that know the noise in their fits: one on each split; one for all splits
    where each row is left out by itself, and the folds of a split only choose models."""

    words: str
    parts: Sequence[SmoothValues | LinkedValues]

    def runs(self, subsets: Subsets) -> tuple[FloatArray, FloatArray]:
        """Out-of-sample predictions by each split, and the noise in them."""
        found = [part.runs_and_noise(subsets) for part in self.parts]
        runs = np.concatenate([runs for runs, _ in found])
        return runs, np.asarray(np.mean([noise for _, noise in found], axis=0))

    def predict(self, subsets: Subsets, rows: npt.ArrayLike) -> FloatArray:
        """Predictions averaged over the splits."""
        return np.asarray(np.mean([part.predict(subsets, rows) for part in self.parts], axis=0))


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
        The fold of each row in each run, -1 for rows that are not measured; rows that belong
        together have one fold.
    outcome : Outcome or None
        None compares with the mean of the other folds of the first run.

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
    >>> ridge = [RidgeValues(problem, scale=s) for s in ("linear", "quadratic")]
    >>> parts = [AveragedValues("ridge", [one]) for one in ridge]
    >>> stack = StackedValues(parts, problem, [np.arange(500) % 5])
    >>> stack.values(Subsets.full(15)).v.round(1).tolist()
    [0.9]
    """

    def __init__(
        self,
        parts: Sequence[Part],
        problem: Problem,
        fold_of: Sequence[IntpArray],
        outcome: Outcome | None = None,
    ) -> None:
        self.parts, self._problem = list(parts), problem
        self.n_players = len(problem.players)
        self.fold_of = [np.asarray(folds, dtype=np.intp) for folds in fold_of]
        self._mix_of: dict[bytes, Mix] = {}
        self.outcome = outcome or Outcome.by_fold(problem, self.fold_of[0])

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset."""
        return Values.concatenate([self._evaluate(block, influences) for block in _blocks(subsets)])

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Combined conditional means, shape (n_subsets, n_rows, n_outputs)."""
        if rows is None:
            blocks = [Predictions(self.part_means(b), self.outcome) for b in _blocks(subsets)]
            return np.concatenate([self._average(table)[0] for table in blocks])
        new = np.stack([part.predict(subsets, rows) for part in self.parts], axis=1)
        mixes = zip(self._mixes(subsets), new, strict=True)
        return np.concatenate([mix.of(predictions[None]) for mix, predictions in mixes])

    def part_means(self, subsets: Subsets) -> FloatArray:
        """Out-of-sample predictions of each part, averaged over the runs; shape (n_subsets,
        n_parts, n_rows, n_outputs)."""
        return np.asarray(self._runs(subsets)[0].mean(axis=2))

    def _mixes(self, subsets: Subsets) -> list[Mix]:
        """How the parts are combined for further rows: as `values` has found, or finds now."""
        unknown = np.array([key not in self._mix_of for key in subsets.keys()], dtype=bool)
        if unknown.any():
            self.values(subsets[unknown])
        return [self._mix_of[key] for key in subsets.keys()]

    def _runs(self, subsets: Subsets) -> tuple[FloatArray, list[FloatArray | None]]:
        """Predictions of all parts, shape (n_subsets, n_parts, n_runs, n_rows, n_outputs), and the
        noise in each part."""
        found = [part.runs(subsets) for part in self.parts]
        runs = np.stack([runs for runs, _ in found])
        return runs.transpose(2, 0, 1, 3, 4), [noise for _, noise in found]

    def _evaluate(self, subsets: Subsets, influences: bool) -> Values:
        tables, noises = self._runs(subsets)
        means = Predictions(tables.mean(axis=2), self.outcome)
        stacked, weights = self._average(means)
        mix = means.mix()
        self._mix_of.update({key: mix[k : k + 1] for k, key in enumerate(subsets.keys())})
        # The share of the parts' own variance that is in the error.
        taken = [
            np.minimum(1.0, weights[:, part, :, None]) * noise
            for part, noise in enumerate(noises)
            if noise is not None
        ]
        kept, residuals = stacked[:, self.outcome.sample], self.outcome.y - stacked
        values = self.outcome.evaluate(subsets, residuals, influences, taken, kept)
        return replace(values, runs=self._single_runs(subsets, tables))

    def _single_runs(self, subsets: Subsets, tables: FloatArray) -> FloatArray | None:
        """Values by each run alone, shape (n_subsets, n_runs)."""
        if len(self.fold_of) == 1:
            return None
        out = np.empty((len(subsets), len(self.fold_of)))
        for r, fold_of in enumerate(self.fold_of):
            means, _ = Predictions(tables[:, :, r], self.outcome).combine(fold_of)
            out[:, r] = self.outcome.evaluate(subsets, self.outcome.y - means).v
        return out

    def _average(self, table: Predictions) -> tuple[FloatArray, FloatArray]:
        """Combination and weights as every division into folds has them, averaged: where an outlier
        falls would decide much."""
        found = [table.combine(fold_of) for fold_of in self.fold_of]
        return np.mean([c for c, _ in found], axis=0), np.mean([w for _, w in found], axis=0)


def _blocks(subsets: Subsets) -> list[Subsets]:
    return [subsets[start : start + BLOCK] for start in range(0, len(subsets), BLOCK)]


def n_runs(problem: Problem) -> int:
    """How many splits are averaged: more, the fewer rows there are.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.stack import n_runs
    >>> [n_runs(Problem.of(np.zeros((n, 1)), np.zeros(n))) for n in (200, 500, 1000, 2000)]
    [5, 4, 2, 1]
    """
    return int(np.clip(np.ceil(RUN_ROWS / problem.n_units), 1, MAX_RUNS))


def run_seeds(problem: Problem, few: bool = False) -> list[int]:
    """A seed for each run; ``few`` asks for at most two, and splits that are given are one."""
    if problem.views is not None:
        return problem.views.seeds
    rng = np.random.RandomState(problem.seed)
    wanted = 1 if problem.has_splits else n_runs(problem)
    n_more = (min(wanted, 2) if few else wanted) - 1
    return [problem.seed, *rng.randint(LARGEST_SEED, size=n_more).tolist()]


@dataclass(frozen=True, eq=False)
class Runs:
    """Boosting on several splits, and these splits, which other parts keep to."""

    problem: Problem
    seeds: list[int]
    games: list[Game]

    @classmethod
    def grow(cls, problem: Problem, n_more: int = 0) -> Runs:
        """Grow boosting with the seed of each run; ``n_more`` learners are to follow."""
        seeds = run_seeds(problem)
        return cls(problem, seeds, _boosting_runs(problem, seeds, n_more))

    @property
    def fold_of(self) -> list[IntpArray]:
        """The fold of each row in each run, -1 where none holds it out."""
        n_rows = len(self.problem.X)
        return [fold_numbers(b.folds, n_rows, elsewhere=-1) for b in self._boosting]

    @property
    def _boosting(self) -> list[ProjectedBoosting]:
        values = [game.values for game in self.games]
        return [value for value in values if isinstance(value, ProjectedBoosting)]

    @property
    def gains(self) -> FloatArray:
        """Share of each column in the split gains, averaged over the runs."""
        return np.asarray(np.mean([boosting.gains for boosting in self._boosting], axis=0))

    def boosting(self) -> Part:
        """Projected boosting, averaged over the runs."""
        return AveragedValues("boosted trees", self._boosting)

    def smooth(self) -> NoisyRuns:
        """Smooth values, on the same splits."""
        if not leaves_folds(self.problem):
            return NoisyRuns("smooth curves", [SmoothValues(self.problem, self.fold_of)])
        problems = [replace(self.problem, seed=seed) for seed in self.seeds]
        return NoisyRuns("smooth curves", [SmoothValues(problem) for problem in problems])

    def ridge(self) -> Part:
        """Ridge regressions on the columns as they are."""
        problems = [replace(self.problem, seed=seed) for seed in self.seeds]
        return AveragedValues("linear", [RidgeValues(problem) for problem in problems])

    def linked(self, link: Link) -> Part:
        """Regressions on curves through a link, on the same splits."""
        problems = [replace(self.problem, seed=seed) for seed in self.seeds]
        return NoisyRuns(link.words, [LinkedValues(problem, link) for problem in problems])

    def learning_curve(
        self, smooth: NoisyRuns | None = None
    ) -> Callable[[], tuple[Values, Values] | None]:
        """What tells whether more rows would explain more, by the learners of the first run."""
        first = None if smooth is None else smooth.parts[0]
        assert first is None or isinstance(first, SmoothValues)
        return partial(learning_curve, self.problem, self._boosting[0], first)

    def stacked(self, parts: Sequence[Part]) -> StackedValues:
        """Stack parts that are made on these splits."""
        outcome = Outcome.held_out(self.problem, self._boosting[0].folds)
        return StackedValues(parts, self.problem, self.fold_of, outcome)

    def game(self, values: StackedValues, **more: Any) -> Game:
        """The game of a stack, with what a result says about it."""
        words = tuple(part.words for part in values.parts)
        facts = LearnerFacts(blended=words, n_splits=len(self.seeds))
        return Game(values, "stack", self.gains, facts=facts, **more)


def _boosting_runs(problem: Problem, seeds: list[int], n_more: int) -> list[Game]:
    """Boosting with each seed; with few rows each run makes its own choices, as they vary by
    chance."""
    first = make_boosting(replace(problem, seed=seeds[0]))
    assert isinstance(first.values, ProjectedBoosting)
    like = first.values if problem.n_units > OWN_CHOICES else None
    games = [first]
    for seed in seeds[1:]:
        problem.tell(len(games), len(seeds) + n_more)
        games.append(make_boosting(replace(problem, seed=seed), like=like))
    problem.tell(len(seeds), len(seeds) + n_more)
    return games


def make_stack(problem: Problem) -> Game:
    """Make the stack of ridge, projected forest, projected boosting and smooth values, combined
    anew for each subset and averaged over several splits."""
    if problem.has_splits:
        raise InputError(
            "cv is not used by the forest of a stack, which is measured on its out-of-bag rows: "
            'boosting (estimator="boosting") uses cv.'
        )
    runs, forest = Runs.grow(problem, n_more=1), make_forest(problem)
    assert isinstance(forest.values, ProjectedForest)
    trees = TreeBlocks("forest", forest.values, len(runs.seeds))
    parts = [runs.ridge(), trees, runs.boosting(), runs.smooth()]
    return runs.game(runs.stacked(parts), forest=forest.forest)

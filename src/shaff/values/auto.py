"""What ``estimator="auto"`` takes: boosting, and smooth curves and curves through a link beside it
where they earn their place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.protocols import Game
from shaff.subsets import Subsets
from shaff.values.link.linked_values import MAX_FOLDS
from shaff.values.link.links import find_link
from shaff.values.mixing import Predictions
from shaff.values.stack import Part, Runs, StackedValues

# Subsets that a part is tried on beside the full set: all players but one, for the first players
# by their gains, and random halves. One of the first may need what the full set does not.
N_ALL_BUT_ONE, N_HALVES = 3, 2
# What a part must add to v on average, or to one v, to be worth its time; times the square root of
# the number of rows, as the error of v falls with it.
# Larger, and curves are lost that the effects need (`benchmarks.truth`); smaller, and all fits take
# the time of the slowest (`benchmarks.pairs`).
LEAST_GAIN, LEAST_LARGEST_GAIN = 0.1, 0.25
# The gain of one subset, in its standard errors, that is sure whatever the others lose: the largest
# of a few that are nothing but luck is hardly ever above it.
SURE = 3.0
# Rows from which on time is what counts: with fewer, less will do.
CHEAP_ROWS = 2000
# Rows from which on a link is asked for: with fewer, chance decides whether it is kept
# (`benchmarks.truth`, case count).
LINK_ROWS = 2000


def make_auto(problem: Problem, noise_free: bool = False) -> Game:
    """Make projected boosting, stacked with smooth values and with linked values where these add
    to it.

    ``noise_free`` says that y is a function of the inputs, so that also what adds little to v may
    be most of what is missing: then smooth values always take part.
    """
    runs = Runs.grow(problem, n_more=1)
    smooth = runs.smooth()
    stack = runs.stacked([runs.boosting(), smooth])
    curve = runs.learning_curve(smooth)
    if not (noise_free or earns_its_place(stack, _probes(problem, runs.gains))):
        stack, curve = runs.stacked(stack.parts[:1]), runs.learning_curve()
    stack = _with_link(runs, stack)
    game = runs.games[0] if len(runs.games) == len(stack.parts) == 1 else runs.game(stack)
    return replace(game, learning_curve=curve)


def _with_link(runs: Runs, stack: StackedValues) -> StackedValues:
    """The stack with linked values too, where the outcome has a link and they add to the others.

    All columns decide: there a link matters most, and only there is it fitted by all it knows.
    """
    linked = _link(runs)
    if linked is None:
        return stack
    longer = runs.stacked([*stack.parts, linked])
    return longer if earns_its_place(longer, Subsets.full(stack.n_players)) else stack


def _link(runs: Runs) -> Part | None:
    """Linked values, where the outcome has a link and there are enough rows."""
    problem, n_folds = runs.problem, int(runs.fold_of[0].max()) + 1
    if problem.n_units < LINK_ROWS or problem.y.shape[1] > 1 or n_folds > MAX_FOLDS:
        return None
    link = find_link(problem.y[problem.has_weight, 0])
    return None if link is None else runs.linked(link)


def earns_its_place(stack: StackedValues, probes: Subsets) -> bool:
    """Whether the last part of a stack adds enough to the others, out of sample: more than its
    standard error, on average or clearly so to one subset, and enough to be worth its time."""
    gain = _gains(stack, probes)
    by_probe, by_row = gain.mean(axis=1), gain.mean(axis=0)
    root = np.sqrt(len(by_row))
    cost = min(1.0, len(by_row) / CHEAP_ROWS) / root
    pays = by_probe.mean() > LEAST_GAIN * cost or by_probe.max() > LEAST_LARGEST_GAIN * cost
    sure = by_probe.mean() > by_row.std() / root
    sure |= (by_probe > SURE * gain.std(axis=1) / root).any()
    return bool(pays and sure)


def _gains(stack: StackedValues, probes: Subsets) -> FloatArray:
    """What the last part adds to v by each row that is measured, shape (n_probes, n_rows)."""
    predictions = stack.part_means(probes)
    outcome = stack.outcome
    errors = [
        outcome.errors_of(outcome.y - Predictions(some, outcome).combine(stack.fold_of[0])[0])
        for some in (predictions[:, :-1], predictions)
    ]
    less = errors[0].sum(axis=2) - errors[1].sum(axis=2)
    gain = outcome.weight / outcome.weight.mean() * less / outcome.scale
    return np.asarray(gain[:, np.isfinite(gain).all(axis=0) & (outcome.weight > 0)])


def _probes(problem: Problem, gains: FloatArray) -> Subsets:
    """The full set, and subsets that need other functions than it does."""
    n_players = len(problem.players)
    order = np.argsort([-gains[columns].sum() for columns in problem.players], kind="stable")
    first = order[: min(N_ALL_BUT_ONE, n_players - 1)]
    rng = np.random.RandomState(problem.seed)
    halves = [order[rng.permutation(n_players)[: n_players // 2]] for _ in range(N_HALVES)]
    without = [first[[k]] for k in range(len(first))] + (halves if n_players > 3 else [])
    masks: BoolArray = np.ones((1 + len(without), n_players), dtype=bool)
    for mask, absent in zip(masks[1:], without, strict=True):
        mask[absent] = False
    return Subsets.from_masks(masks)

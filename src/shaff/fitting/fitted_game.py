"""Fitted games: what a fit keeps, and the local effects of single rows (theory, section 14).

Step 3 is linear: what it makes of v(U) it makes of any game on the same subsets. The game of a row
x is m_U(x), the mean of y given what is known of x, less the mean of y.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shaff._util.alike import averaged
from shaff._util.arrays import slices
from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.new_rows import NewRows
from shaff.data.problem import Problem
from shaff.errors import InputError, InputTypeError
from shaff.fitting.evaluator import Evaluator
from shaff.fitting.notes.local import screened, unpredictable_rows
from shaff.fitting.notes.reading import sentence
from shaff.protocols import DesignContext, DesignError, Effects, Game, some_rows
from shaff.results.direction import Shape, evidence, evidence_by_size, negligible
from shaff.results.local import LocalEffects
from shaff.screening import OTHERS, PlayerSelection
from shaff.subsets import Subsets

# Predictions that are held at a time, and rows: memory only (`benchmarks.local --memory`).
MAX_NUMBERS = 2**22
MAX_ROWS = 2**16
# Subsets at a time: fewer share less of what is prepared for the rows (`benchmarks.local`).
MAX_SUBSETS, MIN_SUBSETS = 64, 16
# A solver whose weights are off by more than this does not share out what it is given.
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ConstantGame:
    """An outcome that does not vary: all rows are predicted by the mean.

    Parameters
    ----------
    problem : Problem
        As it was read.
    """

    problem: Problem

    def explain(self, new: NewRows | None, errors: bool = False) -> LocalEffects:
        """Values of 0 for further rows, or for the rows of the problem."""
        problem = self.problem
        X = problem.X if new is None else new.X
        base = _mean(problem)
        zeros = np.zeros((len(X), len(problem.players), len(base)))
        shares = _Shares(zeros, np.tile(base, (len(X), 1)), zeros if errors else None)
        return _local(shares, problem, problem, X, _notes_of(new), is_training=new is None)


@dataclass(frozen=True, eq=False)
class FittedGame:
    """What a fit keeps for further questions: a game, its solution and the values so far.

    Parameters
    ----------
    problem : Problem
        As it was read.
    selection : PlayerSelection
    game : Game
    columns : int array or None
        Of the problem, in the order that the selection knows them; None means all as they are.
    evaluator : Evaluator
        That knows what has been evaluated.
    context : DesignContext
        What the design knew.
    subsets : Subsets
        What step 3 was given; the full set is not among them.
    effects : Effects
        What it made of them.
    shapes : dict of Shape or None
        Which way the outcome goes as an input grows, with one output.
    """

    problem: Problem
    selection: PlayerSelection
    game: Game
    columns: IntpArray | None
    evaluator: Evaluator
    context: DesignContext
    subsets: Subsets
    effects: Effects
    shapes: dict[str, Shape] | None = None

    @one_blas_thread
    def explain(self, new: NewRows | None, errors: bool = False) -> LocalEffects:
        """Values of further rows, or of the rows of the problem, out of sample."""
        X = self._training_rows if new is None else new.X
        shares = self._training_shares(errors) if new is None else self._new_shares(X, errors)
        notes = self._notes(shares, new)
        local = _local(shares, self.problem, self._explained, X, notes, is_training=new is None)
        return replace(local, evidence=self._evidence(local))

    def _evidence(self, local: LocalEffects) -> FloatArray:
        """What held-out rows tell of each input and output; NaN where they were not asked."""
        if self.shapes is not None:
            known = [self.shapes[n].known if n in self.shapes else None for n in local.names]
            return np.array(known, dtype=np.float64)
        if local.outputs is None:
            return self._evidence_of(local, 0)
        parts = [self._evidence_of(local.of(name), k) for k, name in enumerate(local.outputs)]
        return np.stack(parts, axis=1)

    def _evidence_of(self, local: LocalEffects, output: int) -> FloatArray:
        """The same of one output: by the outcome where it is known, else by the sizes."""
        problem, n_rows = self._explained, len(self._explained.X)
        if not local.is_training:
            spread = _spread(problem, _mean(problem))
            sizes = np.sqrt(np.nanmean(local.values**2, axis=0))
            return np.array([evidence_by_size(float(s), n_rows, spread) for s in sizes], float)
        rows = np.arange(n_rows) if problem.row_of is None else problem.row_of
        groups = None if problem.error_units is None else problem.error_units[rows]
        inputs = zip(local.data.T, local.values.T, strict=True)
        outcome = problem.y[rows, output]
        return np.array([evidence(x, v, [outcome], groups) for x, v in inputs], float)

    @property
    def _explained(self) -> Problem:
        """The problem that is explained; its y may be what a model predicts."""
        return self.game.problem or self.selection.problem

    @property
    def _training_rows(self) -> FloatArray:
        """As they were read; a model may have labelled more than these."""
        X = self.problem.X
        return X if len(X) == self._explained.n_read else self._explained.X

    def _training_shares(self, errors: bool) -> _Shares:
        """Shares of the rows of the problem; copies that were joined have the same."""
        explained = self._explained
        shares = self._shares(None, len(explained.X), _mean(explained), errors)
        return shares if explained.row_of is None else shares.of_rows(explained.row_of)

    def _new_shares(self, X: FloatArray, errors: bool) -> _Shares:
        rows = as_played(self.selection, self.game, self.columns, X)
        return self._shares(rows, len(X), _mean(self._explained), errors)

    def _shares(
        self, rows: FloatArray | None, n_rows: int, base: FloatArray, errors: bool
    ) -> _Shares:
        """Compute the values of all inputs, one block of rows after the other."""
        weights = checked_map(self.effects)
        design = _checked_design(self.effects) if errors else None
        if rows is None:
            whole = self._share_out(None, n_rows, base, weights, design)
        else:
            blocks = [rows[some] for some in slices(len(rows), MAX_ROWS)]
            parts = [self._share_out(some, len(some), base, weights, design) for some in blocks]
            whole = _Shares.joined(parts)
        places, n_names = self.selection.kept, len(self.selection.names)
        if not self.selection.has_others:
            return whole.spread(places, n_names)
        return whole.spread(np.append(places, n_names), n_names + 1)

    def _share_out(
        self,
        rows: FloatArray | None,
        n_rows: int,
        base: FloatArray,
        weights: FloatArray,
        design: DesignError | None,
    ) -> _Shares:
        """Add up subset by subset, so that the bits do not depend on the size of a block."""
        values = np.zeros((len(weights), n_rows, len(base)))
        residuals = np.zeros((0 if design is None else len(design.residual_map), *values.shape[1:]))
        last = np.zeros(values.shape[1:])
        for k, means in self._means(rows, n_rows * len(base)):
            last = means - base
            _add(values, weights[:, k], last)
            if design is not None:
                _add(residuals, design.residual_map[:, k], last)
        # The last is the set of all. Rounding goes to those who have a share.
        shares = np.abs(weights).max(axis=1, initial=0.0) > 0
        values[shares] += (last - values.sum(axis=0)) / max(shares.sum(), 1)
        found = _Shares(values.transpose(1, 0, 2), last + base)
        if design is None:
            return found
        return replace(found, errors=design.errors(residuals).transpose(1, 0, 2))

    def _means(self, rows: FloatArray | None, size: int) -> Iterator[tuple[int, FloatArray]]:
        """Yield the means given each subset, shape (n_rows, n_outputs); the full set comes last."""
        predict = getattr(self.game.values, "predict", None)
        if predict is None:
            raise InputTypeError(
                f"{self.game.name!r} values have no conditional means: no row can be explained."
            )
        full = Subsets.full(self.subsets.n_players)
        subsets = Subsets.concatenate([self.subsets.with_log_weight(None), full])
        at_once = int(np.clip(MAX_NUMBERS // max(size, 1), MIN_SUBSETS, MAX_SUBSETS))
        for block in slices(len(subsets), at_once):
            for k, means in enumerate(predict(subsets[block], rows), block.start):
                yield k, within_bounds(means, self._explained)

    def _notes(self, shares: _Shares, new: NewRows | None) -> tuple[str, ...]:
        lost = int(np.isnan(shares.predictions).any(axis=1).sum())
        others = len(self.selection.others)
        return (*_notes_of(new), *unpredictable_rows(lost), *screened(others))


@dataclass(frozen=True, eq=False)
class _Shares:
    """Values of shape (n_rows, n_players, n_outputs), predictions of shape (n_rows, n_outputs)
    and perhaps the errors of the values."""

    values: FloatArray
    predictions: FloatArray
    errors: FloatArray | None = None

    @classmethod
    def joined(cls, parts: list[_Shares]) -> _Shares:
        """Concatenate blocks of rows."""
        errors = [part.errors for part in parts if part.errors is not None]
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.predictions for part in parts]),
            np.concatenate(errors) if errors else None,
        )

    def of_rows(self, rows: IntpArray) -> _Shares:
        """Shares of some of the rows, in that order."""
        errors = None if self.errors is None else self.errors[rows]
        return _Shares(self.values[rows], self.predictions[rows], errors)

    def spread(self, places: IntpArray, n_players: int) -> _Shares:
        """Spread the values over more players; the others have 0."""

        def among(array: FloatArray) -> FloatArray:
            out = np.zeros((len(array), n_players, array.shape[2]))
            out[:, places] = array
            return out

        errors = None if self.errors is None else among(self.errors)
        return _Shares(among(self.values), self.predictions, errors)


def within_bounds(means: FloatArray, problem: Problem) -> FloatArray:
    """Conditional means, shape (..., n_outputs), as probabilities where the outcome is a class.

    Learners of squared errors may leave the range of what they learn, which no conditional mean
    does. Several classes together have probability 1.
    """
    if problem.target.classes is None:
        return means
    inside = np.clip(means, 0.0, 1.0)
    if inside.shape[-1] == 1:
        return inside
    total = inside.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(inside, total, out=inside, where=total > 0))


def _notes_of(new: NewRows | None) -> tuple[str, ...]:
    """What is to be said of how new rows were read."""
    return () if new is None else tuple(map(sentence, (*new.warnings, *new.remarks)))


def _mean(problem: Problem) -> FloatArray:
    return np.asarray(np.average(problem.y, axis=0, weights=problem.weight))


def _local(
    shares: _Shares,
    problem: Problem,
    explained: Problem,
    X: FloatArray,
    notes: tuple[str, ...],
    *,
    is_training: bool,
) -> LocalEffects:
    """Local effects under the names of a problem as it was read; the outcome is that of
    ``explained``, which may hold what a model predicts."""
    target, base = explained.target, _mean(explained)
    data, levels = _display(problem, X)
    n_more = shares.values.shape[1] - data.shape[1]
    outputs = target.outputs or tuple(f"y{k}" for k in range(len(base)))
    several = LocalEffects(
        names=(*problem.player_names, *[OTHERS] * n_more),
        values=shares.values,
        base=base,
        predictions=shares.predictions,
        data=np.hstack([data, np.full((len(X), n_more), np.nan)]),
        levels=levels,
        outputs=outputs if len(base) > 1 else ("",),
        target=target.name,
        standard_errors=shares.errors,
        notes=notes,
        rows=problem.places if is_training and len(X) == len(problem.X) else None,
        is_training=is_training,
        negligible=negligible(_spread(explained, base)),
    )
    if len(base) > 1:
        return several
    # Of two classes the probability of the second is explained.
    return replace(several.of(""), output=None if target.classes is None else target.classes[1])


def _spread(problem: Problem, mean: FloatArray) -> float:
    """Standard deviation of the outcome; the largest of several."""
    variances = np.average((problem.y - mean) ** 2, axis=0, weights=problem.weight)
    return float(np.sqrt(variances.max()))


def _display(problem: Problem, X: FloatArray) -> tuple[FloatArray, dict[str, tuple[str, ...]]]:
    """Data of the inputs in each row, and the names of their categories."""
    data = np.full((len(X), len(problem.players)), np.nan)
    levels = {}
    for k, columns in enumerate(problem.players):
        if len(columns) == 1:
            data[:, k] = X[:, columns[0]]
            known = problem.table.levels.get(problem.table.names[columns[0]])
            if known is not None:
                levels[problem.player_names[k]] = tuple(map(str, known))
    return data, levels


def as_played(
    selection: PlayerSelection, game: Game, columns: IntpArray | None, X: FloatArray
) -> FloatArray:
    """Return rows of the table as the value function knows them; only ``columns`` play, if any."""
    rows = selection.rows(X if columns is None else X[:, columns])
    return rows if game.encode is None else game.encode(rows)


def shapes_of(
    selection: PlayerSelection,
    effects: Effects,
    means: npt.NDArray[np.float32],
    without: npt.NDArray[np.float32] | None = None,
) -> dict[str, Shape] | None:
    """Which way y goes as each player of one column of numbers grows, by its name; None where that
    is not known, or has several answers.

    ``means`` are those of `shaff.protocols.Values`, of all players first; ``without`` those without
    each player, if they are known.
    """
    if effects.linear_map is None or means.shape[2] > 1:
        return None
    problem = selection.problem
    mean, rows = _mean(problem), some_rows(len(problem.X))
    absolute = within_bounds(means.astype(np.float64) + problem.y.mean(), problem)
    centred = np.roll(absolute[:, :, 0], -1, axis=0) - mean
    values = averaged(effects.linear_map @ centred, selection.kinds)
    least = negligible(_spread(problem, mean))
    outcome = problem.y[rows, 0] - problem.y.mean()
    groups = None if problem.error_units is None else problem.error_units[rows]
    found = {}
    for k, player in enumerate(selection.kept):
        columns = problem.players[k]
        if len(columns) == 1 and not problem.categorical[columns[0]]:
            x = problem.X[rows, columns[0]]
            left = [] if without is None else [outcome - without[k, :, 0]]
            known = evidence(x, values[k], [outcome, *left], groups)
            found[selection.names[player]] = Shape.of(x, values[k], least, known)
    return {name: shape for name, shape in found.items() if shape is not None}


def checked_map(effects: Effects) -> FloatArray:
    """The linear map of a solution that shares out all that is given to it."""
    if effects.linear_map is None:
        raise InputError("This solver has no linear map: it cannot divide single predictions.")
    total = effects.linear_map.sum(axis=0)
    total[-1] -= 1.0
    if np.abs(total).max() > SUM_TOLERANCE:
        raise InputError(
            "The indices of this solver do not sum to what is explained, so they cannot divide "
            "single predictions."
        )
    return effects.linear_map


def _checked_design(effects: Effects) -> DesignError:
    if effects.design is None:
        raise InputError(
            'Errors of local values need solver="gaussian_process" (that of the default design), '
            "which models the subsets that were not evaluated."
        )
    return effects.design


def _add(total: FloatArray, weights: FloatArray, means: FloatArray) -> None:
    """Add the means of one subset, weighted, player by player: each sum has the subsets' order."""
    for k in np.flatnonzero(weights):
        total[k] += weights[k] * means

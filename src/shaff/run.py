"""One fit: the loop between design and values, the solution, the error bars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shaff import inference
from shaff._warn import warn
from shaff._words import counted
from shaff.designs import DesignContext, make_design
from shaff.evaluation import Checkpoint, Progress, evaluate
from shaff.games import Game
from shaff.problem import Problem
from shaff.protocols import Design, Effects, ValueFunction, Values
from shaff.result import EffectsResult
from shaff.screening import screen
from shaff.solve import make_solver
from shaff.solve.odd_process import Proxy
from shaff.solve.projection import project_to_simplex
from shaff.solve.proxy import linear_proxy
from shaff.subsets import BoolArray, FloatArray, Subsets

if TYPE_CHECKING:
    from shaff.effects import ShapleyEffects

# More players than this are screened first: the Gaussian process needs a few subsets for each.
SCREENED_ABOVE = 25
# A screen that loses more of the explained variance than this is not used.
SCREEN_LOSS = 0.01
# The linear game is costly for more players; where only error bars ask for it they do without.
LINEAR_GAME_UP_TO = 100
# Sobol indices are added when their subsets are few beside those of the design.
SOBOL_PLAYERS = 50
# Rows, or groups of rows, from which on error bars keep what they say: of data sets that are pure
# noise too many seem to hold an effect below it (`benchmarks.coverage --case noise`).
ENOUGH_UNITS = 50


@dataclass
class Run:
    """One fit: the loop between design and values, the solution, the error bars."""

    settings: ShapleyEffects
    problem: Problem
    game: Game
    progress: Progress
    checkpoint: Checkpoint | None

    def result(self) -> EffectsResult:
        """Design, values and solution in order, then what the same evaluations tell besides."""
        kept, notes, n_screened = self._screen()
        if self.checkpoint is not None:
            self.checkpoint = self.checkpoint.among(kept)
        values = _Restricted(self.game.values, kept)
        context = self._context(kept)
        design = make_design(self.settings.design, context)
        history, proposed = self._evaluate(values, design)
        v_all = float(history.v[0])
        if v_all <= 0:
            warn(
                f"Nothing is explained out of sample (explained variance {v_all:.3f}): "
                "all effects are 0."
            )
        effects = self._solve(design, proposed, history, context)
        linear = None if context.proxy is None else context.proxy.effects
        errors = inference.uncertainty(effects, history, self.problem.row_groups, linear)
        first_order, total, n_more = self._sobol(values, history)
        result = self._assemble(
            kept,
            effects,
            errors,
            first_order,
            total,
            v_all,
            len(history.v) + n_more + n_screened,
            notes,
        )
        return replace(result, per_output=self._per_output(effects, history, kept))

    def _screen(self) -> tuple[BoolArray, tuple[str, ...], int]:
        """Which players play, when there are many, and how many subsets that took; the others get
        effect 0."""
        n_players = len(self.problem.players)
        everyone = np.ones(n_players, dtype=bool)
        if n_players <= SCREENED_ABOVE or self.settings._design != "gaussian_process":
            return everyone, (), 0
        problem = self.problem
        rows = problem.counts
        columns = screen(
            problem.X[rows], problem.y[rows], self.game.gains, problem.table.categorical
        )
        kept = np.array([columns[player].any() for player in self.problem.players])
        pair = Subsets.from_masks(np.vstack([everyone, kept]))
        v_all, v_kept = evaluate(self.game.values, pair, checkpoint=self.checkpoint).v
        # One of the two is priced again, as the full set of those who play.
        n_more = 0 if kept.all() else 1
        if kept.all() or not kept.any() or v_kept < v_all - SCREEN_LOSS:
            return everyone, (), n_more
        note = (
            f"Screened: {kept.sum()} of {n_players} players take part, the others get effect 0; "
            f"those kept explain {v_kept:.3f}, all together {v_all:.3f}."
        )
        return kept, (note,), n_more

    def _context(self, kept: BoolArray) -> DesignContext:
        players = [p for p, keep in zip(self.problem.players, kept, strict=True) if keep]
        return DesignContext(
            int(kept.sum()),
            self.settings.n_subsets,
            self.settings.tol,
            self.problem.seed,
            self.game.forest,
            players,
            self._relevance(players),
            self._proxy(players),
        )

    def _relevance(self, players: list[npt.NDArray[np.intp]]) -> FloatArray | None:
        gains = self.game.gains
        return None if gains is None else np.array([gains[player].sum() for player in players])

    def _proxy(self, players: list[npt.NDArray[np.intp]]) -> Proxy | None:
        """The linear game, where the data allow it.

        It halves the design error of a Gaussian process on near-linear data, and error bars ask it
        which effects are linear.
        """
        needed = "gaussian_process" in (self.settings._design, self.settings._solver)
        if not needed and len(players) > LINEAR_GAME_UP_TO:
            return None
        problem, columns = self.problem, np.concatenate(players)
        plain = problem.y.shape[1] == 1 and not problem.table.categorical.any()
        single = len(columns) == len(players)
        if not plain or not single or np.isnan(problem.X[:, columns]).any():
            return None
        return linear_proxy(problem.X[:, columns], problem.y[:, 0], problem.sample_weight)

    def _evaluate(self, values: ValueFunction, design: Design) -> tuple[Values, Subsets]:
        """Step 1 and step 2 in turn, until the design is content."""
        history = evaluate(
            values, Subsets.full(values.n_players), influences=True, checkpoint=self.checkpoint
        )
        proposals: list[Subsets] = []
        asked = self.settings.n_subsets
        total = None if asked is None else asked + 1
        while (proposal := design.propose(history)) is not None:
            proposals.append(proposal)
            done = len(history.v)
            more = evaluate(
                values,
                proposal,
                influences=True,
                checkpoint=self.checkpoint,
                progress=self.progress,
                done=done,
                total=max(total or 0, done + len(proposal)),
            )
            history = Values.concatenate([history, more])
            error = getattr(design, "error", None)
            if error is not None and np.isfinite(error):
                self.progress.update(len(history.v), total, f"error bar {error:.4f}")
        nothing = Subsets.full(values.n_players)[:0]
        return history, Subsets.concatenate(proposals) if proposals else nothing

    def _solve(
        self, design: Design, proposed: Subsets, history: Values, context: DesignContext
    ) -> Effects:
        """Step 3."""
        if proposed.n_players == 1 or len(proposed) == 0:
            return _single_player(proposed.n_players, float(history.v[0]))
        solver = make_solver(self.settings._solver, design, context.relevance, context.proxy)
        return solver.solve(proposed, history.v[1:], float(history.v[0]))

    def _sobol(
        self, values: ValueFunction, history: Values
    ) -> tuple[FloatArray | None, FloatArray | None, int]:
        """First-order and total indices; most of their subsets have been priced already."""
        n_players = values.n_players
        alone = Subsets.singletons(n_players)
        known = dict(zip(history.subsets.keys(), history.v, strict=True))
        known[Subsets.full(n_players).complement().keys()[0]] = 0.0
        wanted = Subsets.concatenate([alone, alone.complement()])
        missing = wanted[np.array([key not in known for key in wanted.keys()])]
        if len(missing) and n_players > SOBOL_PLAYERS:
            return None, None, 0
        if len(missing):
            more = evaluate(values, missing, checkpoint=self.checkpoint)
            known.update(zip(more.subsets.keys(), more.v, strict=True))
        v = np.array([known[key] for key in wanted.keys()])
        return v[:n_players], history.v[0] - v[n_players:], len(missing)

    def _per_output(
        self, effects: Effects, history: Values, kept: BoolArray
    ) -> dict[str, FloatArray] | None:
        """Effects on each output alone: the solution is linear in the values."""
        v = history.by_output
        if v is None or effects.linear_map is None:
            return None
        raw = effects.linear_map @ np.vstack([v[1:], v[:1]])
        names = self.problem.target.outputs or [f"y{k}" for k in range(v.shape[1])]
        return {
            name: _spread(project_to_simplex(raw[:, k], float(v[0, k])), kept)
            for k, name in zip(range(v.shape[1]), names, strict=True)
        }

    def _assemble(
        self,
        kept: BoolArray,
        effects: Effects,
        errors: inference.Uncertainty | None,
        first_order: FloatArray | None,
        total: FloatArray | None,
        v_all: float,
        n_subsets: int,
        notes: tuple[str, ...],
    ) -> EffectsResult:
        seed = self.settings.random_state
        result = EffectsResult(
            names=self.problem.player_names,
            effects=_spread(effects.effects, kept),
            raw_effects=_spread(effects.raw, kept),
            explained_variance=v_all,
            n_rows=self.problem.n_measured,
            n_subsets=n_subsets,
            estimator=self.game.name,
            design=self.settings._design,
            solver=self.settings._solver,
            first_order=None if first_order is None else _spread(first_order, kept, np.nan),
            total=None if total is None else _spread(total, kept, np.nan),
            random_state=int(seed) if isinstance(seed, int | np.integer) else None,
            notes=(*self.problem.table.notes, *self.game.notes, *notes),
            target=self.problem.target.name,
        )
        if errors is None:
            return result
        covariance = np.zeros((len(kept), len(kept)))
        covariance[np.ix_(kept, kept)] = errors.covariance
        p_values = np.ones(len(kept))
        p_values[kept] = errors.p_values
        return replace(
            result,
            standard_errors={k: _spread(e, kept) for k, e in errors.standard_errors.items()},
            notes=(*result.notes, *_few_units(self.problem)),
            covariance=covariance,
            explained_variance_error=errors.explained_variance_error,
            p_values=p_values,
        )


def _few_units(problem: Problem) -> tuple[str, ...]:
    if problem.n_units >= ENOUGH_UNITS:
        return ()
    what = "row" if problem.row_groups is None else "group"
    return (
        f"Error bars and tests rest on {counted(problem.n_units, what)}: "
        f"with fewer than {ENOUGH_UNITS} they are too sure.",
    )


class _Restricted:
    """A value function among the players that were kept; the others are never in a subset."""

    def __init__(self, values: ValueFunction, kept: BoolArray) -> None:
        self.inner = values
        self.kept = kept

    @property
    def n_players(self) -> int:
        return int(self.kept.sum())

    def _all_players(self, subsets: Subsets) -> Subsets:
        masks = np.zeros((len(subsets), len(self.kept)), dtype=bool)
        masks[:, self.kept] = subsets.masks()
        return Subsets.from_masks(masks)

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        if self.kept.all():
            return self.inner.values(subsets, influences=influences)
        priced = self.inner.values(self._all_players(subsets), influences=influences)
        return replace(priced, subsets=subsets)

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        return self.inner.predict(self._all_players(subsets), rows)


def _spread(values: FloatArray, kept: BoolArray, elsewhere: float = 0.0) -> FloatArray:
    """Values of the kept players among all."""
    everyone = np.full(len(kept), elsewhere)
    everyone[kept] = values
    return everyone


def _single_player(n_players: int, v_all: float) -> Effects:
    """Nothing to share: one player, or a forest that never splits on more than all."""
    raw = np.full(n_players, v_all / n_players)
    linear_map = np.full((n_players, 1), 1 / n_players)
    return Effects(np.maximum(raw, 0.0), raw, linear_map)


def constant_result(problem: Problem, settings: ShapleyEffects) -> EffectsResult:
    """Of a target that does not vary: effects of 0, without any evaluation."""
    n_players = len(problem.players)
    return EffectsResult(
        names=problem.player_names,
        effects=np.zeros(n_players),
        raw_effects=np.zeros(n_players),
        explained_variance=0.0,
        n_rows=len(problem.X),
        n_subsets=0,
        estimator="none",
        design=settings._design,
        solver=settings._solver,
        notes=("y is constant: there is nothing to explain.",),
        target=problem.target.name,
    )

"""One fit: screen, value function, design and evaluator in turn, solution, result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.warn import warn
from shaff._util.words import counted
from shaff._util.work import engaged
from shaff._version import __version__
from shaff.data.problem import NothingToExplainError, Problem
from shaff.data.sources.sampled import AllRows
from shaff.data.summary import summarise
from shaff.fitting.all_rows import Measured, RowsToMeasure, measure
from shaff.fitting.checkpoint import Checkpoint, fingerprint
from shaff.fitting.checks.twins import interchangeable
from shaff.fitting.evaluator import Evaluator
from shaff.fitting.fitted_game import ConstantGame, FittedGame, shapes_of
from shaff.fitting.progress import Silent, progress_bar
from shaff.fitting.settings import Settings
from shaff.gaussian_process.linear_game import Proxy, linear_proxy
from shaff.protocols import (
    MAX_KEPT,
    DesignContext,
    Effects,
    Game,
    Proposal,
    SolverContext,
    Values,
)
from shaff.results.effects import EffectsResult
from shaff.screening import (
    FEWEST,
    GroupedValues,
    PlayerSelection,
    select_players,
    select_together,
)
from shaff.solve.projection import project_to_simplex
from shaff.subsets import Subsets
from shaff.uncertainty import inference
from shaff.uncertainty.null_test import gains, joint_p_values, nested_p_values
from shaff.values.registry import split_seeds

# The linear game is costly for more players; where only error bars ask for it they do without.
# `benchmarks.large` shows the time.
LINEAR_GAME_UP_TO = 100
# Sobol indices are added when their subsets are few beside those of the design.
# `benchmarks.pairs` shows the time.
SOBOL_PLAYERS = 50
# Rows, or groups of rows, from which on error bars keep what they say: of data sets that are pure
# noise too many seem to hold an effect below it (`benchmarks.coverage --case noise`).
ENOUGH_UNITS = 50
# Interchangeable players that a note names, and groups of them.
FEW_NAMES = 5
# One player alone is worth more than all by this much: worth a word.
# Smaller, and noise is remarked on (`benchmarks.truth`).
ALONE_MARGIN = 0.005
# The correction of v(all), and its share of what remains unexplained, from which on the learners
# are told to be far from done (`benchmarks.truth` shows how often that is right).
LEARNING_GAP, LEARNING_SHARE = 0.01, 0.2


def explain(
    settings: Settings,
    problem: Problem,
    make: Callable[[Problem], Game],
    model: Any = None,
    rest: AllRows | None = None,
) -> tuple[EffectsResult, FittedGame | ConstantGame]:
    """From a problem to its result, and to what answers further questions; ``make`` is step 2,
    ``model`` what it was given besides, ``rest`` rows to measure on beyond the problem's."""
    with engaged(problem.n_jobs), one_blas_thread:
        return _explain(settings, problem, make, model, rest)


def _explain(
    settings: Settings,
    problem: Problem,
    make: Callable[[Problem], Game],
    model: Any,
    rest: AllRows | None,
) -> tuple[EffectsResult, FittedGame | ConstantGame]:
    try:
        selection, game = _selection_and_game(settings, problem, make)
    except NothingToExplainError as nothing:
        warn(str(nothing))
        return _constant_result(settings, problem), ConstantGame(problem)
    checkpoint = _checkpoint(settings, selection.problem, model)
    with progress_bar(settings.verbose) as progress:
        evaluator = Evaluator(game.values, checkpoint, progress, game.evaluated)
        columns = problem.distinct_columns() if _is_own(settings) else None
        whole = None if rest is None else Whole(rest, problem, columns)
        run = Fit(settings, selection, game, evaluator, whole)
        result = run.result()
    same = interchangeable(problem, selection.kept)
    result = replace(
        result,
        interchangeable=same,
        notes=(*_same_credit(same), *result.notes),
        data=summarise(problem, result.effects),
    )
    return result, FittedGame(
        problem,
        selection,
        game,
        columns,
        evaluator.reporting_to(Silent()),
        run.context,
        *run.solved,
    )


def _is_own(settings: Settings) -> bool:
    """Whether the learners are our own, which see each of several copies of a column once."""
    return settings.estimator is None or isinstance(settings.estimator, str)


def _selection_and_game(
    settings: Settings, problem: Problem, make: Callable[[Problem], Game]
) -> tuple[PlayerSelection, Game]:
    """Learners of our own see what the screen of each fold leaves them. Other models see all
    columns, and what they explain may not be y: there a screen comes after."""
    if _is_own(settings):
        selection = choose_players(settings, problem)
        game = make(selection.problem)
        return replace(selection, problem=game.problem or selection.problem), game
    game = make(problem)
    played = game.problem or problem
    if not _are_many(settings, played):
        return PlayerSelection.everybody(played), game
    selection = select_together(played, settings.screen)
    return selection, replace(game, values=GroupedValues(game.values, selection), evaluated=None)


def choose_players(settings: Settings, problem: Problem) -> PlayerSelection:
    """Who plays by name when learners of our own are asked: everybody, unless they are many."""
    problem.check_varies()
    if not _are_many(settings, problem):
        return PlayerSelection.everybody(problem)
    distinct = problem.without_copies()
    return select_players(distinct, split_seeds(settings.estimator, distinct), settings.screen)


def _are_many(settings: Settings, problem: Problem) -> bool:
    most = FEWEST if settings.screen is None else settings.screen
    return settings.design.screened and 0 < most < len(problem.players)


class Whole(NamedTuple):
    """All rows, the sample of them as it was read, and the columns of it that play."""

    rest: AllRows
    problem: Problem
    columns: IntpArray | None


@dataclass
class Fit:
    """One fit, once its value function is there."""

    settings: Settings
    selection: PlayerSelection
    game: Game
    evaluator: Evaluator
    whole: Whole | None = None
    # Evaluations so far, and the largest standard error that the design leaves then.
    trace: list[tuple[int, float]] = field(default_factory=list)
    # What the design knew; the subsets that step 3 was given, and what it made of them.
    context: DesignContext = field(init=False)
    solved: tuple[Subsets, Effects] = field(init=False)
    measured: Measured | None = None

    @property
    def problem(self) -> Problem:
        """As it is played."""
        return self.selection.problem

    def result(self) -> EffectsResult:
        """Design and values, solution; then what the same evaluations tell besides."""
        self.context = context = self._context()
        proposal, evaluated = self._evaluate(context)
        values = evaluated
        if self.whole is not None:
            values = replace(self._measure(self.whole, evaluated.subsets), means=evaluated.means)
        effects = self._solve(proposal, values, context)
        self.solved = proposal.subsets, effects
        linear = None if context.proxy is None else context.proxy.effects
        rows = None if self.measured is None else self.measured.errors_of(values.subsets)
        errors = inference.uncertainty(effects, values, self.problem.row_groups, linear, rows)
        if errors is not None:
            errors = replace(errors, p_values=self._null_test(errors.p_values))
        result = self._assemble(effects, values)
        return result if errors is None else self._with_errors(result, errors)

    def _null_test(self, of_effects: FloatArray) -> FloatArray:
        """P-values of the effects alone; with the gains of each player alone and as the last to
        come where these are known for every row: of many rows the effects tell enough."""
        problem = self.problem
        if self.measured is not None or len(problem.X) > MAX_KEPT:
            return of_effects
        found = self._gains()
        if found is None:
            return of_effects
        nested = nested_p_values(found, problem.weight, problem.row_groups)
        return joint_p_values(nested, of_effects)

    def _gains(self) -> FloatArray | None:
        """See `shaff.uncertainty.null_test.gains`; None without the means of the rows."""
        wanted, full = self._sobol_subsets(), Subsets.full(self.evaluator.n_players)
        last = self.evaluator.evaluate(full).means
        means = None if wanted is None or last is None else self.evaluator.evaluate(wanted).means
        if means is None or last is None:
            return None
        centre = self.problem.y.mean()
        left = self.problem.y[:, 0] - centre
        alone, without = np.split(means[:, :, 0].astype(np.float64), [full.n_players])
        nothing = self.game.values.predict(full.complement())[:, :, 0] - centre
        found = gains(left, nothing, alone)
        if len(without):  # one player alone is also the last to come
            found += gains(left, without, last[:, :, 0].astype(np.float64))
        return found

    def _measure(self, whole: Whole, subsets: Subsets) -> Values:
        """The values of what the design has chosen, and of Sobol indices, over all rows."""
        wanted = Subsets.concatenate([subsets, self._sobol_subsets() or subsets[:0]]).unique()

        def as_played(X: FloatArray) -> FloatArray:
            rows = self.selection.rows(X if whole.columns is None else X[:, whole.columns])
            return rows if self.game.encode is None else self.game.encode(rows)

        self.evaluator.evaluate(wanted, influences=False)
        rows = RowsToMeasure(whole.rest, whole.problem, as_played)
        progress, checkpoint = self.evaluator.progress, self.evaluator.checkpoint
        self.measured = measure(rows, self.game.values, wanted, progress, checkpoint)
        self.evaluator = Evaluator(self.game.values, None, progress, self.measured.values)
        return self.evaluator.evaluate(subsets)

    def _context(self) -> DesignContext:
        players, gains = self.problem.players, self.game.gains
        return DesignContext(
            len(players),
            self.settings.n_subsets,
            self.settings.tol,
            self.problem.seed,
            self.game.forest,
            players,
            None if gains is None else np.array([gains[player].sum() for player in players]),
            self._proxy(),
            self._data_error(),
        )

    def _data_error(self) -> float:
        """Of v(all), which a design need not be much better than."""
        psi = self.evaluator.evaluate(Subsets.full(self.evaluator.n_players)).influences
        if psi is None:
            return np.inf
        covariance = inference.data_covariance(psi.astype(np.float64), self.problem.row_groups)
        error = float(np.sqrt(covariance[0, 0]))
        if self.whole is None:
            return error
        # By the rows that it will be measured on in the end.
        rest = self.whole.rest
        n_sample = len(rest.places)
        return error * math.sqrt(n_sample / (n_sample + rest.share * (rest.n_rows - n_sample)))

    def _proxy(self) -> Proxy | None:
        """The linear game, where the data allow it.

        It halves the design error of a Gaussian process on near-linear data, and error bars ask it
        which effects are linear.
        """
        needed = self.settings.design.linear_game or self.settings.solver.linear_game
        problem = self.problem
        if not needed and len(problem.players) > LINEAR_GAME_UP_TO:
            return None
        columns = self.selection.one_column_each()
        plain = problem.y.shape[1] == 1 and not problem.categorical.any()
        if not plain or columns is None or np.isnan(columns).any():
            return None
        return linear_proxy(columns, problem.y[:, 0], problem.sample_weight)

    def _evaluate(self, context: DesignContext) -> tuple[Proposal, Values]:
        """Step 1 and step 2 in turn until the design is content: its proposals, and the values of
        the full set and of theirs."""
        design, full = self.settings.design.make(context), Subsets.full(context.n_players)
        planned = None if context.n_subsets is None else context.n_subsets + 1
        proposals, history = self.evaluator.run(design, full, planned)
        n_evaluated = 1
        for proposal in proposals:
            if proposal.error is not None:
                self.trace.append((n_evaluated, proposal.error))
            n_evaluated += len(proposal.subsets)
        return _joined([Proposal(full[:0]), *proposals]), self.evaluator.evaluate(history.subsets)

    def _solve(self, proposal: Proposal, values: Values, context: DesignContext) -> Effects:
        """Step 3."""
        v_all = float(values.v[0])
        if v_all <= 0:
            warn(
                f"Nothing is explained out of sample (explained variance {v_all:.3f}): "
                "all effects are 0."
            )
        if context.n_players == 1 or len(proposal.subsets) == 0:
            return _single_player(context.n_players, v_all)
        solver = self.settings.solver.make(SolverContext(context.relevance, context.proxy))
        return solver.solve(proposal, values.v[1:], v_all)

    def _sobol(self, v_all: float) -> tuple[FloatArray | None, FloatArray | None]:
        """First-order and total indices; most of their subsets have been evaluated already."""
        n_players, wanted = self.evaluator.n_players, self._sobol_subsets()
        if wanted is None:
            return None, None
        v = self.evaluator.evaluate(wanted, influences=False).v
        # Without its only player a game is worth 0.
        rest = v[n_players:] if n_players > 1 else np.zeros(1)
        return v[:n_players], v_all - rest

    def _sobol_subsets(self) -> Subsets | None:
        """Each player alone and all but each, where that is not too many to price."""
        n_players = self.evaluator.n_players
        alone = Subsets.singletons(n_players)
        without = alone.complement() if n_players > 1 else alone[:0]
        wanted = Subsets.concatenate([alone, without])
        too_many = n_players > SOBOL_PLAYERS and self.evaluator.n_new(wanted)
        return None if too_many else wanted

    def _alone_is_more(self, first_order: FloatArray | None, v_all: float) -> tuple[str, ...]:
        if first_order is None or first_order.max() <= v_all + ALONE_MARGIN:
            return ()
        best = int(first_order.argmax())
        return (
            f"{self.problem.player_names[best]!r} alone explains {first_order.max():.3f}, more "
            f"than all inputs together ({v_all:.3f}): the others add more noise than they tell.",
        )

    def _per_output(self, effects: Effects, values: Values) -> dict[str, FloatArray] | None:
        """Effects on each output alone: the solution is linear in the values."""
        v = values.by_output
        if v is None or effects.linear_map is None:
            return None
        raw = effects.linear_map @ np.vstack([v[1:], v[:1]])
        parts = [project_to_simplex(raw[:, k], float(v[0, k])) for k in range(v.shape[1])]
        return self._by_name(np.stack(parts, axis=1))

    def _by_name(self, by_output: FloatArray | None) -> dict[str, FloatArray] | None:
        """Columns of an array of shape (n_players, n_outputs) under the outputs' names."""
        if by_output is None:
            return None
        names = self.problem.target.outputs or [f"y{k}" for k in range(by_output.shape[1])]
        return {name: self._shared(column) for name, column in zip(names, by_output.T, strict=True)}

    def _assemble(self, effects: Effects, values: Values) -> EffectsResult:
        v_all = float(values.v[0])
        first_order, total = self._sobol(v_all)
        shapes = shapes_of(self.selection, effects, values.means)
        return EffectsResult(
            names=self.selection.names,
            effects=self._shared(effects.effects),
            raw_effects=self._shared(effects.raw),
            explained_variance=v_all,
            n_rows=self.problem.n_measured if self.measured is None else self.measured.n_rows,
            n_grown=None if self.measured is None else len(self.problem.X),
            n_subsets=self.evaluator.n_evaluated,
            estimator=self.game.name,
            design=self.settings.design.name,
            solver=self.settings.solver.name,
            first_order=None if first_order is None else self._spread(first_order, np.nan),
            total=None if total is None else self._spread(total, np.nan),
            random_state=self.settings.random_state,
            # In order of weight: what bears on the effects, how the data were read, the model.
            notes=(
                *self._who_plays(effects),
                *self._alone_is_more(first_order, v_all),
                *_still_learning(values),
                *self.problem.table.notes,
                *self.game.notes,
            ),
            target=self.problem.target.name,
            per_output=self._per_output(effects, values),
            plain_explained_variance=None if values.plain is None else float(values.plain[0]),
            screened=self.selection.correlations if self._has_others else None,
            others=self._of_others(effect=effects.effects, raw_effect=effects.raw),
            convergence=self._convergence(),
            directions=None if shapes is None else {k: s.direction for k, s in shapes.items()},
            curves=None if shapes is None else {k: s.curve for k, s in shapes.items()},
        )

    def _convergence(self) -> FloatArray | None:
        return np.array(self.trace) if self.trace else None

    def _with_errors(self, result: EffectsResult, errors: inference.Uncertainty) -> EffectsResult:
        share = self._sharing
        by_source = {source: self._shared(e) for source, e in errors.standard_errors.items()}
        others = self._of_others(
            plain_effect=errors.plain,
            standard_error=np.sqrt(np.diag(errors.covariance)),
            p_value=errors.p_values,
        )
        corrected = result.plain_explained_variance is not None
        trace = self._convergence()
        if trace is not None:
            last = (self.evaluator.n_evaluated, by_source["design"].max())
            trace = np.vstack([trace, last])
        return replace(
            result,
            convergence=trace,
            plain_effects=self._shared(errors.plain) if corrected else None,
            per_output_errors=self._by_name(errors.by_output),
            standard_errors=by_source,
            notes=(*_few_units(self.problem), *result.notes),
            covariance=share @ errors.covariance @ share.T,
            explained_variance_error=errors.explained_variance_error,
            p_values=self._spread(errors.p_values, 1.0),
            others=None if others is None else {**(result.others or {}), **others},
        )

    @property
    def _has_others(self) -> bool:
        return len(self.selection.others) > 0

    @property
    def _sharing(self) -> FloatArray:
        """From those who play to everybody: what "all others" have, they have in equal parts."""
        share = np.zeros((len(self.selection.names), self.evaluator.n_players))
        share[self.selection.kept, np.arange(len(self.selection.kept))] = 1.0
        share[self.selection.others, -1:] = 1.0 / max(len(self.selection.others), 1)
        return share

    def _shared(self, values: FloatArray) -> FloatArray:
        """Amounts of those who play, and of the others in equal parts."""
        return np.asarray(self._sharing @ values)

    def _spread(self, values: FloatArray, elsewhere: float) -> FloatArray:
        """Numbers of those who play among everybody's."""
        everyone = np.full(len(self.selection.names), elsewhere)
        everyone[self.selection.kept] = values[: len(self.selection.kept)]
        return everyone

    def _of_others(self, **found: FloatArray) -> dict[str, float] | None:
        """Of "all others", who play as one; None without them."""
        return {k: float(a[-1]) for k, a in found.items()} if self._has_others else None

    def _who_plays(self, effects: Effects) -> tuple[str, ...]:
        if not self._has_others:
            return ()
        n_others, n_kept = len(self.selection.others), len(self.selection.kept)
        return (
            f"Screened: {n_kept} of {n_kept + n_others} players take part by name. All others "
            f"take part as one, with an effect of {effects.effects[-1]:.3f} together, of which "
            "each is given an equal part; `upper_bound` says how much one of them may have.",
        )


def _joined(proposals: list[Proposal]) -> Proposal:
    """All that was proposed; the first is empty, and stands if nothing was."""
    return Proposal.concatenate(proposals[1:]) if len(proposals) > 1 else proposals[0]


def _checkpoint(settings: Settings, problem: Problem, model: Any) -> Checkpoint | None:
    """Told apart by all that changes the value of a subset."""
    if settings.checkpoint is None:
        return None
    rows = (problem.X, problem.y, problem.sample_weight, problem.row_groups, problem.players)
    # The splits themselves: a splitter may be random.
    how = (problem.categorical, problem.cv, problem.seed, problem.forest_error)
    versions = (__version__, sklearn.__version__)
    return Checkpoint(
        settings.checkpoint, fingerprint(*rows, *how, settings.estimator, model, versions)
    )


def _same_credit(groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Who says the same shares what it tells; a few of many are named."""
    if not groups:
        return ()
    named = [", ".join(map(repr, g[:FEW_NAMES])) + ", ..." * (len(g) > FEW_NAMES) for g in groups]
    more = f"; and {len(groups) - FEW_NAMES} more groups" * (len(groups) > FEW_NAMES)
    return (
        "Interchangeable, so that each is credited with its part of what they say in common: "
        f"{'; '.join(named[:FEW_NAMES])}{more}.",
    )


def _still_learning(values: Values) -> tuple[str, ...]:
    """A learner that pays much for its own variance has much to learn still, and bias with it."""
    gap, rest = float(values.v[0] - values.v_plain[0]), float(1 - values.v[0])
    if gap < LEARNING_GAP or gap < LEARNING_SHARE * rest:
        return ()
    return ("More rows would explain more: the true effects may be larger than the intervals say.",)


def _few_units(problem: Problem) -> tuple[str, ...]:
    if problem.n_units >= ENOUGH_UNITS:
        return ()
    what = "row" if problem.row_groups is None else "group"
    return (
        f"Error bars and tests rest on {counted(problem.n_units, what)}: "
        f"with fewer than {ENOUGH_UNITS} they are too sure.",
    )


def _single_player(n_players: int, v_all: float) -> Effects:
    """Nothing to share: one player, or a forest that never splits on more than all."""
    raw = np.full(n_players, v_all / n_players)
    linear_map = np.full((n_players, 1), 1 / n_players)
    return Effects(np.maximum(raw, 0.0), raw, linear_map)


def _constant_result(settings: Settings, problem: Problem) -> EffectsResult:
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
        design=settings.design.name,
        solver=settings.solver.name,
        notes=("y is constant: there is nothing to explain.",),
        target=problem.target.name,
    )

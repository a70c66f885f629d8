"""One fit: screen, value function, design and evaluator in turn, solution; then the way out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sklearn

from shaff._util.alike import averaged
from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.warn import warn
from shaff._util.work import engaged
from shaff._version import __version__
from shaff.data.problem import NothingToExplainError, Problem
from shaff.data.sources.sampled import AllRows
from shaff.data.structure import Layer, layers_of
from shaff.data.time import influence_blocks
from shaff.designs.layered import make_design
from shaff.fitting.all_rows import Measured, RowsToMeasure, measure
from shaff.fitting.arrangement import arrange
from shaff.fitting.assemble import assemble
from shaff.fitting.checkpoint import Checkpoint, fingerprint
from shaff.fitting.checks import run_checks
from shaff.fitting.evaluator import Evaluator
from shaff.fitting.facts import Facts, Solution, Task
from shaff.fitting.fitted_game import ConstantGame, FittedGame, as_played, shapes_of
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
from shaff.results.direction import Shape
from shaff.results.effects import EffectsResult
from shaff.screening import (
    FEWEST,
    GroupedValues,
    PlayerSelection,
    select_players,
    select_together,
)
from shaff.solve.copies import shared_by_copies
from shaff.solve.layered import make_solver
from shaff.subsets import Subsets
from shaff.uncertainty import inference
from shaff.uncertainty.null_test import gains, joint_p_values, nested_p_values
from shaff.uncertainty.shortfall import SKILL, Rise
from shaff.values.making import is_own, split_seeds
from shaff.values.unit import in_units

# The linear game is costly for more players; where only error bars ask for it they do without.
# `benchmarks.large` shows the time.
LINEAR_GAME_UP_TO = 100
# Sobol indices are added when their subsets are few beside those of the design.
# `benchmarks.pairs` shows the time.
SOBOL_PLAYERS = 50


def fit(task: Task) -> tuple[EffectsResult, FittedGame | ConstantGame]:
    """Return the result of a fit, and the game that answers further questions about it."""
    with engaged(task.problem.n_jobs), one_blas_thread:
        facts, game = _collect(task)
        return assemble(replace(facts, checks=run_checks(facts))), game


def _collect(task: Task) -> tuple[Facts, FittedGame | ConstantGame]:
    """Run the three steps, and keep what they found."""
    settings, problem = task.settings, task.problem
    arranged = arrange(task)
    try:
        selection, game = _selection_and_game(settings, arranged.problem, task.make)
    except NothingToExplainError as nothing:
        warn(str(nothing))
        problem = replace(problem, target=nothing.problem.target)  # which may be predictions
        return Facts(task, PlayerSelection.everybody(problem)), ConstantGame(problem)
    selection = selection.as_read(problem.player_names, arranged.players)
    checkpoint = _checkpoint(settings, selection.problem, task.model)
    with progress_bar(settings.verbose) as progress:
        evaluator = Evaluator(game.values, checkpoint, progress, game.evaluated)
        rest = task.sampled.rest
        whole = None if rest is None else Whole(rest, problem, arranged.columns)
        steps = Steps(settings, selection, game, evaluator, whole)
        solution = steps.solution()
    fitted = FittedGame(
        problem,
        steps.selection,
        game,
        arranged.columns,
        evaluator.reporting_to(Silent()),
        steps.context,
        solution.subsets,
        solution.effects,
        solution.shapes,
    )
    return Facts(task, steps.selection, game, solution), fitted


def _selection_and_game(
    settings: Settings, problem: Problem, make: Callable[[Problem], Game]
) -> tuple[PlayerSelection, Game]:
    """Select the inputs of the game, and make its value function.

    Learners of shaff see what the screen of each fold leaves them. Other models see all columns,
    and may explain something else than y: for them the screen comes afterwards.
    """
    if is_own(settings.estimator):
        selection = choose_players(settings, problem)
        game = make(selection.problem)
        played = game.problem or selection.problem.without_copies()
        return replace(selection, problem=played), in_units(game, played)
    game = make(problem)
    played = game.problem or problem
    game = in_units(game, played)
    if not _are_many(settings, played):
        return PlayerSelection.everybody(played), game
    selection = select_together(played, settings.screen)
    return selection, replace(game, values=GroupedValues(game.values, selection), evaluated=None)


def choose_players(settings: Settings, problem: Problem) -> PlayerSelection:
    """Select the inputs that enter by name with a learner of shaff: all, unless there are many."""
    problem.check_varies()
    if not _are_many(settings, problem):
        return PlayerSelection.everybody(problem)
    distinct = problem.without_copies()
    return select_players(distinct, split_seeds(settings.estimator, distinct), settings.screen)


def _are_many(settings: Settings, problem: Problem) -> bool:
    most = FEWEST if settings.screen is None else settings.screen
    # "All others" would stand across layers and groups.
    may_screen = settings.design.screened and problem.structure.parts is None
    return may_screen and 0 < most < len(problem.players)


class Whole(NamedTuple):
    """All rows, their sample as it was read, and the columns of it that the learners see."""

    rest: AllRows
    problem: Problem
    columns: IntpArray | None


@dataclass
class Steps:
    """The three steps of one fit, once its value function is there."""

    settings: Settings
    selection: PlayerSelection
    game: Game
    evaluator: Evaluator
    whole: Whole | None = None
    # Evaluations so far, and the largest standard error that the design leaves then.
    trace: list[tuple[int, float]] = field(default_factory=list)
    # What the design knew.
    context: DesignContext = field(init=False)
    measured: Measured | None = None

    @property
    def problem(self) -> Problem:
        """The problem as the learners see it."""
        return self.selection.problem

    def solution(self) -> Solution:
        """Run the steps, then compute what follows from the same evaluations."""
        self._find_blocks()
        self.evaluator.corrected = self._has_skill()
        self.context = context = self._context()
        proposal, evaluated = self._evaluate(context)
        values = evaluated
        if self.whole is not None:
            values = replace(self._measure(self.whole, evaluated.subsets), means=evaluated.means)
        effects = self._solve(proposal, values, context)
        errors = self._errors(effects, values)
        first_order, total = self._sobol(float(values.v[0]))
        return Solution(
            effects,
            values,
            proposal.subsets,
            errors,
            first_order,
            total,
            self._shapes(effects, values),
            self.trace,
            self.evaluator.evaluated(),
            self.measured,
            None if errors is None else self._rise(),
        )

    def _rise(self) -> Rise | None:
        """What v(all) has gained since there were half as many rows."""
        ask = self.game.learning_curve
        curve = None if ask is None or self.measured is not None else ask()
        if curve is None:
            return None
        now, half = curve
        return Rise.between(half, now, self.problem.error_units)

    def _find_blocks(self) -> None:
        """With times, let the influences on v(all) say which rows count as one observation."""
        time, full = self.problem.time, Subsets.full(self.evaluator.n_players)
        psi = None if time is None else self.evaluator.evaluate(full).influences
        if time is not None and psi is not None:
            blocks = influence_blocks(time, psi[0].astype(np.float64))
            problem = replace(self.problem, blocks=blocks)
            self.selection = replace(self.selection, problem=problem)

    def _errors(self, effects: Effects, values: Values) -> inference.Uncertainty | None:
        proxy = self.context.proxy
        linear = None if proxy is None else proxy.effects
        rows = None if self.measured is None else self.measured.errors_of(values.subsets)
        errors = inference.uncertainty(effects, values, self.problem.error_units, linear, rows)
        if errors is None:
            return None
        tested = replace(errors, p_values=self._null_test(errors.p_values))
        return tested.shared_by_copies(self.selection.kinds)

    def _null_test(self, of_effects: FloatArray) -> FloatArray:
        """Combine the p-values of the effects with those of each player's gains in prediction.

        The gains of a player alone and as the last to enter are known up to some thousand rows;
        with more rows the test of the effects is powerful enough.
        """
        problem = self.problem
        if self.measured is not None or len(problem.X) > MAX_KEPT:
            return of_effects
        found = self._gains()
        if found is None:
            return of_effects
        nested = nested_p_values(found, problem.weight, problem.error_units)
        return joint_p_values(nested, of_effects)

    def _gains(self) -> FloatArray | None:
        """See `shaff.uncertainty.null_test.gains`; None without the means of the rows."""
        order, n_players = self.selection.structure.order, self.evaluator.n_players
        layers = layers_of(np.zeros(n_players, dtype=np.intp) if order is None else order)
        found = [own for own in map(self._gains_in, layers) if own is not None]
        if len(found) < len(layers):
            return None
        members = np.concatenate([layer.members for layer in layers])
        return found[0] if len(found) == 1 else np.concatenate(found)[np.argsort(members)]

    def _gains_in(self, layer: Layer) -> FloatArray | None:
        """Gains of the players of a layer: as the first of them to enter, and as the last."""
        n_members, full = len(layer.members), Subsets.full(len(layer.members))
        wanted = self._few_enough(layer.lifted(_one_and_all_but_one(n_members)))
        last = self.evaluator.evaluate(layer.lifted(full)).means
        means = None if wanted is None or last is None else self.evaluator.evaluate(wanted).means
        if means is None or last is None:
            return None
        centre = self.problem.y.mean()
        left = self.problem.y[:, 0] - centre
        alone, without = np.split(means[:, :, 0].astype(np.float64), [n_members])
        found = gains(left, self._means_before(layer), alone)
        if len(without):  # one player alone is also the last to come
            found += gains(left, without, last[:, :, 0].astype(np.float64))
        return found

    def _means_before(self, layer: Layer) -> FloatArray:
        """Conditional means given all earlier layers, less the mean of y, shape (1, n_rows)."""
        before = Subsets.from_masks(layer.before[None])
        if layer.before.any():
            known = self.evaluator.evaluate(before).means
            assert known is not None
            return np.asarray(known[:, :, 0], dtype=np.float64)
        means = self.game.values.predict(before)[:, :, 0]
        return np.asarray(means - self.problem.y.mean())

    def _shapes(self, effects: Effects, values: Values) -> dict[str, Shape] | None:
        """Which way the outcome goes as an input grows; None where no means were kept."""
        if values.means is None:
            return None
        return shapes_of(self.selection, effects, values.means, self._means_without())

    def _means_without(self) -> npt.NDArray[np.float32] | None:
        """Conditional means without each player, where the null test has looked at them."""
        wanted = self._sobol_subsets()
        if wanted is None or self.measured is not None or len(self.problem.X) > MAX_KEPT:
            return None
        means = self.evaluator.evaluate(wanted).means
        n_players = self.evaluator.n_players
        return None if means is None or n_players == 1 else means[n_players:]

    def _measure(self, whole: Whole, subsets: Subsets) -> Values:
        """Evaluate the subsets of the design and of the Sobol indices on all rows."""
        wanted = Subsets.concatenate([subsets, self._sobol_subsets() or subsets[:0]]).unique()
        self.evaluator.evaluate(wanted, influences=False)
        encode = partial(as_played, self.selection, self.game, whole.columns)
        rows = RowsToMeasure(whole.rest, whole.problem, encode)
        progress, checkpoint = self.evaluator.progress, self.evaluator.checkpoint
        self.measured = measure(rows, self.game.values, wanted, progress, checkpoint)
        corrected = self.evaluator.corrected
        self.evaluator = Evaluator(self.game.values, None, progress, self.measured.values)
        self.evaluator.corrected = corrected
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
            self.selection.structure,
        )

    def _has_skill(self) -> bool:
        """Whether v(all) is above 0 by more than chance, as measured."""
        full = self.evaluator.evaluate(Subsets.full(self.evaluator.n_players))
        error = self._data_error() * math.sqrt(inference.FLEXIBLE_FACTOR)
        return not math.isfinite(error) or float(full.v_plain[0]) > SKILL * error

    def _data_error(self) -> float:
        """Standard error of v(all) by the rows, which a design need not be much better than."""
        psi = self.evaluator.evaluate(Subsets.full(self.evaluator.n_players)).influences
        if psi is None:
            return np.inf
        covariance = inference.data_covariance(psi.astype(np.float64), self.problem.error_units)
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
        known = self.selection.structure
        proxy = linear_proxy(columns, problem.y[:, 0], problem.sample_weight,
                             order=known.order, unions=known.unions)  # fmt: skip
        unit = problem.variance_unit
        return proxy if unit is None else proxy.scaled(unit.ratio)

    def _evaluate(self, context: DesignContext) -> tuple[Proposal, Values]:
        """Run steps 1 and 2 in turn until the design has no more to propose.

        Returns the proposals, and the values of the full set and of their subsets.
        """
        design, full = make_design(self.settings.design, context), Subsets.full(context.n_players)
        planned = None if context.n_subsets is None else context.n_subsets + 1
        proposals, history = self.evaluator.run(design, full, planned)
        n_evaluated = 1
        for proposal in proposals:
            if proposal.error is not None:
                self.trace.append((n_evaluated, proposal.error))
            n_evaluated += len(proposal.subsets)
        return _joined([Proposal(full[:0]), *proposals]), self.evaluator.evaluate(history.subsets)

    def _solve(self, proposal: Proposal, values: Values, context: DesignContext) -> Effects:
        """Run step 3: solve for the effects."""
        v_all = float(values.v[0])
        if v_all <= 0:
            warn(f"Nothing is explained out of sample (share {v_all:.3f}): all effects are 0.")
        if context.n_players == 1 or len(proposal.subsets) == 0:
            return _single_player(context.n_players, v_all)
        known = SolverContext(context.relevance, context.proxy, context.structure)
        solver = make_solver(self.settings.solver, known)
        effects = solver.solve(proposal, values.v[1:], v_all)
        return shared_by_copies(effects, self.selection.kinds)

    def _sobol(self, v_all: float) -> tuple[FloatArray | None, FloatArray | None]:
        """First-order and total Sobol indices; most of their subsets are among the evaluated."""
        n_players, wanted = self.evaluator.n_players, self._sobol_subsets()
        if wanted is None:
            return None, None
        v, kinds = self.evaluator.evaluate(wanted, influences=False).v, self.selection.kinds
        # Without its only player a game is worth 0.
        rest = v[n_players:] if n_players > 1 else np.zeros(1)
        return averaged(v[:n_players], kinds), averaged(v_all - rest, kinds)

    def _sobol_subsets(self) -> Subsets | None:
        """Each player alone and all but each, where that is not too many to price."""
        return self._few_enough(_one_and_all_but_one(self.evaluator.n_players))

    def _few_enough(self, wanted: Subsets) -> Subsets | None:
        too_many = self.evaluator.n_players > SOBOL_PLAYERS and self.evaluator.n_new(wanted)
        return None if too_many else wanted


def _one_and_all_but_one(n_players: int) -> Subsets:
    """Each player alone, and all but each unless that is nobody."""
    alone = Subsets.singletons(n_players)
    without = alone.complement() if n_players > 1 else alone[:0]
    return Subsets.concatenate([alone, without])


def _joined(proposals: list[Proposal]) -> Proposal:
    """Concatenate the proposals; the first is empty, and stands if there are no others."""
    return Proposal.concatenate(proposals[1:]) if len(proposals) > 1 else proposals[0]


def _checkpoint(settings: Settings, problem: Problem, model: Any) -> Checkpoint | None:
    """The checkpoint of a fit, identified by everything that changes the value of a subset."""
    if settings.checkpoint is None:
        return None
    outcome = (problem.y, problem.target.squares)
    rows = (problem.X, outcome, problem.sample_weight, problem.row_groups, problem.players)
    # The splits themselves: a splitter may be random.
    how = (problem.categorical, problem.cv, problem.seed, problem.loss)
    versions = (__version__, sklearn.__version__)
    return Checkpoint(
        settings.checkpoint, fingerprint(*rows, *how, settings.estimator, model, versions)
    )


def _single_player(n_players: int, v_all: float) -> Effects:
    """Effects without a proposal: one player, or a forest that never splits on a proper subset."""
    raw = np.full(n_players, v_all / n_players)
    linear_map = np.full((n_players, 1), 1 / n_players)
    return Effects(np.maximum(raw, 0.0), raw, linear_map)

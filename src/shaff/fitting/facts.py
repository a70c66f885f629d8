"""The facts of one fit, collected on the way: what the result and its notes are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.data.remarks import SIMULATED, Remark
from shaff.data.sources.sampled import SampledData
from shaff.data.summary import DataSummary
from shaff.fitting.all_rows import Measured
from shaff.fitting.findings import Identity, Leaks
from shaff.fitting.provenance import Provenance
from shaff.fitting.settings import Settings
from shaff.protocols import Effects, Game, Values
from shaff.results.direction import Shape
from shaff.screening import PlayerSelection
from shaff.subsets import Subsets
from shaff.uncertainty.inference import Uncertainty
from shaff.uncertainty.shortfall import Rise


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted.

    Parameters
    ----------
    settings : Settings
    problem : Problem
        The data as they were read.
    sampled : SampledData
        How the rows were drawn, and which others v is measured on.
    make : callable
        Step 2: from a problem to its value function.
    provenance : Provenance
    model : fitted model or None, default=None
        What the value function was made from, where that was fitted elsewhere.
    explains_outcome : bool, default=True
        Whether the outcome is explained, and not what a model predicts in its place.
    """

    settings: Settings
    problem: Problem
    sampled: SampledData
    make: Callable[[Problem], Game]
    provenance: Provenance
    model: Any = None
    explains_outcome: bool = True


@dataclass(frozen=True, eq=False)
class Solution:
    """What the three steps have found, in the players of the game.

    Parameters
    ----------
    effects : Effects
    values : Values
        Values of the full set, then of the subsets that the effects were solved from.
    subsets : Subsets
        The latter subsets, with the weights of their draws.
    errors : Uncertainty or None
        None where the value function has no influences.
    first_order, total : float arrays of shape (n_players,) or None
        Sobol indices.
    shapes : dict of Shape or None
        Which way the outcome goes as an input grows, by the name of the input.
    trace : list of (int, float)
        Evaluations so far, and the largest standard error that the design leaves then.
    evaluated : Values
        Every subset that was evaluated, without influences.
    measured : Measured or None
        Values over all rows, where the learners were grown on a sample of them.
    rise : Rise or None
        What v(all) has gained since there were half as many rows, where that was asked.
    """

    effects: Effects
    values: Values
    subsets: Subsets
    errors: Uncertainty | None
    first_order: FloatArray | None
    total: FloatArray | None
    shapes: dict[str, Shape] | None
    trace: list[tuple[int, float]]
    evaluated: Values
    measured: Measured | None = None
    rise: Rise | None = None

    @property
    def explained_variance(self) -> float:
        """The value of all inputs together."""
        return float(self.values.v[0])

    @property
    def plain_explained_variance(self) -> float | None:
        """The same without correction; None where no value was corrected."""
        return None if self.values.plain is None else float(self.values.plain[0])

    @property
    def held_out_variance(self) -> float:
        """What all inputs explain on held-out rows, as measured."""
        plain = self.plain_explained_variance
        return self.explained_variance if plain is None else plain


class SerialCorrelation(NamedTuple):
    """Residuals of held-out rows that correlate along an order.

    Parameters
    ----------
    column : str or None
        The column whose order it is; None means the order of the rows.
    lag : int
        How many rows apart the correlation is clearest.
    correlation : float
        Correlation of the residuals at that lag.
    """

    column: str | None
    lag: int
    correlation: float


class Twins(NamedTuple):
    """Rows that are equal in all inputs, and alike in their outcomes beyond what inputs explain.

    Parameters
    ----------
    share : float
        Share of the rows that have a twin.
    correlation : float
        Correlation of the residuals of twins, if neither helps to predict the other.
    explained : float
        Explained variance if twins stay together.
    """

    share: float
    correlation: float
    explained: float


class RepeatedUnit(NamedTuple):
    """A column whose values look like units that were observed repeatedly.

    Parameters
    ----------
    column : str
    n_units : int
        Number of different values.
    correlation : float or None
        Correlation of the residuals of two rows of a unit, given the other inputs; None if
        the way in which rows stand together tells that it is a unit.
    """

    column: str
    n_units: int
    correlation: float | None = None


@dataclass(frozen=True, eq=False)
class OutcomeSpread:
    """The variance of the outcome, summed over its outputs, and its error.

    Parameters
    ----------
    variance, error : float
        With its standard error by the rows, or groups of rows.
    covariances : float array of shape (n_players,) or None
        Covariance of each raw effect and the variance; None where rows have no known influence.
    """

    variance: float
    error: float
    covariances: FloatArray | None


@dataclass(frozen=True, eq=False)
class Checks:
    """What was computed about the data besides the effects. See `shaff.fitting.checks`.

    Parameters
    ----------
    interchangeable : tuple of tuples of str
        Groups of inputs that say nearly the same.
    quadratics : tuple of (str, str)
        Columns that are quadratic functions of another, and the other.
    leaks : Leaks
        Inputs that give the outcome away by themselves.
    identities : tuple of Identity
        Formulas that give the outcome from several inputs.
    summary : DataSummary or None
    unit : RepeatedUnit or None
        A column whose values look like units that were observed repeatedly.
    twins : Twins or None
        Rows that are equal in all inputs, if their outcomes depend on each other.
    row_numbers, constants : tuples of str
        Columns that count the rows, and columns that hold one value.
    tail_share : float
        Share of the variance of the outcome in the rows farthest from its mean.
    n_tail : int
        How many rows these are.
    linear_explained : float or None
        What least squares explains of rows that it has not seen; None where it was not asked.
    serial : SerialCorrelation or None
        An order of the rows along which what is left of the outcome correlates.
    wanders : bool
        Whether times were given, and the outcome cannot be told from a random walk along them.
    n_blocks_wanted : int or None
        Number of independent blocks of time, where times were given; error bars may have to take
        more of them.
    spread : OutcomeSpread or None
        The variance of the outcome; the effects are shares of it.
    held_out : dict of str to float
        How well held-out rows are predicted; see `shaff.fitting.checks.performance`.
    largest_output : (str, float) or None
        The output with the largest part of what several outputs vary by together, and that part.
    """

    interchangeable: tuple[tuple[str, ...], ...] = ()
    quadratics: tuple[tuple[str, str], ...] = ()
    leaks: Leaks = field(default_factory=Leaks)
    identities: tuple[Identity, ...] = ()
    summary: DataSummary | None = None
    unit: RepeatedUnit | None = None
    twins: Twins | None = None
    row_numbers: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    tail_share: float = 0.0
    n_tail: int = 0
    linear_explained: float | None = None
    serial: SerialCorrelation | None = None
    wanders: bool = False
    n_blocks_wanted: int | None = None
    spread: OutcomeSpread | None = None
    held_out: dict[str, float] = field(default_factory=dict)
    largest_output: tuple[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Facts:
    """Everything that is known when a fit ends.

    Arrays of the properties are in the order of the inputs as they were read; those of `solution`
    in the order of the players, which are the inputs that are evaluated by name, and "all others".

    Parameters
    ----------
    task : Task
    selection : PlayerSelection
        Which inputs took part by name.
    game : Game or None
        None if the outcome is constant; then there is no solution either.
    solution : Solution or None
    checks : Checks
    """

    task: Task
    selection: PlayerSelection
    game: Game | None = None
    solution: Solution | None = None
    checks: Checks = Checks()

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs: columns, or groups of them."""
        return self.selection.names

    @property
    def outcome(self) -> str | None:
        """The name of the outcome; what a model predicts in its place has none."""
        return self.selection.problem.target.name

    @property
    def target(self) -> str:
        """The outcome as a sentence names it."""
        return self.outcome or "y"

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """How the data were read, by whoever read them."""
        return (*self.task.problem.table.remarks, *self.task.provenance.remarks)

    @property
    def is_simulated(self) -> bool:
        """Whether the rows are runs of a simulator, at points that were drawn for it."""
        return any(remark.kind in SIMULATED for remark in self.task.provenance.remarks)

    @property
    def explained_variance(self) -> float:
        """The value of all inputs together, 0 for a constant outcome."""
        return 0.0 if self.solution is None else self.solution.explained_variance

    @cached_property
    def effects(self) -> FloatArray:
        """The effects of all inputs; "all others" share theirs in equal parts."""
        if self.solution is None:
            return np.zeros(len(self.names))
        return self.shared(self.solution.effects.effects)

    @cached_property
    def first_order(self) -> FloatArray | None:
        """First-order Sobol indices, NaN for inputs that take no part by name."""
        found = None if self.solution is None else self.solution.first_order
        return None if found is None else self.spread(found, np.nan)

    @cached_property
    def covariance(self) -> FloatArray | None:
        """Covariance of the raw effects of all inputs."""
        errors = None if self.solution is None else self.solution.errors
        return None if errors is None else self.sharing @ errors.covariance @ self.sharing.T

    @cached_property
    def sharing(self) -> FloatArray:
        """Map from the players to all inputs, shape (n_inputs, n_players)."""
        n_players = len(self.selection.kept) + self.selection.has_others
        share = np.zeros((len(self.names), n_players))
        share[self.selection.kept, np.arange(len(self.selection.kept))] = 1.0
        share[self.selection.others, -1:] = 1.0 / max(len(self.selection.others), 1)
        return share

    def shared(self, values: FloatArray) -> FloatArray:
        """Amounts of the inputs, given those of the players."""
        return np.asarray(self.sharing @ values)

    def spread(self, values: FloatArray, elsewhere: float) -> FloatArray:
        """Numbers of the players among all inputs; ``elsewhere`` for the others."""
        everyone = np.full(len(self.names), elsewhere)
        everyone[self.selection.kept] = values[: len(self.selection.kept)]
        return everyone

    def of_others(self, **found: FloatArray) -> dict[str, float] | None:
        """The numbers of "all others"; None without them."""
        return {k: float(a[-1]) for k, a in found.items()} if self.selection.has_others else None

"""The three steps and what passes between them: a design picks subsets, a value function evaluates
them, a solver turns values into effects.

Each step can be given from outside by a *setting*: a frozen object with `make(context)`, which
returns the value function, design or solver for the data at hand. Names and models that
`ShapleyEffects` takes are short for settings of shaff's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray, Players
from shaff.data.problem import Problem
from shaff.data.structure import PLAIN, Structure
from shaff.gaussian_process.linear_game import Proxy
from shaff.subsets import Subsets
from shaff.trees.forest import Forest

# Rows whose conditional means are kept, for the directions of the effects and for null tests. Fewer
# make these a matter of luck (`benchmarks.local --directions`, `benchmarks.wide nulls`), more take
# memory.
MAX_KEPT = 4000


@dataclass(frozen=True, eq=False)
class Values:
    """Subsets with their values.

    Parameters
    ----------
    subsets : Subsets
    v : float array of shape (n_subsets,)
        Estimated share of the variance of y that each subset explains, corrected for what the
        learner's own variance took, where that is known.
    influences : float32 array of shape (n_subsets, n_rows) or None
        Influence of each row on v (docs/theory.md, section 8), centred over the rows.
    replicates : float array of shape (n_subsets, n_blocks) or None
        Values with one block of trees of the ensemble left out, for the jackknife.
    by_output : float array of shape (n_subsets, n_outputs) or None
        Share of the variance of each single output; None with one output.
    plain : float array of shape (n_subsets,) or None
        The values without the correction; None where ``v`` has none.
    runs : float array of shape (n_subsets, n_runs) or None
        Values by each of several runs with other splits and seeds, of which ``v`` is the average.
    output_influences : float32 array of shape (n_subsets, n_outputs, n_rows) or None
        Influence of each row on ``by_output``.
    means : float32 array of shape (n_subsets, n_some_rows, 1) or None
        Conditional means of the rows of `some_rows`, out of sample, with a single output; minus the
        mean of y over all rows, whatever their weight, so that no digit is lost.
    stops : int array of shape (n_subsets, n_models) or None
        How many of its trees each model uses, where that is a choice: what further rows are
        predicted with.
    squared : float array of shape (n_subsets,) or None
        Values by squared errors (Brier scores), where v is by log-loss.
    squared_influences : float32 array of shape (n_subsets, n_rows) or None
        Influence of each row on ``squared``.
    """

    subsets: Subsets
    v: FloatArray
    influences: npt.NDArray[np.float32] | None = None
    replicates: FloatArray | None = None
    by_output: FloatArray | None = None
    plain: FloatArray | None = None
    runs: FloatArray | None = None
    output_influences: npt.NDArray[np.float32] | None = None
    means: npt.NDArray[np.float32] | None = None
    stops: IntArray | None = None
    squared: FloatArray | None = None
    squared_influences: npt.NDArray[np.float32] | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Values]) -> Values:
        """Join evaluations of the same value function."""

        def join(name: str) -> npt.NDArray[Any] | None:
            arrays = [getattr(part, name) for part in parts]
            return None if any(array is None for array in arrays) else np.concatenate(arrays)

        joined = {name: join(name) for name in cls._optional()}
        subsets = Subsets.concatenate([part.subsets for part in parts])
        return cls(subsets, np.concatenate([part.v for part in parts]), **joined)

    @classmethod
    def _optional(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name not in ("subsets", "v")]

    def __getitem__(self, index: slice | IntArray | BoolArray) -> Values:
        known = {name: getattr(self, name) for name in self._optional()}
        taken = {name: array[index] for name, array in known.items() if array is not None}
        return Values(self.subsets[index], self.v[index], **taken)

    @property
    def v_plain(self) -> FloatArray:
        """The values without any correction."""
        return self.v if self.plain is None else self.plain

    def uncorrected(self) -> Values:
        """Return the values without any correction, those of single outputs by the same amount."""
        if self.plain is None:
            return self
        outputs = self.by_output
        if outputs is not None:
            outputs = outputs - (self.v - self.plain)[:, None]
        return replace(self, v=self.plain, plain=None, by_output=outputs)

    def without_rows(self) -> Values:
        """Return the same without what has an entry per row of the data."""
        return replace(
            self, influences=None, output_influences=None, means=None, squared_influences=None
        )


def some_rows(n_rows: int) -> IntpArray:
    """Return the places of rows whose conditional means are kept: all, or 4000 evenly spread.

    Examples
    --------
    >>> from shaff.protocols import some_rows
    >>> len(some_rows(300)), len(some_rows(10_000))
    (300, 4000)
    """
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_KEPT)).round().astype(np.intp))


@dataclass(frozen=True, eq=False)
class Proposal:
    """Subsets to evaluate, with what a solver needs to know of how they were chosen.

    Parameters
    ----------
    subsets : Subsets
        Neither the empty nor the full set; their weights in a least-squares problem are in
        `Subsets.log_weight`.
    orders : int array of shape (n_orders, n_players) or None
        The orders of the players whose prefixes the subsets are.
    active : bool array of shape (n_players,) or None
        Players that take part; None means all.
    error : float or None
        Largest standard error of an effect by what was evaluated before, if the design knows it.

    Examples
    --------
    >>> from shaff.protocols import Proposal
    >>> from shaff.subsets import Subsets
    >>> len(Proposal.concatenate([Proposal(Subsets.singletons(3))] * 2).subsets)
    6
    """

    subsets: Subsets
    orders: IntArray | None = None
    active: BoolArray | None = None
    error: float | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Proposal]) -> Proposal:
        """All subsets of a design; the last proposal has the last word on the rest."""
        return replace(parts[-1], subsets=Subsets.concatenate([part.subsets for part in parts]))


@dataclass(frozen=True, eq=False)
class DesignError:
    """Design error of any game on the same subsets: what those not evaluated leave open.

    The variance of the error of player j is ``variances[j]`` times the mean square of
    ``residual_map @ [v(subsets), v(all)]``: how far the values are from what the others say.

    Parameters
    ----------
    variances : float array of shape (n_players,)
    residual_map : float array of shape (n_residuals, n_subsets + 1)
    concerns : bool array of shape (n_players, n_residuals) or None, default=None
        Which residuals the mean square of each player is taken over; None means all.
    """

    variances: FloatArray
    residual_map: FloatArray
    concerns: BoolArray | None = None

    def errors(self, residuals: FloatArray) -> FloatArray:
        """Return the standard errors of each player, given the residuals of some games.

        ``residuals`` have shape (n_residuals, ...), the errors (n_players, ...).
        """
        squares = residuals**2
        if self.concerns is not None:
            counts = np.maximum(self.concerns.sum(axis=1), 1).reshape(-1, *[1] * (squares.ndim - 1))
            square = np.tensordot(self.concerns.astype(np.float64), squares, axes=1) / counts
        elif len(residuals):
            square = squares.mean(axis=0)
        else:
            square = np.zeros(residuals.shape[1:])
        variances = self.variances.reshape(-1, *[1] * (squares.ndim - 1))
        return np.asarray(np.sqrt(variances * square))


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects as a solver returns them.

    Parameters
    ----------
    effects : float array of shape (n_players,)
        The reported effects: non-negative, summing to v(all) whenever v(all) > 0.
    raw : float array of shape (n_players,)
        The same without the sign constraint; it is linear in the values.
    linear_map : float array of shape (n_players, n_subsets + 1) or None
        ``raw = linear_map @ [v(subsets), v(all)]``, in the order given to the solver.
    covariance : float array of shape (n_players, n_players) or None
        Design error of ``raw``: what the subsets that were not evaluated leave open.
    design : DesignError or None
        The same for any other game on these subsets.
    """

    effects: FloatArray
    raw: FloatArray
    linear_map: FloatArray | None = None
    covariance: FloatArray | None = None
    design: DesignError | None = None


class ValueFunction(Protocol):
    """Step 2: evaluates subsets of players."""

    @property
    def n_players(self) -> int:
        """Number of players."""

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Evaluate each subset; the value of the empty set is 0 by definition."""

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means m_U(x), shape (n_subsets, n_rows, n_outputs).

        ``rows=None`` means the rows that v is measured on, each predicted out of sample.
        """


class RowPass(Protocol):
    """Some subsets, to be evaluated on rows that come in blocks.

    A value function that can do this has a method ``over_rows`` that returns one.
    """

    @property
    def n_folds(self) -> int:
        """Number of models, each with rows of the sample that it has not seen."""

    @property
    def fold_of(self) -> IntpArray:
        """The model that has not seen each row of the sample, -1 if all have."""

    @property
    def cancel(self) -> npt.NDArray[np.uint8]:
        """One number: what it computes ends early when it is set."""

    def learn(self, n_jobs: int | None) -> None:
        """Learn in threads all that `sums` needs; without this call it is learnt on the way."""

    def sums(self, rows: Any, n_units: int | None) -> Any:
        """Return the `ErrorSums` of `MeasuredRows`, each row predicted by its model."""


class Design(Protocol):
    """Step 1: proposes subsets until it has no more to propose."""

    def propose(self, history: Values) -> Proposal | None:
        """Return the subsets to evaluate next, or None if these were all.

        ``history`` holds the values of all subsets so far, the full set first. A proposal repeats
        no subset of the history, and holds neither the empty nor the full set.
        """


class Solver(Protocol):
    """Step 3: turns values into effects."""

    def solve(self, proposal: Proposal, v: FloatArray, v_all: float) -> Effects:
        """Return effects, given the values of the proposal's subsets and of the full set."""


@dataclass(frozen=True)
class LearnerFacts:
    """What a result may say about the learners behind a game; `shaff.fitting.notes.learner` has
    the sentences.

    Parameters
    ----------
    explains_model : str or None, default=None
        Class name of the model whose predictions are explained in place of the outcome.
    n_labelled : int or None, default=None
        Number of rows that this model has predicted.
    projects : str or None, default=None
        Class name of a given model whose trees are projected, and of what stands around it.
    not_learnt : float, default=0.0
        Share of the variance of a noise-free outcome that the learner has missed: it may belong to
        any input.
    in_place_of : str or None, default=None
        Class name of a model that cannot be projected, and in whose place learners of shaff
        explain the outcome.
    refits : str or None, default=None
        Class name of a model that is fitted anew on the columns of each subset.
    model_explains : float or None, default=None
        Share of the variance of the outcome that a given model explains by itself on held-out rows.
    is_own_score : bool, default=False
        Whether the values predict held-out rows by all inputs as the given model does, so that its
        share follows from them.
    by_position : str or None, default=None
        Class name of a fitted model that knows no names of columns, if those of the rows have some.
    blended : tuple of str, default=()
        Kinds of learners that are combined, in words.
    n_splits : int, default=1
        Number of splits of the rows that they are averaged over.
    enough : {"constant", "linear", "normal_scores", "quadratic"} or None, default=None
        The start of boosting that no tree improved on; None if trees did.
    ignores_cv : bool, default=False
        Whether splits were given that a forest, measured out of bag, does not use.
    reference : str, default=""
        The publication that a value function follows, and where it departs from it.
    orders_levels : bool, default=False
        Whether the levels of categories are ordered by their mean outcome over all rows.
    own_loss : (str, str) or None, default=None
        Class name and loss of a booster that is fitted with another loss than squares.
    """

    explains_model: str | None = None
    n_labelled: int | None = None
    projects: str | None = None
    not_learnt: float = 0.0
    in_place_of: str | None = None
    refits: str | None = None
    model_explains: float | None = None
    is_own_score: bool = False
    by_position: str | None = None
    blended: tuple[str, ...] = ()
    n_splits: int = 1
    enough: str | None = None
    ignores_cv: bool = False
    reference: str = ""
    orders_levels: bool = False
    own_loss: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Game:
    """A value function with what the other steps may use of it.

    Parameters
    ----------
    values : ValueFunction
    name : str
        The estimator, for the result.
    gains : float array of shape (n_columns,) or None
        Share of each column in the split gains.
    forest : Forest or None
        Where the paths of `designs.forest_paths` come from.
    notes : tuple of str
        Sentences for the result, of value functions from outside of shaff; shaff's own state
        `facts`.
    problem : Problem or None
        What is explained, where that is not the data as given.
    evaluated : Values or None
        What was evaluated on the way to this value function, with influences.
    encode : callable or None
        Makes of further rows what `ValueFunction.predict` takes; None takes them as they are.
    facts : LearnerFacts
        What shaff's own learners have to say about themselves.
    learning_curve : callable or None
        Evaluates the full set by all rows and by learners of half of them, with influences; it
        returns None where that cannot be told.
    """

    values: ValueFunction
    name: str
    gains: FloatArray | None = None
    forest: Forest | None = None
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    evaluated: Values | None = None
    encode: Callable[[FloatArray], FloatArray] | None = None
    facts: LearnerFacts = LearnerFacts()
    learning_curve: Callable[[], tuple[Values, Values] | None] | None = None


@dataclass(frozen=True, eq=False)
class DesignContext:
    """Facts that a design may use.

    Parameters
    ----------
    n_players : int
    n_subsets : int or None
        Number of subsets asked for, the empty and the full set not counted; None if it was not.
    tol : float or None
    seed : int
    forest : Forest or None
    players : list of int arrays or None
    relevance : float array of shape (n_players,) or None
        Rough importance of the players, such as split gains.
    proxy : Proxy or None
        The linear game, for settings that say that they use it.
    data_error : float
        Standard error of v(all) by the rows; inf if it is not known.
    structure : Structure
        Order and hierarchy of the players.
    """

    n_players: int
    n_subsets: int | None
    tol: float | None
    seed: int
    forest: Forest | None = None
    players: Players | None = None
    relevance: FloatArray | None = None
    proxy: Proxy | None = None
    data_error: float = np.inf
    structure: Structure = PLAIN

    @property
    def max_subsets(self) -> int:
        """Largest number of subsets to evaluate, the empty and the full set not counted.

        It is ``n_subsets`` where that is given. Otherwise it is 200, or 15 per player if that is
        more, up to 400; and never below 10 per player (`benchmarks.wide designs`).
        """
        if self.n_subsets is not None:
            return self.n_subsets
        return max(200, min(15 * self.n_players, 400), 10 * self.n_players)


@dataclass(frozen=True, eq=False)
class SolverContext:
    """Facts that a solver may use beside the proposal; see `DesignContext`."""

    relevance: FloatArray | None = None
    proxy: Proxy | None = None
    structure: Structure = PLAIN


class ValueSetting(ABC):
    """A value function to be made from data: what ``estimator`` of `ShapleyEffects` takes.

    Subclasses are frozen dataclasses; their fields are the settings.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The setting's name; a plain class attribute will do."""

    @abstractmethod
    def make(self, problem: Problem) -> ValueFunction | Game:
        """Return the value function for these data, or a `Game` with further facts."""


class DesignSetting(ABC):
    """A design to be made once the players are known: what ``design`` takes.

    Attributes
    ----------
    name : str
        Name in the result.
    solver : str, default="least_squares"
        Solver that ``solver="auto"`` stands for.
    gives : {"subsets", "orders", "all_but_one"}, default="subsets"
        Kind of its proposals; a solver says which kinds it takes.
    linear_game : bool, default=False
        Whether it uses `DesignContext.proxy`.
    screened : bool, default=False
        Whether many players may be screened: some play by name, and all others as one.
    """

    solver: str = "least_squares"
    gives: str = "subsets"
    linear_game: bool = False
    screened: bool = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The setting's name; a plain class attribute will do."""

    @abstractmethod
    def make(self, context: DesignContext) -> Design:
        """Return the design, ready to propose."""


class SolverSetting(ABC):
    """A solver to be made once the players are known: what ``solver`` takes.

    Attributes
    ----------
    name : str
        Name in the result.
    takes : tuple of str, default=("subsets", "orders")
        Kinds of proposals that it can solve; see `DesignSetting.gives`.
    linear_game : bool, default=False
        Whether it uses `SolverContext.proxy`.
    """

    takes: tuple[str, ...] = ("subsets", "orders")
    linear_game: bool = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The setting's name; a plain class attribute will do."""

    @abstractmethod
    def make(self, context: SolverContext) -> Solver:
        """Return the solver."""

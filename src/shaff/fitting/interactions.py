"""Interactions of a fitted game, from the subsets of the effects and further ones as needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray
from shaff._util.words import counted
from shaff.designs.interactions import InteractionDesign
from shaff.fitting.fitted_game import FittedGame
from shaff.fitting.progress import progress_bar
from shaff.protocols import Values
from shaff.results.interactions import Interactions
from shaff.solve.interactions import solve_interactions
from shaff.subsets import Subsets
from shaff.uncertainty.inference import pair_errors


@dataclass(frozen=True)
class Budget:
    """How far to go; see `ShapleyEffects.interactions`."""

    n_subsets: int | None = None
    tol: float | None = None
    verbose: int = 0


@one_blas_thread
def find_interactions(played: FittedGame, budget: Budget) -> Interactions:
    """Design and values in turn until the design is content, then the solution and its errors."""
    selection, n_kept = played.selection, len(played.selection.kept)
    if played.evaluator.n_players == 1:
        return Interactions(selection.names, selection.kept, np.zeros(0), notes=_who_plays(played))
    values = _evaluate(played, budget)
    subsets, v, v_all = values.subsets[1:], values.v[1:], float(values.v[0])
    context = played.context
    linear_map, design = solve_interactions(subsets, v, v_all, context.proxy, context.relevance)
    # Pairs with "all others" are not reported: who of them interacts is not known.
    first, second = np.triu_indices(played.evaluator.n_players, 1)
    by_name = (first < n_kept) & (second < n_kept)
    # The solver has v(all) last, the values have it first.
    weights = np.hstack([linear_map[by_name, -1:], linear_map[by_name, :-1]])
    return Interactions(
        names=selection.names,
        looked_at=selection.kept,
        pair_values=weights @ values.v,
        pair_errors=pair_errors(weights, values, design[by_name], selection.problem.row_groups),
        plain_pair_values=None if values.plain is None else weights @ values.plain,
        n_rows=selection.problem.n_measured,
        n_subsets=len(values.v),
        target=selection.problem.target.name,
        notes=_who_plays(played),
    )


def _evaluate(played: FittedGame, budget: Budget) -> Values:
    """Values of the full set, of what the effects rest on, of single players and their
    complements, whose sums are known, and of what the design asks for."""
    evaluator = played.evaluator
    design = InteractionDesign.of(played.context, budget.n_subsets, budget.tol)
    alone = Subsets.singletons(evaluator.n_players)
    start = Subsets.concatenate(
        [Subsets.full(evaluator.n_players), played.subsets, alone, alone.complement()]
    )
    with progress_bar(budget.verbose) as progress:
        _, history = evaluator.reporting_to(progress).run(
            design, start.with_log_weight(None).unique(), design.n_subsets + 1
        )
    return evaluator.evaluate(history.subsets)


def _who_plays(played: FittedGame) -> tuple[str, ...]:
    n_others = len(played.selection.others)
    if not n_others:
        return ()
    return (
        f"{counted(n_others, 'player')} of {len(played.selection.names)} were screened: they play "
        "as one, and their interactions were not looked at and stand as 0.",
    )


def no_interactions(names: tuple[str, ...]) -> Interactions:
    """Of a target that does not vary."""
    nothing: FloatArray = np.zeros(len(names) * (len(names) - 1) // 2)
    notes = ("y is constant: there is nothing to explain.",)
    return Interactions(names, np.arange(len(names)), nothing, notes=notes)

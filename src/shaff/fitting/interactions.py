"""Interactions of a fitted game, from the subsets of the effects and further ones as needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shaff._util.alike import averaged, kinds_of, pair_kinds
from shaff._util.statistics import symmetric
from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.target import Target
from shaff.designs.interactions import InteractionDesign
from shaff.fitting.fitted_game import FittedGame
from shaff.fitting.notes.interactions import screened
from shaff.fitting.progress import progress_bar
from shaff.protocols import Values
from shaff.results.interactions import Interactions
from shaff.solve.interactions import solve_interactions
from shaff.subsets import Subsets
from shaff.uncertainty.inference import pair_errors


@dataclass(frozen=True)
class Budget:
    """How many subsets to evaluate, and to which error; see `ShapleyEffects.interactions`."""

    n_subsets: int | None = None
    tol: float | None = None
    verbose: int = 0


@one_blas_thread
def find_interactions(game: FittedGame, budget: Budget) -> Interactions:
    """Estimate the interactions of a fitted game, with further subsets chosen for them."""
    selection, n_kept = game.selection, len(game.selection.kept)
    notes = tuple(screened(len(selection.others), len(selection.names)))
    if game.evaluator.n_players == 1:
        return Interactions(selection.names, selection.kept, np.zeros(0), notes=notes)
    values = _evaluate(game, budget)
    subsets, v, v_all = values.subsets[1:], values.v[1:], float(values.v[0])
    context = game.context
    linear_map, design = solve_interactions(subsets, v, v_all, context.proxy, context.relevance)
    # Pairs of copies are told apart by their names only: equal to the last bit, after each product.
    kinds = pair_kinds(selection.kinds)
    linear_map, design = averaged(linear_map, kinds), averaged(design, kinds)
    # Pairs with "all others" are not reported: who of them interacts is not known.
    by_name = _pairs(game.evaluator.n_players, selection.in_order[:n_kept])
    # The solver has v(all) last, the values have it first.
    weights = np.hstack([linear_map[by_name, -1:], linear_map[by_name, :-1]])
    kinds = kinds_of(kinds[by_name].tolist())
    errors = pair_errors(weights, values, design[by_name], selection.problem.error_units)
    return Interactions(
        names=selection.names,
        looked_at=np.sort(selection.kept),
        pair_values=averaged(weights @ values.v, kinds),
        pair_errors=errors and {source: averaged(each, kinds) for source, each in errors.items()},
        plain_pair_values=(
            None if values.plain is None else averaged(weights @ values.plain, kinds)
        ),
        n_rows=selection.problem.n_measured,
        n_subsets=len(values.v),
        target=selection.problem.target.name,
        notes=notes,
    )


def _pairs(n_players: int, some: IntpArray) -> IntpArray:
    """Places of the pairs of some players, in their order, among the pairs of all."""
    n_pairs = n_players * (n_players - 1) // 2
    place = symmetric(np.arange(n_pairs, dtype=np.float64), n_players).astype(np.intp)
    one, other = np.triu_indices(len(some), 1)
    return place[some[one], some[other]]


def _evaluate(game: FittedGame, budget: Budget) -> Values:
    """Evaluate the full set, the subsets of the effects, single players and their complements
    (whose sums are known), and what the design asks for."""
    evaluator = game.evaluator
    design = InteractionDesign.of(game.context, budget.n_subsets, budget.tol)
    alone = Subsets.singletons(evaluator.n_players)
    start = Subsets.concatenate(
        [Subsets.full(evaluator.n_players), game.subsets, alone, alone.complement()]
    )
    with progress_bar(budget.verbose) as progress:
        _, history = evaluator.reporting_to(progress).run(
            design, start.with_log_weight(None).unique(), design.n_subsets + 1
        )
    return evaluator.evaluate(history.subsets)


def no_interactions(names: tuple[str, ...], target: Target) -> Interactions:
    """Interactions of 0, for an outcome that does not vary."""
    why = f"{target.constant}: there is nothing to explain."
    nothing: FloatArray = np.zeros(len(names) * (len(names) - 1) // 2)
    return Interactions(names, np.arange(len(names)), nothing, notes=(why,))

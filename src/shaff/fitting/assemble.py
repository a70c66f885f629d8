"""The way out: one function that turns the facts of a fit into its frozen result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from shaff._util.alike import averaged
from shaff._util.typing import FloatArray
from shaff.data.audit import data_hash
from shaff.data.row_keys import column_digests
from shaff.fitting.facts import Facts, Solution
from shaff.fitting.notes import write_notes
from shaff.fitting.notes.learner import through
from shaff.results.effects import EffectsResult
from shaff.solve.projection import project_to_simplex
from shaff.uncertainty.inference import Uncertainty
from shaff.uncertainty.shortfall import reach


def assemble(facts: Facts) -> EffectsResult:
    """Make the result: the only place where a fit constructs one."""
    read = facts.task.problem
    return EffectsResult(
        names=facts.names,
        effects=facts.effects,
        explained_variance=facts.explained_variance,
        design=facts.task.settings.design.name,
        solver=facts.task.settings.solver.name,
        target=facts.outcome,
        outcome_details=facts.selection.problem.target.details or None,
        explains="outcome" if facts.task.explains_outcome else "predictions",
        notes=write_notes(facts),
        interchangeable=facts.checks.interchangeable,
        data=facts.checks.summary,
        column_digests=column_digests(read.table),
        data_hash=data_hash(read.table, read.target, read.sample_weight),
        call=facts.task.provenance.call,
        versions=facts.task.provenance.versions,
        library=facts.task.provenance.library,
        loss=read.loss,
        layers=read.structure.layers(facts.names),
        hierarchy=read.structure.hierarchy(facts.names),
        **(_of_constant(facts) if facts.solution is None else _of_solution(facts, facts.solution)),
    )


def _of_constant(facts: Facts) -> dict[str, Any]:
    """An outcome that does not vary: nothing was evaluated."""
    return {
        "raw_effects": np.zeros(len(facts.names)),
        "n_rows": len(facts.task.problem.X),
        "n_subsets": 0,
        "estimator": "none",
    }


def _of_solution(facts: Facts, solution: Solution) -> dict[str, Any]:
    assert facts.game is not None
    problem, measured, effects = facts.selection.problem, solution.measured, solution.effects
    total, shapes, evaluated = solution.total, solution.shapes, solution.evaluated
    return {
        "raw_effects": facts.shared(effects.raw),
        "n_rows": problem.n_measured if measured is None else measured.n_rows,
        "n_grown": None if measured is None else len(problem.X),
        "n_subsets": len(evaluated.v),
        "estimator": facts.game.name,
        "through": through(facts.game.facts) if facts.task.explains_outcome else None,
        "first_order": facts.first_order,
        "total": None if total is None else facts.spread(total, np.nan),
        "random_state": facts.task.settings.random_state,
        "per_output": _per_output(facts, solution),
        "plain_explained_variance": solution.plain_explained_variance,
        "screened": facts.selection.correlations if facts.selection.has_others else None,
        "others": _of_others(facts, solution),
        "convergence": _convergence(facts, solution),
        "directions": None if shapes is None else {k: s.direction for k, s in shapes.items()},
        "curves": None if shapes is None else {k: s.curve for k, s in shapes.items()},
        "classes": problem.target.classes or (),
        "held_out": facts.checks.held_out or None,
        **_of_spread(facts),
        **({} if solution.errors is None else _of_errors(facts, solution, solution.errors)),
        **_of_game(facts, solution),
        **_of_squares(facts, solution),
    }


def _of_squares(facts: Facts, solution: Solution) -> dict[str, Any]:
    """Effects by squared errors, beside those by log-loss: by the same map from the values."""
    v, linear_map = solution.values.squared, solution.effects.linear_map
    if v is None or linear_map is None:
        return {}
    raw = averaged(linear_map @ np.append(v[1:], v[0]), facts.selection.kinds)
    errors = None if solution.errors is None else solution.errors.squared
    return {
        "brier_effects": facts.shared(project_to_simplex(raw, float(v[0]))),
        "brier_errors": None if errors is None else facts.shared(errors[:, 0]),
        "brier_explained": v[0],
    }


def _of_spread(facts: Facts) -> dict[str, Any]:
    """The variance that the effects are shares of."""
    spread = facts.checks.spread
    if spread is None:
        return {}
    together = spread.covariances
    unit = facts.selection.problem.variance_unit
    return {
        "variance_ratio": None if unit is None else unit.ratio,
        "outcome_variance": spread.variance,
        "outcome_variance_error": spread.error,
        "variance_covariances": None if together is None else facts.shared(together),
    }


def _of_game(facts: Facts, solution: Solution) -> dict[str, Any]:
    """What was evaluated, with the players in the order of the inputs."""
    evaluated, weights, order = solution.evaluated, _weights(solution), facts.selection.in_order
    names = facts.selection.problem.player_names
    return {
        "subsets": evaluated.subsets.masks()[:, order],
        "values": evaluated.v,
        "weights": None if weights is None else weights[order],
        "game_names": tuple(names[k] for k in order),
    }


def _of_errors(facts: Facts, solution: Solution, errors: Uncertainty) -> dict[str, Any]:
    corrected = solution.plain_explained_variance is not None
    v, v_plain, rise = solution.values.v[0], solution.values.v_plain[0], solution.rise
    beyond = reach(solution.effects.raw, errors.plain, float(v), float(v_plain), rise)
    missed = 0.0 if facts.game is None else facts.game.facts.not_learnt
    return {
        "reach": facts.shared(beyond.effects) + missed,
        "explained_reach": beyond.explained_variance + missed,
        "learning_rise": None if rise is None else rise.estimate,
        "learning_rise_error": None if rise is None else rise.error,
        "plain_effects": facts.shared(errors.plain) if corrected else None,
        "per_output_errors": _by_output(facts, errors.by_output),
        "errors_by_source": {k: facts.shared(e) for k, e in errors.standard_errors.items()},
        "covariance": facts.covariance,
        "explained_variance_error": errors.explained_variance_error,
        "p_values": None if facts.checks.wanders else facts.spread(errors.p_values, 1.0),
    }


def _of_others(facts: Facts, solution: Solution) -> dict[str, float] | None:
    effects, errors = solution.effects, solution.errors
    found = {"effect": effects.effects, "raw_effect": effects.raw}
    if errors is not None:
        found["plain_effect"] = errors.plain
        found["standard_error"] = np.sqrt(np.diag(errors.covariance))
        if not facts.checks.wanders:
            found["p_value"] = errors.p_values
    return facts.of_others(**found)


def _convergence(facts: Facts, solution: Solution) -> FloatArray | None:
    """The way of the design's error, with what it came to in the end."""
    if not solution.trace:
        return None
    steps: Iterable[tuple[float, float]] = solution.trace
    if solution.errors is not None:
        design = facts.shared(solution.errors.standard_errors["design"]).max()
        steps = (*steps, (len(solution.evaluated.v), design))
    return np.array(tuple(steps), dtype=np.float64)


def _per_output(facts: Facts, solution: Solution) -> dict[str, FloatArray] | None:
    """Effects on each output alone: the solution is linear in the values."""
    v, linear_map = solution.values.by_output, solution.effects.linear_map
    if v is None or linear_map is None:
        return None
    raw = averaged(linear_map @ np.vstack([v[1:], v[:1]]), facts.selection.kinds)
    parts = [project_to_simplex(raw[:, k], float(v[0, k])) for k in range(v.shape[1])]
    return _by_output(facts, np.stack(parts, axis=1))


def _by_output(facts: Facts, by_output: FloatArray | None) -> dict[str, FloatArray] | None:
    """Columns of an array of shape (n_players, n_outputs) under the outputs' names."""
    if by_output is None:
        return None
    names = facts.selection.problem.target.outputs
    names = names or tuple(f"y{k}" for k in range(by_output.shape[1]))
    return {name: facts.shared(column) for name, column in zip(names, by_output.T, strict=True)}


def _weights(solution: Solution) -> FloatArray | None:
    """The linear map from the values of all evaluated subsets to the raw effects of the players."""
    linear_map = solution.effects.linear_map
    if linear_map is None:
        return None
    place = {key: k for k, key in enumerate(solution.evaluated.subsets.keys())}
    # The solver has the full set last, the values have it first.
    used = [place[key] for key in solution.values.subsets.keys()]
    weights = np.zeros((len(linear_map), len(place)))
    np.add.at(weights.T, [*used[1:], used[0]], linear_map.T)
    return weights

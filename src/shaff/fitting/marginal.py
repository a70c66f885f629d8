"""Proportional marginal effects of a fitted game, from the values of all its subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.alike import averaged
from shaff._util.threads import one_blas_thread
from shaff._util.typing import FloatArray
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.errors import InputError
from shaff.fitting.fitted_game import FittedGame
from shaff.fitting.progress import progress_bar
from shaff.protocols import Values
from shaff.results.marginal import NEAR_ZERO, ProportionalMarginalEffects
from shaff.solve.marginal import by_values, gradient, monotone_losses, potential, zero_sets
from shaff.subsets import Subsets
from shaff.uncertainty.inference import training_factor

# All subsets of more inputs take hours, and their influences more memory than there may be.
MAX_INPUTS = 12
# Draws that stand for other samples of rows; fewer, and the ends of intervals are a matter of luck,
# more only take time (`benchmarks.questions draws`). Rows at a time: memory only.
N_DRAWS = 400
ROWS_AT_ONCE = 4096


def check_few(game: FittedGame) -> None:
    """Refuse games whose subsets are too many to evaluate, or are not those of the inputs."""
    n_inputs = len(game.selection.names)
    if n_inputs > MAX_INPUTS:
        raise InputError(
            f"Proportional marginal effects need all subsets of the inputs: there are {n_inputs} "
            f"inputs, and at most {MAX_INPUTS} will do. Put some into groups."
        )
    if game.selection.has_others:
        raise InputError(
            "Proportional marginal effects need all inputs by name: fit with screen=False."
        )


@one_blas_thread
def find_marginal_effects(
    game: FittedGame, shapley: FloatArray | None, verbose: int = 0
) -> ProportionalMarginalEffects:
    """Evaluate all subsets of a fitted game, and turn them into proportional marginal effects."""
    check_few(game)
    values, order, kinds = _evaluate(game, verbose), game.selection.in_order, game.selection.kinds
    noise = None if values.influences is None else _noise(game, values)
    errors = np.zeros(len(values.v) + 1) if noise is None else _errors(noise)
    v = np.append(0.0, values.v)
    effects = _effects(v, errors)
    plain = None if values.plain is None else _effects(np.append(0.0, values.plain), errors)
    draws = error = None
    if noise is not None:
        # A loss that is drawn below 0 is 0; one that is small in every draw is no longer.
        draws = _effects(v + noise, np.zeros_like(errors))
        error = averaged(_standard_errors(v, errors, noise, draws, effects), kinds)[order]
        draws = averaged(draws.T, kinds).T[:, order]
    return ProportionalMarginalEffects(
        names=game.selection.names,
        effects=averaged(effects, kinds)[order],
        explained_variance=float(v[-1]),
        standard_errors=error,
        plain_effects=None if plain is None else averaged(plain, kinds)[order],
        draws=draws,
        shapley=shapley,
        n_rows=game.selection.problem.n_measured,
        n_subsets=len(values.v),
        target=game.selection.problem.target.name,
    )


def _evaluate(game: FittedGame, verbose: int) -> Values:
    """Values of all subsets but the empty one, numbered by their bits."""
    n_players = game.evaluator.n_players
    inner = ExhaustiveDesign(n_players).subsets
    subsets = Subsets.concatenate([inner, Subsets.full(n_players)])
    with progress_bar(verbose) as progress:
        return game.evaluator.reporting_to(progress).evaluate(subsets, total=len(subsets))


def _effects(v: FloatArray, errors: FloatArray) -> FloatArray:
    """Effects of games with values of shape (..., 2 ** n_players)."""
    w = monotone_losses(v).w
    return potential(w, zero_sets(w, errors)).effects()


def _noise(game: FittedGame, values: Values) -> FloatArray:
    """Draws of the errors of all values, those of the empty set first, shape (n_draws, n_sets).

    Rows, or the units they belong to, have random weights; so have runs and blocks of trees.
    """
    assert values.influences is not None
    problem, proxy = game.selection.problem, game.context.proxy
    linear = None if proxy is None else proxy.effects.sum(keepdims=True)
    factor = float(training_factor(values.v[-1:], linear)[0])
    rng = np.random.default_rng(problem.seed)
    drawn = np.sqrt(factor) * _of_rows(values.influences, problem.error_units, rng)
    for runs, scale in ((values.runs, _of_mean), (values.replicates, _of_jackknife)):
        if runs is not None:
            centred = (runs - runs.mean(axis=1, keepdims=True)) * scale(runs.shape[1])
            drawn += rng.standard_normal((N_DRAWS, runs.shape[1])) @ centred.T
    return np.hstack([np.zeros((N_DRAWS, 1)), drawn])


def _of_rows(
    influences: npt.NDArray[np.float32], units: npt.NDArray[Any] | None, rng: np.random.Generator
) -> FloatArray:
    """Draws of means of the influences, shape (n_draws, n_subsets)."""
    n_subsets, n_rows = influences.shape
    codes = np.arange(n_rows) if units is None else np.unique(units, return_inverse=True)[1]
    n_units = int(codes.max()) + 1
    weights = rng.standard_normal((N_DRAWS, n_units))
    weights = (weights - weights.mean(axis=1, keepdims=True))[:, codes]
    drawn = np.zeros((N_DRAWS, n_subsets))
    for start in range(0, n_rows, ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        drawn += weights[:, some] @ influences[:, some].T.astype(np.float64)
    return np.asarray(drawn * np.sqrt(n_units / max(n_units - 1, 1)) / n_rows)


def _of_mean(n_runs: int) -> float:
    return float(1 / np.sqrt(n_runs * max(n_runs - 1, 1)))


def _of_jackknife(n_blocks: int) -> float:
    return float(np.sqrt((n_blocks - 1) / n_blocks))


def _errors(noise: FloatArray) -> FloatArray:
    """Standard errors of the losses, shape (n_sets,)."""
    return np.asarray((noise[:, -1:] - noise[:, ::-1]).std(axis=0))


def _standard_errors(
    v: FloatArray, errors: FloatArray, noise: FloatArray, draws: FloatArray, effects: FloatArray
) -> FloatArray:
    """By the gradient of the effects; near 0, where it fails, no less than the draws spread."""
    losses = monotone_losses(v)
    slopes = by_values(gradient(losses.w, zero_sets(losses.w, errors)), losses.sources)
    linear, spread = (noise @ slopes.T).std(axis=0), draws.std(axis=0)
    largest = np.maximum(linear, spread)
    return np.asarray(np.where(effects < NEAR_ZERO * largest, largest, linear))


def no_marginal_effects(names: tuple[str, ...]) -> ProportionalMarginalEffects:
    """Effects of 0, for an outcome that does not vary."""
    return ProportionalMarginalEffects(names, np.zeros(len(names)), 0.0)

"""Two results side by side: which effects differ, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shaff._util.typing import FloatArray, IntpArray
from shaff.errors import InputError, InputTypeError
from shaff.estimator import ShapleyEffects
from shaff.fitting.fitted_game import FittedGame
from shaff.fitting.notes.comparison import left_out, other_variance
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.subsets import Subsets
from shaff.uncertainty.inference import data_covariance, effect_influences


def compare(
    a: EffectsResult | ShapleyEffects,
    b: EffectsResult | ShapleyEffects,
    *,
    same_rows: bool = False,
    labels: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare the effects of two results, input by input: second minus first.

    Parameters
    ----------
    a, b : EffectsResult or fitted ShapleyEffects
        Players are matched by name; those that only one of them has by name are left out.
    same_rows : bool, default=False
        False takes the two as independent: other rows, such as two years or two groups of people.
        True says that both rest on the same rows in the same order (two models, two outcomes, two
        sets of columns), so that much of the rows' luck cancels; it needs the fitted estimators.
    labels : (str, str)
        What the two are called.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from shaff import ShapleyEffects, compare
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> half = [ShapleyEffects("forest", random_state=0).fit(X[k::2], y[k::2]) for k in (0, 1)]
    >>> compare(*half).differences.shape
    (10,)
    """
    results = [_result(x, name) for x, name in ((a, "a"), (b, "b"))]
    first, second = results
    names = [n for n in first.names if _plays(first, n) and _plays(second, n)]
    if not names:
        raise InputError("The two results have no input in common.")
    places = [np.array([r.names.index(n) for n in names]) for r in results]
    variances = [_variance(r)[p] for r, p in zip(results, places, strict=True)]
    shared = np.zeros(len(names))
    if same_rows:
        shared = _shared(_fitted_game(a), _fitted_game(b), results, places)
    total = np.sum(variances, axis=0) - 2 * shared
    ways = [
        np.stack([r.raw_effects, r._plain, r.raw_effects + r._reach])[:, p]
        for r, p in zip(results, places, strict=True)
    ]
    first_ways, second_ways = ways
    said = (str(labels[0]), str(labels[1]))
    left = [n for n in dict.fromkeys((*first.names, *second.names)) if n not in names]
    return Comparison(
        tuple(names),
        np.stack([first_ways[0], second_ways[0]]),
        _differences(first_ways, second_ways),
        np.sqrt(np.maximum(total, 0.0)),
        said,
        (*left_out(left), *_of_variances(results, said)),
        first.library,
        **_in_variance(results, places, ways, shared, same_rows),
    )


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Second minus first, shape (4, n_inputs): corrected, plain, and where the learners miss as
    much of one of the two as is likely, and nothing of the other."""
    ways = ((0, 0), (1, 1), (0, 2), (2, 0))
    return np.stack([second[b] - first[a] for a, b in ways])


def _of_variances(results: list[EffectsResult], labels: tuple[str, str]) -> Iterator[str]:
    """A note where the two outcomes do not vary alike."""
    variances, errors = _outcomes(results)
    if variances is not None and errors is not None:
        yield from other_variance(variances, errors, labels)


def _outcomes(results: list[EffectsResult]) -> tuple[FloatArray | None, FloatArray | None]:
    """Variances of the outcomes and their errors; None where a result does not know them."""
    variances = [r.outcome_variance for r in results]
    errors = [r.outcome_variance_error for r in results]
    if None in variances or None in errors:
        return None, None
    return np.array(variances, dtype=np.float64), np.array(errors, dtype=np.float64)


def _in_variance(
    results: list[EffectsResult],
    places: list[IntpArray],
    ways: list[FloatArray],
    shared: FloatArray,
    same_rows: bool,
) -> dict[str, FloatArray]:
    """The fields of a comparison in units of the variance of the outcome."""
    sizes, errors = _outcomes(results)
    if sizes is None or errors is None:
        return {}
    of_products = [_product_variance(r, p) for r, p in zip(results, places, strict=True)]
    variance = np.sum(of_products, axis=0) - 2 * sizes[0] * sizes[1] * shared
    if same_rows and np.isclose(*sizes):  # the same outcome: its own variance cancels
        share = np.subtract(*(r.raw_effects[p] for r, p in zip(results, places, strict=True)))
        total = sum(_variance(r)[p] for r, p in zip(results, places, strict=True)) - 2 * shared
        variance = (sizes[0] * np.sqrt(np.maximum(total, 0.0)) + np.abs(share) * errors[0]) ** 2
    return {
        "outcome_variances": sizes,
        "variance_estimates": _differences(sizes[0] * ways[0], sizes[1] * ways[1]),
        "variance_errors": np.sqrt(np.maximum(variance, 0.0)),
    }


def _product_variance(result: EffectsResult, place: IntpArray) -> FloatArray:
    """Variance of the effects times the variance of the outcome, to first order.

    Where it is not known how the two go together, they are taken to go together entirely.
    """
    assert result.outcome_variance is not None
    assert result.outcome_variance_error is not None
    size, error = result.outcome_variance, result.outcome_variance_error
    effects, own = np.abs(result.raw_effects[place]), np.sqrt(_variance(result)[place])
    together = own * error
    if result.variance_covariances is not None:
        together = result.variance_covariances[place] * np.sign(result.raw_effects[place])
    return np.asarray((size * own) ** 2 + (effects * error) ** 2 + 2 * size * effects * together)


def _result(given: Any, name: str) -> EffectsResult:
    result = getattr(given, "result_", given)
    if not isinstance(result, EffectsResult):
        raise InputTypeError(f"{name} is neither a result of shaff nor a fitted ShapleyEffects.")
    if result.standard_errors is None:
        raise InputError(f"{name} has no standard errors: there is nothing to compare it by.")
    return result


def _plays(result: EffectsResult, name: str) -> bool:
    return name in result.names and not result.is_screened[result.names.index(name)]


def _variance(result: EffectsResult) -> FloatArray:
    error = result.standard_errors
    assert error is not None
    return np.asarray(error**2)


def _fitted_game(given: Any) -> FittedGame:
    game: FittedGame | None = getattr(given, "_fitted_game", None)
    if game is None or not hasattr(game, "evaluator"):
        raise InputTypeError("same_rows=True needs the fitted estimators, not their results.")
    if (game.selection.problem.n_given or 0) > game.selection.problem.n_read:
        raise InputError("same_rows=True: a sample of the rows was explained; use max_rows=None.")
    return game


def _shared(
    a: FittedGame, b: FittedGame, results: list[EffectsResult], places: list[IntpArray]
) -> FloatArray:
    """Covariance of the two effects of each input, due to the rows that both rest on."""
    influences = []
    for game, result, place in zip((a, b), results, places, strict=True):
        full = Subsets.full(game.evaluator.n_players)
        values = game.evaluator.evaluate(Subsets.concatenate([full, game.subsets]))
        who = np.array([game.selection.kept.tolist().index(k) for k in place], dtype=np.intp)
        psi = effect_influences(game.effects, values, who)
        if psi is None or result.errors_by_source is None:
            raise InputError("same_rows=True: these values do not say what each row has done.")
        # As the error bars are: they allow for models that other rows would have given.
        given = np.sqrt(
            [data_covariance(row[None], game.selection.problem.error_units)[0, 0] for row in psi]
        )
        stated = result.errors_by_source["data"][place]
        scale = np.divide(stated, given, out=np.zeros_like(stated), where=given > 0)
        influences.append(game.selection.problem.of_rows_read(psi * scale[:, None]))
    one, other = influences
    if one.shape != other.shape:
        raise InputError("same_rows=True: the two results rest on different numbers of rows.")
    in_time = a.selection.problem.blocks
    groups = a.problem.row_groups if in_time is None else in_time
    together = [
        data_covariance(np.stack(rows), groups)[0, 1] for rows in zip(one, other, strict=True)
    ]
    return np.array(together)

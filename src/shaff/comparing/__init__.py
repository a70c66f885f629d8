"""Two results side by side: which effects differ, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shaff._util.labels import two_labels
from shaff._util.typing import FloatArray
from shaff.comparing.checks import check_alike, read_result
from shaff.comparing.covariances import covariance_of_difference
from shaff.comparing.shared_rows import Shared, find_shared
from shaff.comparing.side import Side
from shaff.errors import InputError
from shaff.estimator import ShapleyEffects
from shaff.fitting.notes.comparison import left_out, other_variance, rows_in_both
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult

__all__ = ["compare"]


def compare(
    a: EffectsResult | ShapleyEffects,
    b: EffectsResult | ShapleyEffects,
    *,
    same_rows: bool | None = None,
    row_labels: tuple[Any, Any] | None = None,
    other_outcome: bool = False,
    labels: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare the effects of two results, input by input and jointly: second minus first.

    If both come from the same rows, in whole or in part, much of the noise of the rows cancels in
    the differences. Their errors are then computed from the influence of each row on both effects.
    This needs the fitted estimators, because results do not keep the influences.

    Parameters
    ----------
    a, b : EffectsResult or fitted ShapleyEffects
        Inputs are matched by name; those that only one of them evaluates by name are left out.
    same_rows : bool or None, default=None
        None looks for rows that fitted estimators share, by their entries. True says that both rest
        on the same rows in the same order (two models, two outcomes, two sets of columns), and
        needs the fitted estimators. False takes the two as independent: other rows, such as two
        years or two groups of people.
    row_labels : pair of arrays or None, default=None
        Label of each row that a and b were fitted on; rows of one label are the same. For tables
        that overlap and whose rows cannot be told apart by their entries.
    other_outcome : bool, default=False
        True compares effects on outcomes of different names; otherwise that is refused, unless
        ``same_rows=True`` says that two outcomes of the same rows are compared.
    labels : (str, str)
        Names of the two results.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from shaff import ShapleyEffects, compare
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> half = [ShapleyEffects("forest", random_state=0).fit(X[k::2], y[k::2]) for k in (0, 1)]
    >>> found = compare(*half)
    >>> found.differences.shape, found.n_shared
    ((10,), 0)
    >>> models = [ShapleyEffects(name, random_state=0).fit(X, y) for name in ("forest", "smooth")]
    >>> compare(*models).n_shared
    442
    """
    results = [read_result(x, name) for x, name in ((a, "a"), (b, "b"))]
    check_alike(*results, other_outcome=other_outcome or same_rows is True)
    names = [n for n in results[0].names if all(_has(r, n) for r in results)]
    if not names:
        raise InputError("The two results have no input in common.")
    sides = (Side.of(a, results[0], names), Side.of(b, results[1], names))
    shared = find_shared(sides, same_rows, row_labels)
    said = two_labels(labels)
    share = covariance_of_difference(sides, shared, "share")
    return Comparison(
        tuple(names),
        np.stack([side.raw for side in sides]),
        _differences(sides[0].estimates, sides[1].estimates),
        np.sqrt(np.diag(share)),
        said,
        tuple(_notes(results, names, said, shared)),
        results[0].library,
        covariance=share,
        n_shared=shared.n_rows,
        measure=results[0].measure,
        **_in_variance(sides, shared),
    )


def _has(result: EffectsResult, name: str) -> bool:
    """Whether an input takes part by name."""
    return name in result.names and not result.is_screened[result.names.index(name)]


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Second minus first, shape (4, n_inputs): corrected, plain, and where the learners miss as
    much of one of the two as is likely, and nothing of the other."""
    ways = ((0, 0), (1, 1), (0, 2), (2, 0))
    return np.stack([second[b] - first[a] for a, b in ways])


def _in_variance(sides: tuple[Side, Side], shared: Shared) -> dict[str, FloatArray]:
    """The fields of a comparison in units of the variance of the outcome."""
    first, second = sides
    if first.spread is None or second.spread is None:
        return {}
    sizes = np.array([first.spread.variance, second.spread.variance])
    covariance = covariance_of_difference(sides, shared, "variance")
    return {
        "outcome_variances": sizes,
        "variance_estimates": _differences(sizes[0] * first.estimates, sizes[1] * second.estimates),
        "variance_errors": np.sqrt(np.diag(covariance)),
        "variance_covariance": covariance,
    }


def _notes(
    results: list[EffectsResult], names: list[str], labels: tuple[str, str], shared: Shared
) -> Iterator[str]:
    everyone = dict.fromkeys(name for result in results for name in result.names)
    yield from left_out([name for name in everyone if name not in names])
    yield from rows_in_both(shared.n_unpaired, shared.is_unsure)
    variances = [r.outcome_variance for r in results]
    errors = [r.outcome_variance_error for r in results]
    if None not in variances and None not in errors:
        yield from other_variance(np.array(variances, float), np.array(errors, float), labels)

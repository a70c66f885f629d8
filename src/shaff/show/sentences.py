"""A result in plain sentences: what a reader wants to know first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shaff._util.words import counted, enumerated, percent, shortened, spelled
from shaff.values.learners import learner_words

if TYPE_CHECKING:
    from shaff.results.effects import EffectsResult

# Most of what is explained, and how many players a sentence names.
MOST, NAMED = 0.8, 5
_DEFAULT = "gaussian_process"


def headline(result: EffectsResult) -> str:
    """Who carries most of what is explained.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.sentences import headline
    >>> result = EffectsResult(
    ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3], n_rows=442,
    ...     explained_variance=0.4, n_subsets=4, estimator="forest", design="exhaustive",
    ...     solver="least_squares", target="progression")
    >>> headline(result).replace("\\u202f", " ")
    'Two inputs carry all of what can be explained of progression: bmi and age.'
    """
    target = shortened(result.target_name, 60)
    if result.explained_variance <= 0 or not result.effects.any():
        return f"The inputs explain nothing of {target} that can be seen in these rows."
    order, shares = result.order, result.shares
    together = np.cumsum(shares[order])
    n_most = int(np.searchsorted(together, MOST) + 1)
    most = "all" if together[n_most - 1] > 0.995 else percent(float(together[n_most - 1]))
    names = [shortened(result.names[j], 40) for j in order[:n_most]]
    what = f"of what can be explained of {target}"
    if n_most == 1:
        return f"{names[0]} alone carries {most} {what}."
    if n_most <= NAMED:
        return f"{spelled(n_most).capitalize()} inputs carry {most} {what}: {enumerated(names)}."
    return (
        f"Many inputs matter: it takes {n_most} of {len(result.names)} to carry {most} {what}. "
        f"The largest is {names[0]} with {percent(float(shares[order[0]]))}."
    )


def explained(result: EffectsResult, level: float = 0.95) -> str:
    """How much is explained at all, and how sure that is.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.sentences import explained
    >>> result = EffectsResult(
    ...     names=("age",), effects=[0.4], raw_effects=[0.4], explained_variance=0.4, n_rows=442,
    ...     n_subsets=4, estimator="forest", design="exhaustive", solver="least_squares",
    ...     explained_variance_error=0.05)
    >>> explained(result).replace("\\u202f", " ")
    'All inputs together explain 40 % of the variance of y (95 % interval: 30 % to 50 %).'
    """
    v, target = result.explained_variance, shortened(result.target_name, 60)
    if v <= 0:
        return f"On rows that the model has not seen it predicts {target} no better than the mean."
    bounds = result.explained_interval(level)
    sure = ""
    if bounds is not None:
        low, high = (percent(bound) for bound in bounds)
        sure = f" ({percent(level)} interval: {low} to {high})"
    return f"All inputs together explain {percent(v)} of the variance of {target}{sure}."


def model_words(result: EffectsResult) -> str:
    """The learner, and the other two steps where they are not the usual ones.

    Examples
    --------
    >>> from shaff.results.effects import EffectsResult
    >>> from shaff.show.sentences import model_words
    >>> result = EffectsResult(
    ...     names=("age",), effects=[0.4], raw_effects=[0.4], explained_variance=0.4, n_rows=442,
    ...     n_subsets=4, estimator="forest", design="exhaustive", solver="least_squares")
    >>> model_words(result)
    'a random forest, design exhaustive, solver least squares'
    """
    kind, _, inner = result.estimator.partition(" ")
    model = learner_words(result.estimator)
    if kind == "surrogate":
        model = f"{learner_words(inner)} in place of the given model"
    steps = (("design", result.design), ("solver", result.solver))
    unusual = [f"{step} {name.replace('_', ' ')}" for step, name in steps if name != _DEFAULT]
    return ", ".join([model, *unusual])


def how(result: EffectsResult) -> str:
    """What the figures rest on, in one line."""
    seed = "" if result.random_state is None else f", seed {result.random_state}"
    return (
        f"{counted(result.n_rows, 'row')}, {counted(result.n_subsets, 'subset')}{seed}; "
        f"{model_words(result)}; shaff {result.version}"
    )

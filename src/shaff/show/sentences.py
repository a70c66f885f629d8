"""Results in plain sentences: what a reader wants to know first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shaff._util.words import counted, enumerated, percent, shortened, spelled
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.show.rows import ALPHA, plain, quantity_text
from shaff.values.registry import learner_words

# Most of what is explained, and how many inputs a sentence names.
MOST, NAMED = 0.8, 5
_DEFAULT = "gaussian_process"


def title(result: EffectsResult) -> str:
    """Return the first line of everything that shows a result: what was explained.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import title
    >>> title(example(target="price"))
    'Shapley effects on the outcome price'
    >>> title(example(target="the predictions of Ridge", explains="predictions"))
    'Shapley effects on the predictions of Ridge'
    >>> title(example(target="price", through="the projected trees of LGBMRegressor"))
    'Shapley effects on the outcome price, through the projected trees of LGBMRegressor'
    >>> title(example(target="visits", loss="poisson"))
    'Shapley effects on the outcome visits: explained deviance (poisson)'
    """
    how = "" if result.through is None else f", through {result.through}"
    loss = "" if result.measure == "variance" else f": explained {result.measure}"
    return f"Shapley effects on {explained_words(result)}{how}{loss}"


def structure(result: EffectsResult) -> str:
    """Return the order or the hierarchy that effects heed; "" without either.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import structure
    >>> structure(example(layers=(("age",), ("bmi",))))
    'In the order age → bmi: an input is credited with what it adds to all earlier layers.'
    """
    if result.layers:
        steps = [_few(layer) for layer in result.layers]
        return (
            f"In the order {' → '.join(steps)}: an input is credited with what it adds to all "
            "earlier layers."
        )
    if result.hierarchy:
        return "Owen effects: the effects of the inputs in a group add up to that of the group."
    return ""


def _few(names: tuple[str, ...]) -> str:
    shown = [shortened(name, 24) for name in names[:NAMED]]
    more = len(names) - len(shown)
    return ", ".join([*shown, *[f"{more} more"] * (more > 0)])


def explained_words(result: EffectsResult) -> str:
    """Return what was explained: the outcome, by its name, or the predictions of a model."""
    name = shortened(result.target_name, 60)
    if result.outcome_details is not None:  # a description, not the name of a column
        return name
    if result.explains == "outcome":
        return f"the outcome {name}"
    return name if name.startswith("the predictions") else f"the predictions of {name}"


def headline(result: EffectsResult) -> str:
    """Return which inputs carry most of what is explained.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import headline
    >>> headline(example(target="progression")).replace("\\u202f", " ")
    'Two inputs carry all of what can be explained of progression: bmi and age.'
    """
    target = shortened(result.target_name, 60)
    found = _any_significant(result)
    if not result.effects.any() or not (found or result.has_skill):
        return f"The inputs explain nothing of {target} that these rows can show."
    if not found:
        v = percent(result.explained_variance)
        return (
            f"Together the inputs explain {v} of {target}, but these rows do not show which of "
            "them do: no single one is significant."
        )
    order, shares = result.order, result.shares
    together = np.cumsum(shares[order])
    n_most = min(int(np.searchsorted(together, MOST) + 1), len(together))
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


def _any_significant(result: EffectsResult) -> bool:
    """Whether any input, or all others together, helps to predict; where there are no p-values,
    whether all inputs together do."""
    if result.p_values is None:
        return result.has_skill
    others = 1.0 if result.others is None else result.others.get("p_value", 1.0)
    return min(float(result.null_test().min()), others) < ALPHA


def explained(result: EffectsResult, level: float = 0.95) -> str:
    """Return how much is explained at all, and its interval.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import explained
    >>> explained(example(explained_variance_error=0.05)).replace("\\u202f", " ")
    'All inputs together explain 40 % of the variance of y (95 % interval: 30 % to 50 %).'
    """
    v, target = result.explained_variance, shortened(result.target_name, 60)
    if v <= 0:
        return f"On held-out rows the model predicts {target} no better than the mean."
    bounds = result.explained_interval(level)
    sure = ""
    if bounds is not None:
        low, high = (percent(bound) for bound in bounds)
        sure = f" ({percent(level)} interval: {low} to {high})"
    return f"All inputs together explain {percent(v)} of the {result.measure} of {target}{sure}."


def prediction(result: EffectsResult) -> str:
    """Return how well held-out rows are predicted, in units of the outcome; "" if not known.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import prediction
    >>> prediction(example(held_out={"rmse": 54.12, "rmse_of_mean": 77.0}))
    'Predictions of held-out rows are off by 54.1 (root mean square); the mean alone by 77.0.'
    """
    found = result.held_out or {}
    model = found.get("r2_of_model")
    own = "" if model is None else (
        f"The given model itself explains {model:.3f} of the variance of the outcome on held-out "
        "rows."
    )  # fmt: skip
    brier = "" if result.brier_explained is None else (
        f"Of the squared errors of the indicators (Brier score) {result.brier_explained:z.3f} is "
        "explained."
    )  # fmt: skip
    return " ".join(filter(None, (_of_learners(found), brier, own)))


def _of_learners(found: Mapping[str, float]) -> str:
    if "rmse" in found:
        off, mean = (quantity_text(found[name]) for name in ("rmse", "rmse_of_mean"))
        return (
            f"Predictions of held-out rows are off by {off} (root mean square); the mean alone by "
            f"{mean}."
        )
    if "loss" in found:
        off, mean = (quantity_text(found[name]) for name in ("loss", "loss_of_mean"))
        return f"The mean deviance of held-out rows is {off}; that of the mean alone {mean}."
    if "accuracy" not in found:
        return ""
    right, largest = (percent(found[name], 1) for name in ("accuracy", "accuracy_of_largest"))
    area = f"; AUC {found['auc']:.3f}" if "auc" in found else ""
    return (
        f"The right class is predicted for {right} of held-out rows (the largest class is "
        f"{largest} of them){area}."
    )


def model_words(result: EffectsResult) -> str:
    """Return the learner, and design and solver where they are not the default ones.

    Examples
    --------
    >>> from shaff.results._example import example
    >>> from shaff.show.sentences import model_words
    >>> model_words(example())
    'a random forest, design exhaustive, solver least squares'
    """
    kind, _, inner = result.estimator.partition(" ")
    model = learner_words(result.estimator)
    if kind == "surrogate":
        model = f"{learner_words(inner)} in place of the given model"
    elif kind == "labelled":
        model = f"{learner_words(inner)} that labels further points"
    steps = (("design", result.design), ("solver", result.solver))
    unusual = [f"{step} {name.replace('_', ' ')}" for step, name in steps if name != _DEFAULT]
    return ", ".join([model, *unusual])


def how(result: EffectsResult) -> str:
    """Return what the figures rest on, in one line."""
    seed = "" if result.random_state is None else f", seed {result.random_state}"
    return (
        f"{counted(result.n_rows, 'row')}, {counted(result.n_subsets, 'subset')}{seed}; "
        f"{model_words(result)}; shaff {result.version}"
    )


def footer(result: EffectsResult) -> list[str]:
    """Return the sentences below a table: what is explained, how it was computed, the notes."""
    predicted = filter(None, [plain(prediction(result))])
    return [_figures(result), *predicted, how(result), *(f"Note: {note}" for note in result.notes)]


def _figures(result: EffectsResult) -> str:
    """How much is explained, in figures."""
    v, error, measured_v = (
        result.explained_variance,
        result.explained_variance_error,
        result.plain_explained_variance,
    )
    if measured_v is not None and f"{measured_v:.3f}" == f"{v:.3f}":
        measured_v = None  # corrected by nothing that shows
    spread = "" if error is None else f"standard error {error:.3f}"
    whose = f"of the {result.measure} of {result.target_name}"
    whose += " on held-out rows" * (measured_v is None)
    if v <= 0:
        figures = ", ".join(filter(None, (f"estimate {v:z.3f}", spread)))
        zero = "" if result.effects.any() else ": all effects are 0"
        return f"The inputs explain nothing {whose} ({figures}){zero}."
    spread = spread and f" ({spread})"
    measured = "" if measured_v is None else f" On held-out rows, uncorrected: {measured_v:.3f}."
    return f"The inputs explain {v:.3f}{spread} {whose}; {1 - v:z.3f} remains.{measured}"


def interactions_footer(found: Interactions) -> list[str]:
    """Return the sentences below a table of interactions: how to read it, and the notes."""
    return [
        "Synergy (above 0): more together than apart. Overlap (below 0): shared information.",
        f"{counted(found.n_rows, 'row')}, {counted(found.n_subsets, 'subset')}.",
        *(f"Note: {note}" for note in found.notes),
    ]

"""Notes on the learners behind a result: what they explain, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import spelled
from shaff.protocols import LearnerFacts

_TREES = "trees on top of it do not predict better."
_ENOUGH = {
    "constant": "No model predicts other rows better than their mean does.",
    "linear": f"A linear model is enough here: {_TREES}",
    "normal_scores": f"A linear model of the ranked inputs is enough here: {_TREES}",
    "quadratic": f"A model of straight lines and squares is enough here: {_TREES}",
}


def learner_notes(facts: LearnerFacts) -> tuple[str, ...]:
    """Return what there is to say about the learners, the most important first.

    Examples
    --------
    >>> from shaff.fitting.notes.learner import learner_notes
    >>> from shaff.protocols import LearnerFacts
    >>> learner_notes(LearnerFacts(enough="linear"))
    ('A linear model is enough here: trees on top of it do not predict better.',)
    """
    return tuple(sentence for rule in _RULES for sentence in rule(facts))


def _surrogate(facts: LearnerFacts) -> Iterator[str]:
    if facts.explains_model is not None:
        yield (
            f"Explains the predictions of {facts.explains_model} on {facts.n_labelled} rows, "
            "through a surrogate: the model, not the data."
        )


def _blend(facts: LearnerFacts) -> Iterator[str]:
    if facts.blended:
        yield (
            f"The model is a blend of {spelled(len(facts.blended))} kinds "
            f"({', '.join(facts.blended)}), averaged over {facts.n_splits} splits of the rows."
        )


def _enough(facts: LearnerFacts) -> Iterator[str]:
    """Trees that add nothing say what is enough without them."""
    if facts.enough is not None:
        yield _ENOUGH[facts.enough]


def _ignored_cv(facts: LearnerFacts) -> Iterator[str]:
    if facts.ignores_cv:
        yield (
            "cv is not used: a forest is measured on the rows out of its bags, which are drawn at "
            'random. Boosting (estimator="boosting") keeps to it.'
        )


def _publication(facts: LearnerFacts) -> Iterator[str]:
    if facts.reference:
        yield facts.reference
    if facts.orders_levels:
        yield "Levels of categories are ordered by their mean of y over all rows, as in ranger."


_RULES = (_surrogate, _blend, _enough, _ignored_cv, _publication)

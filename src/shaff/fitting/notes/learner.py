"""Notes on the learners behind a result: what they explain, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import enumerated, spelled
from shaff.fitting.facts import Facts
from shaff.protocols import LearnerFacts


def about_the_learner(facts: Facts) -> Iterator[str]:
    """What is explained, by what, and what value functions from outside of shaff say."""
    if facts.game is not None:
        yield from (note for rule in _RULES for note in rule(facts.game.facts))
        yield from facts.game.notes


def _surrogate(facts: LearnerFacts) -> Iterator[str]:
    if facts.explains_model is not None:
        yield (
            f"Explains the predictions of {facts.explains_model} on {facts.n_labelled} rows, "
            "through a surrogate: the model, not the data."
        )


def _blend(facts: LearnerFacts) -> Iterator[str]:
    if len(facts.blended) > 1:
        splits = f", averaged over {spelled(facts.n_splits)} splits of the rows"
        yield (
            f"The model is a blend of {spelled(len(facts.blended))} kinds "
            f"({enumerated(facts.blended)}){splits if facts.n_splits > 1 else ''}."
        )


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


_RULES = (_surrogate, _blend, _ignored_cv, _publication)

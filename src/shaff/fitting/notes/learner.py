"""Notes on the learners behind a result: what they explain, and how they were made."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import enumerated, spelled
from shaff.fitting.facts import Facts
from shaff.protocols import LearnerFacts

# A surrogate that explains less of a model's predictions on held-out rows misses effects that may
# be as large as those it finds (`tests/test_models.py` has both sides).
FAITHFUL = 0.9


def about_the_learner(facts: Facts) -> Iterator[str]:
    """What is explained, by what, and what value functions from outside of shaff say."""
    if facts.game is not None:
        yield from (note for rule in _RULES for note in rule(facts.game.facts))
        yield from facts.game.notes


def not_faithful(facts: Facts) -> Iterator[str]:
    """The learners that stand for a model miss much of what it predicts."""
    model = None if facts.game is None else facts.game.facts.explains_model
    followed = None if facts.solution is None else facts.solution.held_out_variance
    if model is not None and followed is not None and followed < FAITHFUL:
        yield (
            f"The surrogate explains only {followed:.3f} of the predictions of {model} on held-out "
            f"rows. The effects that it finds are real; the missing {1 - followed:.3f} may belong "
            "to any input, so trust an order only between effects that differ by more. More rows "
            "help, and need no outcome."
        )


def through(facts: LearnerFacts) -> str | None:
    """Return how a given model explains the outcome, for the first line of a result; None if none
    was given.

    Examples
    --------
    >>> from shaff.fitting.notes.learner import through
    >>> from shaff.protocols import LearnerFacts
    >>> through(LearnerFacts(refits="Ridge"))
    'Ridge, fitted anew on each subset'
    """
    if facts.projects is not None:
        return f"the projected trees of {facts.projects}"
    if facts.refits is not None:
        return f"{facts.refits}, fitted anew on each subset"
    if facts.in_place_of is not None:
        return f"learners of shaff in place of {facts.in_place_of}"
    return None


def _surrogate(facts: LearnerFacts) -> Iterator[str]:
    if facts.explains_model is not None:
        yield (
            f"Explains the predictions of {facts.explains_model} on {facts.n_labelled} rows, "
            "through a surrogate: the model, not the data."
        )


def _labelled(facts: LearnerFacts) -> Iterator[str]:
    if facts.explains_model is None and facts.n_labelled is not None:
        yield (
            f"The learner has labelled {facts.n_labelled} further points from the distribution of "
            "the inputs. Effects and errors are those of its labels, corrected by held-out runs."
        )


def _in_place(facts: LearnerFacts) -> Iterator[str]:
    if facts.in_place_of is not None:
        yield (
            f"{facts.in_place_of} has no trees that can be projected here, and is not refitted on "
            "each subset: learners of shaff explain the outcome in its place. "
            'explains="predictions" explains the model.'
        )


def _by_position(facts: LearnerFacts) -> Iterator[str]:
    if facts.by_position is not None:
        yield (
            f"{facts.by_position} was fitted on columns without names: those of X are "
            "matched by position."
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
            "cv is not used: a forest is measured on its out-of-bag rows, and bags are drawn at "
            'random. Boosting (estimator="boosting") uses cv.'
        )


def _publication(facts: LearnerFacts) -> Iterator[str]:
    if facts.reference:
        yield facts.reference
    if facts.orders_levels:
        yield "Levels of categories are ordered by their mean of y over all rows, as in ranger."


def _own_loss(facts: LearnerFacts) -> Iterator[str]:
    if facts.own_loss is not None:
        model, loss = facts.own_loss
        yield (
            f"The trees of {model} are those of its own loss ({loss}); what their cells predict on "
            "subsets is computed again by squared errors."
        )


_RULES = (
    _surrogate,
    _labelled,
    _in_place,
    _by_position,
    _own_loss,
    _blend,
    _ignored_cv,
    _publication,
)

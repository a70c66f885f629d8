"""Every note that a result carries: one rule each, in order of weight.

A rule is a function from the `Facts` of a fit to sentences, none if it has nothing to say. To add a
note, write its rule in the module of its kind and put it into `RULES` where its weight belongs.
What a rule needs to have computed is a check (`shaff.fitting.checks`) or a remark of the data room
(`shaff.data.remarks`): rules compare and phrase, they do not compute.

The notes of local effects, interactions and comparisons are in the modules of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shaff.fitting.facts import Facts
from shaff.fitting.notes import cautions, dependence, effects, leaks, learner, models, reading

Rule = Callable[[Facts], Iterable[str]]

RULES: tuple[Rule, ...] = (
    # What is likely not meant: leaks, repeated units, tails.
    effects.constant_outcome,
    leaks.given_away,
    leaks.identities,
    leaks.explained_alone,
    dependence.random_walk,
    dependence.twins,
    dependence.repeated_unit,
    dependence.series,
    dependence.few_blocks,
    cautions.row_numbers,
    learner.not_faithful,
    cautions.heavy_tail,
    cautions.one_output,
    cautions.little_explained,
    cautions.order_not_settled,
    # What bears on the effects.
    effects.heeds_order,
    effects.shared_credit,
    effects.quadratics,
    effects.grouped_rows,
    effects.few_units,
    effects.screened,
    effects.one_explains_more_than_all,
    effects.still_learning,
    # How the data were read, and the model.
    reading.outcome_details,
    reading.remarks,
    learner.about_the_learner,
    # What is good to know.
    models.simpler_is_enough,
    cautions.constant_columns,
)


def write_notes(facts: Facts) -> tuple[str, ...]:
    """Return the notes of a result, the weightiest first, none twice."""
    return tuple(dict.fromkeys(note for rule in RULES for note in rule(facts)))

"""Notes about likely mistakes: what in the data or the result may not be what was meant.

The rules are plain on purpose, with limits that leave healthy tables alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shaff._util.words import column_sentence, counted
from shaff.fitting.facts import Facts

# Effects divide what is explained: below this there is little to divide.
LITTLE = 0.1
# The standard error of the largest effect, as a share of it, from which on the order is open.
UNSURE = 0.25
# The largest 1 % of the rows make up this much of the variance of y: more than twice as much as in
# a normal law, and more than in an exponential one (0.22).
TAIL_SHARE = 0.3
# Of several outputs one makes up this much: what all of them together have is that one's.
ONE_OUTPUT = 0.9


def row_numbers(facts: Facts) -> Iterator[str]:
    """Columns count the rows."""
    if facts.checks.row_numbers:
        yield column_sentence(
            facts.checks.row_numbers,
            "counts the rows: leave it out, unless their order matters.",
        )


def heavy_tail(facts: Facts) -> Iterator[str]:
    """A few rows make up much of the variance of the outcome."""
    share, n_tail, y = facts.checks.tail_share, facts.checks.n_tail, facts.task.problem.y[:, 0]
    if share < TAIL_SHARE:
        return
    advice = "check them"
    # Not where its logarithm may be among the inputs.
    if y.min() >= 0 and not facts.checks.leaks.names:
        advice = "try its logarithm" if y.min() > 0 else "try the logarithm of 1 + it"
    yield (
        f"{counted(n_tail, 'row')} of {len(y)} {'makes' if n_tail == 1 else 'make'} up "
        f"{100 * share:.0f} % of the variance of {facts.target}, and so of the effects: {advice}."
    )


def one_output(facts: Facts) -> Iterator[str]:
    """One of several outputs makes up most of what is explained."""
    if facts.checks.largest_output is None:
        return
    name, share = facts.checks.largest_output
    if share > ONE_OUTPUT:
        yield (
            f"The output {name!r} makes up {100 * share:.0f} % of the variance of all outputs "
            "together, and so of the effects: scale the outputs (divide each by its standard "
            "deviation) if they are to count alike; `per_output` has the effects on each."
        )


def little_explained(facts: Facts) -> Iterator[str]:
    """There is little to divide among the inputs."""
    if facts.task.explains_outcome and 0 < facts.explained_variance < LITTLE:
        yield (
            f"Little is explained ({100 * facts.explained_variance:.1f} %): most of what drives "
            f"{facts.target} is not in these columns, or is chance."
        )


def order_not_settled(facts: Facts) -> Iterator[str]:
    """The error bar of the largest effect is wide."""
    covariance = facts.covariance
    if not facts.task.explains_outcome or covariance is None or len(facts.names) < 2:
        return
    top = int(facts.effects.argmax())
    error = float(np.sqrt(covariance[top, top]))
    if facts.explained_variance > 0 and error > UNSURE * facts.effects[top]:
        yield (
            "The intervals are wide compared with the effects: the order of the inputs is "
            "uncertain."
        )


def constant_columns(facts: Facts) -> Iterator[str]:
    """Columns hold one value."""
    if facts.checks.constants:
        yield column_sentence(
            facts.checks.constants, "has one value only, which explains nothing: effect 0."
        )

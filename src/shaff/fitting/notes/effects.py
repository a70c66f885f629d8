"""Notes that bear on the effects: shared credit, few rows, screens, learners that fall short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shaff._util.words import counted
from shaff.fitting.facts import Facts

# Rows, or groups of rows, from which on error bars keep what they say: of data sets that are pure
# noise too many seem to hold an effect below it (`benchmarks.coverage --case noise`).
ENOUGH_UNITS = 50
# Interchangeable inputs that a note names, and groups of them.
FEW_NAMES = 5
# One input alone explains more than all by this much: worth a word; so are unequal copies.
# Smaller, and noise is remarked on (`benchmarks.truth`).
ALONE_MARGIN = 0.005


def constant_outcome(facts: Facts) -> Iterator[str]:
    """The outcome does not vary."""
    if facts.solution is None:
        yield f"{facts.selection.problem.target.constant}: there is nothing to explain."


def shared_credit(facts: Facts) -> Iterator[str]:
    """Inputs that carry the same information share the credit for it, unless a model that was
    given has chosen among them; a few of many are named."""
    groups = facts.checks.interchangeable
    unequal = [group for group in groups if _is_unequal(facts, group)]
    equal = [group for group in groups if group not in unequal]
    if equal:
        yield (
            f"Interchangeable: {_named(equal)}. They carry the same information and share its "
            "credit equally."
        )
    if unequal:
        yield (
            f"Interchangeable: {_named(unequal)}. They carry the same information, but the model "
            "uses one more than the other: only the sum of their effects can be trusted. "
            "ShapleyEffects().fit(X, y) shares it equally."
        )


def _is_unequal(facts: Facts, group: Sequence[str]) -> bool:
    """Whether one of several inputs that say the same has less than half of another's effect."""
    if facts.solution is None:
        return False
    names, effects = facts.selection.problem.player_names, facts.solution.effects.effects
    known = [effects[names.index(name)] for name in group if name in names]
    return len(known) > 1 and max(known) > ALONE_MARGIN and min(known) < 0.5 * max(known)


def _named(groups: Sequence[Sequence[str]]) -> str:
    named = [", ".join(map(repr, g[:FEW_NAMES])) + ", ..." * (len(g) > FEW_NAMES) for g in groups]
    more = f"; and {len(groups) - FEW_NAMES} more groups" * (len(groups) > FEW_NAMES)
    return f"{'; '.join(named[:FEW_NAMES])}{more}"


def heeds_order(facts: Facts) -> Iterator[str]:
    """An order was given, which is an assumption of the user."""
    if facts.task.problem.structure.order is not None:
        yield (
            "The order of the layers is an assumption: information that several layers share is "
            "credited to the earliest, whether or not it is a cause of the others."
        )


def quadratics(facts: Facts) -> Iterator[str]:
    """Columns are functions of others, which say more than they do."""
    found = facts.checks.quadratics
    if found:
        named = [f"{one!r} of {other!r}" for one, other in found[:FEW_NAMES]]
        yield (
            f"Quadratic functions of other inputs: {', '.join(named)}"
            f"{', ...' * (len(found) > FEW_NAMES)}. They add no information to the latter, and "
            "share their credit."
        )


def grouped_rows(facts: Facts) -> Iterator[str]:
    """Groups of rows, and not rows, are the sample."""
    problem = facts.selection.problem
    if problem.row_groups is not None and problem.time is None:
        yield (
            f"The rows are in {counted(problem.n_units, 'group')} that stay together when rows are "
            "held out: errors and tests count groups, not rows."
        )


def few_units(facts: Facts) -> Iterator[str]:
    """Error bars rest on few independent observations."""
    problem = facts.selection.problem
    has_errors = facts.solution is not None and facts.solution.errors is not None
    if not has_errors or problem.n_units >= ENOUGH_UNITS or problem.time is not None:
        return  # of blocks of time, other notes tell
    what = "row" if problem.row_groups is None else "group"
    yield (
        f"Error bars and tests rest on {counted(problem.n_units, what)}: "
        f"with fewer than {ENOUGH_UNITS} they are too optimistic."
    )


def screened(facts: Facts) -> Iterator[str]:
    """Some inputs take part as one."""
    if not facts.selection.has_others or facts.solution is None:
        return
    n_others, n_kept = len(facts.selection.others), len(facts.selection.kept)
    yield (
        f"Screened: {n_kept} of {n_kept + n_others} inputs are evaluated by name. All others are "
        f"evaluated together: each has an equal part of their effect of "
        f"{facts.solution.effects.effects[-1]:.3f}; `upper_bound` says how much one of them may "
        "have."
    )


def one_explains_more_than_all(facts: Facts) -> Iterator[str]:
    """The other inputs cost the learner more than they bring."""
    found = None if facts.solution is None else facts.solution.first_order
    if found is None or found.max() <= facts.explained_variance + ALONE_MARGIN:
        return
    name = facts.selection.problem.player_names[int(found.argmax())]
    yield (
        f"{name!r} alone explains {found.max():.3f}, more than all inputs together "
        f"({facts.explained_variance:.3f}): the others add more noise than information."
    )


def still_learning(facts: Facts) -> Iterator[str]:
    """All rows explain clearly more than half of them: then more rows would explain more still."""
    rise = None if facts.solution is None else facts.solution.rise
    if rise is not None and rise.is_clear:
        yield (
            f"More rows would help: all rows explain {rise.estimate:.2f} more than half of them "
            f"do. With twice as many rows, up to {rise.estimate:.2f} more would be explained, and "
            "effects would be larger; the upper ends of the intervals allow for it."
        )

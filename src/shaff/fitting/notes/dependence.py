"""Notes about rows that depend on each other: what it does to the answer, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import counted, percent
from shaff.data.time import MIN_BLOCKS
from shaff.fitting.facts import Facts

_TOO_SURE = "too much seems explained, and p-values are too small"


def repeated_unit(facts: Facts) -> Iterator[str]:
    """A column names units that were observed several times."""
    found = facts.checks.unit
    if found is None:
        return
    alike = ""
    if found.correlation is not None:
        alike = (
            ", and rows of one value have similar residuals from the other inputs "
            f"(correlation {found.correlation:.2f})"
        )
    yield (
        f"Column {found.column!r} repeats {found.n_units} values{alike}, as if each were one unit "
        "seen several times (a person, a firm, a day). If it is, rows of one unit carry "
        f"information on each other's outcome: {_TOO_SURE}. Make it the row groups (row_groups, "
        f"--row-groups {found.column}), not an input."
    )


def twins(facts: Facts) -> Iterator[str]:
    """Rows with equal inputs have outcomes that are alike."""
    found = facts.checks.twins
    if found is not None:
        yield (
            f"{percent(found.share)} of the rows have a twin that is equal in all inputs, and "
            f"twins have similar outcomes beyond what the inputs explain (correlation "
            f"{found.correlation:.2f}). They carry information on each other's outcome: "
            f"{_TOO_SURE} (about {found.explained:.2f} is explained if twins are held out "
            "together). Drop copies; if twins are one unit seen several times, name it "
            "(row_groups, --row-groups)."
        )


def series(facts: Facts) -> Iterator[str]:
    """What is left of the outcome correlates along the order of the rows, or of dates."""
    found = facts.checks.serial
    if found is None:
        return
    order = "the order of the rows" if found.column is None else f"{found.column!r}"
    apart = "next to each other" if found.lag == 1 else f"{found.lag} rows apart"
    name = "COLUMN" if found.column is None else found.column
    yield (
        f"Along {order}, the residuals of rows {apart} are alike (correlation "
        f"{found.correlation:.2f}), as in a series. Such rows carry information on each other's "
        f"outcome: {_TOO_SURE}. If the rows are in the order of time, say so (time, --time "
        f"{name}); if several rows belong to one person or firm, name the column that says which "
        "(row_groups, --row-groups)."
    )


def random_walk(facts: Facts) -> Iterator[str]:
    """The outcome cannot be told from a random walk."""
    if facts.checks.wanders:
        yield (
            f"{facts.target} wanders like a random walk or a trend, and may agree with any other "
            "such series by chance, however long the table. P-values are withheld, and the "
            "intervals are too narrow: explain its changes (differences) by those of the inputs, "
            "or remove its trend first."
        )


def few_blocks(facts: Facts) -> Iterator[str]:
    """Blocks of time are few, or shorter than they should be."""
    wanted, used = facts.checks.n_blocks_wanted, facts.selection.problem.n_units
    if wanted is None or facts.checks.wanders:
        return
    if wanted < used:
        yield (
            f"Rows depend on each other for a long time: only {counted(wanted, 'block')} of time "
            f"would be independent. Error bars and tests count {used}, and are too optimistic."
        )
    elif used < MIN_BLOCKS:
        yield (
            f"Error bars and tests rest on {counted(used, 'block')} of time: with fewer than "
            f"{MIN_BLOCKS} they are too optimistic."
        )

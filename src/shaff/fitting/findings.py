"""What checks find, as plain facts: see `shaff.fitting.checks`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leaks:
    """Inputs that give the outcome away, each by its name.

    Parameters
    ----------
    ordered : tuple of str
        Columns that rise, or fall, with the outcome with hardly an exception, ties aside; of
        categories, those in some order.
    separating : tuple of str
        Numbers on which each class has a range of its own.
    determining : tuple of str
        Columns of repeated values, each with one outcome.
    """

    ordered: tuple[str, ...] = ()
    separating: tuple[str, ...] = ()
    determining: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.ordered, *self.separating, *self.determining)


@dataclass(frozen=True)
class Term:
    """A part of a formula: a number times an input, its logarithm, or a product or ratio of two.

    Parameters
    ----------
    weight : float
    inputs : tuple of (str, int)
        Names and exponents, 1 or -1.
    is_log : bool, default=False
        Whether the logarithm of the size of the input is meant.
    """

    weight: float
    inputs: tuple[tuple[str, int], ...]
    is_log: bool = False


@dataclass(frozen=True)
class Identity:
    """A formula that gives the outcome in every row.

    Parameters
    ----------
    terms : tuple of Term
    constant : float
    of_log : bool
        Whether the formula gives the logarithm of the outcome.
    is_rounded : bool
        Whether it holds up to the digits of the columns only.
    n_exceptions : int, default=0
        Number of rows in which it does not hold.
    """

    terms: tuple[Term, ...]
    constant: float
    of_log: bool = False
    is_rounded: bool = False
    n_exceptions: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name, _ in term.inputs))

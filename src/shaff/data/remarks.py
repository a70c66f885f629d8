"""Facts about how data were read, which `shaff.fitting.notes.reading` writes as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Rows are runs of a simulator: one that gives the same output again, and one that does not.
SIMULATED = ("simulated", "not repeated")


@dataclass(frozen=True)
class Remark:
    """One fact that a reader of the result should know about the data.

    Remarks are equal if all of their parts are, so that the same fact about several columns is
    found again; see `merged`.

    Parameters
    ----------
    kind : str
        What was found, such as "dates"; one key of `shaff.fitting.notes.reading.SENTENCES`.
    columns : tuple of str, default=()
        The columns it was found in; empty for a fact about the whole table.
    details : dict, default={}
        Numbers and words that the sentence names.

    Examples
    --------
    >>> from shaff.data.remarks import Remark
    >>> Remark("dates", ("day",)) == Remark("dates", ("day",))
    True
    """

    kind: str
    columns: tuple[str, ...] = ()
    # Equal remarks have equal hashes without it, and a dict has none.
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


def merged(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Each fact once, with the columns of all remarks that state it, in order of appearance.

    Examples
    --------
    >>> from shaff.data.remarks import Remark, merged
    >>> merged([Remark("dates", ("a",)), Remark("codes", ("b",)), Remark("dates", ("c",))])[0]
    Remark(kind='dates', columns=('a', 'c'), details={})
    """
    columns: dict[Remark, list[str]] = {}
    for remark in remarks:
        columns.setdefault(replace(remark, columns=()), []).extend(remark.columns)
    return tuple(replace(fact, columns=tuple(names)) for fact, names in columns.items())

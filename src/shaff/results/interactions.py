"""Interactions: how much two players tell together beyond what each tells by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from shaff._util.frames import Backend, make_frame
from shaff._util.statistics import symmetric
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.intervals import ConfidenceInterval
from shaff.show.text import aligned, number_text, p_value_text
from shaff.uncertainty.inference import adjust_p_values

if TYPE_CHECKING:
    from shaff.show.plots.interactions import InteractionsDisplay


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """Shapley interaction indices of all pairs of players, and how sure they are.

    The index of two players is what the second adds to the gain by the first, on average over
    what is known besides (the Shapley–Owen effect of the pair). Above 0 they tell more together
    than apart, as factors of a product do; below 0 they tell the same in part, as dependent
    inputs do. The indices of a player's pairs sum to its total less its first-order Sobol index.

    Parameters
    ----------
    names : tuple of str
        All players.
    looked_at : int array of shape (n_looked_at,)
        Players whose pairs were looked at; the others were screened, and have 0.
    pair_values : float array of shape (n_pairs,)
        Indices of their pairs, in the order of ``numpy.triu_indices(n_looked_at, 1)``, by the
        same corrected values as the effects.
    pair_errors : dict of float arrays of shape (n_pairs,) or None
        Standard errors by source: "data", "design", "ensemble", "algorithm"; see
        `EffectsResult.standard_errors`.
    plain_pair_values : float array of shape (n_pairs,) or None
        By the values without correction, where some value was corrected.
    n_rows, n_subsets : int
        Rows that v was measured on, evaluations of v.
    target : str or None
    notes : tuple of str
    library : {"pandas", "polars", "pyarrow"} or None
        Of the frame that was explained.

    Examples
    --------
    >>> from shaff.results.interactions import Interactions
    >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], {"data": [0.02]}, n_rows=442)
    >>> found.values.tolist()
    [[0.0, 0.1], [0.1, 0.0]]
    >>> found
    Interactions(2 players, strongest 'age' and 'bmi' 0.100)
    """

    names: tuple[str, ...]
    looked_at: IntpArray
    pair_values: FloatArray
    pair_errors: dict[str, FloatArray] | None = None
    plain_pair_values: FloatArray | None = None
    n_rows: int = 0
    n_subsets: int = 0
    target: str | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = field(default=None)

    def __post_init__(self) -> None:
        looked_at = np.array(self.looked_at, dtype=np.intp).reshape(-1)
        n_pairs = len(looked_at) * (len(looked_at) - 1) // 2
        errors = self.pair_errors
        checked: dict[str, Any] = {
            "names": tuple(map(str, self.names)),
            "notes": tuple(map(str, self.notes)),
            "looked_at": looked_at,
            "pair_values": _of_pairs(self.pair_values, n_pairs),
            "plain_pair_values": _of_pairs(self.plain_pair_values, n_pairs),
            "pair_errors": None
            if errors is None
            else {source: _of_pairs(error, n_pairs) for source, error in errors.items()},
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def values(self) -> FloatArray:
        """The indices, shape (n_players, n_players): symmetric, and 0 on the diagonal."""
        return self._matrix(self.pair_values, 0.0)

    @property
    def standard_errors(self) -> FloatArray | None:
        """Of all sources together, shape (n_players, n_players); NaN for screened players."""
        error = self.pair_standard_errors
        return None if error is None else self._matrix(error, np.nan)

    @property
    def pair_standard_errors(self) -> FloatArray | None:
        """Of all sources together, pair by pair, shape (n_pairs,)."""
        if self.pair_errors is None:
            return None
        squares = [np.square(error) for error in self.pair_errors.values()]
        return np.asarray(np.sqrt(np.sum(squares, axis=0)), dtype=np.float64)

    def _matrix(self, pairs: FloatArray, elsewhere: float) -> FloatArray:
        """Numbers of pairs as a matrix of all players, ``elsewhere`` where nobody has looked."""
        matrix = np.full((len(self.names),) * 2, elsewhere)
        inner = symmetric(pairs, len(self.looked_at))
        matrix[np.ix_(self.looked_at, self.looked_at)] = inner
        return matrix

    @property
    def pairs(self) -> IntpArray:
        """Players of each pair, shape (n_pairs, 2)."""
        first, second = np.triu_indices(len(self.looked_at), 1)
        return np.stack([self.looked_at[first], self.looked_at[second]], axis=1)

    @property
    def order(self) -> IntpArray:
        """Positions of the pairs, the strongest first, whatever its sign."""
        return np.argsort(-np.abs(self.pair_values), kind="stable")

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """Intervals of the pairs, each bound of shape (n_pairs,).

        Those of effects in the same way: from the smaller of plain and corrected index less a
        quantile of standard errors to the larger plus as much.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], {"data": [0.02]})
        >>> found.confidence_interval().low.round(3).tolist()
        [0.061]
        """
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.")
        error = self.pair_standard_errors
        if error is None:
            raise InputError("These interactions have no standard errors, so no intervals.")
        half, plain = float(ndtri((1 + level) / 2)) * error, self._plain
        low = np.minimum(self.pair_values, plain) - half
        return ConfidenceInterval(low, np.maximum(self.pair_values, plain) + half)

    @property
    def _plain(self) -> FloatArray:
        return self.pair_values if self.plain_pair_values is None else self.plain_pair_values

    def null_test(self, adjust: str | None = "holm") -> FloatArray:
        """Two-sided p-values of "the two players do not interact", shape (n_pairs,).

        By the values without correction; ``adjust="holm"`` controls the chance of any false
        positive among all pairs.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("a", "b", "c"), [0, 1, 2], [0.1, 0, 0], {"data": [0.05] * 3})
        >>> found.null_test().round(3).tolist()
        [0.137, 1.0, 1.0]
        """
        if adjust not in ("holm", None):
            raise InputError(f'adjust={adjust!r} is unknown: use "holm" or None.')
        error, size = self.pair_standard_errors, np.abs(self._plain)
        if error is None:
            raise InputError("These interactions have no standard errors, so no test.")
        z = np.divide(size, error, out=np.where(size > 0, np.inf, 0.0), where=error > 0)
        p_values = np.asarray(2 * ndtr(-z))
        return p_values if adjust is None else adjust_p_values(p_values)

    def columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        """What is known of each pair, column by column."""
        columns = {"interaction": self.pair_values}
        if self.pair_errors is None:
            return columns
        low, high = self.confidence_interval(level)
        error = self.pair_standard_errors
        assert error is not None
        by_source = {f"{source}_error": e for source, e in self.pair_errors.items()}
        tests = {"p_value": self.null_test(None), "p_adjusted": self.null_test()}
        return {
            **columns, "low": low, "high": high, "standard_error": error, **by_source, **tests,
        }  # fmt: skip

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """One row a pair, the strongest first; pairs with screened players are left out.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``one``, ``other``, ``interaction``, and with errors ``low``, ``high``,
            ``standard_error`` and its parts by source, ``p_value`` and ``p_adjusted``.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("a", "b", "c"), [0, 1, 2], [0.1, 0.0, -0.2])
        >>> found.to_frame("polars")["one"].to_list()
        ['b', 'a', 'a']
        """
        order, pairs = self.order, self.pairs
        members = {
            name: [self.names[j] for j in pairs[order, side]]
            for side, name in enumerate(("one", "other"))
        }
        numbers = {name: array[order] for name, array in self.columns(level).items()}
        return make_frame({**members, **numbers}, backend or self.library or "pandas")

    def summary(self, max_pairs: int = 20) -> str:
        """The strongest pairs as a text table.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("age", "bmi"), [0, 1], [0.1], n_rows=442, n_subsets=3)
        >>> print(found.summary())
        Interactions on y
        <BLANKLINE>
        players      interaction
        age and bmi  0.100
        <BLANKLINE>
        Above 0: more together than apart; below 0: they tell the same in part.
        442 rows, 3 subsets.
        """
        shown = self.order[:max_pairs]
        header, rows = self.table(shown)
        lines = [f"Interactions on {self.target or 'y'}", "", *aligned([header, *rows])]
        if len(shown) < len(self.pair_values):
            lines.append(f"... and {len(self.pair_values) - len(shown)} weaker pairs")
        return "\n".join([*lines, "", *self.footer()])

    def table(self, positions: IntpArray) -> tuple[list[str], list[list[str]]]:
        """Header and cells of some pairs, as text."""
        pairs = self.pairs
        names = [" and ".join(self.names[j] for j in pairs[k]) for k in positions]
        cells = {"interaction": [number_text(self.pair_values[k]) for k in positions]}
        error = self.pair_standard_errors
        if error is not None:
            low, high = self.confidence_interval()
            p_values = self.null_test()
            cells["error"] = [number_text(error[k]) for k in positions]
            cells["p (Holm)"] = [p_value_text(p_values[k]) for k in positions]
            cells["95 % interval"] = [
                f"{number_text(low[k])} to {number_text(high[k])}" for k in positions
            ]
        rows = zip(names, *cells.values(), strict=True)
        return ["players", *cells], [list(row) for row in rows]

    def footer(self) -> list[str]:
        """Plain sentences: how to read the numbers, what they rest on, and the notes."""
        rest = f"{counted(self.n_rows, 'row')}, {counted(self.n_subsets, 'subset')}."
        return [
            "Above 0: more together than apart; below 0: they tell the same in part.",
            rest,
            *(f"Note: {note}" for note in self.notes),
        ]

    def plot(self, ax: Any = None, max_players: int = 20) -> InteractionsDisplay:
        """A heat map of the players with the strongest interactions; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_players : int, default=20
            Those with the strongest pairs.

        Returns
        -------
        InteractionsDisplay

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> Interactions(("a", "b"), [0, 1], [0.1]).plot()
        InteractionsDisplay(2 players, on y)
        """
        from shaff.show.plots.interactions import InteractionsDisplay

        return InteractionsDisplay.from_interactions(self).plot(ax, max_players)

    def content(self) -> dict[str, Any]:
        """For JSON; `from_content` reads it back."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Interactions:
        """What `content` gave, read back.

        Examples
        --------
        >>> from shaff.results.interactions import Interactions
        >>> found = Interactions(("a", "b"), [0, 1], [0.1])
        >>> Interactions.from_content(found.content()).values[0, 1]
        np.float64(0.1)
        """
        known = {field.name for field in fields(cls)} & content.keys()
        return cls(**{name: content[name] for name in known})

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and copied arrays are writable: freeze them again.
        self.__dict__.update(state)
        self.__post_init__()

    def __repr__(self) -> str:
        text = counted(len(self.names), "player")
        if len(self.pair_values):
            top = self.order[0]
            one, other = (repr(self.names[j]) for j in self.pairs[top])
            text += f", strongest {one} and {other} {number_text(self.pair_values[top])}"
        return f"Interactions({text})"


def _of_pairs(array: npt.ArrayLike | None, n_pairs: int) -> FloatArray | None:
    if array is None:
        return None
    copy = np.array(array, dtype=np.float64)
    if copy.shape != (n_pairs,):
        raise InputError(f"numbers of pairs must have shape {(n_pairs,)}, got {copy.shape}.")
    copy.setflags(write=False)
    return copy

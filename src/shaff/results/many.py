"""Many results at once: several targets, segments of the rows, or models, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shaff._util.frames import Backend, make_frame
from shaff._util.words import counted
from shaff.errors import InputError
from shaff.results.effects import EffectsResult
from shaff.show.plots.many import ManyDisplay

# A key says which target, segment and model; one alone stands for itself.
Key = str | tuple[str, ...]
MISSING = "missing"


@dataclass(frozen=True, eq=False, repr=False)
class ManyEffects:
    """Results side by side.

    Parameters
    ----------
    dimensions : tuple of str
        What the keys tell apart: "target", "segment", "model".
    results : dict of EffectsResult
        By target, segment or model, or by a tuple of them where there are several dimensions.
    failures : dict of str
        Why the others have no result.
    library : str or None
        Of the frame that was explained.

    Examples
    --------
    >>> from shaff import explain_many
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> many = explain_many(X, y, by=X[:, 1] > 1, estimator="smooth", random_state=0)
    >>> list(many.results), many.failures
    (['False', 'True'], {})
    """

    dimensions: tuple[str, ...]
    results: Mapping[Key, EffectsResult]
    failures: Mapping[Key, str] = field(default_factory=dict)
    library: Backend | None = None

    def __len__(self) -> int:
        return len(self.results) + len(self.failures)

    def __getitem__(self, key: Key) -> EffectsResult:
        """The result of one; without it, the reason as a `KeyError`."""
        if key in self.failures:
            raise KeyError(f"{key!r} failed: {self.failures[key]}")
        return self.results[key]

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """One row for each result and player, the largest effect of a result first; one row with
        its reason for each failure.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        data frame
            Columns of the dimensions, ``player``, ``effect``, ``share``, ``low``, ``high``,
            ``standard_error``, ``p_adjusted`` (NaN where a result has none),
            ``explained_variance``, ``n_rows`` and ``failure`` (empty where there is none).

        Examples
        --------
        >>> from shaff import explain_many
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> many = explain_many(X, y, by=X[:, 1] > 1, estimator="smooth", random_state=0)
        >>> many.to_frame("polars").shape
        (20, 11)
        """
        rows = self.rows(level)
        columns = {name: [row[name] for row in rows] for name in self.columns}
        texts = (*self.dimensions, "player", "failure")
        typed = {k: c if k in texts else np.array(c, dtype=float) for k, c in columns.items()}
        return make_frame(typed, backend or self.library or "pandas")

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table."""
        return (*self.dimensions, *_COLUMNS)

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The table of `to_frame` row by row, without a library of frames."""
        rows = [row for key in self.results for row in self._rows(key, level)]
        return rows + [self._failed_row(key) for key in self.failures]

    def _rows(self, key: Key, level: float) -> Iterator[dict[str, Any]]:
        result = self.results[key]
        columns = result.columns(level)
        same = {"explained_variance": result.explained_variance, "n_rows": result.n_rows}
        for j in result.order:
            numbers = {name: columns[name][j] if name in columns else np.nan for name in _NUMBERS}
            yield {**self._labels(key), "player": result.names[j], **numbers, **same, "failure": ""}

    def _failed_row(self, key: Key) -> dict[str, Any]:
        empty = dict.fromkeys((*_NUMBERS, "explained_variance", "n_rows"), np.nan)
        return {**self._labels(key), "player": "", **empty, "failure": self.failures[key]}

    def _labels(self, key: Key) -> dict[str, str]:
        return dict(zip(self.dimensions, (key,) if isinstance(key, str) else key, strict=True))

    def plot(self, ax: Any = None, max_players: int = 20) -> ManyDisplay:
        """The effects of all results in one picture: a row each, a column for each player.

        Parameters
        ----------
        ax : matplotlib axes or None
        max_players : int, default=20
            Those with the largest mean effect.

        Returns
        -------
        ManyDisplay
        """
        return self.display().plot(ax, max_players)

    def display(self) -> ManyDisplay:
        """The picture, not drawn yet."""
        if not self.results:
            raise InputError("All of them failed: there is nothing to draw.")
        labelled = {self._label(key): result for key, result in self.results.items()}
        return ManyDisplay.from_results(labelled)

    def _label(self, key: Key) -> str:
        return " / ".join(self._labels(key).values())

    def __repr__(self) -> str:
        return self.summary(max_results=10)

    def summary(self, max_results: int = 100) -> str:
        """A line for each result: what is explained, and by whom most; then the failures."""
        lines = [f"{counted(len(self.results), 'result')} by {' and '.join(self.dimensions)}"]
        for key, result in list(self.results.items())[:max_results]:
            first = [f"{result.names[j]} {result.effects[j]:.3f}" for j in result.order[:3]]
            lines.append(
                f"  {self._label(key)}: {result.explained_variance:.3f} ({', '.join(first)})"
            )
        more = len(self.results) - max_results
        lines += [f"  and {more} more"] * (more > 0)
        failures = list(self.failures.items())[:max_results]
        lines += [f"  {self._label(key)} failed: {reason}" for key, reason in failures]
        return "\n".join(lines)


_NUMBERS = ("effect", "share", "low", "high", "standard_error", "p_adjusted")
_COLUMNS = ("player", *_NUMBERS, "explained_variance", "n_rows", "failure")

"""Many results at once: several targets, segments of the rows, or models, in one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from shaff._util.files import replacing
from shaff._util.frames import Backend, installed_backend, make_frame
from shaff._util.words import listed
from shaff.errors import InputError
from shaff.results.base import Result
from shaff.results.effects import EffectsResult
from shaff.results.schema import check_content, is_text

if TYPE_CHECKING:
    from shaff.results.base import Display

# A key says which target, segment and model; one alone stands for itself.
Key = str | tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ManyEffects(Result):
    """Results side by side.

    Parameters
    ----------
    dimensions : tuple of str
        What the keys distinguish: "target", "segment", "model".
    results : dict of EffectsResult
        Results by target, segment or model, or by a tuple of them with several dimensions.
    failures : dict of str
        Reasons why the others have no result, by the same keys.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.

    Examples
    --------
    >>> from shaff import explain_many
    >>> from shaff.datasets import load_diabetes
    >>> X, y, names = load_diabetes()
    >>> many = explain_many(X, y, by=X[:, 1] > 1, estimator="smooth", random_state=0)
    >>> list(many.results), many.failures
    (['False', 'True'], {})
    """

    _format: ClassVar[str] = "shaff.ManyEffects"

    dimensions: tuple[str, ...]
    results: Mapping[Key, EffectsResult]
    failures: Mapping[Key, str] = field(default_factory=dict)
    library: Backend | None = None

    def __post_init__(self) -> None:
        self._set({"dimensions": tuple(map(str, self.dimensions))})

    def _content(self) -> dict[str, Any]:
        # Keys may be tuples, which names in JSON are not.
        results = [[key, result._saved()] for key, result in self.results.items()]
        failures = [list(pair) for pair in self.failures.items()]
        return {**super()._content(), "results": results, "failures": failures}

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Self:
        check_content({**content, "results": {}, "failures": {}}, cls)
        n_parts = len(content["dimensions"])
        results = {_key(k, n_parts): EffectsResult._from_content(r) for k, r in content["results"]}
        failures = {_key(k, n_parts): str(reason) for k, reason in content["failures"]}
        return cls(tuple(content["dimensions"]), results, failures, content.get("library"))

    def __len__(self) -> int:
        return len(self.results) + len(self.failures)

    def __getitem__(self, key: Key) -> EffectsResult:
        """Return the result of one key; for a failure, raise a `KeyError` with its reason."""
        if key in self.failures:
            raise KeyError(f"{key!r} failed: {self.failures[key]}")
        # Levels of a column are read as text, also those that are numbers.
        found = self.results.get(key, self.results.get(str(key)))
        if found is None:
            raise KeyError(f"{key!r} is none of {listed([str(known) for known in self.results])}")
        return found

    def to_frame(self, backend: Backend | None = None, *, level: float = 0.95) -> Any:
        """Return a data frame with one line per result and input, the largest effect of a result
        first, and one line with its reason for each failure.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        data frame
            Columns of the dimensions, ``input``, ``effect``, ``share``, ``low``, ``high``,
            ``standard_error``, ``p_adjusted`` (NaN where a result has none),
            ``explained_variance``, ``n_rows``, ``explains`` ("outcome" or "predictions") and
            ``failure`` (empty where there is none).

        Examples
        --------
        >>> from shaff import explain_many
        >>> from shaff.datasets import load_diabetes
        >>> X, y, names = load_diabetes()
        >>> many = explain_many(X, y, by=X[:, 1] > 1, estimator="smooth", random_state=0)
        >>> many.to_frame("polars").shape
        (20, 12)
        """
        rows = [row for key in self.results for row in self._rows(key, level)]
        rows += [self._failed_row(key) for key in self.failures]
        columns = {name: [row[name] for row in rows] for name in (*self.dimensions, *_COLUMNS)}
        texts = (*self.dimensions, "explains", "input", "failure")
        typed = {k: c if k in texts else np.array(c, dtype=float) for k, c in columns.items()}
        return make_frame(typed, backend or self.library or installed_backend())

    def _rows(self, key: Key, level: float) -> Iterator[dict[str, Any]]:
        result = self.results[key]
        columns = result._columns(level)
        same = {"explained_variance": result.explained_variance, "n_rows": result.n_rows}
        for j in result.order:
            numbers = {name: columns[name][j] if name in columns else np.nan for name in _NUMBERS}
            said = {"explains": result.explains, "input": result.names[j], "failure": ""}
            yield {**self._labels(key), **said, **numbers, **same}

    def _failed_row(self, key: Key) -> dict[str, Any]:
        empty = dict.fromkeys((*_NUMBERS, "explained_variance", "n_rows"), np.nan)
        said = {"explains": "", "input": "", "failure": self.failures[key]}
        return {**self._labels(key), **said, **empty}

    def _labels(self, key: Key) -> dict[str, str]:
        return dict(zip(self.dimensions, (key,) if isinstance(key, str) else key, strict=True))

    def plot(self, kind: str = "heatmap", *, ax: Any = None, max_inputs: int = 20) -> Display:
        """Draw the effects of all results; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"heatmap"}, default="heatmap"
            A line for each result, a column for each input.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, those with the largest mean effect.

        Returns
        -------
        ManyDisplay
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs)

    def to_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a page with a line for each result, and the table and notes of each; needs jinja2
        (``pip install "shaff[report]"``).

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        title : str or None, default=None
            None names what the results differ in.

        Returns
        -------
        Path
        """
        from shaff.show.report import render_many

        page = render_many(self, title)
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return Path(path)

    def _label(self, key: Key) -> str:
        label = " / ".join(self._labels(key).values())
        is_other = self.is_mixed and key in self.results and self.results[key].explains != "outcome"
        return f"{label} (its predictions)" if is_other else label

    @property
    def is_mixed(self) -> bool:
        """Whether some results are shares of the outcome, and others of a model's predictions."""
        return len({result.explains for result in self.results.values()}) > 1

    def __repr__(self) -> str:
        return self.summary(max_results=10)

    def summary(self, max_results: int = 100) -> str:
        """Return a line for each result (explained variance, largest effects), then the failures.

        Parameters
        ----------
        max_results : int, default=100
            Number of results, and of failures, that have a line each.
        """
        return self._summary(max_results)


def _key(saved: Any, n_parts: int) -> Key:
    parts = [saved] if isinstance(saved, str) else saved
    if not isinstance(parts, list) or len(parts) != n_parts or not all(map(is_text, parts)):
        raise InputError("each result must have a name for each of the dimensions.")
    return parts[0] if n_parts == 1 else tuple(parts)


_NUMBERS = ("effect", "share", "low", "high", "standard_error", "p_adjusted")
_COLUMNS = ("input", *_NUMBERS, "explained_variance", "n_rows", "explains", "failure")

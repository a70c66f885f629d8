"""LocalEffects: what each input has added to the prediction of single rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from shaff._util.arrays import frozen
from shaff._util.files import replacing
from shaff._util.frames import Backend, make_frame
from shaff._util.json import encoded, read_content
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted, listed
from shaff._version import __version__
from shaff.errors import InputError
from shaff.results.direction import Shape

if TYPE_CHECKING:
    from shaff.show.plots import BeeswarmDisplay, LocalDependenceDisplay, WaterfallDisplay

FORMAT = "shaff.LocalEffects"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class LocalEffects:
    """Conditional Shapley values of rows: the parts of each prediction. Its arrays are read-only.

    The value of an input in a row is its fair share of how far the prediction for this row is from
    the mean, where inputs that are not known are averaged over under the dependence of the data.
    The values of a row and the base add up to its prediction.

    Parameters
    ----------
    names : tuple of str
        The players. If a screen has put some among "all others", these have the value 0 and
        "all others" stands last.
    values : float array of shape (n_rows, n_players) or (n_rows, n_players, n_outputs)
        The last form with several outputs or more than two classes, as `shap` has it.
    base : float, or float array of shape (n_outputs,)
        The mean of y (of a class: its share).
    predictions : float array of shape (n_rows,) or (n_rows, n_outputs)
        Of y, or of the probability of a class.
    data : float array of shape (n_rows, n_players)
        What the players have in each row: codes of categories, NaN for missing entries and for
        players of several columns.
    levels : dict of str to tuple of str
        Names of the categories of a player, in the order of their codes.
    outputs : tuple of str or None
        Names of the outputs or classes if there are several.
    output : str or None
        The class whose probability is explained, with two classes; or the output that `of` took.
    target : str or None
        The name of y.
    standard_errors : float array of the shape of the values, or None
        What the subsets that were not evaluated leave open (the design error), where asked for.
    rows : int array of shape (n_rows,) or None
        Places of the rows in the table that they come from; None means all, in order.
    is_training : bool
        Whether these are the rows that the effects were fitted on, each predicted out of sample.
    negligible : float
        Values that are smaller than this throughout (root mean square) are nothing.
    notes : tuple of str
        What a reader must know.
    library : {"pandas", "polars", "pyarrow"} or None
        Of the frame that was explained.
    version : str
        The version of shaff.

    Examples
    --------
    >>> from shaff.results.local import LocalEffects
    >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
    >>> local
    LocalEffects(1 row, 2 players, base 1)
    >>> local.to_frame("polars").columns
    ['row', 'prediction', 'base', 'a', 'b']
    """

    names: tuple[str, ...]
    values: FloatArray
    base: Any
    predictions: FloatArray
    data: FloatArray
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
    output: str | None = None
    target: str | None = None
    standard_errors: FloatArray | None = None
    rows: Any = None
    is_training: bool = False
    negligible: float = 0.0
    notes: tuple[str, ...] = ()
    library: Backend | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "names": tuple(map(str, self.names)),
            "notes": tuple(map(str, self.notes)),
            "levels": {str(k): tuple(map(str, v)) for k, v in self.levels.items()},
            "outputs": None if self.outputs is None else tuple(map(str, self.outputs)),
            "negligible": float(self.negligible),
        }
        several = () if self.outputs is None else (len(self.outputs),)
        n_rows, p = len(self.predictions), len(self.names)
        shapes = {
            "values": (n_rows, p, *several),
            "predictions": (n_rows, *several),
            "data": (n_rows, p),
            "standard_errors": (n_rows, p, *several),
            "base": several,
        }
        for name, shape in shapes.items():
            checked[name] = frozen(getattr(self, name), shape, name)
        if self.outputs is None:
            checked["base"] = float(checked["base"])
        rows = np.arange(n_rows) if self.rows is None else np.array(self.rows, dtype=np.intp)
        rows.setflags(write=False)
        checked["rows"] = rows
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and copied arrays are writable: freeze them again.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.predictions)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def order(self) -> IntpArray:
        """The players, those of the largest mean absolute value first."""
        size = np.abs(self.values).reshape(self.n_rows, len(self.names), -1).sum(axis=2)
        return np.argsort(-np.nanmean(size, axis=0), kind="stable")

    def of(self, output: str) -> LocalEffects:
        """The values of one class or output alone.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.results.local import LocalEffects
        >>> both = LocalEffects(
        ...     ("a",), np.zeros((3, 1, 2)), [0.1, 0.2], np.zeros((3, 2)), np.zeros((3, 1)),
        ...     outputs=("no", "yes"))
        >>> both.of("yes").base
        0.2
        """
        if self.outputs is None or output not in self.outputs:
            raise InputError(
                f"There is no output {output!r}; there are {listed(self.outputs or ())}."
            )
        k = self.outputs.index(output)
        errors = self.standard_errors
        return replace(
            self,
            values=self.values[:, :, k],
            base=self.base[k],
            predictions=self.predictions[:, k],
            standard_errors=None if errors is None else errors[:, :, k],
            outputs=None,
            output=output,
        )

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> LocalEffects:
        """Some of the rows, by their place."""
        places = np.asarray(rows, dtype=np.intp).ravel()
        if not len(places):
            raise InputError("There are no rows to take.")
        wrong = places[(places < -self.n_rows) | (places >= self.n_rows)]
        if len(wrong):
            raise InputError(f"There is no row {wrong[0]}: there are {self.n_rows}, from 0 on.")
        errors = self.standard_errors
        return replace(
            self,
            values=self.values[places],
            predictions=self.predictions[places],
            data=self.data[places],
            standard_errors=None if errors is None else errors[places],
            rows=self.rows[places],
        )

    def shapes(self) -> tuple[Shape | None, ...]:
        """Which way the outcome goes as each player grows; None for categories and players of
        several columns, which have no order, and where rows are too few.

        Examples
        --------
        >>> import numpy as np
        >>> from shaff.results.local import LocalEffects
        >>> x = np.linspace(-1, 1, 100)
        >>> local = LocalEffects(("a",), x[:, None] ** 2, 0.0, x**2, x[:, None])
        >>> local.shapes()[0].direction
        'U-shaped'
        """
        self._check_one()
        return tuple(
            None
            if name in self.levels
            else Shape.of(self.data[:, k], self.values[:, k], self.negligible)
            for k, name in enumerate(self.names)
        )

    @property
    def directions(self) -> tuple[str | None, ...]:
        """The names of the `shapes`: increasing, decreasing, U-shaped, inverted U, mixed, none."""
        return tuple(None if shape is None else shape.direction for shape in self.shapes())

    def label(self, row: int, player: int) -> str:
        """What a player has in a row, as text."""
        value, name = self.data[row, player], self.names[player]
        if np.isnan(value):
            return ""
        return self.levels[name][int(value)] if name in self.levels else f"{value:.4g}"

    # Into other forms -------------------------------------------------------------------------

    def to_frame(self, backend: Backend | None = None) -> Any:
        """One row a row (and output, if there are several): prediction, base and values.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the frame that was explained, else pandas.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``row``, ``output`` with several outputs, ``prediction``, ``base``, then one a
            player; those of its own get an underscore where a player has the same name.
        """
        return make_frame(self.columns(), backend or self.library or "pandas")

    def columns(self) -> dict[str, Any]:
        """The columns of `to_frame`."""
        if self.outputs is None:
            return self._one_output()
        parts = [self.of(output)._one_output() for output in self.outputs]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        outputs = [output for output in self.outputs for _ in range(self.n_rows)]
        first = next(iter(joined))
        return {first: joined.pop(first), self._own("output"): outputs, **joined}

    def _one_output(self) -> dict[str, Any]:
        return {
            self._own("row"): np.asarray(self.rows, dtype=np.int64),
            self._own("prediction"): self.predictions,
            self._own("base"): np.full(self.n_rows, self.base),
            **{name: self.values[:, k].copy() for k, name in enumerate(self.names)},
        }

    def _own(self, name: str) -> str:
        while name in self.names:
            name += "_"
        return name

    def to_shap(self) -> Any:
        """A `shap.Explanation`, which the plots of shap draw; needs shap (``pip install shap``).

        With several outputs it has three dimensions: choose one, as in ``explanation[..., 0]``.
        """
        try:
            import shap  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("to_shap needs shap: pip install shap") from error
        base = np.broadcast_to(np.asarray(self.base), self.predictions.shape).copy()
        data = self.data.copy()
        data[:, np.isnan(data).all(axis=0)] = 0.0  # of which shap takes quantiles
        return shap.Explanation(
            values=self.values.copy(),
            base_values=base,
            data=data,
            display_data=self._display_data(),
            feature_names=list(self.names),
            output_names=None if self.outputs is None else list(self.outputs),
        )

    def _display_data(self) -> npt.NDArray[Any]:
        out = self.data.astype(object)
        for name, labels in self.levels.items():
            k = self.names.index(name)
            known = np.flatnonzero(~np.isnan(self.data[:, k]))
            out[known, k] = np.asarray(labels, dtype=object)[self.data[known, k].astype(np.intp)]
        return out

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The values as JSON, which `from_json` reads back bit for bit.

        Parameters
        ----------
        path : path or None
            Where to write it too. The file appears whole or not at all.
        """
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        header = {"format": FORMAT, "format_version": FORMAT_VERSION}
        text = json.dumps(encoded({**header, **content}), ensure_ascii=False, allow_nan=False)
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Read what `to_json` wrote: a path, or the text itself.

        Examples
        --------
        >>> from shaff.results.local import LocalEffects
        >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
        >>> LocalEffects.from_json(local.to_json()).values.tolist()
        [[0.5, -0.2]]
        """
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        origin = "the text" if is_text else os.fspath(source)
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
        content = read_content(text, origin, FORMAT, (FORMAT_VERSION,))
        known = {field.name for field in fields(cls)}
        try:
            return cls(**{name: content[name] for name in known & content.keys()})
        except (TypeError, ValueError) as error:
            raise InputError(f"{origin} holds damaged local values: {error}") from error

    # Pictures ---------------------------------------------------------------------------------

    def beeswarm(self, ax: Any = None, max_players: int = 20) -> BeeswarmDisplay:
        """A point for each row and player: its value, coloured by what the player has there.

        Needs matplotlib (``pip install "shaff[plot]"``), as do all pictures.
        """
        from shaff.show.plots import BeeswarmDisplay

        self._check_one()
        return BeeswarmDisplay.from_local(self).plot(ax, max_players)

    def waterfall(self, row: int = 0, ax: Any = None, max_players: int = 12) -> WaterfallDisplay:
        """From the base to the prediction of one row, player by player; ``row`` is its place."""
        from shaff.show.plots import WaterfallDisplay

        self._check_one()
        return WaterfallDisplay.from_local(self.take([row])).plot(ax, max_players)

    def dependence(self, name: str, ax: Any = None) -> LocalDependenceDisplay:
        """The values of one player against what it has in the rows, with the mean curve."""
        from shaff.show.plots import LocalDependenceDisplay

        self._check_one()
        return LocalDependenceDisplay.from_local(self, name).plot(ax)

    def _check_one(self) -> None:
        if self.outputs is not None:
            raise InputError(
                f"There are several outputs, {listed(self.outputs)}: choose one, as in "
                f"local.of({self.outputs[0]!r})."
            )

    def __repr__(self) -> str:
        rows, players = counted(self.n_rows, "row"), counted(len(self.names), "player")
        if self.outputs is not None:
            return f"LocalEffects({rows}, {players}, {len(self.outputs)} outputs)"
        return f"LocalEffects({rows}, {players}, base {self.base:.4g})"

    @property
    def target_name(self) -> str:
        """What is explained: y, or the probability of a class of it."""
        name = "y" if self.target is None else self.target
        return name if self.output is None else f"{name}: {self.output}"

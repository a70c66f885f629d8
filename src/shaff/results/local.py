"""LocalEffects: what each input has added to the prediction of single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shaff._util.arrays import frozen
from shaff._util.frames import Backend, installed_backend, make_frame
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted, listed
from shaff._version import __version__
from shaff.errors import InputError
from shaff.results.base import Result
from shaff.results.direction import Shape

if TYPE_CHECKING:
    from shaff.results.base import Display


@dataclass(frozen=True, eq=False, repr=False)
class LocalEffects(Result):
    """Conditional Shapley values of rows: the parts of each prediction. All arrays are read-only.

    The value of an input in a row is its fair share of how far the prediction for this row is from
    the mean, where unknown inputs are averaged over under the dependence of the data. The values of
    a row and the base value add up to its prediction.

    Parameters
    ----------
    names : tuple of str
        The inputs. Inputs that the screen has merged into "all others" have the value 0, and
        "all others" stands last.
    values : float array of shape (n_rows, n_inputs) or (n_rows, n_inputs, n_outputs)
        The latter with several outputs or more than two classes, as in `shap`.
    base : float, or float array of shape (n_outputs,)
        Base value: the mean of y (for a class, its share of the rows).
    predictions : float array of shape (n_rows,) or (n_rows, n_outputs)
        Predictions of y, or of the probability of a class.
    data : float array of shape (n_rows, n_inputs)
        Values of the inputs in each row: codes of categories, NaN for missing entries and for
        inputs of several columns.
    levels : dict of str to tuple of str
        Names of the categories of an input, in the order of their codes.
    outputs : tuple of str or None
        Names of the outputs or classes if there are several.
    output : str or None
        The class whose probability is explained, with two classes; or the output that `of` took.
    target : str or None
        Name of the outcome y.
    standard_errors : float array of the shape of the values, or None
        Design errors, from subsets that were not evaluated, if requested.
    rows : int array of shape (n_rows,) or None
        Positions of the rows in the table that they come from; None means all, in order.
    is_training : bool
        Whether these are the rows that the effects were fitted on, each predicted while held out.
    negligible : float
        Root mean square below which the values of an input are next to nothing.
    evidence : float array of shape (n_inputs,) or (n_inputs, n_outputs), or None
        Evidence of the held-out rows of the fit on the direction of each input: 0 for none, 1 for
        an effect, 2 for a curve; NaN where it was not computed.
    notes : tuple of str
        What a reader must know.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.
    version : str
        Version of shaff.
    index : pandas.Index or None
        Index of the rows in the pandas frame that they come from, which `to_frame` keeps. It is
        not saved with the rest.

    Examples
    --------
    >>> from shaff.results.local import LocalEffects
    >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
    >>> local
    LocalEffects(1 row, 2 inputs, base 1)
    >>> local.to_frame("polars").columns
    ['row', 'prediction', 'base', 'a', 'b']
    """

    _format: ClassVar[str] = "shaff.LocalEffects"
    # Version 1 did not know what held-out rows tell of the directions.
    _versions: ClassVar[tuple[int, ...]] = (1, 2)

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
    evidence: FloatArray | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = None
    version: str = __version__
    index: Any = None

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        del content["index"]
        return content

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
            "evidence": (p, *several),
        }
        for name, shape in shapes.items():
            checked[name] = frozen(getattr(self, name), shape, name)
        if checked["base"] is None:
            raise InputError("base must be a number, or one for each output.")
        if self.outputs is None:
            checked["base"] = float(checked["base"])
        rows = np.arange(n_rows) if self.rows is None else np.array(self.rows, dtype=np.intp)
        if rows.shape != (n_rows,):
            raise InputError(f"rows must have shape ({n_rows},), got {rows.shape}.")
        rows.setflags(write=False)
        checked["rows"] = rows
        for name, labels in checked["levels"].items():
            self._check_codes(checked, name, len(labels))
        self._set(checked)

    @staticmethod
    def _check_codes(checked: Mapping[str, Any], name: str, n_levels: int) -> None:
        """Refuse codes of categories that have no name."""
        if name not in checked["names"]:
            raise InputError(f"levels names {name!r}, which is no input.")
        codes = checked["data"][:, checked["names"].index(name)]
        known = codes[~np.isnan(codes)]
        if not np.isin(known, np.arange(n_levels)).all():
            raise InputError(f"data holds codes of {name!r} that levels do not name.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.predictions)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def order(self) -> IntpArray:
        """Positions of the inputs, the largest mean absolute value first."""
        size = np.abs(self.values).reshape(self.n_rows, len(self.names), -1).sum(axis=2)
        return np.argsort(-np.nanmean(size, axis=0), kind="stable")

    def of(self, output: str) -> LocalEffects:
        """Return the values of one class or output alone.

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
            evidence=None if self.evidence is None else self.evidence[:, k],
            outputs=None,
            output=output,
        )

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> LocalEffects:
        """Return some of the rows, by their positions."""
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
            index=None if self.index is None else self.index[places],
        )

    def summed(self, groups: Mapping[str, Sequence[str]]) -> LocalEffects:
        """Return the values of groups of inputs, which are sums of those of their members.

        Parameters
        ----------
        groups : dict of lists of str
            Members of each group, such as `EffectsResult.hierarchy`. Inputs in no group stay.

        Examples
        --------
        >>> from shaff.results.local import LocalEffects
        >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
        >>> local.summed({"both": ["a", "b"]}).values.round(3).tolist()
        [[0.3]]
        """
        group_of = {name: label for label, members in groups.items() for name in members}
        unknown = [name for name in group_of if name not in self.names]
        if unknown:
            raise InputError(f"There is no input {unknown[0]!r}; there are {listed(self.names)}.")
        labels = [group_of.get(name, name) for name in self.names]
        names = tuple(dict.fromkeys(labels))
        member = np.array([[label == name for label in labels] for name in names])
        # A group has no entry of its own, unless it is one input.
        data = np.where(member.sum(axis=1) == 1, self.data[:, member.argmax(axis=1)], np.nan)
        return replace(
            self,
            names=names,
            values=np.einsum("gj,rj...->rg...", member.astype(np.float64), self.values),
            data=data,
            levels={name: self.levels[name] for name in names if name in self.levels},
            standard_errors=None,
            evidence=None,
        )

    def shapes(self) -> tuple[Shape | None, ...]:
        """Return how the outcome changes as each input grows; None for categories and inputs of
        several columns, which have no order, and where there are too few rows.

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
        return tuple(map(self.shape_of, range(len(self.names))))

    def shape_of(self, position: int) -> Shape | None:
        """Return the shape of one input, by its position; see `shapes`."""
        self._check_one()
        if self.names[position] in self.levels:
            return None
        known = np.nan if self.evidence is None else self.evidence[position]
        told = None if np.isnan(known) else int(known)
        return Shape.of(self.data[:, position], self.values[:, position], self.negligible, told)

    @property
    def directions(self) -> tuple[str | None, ...]:
        """The names of the `shapes`: increasing, decreasing, U-shaped, inverted U, mixed, unclear,
        none."""
        return tuple(None if shape is None else shape.direction for shape in self.shapes())

    def label(self, row: int, position: int) -> str:
        """Return the value of an input in a row, as text."""
        value, name = self.data[row, position], self.names[position]
        if np.isnan(value):
            return ""
        return self.levels[name][int(value)] if name in self.levels else f"{value:.4g}"

    # Into other forms -------------------------------------------------------------------------

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a data frame with one line per row (and output, if there are several):
        prediction, base value, effects.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``row``, ``output`` with several outputs, ``prediction``, ``base``, then one per
            input; the former get an underscore where an input has the same name. A frame of pandas
            has the index of the given one.
        """
        library = backend or self.library or installed_backend()
        frame = make_frame(self._columns(), library)
        if library == "pandas" and self.index is not None:
            frame.index = self.index[np.resize(np.arange(self.n_rows), len(frame))]
        return frame

    def _columns(self) -> dict[str, Any]:
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
        """Return a `shap.Explanation` for the plots of shap; needs shap (``pip install shap``).

        With several outputs it has three dimensions: choose one, as in ``explanation[..., 0]``.
        """
        try:
            import shap  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("to_shap needs shap: pip install shap") from error
        base = np.broadcast_to(np.asarray(self.base), self.predictions.shape).copy()
        data = self.data.copy()
        data[:, np.isnan(data).all(axis=0)] = 0.0  # shap takes quantiles of them
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

    # Pictures ---------------------------------------------------------------------------------

    def plot(
        self,
        kind: str = "beeswarm",
        *,
        ax: Any = None,
        max_inputs: int | None = None,
        **options: Any,
    ) -> Display:
        """Draw the values; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"beeswarm", "waterfall", "dependence"}, default="beeswarm"
            The picture that the method of this name draws.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int or None, default=None
            Number of inputs drawn, those with the largest values; None means 20, or 12 in a
            waterfall.
        **options
            ``row`` of a waterfall, ``name`` of a dependence plot.

        Returns
        -------
        Display

        Examples
        --------
        >>> from shaff.results.local import LocalEffects
        >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
        >>> local.plot("waterfall", row=0)
        WaterfallDisplay(row 0, 2 inputs)
        """
        self._check_one()
        return self._plot(kind, ax=ax, max_inputs=max_inputs, **options)

    def beeswarm(self, *, ax: Any = None, max_inputs: int = 20) -> Display:
        """Draw a point for each row and input: its value, coloured by the input's own value."""
        return self.plot("beeswarm", ax=ax, max_inputs=max_inputs)

    def waterfall(self, row: int = 0, *, ax: Any = None, max_inputs: int = 12) -> Display:
        """Draw the steps from the base value to the prediction of the row at this position."""
        return self.plot("waterfall", ax=ax, max_inputs=max_inputs, row=row)

    def dependence(self, name: str, *, ax: Any = None) -> Display:
        """Draw the values of one input against the input itself, with the mean curve."""
        return self.plot("dependence", ax=ax, name=name)

    def summary(self, max_rows: int = 10) -> str:
        """Return a table with one line per row: prediction and largest effects.

        Parameters
        ----------
        max_rows : int, default=10
            Number of rows, from the first on.

        Examples
        --------
        >>> from shaff.results.local import LocalEffects
        >>> local = LocalEffects(("a", "b"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
        >>> print(local.summary())
        Effects on the predictions of y
        <BLANKLINE>
        row  predicted       a       b
        0        1.300  +0.500  -0.200
        Predicted = 1.000 (the mean) + what each input adds.
        """
        return self._summary(max_rows)

    def _check_one(self) -> None:
        if self.outputs is not None:
            raise InputError(
                f"There are several outputs, {listed(self.outputs)}: choose one, as in "
                f"local.of({self.outputs[0]!r})."
            )

    def __repr__(self) -> str:
        rows, inputs = counted(self.n_rows, "row"), counted(len(self.names), "input")
        if self.outputs is not None:
            return f"LocalEffects({rows}, {inputs}, {len(self.outputs)} outputs)"
        return f"LocalEffects({rows}, {inputs}, base {self.base:.4g})"

    @property
    def target_name(self) -> str:
        """The name of what is explained: y, or one class or output of it."""
        name = "y" if self.target is None else self.target
        return name if self.output is None else f"{name}: {self.output}"

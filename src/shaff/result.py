"""EffectsResult: effects with their errors and origin, as a table, a plot or a file."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from shaff._files import replacing
from shaff._typing import FloatArray
from shaff._version import __version__
from shaff._words import counted
from shaff.errors import InputError
from shaff.inference import adjust_p_values

if TYPE_CHECKING:
    from shaff.plots import EffectsDisplay

FORMAT = "shaff.EffectsResult"
FORMAT_VERSION = 2
# Version 1 had neither plain values nor errors per output.
READ_VERSIONS = (1, 2)
ERROR_SOURCES = ("data", "design", "ensemble", "algorithm")
Backend = Literal["pandas", "polars", "pyarrow"]
IntervalMethod = Literal["normal", "nonnegative", "simultaneous"]
INTERVAL_METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)


class ConfidenceInterval(NamedTuple):
    """Bounds of one interval per player.

    Parameters
    ----------
    low, high : float arrays of shape (n_players,)

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.result import ConfidenceInterval
    >>> low, high = ConfidenceInterval(np.array([0.1]), np.array([0.3]))
    """

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class EffectsResult:
    """Shapley effects, how sure they are, and how they were made. Its arrays are read-only.

    Parameters
    ----------
    names : tuple of str
        The players, in the order of every array below.
    effects : float array of shape (n_players,)
        The reported effects: non-negative, summing to `explained_variance` if that is positive.
    raw_effects : float array of shape (n_players,)
        The effects before the sign constraint; errors and intervals are theirs.
    explained_variance : float
        v(all): the share of the variance of y that all players explain out of sample.
    first_order, total : float arrays of shape (n_players,) or None
        First-order Sobol indices v({j}) and total Sobol indices v(all) - v(all without j); NaN
        for players that were never priced.
    standard_errors : dict of float arrays of shape (n_players,) or None
        Standard errors of `raw_effects` by source: "data" (other rows would have given other
        effects), "design" (not all subsets were priced), "ensemble" (finitely many trees),
        "algorithm" (the luck of splits and seeds).
    covariance : float array of shape (n_players, n_players) or None
        Total covariance of `raw_effects`.
    p_values : float array of shape (n_players,) or None
        Of "the effect is 0", not adjusted for their number; see `null_test`.
    explained_variance_error : float or None
        Standard error of `explained_variance`.
    n_rows : int
        Rows that v was measured on.
    n_subsets : int
        Evaluations of v.
    estimator, design, solver : str
        The three steps, by name.
    random_state : int or None
        The seed, where it was an integer.
    notes : tuple of str
        What a reader must know, in plain sentences.
    target : str or None
        The name of y.
    per_output : dict of float arrays of shape (n_players,) or None
        Effects on each class or output alone, from the same evaluations, when there are several.
        They sum to the explained variance of that output; `effects` are their means, weighted by
        the variances of the outputs (but for the sign constraint).
    per_output_errors : dict of float arrays of shape (n_players,) or None
        Their standard errors.
    plain_effects : float array of shape (n_players,) or None
        The raw effects by the values without correction, what a learner predicts of rows that it
        has not seen; None where no value was corrected. Intervals span both, tests are about
        these.
    plain_explained_variance : float or None
        `explained_variance` without correction.
    version : str
        The version of shaff that computed the effects.

    Examples
    --------
    >>> from shaff.result import EffectsResult
    >>> result = EffectsResult(
    ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
    ...     explained_variance=0.4, n_rows=442, n_subsets=4,
    ...     estimator="forest", design="exhaustive", solver="least_squares")
    >>> result
    EffectsResult(2 players, explained variance 0.400, largest effect 'bmi' 0.300)
    """

    names: tuple[str, ...]
    effects: FloatArray
    raw_effects: FloatArray
    explained_variance: float
    n_rows: int
    n_subsets: int
    estimator: str
    design: str
    solver: str
    first_order: FloatArray | None = None
    total: FloatArray | None = None
    standard_errors: dict[str, FloatArray] | None = None
    covariance: FloatArray | None = None
    p_values: FloatArray | None = None
    explained_variance_error: float | None = None
    random_state: int | None = None
    notes: tuple[str, ...] = ()
    target: str | None = None
    per_output: dict[str, FloatArray] | None = None
    per_output_errors: dict[str, FloatArray] | None = None
    plain_effects: FloatArray | None = None
    plain_explained_variance: float | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        p = len(self.names)
        checked: dict[str, Any] = {
            "names": tuple(str(name) for name in self.names),
            "notes": tuple(str(note) for note in self.notes),
            "explained_variance": float(self.explained_variance),
            "n_rows": int(self.n_rows),
            "n_subsets": int(self.n_subsets),
        }
        for field, kind in (
            ("explained_variance_error", float),
            ("plain_explained_variance", float),
            ("random_state", int),
        ):
            value = getattr(self, field)
            checked[field] = None if value is None else kind(value)
        for field in (
            "effects",
            "raw_effects",
            "plain_effects",
            "first_order",
            "total",
            "p_values",
        ):
            checked[field] = _frozen(getattr(self, field), (p,), field)
        checked["covariance"] = _frozen(self.covariance, (p, p), "covariance")
        checked["standard_errors"] = _frozen_errors(self.standard_errors, p)
        for field in ("per_output", "per_output_errors"):
            arrays = getattr(self, field)
            checked[field] = None if arrays is None else _frozen_arrays(arrays, p)
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled and copied arrays are writable: freeze them again.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def standard_error(self) -> FloatArray | None:
        """Total standard error of each raw effect, shape (n_players,), or None."""
        if self.covariance is not None:
            return np.sqrt(np.diag(self.covariance))
        if self.standard_errors:
            return np.sqrt(sum(np.square(error) for error in self.standard_errors.values()))
        return None

    def confidence_interval(
        self, level: float = 0.95, method: IntervalMethod = "normal"
    ) -> ConfidenceInterval:
        """Intervals of the raw effects, from their standard errors of all sources.

        They reach from the smaller of plain and corrected effects (see `plain_effects`) less a
        quantile of standard errors to the larger of the two, or 0, plus as much: so that they
        cover the true effect where the learners come close to what can be explained. Bias that no
        correction knows is not in them.

        Parameters
        ----------
        level : float, default=0.95
            Between 0 and 1.
        method : {"normal", "nonnegative", "simultaneous"}, default="normal"
            "normal": with a normal quantile; the lower bound may be negative, as raw effects may.
            "nonnegative": the same without what lies below 0, where
            no true effect is; it covers a true effect whenever the normal interval does.
            "simultaneous": wide enough (by Sidak's inequality, which holds for any correlation) to
            cover the effects of all players at once with probability `level`.

        Returns
        -------
        ConfidenceInterval
            ``low`` and ``high``, each of shape (n_players,).

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.1], raw_effects=[0.4, 0.1],
        ...     explained_variance=0.5, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", standard_errors={"data": [0.1, 0.1]})
        >>> result.confidence_interval().low.round(3).tolist()
        [0.204, -0.096]
        >>> result.confidence_interval(method="nonnegative").low.round(3).tolist()
        [0.204, 0.0]
        >>> result.confidence_interval(method="simultaneous").low.round(3).tolist()
        [0.176, -0.124]
        """
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.")
        if method not in INTERVAL_METHODS:
            raise InputError(f"method={method!r} is unknown: use one of {INTERVAL_METHODS}.")
        error = self.standard_error
        if error is None:
            raise InputError("This result has no standard errors, so it has no intervals.")
        each = level ** (1 / len(error)) if method == "simultaneous" else level
        half = float(ndtri((1 + each) / 2)) * error
        lowest, highest = self._span
        low, high = lowest - half, highest + half
        if method == "nonnegative":
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return ConfidenceInterval(low, high)

    @property
    def _span(self) -> tuple[FloatArray, FloatArray]:
        """The raw effects with and without correction, the lower and the higher; no effect is
        below 0, so the higher is not."""
        plain = self.raw_effects if self.plain_effects is None else self.plain_effects
        highest = np.maximum(self.raw_effects, plain)
        return np.minimum(self.raw_effects, plain), np.maximum(highest, 0.0)

    def upper_bound(self, level: float = 0.95) -> FloatArray:
        """At most this much: one-sided bounds of the effects, shape (n_players,).

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.0], raw_effects=[0.4, -0.1],
        ...     explained_variance=0.4, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", standard_errors={"data": [0.1, 0.1]})
        >>> result.upper_bound().round(3).tolist()
        [0.564, 0.164]
        """
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, got {level!r}.")
        if self.standard_error is None:
            raise InputError("This result has no standard errors, so it has no bounds.")
        return np.asarray(self._span[1] + float(ndtri(level)) * self.standard_error)

    def null_test(self, adjust: Literal["holm"] | None = "holm") -> FloatArray:
        """p-values of the hypothesis that a player has effect 0: that it tells nothing about y,
        neither by itself nor together with others.

        A small one says that the player helps to predict rows which the model has not seen. A
        large one says little: weak effects are often missed. Players that were screened out have
        p-value 1.

        Parameters
        ----------
        adjust : {"holm", None}, default="holm"
            "holm" adjusts for the number of players: calling all effects with a p-value under
            0.05 real, the chance that any of them is not is at most 5 %. None: each by itself.

        Returns
        -------
        float array of shape (n_players,)

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("a", "b"), effects=[0.4, 0.1], raw_effects=[0.4, 0.1],
        ...     explained_variance=0.5, n_rows=99, n_subsets=2, estimator="forest",
        ...     design="exhaustive", solver="least_squares", p_values=[0.01, 0.2])
        >>> result.null_test().tolist(), result.null_test(adjust=None).tolist()
        ([0.02, 0.2], [0.01, 0.2])
        """
        if adjust not in ("holm", None):
            raise InputError(f'adjust={adjust!r} is unknown: use "holm" or None.')
        if self.p_values is None:
            raise InputError("This result has no p-values.")
        return self.p_values.copy() if adjust is None else adjust_p_values(self.p_values)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Player indices from the largest effect to the smallest; ties keep their order."""
        return np.argsort(-self.effects, kind="stable")

    @property
    def shares(self) -> FloatArray:
        """Each effect as a share of the explained variance, shape (n_players,).

        NaN where nothing is explained.
        """
        if self.explained_variance > 0:
            return self.effects / self.explained_variance
        return np.full(len(self.names), np.nan)

    def columns(self) -> dict[str, FloatArray]:
        """The arrays with one number a player that this result has, by name."""
        candidates = {
            "effect": self.effects,
            "raw_effect": self.raw_effects,
            "standard_error": self.standard_error,
            "p_value": self.p_values,
            "p_adjusted": None if self.p_values is None else self.null_test(),
            "first_order": self.first_order,
            "total": self.total,
        }
        return {name: array for name, array in candidates.items() if array is not None}

    def summary(self, max_players: int = 50) -> str:
        """The effects as a text table, largest first, and what they rest on.

        Parameters
        ----------
        max_players : int, default=50
            Rows of the table; the players left over share one line.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4, target="progression",
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> print(result.summary())  # doctest: +ELLIPSIS
        Shapley effects on progression
        <BLANKLINE>
        player  effect  share
        bmi      0.300   75 %  ####################
        age      0.100   25 %  #######
        <BLANKLINE>
        The players explain 0.400 of the variance of progression out of sample; 0.600 remains.
        442 rows, 4 subsets; forest, exhaustive, least_squares; shaff ...
        """
        shown = self.order[:max_players]
        header, rows = summary_table(self, shown)
        lines = [f"Shapley effects on {self._target}", "", *_aligned([header, *rows])]
        if len(shown) < len(self.names):
            rest = self.effects[self.order[max_players:]]
            lines.append(f"... and {len(rest)} more with {_number(rest.sum())} together")
        return "\n".join([*lines, "", *self.footer()])

    def footer(self) -> list[str]:
        """Plain sentences: what is explained, how it was computed, and the notes."""
        seed = "" if self.random_state is None else f", seed {self.random_state}"
        return [
            self._explained(),
            f"{counted(self.n_rows, 'row')}, {counted(self.n_subsets, 'subset')}{seed}; "
            f"{self.estimator}, {self.design}, {self.solver}; shaff {self.version}",
            *(f"Note: {note}" for note in self.notes),
        ]

    def _explained(self) -> str:
        v, error, plain = (
            self.explained_variance,
            self.explained_variance_error,
            self.plain_explained_variance,
        )
        spread = "" if error is None else f"standard error {error:.3f}"
        whose = f"of the variance of {self._target}" + " out of sample" * (plain is None)
        measured = "" if plain is None else f" Measured out of sample, uncorrected: {plain:.3f}."
        if v <= 0:
            figures = ", ".join(filter(None, (f"estimate {_number(v)}", spread)))
            zero = "" if self.effects.any() else ": all effects are 0"
            return f"The players explain nothing {whose} ({figures}){zero}."
        spread = spread and f" ({spread})"
        return f"The players explain {v:.3f}{spread} {whose}; {_number(1 - v)} remains.{measured}"

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """One row a player, in their original order.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"

        Returns
        -------
        data frame or table of the chosen library
            Columns ``player``, ``effect``, ``raw_effect``, then, where the result has them,
            ``standard_error``, ``p_value`` and ``p_adjusted`` (of `null_test`, without and with
            Holm's adjustment), ``first_order`` and ``total``.

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> result.to_frame("polars").columns
        ['player', 'effect', 'raw_effect']
        """
        import narwhals as nw

        if backend not in ("pandas", "polars", "pyarrow"):
            raise InputError(f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}.")
        try:
            import_module(backend)
        except ImportError as error:
            message = f"to_frame({backend!r}) needs {backend}: pip install {backend}"
            raise ImportError(message) from error
        # Copies: polars and pyarrow may keep the buffer they are given, and ours is read-only.
        data = {name: array.copy() for name, array in self.columns().items()}
        frame = nw.from_dict({"player": list(self.names), **data}, backend=backend)
        return frame.to_native()

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as JSON, which `load_result` reads back bit for bit.

        Parameters
        ----------
        path : path or None
            Where to write it too. The file appears whole or not at all.

        Returns
        -------
        str

        Examples
        --------
        >>> from shaff.result import EffectsResult, load_result
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> load_result(result.to_json()).effects.tolist()
        [0.1, 0.3]
        """
        content = {field.name: _encoded(getattr(self, field.name)) for field in fields(self)}
        header = {"format": FORMAT, "format_version": FORMAT_VERSION}
        text = json.dumps({**header, **content}, indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text + "\n", encoding="utf-8")
        return text

    def plot(self, ax: Any = None, max_players: int = 20) -> EffectsDisplay:
        """Bar chart of the effects; needs matplotlib (``pip install "shaff[plot]"``).

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_players : int, default=20
            Bars; the players left over share one more.

        Returns
        -------
        EffectsDisplay
            With the axes and figure as ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from shaff.result import EffectsResult
        >>> result = EffectsResult(
        ...     names=("age", "bmi"), effects=[0.1, 0.3], raw_effects=[0.1, 0.3],
        ...     explained_variance=0.4, n_rows=442, n_subsets=4,
        ...     estimator="forest", design="exhaustive", solver="least_squares")
        >>> display = result.plot()
        >>> display.figure_.savefig("effects.png")  # doctest: +SKIP
        """
        from shaff.plots import EffectsDisplay

        return EffectsDisplay.from_result(self).plot(ax=ax, max_players=max_players)

    def __repr__(self) -> str:
        players = counted(len(self.names), "player")
        text = f"{players}, explained variance {_number(self.explained_variance)}"
        if self.names:
            top = self.order[0]
            text += f", largest effect {self.names[top]!r} {_number(self.effects[top])}"
        return f"EffectsResult({text})"

    def _repr_html_(self) -> str:
        header, rows = summary_table(self, self.order[:20])
        cells = "".join(_html_row(row[:-1], "td") for row in rows)
        left = len(self.names) - len(rows)
        more = f"<p>... and {left} more</p>" if left else ""
        foot = "<br>".join(html.escape(line) for line in self.footer())
        table = f"<table>{_html_row(header[:-1], 'th')}{cells}</table>"
        return f"<div>{table}{more}<p><small>{foot}</small></p></div>"

    @property
    def _target(self) -> str:
        return "y" if self.target is None else self.target


def summary_table(
    result: EffectsResult, players: npt.NDArray[np.intp], bar_width: int = 20
) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the table of a result; the last column holds bars.

    Examples
    --------
    >>> from shaff.result import EffectsResult, summary_table
    >>> result = EffectsResult(
    ...     names=("age",), effects=[0.1], raw_effects=[0.1], explained_variance=0.1, n_rows=442,
    ...     n_subsets=1, estimator="forest", design="exhaustive", solver="least_squares")
    >>> summary_table(result, result.order)
    (['player', 'effect', 'share', ''], [['age', '0.100', '100 %', '####################']])
    """
    optional = {
        "error": result.standard_error,
        "first-order": result.first_order,
        "total": result.total,
    }
    present = {
        name: [_number(number) for number in array]
        for name, array in optional.items()
        if array is not None
    }
    if result.p_values is not None:
        present["p (Holm)"] = [_p_value(p) for p in result.null_test()]
    scale = max(float(result.effects.max(initial=0.0)), np.finfo(float).tiny)
    rows = []
    for j in players:
        numbers = [column[j] for column in present.values()]
        share = f"{100 * result.shares[j]:z.0f} %" if result.explained_variance > 0 else ""
        bar = "#" * round(bar_width * max(float(result.effects[j]), 0.0) / scale)
        rows.append([result.names[j], _number(result.effects[j]), *numbers, share, bar])
    return ["player", "effect", *present, "share", ""], rows


def _number(number: float) -> str:
    """Three digits, no negative zero, and a dash for what was not computed."""
    return "–" if np.isnan(number) else f"{number:z.3f}"


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else _number(p)


def load_result(source: str | os.PathLike[str]) -> EffectsResult:
    """Read what `EffectsResult.to_json` wrote.

    Parameters
    ----------
    source : path, or the JSON text itself

    Returns
    -------
    EffectsResult

    Examples
    --------
    >>> from shaff import load_result
    >>> load_result("{}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    shaff.errors.InputError: the text is not a result of shaff: ...
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    origin = "the text" if is_text else os.fspath(source)
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8", errors="replace")
    content = _checked_content(text, origin)
    known = {field.name for field in fields(EffectsResult)}
    arguments = {name: content[name] for name in known & content.keys()}
    try:
        return EffectsResult(**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"{origin} is a damaged result of shaff: {error}") from error


def _checked_content(text: str, origin: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{origin} is not a result of shaff, or was cut short: {error}."
        raise InputError(message) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f'{origin} is not a result of shaff: it has no format "{FORMAT}".')
    if content.get("format_version") not in READ_VERSIONS:
        raise InputError(
            f"{origin} has format version {content.get('format_version')!r}; "
            f"shaff {__version__} reads versions {READ_VERSIONS}."
        )
    return content


def _encoded(value: Any) -> Any:
    """JSON values; numbers that JSON lacks become strings that float() reads back.

    In arrays NaN is null: no number was computed.
    """
    if isinstance(value, Mapping):
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _encoded(value.tolist())
    if isinstance(value, list | tuple):
        return [None if item != item else _encoded(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _frozen(array: npt.ArrayLike | None, shape: tuple[int, ...], name: str) -> FloatArray | None:
    if array is None:
        return None
    copy = np.array(array, dtype=np.float64)
    if copy.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {copy.shape}.")
    copy.setflags(write=False)
    return copy


def _frozen_errors(
    errors: Mapping[str, npt.ArrayLike] | None, p: int
) -> dict[str, FloatArray] | None:
    if errors is None:
        return None
    unknown = set(errors) - set(ERROR_SOURCES)
    if unknown:
        raise InputError(f"standard_errors has unknown sources {sorted(unknown)}.")
    return _frozen_arrays(errors, p)


def _frozen_arrays(arrays: Mapping[str, npt.ArrayLike], p: int) -> dict[str, FloatArray]:
    frozen = {str(name): _frozen(array, (p,), str(name)) for name, array in arrays.items()}
    return {name: array for name, array in frozen.items() if array is not None}


def _aligned(rows: list[list[str]]) -> list[str]:
    """First and last column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *middle, last in rows:
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return lines


def _html_row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

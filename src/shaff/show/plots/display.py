"""What all displays have in common."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from shaff._util.files import replacing
from shaff._util.frames import Backend, make_frame
from shaff.errors import InputError

INK, GRID = "#333333", "#e6e6e6"
# Paul Tol's bright colours, which stay apart for colour-blind eyes.
BLUE, PALE, GREY = "#4477aa", "#aac4de", "#b8c4d0"
YELLOW, PURPLE = "#ccbb44", "#aa3377"
RED = "#ee6677"
BRIGHT = (BLUE, RED, "#228833", YELLOW, "#66ccee", PURPLE, "#777777")
MARKERS = "osD^vPX"
# Fixed, so that the same result gives the same file.
_METADATA: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def matplotlib_module(name: str) -> Any:
    """A module of matplotlib, which is an extra."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        message = 'Plots need matplotlib: pip install "shaff[plot]"'
        raise ImportError(message) from error


class Display:
    """Data that draws itself.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Set by `plot`.
    """

    ax_: Any = None
    figure_: Any = None
    _style: Mapping[str, Any] = {}
    _is_own = False
    # How it was drawn last: what is saved is what was seen.
    _drawn: Mapping[str, Any] = {}
    # What `max_inputs` of a result's ``plot`` is by default.
    _default_inputs = 20

    def plot(self, ax: Any = None, max_inputs: int = 20) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Number of inputs drawn, the largest first.

        Returns
        -------
        self
        """
        return self._plot(ax, max_inputs)

    def _plot(self, ax: Any, max_inputs: int, **options: Any) -> Self:
        if max_inputs < 1:
            raise InputError(f"max_inputs must be at least 1, got {max_inputs!r}.")
        pyplot = matplotlib_module("pyplot")
        self._is_own = ax is None
        with pyplot.rc_context(dict(self._style)):
            if ax is None:
                ax = self._new_axes(pyplot.figure, max_inputs, **options)
            self._draw(ax, max_inputs, **options)
        self.ax_, self.figure_ = ax, ax.figure
        self._drawn = {"max_inputs": max_inputs, **options}
        return self

    def _new_axes(self, new_figure: Callable[..., Any], max_inputs: int, **options: Any) -> Any:
        """The first of as many axes as the picture needs, with a little air around them."""
        size = self._size(max_inputs, **options)
        figure = new_figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        return figure.subplots(1, len(self._widths(**options)), squeeze=False,
                               width_ratios=self._widths(**options))[0, 0]  # fmt: skip

    def _widths(self) -> tuple[float, ...]:
        """Widths of the panels, in proportion."""
        return (1.0,)

    def _size(self, max_inputs: int) -> tuple[float, float]:
        """Width and height in inches."""
        raise NotImplementedError

    def _draw(self, ax: Any, max_inputs: int) -> None:
        raise NotImplementedError

    def _columns(self) -> dict[str, Any]:
        """What is drawn, column by column."""
        raise NotImplementedError

    def frame(self, backend: Backend = "pandas") -> Any:
        """The data of the picture as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        """
        return make_frame(self._columns(), backend)

    def save(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Draw into an image file, which appears whole or not at all; no window, no display.

        Parameters
        ----------
        path : path
            Its ending says which kind of file: .png, .svg, .pdf.
        **options
            Options of `plot`, such as ``max_inputs``; those that are not given are as drawn last.
        """
        chosen = {"max_inputs": self._default_inputs, **self._drawn, **options}
        max_inputs = chosen.pop("max_inputs")
        rc_context = matplotlib_module("pyplot").rc_context
        # A bare figure: pyplot's would stay open and might need a screen.
        with rc_context(dict(self._style)):
            ax = self._new_axes(matplotlib_module("figure").Figure, max_inputs, **chosen)
        self._plot(ax, max_inputs, **chosen)
        suffix = os.path.splitext(path)[1].lower()
        with rc_context({"svg.hashsalt": "shaff"}), replacing(path) as temporary:
            self.figure_.savefig(temporary, dpi=150, metadata=_METADATA.get(suffix))

    def set_style(self, *, policy: Literal["override", "update"] = "update", **rc: Any) -> None:
        """Settings of matplotlib that hold while this display draws.

        Parameters
        ----------
        policy : {"override", "update"}, default="update"
            "override" forgets what was set before.
        **rc
            Names of matplotlib's ``rcParams`` with "__" in the place of dots, such as
            ``font__size=12``.
        """
        if policy not in ("override", "update"):
            raise InputError(f'policy={policy!r} is unknown: use "override" or "update".')
        known = matplotlib_module("pyplot").rcParams
        given = {name.replace("__", "."): value for name, value in rc.items()}
        for name in given:
            if name not in known:
                raise InputError(f"{name!r} is no setting of matplotlib.")
        self._style = given if policy == "override" else {**self._style, **given}

    def help(self) -> None:
        """Print what this display can do."""
        print(f"{self!r}\n  " + "\n  ".join((
            ".plot(ax=None, max_inputs=20)   draw it; then .figure_ and .ax_",
            ".frame()                        its data as a data frame",
            ".save(path)                     into .png, .svg or .pdf",
            ".set_style(font__size=12)       settings of matplotlib for this display",
        )))  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_png_(self) -> bytes | None:
        """The picture at the end of a notebook's cell, once: its figure is closed, so that the
        notebook does not show it again. Axes that were given belong to someone else."""
        if self.figure_ is None:
            self.plot()
        if not self._is_own:
            return None
        picture = io.BytesIO()
        self.figure_.savefig(picture, format="png", dpi=120)
        matplotlib_module("pyplot").close(self.figure_)
        return picture.getvalue()


def low_to_high() -> Any:
    """Colours from low to high, which stay apart in grey too."""
    colors = matplotlib_module("colors")
    return colors.LinearSegmentedColormap.from_list("shaff", ["#88bbe6", "#5555aa", "#cc3344"])


def rows_size(n_rows: int, width: float = 7.0) -> tuple[float, float]:
    """Return the size of a picture with one line per input."""
    return width, 1.4 + 0.32 * n_rows


def dress(ax: Any) -> None:
    """Quiet axes: no frame, pale grid lines, white ground."""
    ax.tick_params(length=0, labelsize=9, colors=INK)
    ax.set_axisbelow(True)
    ax.set_facecolor("white")
    ax.figure.set_facecolor("white")
    ax.spines[:].set_visible(False)


def no_formulas(texts: Iterable[Any]) -> None:
    """Write texts as they are: a "$" in a column name is no formula."""
    for text in texts:
        text.set_parse_math(False)


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Write one name per row, the first on top."""
    dress(ax)
    ax.set_yticks(range(len(names)), names)
    no_formulas(ax.get_yticklabels())
    ax.set_ylim(len(names) - 0.4, -0.6)


def color_bar(ax: Any, mappable: Any, words: Sequence[str], **options: Any) -> Any:
    """What the colours mean, in words at the ticks of a bar beside the axes."""
    bar = ax.figure.colorbar(mappable, ax=ax, **options)
    bar.ax.set_yticklabels(words, fontsize=9, color=INK)
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    return bar


def dress_rows(ax: Any, names: tuple[str, ...] | list[str]) -> None:
    """Write one name per row, the first on top, and draw lines of the scale and at 0."""
    name_rows(ax, names)
    ax.grid(axis="x", color=GRID, linewidth=0.8, zorder=0)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=3)


def set_title(ax: Any, text: str, pad: float = 8) -> None:
    """On the left, where reading starts."""
    ax.set_title(text, loc="left", fontsize=11, color=INK, parse_math=False, pad=pad)


def key_above(ax: Any, handles: list[Any], columns: int = 3) -> None:
    """The key above the axes: inside, some result would have a bar there."""
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False,
        fontsize=9, labelcolor=INK, borderaxespad=0.2, borderpad=0, handletextpad=0.2,
        columnspacing=1.2,
    )  # fmt: skip

"""Selection: which inputs a selector keeps, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from shaff._util.arrays import frozen
from shaff._util.frames import Backend, installed_backend, make_frame
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff._version import __version__
from shaff.errors import InputError
from shaff.results.base import Result

if TYPE_CHECKING:
    from shaff.results.base import Display

Aim = Literal["all_relevant", "minimal_set"]


class PathStep(NamedTuple):
    """The best set of one size that was found.

    Parameters
    ----------
    size : int
        Number of inputs.
    inputs : tuple of str
    explained_variance : float
        What they explain on held-out rows, by learners that were fitted on all inputs.
    standard_error : float
        Standard error of the difference to all inputs, by rows in common.
    refitted : float or None
        What learners explain that were fitted on these inputs alone; None if none were.
    refitted_error : float or None
        Standard error of the difference of that to all inputs.
    """

    size: int
    inputs: tuple[str, ...]
    explained_variance: float
    standard_error: float
    refitted: float | None = None
    refitted_error: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Result):
    """Inputs that a selector keeps. See `AllRelevantSelector` and `MinimalSetSelector`.

    Parameters
    ----------
    names : tuple of str
        The inputs (columns or groups of columns).
    kept : bool array of shape (n_inputs,)
        Which of them are kept.
    effects : float array of shape (n_inputs,)
        Their Shapley effects.
    aim : {"all_relevant", "minimal_set"}
        What was asked for: all inputs that matter, or the fewest that predict as well as all.
    rule : str
        What decided, such as "Holm, 0.05" or "1se".
    sentence : str
        The finding in one sentence.
    explained_variance : float
        What all inputs explain on held-out rows, without correction.
    p_adjusted : float array of shape (n_inputs,) or None
        p-values of "the effect is 0", adjusted by the rule; of all relevant inputs only.
    path : tuple of PathStep
        The best set of each size that was found; of the minimal set only.
    stand_ins : dict of str to tuples of str
        For inputs that are kept, those that could take their place: copies of them, and inputs that
        carry the same information and lose no more than the rule allows.
    target : str or None
        Name of the outcome.
    notes : tuple of str
        What a reader must know; those of the effects, too.
    library : {"pandas", "polars", "pyarrow"} or None
        Library of the given data frame.
    version : str
        Version of shaff that selected.

    Examples
    --------
    >>> from shaff.results.selection import Selection
    >>> said = "1 of 2 inputs has an effect on y significantly above 0."
    >>> Selection(("age", "bmi"), [1, 0], [0.3, 0.0], "all_relevant", "Holm, 0.05", said, 0.3)
    Selection(1 of 2 inputs, all relevant)
    """

    _format: ClassVar[str] = "shaff.Selection"

    names: tuple[str, ...]
    kept: BoolArray
    effects: FloatArray
    aim: Aim
    rule: str
    sentence: str
    explained_variance: float
    p_adjusted: FloatArray | None = None
    path: tuple[PathStep, ...] = ()
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target: str | None = None
    notes: tuple[str, ...] = ()
    library: Backend | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        p = len(self.names)
        kept = np.array(self.kept, dtype=bool)
        if kept.shape != (p,):
            raise InputError(f"kept must have shape ({p},), got {kept.shape}.")
        kept.setflags(write=False)
        self._set({
            "names": tuple(map(str, self.names)),
            "kept": kept,
            "effects": frozen(self.effects, (p,), "effects"),
            "p_adjusted": frozen(self.p_adjusted, (p,), "p_adjusted"),
            "path": tuple(_step(step) for step in self.path),
            "stand_ins": {str(k): tuple(map(str, v)) for k, v in self.stand_ins.items()},
            "notes": tuple(map(str, self.notes)),
        })  # fmt: skip

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        content["kept"] = [bool(kept) for kept in self.kept]
        content["path"] = [step._asdict() for step in self.path]
        return content

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that are kept."""
        return tuple(self.names[k] for k in np.flatnonzero(self.kept))

    @property
    def order(self) -> IntpArray:
        """Positions of the inputs: those that are kept first, then by their effects."""
        return np.lexsort((-self.effects, ~self.kept))

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a data frame with one line per input, those that are kept first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or None
            None means the library of the given data frame, else the first of the three that is
            installed.

        Returns
        -------
        data frame or table of the chosen library
            Columns ``input``, ``kept``, ``effect``, ``p_adjusted`` where there are tests, and
            ``stands_in_for``: the kept input whose place it could take.
        """
        order = self.order
        place_of = {name: kept for kept, names in self.stand_ins.items() for name in names}
        columns: dict[str, Any] = {
            "input": [self.names[j] for j in order],
            "kept": self.kept[order],
            "effect": self.effects[order],
        }
        if self.p_adjusted is not None:
            columns["p_adjusted"] = self.p_adjusted[order]
        columns["stands_in_for"] = [place_of.get(self.names[j]) for j in order]
        return make_frame(columns, backend or self.library or installed_backend())

    def summary(self, max_inputs: int = 20) -> str:
        """Return the sentence, the inputs that are kept, and what could take their place, as text.

        Parameters
        ----------
        max_inputs : int, default=20
            Number of lines of the table.
        """
        return self._summary(max_inputs)

    def plot(self, kind: str = "path", *, ax: Any = None, max_inputs: int = 20) -> Display:
        """Draw what the best set of each size explains; needs matplotlib
        (``pip install "shaff[plot]"``).

        Parameters
        ----------
        kind : {"path"}, default="path"
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        max_inputs : int, default=20
            Largest size drawn, or a few more if more inputs are kept.

        Returns
        -------
        PathDisplay
        """
        return self._plot(kind, ax=ax, max_inputs=max_inputs)

    def __repr__(self) -> str:
        aim = self.aim.replace("_", " ")
        return f"Selection({int(self.kept.sum())} of {len(self.names)} inputs, {aim})"


def _step(step: Any) -> PathStep:
    made = PathStep(**step) if isinstance(step, Mapping) else PathStep(*step)
    return made._replace(inputs=tuple(map(str, made.inputs)))

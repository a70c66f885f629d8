"""The command ``shaff select``: which selector is asked for, and the table that it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaff._util.files import replacing
from shaff.errors import InputError

if TYPE_CHECKING:
    from shaff import Selection, ShapleyEffects
    from shaff.cli.reading import TableInputs


@dataclass(frozen=True)
class Question:
    """Which selector to fit.

    Parameters
    ----------
    minimal : bool
        Whether the fewest inputs are asked for, not all that matter.
    settings : dict
        Parameters of the selector.
    """

    minimal: bool
    settings: dict[str, Any] = field(default_factory=dict)

    def select(self, effects: ShapleyEffects, inputs: TableInputs) -> Selection:
        """Fit the selector."""
        from shaff import AllRelevantSelector, MinimalSetSelector
        from shaff.fitting.notes.reading import sentence

        selector: Any = MinimalSetSelector if self.minimal else AllRelevantSelector
        made = selector(effects, **self.settings).fit(inputs.X, inputs.y, **inputs.rows)
        found: Selection = made.selection_
        return replace(found, notes=(*found.notes, *map(sentence, inputs.remarks)))


def read_question(
    all_relevant: bool,
    minimal: bool,
    alpha: float | None,
    adjust: str | None,
    tolerance: str | None,
    plot: Path | None,
) -> Question:
    """Return what the options ask for; None stands for those that were not given.

    Examples
    --------
    >>> from shaff.cli.selecting import read_question
    >>> read_question(False, True, None, None, "0.01", None)
    Question(minimal=True, settings={'tolerance': 0.01})
    """
    if all_relevant and minimal:
        raise InputError("--all-relevant and --minimal are two questions: ask one at a time.")
    if minimal and (alpha is not None or adjust is not None):
        raise InputError(
            "--alpha and --adjust belong to --all-relevant; --minimal has --tolerance."
        )
    if not minimal and tolerance is not None:
        raise InputError("--tolerance belongs to --minimal.")
    if not minimal and plot is not None:
        raise InputError("--plot draws the path of --minimal.")
    if minimal:
        return Question(True, {} if tolerance is None else {"tolerance": _tolerance(tolerance)})
    given = {"alpha": alpha, "adjust": None if adjust is None else str(adjust)}
    if alpha is not None and not 0 < alpha < 1:
        raise InputError(f"--alpha must lie between 0 and 1, got {alpha:g}.")
    return Question(False, {name: value for name, value in given.items() if value is not None})


def _tolerance(words: str) -> str | float:
    if words == "1se":
        return words
    try:
        tolerance = float(words)
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance: {words!r} is neither 1se nor a number from 0 to below 1.")
    return tolerance


def check_kept(path: Path | None, inputs: TableInputs, max_rows: int) -> None:
    """Refuse to write a table of which only a sample is read."""
    if path is not None and (inputs.numbers is None or inputs.X.height > max_rows):
        raise InputError(
            "--output: a sample of the rows is read; raise --max-rows to get them all."
        )


def write_kept(found: Selection, inputs: TableInputs, path: Path) -> None:
    """Write the columns that are kept, and the outcome, in the format that the ending says."""
    if not found.kept.any():
        raise InputError(f"--output: no column is kept, so that {path} was not written.")
    members = inputs.settings.get("groups") or {}
    names = [name for input in found.inputs for name in members.get(input, [input])]
    outcome: Any = inputs.y  # a column of the table: this command derives none
    table = inputs.X.select(list(dict.fromkeys(names))).with_columns(outcome)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".parquet":
            table.write_parquet(temporary)
        else:
            table.write_csv(temporary)

"""The settings of one fit, checked and resolved once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from shaff._util.seeds import draw_seed
from shaff._util.threads import check_jobs
from shaff.data.problem import ReadingOptions
from shaff.data.sources.sampled import ValueRows, check_value_rows
from shaff.data.structure import flattened
from shaff.data.table import MIN_ROWS
from shaff.designs import find_design
from shaff.errors import InputError, InputTypeError
from shaff.protocols import DesignSetting, SolverSetting
from shaff.solve import find_solver
from shaff.values.losses import find_loss

# Designs that know layers and groups of groups.
STRUCTURED = ("gaussian_process", "exhaustive")


@dataclass(frozen=True, eq=False)
class Settings:
    """What `ShapleyEffects` was told, with names resolved.

    Parameters
    ----------
    estimator : name, model, ValueSetting or None
    design : DesignSetting
    solver : SolverSetting
    n_subsets, tol, verbose, checkpoint
        As in `ShapleyEffects`.
    screen : int or None
        Players that a fold keeps; 0 keeps all, None lets the screen decide.
    random_state : int or None
        The seed, where it was an integer.
    value_rows : {"sample", "all"} or int
        Rows that v is measured on.
    reading : ReadingOptions
        How the rows are read.
    """

    estimator: Any
    design: DesignSetting
    solver: SolverSetting
    n_subsets: int | None
    tol: float | None
    screen: int | None
    verbose: int
    checkpoint: str | os.PathLike[str] | None
    random_state: int | None
    value_rows: ValueRows
    reading: ReadingOptions

    @classmethod
    def resolve(
        cls, given: Mapping[str, Any], as_classes: bool = False, all_rows: bool = False
    ) -> Settings:
        """From the parameters of `ShapleyEffects`; what is wrong with them is said here.

        Examples
        --------
        >>> from shaff import ShapleyEffects
        >>> from shaff.fitting.settings import Settings
        >>> Settings.resolve(ShapleyEffects(design="leverage").get_params()).solver.name
        'least_squares'
        """
        design = find_design(given["design"])
        solver = find_solver(given["solver"], design)
        _check_numbers(given)
        check_value_rows(given["value_rows"])
        state = given["random_state"]
        _check_structure(given, design, solver)
        read = {k: given[k] for k in ("groups", "categorical", "cv", "n_jobs", "max_rows", "order")}
        loss = find_loss(given["loss"]).name
        as_classes |= loss == "log_loss"
        how: dict[str, Any] = {"as_classes": as_classes, "all_rows": all_rows, "loss": loss}
        return cls(
            given["estimator"],
            design,
            solver,
            given["n_subsets"],
            given["tol"],
            _screen_size(given["screen"]),
            given["verbose"],
            given["checkpoint"],
            int(state) if _is_whole(state) else None,
            given["value_rows"],
            ReadingOptions(draw_seed(state), **read, **how),
        )


def _check_structure(
    given: Mapping[str, Any], design: DesignSetting, solver: SolverSetting
) -> None:
    """Refuse what knows neither layers nor groups of groups."""
    if given["order"] is None and not flattened(given["groups"])[1]:
        return
    what = "groups of groups" if given["order"] is None else "an order"
    if solver.name != "gaussian_process" or design.name not in STRUCTURED:
        known = " or ".join(f'"{name}"' for name in STRUCTURED)
        raise InputError(f"With {what}, leave design and solver at 'auto', or use design {known}.")
    if _screen_size(given["screen"]):
        raise InputError(f'With {what} every input is evaluated by name: leave screen at "auto".')


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _screen_size(screen: Any) -> int | None:
    if screen is False:
        return 0
    if isinstance(screen, str) and screen == "auto":
        return None
    if screen is True or not _is_whole(screen) or screen < 1:
        raise InputError(f'screen={screen!r}: use "auto", False, or the number of inputs to keep.')
    return int(screen)


def check_budget(n_subsets: Any, tol: Any) -> None:
    """Whether evaluations and error can be asked for.

    Examples
    --------
    >>> from shaff.fitting.settings import check_budget
    >>> check_budget(200, 0.001)
    """
    if n_subsets is not None and not (_is_whole(n_subsets) and n_subsets >= 2):
        raise InputError(f"n_subsets={n_subsets!r}: expected a whole number of at least 2.")
    if tol is not None and not (isinstance(tol, Real) and float(tol) > 0):
        raise InputError(f"tol={tol!r}: expected a positive number.")


def _check_numbers(given: Mapping[str, Any]) -> None:
    max_rows, place = given["max_rows"], given["checkpoint"]
    check_jobs(given["n_jobs"])
    if not isinstance(given["verbose"], int | np.integer):
        raise InputError(f"verbose={given['verbose']!r}: expected 0 or 1.")
    if place is not None and (not isinstance(place, str | os.PathLike) or not os.fspath(place)):
        raise InputTypeError(f"checkpoint={place!r}: expected a folder, an address, or None.")
    if place is not None and "\0" in os.fsdecode(place):
        raise InputError(f"checkpoint={place!r}: no folder has a zero byte in its name.")
    check_budget(given["n_subsets"], given["tol"])
    if max_rows is not None and not (_is_whole(max_rows) and max_rows >= MIN_ROWS):
        raise InputError(f"max_rows={max_rows!r}: expected None or at least {MIN_ROWS}.")
    if given["checkpoint"] is not None and not _is_whole(given["random_state"]):
        raise InputError("checkpoint needs a whole number as random_state, to be found again.")

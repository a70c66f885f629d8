"""Where the three steps meet: a design picks subsets, a value function prices them, a solver
turns prices into effects. Nothing else is shared between the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shaff.subsets import FloatArray, Subsets


@dataclass(frozen=True, eq=False)
class Values:
    """Priced subsets.

    Parameters
    ----------
    subsets : Subsets
    v : float array of shape (n_subsets,)
        Estimated share of the variance of y that each subset explains.
    influences : float32 array of shape (n_subsets, n_rows) or None
        Influence of each row on v (ALGORITHMS section 6), centred over the rows.
    replicates : float array of shape (n_subsets, n_blocks) or None
        Values with one block of trees of the ensemble left out, for the jackknife.
    by_output : float array of shape (n_subsets, n_outputs) or None
        Share of the variance of each single output; None with one output.
    """

    subsets: Subsets
    v: FloatArray
    influences: npt.NDArray[np.float32] | None = None
    replicates: FloatArray | None = None
    by_output: FloatArray | None = None

    @classmethod
    def concatenate(cls, parts: list[Values]) -> Values:
        """Join evaluations of the same value function."""

        def join(name: str) -> npt.NDArray[Any] | None:
            arrays = [getattr(part, name) for part in parts]
            return None if any(array is None for array in arrays) else np.concatenate(arrays)

        return cls(
            Subsets.concatenate([part.subsets for part in parts]),
            np.concatenate([part.v for part in parts]),
            join("influences"),
            join("replicates"),
            join("by_output"),
        )


@dataclass(frozen=True, eq=False)
class Effects:
    """What a solver returns.

    Parameters
    ----------
    effects : float array of shape (n_players,)
        The reported effects: non-negative, summing to v(all) whenever v(all) > 0.
    raw : float array of shape (n_players,)
        The same without the sign constraint; it is linear in the values.
    linear_map : float array of shape (n_players, n_subsets + 1) or None
        ``raw = linear_map @ [v(subsets), v(all)]``, in the order given to the solver.
    covariance : float array of shape (n_players, n_players) or None
        Design error of ``raw``: what the subsets that were not evaluated leave open.
    """

    effects: FloatArray
    raw: FloatArray
    linear_map: FloatArray | None = None
    covariance: FloatArray | None = None


class ValueFunction(Protocol):
    """Step 2: prices subsets of players."""

    @property
    def n_players(self) -> int:
        """Number of players."""
        ...

    def values(self, subsets: Subsets, *, influences: bool = False) -> Values:
        """Price each subset; the empty set costs nothing and is worth 0."""
        ...

    def predict(self, subsets: Subsets, rows: npt.ArrayLike | None = None) -> FloatArray:
        """Conditional means m_U(x), shape (n_subsets, n_rows, n_outputs).

        ``rows=None`` means the rows that v is measured on, each predicted out of sample.
        """
        ...


class Design(Protocol):
    """Step 1: proposes subsets until it is content."""

    def propose(self, history: Values) -> Subsets | None:
        """Subsets to price next, or None. ``history`` holds all that was priced so far, the
        full set first; a proposal never repeats a subset of the history, nor holds the empty
        or the full set."""
        ...


class Solver(Protocol):
    """Step 3: turns values into effects."""

    def solve(self, subsets: Subsets, v: FloatArray, v_all: float) -> Effects:
        """``subsets`` holds neither the empty nor the full set; their values are 0 and v_all."""
        ...

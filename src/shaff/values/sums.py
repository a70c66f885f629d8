"""Sums over rows that come in blocks, from which v and its error follow: no row is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaff._util.typing import FloatArray, IntpArray
from shaff.protocols import Values
from shaff.subsets import Subsets
from shaff.values.outcome import explained_share

# Outputs whose error bars are kept apart: each takes a matrix over the subsets.
MAX_OUTPUTS = 12
# What `ErrorSums` holds besides the spreads.
PLAIN = ("n_rows", "weight", "by_fold", "constant", "errors", "corrected")


@dataclass
class Spread:
    """Products of weighted errors of one output, or of all together, summed over rows or groups.

    The errors of a row are (that of the constant, those of the subsets).

    Parameters
    ----------
    second : float array of shape (n_subsets + 1, n_subsets + 1)
        Sums of the products over the rows, where each is independent of the others.
    by_unit : float array of shape (n_units, n_subsets + 1) or None
        Sums of the errors over the rows of each unit, where units are what is independent.
    """

    second: FloatArray
    by_unit: FloatArray | None = None

    @classmethod
    def zero(cls, n_subsets: int, n_units: int | None) -> Spread:
        """Return sums of zero, before any row is added."""
        size = n_subsets + 1
        by_unit = None if n_units is None else np.zeros((n_units, size))
        return cls(np.zeros((size, size) if n_units is None else (0, 0)), by_unit)

    def add(self, weighted: FloatArray, unit: IntpArray | None) -> None:
        """Add rows, by their errors times weights of shape (n_subsets + 1, n_rows)."""
        if self.by_unit is None:
            self.second += weighted @ weighted.T
            return
        assert unit is not None
        found, place = np.unique(unit, return_inverse=True)
        sums = [np.bincount(place, weights=row, minlength=len(found)) for row in weighted]
        self.by_unit[found] += np.stack(sums, axis=1)

    def merge(self, other: Spread) -> None:
        """Add the sums over other rows."""
        self.second += other.second
        if self.by_unit is not None and other.by_unit is not None:
            self.by_unit += other.by_unit

    def covariance(self, missed: FloatArray, variance: float, weight: float, n: int) -> FloatArray:
        """Covariance of the values: influences are linear in the errors (docs/theory.md,
        section 8).

        Parameters
        ----------
        missed : float array of shape (n_subsets,)
            1 - v.
        variance : float
            Mean square of the constant's errors.
        weight : float
            Sum of the weights of all rows.
        n : int
            Number of rows.
        """
        influence = np.hstack([missed[:, None], -np.eye(len(missed))]) / variance
        if self.by_unit is None:
            units, second = n, self.second
        else:
            filled = self.by_unit[self.by_unit.any(axis=1)]
            centred = filled - filled.mean(axis=0)
            units, second = len(filled), centred.T @ centred
        scale = units / max(units - 1, 1) / weight**2
        return np.asarray(scale * (influence @ second @ influence.T), dtype=np.float64)


class ErrorSums:
    """Errors of some subsets, summed over rows.

    Parameters
    ----------
    n_subsets, n_outputs, n_folds : int
    n_units : int or None
        See `Spread`.
    """

    def __init__(
        self, n_subsets: int, n_outputs: int, n_folds: int, n_units: int | None = None
    ) -> None:
        self.n_rows, self.weight = 0, 0.0
        # By the model that predicts a row: (that of the constant, those of the subsets).
        self.by_fold = np.zeros((n_folds, n_subsets + 1))
        self.constant = np.zeros(n_outputs)
        self.errors = np.zeros((n_subsets, n_outputs))
        self.corrected = np.zeros((n_subsets, n_outputs))
        apart = n_outputs if 1 < n_outputs <= MAX_OUTPUTS else 0
        # All outputs together first, then each.
        self.spreads = [Spread.zero(n_subsets, n_units) for _ in range(1 + apart)]

    def add(
        self,
        weight: FloatArray,
        constant: FloatArray,
        errors: FloatArray,
        corrected: FloatArray,
        unit: IntpArray | None,
        fold: int = 0,
    ) -> None:
        """Add rows, all predicted by one model.

        Parameters
        ----------
        weight : float array of shape (n_rows,)
        constant : float array of shape (n_rows, n_outputs)
            Squared errors of the constant that explains nothing.
        errors, corrected : float arrays of shape (n_outputs, n_subsets, n_rows)
        unit : int array of shape (n_rows,) or None
        fold : int
        """
        self.n_rows += len(weight)
        self.weight += float(weight.sum())
        squares, products = weight @ constant, (corrected @ weight).T
        self.constant += squares
        self.errors += (errors @ weight).T
        self.corrected += products
        self.by_fold[fold] += np.append(squares.sum(), products.sum(axis=1))
        parts = [(constant.sum(axis=1), errors.sum(axis=0))]
        if len(self.spreads) > 1:
            parts += zip(constant.T, errors, strict=True)
        for spread, (square, error) in zip(self.spreads, parts, strict=True):
            spread.add(np.vstack([square, error]) * weight, unit)

    def merge(self, other: ErrorSums) -> None:
        """Add the sums over other rows."""
        self.n_rows += other.n_rows
        self.weight += other.weight
        self.constant += other.constant
        self.errors += other.errors
        self.corrected += other.corrected
        self.by_fold += other.by_fold
        for spread, more in zip(self.spreads, other.spreads, strict=True):
            spread.merge(more)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all sums as named arrays, which `of_arrays` reads."""
        plain = {name: np.asarray(getattr(self, name)) for name in PLAIN}
        spread = {"second": np.stack([spread.second for spread in self.spreads])}
        by_unit = [spread.by_unit for spread in self.spreads if spread.by_unit is not None]
        return {**plain, **spread, **({"by_unit": np.stack(by_unit)} if by_unit else {})}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> ErrorSums:
        """Make the sums again from what `arrays` returned."""
        n_subsets, n_outputs = arrays["errors"].shape
        sums = cls(n_subsets, n_outputs, n_folds=len(arrays["by_fold"]))
        for name in PLAIN:
            setattr(sums, name, arrays[name] if arrays[name].ndim else arrays[name].item())
        by_unit = arrays.get("by_unit", [None] * len(arrays["second"]))
        sums.spreads = [Spread(*parts) for parts in zip(arrays["second"], by_unit, strict=True)]
        return sums

    def values(self, subsets: Subsets) -> Values:
        """Values of the subsets, plain and corrected; the empty set has the value 0."""
        total, known = self.constant.sum(), subsets.sizes > 0
        by_output = explained_share(self.corrected, self.constant)
        folds = self.by_fold[self.by_fold[:, 0] > 0]
        runs = explained_share(folds[:, 1:].T, folds[:, 0])
        return Values(
            subsets,
            np.where(known, explained_share(self.corrected.sum(axis=1), total), 0.0),
            plain=np.where(known, explained_share(self.errors.sum(axis=1), total), 0.0),
            by_output=by_output * known[:, None] if len(self.constant) > 1 else None,
            # What the models of the folds differ by is luck, of which no number of rows tells.
            runs=runs * known[:, None] if len(folds) > 1 else None,
        )

    def covariances(self) -> list[FloatArray]:
        """Covariances of v, then of the values of each output where these are kept apart; all from
        plain errors."""
        constants = [self.constant.sum(), *self.constant]
        errors = [self.errors.sum(axis=1), *self.errors.T]
        return [
            spread.covariance(error / constant, constant / self.weight, self.weight, self.n_rows)
            for spread, error, constant in zip(self.spreads, errors, constants, strict=False)
        ]

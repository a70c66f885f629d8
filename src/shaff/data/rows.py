"""Number, weights and groups of rows, and a sample if there are very many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shaff._util.arrays import count_rows
from shaff._util.labels import label_array, label_codes
from shaff._util.missing import is_missing
from shaff._util.numbers import EXACT, as_floats
from shaff._util.typing import FloatArray, IntpArray
from shaff.data.remarks import Remark
from shaff.data.table import MIN_ROWS, check_table, take_rows
from shaff.errors import InputError, as_user_errors

SAMPLED = "sampled"
_LARGE = 1e100


def check_rows(n_rows: int) -> None:
    """Refuse tables with too few rows to measure anything."""
    if n_rows < MIN_ROWS:
        raise InputError(f"X has n_samples={n_rows} rows; shaff needs at least {MIN_ROWS}.")


def read_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return one finite, non-negative weight per row, not all of them zero.

    Whole numbers count rows. Other weights have no unit: they are scaled to a mean of 1 over the
    rows with weight.

    Examples
    --------
    >>> from shaff.data.rows import read_sample_weight
    >>> read_sample_weight([2, 0, 1], 3).tolist(), read_sample_weight([0.2, 0, 0.1], 3).tolist()
    ([2.0, 0.0, 1.0], [1.3333333333333333, 0.0, 0.6666666666666666])
    """
    if sample_weight is None:
        return None
    weight = as_floats(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}: expected ({n_rows},).")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be finite, non-negative, and not all zero.")
    whole = count_rows(weight)
    if whole and weight.max() > EXACT / n_rows:
        raise InputError("sample_weight holds whole numbers, which count rows, but these are too "
                         "large for that: divide them by the largest.")  # fmt: skip
    counted = int(weight.sum() if whole else np.count_nonzero(weight))
    if counted < MIN_ROWS <= n_rows:
        raise InputError(f"Only {counted} rows have weight; shaff needs at least {MIN_ROWS}.")
    if whole:
        return weight
    # Weights have no unit, and the sum of the largest numbers is beyond all.
    scaled = weight / weight.max() if weight.max() > _LARGE else weight
    return np.asarray(scaled / scaled[scaled > 0].mean())


def read_row_groups(row_groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """Return one integer code per row, of at least two different groups.

    Groups are numbered as they come, so that their names decide nothing.

    Examples
    --------
    >>> from shaff.data.rows import read_row_groups
    >>> read_row_groups(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    if row_groups is None:
        return None
    labels = label_array(row_groups)
    if labels.shape != (n_rows,):
        raise InputError(f"row_groups has shape {labels.shape}: expected ({n_rows},).")
    if any(is_missing(label) for label in labels.tolist()):
        raise InputError("row_groups has missing labels: give each such row a group of its own.")
    _, first, codes = np.unique(label_codes(labels)[1], return_index=True, return_inverse=True)
    if len(first) < 2:
        raise InputError("row_groups has one group only: nothing can be held out.")
    return np.argsort(np.argsort(first))[codes]


class RowSample(NamedTuple):
    """A sample of rows.

    Parameters
    ----------
    arrays : tuple
        Tables and arrays with the sampled rows.
    n_given : int
        Number of rows before sampling.
    remarks : tuple of Remark, default=()
        How the rows were sampled.
    places : int array or None, default=None
        Places of the sampled rows; None means all rows, in order.
    """

    arrays: tuple[Any, ...]
    n_given: int
    remarks: tuple[Remark, ...] = ()
    places: IntpArray | None = None


def sample_rows(arrays: tuple[Any, ...], max_rows: int | None, seed: int) -> RowSample:
    """Sample at most ``max_rows`` rows of (X, y, sample_weight, row_groups, ...), in their order.

    Rows of one group are sampled together. Anything but X may be None.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.rows import sample_rows
    >>> X = np.arange(20.0)[:, None]
    >>> sample_rows((X, X[:, 0], None, None), 10, seed=0).arrays[0].shape
    (10, 1)
    """
    check_table(arrays[0])
    n_rows = n_given_rows(arrays[0])
    if max_rows is None or n_rows <= max_rows:
        return RowSample(arrays, n_rows)
    from sklearn.utils.validation import check_consistent_length  # heavy, and rarely needed

    with as_user_errors():
        check_consistent_length(*(array for array in arrays if array is not None))
    chosen = draw_rows(n_rows, max_rows, read_row_groups(arrays[3], n_rows), seed)
    taken = tuple(take_rows(array, chosen) for array in arrays)
    return RowSample(taken, n_rows, (sampled(len(chosen), n_rows),), chosen)


def sampled(n_sample: int, n_rows: int) -> Remark:
    """Return the remark that everything is computed on a sample."""
    return Remark(SAMPLED, details={"n_sample": n_sample, "n_rows": n_rows})


def n_given_rows(X: Any) -> int:
    """Return the number of rows of a table of any kind; 0 for anything else."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(X) if hasattr(X, "__len__") else 0


def draw_rows(n_rows: int, max_rows: int, row_groups: IntpArray | None, seed: int) -> IntpArray:
    """Return the places of randomly sampled rows, ascending; rows of one group stay together.

    Without groups one row is sampled from each of ``max_rows`` stretches of equal length, so that
    every part of a long table, such as a day or a file, has its share.
    """
    rng = np.random.default_rng(seed)
    if row_groups is None:
        ends = np.arange(max_rows + 1) * n_rows // max_rows
        within = np.floor(rng.random(max_rows) * np.diff(ends))
        return np.asarray(ends[:-1] + within, dtype=np.intp)
    sizes = np.bincount(row_groups)
    order = rng.permutation(len(sizes))
    n_groups = max(2, int(np.searchsorted(np.cumsum(sizes[order]), max_rows, side="right")))
    return np.flatnonzero(np.isin(row_groups, order[:n_groups]))

"""A sample of the rows when there are very many of them, from memory or from a parquet file."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from shaff.columns import check_table, take_rows
from shaff.problem import read_row_groups

IntpArray = npt.NDArray[np.intp]
BATCH_ROWS = 65_536


class RowSample(NamedTuple):
    """Tables and arrays on the rows that were drawn, and what to say about it."""

    arrays: tuple[Any, ...]
    notes: tuple[str, ...] = ()


def sample_rows(arrays: tuple[Any, ...], max_rows: int | None, seed: int) -> RowSample:
    """At most ``max_rows`` of the rows of (X, y, sample_weight, row_groups), in their order.

    Rows of one group are drawn together. Anything may be None but X.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.row_sample import sample_rows
    >>> X = np.arange(20.0)[:, None]
    >>> sample_rows((X, X[:, 0], None, None), 10, seed=0).arrays[0].shape
    (10, 1)
    """
    check_table(arrays[0])
    n_rows = _n_rows(arrays[0])
    if max_rows is None or n_rows <= max_rows:
        return RowSample(arrays)
    check_consistent_length(*(array for array in arrays if array is not None))
    chosen = _draw(n_rows, max_rows, read_row_groups(arrays[3], n_rows), seed)
    note = sample_note(len(chosen), n_rows)
    return RowSample(tuple(take_rows(array, chosen) for array in arrays), (note,))


def sample_note(n_sample: int, n_rows: int) -> str:
    """The line that a result on a sample carries."""
    return (
        f"Computed on a random sample of {n_sample} of the {n_rows} rows; the standard errors "
        "are those of the sample."
    )


def read_parquet_sample(
    path: str | os.PathLike[str], max_rows: int | None = 100_000, seed: int = 0
) -> tuple[Any, int]:
    """A random sample of the rows of a parquet file, in memory for the sample only.

    The file is read in batches, of which only the drawn rows are kept.

    Parameters
    ----------
    path : path
    max_rows : int or None
        Rows to keep; None keeps all.
    seed : int

    Returns
    -------
    frame : polars.DataFrame
        The rows, in their order.
    n_rows : int
        Rows in the file.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from shaff.row_sample import read_parquet_sample
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame({"a": range(1000)}).write_parquet(f"{folder}/a.parquet")
    ...     frame, n_rows = read_parquet_sample(f"{folder}/a.parquet", max_rows=100)
    >>> frame.shape, n_rows
    ((100, 1), 1000)
    """
    import polars as pl

    scan = pl.scan_parquet(os.fspath(path), glob=False)
    n_rows = int(scan.select(pl.len()).collect().item())
    if max_rows is None or n_rows <= max_rows:
        return scan.collect(), n_rows
    chosen = _draw(n_rows, max_rows, None, seed)
    is_drawn = np.zeros(n_rows, dtype=bool)
    is_drawn[chosen] = True
    parts = []
    for start in range(0, n_rows, BATCH_ROWS):
        batch = scan.slice(start, BATCH_ROWS).collect()
        parts.append(batch.filter(pl.Series(is_drawn[start : start + BATCH_ROWS])))
    return pl.concat(parts), n_rows


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(X) if hasattr(X, "__len__") else 0


def _draw(n_rows: int, max_rows: int, row_groups: IntpArray | None, seed: int) -> IntpArray:
    rng = np.random.default_rng(seed)
    if row_groups is None:
        return np.sort(rng.choice(n_rows, max_rows, replace=False))
    sizes = np.bincount(row_groups)
    order = rng.permutation(len(sizes))
    n_groups = max(2, int(np.searchsorted(np.cumsum(sizes[order]), max_rows, side="right")))
    return np.flatnonzero(np.isin(row_groups, order[:n_groups]))

"""Notes of comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shaff._util.typing import FloatArray
from shaff._util.words import listed

# The variances of two outcomes differ by so many standard errors: a reader must know.
_SIGMAS = 1.96


def left_out(names: Sequence[str]) -> Iterator[str]:
    """Inputs that only one of two results has."""
    if names:
        yield (
            "Left out, because only one of the two results evaluates them by name: "
            f"{listed(names)}."
        )


def other_variance(
    variances: FloatArray, errors: FloatArray, labels: tuple[str, str]
) -> Iterator[str]:
    """The outcomes do not vary alike, so that shares are not of the same whole."""
    if abs(variances[1] - variances[0]) > _SIGMAS * np.hypot(*errors):
        times = variances[1] / variances[0]
        yield (
            f"The variance of the outcome is {times:.2g} times as large in {labels[1]!r} as in "
            f"{labels[0]!r}: a share may change although the input does as much as before. Read "
            "the differences in units of the variance, too."
        )


def rows_in_both(n_rows: int, is_unsure: bool) -> Iterator[str]:
    """Rows that seem to be in both, though the two are taken as independent."""
    if n_rows and is_unsure:
        yield (
            f"{n_rows} rows of the two agree in all columns, which may be chance: the results are "
            "taken as independent. If these are the same rows, name them by `row_labels`."
        )
    elif n_rows:
        yield (
            "Both seem to rest on the same rows, but saved results do not keep the influence of "
            "each row: they are taken as independent, which makes the errors larger than "
            "necessary. Compare the fitted estimators instead."
        )

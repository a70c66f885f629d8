"""Averages over what is alike, such that its members are equal to the last bit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from shaff._util.typing import FloatArray, IntpArray


def kinds_of(things: Sequence[Hashable]) -> IntpArray:
    """Return a code for each thing; equal things have equal codes.

    Examples
    --------
    >>> from shaff._util.alike import kinds_of
    >>> kinds_of(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    codes: dict[Hashable, int] = {}
    return np.array([codes.setdefault(thing, len(codes)) for thing in things], dtype=np.intp)


def all_differ(kinds: IntpArray) -> bool:
    """Return whether no two things are alike."""
    return int(kinds.max(initial=-1)) + 1 == len(kinds)


def averaged(values: FloatArray, kinds: IntpArray) -> FloatArray:
    """Replace each entry along the first axis by the mean of its kind; the sum stays.

    Entries that are alone of their kind keep their bits.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.alike import averaged
    >>> averaged(np.array([1.0, 5.0, 2.0]), np.array([0, 1, 0])).tolist()
    [1.5, 5.0, 1.5]
    """
    if all_differ(kinds):
        return values
    sums = np.zeros((kinds.max() + 1, *values.shape[1:]))
    np.add.at(sums, kinds, values)
    counts = np.bincount(kinds).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray((sums / counts)[kinds])


def averaged_covariance(covariance: FloatArray, kinds: IntpArray) -> FloatArray:
    """Return the covariance of estimates that were `averaged`, given that before.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.alike import averaged_covariance
    >>> averaged_covariance(np.eye(2), np.array([0, 0])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if all_differ(kinds):
        return covariance
    both = averaged(averaged(covariance, kinds).T, kinds)
    return np.asarray((both + both.T) / 2)


def pair_kinds(kinds: IntpArray) -> IntpArray:
    """Return the kinds of all pairs, in the order of `numpy.triu_indices`.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff._util.alike import pair_kinds
    >>> pair_kinds(np.array([0, 1, 0])).tolist()
    [0, 1, 0]
    """
    first, second = np.triu_indices(len(kinds), 1)
    pairs = np.sort(np.stack([kinds[first], kinds[second]], axis=1), axis=1)
    return kinds_of([(int(a), int(b)) for a, b in pairs])

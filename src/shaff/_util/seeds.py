"""Seeds: one from a random state, several combined, and one for a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from shaff._util.typing import RandomState
from shaff.errors import InputError

LARGEST_SEED = np.iinfo(np.int32).max


def draw_seed(random_state: RandomState) -> int:
    """Draw one integer from a random state, before any parallel work.

    Examples
    --------
    >>> from shaff._util.seeds import draw_seed
    >>> draw_seed(0) == draw_seed(0)
    True
    """
    try:
        state = check_random_state(random_state)
    except ValueError:
        raise InputError(
            f"random_state={random_state!r}: expected None, a whole number from 0 to 2**32 - 1, or "
            "a numpy.random.RandomState."
        ) from None
    return int(state.randint(LARGEST_SEED))


def joint_seed(*numbers: int) -> int:
    """Combine numbers into one seed of 64 bits.

    Examples
    --------
    >>> from shaff._util.seeds import joint_seed
    >>> joint_seed(1, 2) == joint_seed(2, 1)
    False
    """
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def seeded(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set those of its random states, also nested ones, that are None.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shaff._util.seeds import seeded
    >>> seeded(DecisionTreeRegressor(), 3).random_state
    3
    """
    model = clone(estimator)
    open_states = [
        name
        for name, value in model.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return model.set_params(**dict.fromkeys(open_states, seed))

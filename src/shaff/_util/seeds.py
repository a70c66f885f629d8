"""Seeds: one from a random state, several combined, and one for the clone of a model."""

from __future__ import annotations

from copy import deepcopy
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


def unfitted(estimator: Any) -> Any:
    """Clone an estimator; also one whose constructor copies what it is given, as CatBoost's does
    with a list of categories, so that `sklearn.base.clone` refuses it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff._util.seeds import unfitted
    >>> unfitted(Ridge(2.0))
    Ridge(alpha=2.0)
    """
    try:
        return clone(estimator)
    except RuntimeError:
        settings = estimator.get_params(deep=False)
        return type(estimator)(**{name: _copied(value) for name, value in settings.items()})


def _copied(setting: Any) -> Any:
    """A copy of a setting, which may be a model, or hold some, as the steps of a pipeline do."""
    if hasattr(setting, "get_params") and not isinstance(setting, type):
        return unfitted(setting)
    if type(setting) in (list, tuple):
        return type(setting)(_copied(part) for part in setting)
    return deepcopy(setting)


def seeded(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set those of its random states, also nested ones, that are None.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from shaff._util.seeds import seeded
    >>> seeded(DecisionTreeRegressor(), 3).random_state
    3
    """
    model = unfitted(estimator)
    open_states = [
        name
        for name, value in model.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return model.set_params(**dict.fromkeys(open_states, seed))

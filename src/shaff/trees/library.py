"""All that shaff knows about a library of boosters, in one place per library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shaff._util.typing import BoolArray
from shaff.errors import InputError
from shaff.trees.ensemble import Ensemble


class UnreadableTreesError(InputError, NotImplementedError):
    """Trees of a kind that cannot be projected on subsets, such as those of another loss."""


def _nothing(categorical: BoolArray) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, eq=False)
class BoosterLibrary:
    """One library: how its models are recognised, held to one thread, given categories and read.

    Parameters
    ----------
    regressor, classifier : str
        Names of its classes; the classifier's settings are taken over by the regressor.
    module : str
        Where both are, imported when a classifier is given.
    read : callable
        From a fitted regressor with squared loss, or one of ``losses``, to an `Ensemble`.
    column_sampling : tuple of str
        Settings that sample columns, per node, level or tree; None or 1 there means all columns.
    one_thread : dict
        Settings that hold it to one thread and to the same trees in every run.
    seed_name : callable
        From a model to the setting that holds its seed.
    takes_categories : callable
        Whether a model splits on categories in a way that can be projected.
    category_settings, category_arguments : callables
        From the mask of the columns of categories to settings of the model, or to arguments of
        its ``fit``.
    category_codes : callable or None
        From a fitted model and the names of columns of categories to the numbers of their labels.
    loss_name : str
        The setting that holds the loss.
    losses : dict of str
        Other losses than squares whose trees can be projected, as the library and as shaff call
        them. Their trees add up to a score, not to a prediction.
    codes_itself : callable
        Whether a model turns columns of categories into numbers by itself, so that it can only be
        fitted to the rows as they were given.
    raw_settings, raw_names : callables or None
        From a ``Booster`` of the library, which has no settings of scikit-learn's kind, to its
        settings under the same names, and to the names of its columns.
    """

    regressor: str
    classifier: str
    module: str
    read: Callable[[Any], Ensemble]
    column_sampling: tuple[str, ...]
    one_thread: Mapping[str, Any] = field(default_factory=dict)
    seed_name: Callable[[Any], str] = lambda model: "random_state"
    takes_categories: Callable[[Any], bool] = lambda model: True
    category_settings: Callable[[BoolArray], dict[str, Any]] = _nothing
    category_arguments: Callable[[BoolArray], dict[str, Any]] = _nothing
    category_codes: Callable[[Any, list[str]], dict[str, dict[str, float]]] | None = None
    loss_name: str = "objective"
    losses: Mapping[str, str] = field(default_factory=dict)
    codes_itself: Callable[[Any], bool] = lambda model: False
    raw_settings: Callable[[Any], dict[str, Any]] | None = None
    raw_names: Callable[[Any], list[str] | None] | None = None

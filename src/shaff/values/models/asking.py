"""What a fitted model, or any function of the rows, says of them: asked in batches, and checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from shaff._util.numbers import as_floats, unmasked
from shaff._util.typing import FloatArray, IntpArray
from shaff._util.words import counted
from shaff.data.problem import Problem
from shaff.data.table import in_order, is_frame, take_rows
from shaff.data.target import Target, check_spread, read_target
from shaff.errors import InputError, InputTypeError, UserError, reason_of
from shaff.trees.boosters import is_raw, known_names, n_fitted_columns

# Rows that a model is asked about at a time: its own memory stays small, and a bar shows how far
# it is.
BATCH = 1000
# Rows that it is asked about twice, and how far its answers may differ, as a share of their spread:
# single precision differs by less from batch to batch, anything random by far more.
N_TWICE, AGREE = 20, 1e-4


def check_asked(model: Any) -> None:
    """Refuse what can be asked for no predictions.

    Examples
    --------
    >>> from shaff.values.models.asking import check_asked
    >>> check_asked(lambda X: X.sum(axis=1))
    """
    if isinstance(model, type):
        raise InputTypeError(f"{model.__name__} is a class: pass a fitted model of it.")
    if not (callable(model) or hasattr(model, "predict") or hasattr(model, "predict_proba")):
        raise InputTypeError(
            "expected a fitted model with predict or predict_proba, or a function of the rows, not "
            f"{type(model).__name__}."
        )


def model_name(model: Any) -> str:
    """Return the class of a model, or the name of a function.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.models.asking import model_name
    >>> model_name(Ridge()), model_name(model_name), model_name(lambda X: X)
    ('Ridge', 'model_name', 'the given function')
    """
    if is_raw(model):
        return f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    if hasattr(model, "predict") or hasattr(model, "predict_proba"):
        return type(model).__name__
    inner = model.func if isinstance(model, partial) else model
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return "the given function" if name == "<lambda>" else name


def names_classes(model: Any) -> bool:
    """Whether a model tells classes, by their probabilities or by name.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from shaff.values.models.asking import names_classes
    >>> names_classes(LinearSVC()), names_classes(len)
    (True, False)
    """
    if hasattr(model, "predict_proba"):
        return True
    try:
        return bool(is_classifier(model))
    except (AttributeError, TypeError):  # not made by scikit-learn's rules
        return False


def ask(model: Any, problem: Problem) -> Target:
    """Return what a model says of the rows of a problem, as an outcome.

    Of two classes it is the probability of the second, of more that of each. A classifier without
    probabilities is taken by the classes that it names.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.values.models.asking import ask
    >>> problem = Problem.of(np.eye(3), np.zeros(3))
    >>> ask(lambda X: X[:, 0] + 2, problem).y.tolist()
    [[3.0], [2.0], [2.0]]
    """
    rows, name = _as_fitted(model, problem), model_name(model)
    question = partial(_answer, _question(model), name)
    said = _in_batches(question, rows, len(problem.X), problem)
    target = _as_target(model, said, name)
    twice = np.unique(np.linspace(0, len(said) - 1, N_TWICE).astype(np.intp))
    _check_same(said, said[twice], question(take_rows(rows, twice)), name)
    return target


def explained_by_model(said: Target, outcome: Target, weight: FloatArray) -> float | None:
    """Return the share of the variance of the outcome that predictions explain; None if they are
    predictions of something else.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.target import Target
    >>> from shaff.values.models.asking import explained_by_model
    >>> y = np.array([[0.0], [1.0], [2.0]])
    >>> explained_by_model(Target(y), Target(y), np.ones(3))
    1.0
    """
    if said.y.shape != outcome.y.shape or said.classes != outcome.classes:
        return None
    centred = outcome.y - np.average(outcome.y, axis=0, weights=weight)
    spread = float(weight @ (centred**2).sum(axis=1))
    left = float(weight @ ((outcome.y - said.y) ** 2).sum(axis=1))
    return None if spread == 0 else 1 - left / spread


def _question(model: Any) -> Callable[[Any], Any]:
    """The function of the rows that a model is asked by."""
    if type(model).__name__ == "Booster" and type(model).__module__.startswith("xgboost"):
        return model.inplace_predict  # type: ignore[no-any-return] # predict takes no tables
    for name in ("predict_proba", "predict"):
        if hasattr(model, name):
            return getattr(model, name)  # type: ignore[no-any-return]
    return model  # type: ignore[no-any-return]


def _as_fitted(model: Any, problem: Problem) -> Any:
    """The rows with the columns that a model was fitted on; plain numbers as they were read."""
    if reads_by_position(model, problem.frame) and not problem.categorical.any():
        check_columns(model, problem.X.shape[1])
        return problem.X
    return with_known_columns(model, problem.frame)


def reads_by_position(model: Any, rows: Any) -> bool:
    """Whether rows have names of columns that a model was fitted without.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from shaff.values.models.asking import reads_by_position
    >>> reads_by_position(Ridge().fit([[0], [1]], [0, 1]), pd.DataFrame({"a": [1.0]}))
    True
    """
    was_fitted = getattr(model, "n_features_in_", None) is not None
    return is_frame(rows) and was_fitted and known_names(model) is None


def with_known_columns(model: Any, rows: Any) -> Any:
    """Return a frame with its columns in the order that a model knows, and without names where it
    knows none; an array as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shaff.values.models.asking import with_known_columns
    >>> scaler = StandardScaler().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    >>> with_known_columns(scaler, pd.DataFrame({"b": [5.0], "a": [6.0]})).columns.tolist()
    ['a', 'b']
    """
    if reads_by_position(model, rows):
        array = nw.from_native(rows, eager_only=True).to_numpy()
        check_columns(model, array.shape[1])
        return array
    if is_frame(rows):
        return in_order(rows, known_names(model))
    check_columns(model, np.shape(rows)[1])
    return rows


def check_columns(model: Any, n_columns: int) -> None:
    """Refuse rows with more or fewer columns than a model was fitted on, if it knows their number.

    The libraries would say so in words of their own, and CatBoost takes no note of more columns.
    """
    known = n_fitted_columns(model)
    if known not in (None, n_columns):
        raise InputError(f"{model_name(model)} was fitted on {known} columns, X has {n_columns}.")


def _in_batches(
    question: Callable[[Any], npt.NDArray[Any]], rows: Any, n_rows: int, problem: Problem
) -> npt.NDArray[Any]:
    if n_rows <= BATCH:
        return question(rows)
    parts = []
    for start in range(0, n_rows, BATCH):
        places: IntpArray = np.arange(start, min(start + BATCH, n_rows))
        parts.append(question(take_rows(rows, places)))
        problem.tell(int(places[-1]) + 1, n_rows)
    return np.concatenate(parts)


def _answer(question: Callable[[Any], Any], name: str, rows: Any) -> npt.NDArray[Any]:
    """One answer as an array of shape (n_rows,) or (n_rows, n_outputs)."""
    try:
        said = np.asarray(unmasked(question(rows)))
    except (UserError, NotFittedError):
        raise
    except Exception as error:
        raise InputError(f"{name} fails on these rows ({reason_of(error)}).") from error
    if said.ndim not in (1, 2) or len(said) != len(rows):
        raise InputError(
            f"{name} returns shape {said.shape} for {counted(len(rows), 'row')}: expected one "
            "prediction, or one row of predictions, for each."
        )
    return said


def _check_same(
    said: npt.NDArray[Any], once: npt.NDArray[Any], again: npt.NDArray[Any], name: str
) -> None:
    """Refuse a model that says something else of the same rows the second time."""
    if said.dtype.kind in "fiub" and again.shape == once.shape:
        spread = np.std(said.astype(np.float64)) + np.abs(said).max() * 1e-9
        off = np.abs(once.astype(np.float64) - again)
        same = bool((off <= AGREE * spread).all())
    else:
        same = np.array_equal(once, again)
    if not same:
        raise InputError(
            f"{name} gives other values for the same rows when it is called again: fix its random "
            "seed, and let no row depend on the others of its batch."
        )


def _as_target(model: Any, said: npt.NDArray[Any], name: str) -> Target:
    title = f"the predictions of {name}"
    if names_classes(model) and not hasattr(model, "predict_proba"):
        classes = read_target(said.reshape(len(said)), len(said), as_classes=True)
        return Target(classes.y, classes.classes, title, classes.outputs)
    y = _numbers(said, name).reshape(len(said), -1)
    found = getattr(model, "classes_", None) if hasattr(model, "predict_proba") else None
    classes_ = None if found is None else tuple(str(label) for label in found)
    if classes_ is not None and len(classes_) == y.shape[1]:
        y, outputs = (y[:, 1:], None) if len(classes_) == 2 else (y, classes_)
        return Target(np.ascontiguousarray(y), classes_, title, outputs)
    several = tuple(f"output {k}" for k in range(y.shape[1])) if y.shape[1] > 1 else None
    return Target(np.ascontiguousarray(y), None, title, several)


def _numbers(said: npt.NDArray[Any], name: str) -> FloatArray:
    texts = [v for v in said.ravel()[:1000].tolist() if isinstance(v, str | bytes)]
    if texts:
        raise InputTypeError(
            f"{name} returns text ({texts[0]!r}): return numbers, or probabilities of the classes."
        )
    if said.dtype.kind in "mM":  # which would be cast
        raise InputTypeError(f"{name} returns {said.dtype}: expected numbers.")
    try:
        numbers = as_floats(said, f"What {name} returns")
    except InputError as error:
        if said.dtype.kind in "iuc":
            raise
        raise InputTypeError(f"{name} returns {said.dtype}: expected numbers.") from error
    n_bad = int((~np.isfinite(numbers.reshape(len(numbers), -1))).any(axis=1).sum())
    if n_bad:
        raise InputError(
            f"{name} returns NaN or infinity for {n_bad} of {counted(len(numbers), 'row')}: leave "
            "these rows out, or let it return a number."
        )
    check_spread(numbers, f"The values that {name} returns")
    return numbers

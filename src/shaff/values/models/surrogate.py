"""Any fitted model, explained through the labels that it gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from shaff.data.problem import Problem
from shaff.data.target import Target
from shaff.errors import InputError
from shaff.protocols import Game
from shaff.values.auto import make_auto
from shaff.values.models.fitting import fit_model
from shaff.values.models.resampling import resample_rows


def make_surrogate(problem: Problem, model: Any) -> Game:
    """Fit a model of any kind, then explain what it says."""
    return fitted_surrogate(fit_model(model, problem, problem.frame), problem)


def fitted_surrogate(model: Any, problem: Problem, n_labelled: int | None = None) -> Game:
    """Explain the labels that any fitted model gives to the rows, or to more rows like them."""
    X, rows = problem.X, problem.frame
    if n_labelled is not None and n_labelled > len(X):
        if problem.categorical.any():
            raise InputError("n_labelled draws further rows of numbers; X has categories.")
        more = resample_rows(X, n_labelled - len(X), problem.categorical, problem.seed)
        rows = X = np.vstack([X, more])
        cv = None if problem.has_splits else problem.cv
        problem = replace(problem, sample_weight=None, row_groups=None, cv=cv)
    target = _labels(model, rows)
    labelled = replace(problem, frame=rows, table=replace(problem.table, X=X), target=target)
    labelled.check_varies()
    game = make_auto(labelled)
    facts = replace(game.facts, explains_model=type(model).__name__, n_labelled=len(X))
    return replace(game, name=f"surrogate {game.name}", facts=facts, problem=labelled)


def _labels(model: Any, rows: Any) -> Target:
    """Labels that a model gives to rows: one output for two classes, else one for each class."""
    predict = model.predict_proba if is_classifier(model) else model.predict
    labels = np.asarray(predict(rows), dtype=np.float64).reshape(len(rows), -1)
    name, classes = f"the predictions of {type(model).__name__}", None
    if is_classifier(model):
        classes = tuple(str(label) for label in model.classes_)
        labels = labels[:, 1:] if len(classes) == 2 else labels
    outputs = classes if classes is not None and len(classes) > 2 else None
    return Target(np.ascontiguousarray(labels), classes, name, outputs)

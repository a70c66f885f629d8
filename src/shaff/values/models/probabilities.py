"""Classifiers as models of the indicators of the classes, which is what v is measured by."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from shaff._util.seeds import unfitted
from shaff._util.typing import FloatArray
from shaff.data.problem import Problem
from shaff.trees.boosters import as_regressor, is_booster


class IndicatorModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor of the indicators of classes, which predicts the probabilities of a classifier.

    Parameters
    ----------
    classifier : classifier of scikit-learn
        Cloned when it is fitted; it has ``predict_proba``.
    labels : tuple or None, default=None
        The classes by the names that the classifier knows them by, in the order of the indicators;
        None means 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from shaff.values.models.probabilities import IndicatorModel
    >>> model = IndicatorModel(DummyClassifier(strategy="prior"))
    >>> model.fit(np.zeros((4, 1)), np.array([0.0, 0.0, 0.0, 1.0])).predict(np.zeros((1, 1)))
    array([[0.25]])
    """

    def __init__(self, classifier: Any, labels: tuple[Any, ...] | None = None) -> None:
        self.classifier = classifier
        self.labels = labels

    @classmethod
    def of(cls, classifier: Any, problem: Problem) -> Self:
        """Return the model of the classes of a problem, by the labels that the user gave them.

        Boosters are not told: some of them take nothing but 0, 1, ...
        """
        given, y = problem.target.labels, problem.y
        if given is None or is_booster(as_regressor(classifier)):
            return cls(classifier)
        indicators = np.hstack([1 - y, y]) if y.shape[1] == 1 else y
        return cls(classifier, tuple(given[column.argmax()] for column in indicators.T))

    def fit(self, X: Any, y: FloatArray, sample_weight: FloatArray | None = None) -> Self:
        """Fit a clone of the classifier to the classes that indicators name.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : float array of shape (n_rows,) or (n_rows, n_classes)
            Indicators of the classes; of two classes that of the second.
        sample_weight : float array of shape (n_rows,) or None
        """
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        codes = y.astype(int) if y.ndim == 1 else y.argmax(axis=1)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._only = int(codes[0]) if (codes == codes[0]).all() else None
        if self._only is None:
            names = codes if self.labels is None else np.array(self.labels)[codes]
            self.classifier_ = unfitted(self.classifier).fit(X, names, **weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return probabilities of the classes, shape (n_rows, n_outputs)."""
        found = np.zeros((len(X), max(self.n_outputs_, 2)))
        if self._only is not None:  # the training rows know one class
            found[:, self._only] = 1.0
        else:
            found[:, self._places()] = self.classifier_.predict_proba(X)
        return found[:, 1:] if self.n_outputs_ == 1 else found

    def _places(self) -> list[int]:
        """Places of the classes that the classifier knows among the indicators."""
        if self.labels is None:
            return [int(label) for label in self.classifier_.classes_]
        return [self.labels.index(label) for label in self.classifier_.classes_]

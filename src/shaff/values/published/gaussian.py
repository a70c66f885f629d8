"""Values of a model with its unknown columns drawn from their conditional distribution."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shaff._util.typing import BoolArray, FloatArray
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.values.means import refuse_missing
from shaff.values.models.held_out import HeldOutValues, model_output
from shaff.values.published.conditionals import (
    Completer,
    Completions,
    CopulaCompleter,
    EmpiricalCompleter,
    GaussianCompleter,
)


class GaussianValues(HeldOutValues):
    """``m_U(x)`` = average of the model over draws of the unknown columns given the known ones.

    With a known model and known Gaussian inputs this is the setting of Song, Nelson & Staum (2016);
    with estimated ones that of Aas, Jullum & Løland (2021): Gaussian, Gaussian copula, or the
    empirical conditional distribution (rows weighted by distance), local in their publication and
    evaluated as v(U) here.

    A fitted model predicts each row with members that have not seen it (docs/theory.md, section 1).
    With m independent draws the error of their mean is taken off: ``(y - m_U)²`` is estimated
    by ``(y - mean)² - variance / m``, which is unbiased for any m, as is the inner variance of
    Song et al. (the same in expectation when y is the model's own output). The empirical
    completion is deterministic and leaves the row itself out.

    Parameters
    ----------
    problem : Problem
        Without missing values.
    estimator : scikit-learn regressor or KnownModel, optional
        By default the forest of the paper.
    conditional : {"gaussian", "copula", "empirical"}
    mean, covariance : arrays of shape (n_columns,) and (n_columns, n_columns), optional
        Mean and covariance of a known Gaussian distribution; estimated from X by default.
    n_draws : int
        Draws for each row; for "empirical" the largest number of weighted rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.subsets import Subsets
    >>> from shaff.values.published.gaussian import GaussianValues
    >>> from shaff.values.models.held_out import KnownModel
    >>> rng = np.random.default_rng(0)
    >>> covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> X = rng.multivariate_normal(np.zeros(2), covariance, size=4000)
    >>> model = KnownModel(lambda X: X[:, 0])
    >>> problem = Problem.of(X, X[:, 0], random_state=0)
    >>> game = GaussianValues(problem, model, covariance=covariance)
    >>> game.values(Subsets.singletons(2)).v.round(2).tolist()
    [1.0, 0.65]
    """

    _block = 1

    def __init__(
        self,
        problem: Problem,
        estimator: Any = None,
        *,
        conditional: Literal["gaussian", "copula", "empirical"] = "gaussian",
        mean: npt.ArrayLike | None = None,
        covariance: npt.ArrayLike | None = None,
        n_draws: int = 30,
    ) -> None:
        refuse_missing(problem.X, "Completion by conditional distributions")
        self._completer = _completer(problem.X, conditional, mean, covariance, n_draws)
        super().__init__(problem, estimator)

    def _errors(self, known: BoolArray) -> FloatArray:
        return np.stack([self._corrected_errors(columns) for columns in known])

    def _means(self, known: BoolArray, rows: FloatArray | None) -> FloatArray:
        return np.stack([_average(*self._outputs(columns, rows)) for columns in known])

    def _corrected_errors(self, columns: BoolArray) -> FloatArray:
        outputs, weights = self._outputs(columns, None)
        errors: FloatArray = (self.y - _average(outputs, weights)) ** 2
        if weights is None:
            errors -= outputs.var(axis=1, ddof=1) / outputs.shape[1]
        return errors

    def _outputs(
        self, columns: BoolArray, rows: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Outputs of the model on the completed rows, (n_points, n_draws, n_outputs)."""
        completions = self._complete(columns, rows)

        def outputs(model: Any, index: npt.NDArray[Any]) -> FloatArray:
            chosen = completions.rows[index]
            flat = model_output(model, chosen.reshape(-1, chosen.shape[2]))
            return np.asarray(flat.reshape(*chosen.shape[:2], -1))

        index = np.arange(len(completions.rows))
        return (
            self._held_out.apply(outputs, index, None if rows is None else index),
            completions.weights,
        )

    def _complete(self, columns: BoolArray, rows: FloatArray | None) -> Completions:
        points, own = (self.X, np.arange(len(self.X))) if rows is None else (rows, None)
        return self._completer.complete(points, columns, own, self._rng(columns))


def _average(outputs: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        return np.asarray(outputs.mean(axis=1))
    return np.asarray(np.einsum("id,idk->ik", weights, outputs))


def _completer(
    X: FloatArray,
    conditional: str,
    mean: npt.ArrayLike | None,
    covariance: npt.ArrayLike | None,
    n_draws: int,
) -> Completer:
    if conditional == "copula":
        return CopulaCompleter(X, n_draws)
    if conditional == "empirical":
        return EmpiricalCompleter(X, n_draws)
    if conditional != "gaussian":
        raise InputError(
            f"conditional must be 'gaussian', 'copula' or 'empirical', not {conditional!r}."
        )
    centre = X.mean(axis=0) if mean is None else np.asarray(mean, dtype=np.float64)
    spread = np.cov(X.T) if covariance is None else np.asarray(covariance, dtype=np.float64)
    return GaussianCompleter(centre, np.atleast_2d(spread), n_draws)

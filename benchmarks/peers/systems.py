"""shaff and its peers: each by the call that its own documentation shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import train_test_split

from benchmarks.peers.data import Data
from shaff._util.typing import FloatArray

LEVEL = 0.9
# Rows that stand for the inputs that a marginal or interventional explainer leaves out.
BACKGROUND = 100
# Rows whose local values are averaged by tools that are too slow for all of them.
LOCAL_ROWS = 40


@dataclass(frozen=True, eq=False)
class Found:
    """Importances of the inputs; intervals where there are any."""

    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Peer:
    """A tool: what is called, what its numbers are, and the packages it takes.

    ``shares`` says whether they are shares of the variance of y, so that they have an error beside
    the order and proportions.
    """

    call: Callable[[Data, int], Found]
    question: str
    package: str
    shares: bool = False


@dataclass(frozen=True, eq=False)
class Fitted:
    """A LightGBM and the quarter of the rows that it has only stopped on."""

    model: Any
    X: FloatArray
    y: FloatArray
    X_new: FloatArray
    y_new: FloatArray

    def predict(self, rows: Any) -> FloatArray:
        """Probability of 1 of two classes, else the mean."""
        ask = getattr(self.model, "predict_proba", None)
        return np.asarray(self.model.predict(rows) if ask is None else ask(rows)[:, 1])


def fitted(data: Data, seed: int) -> Fitted:
    import lightgbm

    X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=0.25, random_state=seed)
    kind = lightgbm.LGBMClassifier if data.classes else lightgbm.LGBMRegressor
    model = kind(n_estimators=500, learning_rate=0.05, random_state=seed, n_jobs=1, verbose=-1)
    stop = lightgbm.early_stopping(20, verbose=False)
    model.fit(X, y, eval_set=[(X_new, y_new)], callbacks=[stop])
    return Fitted(model, X, y, X_new, y_new)


# shaff


def shaff(data: Data, seed: int) -> Found:
    from shaff import ShapleyEffects

    return of_result(ShapleyEffects(random_state=seed, n_jobs=1).fit(data.X, data.y).result_)


def shaff_published(data: Data, seed: int) -> Found:
    from shaff import ShapleyEffects

    est = ShapleyEffects.as_published(random_state=seed, n_jobs=1)
    return of_result(est.fit(data.X, data.y).result_)


def of_result(result: Any) -> Found:
    low, high = result.confidence_interval(LEVEL)
    return Found(result.effects, low, high)


# Local values of trees


def shap_values(data: Data, seed: int, background: int | None) -> FloatArray:
    import shap

    found = fitted(data, seed)
    rows = None if background is None else shap.sample(found.X, background, random_state=seed)
    kind = "tree_path_dependent" if rows is None else "interventional"
    explainer = shap.TreeExplainer(found.model, rows, feature_perturbation=kind)
    values = np.asarray(explainer.shap_values(found.X_new))
    return values[..., -1] if values.ndim == 3 else values


def shap_paths(data: Data, seed: int) -> Found:
    return Found(np.abs(shap_values(data, seed, None)).mean(axis=0))


def shap_paths_variance(data: Data, seed: int) -> Found:
    return Found(shap_values(data, seed, None).var(axis=0) / data.y.var())


def shap_interventional(data: Data, seed: int) -> Found:
    return Found(np.abs(shap_values(data, seed, BACKGROUND)).mean(axis=0))


def lightshap(data: Data, seed: int) -> Found:
    from lightshap import explain_tree

    found = fitted(data, seed)
    values = np.asarray(explain_tree(found.model, found.X_new).shap_values)
    return Found(np.abs(values[..., -1] if values.ndim == 3 else values).mean(axis=0))


def shapiq(data: Data, seed: int) -> Found:
    from shapiq import TabularExplainer

    found = fitted(data, seed)
    explainer = TabularExplainer(found.predict, found.X, imputer="conditional", index="SV",
                                 max_order=1, random_state=seed)  # fmt: skip
    budget = min(2 ** data.X.shape[1], 256)
    values = [explainer.explain(row, budget=budget).get_n_order_values(1)
              for row in found.X_new[:LOCAL_ROWS]]  # fmt: skip
    return Found(np.abs(values).mean(axis=0))


# Shares of a loss


def qshap(data: Data, seed: int) -> Found:
    from qshap import gazer

    found = fitted(data, seed)
    return Found(np.asarray(gazer(found.model).rsq(found.X_new, found.y_new)).ravel())


def sage(data: Data, seed: int) -> Found:
    import sage as package

    found = fitted(data, seed)
    imputer = package.MarginalImputer(found.predict, found.X[:BACKGROUND])
    estimator = package.PermutationEstimator(imputer, "mse", random_state=seed)
    told = estimator(found.X_new, found.y_new, bar=False, thresh=0.05)
    scale, error = data.y.var(), 1.645 * told.std / data.y.var()
    return Found(told.values / scale, told.values / scale - error, told.values / scale + error)


def hidimstat_sage(data: Data, seed: int) -> Found:
    from hidimstat import SAGE

    found = fitted(data, seed)
    asked = SAGE(Predicts(found), random_state=seed)
    asked.fit(found.X, found.y)
    return Found(np.asarray(asked.importance(found.X_new, found.y_new)) / data.y.var())


def hidimstat_cfi(data: Data, seed: int) -> Found:
    from hidimstat import CFI

    found = fitted(data, seed)
    asked = CFI(Predicts(found), random_state=seed, feature_types="continuous")
    asked.fit(found.X, found.y)
    return Found(np.asarray(asked.importance(found.X_new, found.y_new)))


class Predicts(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted model whose ``predict`` is the mean, also of two classes."""

    def __init__(self, found: Any = None) -> None:
        self.found = found
        self.n_features_in_ = 0 if found is None else found.X.shape[1]

    def predict(self, rows: Any) -> FloatArray:
        return self.found.predict(rows)

    def fit(self, X: Any, y: Any) -> Predicts:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


def fippy(data: Data, seed: int) -> Found:
    """Conditional SAGE with Gaussian conditionals."""
    import pandas as pd
    from fippy import Explainer
    from fippy.losses import squared_error
    from fippy.samplers import GaussianSampler

    found = fitted(data, seed)
    names = [f"x{j}" for j in range(data.X.shape[1])]
    train, new = (pd.DataFrame(rows, columns=names) for rows in (found.X, found.X_new))
    np.random.seed(seed)
    asked = Explainer(lambda rows: found.predict(np.asarray(rows)), train, squared_error,
                      sampler=GaussianSampler(train))  # fmt: skip
    told = asked.sage(new, found.y_new, distribution="conditional", n_samples=20)
    return Found(np.asarray(told.importance()["importance"].reindex(names)) / data.y.var())


def vimpy(data: Data, seed: int) -> Found:
    import lightgbm
    from vimpy.spvim import spvim

    np.random.seed(seed)
    model = lightgbm.LGBMRegressor(n_estimators=100, learning_rate=0.1, n_jobs=1, verbose=-1)
    asked = spvim(data.y, data.X, "r_squared", 2, model)
    asked.get_point_est()
    return Found(np.asarray(asked.vimp_).ravel()[1:])


# Straight from the rows


def pyfirst(data: Data, seed: int) -> Found:
    from pyfirst import ShapleySobolKNN

    return Found(np.asarray(ShapleySobolKNN(data.X, data.y, noise=True, random_state=seed)))


# Known distributions, and a model in place of the simulator


def salib(data: Data, seed: int) -> Found:
    """Independent inputs, uniform over the ranges of the data."""
    from SALib.analyze import shapley
    from SALib.sample import shapley as sampling

    found = fitted(data, seed)
    bounds = np.column_stack([data.X.min(axis=0), data.X.max(axis=0)]).tolist()
    names = [f"x{j}" for j in range(len(bounds))]
    problem = {"num_vars": len(bounds), "names": names, "bounds": bounds}
    points = sampling.sample(problem, 1000, seed=seed)
    told = shapley.analyze(problem, points, found.predict(points))
    return Found(np.asarray(told["shapley_normalized"]))


ORDERS, OUTER, INNER = 60, 100, 3


def openturns(data: Data, seed: int) -> Found:
    """Song's algorithm by hand: normal copula and kernel-smoothed margins of OpenTURNS, random
    orders, the model in place of the simulator."""
    import openturns as ot

    found = fitted(data, seed)
    ot.RandomGenerator.SetSeed(seed)
    margins = [ot.KernelSmoothing().build(ot.Sample(x[:, None])) for x in found.X.T]
    copula = ot.NormalCopulaFactory().build(ot.Sample(found.X))
    correlation = np.asarray(copula.getShapeMatrix())
    rng = np.random.default_rng(seed)

    levels = np.linspace(0.001, 0.999, 500)
    quantiles = [np.ravel(margin.computeQuantile(levels)) for margin in margins]

    def inputs(z: FloatArray) -> FloatArray:
        each = zip(ndtr(z).T, quantiles, strict=True)
        return np.column_stack([np.interp(u, levels, known) for u, known in each])

    p = data.X.shape[1]
    effects = np.zeros(p)
    for _ in range(ORDERS):
        order, before = rng.permutation(p), 0.0
        for size in range(1, p + 1):
            value = given_rest(order[size:], correlation, inputs, found.predict, rng)
            effects[order[size - 1]] += (value - before) / ORDERS
            before = value
    return Found(effects)


def given_rest(
    rest: FloatArray, correlation: FloatArray, inputs: Any, predict: Any, rng: Any
) -> float:
    """E Var(f | X_rest), by inner samples of the normals behind the other inputs."""
    p = len(correlation)
    free = np.setdiff1d(np.arange(p), rest)
    draws = rng.multivariate_normal(np.zeros(p), correlation, size=OUTER)
    z = np.repeat(draws, INNER, axis=0)
    known = correlation[np.ix_(rest, rest)]
    # Copies of an input make this matrix singular.
    slope = correlation[np.ix_(free, rest)] @ np.linalg.pinv(known) if len(rest) else None
    left = correlation[np.ix_(free, free)]
    if slope is not None:
        left = left - slope @ correlation[np.ix_(rest, free)]
    noise = rng.multivariate_normal(np.zeros(len(free)), left, size=len(z), method="eigh")
    z[:, free] = noise if slope is None else z[:, rest] @ slope.T + noise
    return float(predict(inputs(z)).reshape(OUTER, INNER).var(axis=1, ddof=1).mean())


# Importances of scikit-learn and of an additive model


def permutation(data: Data, seed: int) -> Found:
    from sklearn.inspection import permutation_importance

    found = fitted(data, seed)
    told = permutation_importance(found.model, found.X_new, found.y_new, n_repeats=10,
                                  random_state=seed)  # fmt: skip
    return Found(told.importances_mean)


def impurity(data: Data, seed: int) -> Found:
    from sklearn.ensemble import RandomForestRegressor

    return Found(RandomForestRegressor(random_state=seed).fit(data.X, data.y).feature_importances_)


def additive(data: Data, seed: int) -> Found:
    """EBM; a pair shares its importance equally."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if data.classes else ExplainableBoostingRegressor
    model = kind(random_state=seed, n_jobs=1).fit(data.X, data.y)
    values = np.zeros(data.X.shape[1])
    for term, importance in zip(model.term_features_, model.term_importances(), strict=True):
        values[list(term)] += importance / len(term)
    return Found(values)


EVERY: dict[str, Peer] = {
    "shaff": Peer(shaff, "Shapley effects", "shaff", shares=True),
    "shaff, as published": Peer(shaff_published, "Shapley effects", "shaff", shares=True),
    "qshap": Peer(qshap, "Shapley shares of a tree model's R²", "qshap", shares=True),
    "pyfirst": Peer(pyfirst, "Shapley effects by neighbours", "pyfirst", shares=True),
    "fippy, conditional SAGE": Peer(fippy, "shares of the loss, Gaussian", "fippy", shares=True),
    "sage-importance": Peer(sage, "shares of the loss, marginal", "sage-importance", shares=True),
    "hidimstat, SAGE": Peer(
        hidimstat_sage, "shares of the loss, marginal", "hidimstat", shares=True
    ),
    "hidimstat, CFI": Peer(hidimstat_cfi, "what is lost without the input", "hidimstat"),
    "vimpy, SPVIM": Peer(vimpy, "Shapley shares of R², refitted", "vimpy", shares=True),
    "shap": Peer(shap_paths, "mean |value|, tree paths", "shap"),
    "shap, variance": Peer(shap_paths_variance, "variance of the values", "shap"),
    "shap, interventional": Peer(shap_interventional, "mean |value|, interventional", "shap"),
    "lightshap": Peer(lightshap, "mean |value|, tree paths", "lightshap"),
    "shapiq": Peer(shapiq, "mean |value|, conditional", "shapiq"),
    "SALib": Peer(salib, "Shapley effects, independent inputs", "SALib"),
    "OpenTURNS, by hand": Peer(openturns, "Shapley effects, normal copula", "openturns"),
    "permutation importance": Peer(permutation, "loss when shuffled", "scikit-learn"),
    "impurity of a forest": Peer(impurity, "gains of splits", "scikit-learn"),
    "EBM": Peer(additive, "mean |term|", "interpret-core"),
}
# Tools of R: packages that neither Debian nor PyPI carries.
NOT_RUN = {
    "R sensitivity": "needs CRAN packages that Debian does not carry",
    "pyshapr": "needs R and CRAN's shapr, which Debian does not carry",
}
QUICK = ("shaff", "qshap", "pyfirst", "sage-importance", "hidimstat, CFI", "shap",
         "shap, interventional", "lightshap", "SALib", "permutation importance",
         "impurity of a forest", "EBM")  # fmt: skip

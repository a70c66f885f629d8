"""Progress: each step with its name, and nothing that stops a fit."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((60, 3))
    return X, X[:, 0] + X[:, 1] ** 2


def test_growing_and_pricing_are_told(rows, capsys):
    ShapleyEffects("stack", n_subsets=4, random_state=0, verbose=1).fit(*rows)
    out, err = capsys.readouterr()
    assert out == ""
    growing, evaluating = (err.index(step) for step in ("Growing learners", "Evaluating subsets"))
    assert growing < evaluating


def test_bars_stay_at_home_when_models_are_fitted_in_other_processes(rows, capsys):
    settings = {"estimator": LinearRegression(), "n_subsets": 8, "random_state": 0, "n_jobs": 2}
    loud, silent = (
        ShapleyEffects.preset("williamson", **settings, verbose=verbose).fit(*rows).effects_
        for verbose in (1, 0)
    )
    assert loud.tolist() == silent.tolist()
    assert "Growing learners" in capsys.readouterr().err

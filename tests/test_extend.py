"""Value functions, designs and solvers from outside: names, clones, pickles, checkpoints."""

import pickle

import numpy as np
import pytest
from extensions import Additive, Half, OneOrder
from sklearn.base import clone

from shaff import ShapleyEffects
from shaff.errors import InputError, InputTypeError, UserError

X = np.random.default_rng(0).normal(size=(40, 5))
Y = X.sum(axis=1)
SHARES = 0.5 / 2.0 ** np.arange(5)


def test_a_value_function_from_outside_is_evaluated():
    est = ShapleyEffects(Additive(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(est.effects_, SHARES, atol=1e-9)
    assert est.result_.estimator == "additive"
    est.set_params(estimator=Additive(0.25)).fit(X, Y)
    np.testing.assert_allclose(est.effects_, SHARES / 2, atol=1e-9)


def test_a_design_from_outside_brings_its_solver():
    est = ShapleyEffects(Additive(), design=OneOrder(), random_state=0).fit(X, Y)
    assert (est.result_.design, est.result_.solver) == ("one_order", "permutations")
    np.testing.assert_allclose(est.effects_, SHARES, atol=1e-9)


def test_a_solver_from_outside_is_asked():
    est = ShapleyEffects(Additive(), design="exhaustive", solver=Half(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(est.effects_, SHARES.sum() / 2)
    assert est.result_.solver == "half"
    assert est.result_.standard_errors is None  # without a linear map


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(InputError, match='solver="half" needs a design of subsets, not \'one_o'):
        ShapleyEffects(Additive(), design=OneOrder(), solver=Half()).fit(X, Y)
    with pytest.raises(InputTypeError, match="a ValueSetting, or a model"):
        ShapleyEffects(estimator=3).fit(X, Y)
    for settings in ({"design": Half()}, {"solver": OneOrder()}):
        with pytest.raises(UserError, match="is unknown: use one of"):
            ShapleyEffects(Additive(), **settings).fit(X, Y)


def test_clone_and_pickle():
    est = ShapleyEffects(Additive(0.3), design=OneOrder(), solver="permutations", random_state=0)
    for copy in (clone(est), pickle.loads(pickle.dumps(est))):
        assert (copy.estimator, copy.design) == (est.estimator, est.design)
        assert copy.fit(X, Y).effects_.tolist() == est.fit(X, Y).effects_.tolist()
    fitted = pickle.loads(pickle.dumps(est))
    assert fitted.effects_.tolist() == est.effects_.tolist()


def test_checkpoints_tell_settings_apart(tmp_path, monkeypatch):
    def fit(setting):
        return ShapleyEffects(setting, random_state=0, checkpoint=tmp_path).fit(X, Y).effects_

    first = fit(Additive(0.3))
    n_files = len(list(tmp_path.iterdir()))
    assert n_files > 0
    assert fit(Additive(0.4)).tolist() != first.tolist()
    assert len(list(tmp_path.iterdir())) == 2 * n_files
    # The same setting finds its files: it is not asked again.
    monkeypatch.setattr("extensions.AdditiveValues.values", None)
    assert fit(Additive(0.3)).tolist() == first.tolist()


def test_no_subset_is_asked_for_twice(monkeypatch):
    made = []
    make = Additive.make

    def keep(self, problem):
        made.append(make(self, problem))
        return made[-1]

    monkeypatch.setattr(Additive, "make", keep)
    for design in ("gaussian_process", "leverage", "antithetic", "exhaustive"):
        est = ShapleyEffects(Additive(), design=design, random_state=0).fit(X, Y)
        assert len(made[-1].asked) == len(set(made[-1].asked)) == est.result_.n_subsets

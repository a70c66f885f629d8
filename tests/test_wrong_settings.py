"""Settings that cannot be meant: one sentence before anything is computed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from shaff import ShapleyEffects, explain_many
from shaff._util.words import repeated
from shaff.errors import MemoryFullError, UserError

X = np.random.default_rng(0).standard_normal((60, 3))
Y = X[:, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_jobs": 0}, "n_jobs=0: expected None"),
        ({"n_jobs": "a"}, "n_jobs='a': expected None"),
        ({"n_jobs": 1.5}, r"n_jobs=1\.5: expected None"),
        ({"random_state": -1}, "random_state=-1: expected None, a whole number from 0"),
        ({"random_state": 2**40}, "random_state=1099511627776: expected"),
        ({"random_state": 1.5}, r"random_state=1\.5: expected"),
        ({"random_state": "a"}, "random_state='a': expected"),
        ({"random_state": np.random.default_rng(0)}, "random_state=Generator"),
        ({"categorical": None}, 'categorical=None: pass "auto"'),
        ({"categorical": 5}, 'categorical=5: pass "auto"'),
        ({"groups": {"a": 5}}, r"groups\['a'\] must be a list of columns, not 5"),
        ({"groups": {"a": "x0"}}, r"groups\['a'\] must be a list of columns, not 'x0'"),
        ({"checkpoint": 5, "random_state": 0}, "checkpoint=5: expected a folder"),
        ({"checkpoint": "", "random_state": 0}, "checkpoint='': expected a folder"),
        ({"verbose": "loud"}, "verbose='loud': expected 0 or 1"),
        ({"checkpoint": "a\0", "random_state": 0}, "zero byte"),
        ({"cv": []}, "cv has no folds"),
        ({"cv": [1, 2]}, "cv"),
    ],
)
def test_settings_are_refused_in_one_line(settings, message):
    with pytest.raises(UserError, match=message) as found:
        ShapleyEffects("smooth", **settings).fit(X, Y)
    assert "\n" not in str(found.value)


def test_a_class_is_no_model():
    with pytest.raises(UserError, match=r"Ridge is a class: pass a model, Ridge\(\)"):
        ShapleyEffects(Ridge).fit(X, Y)


def test_numbers_of_thousands_of_digits():
    labels = [10**5000, 1] * 30
    for read in (lambda: ShapleyEffects("smooth").fit(X, Y, row_groups=labels),
                 lambda: explain_many(X, Y, by=labels),
                 lambda: ShapleyEffects("smooth", categorical=["a"]).fit(
                     pd.DataFrame({"a": pd.Series(labels, dtype=object), "b": Y}), Y)):  # fmt: skip
        with pytest.raises(UserError, match="thousands of digits"):
            read()
    with pytest.raises(UserError, match="beyond all floating-point numbers"):
        ShapleyEffects("smooth").fit([[10**400, 1.0]] * 60, Y)


@pytest.mark.parametrize("jobs", [0, "a", 1.5])
def test_many_fits_ask_the_same(jobs):
    with pytest.raises(UserError, match="n_jobs="):
        explain_many(X, Y, by=Y > 0, n_jobs=jobs)


@pytest.mark.parametrize("table", [X[:, 0], X + 1j, [[1], [1, 2]] * 30, X[:, :, None]])
def test_what_scikit_learn_says_is_one_line(table):
    with pytest.raises(UserError) as found:
        ShapleyEffects("smooth").fit(table, Y)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 300


def test_full_memory_is_a_sentence(monkeypatch):
    def full(*_):
        raise MemoryError("Unable to allocate 9 EiB")

    est = ShapleyEffects("smooth", random_state=0).fit(X, Y)
    monkeypatch.setattr("shaff.estimator.draw", full)
    monkeypatch.setattr("shaff.estimator.find_interactions", full)
    monkeypatch.setattr("shaff.estimator.read_new_rows", full)
    calls = (lambda: est.fit(X, Y), est.interactions, lambda: est.explain(X))
    for call in calls:
        with pytest.raises(MemoryFullError, match=r"^memory is full: take fewer rows"):
            call()
    assert issubclass(MemoryFullError, MemoryError)


def test_names_are_compared_in_one_pass():
    names = [f"x{k}" for k in range(300_000)]
    assert repeated(names) is None
    assert repeated([*names, "x299999"]) == "x299999"


@pytest.mark.parametrize(
    "index",
    [["a"] * 60, pd.MultiIndex.from_arrays([np.arange(60) // 2, ["u"] * 60]), np.arange(60)[::-1]],
    ids=["same", "multi", "reversed"],
)
def test_any_index_of_pandas_is_kept_with_single_rows(index):
    frame = pd.DataFrame(X, columns=list("abc"), index=index)
    est = ShapleyEffects("smooth", random_state=0, max_rows=40).fit(
        frame, pd.Series(Y, index=index)
    )
    plain = ShapleyEffects("smooth", random_state=0, max_rows=40).fit(X, Y)
    assert est.effects_.tolist() == plain.effects_.tolist()
    fitted = est.explain()
    assert fitted.to_frame().index.equals(frame.index[fitted.rows])
    new = est.explain(frame[5:9])
    assert new.to_frame().index.equals(frame.index[5:9])
    assert new.take([2, 0]).to_frame().index.equals(frame.index[[7, 5]])
    assert new.to_frame("polars").columns == new.to_frame().columns.tolist()


def test_rows_of_several_outputs_keep_their_index():
    frame = pd.DataFrame(X, index=[f"row {k}" for k in range(60)])
    labels = np.array(["u", "v", "w"])[np.arange(60) % 3]
    labels[X[:, 0] > 0] = "u"
    local = ShapleyEffects("smooth", random_state=0).fit(frame, labels).explain().to_frame()
    assert local.index.tolist() == frame.index.tolist() * 3

"""Shapes of effects: curves of known shape, noise, interactions, and what results say of them."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from shaff import ShapleyEffects, load_result
from shaff.results.direction import DIRECTIONS, Shape, negligible

X = np.linspace(-1, 1, 400)
SHAPES = {
    "increasing": [X, np.exp(3 * X), np.tanh(9 * X), X > 0.2],
    "decreasing": [-X, -np.sqrt(X + 1), X < -0.5],
    "U-shaped": [X**2, np.abs(X - 0.2), (X > 0.5) | (X < -0.5)],
    "inverted U": [-(X**2), np.cos(2 * X)],
    "mixed": [np.sin(7 * X), np.sin(12 * X)],
}


@pytest.mark.parametrize("direction", SHAPES)
def test_curves_of_known_shape(direction):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    for curve in SHAPES[direction]:
        y = np.asarray(curve, dtype=float) - np.mean(curve)
        for noise in (0.0, 0.5 * y.std()):
            values = y + noise * rng.standard_normal(len(y))
            assert Shape.of(X[order], values[order], 0.01).direction == direction


def test_what_others_decide_is_mixed():
    rng = np.random.default_rng(1)
    x, z = rng.standard_normal((2, 500))
    assert Shape.of(x, x * z, 0.01).direction == "mixed"


def test_nothing_has_no_direction():
    assert Shape.of(X, 0.001 * X, 0.01).direction == "none"
    assert negligible(100, 1.0) > negligible(1000, 1.0) > negligible(10**6, 1.0) == 0.02


def test_two_values_and_a_constant():
    x = np.repeat([0.0, 1.0], 50)
    assert Shape.of(x, 1 - 2 * x, 0.01).direction == "decreasing"
    assert Shape.of(np.ones(50), np.ones(50), 0.01) is None
    assert Shape.of(np.arange(5.0), np.arange(5.0), 0.01) is None


def test_missing_entries_are_left_out():
    x, y = X.copy(), X.copy()
    x[:50], y[-50:] = np.nan, np.nan
    shape = Shape.of(x, y, 0.01)
    assert shape.direction == "increasing"
    assert np.isfinite(shape.x).all()
    assert np.isfinite(shape.y).all()


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(2)
    n = 400
    frame = pd.DataFrame(rng.uniform(-1, 1, (n, 4)), columns=["up", "down", "bowl", "noise"])
    frame["town"] = rng.choice(["Bern", "Oslo"], n)
    y = frame["up"] - frame["down"] ** 3 + 2 * frame["bowl"] ** 2 + (frame["town"] == "Oslo")
    return ShapleyEffects("smooth", random_state=0).fit(frame, y + 0.1 * rng.normal(size=n))


def test_results_say_which_way(told):
    result = told.result_
    assert result.directions == {
        "up": "increasing", "down": "decreasing", "bowl": "U-shaped", "noise": "none",
    }  # fmt: skip
    assert set(result.directions.values()) <= set(DIRECTIONS)
    frame = result.to_frame().set_index("input")["direction"]
    assert frame["bowl"] == "U-shaped"
    assert frame.isna()["town"]
    assert "increasing" in result.summary()
    again = load_result(result.to_json())
    assert again.directions == result.directions
    np.testing.assert_array_equal(again.curves["up"], result.curves["up"])
    assert not again.curves["up"].flags.writeable


def test_they_are_those_of_the_local_values(told):
    local = told.explain()
    known = {n: d for n, d in zip(local.names, local.directions, strict=True) if d is not None}
    assert known == told.result_.directions
    place = local.names.index("up")
    np.testing.assert_allclose(local.shapes()[place].y, told.result_.curves["up"][1], atol=1e-6)


def test_results_without_directions_have_no_column(told):
    bare = dataclasses.replace(told.result_, directions=None, curves=None)
    assert "direction" not in bare.to_frame().columns
    assert "direction" not in bare.summary()


@pytest.mark.parametrize("family", ["boosting", "forest"])
def test_other_learners_know_them_too(family):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (400, 2))
    est = ShapleyEffects(family, random_state=0).fit(x, x[:, 0] + 0.1 * rng.normal(size=400))
    assert est.result_.directions == {"x0": "increasing", "x1": "none"}


def test_several_classes_have_no_common_direction():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (200, 2))
    classes = np.digitize(x[:, 0], [-0.3, 0.3]).astype(str)
    est = ShapleyEffects("smooth", random_state=0).fit(x, classes)
    assert est.result_.directions is None
    assert est.explain().of("2").directions[0] == "increasing"

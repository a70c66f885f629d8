"""Shapes of effects: curves of known shape, noise, interactions, and what results say of them."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from shaff import ShapleyEffects, load_result
from shaff.results.direction import (
    CURVE,
    DIRECTIONS,
    NOTHING,
    SOMETHING,
    Shape,
    direction_words,
    evidence,
    evidence_by_size,
    negligible,
)

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
    assert negligible(2.0) == 0.04


def test_what_the_rows_do_not_tell_is_unclear():
    known = {"increasing": CURVE, "unclear": SOMETHING}
    for direction, what in known.items():
        assert Shape.of(X, X, 0.01, what).direction == direction
    assert Shape.of(X, X, 0.01, NOTHING).direction == "unclear"
    assert Shape.of(X, 0.001 * X, 0.01, NOTHING).direction == "none"
    # However small: the rows bear it out.
    assert Shape.of(X, 0.001 * X, 0.01, CURVE).direction == "increasing"


def test_evidence_is_in_the_outcome():
    rng = np.random.default_rng(7)
    x, z, noise = rng.standard_normal((3, 300))
    assert evidence(x, 0.1 * x, [x + noise, noise]) == CURVE  # copies leave nothing to each other
    assert evidence(x, 0.5 * x, [noise - 2 * x, noise + x]) == CURVE  # beside others only
    assert evidence(x, -0.1 * x, [x + noise]) == NOTHING  # the wrong way
    assert evidence(x, z + 0.1 * x, [z + noise - x]) == SOMETHING
    assert evidence(x[:10], x[:10], [x[:10]]) == NOTHING
    assert evidence_by_size(0.3, 100, 1.0) == CURVE > evidence_by_size(0.1, 100, 1.0) == NOTHING


def test_rows_of_a_group_are_one_piece_of_evidence():
    rng = np.random.default_rng(8)
    few, groups = rng.standard_normal((2, 30)), np.repeat(np.arange(30), 40)
    x, noise = few[:, groups]
    outcome = 0.25 * x + noise
    assert evidence(x, x, [outcome]) == CURVE
    assert evidence(x, x, [outcome], groups) == NOTHING


def test_useless_inputs_have_no_direction():
    """Two questions at 5 % together, and a curve besides."""
    rng, wrong = np.random.default_rng(9), 0
    for seed in range(10):
        x = rng.standard_normal((150, 5))
        y = x[:, 0] + rng.standard_normal(150)
        found = ShapleyEffects("smooth", random_state=seed).fit(x, y).result_.directions
        assert found["x0"] == "increasing"
        wrong += sum(found[f"x{k}"] not in ("unclear", "none") for k in range(1, 5))
    assert wrong <= 3


def test_copies_of_a_strong_input_have_its_direction():
    rng = np.random.default_rng(10)
    z = rng.standard_normal(200)
    x = z[:, None] + 0.2 * rng.standard_normal((200, 12))
    result = ShapleyEffects("smooth", random_state=0).fit(x, z + 0.3 * rng.normal(size=200)).result_
    assert set(result.directions.values()) == {"increasing"}


def test_two_classes_say_towards_which():
    rng = np.random.default_rng(11)
    x = pd.DataFrame(rng.uniform(-1, 1, (300, 3)), columns=["up", "down", "bowl"])
    score = x["up"] - x["down"] + 3 * x["bowl"] ** 2 - 1
    classes = np.where(score + 0.2 * rng.normal(size=300) > 0, "yes", "no")
    result = ShapleyEffects("smooth", random_state=0).fit(x, classes).result_
    assert result.directions["up"] == "increasing"
    shown = result.to_frame().set_index("input")["direction"].to_dict()
    assert shown == {"up": "towards yes", "down": "towards no", "bowl": "yes at both ends"}
    assert "towards no" in result.summary()
    assert direction_words("inverted U", ("no", "yes")) == "yes in the middle"
    assert direction_words("mixed", ("no", "yes")) == "mixed"


def test_a_title_does_not_deny_what_the_curve_shows():
    bent = np.where(np.abs(X) < 0.9, X, 0.7 * X)
    assert Shape.of(X, X, 0.01).words == "increasing"
    assert Shape.of(X, bent, 0.01).words == "increasing on the whole"
    assert Shape.of(X, X**2, 0.01).words == "U-shaped"


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
        "up": "increasing", "down": "decreasing", "bowl": "U-shaped", "noise": "unclear",
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
    assert est.result_.directions == {"x0": "increasing", "x1": "unclear"}


def test_several_classes_have_no_common_direction():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (200, 2))
    classes = np.digitize(x[:, 0], [-0.3, 0.3]).astype(str)
    est = ShapleyEffects("smooth", random_state=0).fit(x, classes)
    assert est.result_.directions is None
    assert est.explain().of("2").directions[0] == "increasing"
    assert est.explain(x).of("2").directions[0] == "increasing"
    assert est.explain().of("2").directions[1] in ("unclear", "none")

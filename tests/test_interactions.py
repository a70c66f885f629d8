"""`ShapleyEffects.interactions`: values, errors, and what people see of them."""

import json
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from interaction_oracle import interaction_indices
from results import HOSTILE, rich_result
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects, load_result
from shaff._util.statistics import symmetric
from shaff.cli import main
from shaff.errors import InputError
from shaff.results.interactions import Interactions
from shaff.show.plots import InteractionsDisplay
from shaff.show.report import render
from shaff.subsets import Subsets
from shaff.uncertainty.shortfall import CORRECTION_REACH


def product(n=400, seed=0):
    """A product, a line, an idle column, and one that says nearly the same as the line."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 4] = X[:, 2] + 0.3 * rng.standard_normal(n)
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    return ShapleyEffects("smooth", random_state=0).fit(*product())


@pytest.fixture(scope="module")
def found(fitted):
    return fitted.interactions()


def many(n, names=None, seed=0):
    """Interactions of n players that were made, not computed."""
    n_pairs = n * (n - 1) // 2
    values = np.random.default_rng(seed).normal(size=n_pairs) / 50
    names = [f"a rather long name of player {k}" for k in range(n)] if names is None else names
    return Interactions(names, np.arange(n), values, {"data": np.full(n_pairs, 0.02)}, n_rows=9)


# Values ------------------------------------------------------------------------------------------


def test_the_index_of_a_real_fit_is_that_of_brute_force(fitted, found):
    kept = fitted._fitted_game

    def game(masks):
        v = np.zeros(len(masks))
        some = masks.any(axis=1)
        played = Subsets.from_masks(masks[some][:, kept.selection.kept])
        v[some] = kept.evaluator.evaluate(played).v
        return v

    np.testing.assert_allclose(found.values, interaction_indices(game, 5), atol=1e-10)
    assert not found.pair_errors["design"].any()
    assert found.n_subsets == 31


def test_products_are_above_0_and_copies_below(found):
    values, errors = found.values, found.standard_errors
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(np.diag(values), 0.0)
    assert values[0, 1] > 5 * errors[0, 1]
    assert values[2, 4] < -5 * errors[2, 4]
    assert abs(values[0, 3]) < 3 * errors[0, 3] + 0.01


def test_rows_sum_to_total_less_first_order(fitted, found):
    result = fitted.result_
    np.testing.assert_allclose(found.values.sum(axis=1), result.total - result.first_order)


@pytest.mark.parametrize(("estimator", "n"), [("forest", 400), ("boosting", 400), ("stack", 150)])
def test_every_learner_finds_the_product(estimator, n):
    X, y = product(n, seed=1)
    more = np.random.default_rng(0).standard_normal((len(X), 2))
    est = ShapleyEffects(estimator, n_subsets=20, random_state=0).fit(np.hstack([X, more]), y)
    found = pickle.loads(pickle.dumps(est)).interactions(n_subsets=50)
    assert found.n_subsets == 51
    assert found.pair_errors["design"].any()
    assert {tuple(pair) for pair in found.pairs[found.order[:2]]} == {(0, 1), (2, 4)}
    result = est.result_
    np.testing.assert_allclose(found.values.sum(axis=1), result.total - result.first_order)


def test_linear_gaussian_closed_form():
    rng = np.random.default_rng(3)
    covariance = np.array([[1, 0.7, 0], [0.7, 1, 0.2], [0, 0.2, 1]])
    beta = np.array([1.0, 0.5, -1.0])
    X = rng.multivariate_normal(np.zeros(3), covariance, size=2000)
    y = X @ beta + 0.5 * rng.standard_normal(2000)
    c, variance = covariance @ beta, beta @ covariance @ beta + 0.25

    def game(masks):
        return np.array(
            [c[u] @ np.linalg.solve(covariance[np.ix_(u, u)], c[u]) if u.any() else 0.0
             for u in masks]
        ) / variance  # fmt: skip

    found = ShapleyEffects("smooth", random_state=0).fit(X, y).interactions()
    truth = interaction_indices(game, 3)[np.triu_indices(3, 1)]
    low, high = found.confidence_interval(0.999)
    assert (low <= truth).all()
    assert (truth <= high).all()
    assert np.abs(found.pair_values - truth).max() < 0.05


def test_one_player_has_no_pairs_and_two_have_one():
    X, y = product()
    one = ShapleyEffects("smooth", random_state=0).fit(X[:, 2:3], y)
    assert one.interactions().values.tolist() == [[0.0]]
    assert len(one.interactions().to_frame()) == 0
    assert "one input has no pairs" in one.interactions().plot().ax_.texts[0].get_text()
    two = ShapleyEffects("smooth", random_state=0).fit(X[:, :2], y)
    result = two.result_
    expected = result.explained_variance - result.first_order.sum()
    np.testing.assert_allclose(two.interactions().pair_values, [expected])


def test_groups_are_players():
    X, y = product()
    frame = pd.DataFrame(X, columns=list("abcde"))
    est = ShapleyEffects("smooth", groups={"same": ["c", "e"]}, random_state=0).fit(frame, y)
    found = est.interactions()
    assert set(found.names) == {"a", "b", "d", "same"}
    top = found.pairs[found.order[0]]
    assert {found.names[j] for j in top} == {"a", "b"}


def test_classes_weights_and_row_groups():
    X, y = product()
    classes = np.where(y > 0, "high", "low")
    assert ShapleyEffects("forest", random_state=0).fit(X, classes).interactions().n_rows == 400
    est, groups = ShapleyEffects("forest", random_state=0), np.arange(400) // 4
    apart = est.fit(X, y, sample_weight=np.arange(400) % 3 + 1.0).interactions()
    together = est.fit(X, y, row_groups=groups).interactions()
    assert not np.array_equal(apart.values, together.values)
    data = together.pair_errors["data"]
    alone = ShapleyEffects("forest", random_state=0).fit(X, y).interactions().pair_errors["data"]
    assert (data > 0).all()
    assert not np.allclose(data, alone)


def test_screened_players_have_0_and_it_is_said():
    X, y = product(n=300)
    X = np.hstack([X, np.random.default_rng(1).standard_normal((300, 55))])
    est = ShapleyEffects("boosting", n_subsets=60, random_state=0).fit(X, y)
    found = est.interactions(n_subsets=150)
    out = est.result_.is_screened
    assert out.any()
    assert found.values.shape == (60, 60)
    assert not found.values[out].any()
    assert np.isnan(found.standard_errors[out]).all()
    assert not np.isnan(found.standard_errors[np.ix_(~out, ~out)]).any()
    assert f"{out.sum()} inputs of 60 were screened" in found.notes[0]
    assert tuple(found.pairs[found.order[0]]) in ((0, 1), (2, 4))


def test_models_designs_and_presets_of_all_kinds():
    X, y = product()
    forest = RandomForestRegressor(20, min_samples_leaf=5, random_state=0)
    published = ShapleyEffects.as_published(estimator=forest, random_state=0).fit(X, y)
    given = ShapleyEffects.from_fitted(
        forest.fit(X, y), X, y, rows="training", design="antithetic", n_subsets=20, random_state=0
    )
    linear = ShapleyEffects.preset(
        "williamson", estimator=LinearRegression(), n_subsets=20, random_state=0
    ).fit(X, y)
    for est in (published, given, linear):
        found = est.interactions()
        result = est.result_
        np.testing.assert_allclose(found.values.sum(axis=1), result.total - result.first_order)
    assert abs(linear.interactions().values[0, 1]) < 0.02


def test_a_constant_outcome_has_no_interactions():
    X = product()[0]
    with pytest.warns(UserWarning, match="constant"):
        est = ShapleyEffects(random_state=0).fit(X, np.ones(len(X)))
    found = est.interactions()
    assert not found.values.any()
    assert found.standard_errors is None
    assert "nothing to explain" in found.notes[0]


@pytest.mark.parametrize(
    "asked", [{"n_subsets": 1}, {"n_subsets": "all"}, {"tol": 0}, {"tol": "a"}]
)
def test_bad_questions_are_answered_in_a_sentence(fitted, asked):
    with pytest.raises(InputError, match=next(iter(asked))):
        fitted.interactions(**asked)


def test_before_fit():
    with pytest.raises(NotFittedError):
        ShapleyEffects().interactions()
    with pytest.raises(NotFittedError):
        clone(ShapleyEffects("smooth").fit(*product(n=60))).interactions()


@pytest.mark.parametrize("estimator", ["forest", "boosting"])
def test_a_fit_travels_and_gives_the_same_bits(estimator):
    X, y = product(n=80)
    est = ShapleyEffects(estimator, n_subsets=8, random_state=0, verbose=1).fit(X, y)
    effects = est.effects_.copy()
    travelled = pickle.loads(pickle.dumps(est))
    first = est.interactions(n_subsets=20)
    for other in (
        est.interactions(n_subsets=20),
        travelled.interactions(n_subsets=20),
        ShapleyEffects(estimator, n_subsets=8, random_state=0, n_jobs=2)
        .fit(X, y)
        .interactions(n_subsets=20),
    ):
        np.testing.assert_array_equal(first.pair_values, other.pair_values)
        for source, error in first.pair_errors.items():
            np.testing.assert_array_equal(error, other.pair_errors[source])
    np.testing.assert_array_equal(est.effects_, effects)


def test_it_stops_at_the_tolerance():
    X, y = product(n=200)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((200, 7))])
    est = ShapleyEffects("forest", n_subsets=60, random_state=0).fit(X, y)
    coarse = est.interactions(tol=0.05)
    fine = est.interactions(tol=1e-6)
    assert coarse.n_subsets < fine.n_subsets <= 121
    assert coarse.pair_errors["design"].max() < 0.1


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """y = X0 X1 + X2 + noise with independent inputs: v and its indices are known."""
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((600, 4))
        y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(600)
        found = ShapleyEffects(random_state=seed).fit(X, y).interactions()
        truth = np.zeros((4, 4))
        truth[0, 1] = 1 / 2.09
        low, high = found.confidence_interval()
        true = truth[tuple(found.pairs.T)]
        held.append((low <= true) & (true <= high))
    assert np.mean(held) >= 0.92


# What people see ---------------------------------------------------------------------------------


def test_intervals_span_plain_and_corrected_values():
    found = Interactions(("a", "b"), [0, 1], [0.2], {"data": [0.01]}, plain_pair_values=[0.1])
    low, high = found.confidence_interval()
    # Beyond both values by the correction, which tells what learners are likely to miss.
    missed = CORRECTION_REACH * 0.1
    expected = [0.1 - missed - 0.0196, 0.2 + missed + 0.0196]
    np.testing.assert_allclose([low[0], high[0]], expected, atol=1e-5)
    # Tests are about the plain values.
    assert (
        found.null_test()[0]
        > Interactions(("a", "b"), [0, 1], [0.2], {"data": [0.01]}).null_test()[0]
    )


def test_errors_of_all_sources_add_up():
    found = Interactions(("a", "b"), [0, 1], [0.2], {"data": [0.03], "design": [0.04]})
    np.testing.assert_allclose(found.standard_errors, [[0, 0.05], [0.05, 0]])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_sorted_by_strength(backend):
    found = many(6)
    frame = found.to_frame(backend)
    assert len(frame) == 15
    values = np.array(frame["interaction"])
    assert (np.diff(np.abs(values)) <= 0).all()
    matrix = found.values
    position = {name: k for k, name in enumerate(found.names)}
    names = [[str(name) for name in frame[side]] for side in ("input_1", "input_2")]
    for one, other, value in zip(*names, values, strict=True):
        assert matrix[position[one], position[other]] == value
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert columns == ["input_1", "input_2", "interaction", "low", "high", "standard_error",
                       "data_error", "p_value", "p_adjusted"]  # fmt: skip


def test_frames_come_in_the_library_that_came_in():
    X, y = product(n=80)
    frame = pd.DataFrame(X[:, :2])
    frame.columns = ["a", "b"]
    est = ShapleyEffects("smooth", random_state=0)
    assert isinstance(est.fit(frame, y).interactions().to_frame(), pd.DataFrame)


def test_bare_interactions_have_no_intervals():
    bare = Interactions(("a", "b"), [0, 1], [0.2])
    assert bare.standard_errors is None
    for ask in (bare.confidence_interval, bare.null_test):
        with pytest.raises(InputError, match="no standard errors"):
            ask()
    with pytest.raises(InputError, match="level"):
        many(3).confidence_interval(1.5)
    with pytest.raises(InputError, match="adjust"):
        many(3).null_test("bonferroni")
    with pytest.raises(InputError, match="shape"):
        Interactions(("a", "b"), [0, 1], [0.2, 0.3])


def test_arrays_are_read_only_also_after_travel():
    found = many(4)
    for some in (found, pickle.loads(pickle.dumps(found))):
        with pytest.raises(ValueError, match="read-only"):
            some.pair_values[0] = 1.0


def test_the_summary_names_the_strongest_pairs(found):
    text = found.summary(max_pairs=3)
    assert "x0 and x1" in text
    assert "... and 7 weaker pairs" in text
    assert "400 rows, 31 subsets." in text


def test_results_carry_interactions_through_json(tmp_path):
    found = many(5, rich_result().names)
    result = rich_result(interactions=found)
    back = load_result(result.to_json())
    np.testing.assert_array_equal(back.interactions.values, found.values)
    np.testing.assert_array_equal(back.interactions.standard_errors, found.standard_errors)
    assert load_result(rich_result().to_json()).interactions is None
    content = json.loads(result.to_json())
    content["interactions"]["pair_values"] = [1.0]
    with pytest.raises(InputError, match="damaged"):
        load_result(json.dumps(content))


def test_the_report_has_a_section(tmp_path):
    names = rich_result().names
    path = rich_result().to_html(tmp_path / "r.html", interactions=many(5, names))
    page = path.read_text(encoding="utf-8")
    assert "Which inputs act together" in page
    assert page.count('<rect class="') > 5
    assert "Which inputs act together" not in render(rich_result())


def test_hostile_names_stay_text():
    names = HOSTILE[:5]
    page = render(rich_result(names, interactions=many(5, names)))
    assert "<img src=x" not in page
    assert "</script><script>" not in page
    InteractionsDisplay.from_result(many(7, HOSTILE)).plot()


def test_the_command_line_shows_pairs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = product(n=120)
    frame = pd.DataFrame(X[:, :3], columns=["[a]", "b", "c"]).assign(price=y)
    frame.to_csv("data.csv", index=False)
    words = ["explain", "data.csv", "--target", "price", "--estimator", "smooth", "--interactions"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json", "r.json", "--html", "r.html"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "Strongest interactions" in out
    assert "[a] and b" in out
    assert load_result("r.json").interactions.target == "price"
    with pytest.raises(SystemExit):
        main(["show", "r.json"])
    assert "[a] and b" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words[:-1]])
    assert "Strongest interactions" not in capsys.readouterr().out


# Pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "max_inputs"), [(2, 20), (3, 20), (12, 20), (60, 20), (60, 60)])
def test_the_heat_map_is_readable(n, max_inputs, tmp_path):
    display = many(n).plot(max_inputs=max_inputs)
    shown = min(n, max_inputs)
    labels = display.ax_.get_yticklabels()
    assert len(labels) == shown - 1
    assert len({label.get_text() for label in labels}) == shown - 1
    figure = display.figure_
    figure.canvas.draw()
    heights = [label.get_window_extent() for label in labels]
    for above, below in pairwise(heights):
        assert above.y0 >= below.y1 - 1
    numbers = [text.get_text() for text in display.ax_.texts if text.get_text() not in "+−"]
    assert len(numbers) == (shown * (shown - 1) // 2 if shown <= 12 else 0)
    assert ("inputs in the strongest pairs" in display.ax_.get_xlabel()) == (shown < n)
    display.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0


def test_the_strongest_pair_stands_in_the_corner():
    values = symmetric(np.array([0.01, 0.0, -0.3, 0.0, 0.02, 0.0]), 4)
    display = InteractionsDisplay(tuple("abcd"), values).plot()
    image = display.ax_.images[0].get_array()
    assert image[0, 0] == -0.3
    assert np.isnan(image.filled(np.nan)[0, 1])
    frame = display.frame()
    assert frame["interaction"][0] == -0.3
    assert set(frame.columns) == {"input_1", "input_2", "interaction"}
    assert repr(display) == "InteractionsDisplay(4 inputs, on y)"


def test_no_interaction_at_all_is_drawn_too():
    Interactions(("a", "b", "c"), [0, 1, 2], [0.0, 0.0, 0.0]).plot().figure_.canvas.draw()

"""Selectors: what they keep, against brute force and known truth, and scikit-learn's checks."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from shaff import AllRelevantSelector, MinimalSetSelector, Selection, ShapleyEffects, load_result
from shaff.cli import main
from shaff.datasets import experiment_1a
from shaff.errors import InputError, InputTypeError
from shaff.fitting.refit import refit
from shaff.fitting.smallest_set import SetSearch, Step, Yardstick, smallest
from shaff.gaussian_process.value_model import ValueModel
from shaff.protocols import Values
from shaff.show.plots import PathDisplay
from shaff.subsets import Subsets
from shaff.uncertainty.inference import false_discovery_p_values

N_ROWS = 50
SMOOTH = ShapleyEffects("smooth", n_subsets=60)


def quick(**settings):
    """A small forest and few subsets."""
    forest = RandomForestRegressor(10, min_samples_leaf=2)
    return ShapleyEffects(forest, **{"n_subsets": 20, **settings})


@pytest.fixture(scope="module")
def linear():
    """Experiment 1a: columns 1, 11 and 12 are copies, 13 and 14 useless."""
    return experiment_1a(n=300, random_state=0)


@pytest.fixture(scope="module")
def table():
    """A category that matters, numbers that do or do not, and a copy."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    town = rng.integers(3, size=200)
    y = 2 * X[:, 0] + X[:, 1] + town + 0.3 * rng.standard_normal(200)
    return pd.DataFrame({
        "a": X[:, 0], "b": X[:, 1], "idle": X[:, 2], "town": np.array(["x", "y", "z"])[town],
        "copy": X[:, 0], "price": y,
    })  # fmt: skip


@pytest.fixture(scope="module")
def minimal(table):
    return MinimalSetSelector(SMOOTH, random_state=0).fit(table, "price")


@pytest.fixture(scope="module")
def relevant(table):
    return AllRelevantSelector(SMOOTH, random_state=0).fit(table, "price")


# The search, against brute force ------------------------------------------------------------------


class Game:
    """A game given by its values of all subsets; rows have random influences."""

    def __init__(self, v, p, seed=0):
        self.v, self.p = v, p
        self.psi = np.random.default_rng(seed).normal(size=(p, N_ROWS)).astype(np.float32)
        self.asked = set()

    def evaluate(self, subsets, influences=True):
        masks = subsets.masks()
        self.asked |= set(subsets.keys())
        v = self.v[masks @ (1 << np.arange(self.p))]
        return Values(subsets, v, 0.02 * (masks @ self.psi) if influences else None)

    def search(self, known=None, model=None, tolerance=None):
        full = self.evaluate(Subsets.full(self.p))
        yardstick = Yardstick.of(full, tolerance)
        known = full.without_rows() if known is None else known
        players = np.arange(self.p)
        return SetSearch(self.evaluate, model, players, self.p, yardstick, known), yardstick

    def best(self, size):
        """The largest value of any set of a size, and the standard error of what it loses."""
        sums = [sum(1 << j for j in some) for some in combinations(range(self.p), size)]
        code = max(sums, key=lambda code: self.v[code])
        psi = 0.02 * (masks_of(self.p)[[code, -1]] @ self.psi)
        return self.v[code], (psi[0] - psi[1]).std(ddof=1) / np.sqrt(N_ROWS)

    def smallest(self, tolerance=None):
        """The smallest size whose best set loses no more than a standard error, or so much."""
        best = [self.best(size) for size in range(self.p + 1)]
        losses = [(self.v[-1] - v, error if tolerance is None else tolerance) for v, error in best]
        return [loss <= allowed for loss, allowed in losses].index(True)


def masks_of(p):
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def additive_game(p=8, seed=0, interactions=0.3):
    """Non-negative parts of single players and pairs, the empty set at 0."""
    rng, masks = np.random.default_rng(seed), masks_of(p)
    pairs = rng.exponential(size=(p, p)) * (rng.random((p, p)) < 0.3) * interactions
    v = masks @ rng.exponential(size=p) ** 2 + np.einsum("si,ij,sj->s", masks, pairs, masks)
    return Game(v / v[-1], p, seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_enumerated", [True, False])
def test_the_search_finds_what_brute_force_finds(seed, is_enumerated):
    """Exactly where all subsets are known; else the size, and nearly its value."""
    game = additive_game(seed=seed)
    everything = game.evaluate(Subsets.from_masks(masks_of(8)[1:]), influences=False)
    search, yardstick = game.search(everything if is_enumerated else None)
    path = search.run()
    size, _ = smallest(path, yardstick, lambda mask: game.evaluate(Subsets.from_masks(mask)))
    assert size == game.smallest()
    assert path[size].v == pytest.approx(game.best(size)[0], abs=0 if is_enumerated else 0.01)
    assert [step.size for step in path] == list(range(9))
    if is_enumerated:
        for step in path:
            assert (step.v, step.error) == pytest.approx(game.best(step.size), rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_process_ranks_candidates_well_enough(seed):
    p = 10
    game = additive_game(p, seed)
    rng = np.random.default_rng(seed)
    some = rng.random((30, p)) < rng.random((30, 1))
    some = some[some.any(axis=1) & ~some.all(axis=1)]
    subsets = Subsets.from_masks(np.vstack([some, ~some, np.eye(p, dtype=bool)])).unique()
    known = game.evaluate(subsets, influences=False)
    model = ValueModel(subsets, known.v, float(game.v[-1]))
    game.asked.clear()
    search, yardstick = game.search(Values(subsets, known.v), model, tolerance=0.02)
    path = search.run()
    size, _ = smallest(path, yardstick, lambda mask: game.evaluate(Subsets.from_masks(mask)))
    assert size == game.smallest(0.02)
    assert len(game.asked) < 2**p / 4


def test_pairs_that_tell_nothing_alone_are_found_backward():
    p, masks = 6, masks_of(6)
    v = 0.6 * (masks[:, 1] & masks[:, 4]) + 0.4 * (masks[:, 0] & masks[:, 3])
    search, yardstick = Game(v, p).search(tolerance=0.01)
    path = search.run()
    size, _ = smallest(path, yardstick, lambda mask: Game(v, p).evaluate(Subsets.from_masks(mask)))
    assert np.flatnonzero(path[size].mask).tolist() == [0, 1, 3, 4]
    assert path[2].v == pytest.approx(0.6)


def test_a_set_that_refits_find_too_small_grows():
    game = additive_game(seed=1)
    search, yardstick = game.search(tolerance=0.1)
    path = search.run()
    first, same = smallest(path, yardstick, lambda m: game.evaluate(Subsets.from_masks(m)))
    assert np.isnan([step.refit for step in same]).sum() == len(path) - 1

    def worse(mask):
        """Refits lose 0.2 unless they have one player more than the search asks for."""
        values = game.evaluate(Subsets.from_masks(mask))
        return Values(values.subsets, values.v - 0.2 * (mask.sum() <= first), values.influences)

    size, checked = smallest(path, yardstick, worse)
    assert size == first + 1
    assert checked[first].refit == pytest.approx(path[first].v - 0.2)


def test_nothing_is_the_smallest_set_where_nothing_is_explained():
    yardstick = Yardstick(0.01, np.tile([1.0, -1.0], 25), None)
    path = [Step(np.zeros(1, bool), 0.0, yardstick.error(np.zeros(50))),
            Step(np.ones(1, bool), 0.01, 0.0)]  # fmt: skip

    def never(mask):
        raise AssertionError

    assert smallest(path, yardstick, never)[0] == 0


def test_the_value_model_repeats_what_it_knows():
    game = additive_game(6, 2)
    masks = masks_of(6)
    inner = masks[1:-1]
    model = ValueModel(Subsets.from_masks(inner), game.v[1:-1], 1.0)
    np.testing.assert_allclose(model.mean(masks, game.v, masks), game.v, atol=5e-3)


# What is kept -------------------------------------------------------------------------------------


def test_all_that_matters_is_kept_with_its_copies(linear):
    found = AllRelevantSelector(SMOOTH, random_state=0).fit(linear.X, linear.y)
    assert np.flatnonzero(found.support_).tolist() == list(range(13))
    np.testing.assert_array_equal(found.selection_.p_adjusted, found.result_.null_test())
    by_rate = clone(found).set_params(adjust="fdr", alpha=0.1).fit(linear.X, linear.y)
    expected = false_discovery_control(found.result_.null_test(None))
    np.testing.assert_allclose(by_rate.selection_.p_adjusted, expected)
    assert by_rate.support_.tolist() == (expected <= 0.1).tolist()


def test_one_of_the_copies_is_kept_and_the_others_stand_in(linear):
    found = MinimalSetSelector(SMOOTH, random_state=0).fit(linear.X, linear.y)
    assert found.support_[[1, 11, 12]].tolist() == [True, False, False]
    assert not found.support_[[13, 14]].any()
    assert found.stand_ins_ == {"x1": ("x11", "x12")}
    step = found.path_[int(found.support_.sum())]
    assert step.refitted >= found.selection_.explained_variance - step.refitted_error
    looser = clone(found).set_params(tolerance=0.2).fit(linear.X, linear.y)
    assert looser.support_.sum() < found.support_.sum()
    assert looser.path_[looser.support_.sum()].explained_variance > 0.74


def test_a_monotone_function_stands_in_if_it_loses_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X = np.column_stack([X, -2 * X[:, 0] + 1])
    y = X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(300)
    found = MinimalSetSelector(ShapleyEffects("smooth"), random_state=0).fit(X, y)
    assert found.support_[[0, 3]].sum() == 1
    assert found.support_[[1, 2]].tolist() == [True, False]
    ((kept, others),) = found.stand_ins_.items()
    assert {kept, *others} == {"x0", "x3"}


def test_refits_on_all_players_are_the_fit_itself(linear):
    est = clone(SMOOTH).set_params(random_state=0).fit(linear.X, linear.y)
    game = est._fitted_game
    n = game.evaluator.n_players
    whole, again = game.evaluator.evaluate(Subsets.full(n)), refit(game, "smooth", np.arange(n))
    np.testing.assert_allclose(again.v_plain, whole.v_plain, rtol=1e-9)
    np.testing.assert_allclose(again.influences, whole.influences, atol=1e-5)


def test_screened_inputs_are_not_kept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40))
    y = X[:, 3] + X[:, 17] + 0.5 * rng.standard_normal(200)
    effects = ShapleyEffects("smooth", screen=5, random_state=0)
    for selector in (AllRelevantSelector(effects), MinimalSetSelector(effects)):
        found = selector.fit(X, y)
        assert found.result_.is_screened.sum() > 0
        assert np.flatnonzero(found.support_).tolist() == [3, 17]


@pytest.mark.parametrize("estimator", ["smooth", "boosting"])
def test_constant_columns_do_not_matter(estimator):
    """Their effects are rounding errors, and so are the deviations of these."""
    X = np.random.default_rng(0).standard_normal((120, 4))
    X[:, 2:] = 1.0
    effects = ShapleyEffects(estimator, n_subsets=20)
    found = AllRelevantSelector(effects, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    assert found.support_.tolist() == [True, True, False, False]


def test_a_group_is_kept_as_a_whole(table):
    effects = clone(SMOOTH).set_params(groups={"both": ["a", "idle"]})
    found = MinimalSetSelector(effects, random_state=0).fit(table, "price")
    names = found.get_feature_names_out().tolist()
    assert ("a" in names) == ("idle" in names)
    assert {"b", "town"} <= set(names)


def test_same_seed_same_answer_for_any_number_of_jobs(table, minimal):
    again = clone(minimal).set_params(n_jobs=2).fit(table, "price")
    assert again.path_ == minimal.path_


# As scikit-learn sees them ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Nothing is explained", "ignore:No input is kept")
@pytest.mark.filterwarnings("ignore:No features were selected", "ignore:y is constant")
@parametrize_with_checks(
    [AllRelevantSelector(quick()), MinimalSetSelector(quick())],
    # As with the forest itself: other rows are drawn for whole weights than for copies.
    expected_failed_checks=lambda estimator: (
        {f"check_sample_weight_equivalence_on_{kind}_data": "bags" for kind in ("dense", "sparse")}
        if isinstance(estimator, MinimalSetSelector)
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_columns_come_out_as_they_went_in(table, relevant):
    kept = ["a", "b", "town", "copy"]
    X = table.drop(columns="price")
    assert relevant.get_feature_names_out().tolist() == kept
    assert relevant.get_support(indices=True).tolist() == [0, 1, 3, 4]
    assert relevant.transform(X).tolist() == X[kept].to_numpy().tolist()
    framed = clone(relevant).set_output(transform="pandas").fit(X, table["price"])
    pd.testing.assert_frame_equal(framed.transform(X), X[kept])
    many = clone(relevant).set_output(transform="polars").fit(pl.DataFrame(X), table["price"])
    assert many.transform(pl.DataFrame(X)).equals(pl.DataFrame(X[kept]))


def test_the_outcome_may_be_a_column(table, relevant, minimal):
    for found in (relevant, minimal):
        assert "price" not in found.feature_names_in_
        whole, inputs = found.transform(table), found.transform(table.drop(columns="price"))
        assert whole.tolist() == inputs.tolist()
    with pytest.raises(ValueError, match="feature names"):
        relevant.transform(table.rename(columns={"a": "z"}))


def test_sparse_and_plain_matrices(linear):
    found = AllRelevantSelector(quick(), random_state=0).fit(csr_matrix(linear.X), linear.y)
    plain = found.transform(linear.X)
    np.testing.assert_array_equal(found.transform(csr_matrix(linear.X)).toarray(), plain)
    np.testing.assert_array_equal(plain, linear.X[:, found.support_])
    assert not hasattr(found, "feature_names_in_")


def test_inside_a_pipeline(linear):
    pipeline = make_pipeline(
        AllRelevantSelector(ShapleyEffects("smooth", n_subsets=40), random_state=0),
        LinearRegression(),
    )
    assert cross_val_score(pipeline, linear.X, linear.y, cv=3).min() > 0.85
    grid = {"allrelevantselector__effects__n_subsets": [20, 30]}
    found = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(linear.X, linear.y)
    assert found.best_estimator_[0].effects_.n_subsets in (20, 30)


# Nothing to keep, and wrong settings --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Nothing is explained", "ignore:y is constant")
@pytest.mark.parametrize("selector", [AllRelevantSelector, MinimalSetSelector])
def test_a_selector_that_keeps_nothing_says_so(selector):
    X = np.random.default_rng(0).standard_normal((100, 3))
    noise = np.random.default_rng(1).standard_normal(100)
    for y in (noise, np.ones(100)):
        found = selector(ShapleyEffects("smooth"), random_state=0)
        with pytest.warns(UserWarning, match="No input is kept"):
            found.fit(X, y)
        assert found.sentence_.startswith("No input is kept")
        assert found.sentence_.count(". ") == 0
        with pytest.warns(UserWarning, match="No features were selected"):
            assert found.transform(X).shape == (100, 0)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (AllRelevantSelector(alpha=0), "alpha must lie between 0 and 1, got 0."),
        (AllRelevantSelector(alpha="few"), "alpha must lie between 0 and 1, got 'few'."),
        (AllRelevantSelector(adjust="bonferroni"), 'unknown: use "holm" or "fdr"'),
        (AllRelevantSelector(adjust=["holm"]), 'unknown: use "holm" or "fdr"'),
        (MinimalSetSelector(tolerance="2se"), 'must be "1se" or a loss'),
        (MinimalSetSelector(tolerance=np.array([0.1, 0.2])), 'must be "1se" or a loss'),
        (MinimalSetSelector(tolerance=-0.1), "got -0.1"),
        (MinimalSetSelector(tolerance=1), "from 0 to below 1"),
        (MinimalSetSelector(LinearRegression()), "effects must be a ShapleyEffects or None"),
    ],
)
def test_wrong_settings_are_one_sentence(selector, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        selector.fit(np.eye(4), np.arange(4))


def test_the_sentence_says_what_is_explained(table):
    X, dear = table[["a", "b", "idle"]], np.where(table["price"] > 1, "dear", "cheap")
    effects = ShapleyEffects("smooth", loss="log_loss", random_state=0)
    found = MinimalSetSelector(effects).fit(X, dear)
    assert "of its deviance (log_loss) on held-out rows" in found.sentence_
    assert "variance" not in found.sentence_


def test_a_long_path_has_upright_words():
    names = tuple(f"input {j}" for j in range(40))
    for shown, rotation in ((20, 45), (40, 90)):
        path = PathDisplay(np.linspace(0, 0.5, 41), np.full(41, 0.01), np.full(41, np.nan),
                           ("", *names), 3, 0.5)  # fmt: skip
        words = path.plot(max_inputs=shown).ax_.get_xticklabels()
        assert len(words) == shown + 1
        assert {word.get_rotation() for word in words} == {rotation}


def test_the_legend_hides_no_point_where_nothing_is_explained():
    v = np.array([0.0, -0.02, -0.04, -0.06, -0.1])
    nothing = PathDisplay(v, np.full(5, 0.01), np.full(5, np.nan), ("", *"abcd"), 0, -0.1)
    display = nothing.plot()
    display.figure_.canvas.draw()
    covered = display.ax_.get_legend().get_window_extent()
    points = display.ax_.transData.transform(np.column_stack([np.arange(5), v]))
    assert not any(covered.contains(*point) for point in points)


def test_tests_need_p_values(table):
    effects = ShapleyEffects.preset("mdi", n_subsets=10)
    with pytest.raises(InputError, match="needs p-values"):
        AllRelevantSelector(effects, random_state=0).fit(table[["a", "b"]], table["price"])


# Selections as results ----------------------------------------------------------------------------


def test_a_selection_is_read_back(relevant, minimal):
    for found in (relevant.selection_, minimal.selection_):
        again = load_result(found.to_json())
        assert isinstance(again, Selection)
        assert again.to_json() == found.to_json()
        assert (again.path, again.stand_ins) == (found.path, found.stand_ins)
        assert again.kept.tolist() == found.kept.tolist()


def test_the_first_format_is_read():
    found = load_result(Path(__file__).parent / "formats" / "selection-1.json")
    assert found.inputs == ("bmi",)
    assert found.effects.tolist() == [0.125, 0.5, 0.0]
    assert found.path[1] == (1, ("bmi",), 0.6, 0.03, 0.61, 0.04)
    assert found.path[0].refitted is None
    assert (found.stand_ins, found.notes) == ({"bmi": ("weight",)}, ("A note.",))


def test_tables_and_text(relevant, minimal):
    frame = minimal.selection_.to_frame()
    assert frame["input"].tolist()[:3] == ["a", "b", "town"]
    assert frame["kept"].tolist() == [True, True, True, False, False]
    assert dict(zip(frame["input"], frame["stands_in_for"], strict=True))["copy"] == "a"
    assert "p_adjusted" in relevant.selection_.to_frame("polars").columns
    text = minimal.selection_.summary()
    assert text.startswith("3 of 5 inputs predict price as well as all: learners that are refitted")
    assert "copy" in text
    assert "p (Holm)" in relevant.selection_.summary()
    assert "... and 3 more" in relevant.selection_.summary(1)
    assert repr(minimal.selection_) == "Selection(3 of 5 inputs, minimal set)"


def test_the_path_is_drawn(minimal, relevant, tmp_path):
    display = minimal.plot()
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert labels[:4] == ["0", "1  + a", "2  + b", "3  + town"]
    assert display.ax_.get_title("left") == "3 inputs predict price as well as all"
    np.testing.assert_array_equal(
        display.frame()["explained_variance"], [step.explained_variance for step in minimal.path_]
    )
    display.save(tmp_path / "path.png")
    with pytest.raises(InputError, match="Only the minimal set has a path"):
        relevant.selection_.plot()


def test_false_discovery_rates_are_those_of_scipy():
    p_values = np.random.default_rng(0).random(40) ** 3
    np.testing.assert_allclose(
        false_discovery_p_values(p_values), false_discovery_control(p_values)
    )


# The command line ---------------------------------------------------------------------------------


@pytest.fixture
def run(table, tmp_path, monkeypatch, capsys):
    """Run ``shaff select`` on the table; returns the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    table.to_csv("houses.csv", index=False)

    def run(*words):
        given = ["select", "houses.csv", "--target", "price", "--estimator", "smooth", *words]
        with pytest.raises(SystemExit) as stop:
            main(given)
        return stop.value.code, *capsys.readouterr()

    return run


def test_select_all_that_matters(run, relevant):
    code, out, err = run("--json", "found.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("4 of 5 inputs have effects on price significantly above 0")
    assert [line.split()[0] for line in lines[3:7]] == ["a", "copy", "b", "town"]
    assert load_result("found.json").kept.tolist() == relevant.selection_.kept.tolist()


def test_select_the_fewest_and_write_them(run, tmp_path):
    code, out, err = run("--minimal", "--output", "kept.csv", "--plot", "path.png")
    assert (code, err) == (0, "")
    assert "stand-ins" in out
    assert pl.read_csv("kept.csv").columns == ["a", "b", "town", "price"]
    assert (tmp_path / "path.png").exists()
    code, out, _ = run("--minimal", "--tolerance", "0.5", "--json", "-")
    assert code == 0
    assert sum(json.loads(out)["kept"]) == 1


@pytest.mark.filterwarnings("ignore:Nothing is explained", "ignore:No input is kept")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--minimal", "--all-relevant"], "two questions"),
        (["--minimal", "--alpha", "0.1"], "--alpha and --adjust belong to --all-relevant"),
        (["--tolerance", "0.1"], "--tolerance belongs to --minimal"),
        (["--plot", "p.png"], "--plot draws the path of --minimal"),
        (["--alpha", "7"], "--alpha must lie between 0 and 1"),
        (["--minimal", "--tolerance", "much"], "neither 1se nor a number"),
        (["--output", "kept.txt"], "--output: kept.txt must end in one of .csv, .parquet."),
        (["--output", "kept.csv", "--max-rows", "50"], "a sample of the rows is read"),
        (["--only", "idle", "--output", "kept.csv"], "no column is kept"),
    ],
)
def test_select_refuses_in_one_sentence(run, words, message):
    code, _, err = run(*words)
    assert code == 2
    assert message in err.splitlines()[-1]

"""The projected forest kernel against Algorithm 1 of the paper, word for word."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.utils.fixes import parse_version

from shaff.data.problem import Problem
from shaff.datasets import experiment_1a, experiment_2
from shaff.subsets import Subsets
from shaff.trees.bags import forest_bags
from shaff.trees.forest import RankedData, read_forest
from shaff.trees.growing import CategoryOrders, GrownForest
from shaff.values.forest.projected_forest import ProjectedForest


def plain(tree):
    """The arrays of a fitted tree, read once: scikit-learn makes them anew at every access."""
    fields = ("feature", "threshold", "children_left", "children_right", "missing_go_to_left")
    arrays = {name: getattr(tree.tree_, name) for name in fields}
    return SimpleNamespace(tree_=SimpleNamespace(**arrays))


def projected(model, X, y, min_node_size=5, error="unbiased", **settings):
    grown = GrownForest.of_fitted(model, len(X))
    problem = Problem.of(X, y, **settings)
    return ProjectedForest(problem, grown, min_node_size=min_node_size, error=error)


def of_trees(trees, bags, n_columns=15):
    """Some trees of a forest with their bags."""
    return GrownForest(read_forest(trees, n_columns), bags, CategoryOrders.none())


def random_matrix(rng, n, p, levels, missing):
    """Columns with ties and gaps, the last one constant."""
    X = rng.integers(levels, size=(n, p)) / 3 if levels else rng.normal(size=(n, p))
    X[:, -1] = 1.25
    # Missing values tell something, so that splits route them to both sides.
    return np.where(rng.random(X.shape) < missing * (X.mean() > X), np.nan, X)


def random_subsets(rng, n_subsets, p):
    """From nothing to everything."""
    share = np.linspace(0, 1, n_subsets)
    return Subsets.from_masks(rng.random((n_subsets, p)) < share[:, None])


random_forests = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.sampled_from([10, 11, 23, 40, 70]),
        "p": st.sampled_from([2, 3, 5, 70]),
        "levels": st.sampled_from([0, 2, 5]),
        "missing": st.sampled_from([0.0, 0.3]),
        "depth": st.sampled_from([1, 2, 4, None]),
        "n_outputs": st.sampled_from([1, 1, 3]),
        "weighted": st.booleans(),
        "doubled": st.booleans(),
        "extra": st.booleans(),
        "min_node_size": st.sampled_from([1, 2.5, 5]),
    }
)


@settings(max_examples=60, deadline=None)
@given(random_forests)
def test_projection_is_algorithm_1_on_random_forests(case):
    rng = np.random.default_rng(case["seed"])
    X = random_matrix(rng, case["n"], case["p"], case["levels"], case["missing"])
    if case["doubled"]:
        X = np.repeat(X[: -(-len(X) // 2)], 2, axis=0)[: case["n"]]
    y = rng.normal(size=(case["n"], case["n_outputs"])) + np.nan_to_num(X[:, :1])
    kind = ExtraTreesRegressor if case["extra"] else RandomForestRegressor
    model = kind(
        2,
        bootstrap=True,
        max_depth=case["depth"],
        max_features=0.5,
        random_state=int(rng.integers(2**31)),
    ).fit(X, y[:, 0])
    weight = rng.integers(0, 5, case["n"]) / 4 if case["weighted"] else np.ones(case["n"])
    assume((forest_bags(model, case["n"]) @ weight).any())
    prf = projected(
        model,
        X,
        y,
        sample_weight=weight,
        min_node_size=case["min_node_size"],
        error="plain",
    )
    subsets = random_subsets(rng, 4, case["p"])
    check_sums(prf, subsets, [plain(tree) for tree in model.estimators_], weight)


def check_sums(prf, subsets, trees, weight):
    sums, squares = prf._sums(subsets, range(prf.forest.n_trees), np.zeros(1, np.uint8))
    usable = prf.bags @ weight > 0  # a tree whose bag weighs nothing predicts nothing
    trees = [tree for tree, use in zip(trees, usable, strict=True) if use]
    for k, mask in enumerate(subsets.masks()):
        expected = oracles.projected_forest_sums(
            trees,
            prf.bags[usable],
            set(np.flatnonzero(mask).tolist()),
            prf.X,
            prf._centred,
            weight,
            prf.min_node_size,
        )
        np.testing.assert_allclose(sums[k], expected[0], atol=1e-9)
        np.testing.assert_allclose(squares[k], expected[1], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n", "n_columns", "n_outputs"), [(200, 6, 1), (500, 6, 2), (2000, 20, 1), (3000, 3, 1)]
)
def test_cells_of_all_sizes(n, n_columns, n_outputs, seed):
    """Cells start as bit sets over all rows, become lists, then blocks of 64 rows and queries.

    Blocks read 16 columns of one byte at once, or 8 of two where a column has over 253 cuts.
    """
    rng = np.random.default_rng([n, seed])
    X = random_matrix(rng, n, n_columns, levels=(0, 40, 6)[seed], missing=(0.0, 0.2, 0.2)[seed])
    y = np.nan_to_num(X[:, :n_outputs]) ** 2 + rng.normal(size=(n, n_outputs))
    model = RandomForestRegressor(1, max_features=0.4, min_samples_leaf=2, random_state=seed).fit(
        X, y[:, 0]
    )
    prf = projected(model, X, y, min_node_size=3, error="plain")
    if (n, seed) == (3000, 0):
        feature, threshold = prf.forest.feature, prf.forest.threshold
        assert max(len(np.unique(threshold[feature == j])) for j in range(n_columns)) > 253
    subsets = random_subsets(rng, 4, n_columns)
    sums, _ = prf._sums(subsets, range(1), np.zeros(1, np.uint8))
    queries = rng.choice(np.flatnonzero(prf.bags[0] == 0), 6, replace=False)
    tree = plain(model.estimators_[0]).tree_
    for k, mask in enumerate(subsets.masks()):
        subset = set(np.flatnonzero(mask).tolist())
        for i in queries:
            expected = oracles.projected_tree_prediction(
                tree, subset, X[i], X, prf._centred, prf.bags[0], prf.min_node_size
            )
            np.testing.assert_allclose(sums[k, i], expected, atol=1e-9)


def test_many_distinct_values_take_wide_codes():
    """More than 65 534 distinct values need 32 bits; the answer is that of 16 bits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 2))
    y = X[:, 0] + rng.normal(size=len(X))
    model = RandomForestRegressor(1, min_samples_leaf=2000, random_state=0).fit(X, y)
    wide = projected(model, X, y, min_node_size=2000, error="plain")
    assert wide._ranked.codes.dtype == np.uint32
    # The values between two thresholds do not matter: code them as one.
    threshold, feature = wide.forest.threshold, wide.forest.feature
    cuts = [np.unique(threshold[feature == j]) for j in range(2)]
    coarse = np.column_stack([np.searchsorted(cuts[j], X[:, j]) for j in range(2)])
    coarse_threshold = np.select(
        [feature == j for j in range(2)], [np.searchsorted(cuts[j], threshold) for j in range(2)]
    )
    coarse_forest = replace(wide.forest, threshold=coarse_threshold.astype(float))
    narrow = ProjectedForest(
        Problem.of(coarse, y),
        GrownForest(coarse_forest, wide.bags, CategoryOrders.none()),
        min_node_size=2000,
        error="plain",
    )
    assert narrow._ranked.codes.dtype == np.uint16
    subsets = Subsets.from_indices([[0], [1], [0, 1]], 2)
    np.testing.assert_array_equal(wide.values(subsets).v, narrow.values(subsets).v)


def test_ranks_order_like_the_values():
    X = np.array([[3.0, np.nan], [1.0, 2.0], [3.0, 2.0], [-(np.float64(2) ** -40), 7.0]])
    ranked = RankedData.from_matrix(X)
    assert ranked.codes.tolist() == [[2, 1, 2, 0], [65535, 0, 0, 1]]
    assert ranked.has_missing.tolist() == [0, 1]


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(60, min_samples_leaf=5, max_features=1 / 3, oob_score=True),
        ExtraTreesRegressor(60, min_samples_leaf=5, bootstrap=True, oob_score=True),
        RandomForestRegressor(60, min_samples_leaf=5, max_samples=0.5, oob_score=True),
    ],
    ids=["forest", "extra_trees", "half_bags"],
)
@pytest.mark.parametrize("missing", [False, True])
def test_all_variables_give_the_forest_itself(model, missing):
    if missing and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn 1.6: a tree's leaves hold other rows with gaps than its `apply`")
    exp = experiment_1a(n=400, random_state=0)
    X = exp.X.copy()
    if missing:
        X[exp.y > 1, 0] = np.nan
    model = model.set_params(random_state=0).fit(X, exp.y)
    prf = projected(model, X, exp.y)
    out_of_bag = prf.predict(Subsets.full(15))[0, :, 0]
    np.testing.assert_allclose(out_of_bag, model.oob_prediction_, atol=1e-9)
    plain_error = projected(model, X, exp.y, error="plain").values(Subsets.full(15)).v[0]
    variance = exp.y.var(ddof=1)
    assert plain_error == pytest.approx(
        1 - np.mean((exp.y - model.oob_prediction_) ** 2) / variance
    )


def test_new_rows_are_predicted_by_every_tree():
    exp = experiment_1a(n=300, random_state=0)
    model = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(
        exp.X[:200], exp.y[:200]
    )
    prf = projected(model, exp.X[:200], exp.y[:200])
    subsets = Subsets.from_masks([np.ones(15), np.zeros(15)])
    m = prf.predict(subsets, exp.X[200:])
    np.testing.assert_allclose(m[0, :, 0], model.predict(exp.X[200:]))
    bag_means = prf.bags @ exp.y[:200] / prf.bags.sum(axis=1)
    np.testing.assert_allclose(m[1], bag_means.mean())


def test_a_row_in_every_bag_has_no_prediction_and_is_left_out():
    exp = experiment_1a(n=50, random_state=0)
    model = RandomForestRegressor(3, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    prf = projected(model, exp.X, exp.y, error="plain")
    m = prf.predict(Subsets.full(15))[0, :, 0]
    never = (prf.bags > 0).all(axis=0)
    assert never.any()
    np.testing.assert_array_equal(np.isnan(m), never)
    error = np.mean((exp.y - m)[~never] ** 2)
    assert prf.values(Subsets.full(15)).v[0] == pytest.approx(1 - error / exp.y.var(ddof=1))


def test_a_bag_without_weight_predicts_nothing():
    exp = experiment_1a(n=40, random_state=0)
    model = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    weight = np.ones(40)
    weight[forest_bags(model, 40)[0] > 0] = 0
    every = projected(model, exp.X, exp.y, sample_weight=weight)
    rest = ProjectedForest(every.problem, of_trees(model.estimators_[1:], every.bags[1:]))
    subsets = Subsets.from_indices([[0, 1, 2], [5]], 15)
    np.testing.assert_allclose(every.values(subsets).v, rest.values(subsets).v)
    np.testing.assert_allclose(every.predict(subsets), rest.predict(subsets))
    np.testing.assert_allclose(every.predict(subsets, exp.X), rest.predict(subsets, exp.X))


def test_the_empty_set_is_worth_nothing():
    exp = experiment_1a(n=60, random_state=0)
    model = RandomForestRegressor(10, random_state=0).fit(exp.X, exp.y)
    nothing = Subsets.from_masks(np.zeros((1, 15)))
    values = projected(model, exp.X, exp.y).values(nothing, influences=True)
    assert values.v.tolist() == [0.0]
    assert not values.influences.any()
    assert not values.replicates.any()


def test_the_unbiased_error_is_that_of_the_infinite_forest():
    """Mean over many small forests = value of the large one; the plain error is far above."""
    exp = experiment_2(n=200, random_state=0)
    n_trees, size = 600, 6
    model = RandomForestRegressor(
        n_trees, max_features=1 / 3, min_samples_leaf=5, random_state=0, n_jobs=2
    ).fit(exp.X, exp.y)
    bags = forest_bags(model, 200)
    subsets = Subsets.from_indices([range(15), [0, 1, 2, 3, 4], [0, 1, 2]], 15)

    def evaluate(start, stop, error):
        grown = of_trees(model.estimators_[start:stop], bags[start:stop])
        return ProjectedForest(Problem.of(exp.X, exp.y), grown, error=error).values(subsets)

    large = evaluate(0, n_trees, "unbiased").v
    for error in ("unbiased", "plain"):
        small = np.array([evaluate(a, a + size, error).v for a in range(0, n_trees, size)])
        z = (small.mean(axis=0) - large) / (small.std(axis=0) / np.sqrt(len(small)))
        if error == "unbiased":
            assert np.all(np.abs(z) < 3.5)
        else:
            assert np.all(z < -6)


def test_influences_and_replicates_tell_the_same_values():
    exp = experiment_1a(n=150, random_state=0)
    model = RandomForestRegressor(40, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    prf = projected(model, exp.X, exp.y)
    subsets = Subsets.from_indices([range(15), [0, 1], [9]], 15)
    evaluated = prf.values(subsets, influences=True)
    np.testing.assert_allclose(evaluated.v, prf.values(subsets).v)
    assert evaluated.influences.dtype == np.float32
    np.testing.assert_allclose(evaluated.influences.mean(axis=1), 0, atol=1e-5)
    for b, block in enumerate(prf.tree_blocks):
        others = [t for t in range(40) if t not in block]
        trees = [model.estimators_[t] for t in others]
        without = ProjectedForest(prf.problem, of_trees(trees, prf.bags[others]))
        np.testing.assert_allclose(evaluated.replicates[:, b], without.values(subsets).v)


def test_few_trees_have_no_replicates():
    exp = experiment_1a(n=100, random_state=0)
    model = RandomForestRegressor(9, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    evaluated = projected(model, exp.X, exp.y).values(Subsets.full(15), influences=True)
    assert evaluated.replicates is None
    assert np.isfinite(evaluated.v).all()


def test_one_tree_has_no_unbiased_error():
    exp = experiment_1a(n=100, random_state=0)
    model = RandomForestRegressor(1, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    with pytest.raises(ValueError, match=r"No row is out of bag in two trees: grow more trees"):
        projected(model, exp.X, exp.y)
    of_one = projected(model, exp.X, exp.y, error="plain")
    assert np.isfinite(of_one.values(Subsets.full(15)).v)


@pytest.mark.parametrize("error", ["plain", "unbiased"])
def test_a_shift_of_y_leaves_the_values(error):
    exp = experiment_1a(n=150, random_state=0)
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    subsets = Subsets.from_indices([range(15), [0, 2], [9]], 15)
    far, near = (
        projected(model, exp.X, exp.y + shift, error=error).values(subsets).v for shift in (1e7, 0)
    )
    np.testing.assert_allclose(far, near, atol=1e-7)


def test_groups_are_their_columns():
    exp = experiment_1a(n=150, random_state=0)
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    players = [np.array([0, 3]), np.array([1]), np.arange(4, 15), np.array([2])]
    grouped = projected(model, exp.X, exp.y, players=players)
    by_player = grouped.values(Subsets.from_indices([[0], [1, 3]], 4)).v
    by_column = projected(model, exp.X, exp.y).values(Subsets.from_indices([[0, 3], [1, 2]], 15)).v
    np.testing.assert_array_equal(by_player, by_column)


def test_classes_add_their_variances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.eye(3)[np.digitize(X[:, 0] + rng.normal(size=120), [-1, 1])]
    model = RandomForestRegressor(30, min_samples_leaf=5, random_state=0).fit(X, y)
    subsets = Subsets.from_indices([[0], [0, 1, 2]], 3)
    together = projected(model, X, y).values(subsets).v
    alone = [projected(model, X, y[:, o]).values(subsets).v for o in range(3)]
    share = y.var(axis=0) / y.var(axis=0).sum()
    np.testing.assert_allclose(together, share @ alone)


def test_whole_weights_count_like_repeated_rows():
    """A row of weight 2 in a bag counts as the row drawn twice."""
    exp = experiment_1a(n=80, random_state=0)
    model = RandomForestRegressor(15, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    weight = np.random.default_rng(0).integers(1, 3, 80)
    grown = GrownForest.of_fitted(model, 80)
    copies = np.repeat(np.arange(80), weight)
    subsets = Subsets.from_indices([range(15), [0, 2], [9]], 15)
    weighted = ProjectedForest(Problem.of(exp.X, exp.y, sample_weight=weight.astype(float)), grown)
    repeated = ProjectedForest(
        Problem.of(exp.X[copies], exp.y[copies], row_groups=copies),
        replace(grown, bags=grown.bags[:, copies]),
    )
    np.testing.assert_allclose(weighted.values(subsets).v, repeated.values(subsets).v)


def test_the_portable_kernel_gives_the_same_bits(monkeypatch):
    exp = experiment_2(n=800, random_state=0)
    X = exp.X.copy()
    X[::7, 3] = np.nan
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, exp.y)
    prf = projected(model, X, exp.y)
    subsets = random_subsets(np.random.default_rng(0), 30, 15)
    fast = prf.values(subsets, influences=True)
    monkeypatch.setenv("SHAFF_PORTABLE", "1")
    portable = prf.values(subsets, influences=True)
    assert fast.v.tobytes() == portable.v.tobytes()
    assert fast.influences.tobytes() == portable.influences.tobytes()


@pytest.mark.parametrize(("n_subsets", "n_jobs"), [(70, 2), (70, 3), (12, 16)])
def test_any_number_of_jobs_gives_the_same_bits(n_subsets, n_jobs):
    exp = experiment_1a(n=200, random_state=0)
    model = RandomForestRegressor(12, min_samples_leaf=5, random_state=0).fit(exp.X, exp.y)
    subsets = random_subsets(np.random.default_rng(0), n_subsets, 15)
    games = [projected(model, exp.X, exp.y, n_jobs=k) for k in (1, n_jobs)]
    one, many = (game.values(subsets, influences=True) for game in games)
    assert one.v.tobytes() == many.v.tobytes()
    assert one.influences.tobytes() == many.influences.tobytes()
    assert one.replicates.tobytes() == many.replicates.tobytes()
    # The bits of sums over the means depend on their order in memory, too.
    assert one.means.tobytes() == many.means.tobytes()
    assert one.means.strides == many.means.strides
    one, many = (game.predict_blocks(subsets, 2) for game in games)
    assert one.tobytes() == many.tobytes()


MEMORY_SCRIPT = """
import resource
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from shaff.data.problem import Problem
from shaff.subsets import Subsets
from shaff.trees.growing import GrownForest
from shaff.values.forest.projected_forest import ProjectedForest

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 8))
y = X.sum(axis=1)
model = RandomForestRegressor(10, min_samples_leaf=50, max_samples=0.2, random_state=0).fit(X, y)
prf = ProjectedForest(Problem.of(X, y), GrownForest.of_fitted(model, len(X)))
before = peak()
prf.values(Subsets.from_masks(rng.random((400, 8)) < 0.5))
print(peak() - before)
"""


def test_an_evaluation_takes_little_memory():
    """All sums of 400 subsets would be 128 MB; they are made and dropped block by block."""
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 90

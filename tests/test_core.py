"""What the compiled core refuses, and how it reads a tree."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.border import CALLS as FUZZED
from benchmarks.border import attempt
from shaff import __version__, _core
from shaff.cli import main


def expectation_arguments(**changes):
    """A stump on column 0, rows 1 and missing, everything known."""
    return {
        "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]),
        "feature": np.array([0, -2, -2]),
        "threshold": np.zeros(3),
        "missing_left": np.array([1, 0, 0], dtype=np.uint8),
        "cover": np.array([2.0, 1.0, 1.0]),
        "value": np.array([[0.0], [10.0], [20.0]]),
        "columns": np.array([[1.0, np.nan]], dtype=np.float32),
        "rows": np.array([0, 1], dtype=np.int32),
        "background_columns": np.zeros((1, 2), dtype=np.float32),
        "background_rows": np.zeros((1, 0), dtype=np.int32),
        "known": np.ones((1, 1), dtype=np.uint8),
        "sums": np.zeros((1, 2, 1)),
    } | changes


def forest_arguments(**changes):
    """Two stumps on column 0 and four rows, of which the bags hold three each."""
    return {
        "offsets": np.array([0, 3, 6]),
        "feature": np.array([0, -1, -1, 0, -1, -1], dtype=np.int32),
        "cut": np.ones(6, dtype=np.uint32),
        "left": np.array([1, -1, -1, 1, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, -1, 2, -1, -1], dtype=np.int32),
        "missing_left": np.zeros(6, dtype=np.uint8),
        "codes": np.array([[0, 1, 2, 3]], dtype=np.uint16),
        "has_missing": np.zeros(1, dtype=np.uint8),
        "rank_offset": np.zeros(0, dtype=np.int64),
        "category_rank": np.zeros((2, 0), dtype=np.uint32),
        "bags": np.array([[1, 1, 1, 0], [0, 1, 1, 1]], dtype=np.uint16),
        "row_weight": np.ones(4),
        "is_query": np.ones(4, dtype=np.uint8),
        "targets": np.arange(4.0)[:, None],
        "min_node_size": 1.0,
        "first_tree": 0,
        "last_tree": 2,
        "subsets": np.ones((1, 1), dtype=np.uint64),
        "sum": np.zeros((1, 4, 1)),
        "sum_squares": np.zeros((1, 4, 1)),
        "cancel": np.zeros(1, dtype=np.uint8),
    } | changes


def replay_arguments(**changes):
    """Two stumps on column 0, the second by a set of categories; children over all nodes."""
    return {
        "feature": np.array([0, -1, -1, 0, -1, -1], dtype=np.int32),
        "threshold": np.zeros(6, dtype=np.uint16),
        "left": np.array([1, 0, 0, 4, 0, 0], dtype=np.int32),
        "right": np.array([2, 0, 0, 5, 0, 0], dtype=np.int32),
        "missing_left": np.zeros(6, dtype=np.uint8),
        "category_set": np.array([-1, -1, -1, 0, -1, -1], dtype=np.int32),
        "set_offset": np.array([0, 1]),
        "set_words": np.ones(1, dtype=np.uint64),
        "tree_offset": np.array([0, 3, 6]),
        "codes": np.array([[0, 1, 1]], dtype=np.uint16),
        "weight": np.ones(2),
        "subsets": np.ones((1, 1), dtype=np.uint64),
        "learning_rate": 1.0,
        "shrinkage": 0.0,
        "residual": np.array([[2.0, 4.0, 5.0]]),
        "cancel": np.zeros(1, dtype=np.uint8),
    } | changes


def path_arguments(**changes):
    names = ("offsets", "feature", "left", "right")
    return {name: forest_arguments()[name] for name in names} | {"n_words": 1} | changes


def grow_arguments(**changes):
    """Two bins that tell the residuals apart, and one stump on them."""
    return {
        "bins": np.array([[0, 0, 1, 1]], dtype=np.uint8),
        "n_bins": np.array([2], dtype=np.int32),
        "categorical": np.zeros(1, dtype=np.uint8),
        "weight": np.zeros(0),
        "learning_rate": 1.0,
        "shrinkage": 0.0,
        "max_features": 1.0,
        "min_samples_leaf": 1,
        "max_leaf_nodes": 2,
        "first_tree": 0,
        "n_trees": 1,
        "seed": 0,
        "residual": np.array([1.0, 1.0, -1.0, -1.0]),
        "cancel": np.zeros(1, dtype=np.uint8),
    } | changes


CALLS = {
    _core.add_tree_expectation: expectation_arguments,
    _core.project_forest: forest_arguments,
    _core.replay_boosting: replay_arguments,
    _core.count_path_subsets: path_arguments,
}


def test_the_examples_are_accepted():
    expectation = expectation_arguments()
    _core.add_tree_expectation(**expectation)
    assert_array_equal(expectation["sums"].ravel(), [20, 10])
    forest = forest_arguments()
    _core.project_forest(**forest)
    assert_array_equal(forest["sum"].ravel(), [2, 0, 0, 1.5])
    replay = replay_arguments()
    _core.replay_boosting(**replay)
    assert_array_equal(replay["residual"].ravel(), [0, 0, 1])
    grow = grow_arguments()
    feature, *_ = _core.grow_trees(**grow)
    assert_array_equal(feature, [0, -1, -1])
    assert_array_equal(grow["residual"], [0, 0, 0, 0])
    _, counts = _core.count_path_subsets(**path_arguments())
    assert_array_equal(counts, [4])


def test_no_value_is_below_a_threshold_of_nan():
    """As in scikit-learn, whose trees before 1.7 may hold one."""
    arguments = expectation_arguments(threshold=np.array([np.nan, 0, 0]))
    _core.add_tree_expectation(**arguments)
    assert_array_equal(arguments["sums"].ravel(), [20, 10])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (_core.add_tree_expectation, "sums"),
        (_core.project_forest, "sum"),
        (_core.project_forest, "sum_squares"),
        (_core.replay_boosting, "residual"),
    ],
)
def test_results_are_never_written_to_a_copy(call, name):
    arguments = CALLS[call]()
    for wrong in (
        arguments[name].astype(np.float32),
        np.repeat(arguments[name], 2, axis=1)[:, ::2],
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(**arguments | {name: wrong})


@pytest.mark.parametrize("call", [_core.project_forest, _core.replay_boosting])
def test_the_cancel_flag_is_watched_itself(call):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call(**CALLS[call](cancel=np.zeros(1)))


def test_wide_codes_are_not_narrowed():
    """Not even when another argument has to be converted."""
    far = 2**16  # as uint16 it would be zero, the other side of the cut
    codes = np.array([[0, far, far, far]], dtype=np.uint32)
    arguments = forest_arguments(codes=codes, row_weight=np.ones(4, dtype=np.float32))
    _core.project_forest(**arguments)
    assert_array_equal(arguments["sum"].ravel(), [2, 0, 0, 1.5])


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize("call", list(CALLS))
def test_wrong_trees_are_refused(call):
    arguments = CALLS[call]()
    n_nodes = len(arguments["feature"])
    wrong = [
        ("feature", 0, 64, "column that does not exist"),
        ("left", 0, n_nodes, "child does not follow its parent"),
        ("left", 0, -1, "child does not follow its parent"),
        ("right", 0, 0, "child does not follow its parent"),  # would go round for ever
    ]
    for name, index, value, message in wrong:
        with pytest.raises(ValueError, match=message):
            call(**arguments | {name: changed(arguments[name], index, value)})
    for name in {"left", "right", "threshold", "cut", "missing_left", "cover", "value"}:
        if name in arguments:
            with pytest.raises(ValueError, match="node arrays differ in length"):
                call(**arguments | {name: arguments[name][:-1]})


@pytest.mark.parametrize("call", [c for c in CALLS if c is not _core.add_tree_expectation])
def test_offsets_must_rise_within_the_nodes(call):
    name = "tree_offset" if call is _core.replay_boosting else "offsets"
    for wrong in ([], [-1, 3, 6], [0, 0, 6], [0, 7, 6], [0, 3, 9]):
        with pytest.raises(ValueError, match="offset"):
            call(**CALLS[call](**{name: np.array(wrong, dtype=np.int64)}))


@pytest.mark.parametrize(
    "changes",
    [
        {"category_set": np.array([-1, -1, -1, 1, -1, -1], dtype=np.int32)},
        {"set_offset": np.array([0, 2])},
        {"set_offset": np.array([1, 0])},
        {"set_offset": np.zeros(0, dtype=np.int64)},
    ],
)
def test_category_sets_must_exist(changes):
    with pytest.raises(ValueError, match=r"category set|set offsets"):
        _core.replay_boosting(**replay_arguments(**changes))


@pytest.mark.parametrize("row", [-1, 2])
def test_rows_must_exist(row):
    for changes in (
        {"rows": np.array([0, row], dtype=np.int32)},
        {"background_rows": np.array([[row]], dtype=np.int32)},
    ):
        with pytest.raises(ValueError, match="a row does not exist"):
            _core.add_tree_expectation(**expectation_arguments(**changes))


@pytest.mark.parametrize("call", [_core.project_forest, _core.replay_boosting])
def test_the_cancel_flag_must_be_there(call):
    with pytest.raises(ValueError, match="cancel flag is empty"):
        call(**CALLS[call](cancel=np.zeros(0, dtype=np.uint8)))


def chain(n_levels):
    """Children of a tree whose left children are all leaves."""
    left, right = np.full((2, 2 * n_levels + 1), -1)
    inner = np.arange(0, 2 * n_levels, 2)
    left[inner], right[inner] = inner + 1, inner + 2
    return left, right, np.where(left < 0, -1, 0)


@pytest.mark.parametrize(("n_levels", "accepted"), [(5000, True), (5001, False)])
def test_trees_too_deep_for_the_stack_are_refused(n_levels, accepted):
    left, right, feature = chain(n_levels)
    n = len(left)
    expectation = expectation_arguments(
        left=left, right=right, feature=feature, threshold=np.zeros(n), cover=np.ones(n),
        missing_left=np.zeros(n, dtype=np.uint8), value=np.ones((n, 1)),
    )  # fmt: skip
    nodes = {"left": left, "right": right, "feature": feature, "category_set": np.full(n, -1)}
    replay = replay_arguments(
        **{name: array.astype(np.int32) for name, array in nodes.items()},
        threshold=np.zeros(n, dtype=np.uint16), missing_left=np.zeros(n, dtype=np.uint8),
        tree_offset=np.array([0, n]),
    )  # fmt: skip
    for call, arguments in (
        (_core.add_tree_expectation, expectation),
        (_core.replay_boosting, replay),
    ):
        expected = nullcontext() if accepted else pytest.raises(ValueError, match="5000 levels")
        with expected:
            call(**arguments)


# Wrong ranks, flags, weights and sizes -----------------------------------------------------------


def ranked_arguments(**changes):
    """The forest's column holds four categories, which each tree sees in an order of its own."""
    return forest_arguments(
        **{
            "rank_offset": np.zeros(1, dtype=np.int64),
            "category_rank": np.array([[3, 2, 1, 0], [0, 1, 2, 3]], dtype=np.uint32),
        }
        | changes
    )


def test_ranks_are_read():
    arguments = ranked_arguments(first_tree=0, last_tree=1)
    _core.project_forest(**arguments)
    assert_array_equal(arguments["sum"].ravel(), [0, 0, 0, 1])  # alone on its side: all predict it


@pytest.mark.parametrize(
    "changes",
    [
        {"category_rank": np.zeros((2, 3), dtype=np.uint32)},
        {"rank_offset": np.array([1])},
        {"rank_offset": np.array([2**62])},
        {"codes": np.array([[0, 1, 2, 4]], dtype=np.uint16)},
        {"codes": np.array([[0, 1, 2, 0xFFFF]], dtype=np.uint16)},  # missing, which none may be
    ],
)
def test_every_category_has_a_rank(changes):
    with pytest.raises(ValueError, match="a category has no rank"):
        _core.project_forest(**ranked_arguments(**changes))


def test_a_missing_category_needs_no_rank():
    codes = np.array([[0, 1, 2, 0xFFFF]], dtype=np.uint16)
    _core.project_forest(**ranked_arguments(codes=codes, has_missing=np.ones(1, dtype=np.uint8)))


@pytest.mark.parametrize("call", [c for c in CALLS if c is not _core.count_path_subsets])
def test_flags_are_zero_or_one(call):
    for name in {"missing_left", "has_missing", "is_query", "known"} & CALLS[call]().keys():
        array = CALLS[call]()[name]
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            call(**CALLS[call](**{name: np.full_like(array, 2)}))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_weights_are_finite_and_not_negative(wrong):
    for call, name in ((_core.project_forest, "row_weight"), (_core.replay_boosting, "weight")):
        arguments = CALLS[call]()
        with pytest.raises(ValueError, match="a weight is negative or not finite"):
            call(**arguments | {name: changed(arguments[name], 0, wrong)})


def test_targets_are_finite():
    targets = changed(forest_arguments()["targets"], 0, np.nan)
    with pytest.raises(ValueError, match="a target is not finite"):
        _core.project_forest(**forest_arguments(targets=targets))


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
def test_cells_have_a_least_size(wrong):
    with pytest.raises(ValueError, match="min_node_size is not positive"):
        _core.project_forest(**forest_arguments(min_node_size=wrong))


@pytest.mark.parametrize("wrong", [{"learning_rate": np.nan}, {"shrinkage": -1.0}])
def test_steps_are_of_a_size(wrong):
    with pytest.raises(ValueError, match="learning rate or the shrinkage"):
        _core.replay_boosting(**replay_arguments(**wrong))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bins": np.zeros(4, dtype=np.uint8)}, "n_columns, n_rows"),
        ({"bins": np.array([[0, 0, 1, 3]], dtype=np.uint8)}, "a bin does not exist"),
        ({"n_bins": np.array([256], dtype=np.int32)}, "more than 255 bins"),
        ({"n_bins": np.array([-1], dtype=np.int32)}, "more than 255 bins, or less than none"),
        ({"n_bins": np.array([2, 2], dtype=np.int32)}, "n_columns, n_rows"),
        ({"categorical": np.zeros(2, dtype=np.uint8)}, "name all columns"),
        ({"categorical": np.full(1, 2, dtype=np.uint8)}, "neither 0 nor 1"),
        ({"weight": np.ones(3)}, r"n_rows,\), or empty"),
        ({"weight": np.array([1, 1, 1, -1.0])}, "a weight is negative or not finite"),
        ({"residual": np.zeros(3)}, r"residual must be \(n_rows"),
        ({"residual": np.array([0, 0, 0, np.inf])}, "a residual is not finite"),
        ({"learning_rate": np.nan}, "learning rate or the shrinkage"),
        ({"shrinkage": -1.0}, "learning rate or the shrinkage"),
        ({"max_features": 0.0}, "not a share of the columns"),
        ({"max_features": np.nan}, "not a share of the columns"),
        ({"min_samples_leaf": 0}, "a leaf needs a row"),
        ({"max_leaf_nodes": 1}, "a leaf needs a row, and a tree two leaves"),
        ({"n_trees": 2**40}, "too many nodes"),
        ({"cancel": np.zeros(0, dtype=np.uint8)}, "cancel flag is empty"),
        ({"values": np.zeros((1, 3), dtype=np.float32)}, "values must be"),
        ({"values": np.full((1, 4), np.inf, dtype=np.float32)}, "a value is not finite"),
        ({"values": np.zeros((1, 4), dtype=np.float32)}, "slopes is not positive"),
    ],
)
def test_wrong_rows_grow_no_trees(wrong, message):
    with pytest.raises(ValueError, match=message):
        _core.grow_trees(**grow_arguments(**wrong))


def test_growing_writes_to_no_copy_and_can_be_cancelled():
    for name, wrong in (("residual", np.zeros(4, dtype=np.float32)), ("cancel", np.zeros(1))):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.grow_trees(**grow_arguments(**{name: wrong}))
    arguments = grow_arguments(cancel=np.ones(1, dtype=np.uint8))
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(_core.grow_trees, **arguments).result()
    assert_array_equal(arguments["residual"], [1, 1, -1, -1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"values": np.zeros((1, 2), dtype=np.float32)}, "values must be"),
        ({"values": np.full((1, 3), np.nan, dtype=np.float32)}, "a value is not finite"),
        ({"slope_shrinkage": 0.0}, "slopes is not positive"),
        ({"slope_shrinkage": np.nan}, "slopes is not positive"),
        ({"gain": None}, "need the gain of each node"),
        ({"gain": np.ones(5)}, "need the gain of each node"),
        ({"gain": np.full(6, np.nan)}, "a gain is not finite"),
    ],
)
def test_linear_steps_have_what_they_need(wrong, message):
    linear = {"values": np.zeros((1, 3), dtype=np.float32), "slope_shrinkage": 1.0,
              "gain": np.ones(6)}  # fmt: skip
    _core.replay_boosting(**replay_arguments(**linear))
    with pytest.raises(ValueError, match=message):
        _core.replay_boosting(**replay_arguments(**linear | wrong))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"half_train": np.zeros((1, 3))}, "the halves must be"),
        ({"half_test": np.zeros((1, 2, 2))}, "the halves must be"),
        ({"n_first": 3}, "the first half has more rows"),
    ],
)
def test_halves_are_of_the_rows(wrong, message):
    halves = {"n_first": 1, "half_train": np.zeros((1, 2)), "half_test": np.zeros((1, 2, 1))}
    _core.replay_boosting(**replay_arguments(**halves))
    with pytest.raises(ValueError, match=message):
        _core.replay_boosting(**replay_arguments(**halves | wrong))


@pytest.mark.parametrize("call", [_core.project_forest, _core.replay_boosting])
def test_subsets_have_a_word(call):
    """Also where there is no column to ask for."""
    with pytest.raises(ValueError, match="too few words"):
        call(**CALLS[call](subsets=np.zeros((1, 0), dtype=np.uint64)))


@pytest.mark.parametrize("call", list(CALLS))
def test_no_node_is_the_child_of_two(call):
    arguments = CALLS[call]()
    with pytest.raises(ValueError, match="the child of two"):
        call(**arguments | {"right": arguments["left"]})


def test_cuts_far_above_the_codes_take_no_memory():
    """A table over codes would have 16 GB."""
    cut = np.full(6, 2**32 - 1, dtype=np.uint32)
    arguments = forest_arguments(cut=cut)
    _core.project_forest(**arguments)
    assert_array_equal(arguments["sum"].ravel(), [2, 0, 0, 1])  # all go left: the bag's mean


def test_the_kernel_has_a_name(monkeypatch, capsys):
    assert _core.kernel_name() in ("AVX2", "SSE2", "plain")
    monkeypatch.setenv("SHAFF_PORTABLE", "1")
    assert _core.kernel_name() in ("SSE2", "plain")
    pytest.importorskip("typer")
    with pytest.raises(SystemExit) as stopped:
        main(["--version", "--verbose"])
    assert stopped.value.code == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == f"shaff {__version__}"
    assert second == f"projection kernel: {_core.kernel_name()}"


@pytest.mark.parametrize("name", FUZZED)
def test_spoilt_calls_are_refused_or_right(name):
    """A minute of it: `python -m benchmarks.border`."""
    outcomes = [attempt(name, seed) for seed in range(150)]
    assert "WRONG" not in outcomes, outcomes.index("WRONG")
    assert {"right", "refused"} == set(outcomes)


# Ctrl-C ------------------------------------------------------------------------------------------


class AlarmError(Exception):
    """What the handler of a signal raises."""


@pytest.fixture
def alarm():
    """Sends a signal to the main thread in 50 ms, as Ctrl-C does."""

    def ring(*_):
        raise AlarmError

    if not hasattr(signal, "SIGALRM"):
        pytest.skip("Windows has no alarm")
    before = signal.signal(signal.SIGALRM, ring)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def full_tree(n_levels):
    """Children within the tree; leaves come last."""
    n_inner = 2**n_levels - 1
    n = 2 * n_inner + 1
    left = np.where(np.arange(n) < n_inner, 2 * np.arange(n) + 1, -1)
    return left, np.where(left < 0, -1, left + 1), np.where(left < 0, -1, np.arange(n) % 3), n


def long_expectation():
    left, right, feature, n = full_tree(9)
    rng, n_rows, n_subsets = np.random.default_rng(0), 20_000, 2000
    columns = rng.normal(size=(3, n_rows)).astype(np.float32)
    return expectation_arguments(
        left=left, right=right, feature=feature, threshold=rng.normal(size=n), cover=np.ones(n),
        missing_left=np.zeros(n, dtype=np.uint8), value=np.ones((n, 1)), columns=columns,
        rows=np.arange(n_rows, dtype=np.int32), background_columns=columns,
        background_rows=np.zeros((n_subsets, 0), dtype=np.int32),
        known=np.ones((n_subsets, 3), dtype=np.uint8), sums=np.zeros((n_subsets, n_rows, 1)),
    )  # fmt: skip


def long_forest():
    left, right, feature, n = full_tree(9)
    rng, n_rows, n_subsets = np.random.default_rng(0), 20_000, 2000
    return forest_arguments(
        offsets=np.array([0, n]), feature=feature.astype(np.int32), left=left.astype(np.int32),
        right=right.astype(np.int32), cut=rng.integers(0, 1000, n).astype(np.uint32),
        missing_left=np.zeros(n, dtype=np.uint8),
        codes=rng.integers(0, 1000, (3, n_rows)).astype(np.uint16),
        has_missing=np.zeros(3, dtype=np.uint8), category_rank=np.zeros((1, 0), dtype=np.uint32),
        bags=rng.integers(0, 2, (1, n_rows)).astype(np.uint16), row_weight=np.ones(n_rows),
        is_query=np.ones(n_rows, dtype=np.uint8), targets=np.ones((n_rows, 1)), last_tree=1,
        subsets=np.full((n_subsets, 1), 7, dtype=np.uint64),
        sum=np.zeros((n_subsets, n_rows, 1)), sum_squares=np.zeros((n_subsets, n_rows, 1)),
    )  # fmt: skip


def long_replay():
    left, right, feature, n = full_tree(4)
    rng, n_rows, n_trees, n_subsets = np.random.default_rng(0), 20_000, 50, 500
    starts = np.repeat(n * np.arange(n_trees), n).astype(np.int32)
    nodes = {"left": left, "right": right, "feature": feature}
    tiled = {name: np.tile(array, n_trees).astype(np.int32) for name, array in nodes.items()}
    return replay_arguments(
        feature=tiled["feature"], left=tiled["left"] + starts, right=tiled["right"] + starts,
        threshold=rng.integers(0, 255, n * n_trees).astype(np.uint16),
        missing_left=np.zeros(n * n_trees, dtype=np.uint8),
        category_set=np.full(n * n_trees, -1, dtype=np.int32),
        tree_offset=n * np.arange(n_trees + 1),
        codes=rng.integers(0, 255, (3, n_rows)).astype(np.uint16), weight=np.ones(n_rows),
        subsets=np.full((n_subsets, 1), 7, dtype=np.uint64), residual=np.ones((n_subsets, n_rows)),
    )  # fmt: skip


def long_growth():
    n_rows, n_columns = 200_000, 20
    rng = np.random.default_rng(0)
    return grow_arguments(
        bins=rng.integers(0, 255, (n_columns, n_rows)).astype(np.uint8),
        n_bins=np.full(n_columns, 255, dtype=np.int32),
        categorical=np.zeros(n_columns, dtype=np.uint8), residual=rng.normal(size=n_rows),
        max_leaf_nodes=31, n_trees=1000,
    )  # fmt: skip


def long_paths():
    left, right, feature, n = full_tree(12)
    nodes = {"left": left, "right": right, "feature": feature}
    tiled = {name: np.tile(array, 2000).astype(np.int32) for name, array in nodes.items()}
    return {"offsets": n * np.arange(2001), **tiled, "n_words": 8}


@pytest.mark.parametrize(
    ("call", "make"),
    [
        (_core.add_tree_expectation, long_expectation),
        (_core.project_forest, long_forest),
        (_core.replay_boosting, long_replay),
        (_core.count_path_subsets, long_paths),
        (_core.grow_trees, long_growth),
    ],
)
def test_a_signal_ends_every_kernel_within_a_second(call, make, alarm):
    arguments = make()
    started = time.process_time()
    alarm()
    with pytest.raises(AlarmError):
        call(**arguments)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("call", [_core.project_forest, _core.replay_boosting])
def test_the_cancel_flag_ends_a_kernel_in_any_thread(call):
    """Set before, it ends the call at once, and nothing is written."""
    arguments = CALLS[call](cancel=np.ones(1, dtype=np.uint8))
    name = "sum" if call is _core.project_forest else "residual"
    before = arguments[name].copy()
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(call, **arguments).result()
    assert_array_equal(arguments[name], before)

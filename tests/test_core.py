"""What the compiled core refuses, and how it reads a tree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from shaff import _core


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

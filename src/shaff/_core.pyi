"""The compiled core. Arrays are C-contiguous; children are numbered within their tree,
by grow_trees, replay_boosting and learn_boosting over all trees."""

import numpy as np
import numpy.typing as npt

# feature, cut, left, right, missing_left, category_set, value, gain, count; the sets of bins that
# go left; where the trees begin.
Trees = tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.int32],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.uint64],
    npt.NDArray[np.int64],
]

def kernel_name() -> str:
    """Build of the projection kernel that runs here: AVX2, SSE2 or plain."""

def count_path_subsets(
    offsets: npt.NDArray[np.int64],
    feature: npt.NDArray[np.int32],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    n_words: int,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]: ...
def project_forest(
    offsets: npt.NDArray[np.int64],
    feature: npt.NDArray[np.int32],
    cut: npt.NDArray[np.uint32],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    missing_left: npt.NDArray[np.uint8],
    codes: npt.NDArray[np.uint16] | npt.NDArray[np.uint32],
    has_missing: npt.NDArray[np.uint8],
    rank_offset: npt.NDArray[np.int64],
    category_rank: npt.NDArray[np.uint32],
    bags: npt.NDArray[np.uint16],
    row_weight: npt.NDArray[np.float64],
    is_query: npt.NDArray[np.uint8],
    targets: npt.NDArray[np.float64],
    min_node_size: float,
    first_tree: int,
    last_tree: int,
    subsets: npt.NDArray[np.uint64],
    sum: npt.NDArray[np.float64],
    sum_squares: npt.NDArray[np.float64],
    cancel: npt.NDArray[np.uint8],
) -> None: ...
def grow_trees(
    bins: npt.NDArray[np.uint8],
    n_bins: npt.NDArray[np.int32],
    categorical: npt.NDArray[np.uint8],
    weight: npt.NDArray[np.float64],
    learning_rate: float,
    shrinkage: float,
    max_features: float,
    min_samples_leaf: int,
    max_leaf_nodes: int,
    first_tree: int,
    n_trees: int,
    seed: int,
    residual: npt.NDArray[np.float64],
    cancel: npt.NDArray[np.uint8],
    values: npt.NDArray[np.float32] | None = None,
    slope_shrinkage: float = 0.0,
) -> Trees:
    """Trees on the residuals, which become what the trees leave of them.

    With values, shape (n_columns, n_rows), leaves are linear in them.
    """

def replay_boosting(
    feature: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.uint16],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    missing_left: npt.NDArray[np.uint8],
    category_set: npt.NDArray[np.int32],
    set_offset: npt.NDArray[np.int64],
    set_words: npt.NDArray[np.uint64],
    tree_offset: npt.NDArray[np.int64],
    codes: npt.NDArray[np.uint16],
    weight: npt.NDArray[np.float64],
    subsets: npt.NDArray[np.uint64],
    learning_rate: float,
    shrinkage: float,
    residual: npt.NDArray[np.float64],
    cancel: npt.NDArray[np.uint8],
    n_first: int = 0,
    half_train: npt.NDArray[np.float64] | None = None,
    half_test: npt.NDArray[np.float64] | None = None,
    gain: npt.NDArray[np.float64] | None = None,
    values: npt.NDArray[np.float32] | None = None,
    slope_shrinkage: float = 0.0,
) -> None:
    """Replay the trees on the residuals; with values, which need gains, steps are linear."""

class BoostingSteps:
    """The steps of a booster's cells for some subsets and learners; it never changes."""

    @property
    def n_learners(self) -> int: ...
    @property
    def n_subsets(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """What it takes of memory."""

def learn_boosting(
    feature: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.uint16],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    missing_left: npt.NDArray[np.uint8],
    category_set: npt.NDArray[np.int32],
    set_offset: npt.NDArray[np.int64],
    set_words: npt.NDArray[np.uint64],
    tree_offset: npt.NDArray[np.int64],
    codes: npt.NDArray[np.uint16],
    weight: npt.NDArray[np.float64],
    subsets: npt.NDArray[np.uint64],
    learning_rate: float,
    shrinkage: npt.NDArray[np.float64],
    n_trees: npt.NDArray[np.int64],
    residual: npt.NDArray[np.float64],
    cancel: npt.NDArray[np.uint8],
    gain: npt.NDArray[np.float64] | None = None,
    values: npt.NDArray[np.float32] | None = None,
    slope_shrinkage: npt.NDArray[np.float64] | None = None,
) -> BoostingSteps:
    """Replay on training rows alone, once for each row of the weights."""

def predict_boosting(
    steps: BoostingSteps,
    codes: npt.NDArray[np.uint16],
    out: npt.NDArray[np.float64],
    cancel: npt.NDArray[np.uint8],
    values: npt.NDArray[np.float32] | None = None,
) -> None:
    """Add the steps of new rows to out, shape (n_learners, n_subsets, n_rows)."""

def add_tree_expectation(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    feature: npt.NDArray[np.int64],
    threshold: npt.NDArray[np.float64],
    missing_left: npt.NDArray[np.uint8],
    cover: npt.NDArray[np.float64],
    value: npt.NDArray[np.float64],
    columns: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int32],
    background_columns: npt.NDArray[np.float32],
    background_rows: npt.NDArray[np.int32],
    known: npt.NDArray[np.uint8],
    sums: npt.NDArray[np.float64],
) -> None: ...

"""The compiled core. Arrays are C-contiguous."""

import numpy as np
import numpy.typing as npt

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
) -> None: ...

"""What a fold of projected boosting says of rows that come later: its steps, learnt once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shaff import _core
from shaff._util.threads import Cancel
from shaff._util.typing import BoolArray, FloatArray, IntArray
from shaff.subsets import Subsets
from shaff.trees.coding import CodeArray, Coding
from shaff.trees.scaling import ValueArray
from shaff.values.boosting.linear_start import LinearStart


class CodedRows(NamedTuple):
    """Rows outside the data, as one fold sees them.

    Parameters
    ----------
    codes : list of code arrays of shape (n_columns, n_rows)
        For the booster of each output.
    values : list of float32 arrays of shape (n_columns, n_rows), or None
        The same for linear leaves: None where they are constant.
    features : float array of shape (n_rows, n_features) or None
        Features of the linear start, if there is one.
    """

    codes: list[CodeArray]
    values: list[ValueArray | None]
    features: FloatArray | None


class Learnt(NamedTuple):
    """The data that a fold has learnt its steps from.

    Parameters
    ----------
    codings, codes, values : lists, one entry per output
        The trees, and the training rows in their codes, shape (n_columns, n_train), and as linear
        leaves take them: None where leaves are constant.
    weight : float array of shape (n_learners, n_train)
        Learners are the same trees with other weights of the training rows, such as halves of them.
    share : float array of shape (n_learners,)
        How much of the training rows a learner has; it has as much of the shrinkage.
    shrinkage : float
    residual : float array of shape (n_outputs, n_subsets, n_train)
        Residuals of the start.
    """

    codings: list[Coding]
    codes: list[CodeArray]
    values: list[ValueArray | None]
    weight: FloatArray
    share: FloatArray
    shrinkage: float
    residual: FloatArray


class FoldSteps:
    """Predictions of one fold for some subsets.

    Parameters
    ----------
    start : float array of shape (n_outputs,), or LinearStart and its coefficients
        Where boosting starts.
    learnt : Learnt
    masks : bool array of shape (n_subsets, n_columns)
    n_trees : int array of shape (n_subsets,)
        Number of trees after which each subset stops.
    cancel : Cancel
    """

    def __init__(
        self,
        start: FloatArray | tuple[LinearStart, FloatArray],
        learnt: Learnt,
        masks: BoolArray,
        n_trees: IntArray,
        cancel: Cancel,
    ) -> None:
        self._start, self._n_learners = start, len(learnt.weight)
        words = Subsets.from_masks(masks).words
        self._steps = [
            _learn(learnt, output, words, n_trees, cancel) for output in range(len(learnt.codings))
        ]

    @property
    def nbytes(self) -> int:
        """Memory that the steps take."""
        return sum(steps.nbytes for steps in self._steps)

    def predict(self, rows: CodedRows, cancel: Cancel) -> FloatArray:
        """Predictions of shape (n_learners, n_outputs, n_subsets, n_rows)."""
        n_rows, n_subsets = rows.codes[0].shape[1], self._steps[0].n_subsets
        out = np.empty((len(self._steps), self._n_learners, n_subsets, n_rows))
        out[:] = self._at_start(rows, n_rows)[:, None]
        for steps, codes, values, part in zip(
            self._steps, rows.codes, rows.values, out, strict=True
        ):
            _core.predict_boosting(steps, codes, part, cancel, values)
        return out.transpose(1, 0, 2, 3)

    def _at_start(self, rows: CodedRows, n_rows: int) -> FloatArray:
        """Predictions of the start, shape (n_outputs, n_subsets or 1, n_rows)."""
        if isinstance(self._start, tuple):
            assert rows.features is not None
            linear, coefficients = self._start
            return linear.apply(coefficients, rows.features)
        return np.broadcast_to(self._start[:, None, None], (len(self._start), 1, n_rows))


def _learn(
    learnt: Learnt,
    output: int,
    words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]],
    n_trees: IntArray,
    cancel: Cancel,
) -> _core.BoostingSteps:
    coding, ensemble = learnt.codings[output], learnt.codings[output].ensemble
    return _core.learn_boosting(
        **coding.nodes,
        tree_offset=ensemble.tree_offset,
        codes=learnt.codes[output],
        weight=learnt.weight,
        subsets=words,
        learning_rate=ensemble.learning_rate,
        shrinkage=learnt.share * learnt.shrinkage,
        n_trees=n_trees,
        residual=learnt.residual[output],
        cancel=cancel,
        gain=ensemble.gain,
        values=learnt.values[output],
        slope_shrinkage=learnt.share * ensemble.slope_shrinkage(learnt.shrinkage),
    )

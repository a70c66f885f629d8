"""Box plots of estimated effects with the truth as red crosses, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shaff.subsets import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def effects_figure(
    estimates: Mapping[str, FloatArray], truth: FloatArray, names: Sequence[str], title: str
) -> Figure:
    """One panel a system, one box a variable.

    Parameters
    ----------
    estimates : dict of str to float array of shape (n_repetitions, n_variables)
        By the label of the system.
    truth : float array of shape (n_variables,)
    names : list of str
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.paper.figures import effects_figure
    >>> figure = effects_figure({"SHAFF": np.ones((3, 2))}, np.ones(2), ["X1", "X2"], "Two")
    >>> len(figure.axes)
    1
    """
    # Without pyplot, so that no window system is asked for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.2 * len(estimates) + 0.8), layout="constrained")
    axes = figure.subplots(len(estimates), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    positions = np.arange(1, len(names) + 1)
    for ax, (label, effects) in zip(axes, estimates.items(), strict=True):
        ax.boxplot(effects, positions=positions, medianprops={"color": "black"})
        ax.plot(positions, truth, "x", color="red", label="exact")
        ax.set_ylabel(f"{label}\n({len(effects)} runs)")
        ax.grid(axis="y", alpha=0.3)
    axes[0].legend(loc="upper right")
    axes[-1].set_xticks(positions, names)
    figure.suptitle(title)
    return figure

"""The figures: effects as box plots with the truth as red crosses, and errors by rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from paper.results import CONVERGENCE_EXPERIMENTS, Results
from paper.systems import draw_experiment
from paper.tables import FIGURES
from shaff._util.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _GRID, _TRUTH = "#333333", "#dddddd", "#d62728"
_BOX = "#4c78a8"
# A box needs quartiles: fewer repetitions are drawn as points.
FEWEST_FOR_BOXES = 5
# Of experiment 1b the first variables: the other 80 are dummies.
MOST_SHOWN = 20
_LINES = {"SHAFF": "#f58518", "shaff, defaults": _BOX}


def effects_figure(
    estimates: Mapping[str, FloatArray], truth: FloatArray, names: Sequence[str], title: str
) -> Figure:
    """One panel a system, one box a variable (points if there are few repetitions).

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
    >>> from paper.figures import effects_figure
    >>> figure = effects_figure({"SHAFF": np.ones((3, 2))}, np.ones(2), ["X1", "X2"], "Two")
    >>> len(figure.axes)
    1
    """
    shown = min(len(names), MOST_SHOWN)
    estimates = {label: effects[:, :shown] for label, effects in estimates.items()}
    truth, names = truth[:shown], names[:shown]
    figure, axes = _panels(len(estimates), 1, (8.0, 1.6 * len(estimates) + 0.9))
    positions = np.arange(1, shown + 1)
    for ax, (label, effects) in zip(axes, estimates.items(), strict=True):
        _boxes(ax, effects, positions)
        ax.plot(positions, truth, "x", color=_TRUTH, markersize=7, markeredgewidth=1.8,
                label="exact effect", zorder=4)  # fmt: skip
        ax.set_title(f"{label} ({_runs(len(effects))})", loc="left", fontsize=10, color=_INK)
    top = max(truth.max(), *(effects.max() for effects in estimates.values()))
    axes[0].set_ylim(-0.06 * top, 1.08 * top)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9,
                   borderaxespad=0.1, labelcolor=_INK)  # fmt: skip
    axes[-1].set_xticks(positions, names)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=_INK)
    figure.supylabel("Shapley effect (share of the variance of y)", fontsize=9, color=_INK)
    return figure


def projection_figure() -> Figure:
    """Figure 1 of the paper from a real tree: its partition, and the projection on X1.

    All splits on X1 cut the projected line, whatever splits on X2 are above them.

    Examples
    --------
    >>> from paper.figures import projection_figure
    >>> len(projection_figure().axes)
    2
    """
    from matplotlib.figure import Figure

    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 2))
    y = 2 * (X[:, 0] > 0.6) * (X[:, 1] > 0.4) + (X[:, 1] > 0.7) * (X[:, 0] < 0.3) - X[:, 0]
    tree = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=20, random_state=0).fit(X, y)
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    whole, line = figure.subplots(1, 2)
    cuts = sorted(_draw_cells(whole, tree.tree_, 0, (0.0, 1.0, 0.0, 1.0)))
    whole.set_title("the tree's partition", loc="left", fontsize=10, color=_INK)
    line.set_title("projected on X1: every cut of X1 counts", loc="left", fontsize=10, color=_INK)
    for ax in (whole, line):
        ax.plot(*X.T, ".", color="#b8c4d0", markersize=3, zorder=1)
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="X1", ylabel="X2")
    line.vlines(cuts, 0, 1, color=_TRUTH, linewidth=2)
    return figure


def _draw_cells(
    ax: Axes, tree: Any, node: int, box: tuple[float, float, float, float]
) -> list[float]:
    """Draw the cuts below a node inside its box, and return those of X1."""
    if tree.feature[node] < 0:
        return []
    cut, (left, right, low, high) = float(tree.threshold[node]), box
    if tree.feature[node] == 0:
        ax.vlines(cut, low, high, color=_TRUTH, linewidth=2)
        boxes = (left, cut, low, high), (cut, right, low, high)
    else:
        ax.hlines(cut, left, right, color=_BOX, linewidth=2)
        boxes = (left, right, low, cut), (left, right, cut, high)
    children = (tree.children_left[node], tree.children_right[node])
    below = [c for child, part in zip(children, boxes, strict=True)
             for c in _draw_cells(ax, tree, child, part)]  # fmt: skip
    return [*below, cut] if tree.feature[node] == 0 else below


def _boxes(ax: Axes, effects: FloatArray, positions: Any) -> None:
    if len(effects) < FEWEST_FOR_BOXES:
        for row in effects:
            ax.plot(positions, row, "o", color=_BOX, alpha=0.7, markersize=5, zorder=3)
        return
    line = {"color": _BOX, "linewidth": 1.2}
    ax.boxplot(
        effects,
        positions=positions,
        widths=0.55,
        patch_artist=True,
        boxprops={"facecolor": "#c6d5e6", "edgecolor": _BOX},
        medianprops={"color": _BOX, "linewidth": 2},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 4, "markeredgecolor": _BOX},
    )


def _panels(n_rows: int, n_columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """A figure without pyplot, so that no window system is asked for."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax in axes:
        ax.grid(axis="y", color=_GRID, linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(length=0, labelsize=9, colors=_INK)
    return figure, list(axes)


def _runs(count: int) -> str:
    return "1 repetition" if count == 1 else f"{count} repetitions"


def experiment_figure(results: Results, experiment: str) -> Figure | None:
    """The box plots of one experiment with the systems that have runs; None without any."""
    panels = {
        label: effects
        for label, system in FIGURES[experiment].items()
        if (effects := results.effects(system, experiment)) is not None
    }
    if not panels:
        return None
    drawn = draw_experiment(results.study.tasks("shaff", experiment)[0])
    title = f"Experiment {experiment}: estimated effects and the truth"
    return effects_figure(panels, drawn.effects, drawn.names, title)


def convergence_figure(results: Results) -> Figure | None:
    """Error against the number of rows; None without runs."""
    curves = results.curves()
    if not curves:
        return None
    figure, axes = _panels(1, len(CONVERGENCE_EXPERIMENTS), (8.0, 3.6))
    for curve in curves:
        ax = axes[CONVERGENCE_EXPERIMENTS.index(curve.experiment)]
        color = _LINES[curve.label]
        for n, errors in curve.errors.items():
            ax.plot([n] * len(errors), errors, "o", color=color, alpha=0.35, markersize=4)
        means = [np.mean(errors) for errors in curve.errors.values()]
        ax.plot(list(curve.errors), means, "-", color=color, linewidth=2, label=curve.label)
        ax.set_title(f"Experiment {curve.experiment}", loc="left", fontsize=10, color=_INK)
    _finish_convergence(axes, sorted({n for curve in curves for n in curve.errors}))
    figure.suptitle("Cumulative absolute error by the number of rows", x=0.01, ha="left",
                    fontsize=11, color=_INK)  # fmt: skip
    return figure


def _finish_convergence(axes: list[Axes], shown: list[int]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(FixedLocator(shown))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticklabels([f"{n:,}".replace(",", " ") for n in shown], fontsize=8)
        ax.yaxis.set_major_locator(FixedLocator([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(ScalarFormatter())
        ax.set_xlabel("rows n", fontsize=9, color=_INK)
    axes[0].legend(frameon=False, fontsize=9, labelcolor=_INK)

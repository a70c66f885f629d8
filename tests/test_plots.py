import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shaff.plots import EffectsDisplay
from shaff.result import EffectsResult


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_result(p=6, **changes):
    effects = np.linspace(0.0, 0.2, p)
    arguments = {
        "names": tuple(f"x{j}" for j in range(p)),
        "effects": effects,
        "raw_effects": effects - 0.01,
        "explained_variance": 0.6,
        "n_rows": 100,
        "n_subsets": 12,
        "estimator": "forest",
        "design": "forest_paths",
        "solver": "least_squares",
    }
    return EffectsResult(**{**arguments, **changes})


def bar_widths(ax):
    return [patch.get_width() for patch in ax.patches]


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_the_effects_largest_on_top():
    result = make_result(6)
    ax = result.plot().ax_
    assert labels(ax) == ["x5", "x4", "x3", "x2", "x1", "x0"]
    assert bar_widths(ax) == pytest.approx(sorted(result.effects, reverse=True))
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert [text.get_text() for text in ax.texts][-1] == "0.000"


def test_given_axes_are_used():
    figure, (left, right) = plt.subplots(1, 2)
    display = make_result().plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.patches


def test_players_past_the_limit_share_a_bar():
    result = make_result(100)
    ax = result.plot(max_players=20).ax_
    assert len(ax.patches) == 21
    assert labels(ax)[-1] == "80 others"
    assert sum(bar_widths(ax)) == pytest.approx(result.effects.sum())
    assert len(result.plot(max_players=100).ax_.patches) == 100


def test_intervals_are_those_of_the_raw_effects():
    result = make_result(3, standard_errors={"data": [0.01, 0.02, 0.03]})
    ax = result.plot().ax_
    (lines,) = ax.collections
    drawn = np.array([segment[:, 0] for segment in lines.get_segments()])
    low, high = result.confidence_interval(0.95)
    assert drawn == pytest.approx(np.column_stack([low, high])[::-1])


def test_sobol_indices_are_marked_and_explained():
    result = make_result(3, first_order=[0.1, 0.2, 0.3], total=[0.0, 0.1, 0.2])
    ax = result.plot().ax_
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries == ["first-order Sobol index", "total Sobol index"]
    first, total = (points.get_offsets()[:, 0].tolist() for points in ax.collections)
    assert first == pytest.approx([0.3, 0.2, 0.1])
    assert total == pytest.approx([0.2, 0.1, 0.0])
    plain = EffectsDisplay.from_result(result).plot(markers=False).ax_
    assert plain.get_legend() is None
    assert not plain.collections


@pytest.mark.parametrize("p", [1, 20, 60])
@pytest.mark.parametrize("name", ["x", "a very long name of a column, far past any margin, "])
def test_all_text_stays_inside_the_figure(p, name):
    result = make_result(p, names=tuple(f"{name}{j}" for j in range(p)), target=name)
    figure = result.plot(max_players=100).figure_
    figure.canvas.draw()
    box = figure.bbox
    ax = figure.axes[0]
    for text in [*ax.get_yticklabels(), *ax.texts, ax.title, ax.xaxis.label]:
        extent = text.get_window_extent()
        assert extent.x0 >= box.x0 - 1
        assert extent.x1 <= box.x1 + 1


def test_long_names_keep_their_ends_apart():
    names = tuple(f"one long family of columns that differ at the end {j}" for j in range(3))
    shown = labels(make_result(3, names=names).plot().ax_)
    assert len(set(shown)) == 3
    assert max(map(len, shown)) <= 32


@pytest.mark.parametrize(
    "form",
    [
        "a very long column name, number {} (per m² and year)",
        "averylongcolumnnamewithoutblanks{}andwithalongendtoo",
        "long_names_of_the_old_data_base_{}_with_a_long_end_too",
    ],
)
def test_long_names_that_differ_in_the_middle_stay_apart(form):
    names = tuple(form.format(j) for j in range(20))
    shown = labels(make_result(20, names=names).plot().ax_)
    assert len(set(shown)) == 20
    assert max(map(len, shown)) <= 32
    for name, label in zip(reversed(range(20)), shown, strict=True):
        assert str(name) in label


def test_names_that_differ_in_blanks_only_are_numbered():
    shown = labels(make_result(2, names=("a b", "a  b")).plot().ax_)
    assert shown == ["a b (1)", "a b (2)"]


def test_the_caption_says_what_is_drawn():
    errors = {"data": [0.01, 0.02, 0.03]}
    caption = make_result(3, standard_errors=errors).plot().ax_.get_xlabel()
    assert caption.splitlines()[-1] == "line: 95 % interval of the raw effect"
    result = make_result(3, standard_errors=errors)
    wide = EffectsDisplay.from_result(result, level=0.999).plot().ax_.get_xlabel()
    assert "line: 99.9 % interval" in wide
    assert "interval" not in make_result(3).plot().ax_.get_xlabel()


def test_bars_that_cannot_be_seen_are_not_called_pale():
    result = make_result(3, effects=[0.0, 1e-6, 0.4], p_values=[1.0, 1.0, 0.0])
    assert "pale" not in result.plot().ax_.get_xlabel()


def test_the_caption_says_when_nothing_is_explained():
    caption = make_result(2, effects=[0, 0], explained_variance=-0.02).plot().ax_.get_xlabel()
    assert "nothing is explained out of sample" in caption
    assert "%" not in caption


def test_players_that_were_never_priced_get_no_markers():
    result = make_result(3, first_order=[0.1, np.nan, 0.3], total=[np.nan] * 3)
    ax = result.plot().ax_
    (points,) = ax.collections
    assert points.get_offsets().tolist() == [[0.3, 0.22], [0.1, 2.22]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first-order Sobol index"]


def test_dollars_are_no_formula():
    result = make_result(2, names=("$cost_{a", "price in $ or $"), target="$y^{")
    result.plot().figure_.canvas.draw()


def test_negative_effects_are_drawn_to_the_left():
    ax = make_result(2, effects=[0.3, -0.05]).plot().ax_
    assert bar_widths(ax) == pytest.approx([0.3, -0.05])
    assert ax.get_xlim()[0] < -0.05
    assert ax.texts[1].get_text() == "−0.050"


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_saved_files_are_whole_and_repeatable(tmp_path, suffix):
    display = EffectsDisplay.from_result(make_result())
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    display.save(first)
    display.save(second)
    assert first.stat().st_size > 2000
    assert first.read_bytes() == second.read_bytes()
    assert sorted(child.name for child in tmp_path.iterdir()) == [first.name, second.name]
    assert not plt.get_fignums()


def test_unknown_image_type_leaves_the_old_file(tmp_path):
    path = tmp_path / "plot.xyz"
    path.write_text("old")
    with pytest.raises(ValueError, match="xyz"):
        EffectsDisplay.from_result(make_result()).save(path)
    assert path.read_text() == "old"
    assert [child.name for child in tmp_path.iterdir()] == ["plot.xyz"]


def test_at_least_one_bar():
    with pytest.raises(ValueError, match="max_players must be at least 1, got 0"):
        make_result().plot(max_players=0)


def test_missing_matplotlib_names_the_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "shaff\[plot\]"'):
        make_result().plot()


def test_effects_that_may_be_nothing_are_pale():
    result = make_result(3, effects=[0.05, 0.1, 0.2], p_values=[0.5, 0.001, 0.0001])
    ax = result.plot().ax_
    colors = [bar.get_facecolor() for bar in ax.patches]
    assert colors[0] == colors[1] != colors[2]
    assert "pale" in ax.get_xlabel()
    assert "pale" not in make_result(3).plot().ax_.get_xlabel()

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from results import rich_result

from shaff.results.effects import EffectsResult
from shaff.show.plots import (
    ConvergenceDisplay,
    DependenceDisplay,
    EffectsDisplay,
    OutputsDisplay,
    SobolDisplay,
)


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
    assert [text.get_text() for text in ax.texts][-1] == "0"


def test_given_axes_are_used():
    figure, (left, right) = plt.subplots(1, 2)
    display = make_result().plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.patches


def test_players_past_the_limit_share_a_bar():
    result = make_result(100)
    ax = result.plot(max_inputs=20).ax_
    assert len(ax.patches) == 21
    assert labels(ax)[-1] == "80 others"
    assert sum(bar_widths(ax)) == pytest.approx(result.effects.sum())
    assert len(result.plot(max_inputs=100).ax_.patches) == 100


def test_intervals_are_those_of_the_raw_effects():
    result = make_result(3, errors_by_source={"data": [0.01, 0.02, 0.03]})
    ax = result.plot().ax_
    (lines,) = ax.collections
    drawn = np.array([segment[:, 0] for segment in lines.get_segments()])
    low, high = result.confidence_interval(0.95)
    assert drawn == pytest.approx(np.column_stack([low, high])[::-1])


def test_sobol_indices_have_a_panel_of_their_own():
    result = make_result(3, first_order=[0.1, 0.2, 0.9], total=[0.0, 0.1, 0.2])
    display = result.plot(sobol=True)
    bars, panel = display.figure_.axes
    assert display.ax_ is bars
    entries = [text.get_text() for text in panel.get_legend().get_texts()]
    assert entries == ["alone (first-order index)", "irreplaceable (total index)"]
    _, first, total = panel.collections
    assert first.get_offsets()[:, 0].tolist() == pytest.approx([0.9, 0.2, 0.1])
    assert total.get_offsets()[:, 0].tolist() == pytest.approx([0.2, 0.1, 0.0])
    alone = result.plot()
    assert alone.figure_.axes == [alone.ax_]
    # The bars are as wide as without the indices, which are larger.
    assert bars.get_xlim() == pytest.approx(alone.ax_.get_xlim(), rel=0.15)


def test_no_panel_without_indices_and_none_in_given_axes():
    assert len(make_result(3).plot(sobol=True).figure_.axes) == 1
    result = make_result(3, first_order=[0.1, 0.2, 0.3], total=[0.0, 0.1, 0.2])
    with pytest.raises(ValueError, match="sobol=True draws two panels: leave out ax"):
        result.plot(ax=plt.figure().subplots(), sobol=True)


@pytest.mark.parametrize("p", [1, 20, 60])
@pytest.mark.parametrize("name", ["x", "a very long name of a column, far past any margin, "])
def test_all_text_stays_inside_the_figure(p, name):
    result = make_result(p, names=tuple(f"{name}{j}" for j in range(p)), target=name)
    figure = result.plot(max_inputs=100).figure_
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
    caption = make_result(3, errors_by_source=errors).plot().ax_.get_xlabel()
    assert caption.splitlines()[-1] == "line: 95 % interval"
    result = make_result(3, errors_by_source=errors)
    wide = EffectsDisplay.from_result(result, level=0.999).plot().ax_.get_xlabel()
    assert "line: 99.9 % interval" in wide
    assert "interval" not in make_result(3).plot().ax_.get_xlabel()


def test_bars_that_cannot_be_seen_are_not_called_pale():
    result = make_result(3, effects=[0.0, 1e-6, 0.4], p_values=[1.0, 1.0, 0.0])
    assert "pale" not in result.plot().ax_.get_xlabel()


def test_the_caption_says_when_nothing_is_explained():
    caption = make_result(2, effects=[0, 0], explained_variance=-0.02).plot().ax_.get_xlabel()
    assert "nothing is explained on held-out rows" in caption
    assert "%" not in caption


def test_players_that_were_never_priced_get_no_row():
    result = make_result(3, first_order=[0.1, np.nan, 0.3], total=[0.0, np.nan, 0.2])
    assert labels(result.plot(kind="sobol").ax_) == ["x2", "x0"]


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
    with pytest.raises(ValueError, match="max_inputs must be at least 1, got 0"):
        make_result().plot(max_inputs=0)


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


def test_small_effects_get_more_digits():
    result = make_result(3, effects=[0.0001, 0.0008, 0.0012], explained_variance=0.0021)
    ax = result.plot().ax_
    assert [text.get_text() for text in ax.texts] == ["0.00120", "0.00080", "0.00010"]
    assert "all inputs together: 0.0021" in ax.get_xlabel()


def test_axis_and_caption_have_one_unit():
    ax = make_result(3).plot().ax_
    ax.figure.canvas.draw()
    assert "together: 0.600" in ax.get_xlabel()
    assert not any("%" in tick.get_text() for tick in ax.get_xticklabels())


def test_numbers_do_not_lie_on_the_next_subplot():
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(11, 3))
    for ax in axes:
        make_result(5, names=[f"column number {j}" for j in range(5)]).plot(ax=ax)
    figure.canvas.draw()
    boxes = [
        text.get_window_extent()
        for ax in axes
        for text in [*ax.texts, *ax.get_yticklabels(), ax.title]
    ]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_numbers_lie_right_of_bars_and_intervals():
    display = rich_result().plot()
    display.figure_.canvas.draw()
    ax = display.ax_
    highest = max(rich_result().confidence_interval().high)
    end = ax.transData.transform((highest, 0))[0]
    assert all(text.get_window_extent().x0 > end for text in ax.texts)


def test_groups_unfold_in_the_label():
    display = EffectsDisplay(
        ("blood", "age"), np.array([0.3, 0.1]), members={"blood": ("sugar", "pressure")}
    )
    assert labels(display.plot().ax_) == ["blood (sugar, pressure)", "age"]
    long = EffectsDisplay(
        ("blood", "age"), np.array([0.3, 0.1]), members={"blood": ("sugar per litre " * 3,)}
    )
    assert labels(long.plot().ax_) == ["blood (1 column)", "age"]


ALL = {
    "effects": EffectsDisplay,
    "sobol": SobolDisplay,
    "dependence": DependenceDisplay,
    "convergence": ConvergenceDisplay,
    "outputs": OutputsDisplay,
}


def by_class():
    effects = {"yes": [0.3, 0.2, 0.06, 0.03, 0.01], "$no": [0.1, 0.2, 0.3, 0.0, 0.0]}
    errors = {name: np.full(5, 0.02) for name in effects}
    return rich_result(per_output=effects, per_output_errors=errors)


@pytest.mark.parametrize("kind", ALL)
def test_every_picture_draws_saves_and_has_a_frame(kind, tmp_path):
    result = by_class()
    display = result.plot(kind=kind)
    assert type(display) is ALL[kind]
    assert display.ax_.figure is display.figure_
    display.figure_.canvas.draw()
    display.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 4000
    frame = display.frame()
    assert len(frame) > 0
    assert len(repr(display)) < 80
    given = plt.figure().subplots()
    assert result.plot(ax=given, kind=kind).ax_ is given


def test_unknown_kinds_and_what_a_result_lacks_are_named():
    with pytest.raises(ValueError, match=r"kind='pie' is unknown: use one of \"effects\", .*\."):
        make_result().plot(kind="pie")
    for kind, lacking in (
        ("sobol", "no Sobol indices"),
        ("dependence", "does not say how its inputs are associated"),
        ("convergence", "took one step"),
        ("outputs", "one output only"),
    ):
        with pytest.raises(ValueError, match=lacking):
            make_result().plot(kind=kind)


def test_dependence_puts_neighbours_together():
    association = np.eye(4)
    association[0, 2] = association[2, 0] = 0.9
    association[1, 3] = association[3, 1] = -0.8
    display = DependenceDisplay(("a", "b", "c", "d"), association).plot()
    order = labels(display.ax_)
    assert abs(order.index("a") - order.index("c")) == 1
    assert abs(order.index("b") - order.index("d")) == 1
    frame = display.frame()
    assert frame.iloc[0].tolist() == ["a", "c", 0.9]


def test_outputs_show_each_class_with_its_interval():
    display = by_class().plot(kind="outputs")
    lines, _, _, second = display.ax_.collections
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["yes", "$no"]
    assert second.get_offsets()[:, 0].tolist() == [0.1, 0.2, 0.3, 0.0, 0.0]
    low = [segment[0, 0] for segment in lines.get_segments()]
    assert low == pytest.approx(np.array([0.3, 0.2, 0.06, 0.03, 0.01]) - 1.96 * 0.02, abs=1e-4)


def test_the_end_of_a_notebook_cell_shows_the_picture_once():
    display = make_result().plot()
    assert display._repr_png_().startswith(b"\x89PNG")
    assert not plt.get_fignums()
    given = make_result().plot(ax=plt.figure().subplots())
    assert given._repr_png_() is None
    assert "array" not in repr(given)


def test_skore_takes_them_for_its_displays(capsys):
    skore = pytest.importorskip("skore")
    for kind in ALL:
        display = by_class().plot(kind=kind)
        assert isinstance(display, skore.Display)
        assert display.help() is None
        assert ".frame()" in capsys.readouterr().out


def test_style_holds_for_one_display_only():
    display = EffectsDisplay.from_result(make_result())
    before = plt.rcParams["axes.labelcolor"]
    display.set_style(axes__titleweight="bold")
    display.set_style(axes__labelcolor="red")
    display.plot()
    assert display.ax_._left_title.get_fontweight() == "bold"
    assert display._style == {"axes.titleweight": "bold", "axes.labelcolor": "red"}
    display.set_style(policy="override", font__size=12)
    assert display._style == {"font.size": 12}
    assert plt.rcParams["axes.labelcolor"] == before
    with pytest.raises(ValueError, match=r"'no\.such' is no setting of matplotlib"):
        display.set_style(no__such=1)
    with pytest.raises(ValueError, match="policy='both' is unknown"):
        display.set_style(policy="both")


@pytest.mark.parametrize("options", [{"sobol": True}, {"max_inputs": 3}, {"kind": "sobol"}])
def test_what_is_saved_is_what_was_drawn(options, tmp_path):
    result = rich_result()
    drawn = result.plot(**options)
    axes, labels_drawn = len(drawn.figure_.axes), labels(drawn.ax_)
    drawn.save(tmp_path / "a.svg")
    assert len(drawn.figure_.axes) == axes
    assert labels(drawn.ax_) == labels_drawn
    other = {"max_inputs": 2}
    drawn.save(tmp_path / "b.svg", **other)
    assert len(labels(drawn.ax_)) < len(labels_drawn)
    result.plot(**{**options, **other}).save(tmp_path / "c.svg")
    assert (tmp_path / "c.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()

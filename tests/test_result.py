import copy
import dataclasses
import json
import pickle
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import rich_result

from shaff._util import frames
from shaff.data.summary import DataSummary
from shaff.results.effects import EffectsResult
from shaff.results.files import load_result
from shaff.show.report import render
from shaff.show.rows import rows, typeset


def make_result(p=4, **changes):
    effects = np.linspace(0.0, 0.3, p)
    arguments = {
        "names": tuple(f"x{j}" for j in range(p)),
        "effects": effects,
        "raw_effects": effects - 0.01,
        "explained_variance": float(effects.sum()),
        "n_rows": 100,
        "n_subsets": 12,
        "estimator": "forest",
        "design": "forest_paths",
        "solver": "least_squares",
    }
    return EffectsResult(**{**arguments, **changes})


def full_result(p=4):
    rng = np.random.default_rng(0)
    errors = {source: rng.random(p) for source in ("data", "design", "ensemble")}
    return make_result(
        p,
        first_order=rng.standard_normal(p),
        total=rng.standard_normal(p),
        errors_by_source=errors,
        covariance=np.diag(sum(error**2 for error in errors.values())),
        explained_variance_error=0.012,
        random_state=3,
        notes=("These effects explain the model, not the data.",),
        target="price",
    )


def bits(array):
    return np.asarray(array, dtype=np.float64).view(np.uint64).tolist()


def same_bits(left, right):
    return all(bits(left[key]) == bits(right[key]) for key in left)


def assert_same(a, b):
    for field in dataclasses.fields(EffectsResult):
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, dict):
            assert list(left) == list(right)
            words = field.name == "versions"
            assert all(
                (left[k] if words else bits(left[k])) == (right[k] if words else bits(right[k]))
                for k in left
            )
        elif isinstance(left, np.ndarray):
            assert bits(left) == bits(right)
        elif isinstance(left, DataSummary):
            same = [(d.columns, d.target, d.n_rows, d.n_given, d.n_columns) for d in (left, right)]
            assert same[0] == same[1]
            assert bits(left.association) == bits(right.association)
        else:
            assert left == right
            assert type(left) is type(right)


def test_arrays_are_read_only_copies():
    source = np.array([0.1, 0.2])
    result = make_result(2, effects=source)
    source[0] = 9.0
    assert result.effects[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        result.effects[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.effects = source


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_the_same_and_still_read_only(clone):
    result = rich_result()
    twin = clone(result)
    assert_same(result, twin)
    for array in (twin.effects, twin.covariance, twin.errors_by_source["data"]):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("field", "value"),
    [("effects", [0.1]), ("first_order", np.zeros(5)), ("covariance", np.zeros((4, 3)))],
)
def test_wrong_shapes_are_named(field, value):
    with pytest.raises(ValueError, match=f"{field} must have shape"):
        make_result(4, **{field: value})


def test_unknown_error_source_is_named():
    with pytest.raises(ValueError, match="luck"):
        make_result(2, errors_by_source={"luck": [0.1, 0.1]})


def test_standard_error_adds_the_sources_in_quadrature():
    errors = {"data": [0.3, 0.0], "design": [0.4, 0.1]}
    result = make_result(2, errors_by_source=errors)
    assert result.standard_errors == pytest.approx([0.5, 0.1])
    assert make_result(2).standard_errors is None


def test_covariance_decides_the_total_error():
    result = make_result(2, covariance=[[0.04, 0.01], [0.01, 0.09]])
    assert result.standard_errors == pytest.approx([0.2, 0.3])


def test_interval_is_normal_around_the_raw_effects():
    result = make_result(2, raw_effects=[0.0, 0.5], errors_by_source={"data": [0.1, 0.2]})
    low, high = result.confidence_interval(0.95)
    assert low == pytest.approx([-0.19600, 0.10801], abs=1e-5)
    assert high == pytest.approx([0.19600, 0.89199], abs=1e-5)
    wider = result.confidence_interval(level=0.99)
    assert np.all(wider.low < low)
    assert np.all(wider.high > high)


def test_interval_needs_errors_and_a_level_between_0_and_1():
    with pytest.raises(ValueError, match="no standard errors"):
        make_result().confidence_interval()
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 95"):
        full_result().confidence_interval(95)


def test_summary_lists_players_by_effect_with_what_is_known():
    result = full_result()
    lines = result.summary().splitlines()
    assert lines[2].split() == ["input", "effect", "error", "first-order", "total", "share"]
    assert [line.split()[0] for line in lines[3:7]] == ["x3", "x2", "x1", "x0"]
    assert lines[3].endswith("#" * 20)
    text = result.summary()
    assert "explain 0.600 (standard error 0.012) of the variance of price" in text
    assert "seed 3" in text
    assert "Note: These effects explain the model, not the data." in text


def test_summary_leaves_out_what_is_not_known():
    header = make_result().summary().splitlines()[2]
    assert header.split() == ["input", "effect", "share"]


def test_summary_joins_the_players_past_the_limit():
    text = make_result(4).summary(max_inputs=2)
    assert "... and 2 more inputs with 0.100 together" in text
    assert "x1" not in text


def test_summary_without_explained_variance_has_no_shares():
    result = make_result(2, effects=[0.0, 0.0], raw_effects=[-0.1, 0.05], explained_variance=-0.05)
    assert "%" not in result.summary()
    assert (
        "The inputs explain nothing of the variance of y on held-out rows (estimate -0.050): "
        "all effects are 0."
    ) in result.summary()
    assert "remains" not in result.summary()
    unsure = dataclasses.replace(result, explained_variance_error=0.02)
    assert "(estimate -0.050, standard error 0.020)" in unsure.summary()


def test_one_is_singular_and_zero_has_no_sign():
    result = make_result(2, effects=[0.3, -1e-9], total=[-1e-5, 0.3], n_subsets=1)
    assert "100 rows, 1 subset;" in result.summary()
    assert "-0" not in result.summary()
    assert "-0" not in repr(make_result(1, effects=[-1e-9], explained_variance=-1e-9))


def test_players_that_were_never_priced_have_blanks(tmp_path):
    unknown = {"first_order": [0.1, np.nan, 0.2, 0.3], "total": [0.0, np.nan, 0.1, 0.2]}
    result = dataclasses.replace(full_result(), **unknown)
    line = next(row for row in result.summary().splitlines() if row.startswith("x1"))
    assert line.split()[3:5] == ["–", "–"]
    assert "nan" not in result.summary() + result._repr_html_()
    content = json.loads(result.to_json(tmp_path / "r.json"))
    assert content["first_order"] == [0.1, None, 0.2, 0.3]
    assert_same(result, load_result(tmp_path / "r.json"))


def test_files_with_the_former_spelling_of_nan_are_read():
    content = json.loads(make_result(2, total=[0.1, 0.2]).to_json())
    content["total"] = ["NaN", 0.2]
    assert np.isnan(load_result(json.dumps(content)).total[0])


def test_repr_is_one_short_line():
    assert (
        repr(make_result())
        == "EffectsResult(4 inputs, explained variance 0.600, largest effect 'x3' 0.300)"
    )
    assert "1 input," in repr(make_result(1))


def test_html_escapes_names_and_notes():
    result = make_result(2, names=("<b>", "a & b"), notes=("x < y",))
    page = result._repr_html_()
    assert "&lt;b&gt;" in page
    assert "a &amp; b" in page
    assert "x &lt; y" in page
    assert "<b>" not in page


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_three_libraries(backend):
    result = full_result()
    frame = result.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    names = list(frame.column_names if backend == "pyarrow" else frame.columns)
    errors = ["standard_error", "data_error", "design_error", "ensemble_error"]
    expected = ["input", "effect", "share", "low", "high", *errors, "first_order", "total"]
    assert names == [*expected, "raw_effect"]
    assert bits(np.asarray(frame["effect"])) == bits(result.effects[result.order])
    assert np.asarray(frame["input"]).tolist() == ["x3", "x2", "x1", "x0"]
    low = result.confidence_interval(0.95).low[result.order]
    assert bits(np.asarray(frame["low"])) == bits(low)
    wider = result.to_frame(backend, level=0.99)
    assert (np.asarray(wider["low"]) < low).all()


def test_frame_by_output_is_sorted_within_each():
    effects = {"no": [0.1, 0.3, 0.0, 0.2], "yes": [0.4, 0.0, 0.1, 0.0]}
    errors = {name: [0.01, 0.02, 0.03, 0.04] for name in effects}
    result = make_result(4, per_output=effects, per_output_errors=errors)
    frame = result.to_frame(by_output=True)
    assert frame["output"].tolist() == ["no"] * 4 + ["yes"] * 4
    assert frame["input"].tolist() == ["x1", "x3", "x0", "x2", "x0", "x2", "x1", "x3"]
    assert frame["share"].iloc[0] == pytest.approx(0.5)
    assert frame["low"].iloc[0] == pytest.approx(0.3 - 1.959964 * 0.02)
    with pytest.raises(ValueError, match="one output only"):
        make_result().to_frame(by_output=True)
    with pytest.raises(ValueError, match="no output 'maybe'; there are 'no', 'yes'"):
        result._output_columns("maybe")


def test_screened_players_are_called_so():
    result = dataclasses.replace(full_result(), screened=[0.1, np.nan, np.nan, np.nan])
    line = next(row for row in result.summary().splitlines() if row.startswith("x0"))
    assert line.split() == ["x0", "screened", "–", "–", "–", "–"]


def test_small_effects_have_more_digits():
    text = make_result(2, effects=[0.0004, 0.0012], explained_variance=0.0016).summary()
    assert "0.0012" in text
    assert "0.0004" in text


# Comparisons ------------------------------------------------------------------------------------


def compared(**changes):
    covariance = [[0.04, 0.03, 0.0], [0.03, 0.04, 0.0], [0.0, 0.0, 0.0001]]
    effects = [0.7, 0.5, 0.05]
    arguments = {"effects": effects, "raw_effects": effects, "covariance": covariance}
    return make_result(3, **{**arguments, **changes})


def test_difference_knows_what_the_errors_share():
    found = compared().difference("x0", "x1")
    assert found.estimate == pytest.approx(0.2)
    assert found.standard_error == pytest.approx(np.sqrt(0.02))
    assert found.low == pytest.approx(0.2 - 1.959964 * np.sqrt(0.02))
    assert found.p_value == pytest.approx(0.157299, abs=1e-5)
    other = compared().difference(1, 0)
    assert (other.estimate, other.low) == pytest.approx((-found.estimate, -found.high))
    assert other.p_value == pytest.approx(found.p_value)
    assert compared().difference(0, 0) == (0.0, 0.0, 0.0, 0.0, 1.0)


def test_difference_spans_plain_and_corrected_effects():
    found = compared(plain_effects=[0.6, 0.6, 0.05]).difference("x0", "x1")
    assert found.p_value == 1.0
    assert found.high == pytest.approx(0.2 + 1.959964 * np.sqrt(0.02))
    assert found.low == pytest.approx(0.0 - 1.959964 * np.sqrt(0.02))


def test_difference_names_unknown_players_and_missing_errors():
    with pytest.raises(ValueError, match="no input 'x9'; there are 'x0'"):
        compared().difference("x9", "x0")
    with pytest.raises(ValueError, match="cannot be compared"):
        make_result().difference(0, 1)
    with pytest.raises(ValueError, match="level must lie"):
        compared().difference(0, 1, level=2)


def test_rank_intervals_follow_the_differences():
    best, worst = compared().rank_intervals()
    assert best.tolist() == [1, 1, 2]
    assert worst.tolist() == [2, 3, 3]
    sure = compared(covariance=np.eye(3) * 1e-8).rank_intervals()
    assert sure.best.tolist() == sure.worst.tolist() == [1, 2, 3]


def test_rank_intervals_hold_all_ranks_at_once():
    rng = np.random.default_rng(0)
    truth = np.array([0.3, 0.25, 0.1, 0.1, 0.0])
    root = rng.standard_normal((5, 5)) * 0.02
    ranks_best = 1 + (truth[:, None] > truth).sum(axis=0)
    ranks_worst = 5 - (truth[:, None] > truth).sum(axis=1)
    covered, n_runs = 0, 400
    for _ in range(n_runs):
        raw = truth + root @ rng.standard_normal(5)
        result = make_result(5, effects=raw, raw_effects=raw, covariance=root @ root.T)
        best, worst = result.rank_intervals(0.8)
        covered += bool((best <= ranks_best).all() and (worst >= ranks_worst).all())
    assert covered / n_runs > 0.75


def test_explained_interval_stays_within_its_range():
    result = make_result(2, explained_variance=0.95, explained_variance_error=0.1)
    assert result.explained_interval()[1] == 1.0
    plain = dataclasses.replace(result, plain_explained_variance=0.9)
    assert plain.explained_interval()[0] == pytest.approx(0.9 - 0.1959964)
    assert make_result().explained_interval() is None


def test_frame_backend_is_checked():
    with pytest.raises(ValueError, match="backend must be 'pandas', 'polars' or 'pyarrow'"):
        make_result().to_frame("dask")


def test_missing_frame_library_names_the_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        make_result().to_frame("polars")


def any_double():
    return st.integers(0, 2**64 - 1).map(
        lambda word: struct.unpack("<d", struct.pack("<Q", word))[0]
    )


@given(st.lists(any_double(), min_size=1, max_size=5), any_double())
def test_json_keeps_every_bit(values, total):
    # All NaN are one: JSON has no payloads.
    array = np.array([np.nan if value != value else value for value in values])
    result = make_result(len(array), raw_effects=array, first_order=array, total=array)
    result = dataclasses.replace(result, errors_by_source={"design": array})
    back = load_result(result.to_json())
    assert bits(back.raw_effects) == bits(array)
    assert bits(back.errors_by_source["design"]) == bits(array)


@pytest.mark.parametrize(
    "result", [make_result(), full_result(), make_result(1), full_result(100), rich_result()]
)
def test_json_round_trip_of_all_fields(result, tmp_path):
    text = result.to_json(tmp_path / "result.json")
    assert_same(result, load_result(text))
    assert_same(result, load_result(tmp_path / "result.json"))
    assert_same(result, load_result(str(tmp_path / "result.json")))


def test_json_is_standard_and_carries_its_format():
    result = make_result(2, raw_effects=[np.nan, np.inf], explained_variance=np.nan)

    def forbid(name):
        raise AssertionError(name)

    content = json.loads(result.to_json(), parse_constant=forbid)
    assert content["format"] == "shaff.EffectsResult"
    assert content["format_version"] == 8
    assert content["raw_effects"] == [None, "Infinity"]
    assert content["explained_variance"] == "NaN"


def test_names_that_look_like_numbers_stay_names():
    result = make_result(3, names=("NaN", "Infinity", "naïve 你好"))
    assert load_result(result.to_json()).names == ("NaN", "Infinity", "naïve 你好")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a result of shaff, or was cut short"),
        ("{}", "is not a result of shaff"),
        ('{"format": "other"}', "is not a result of shaff"),
        ('{"format": "shaff.EffectsResult", "format_version": 99}', "format version 99"),
        ('{"format": "shaff.EffectsResult", "format_version": 1}', "damaged result"),
    ],
)
def test_wrong_text_gets_one_clear_sentence(text, message):
    with pytest.raises(ValueError, match=message):
        load_result(text)


def test_wrong_files_are_named(tmp_path):
    path = tmp_path / "half.json"
    path.write_text(full_result().to_json()[:200])
    with pytest.raises(ValueError, match=r"half\.json .* cut short"):
        load_result(path)
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ValueError, match=r"half\.json is not a result"):
        load_result(path)
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match=r"half\.json is not a result"):
        load_result(path)
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        load_result(tmp_path / "none.json")


def test_inner_damage_is_found():
    content = json.loads(full_result().to_json())
    content["effects"] = content["effects"][:-1]
    with pytest.raises(ValueError, match="damaged result of shaff: effects must have shape"):
        load_result(json.dumps(content))


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full_disk(self, text, **kwargs):
        with open(self, "w") as file:
            file.write(text[:10])
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.write_text", full_disk)
    with pytest.raises(OSError, match="disk full"):
        full_result().to_json(path)
    assert path.read_bytes() == b"old"
    assert [child.name for child in tmp_path.iterdir()] == ["result.json"]


def test_write_through_a_link_replaces_the_file_it_points_to(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    result = make_result()
    result.to_json(link)
    assert link.is_symlink()
    assert_same(load_result(real), result)


def test_subsets_have_a_column_for_each_input_and_as_many_values():
    subsets = np.array([[True, True], [True, False], [False, True]])
    result = make_result(2, subsets=subsets, values=[0.3, 0.1, 0.2], weights=np.ones((2, 3)))
    assert result.game_names == ("x0", "x1")
    assert not result.subsets.flags.writeable
    assert json.loads(result.to_json())["subsets"] == ["11", "10", "01"]
    few = make_result(3, subsets=subsets, values=[0.3, 0.1, 0.2], game_names=("x2", "all others"))
    assert_same(few, load_result(few.to_json()))
    with pytest.raises(ValueError, match="subsets must have 3 columns, got 2"):
        make_result(3, subsets=subsets)
    with pytest.raises(ValueError, match=r"values must have shape \(3,\)"):
        make_result(2, subsets=subsets, values=[0.1])
    with pytest.raises(ValueError, match=r"weights must have shape \(2, 3\)"):
        make_result(2, subsets=subsets, values=[0.1] * 3, weights=np.ones((3, 3)))


def test_all_places_that_show_a_result_write_a_line_alike():
    others = {"raw_effect": 0.01, "plain_effect": 0.0, "standard_error": 0.002}
    screened = [np.nan] * 4 + [0.1]
    result = rich_result(screened=screened, total=[-0.01, 0.1, 0.0, 0.0, 0.0], others=others)
    row, *_, last = rows(result, ranks=True)
    assert (row.name, row.effect, row.share, row.total) == ("size", "0.300", "50 %", "-0.010")
    assert row.interval == "0.178 to 0.422"
    assert (row.bar, row.is_significant, row.is_screened) == (0.3, True, False)
    assert (last.effect, last.share, last.p_value, last.ranks) == ("screened", "–", "–", "–")
    assert (last.bar, last.is_significant, last.is_screened) == (0.0, False, True)
    assert last.interval == f"at most {result.upper_bound()[4]:.3f}"
    page, cell = render(result), result._repr_html_()
    for text in (typeset(row.share), row.interval, last.interval):
        assert text in page
        assert text in cell
    assert typeset(row.total) == "−0.010"
    assert "−0.010" in page
    lines = result.summary().splitlines()
    assert lines[3].split()[:6] == ["size", "0.300", row.error, row.first_order, "-0.010", "<"]
    assert lines[7].endswith(last.interval)


@pytest.mark.parametrize(
    ("installed", "used"),
    [(("pandas", "polars"), "pandas"), (("polars",), "polars"), (("pyarrow",), "pyarrow")],
)
def test_frames_are_those_of_a_library_that_is_installed(installed, used, monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: name if name in installed else None)
    assert type(rich_result().to_frame()).__module__.startswith(used)
    assert type(rich_result(library="polars").to_frame()).__module__.startswith("polars")

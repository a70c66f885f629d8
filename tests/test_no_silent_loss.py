"""What floating-point numbers, masks and text cannot keep is kept in another way, or refused."""

import decimal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.model_selection import KFold

from shaff import (
    ShapleyEffects,
    exceeds,
    explain_change,
    explain_many,
    explain_model,
    explain_simulator,
    solve_game,
    survival_outcome,
)
from shaff._util.labels import label_array, label_codes
from shaff.data.folds import make_folds
from shaff.data.problem import RawData, read_problem
from shaff.data.sources.blocks import BlockSampler, RowCount, group_shares
from shaff.data.sources.databases import read_database
from shaff.data.sources.files import Source, read_source, with_types
from shaff.data.sources.sampled import draw
from shaff.data.target import _as_whole
from shaff.errors import InputError, UserError
from shaff.fitting.notes.reading import sentence
from shaff.simulators import Simulation

N = 60
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3))
Y = X[:, 0] + 0.1 * X[:, 1]
GONE = np.arange(N) == 3
IDS = 2**60 + 8 * np.arange(N)


def problem(X, y, *, settings=None, **rows):
    """The data of a fit, as it reads them."""
    est = ShapleyEffects(**(settings or {}))
    resolved = est._resolve(as_classes=False)
    sampled = draw(RawData(X, y, **rows), resolved.reading, resolved.value_rows)
    return read_problem(sampled.data, sampled.options, est._check_matrix)


# Masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, int])
def test_masked_inputs_are_missing(kind):
    spoilt = (10 * X).astype(kind)
    masked = np.ma.array(np.where(GONE[:, None], -9999, spoilt), mask=GONE[:, None] & [True] * 3)
    read = problem(masked, Y).X
    assert np.isnan(read[GONE]).all()
    assert np.array_equal(read[~GONE], spoilt[~GONE])


@pytest.mark.parametrize(
    "y", [Y, (10 * Y).astype(int), np.where(Y > 0, "a", "b"), Y > 0], ids=["f", "i", "U", "b"]
)
def test_a_masked_outcome_is_refused_and_an_empty_mask_changes_nothing(y):
    with pytest.raises(InputError, match=r"^Input y contains NaN"):
        problem(X, np.ma.array(y, mask=GONE))
    with pytest.raises(InputError, match=r"^Input y contains NaN"):
        problem(X, [np.ma.masked if gone else v for v, gone in zip(y.tolist(), GONE, strict=True)])
    plain, masked = problem(X, y), problem(X, np.ma.array(y))
    assert np.array_equal(plain.y, masked.y)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"sample_weight": np.ones(N)}, "sample_weight must be finite"),
        ({"row_groups": np.arange(N) // 3}, "row_groups has missing labels"),
        ({"time": np.arange(N)}, "time is missing in some rows"),
    ],
)
def test_masked_weights_groups_and_times_are_refused(rows, message):
    masked = {name: np.ma.array(array, mask=GONE) for name, array in rows.items()}
    with pytest.raises(InputError, match=message):
        problem(X, Y, **masked)


def test_masked_rows_are_explained_as_missing_and_masked_segments_have_a_name():
    est = ShapleyEffects("smooth", random_state=0)
    gone = np.ma.array(np.where(GONE[:, None], 99.0, X), mask=GONE[:, None] & [True] * 3)
    with pytest.warns(UserWarning, match="missing values but had none in fit"):
        local = est.fit(X, Y).explain(gone[:5])
    assert np.isnan(local.data[3]).all()
    segments = np.ma.array(np.arange(N) % 2, mask=np.arange(N) < 20)
    many = explain_many(X, Y, by=segments, estimator="smooth", random_state=0)
    assert list(many.results) == ["0", "1", "missing"]


def test_masked_rows_and_items_of_lists_are_missing():
    mask = GONE[:, None] & [True, False, False]
    rows = [np.ma.array(row, mask=gone) for row, gone in zip(X, mask, strict=True)]
    assert np.array_equal(np.isnan(problem(rows, Y).X), mask)
    items = [np.ma.array(v, mask=gone) for v, gone in zip(Y, GONE, strict=True)]
    for y in (items, [np.ma.array([v, 1.0], mask=[gone, False]) for v, gone in zip(Y, GONE)]):  # noqa: B905
        with pytest.raises(InputError, match=r"^Input y contains NaN"):
            problem(X, y)


def as_masked(Z):
    return np.ma.array(Z[:, 0], mask=Z[:, 1] > 0)


def as_complex(Z):
    return Z[:, 0] * (1 + 1j)


@pytest.mark.parametrize("function", [as_masked, as_complex])
def test_what_models_and_games_return_is_whole_or_refused(function):
    with pytest.raises(InputError, match=r"returns NaN or infinity|holds complex ones"):
        explain_model(function, X, random_state=0)
    with pytest.raises(InputError, match="not finite real numbers"):
        solve_game(lambda masks: function(masks.astype(float)), 3)


def test_masked_runs_of_simulators_failed():
    inputs = {"a": norm(), "b": norm()}
    small = {"n": 64, "n_labelled": 0, "random_state": 0}
    each = explain_simulator(lambda a, b: np.ma.masked if b > 0 else a, inputs, **small)
    at_once = explain_simulator(
        lambda a, b: np.ma.array(a, mask=b > 0), inputs, vectorised=True, **small
    )
    assert each.failed.keys() == at_once.failed.keys()
    assert len(each.failed) == 32
    known = Simulation.from_samples(X, np.ma.array(Y, mask=GONE), random_state=0)
    assert list(known.failed) == [3]
    with pytest.raises(InputError, match="one number for each run"):
        Simulation.from_samples(X, Y + 1j)
    with pytest.raises(InputError, match="missing or infinite"):
        explain_simulator(as_masked, {"a": np.ma.array([1.0, 2.0], mask=[0, 1])}, **small)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ma.array(Y, mask=GONE), "one finite number per row"),
        (Y + 1j, "holds complex ones"),
        (np.where(GONE, None, np.where(Y > 0, "a", "b")), "missing labels"),
    ],
    ids=["masked", "complex", "labels"],
)
def test_outcomes_of_changes_are_whole_or_refused(y, message):
    with pytest.raises(InputError, match=message):
        explain_change(X, X, (y, y))


def test_arrays_with_named_fields_are_refused():
    fields = np.zeros(N, dtype=[("a", float), ("b", float)])
    for table in (fields, np.ma.array(fields, mask=[(gone, False) for gone in GONE])):
        with pytest.raises(UserError, match="named fields: make it a data frame"):
            problem(table, Y)


# Digits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        np.column_stack([IDS, IDS % 7]),
        np.column_stack([IDS, IDS % 7]).tolist(),
        pd.DataFrame({"id": IDS, "b": Y}),
        pd.DataFrame({"id": pd.array([None, *IDS[1:].tolist()], dtype="Int64"), "b": Y}),
        pl.DataFrame({"id": [None, *IDS[1:].tolist()], "b": Y}),
        pl.DataFrame({"id": pl.Series((IDS + 0).tolist(), dtype=pl.Int128), "b": Y}),
        pd.DataFrame({"id": IDS.astype(object), "b": Y}),
        pd.DataFrame({"id": [-1, *IDS[1:]], "b": Y}),
        pa.table({"id": pa.array([decimal.Decimal(k) for k in IDS.tolist()]), "b": Y}),
    ],
    ids=["numpy", "lists", "pandas", "Int64", "polars", "Int128", "objects", "far", "decimals"],
)
def test_integers_that_would_become_equal_are_refused(table):
    with pytest.raises(InputError, match="floating-point numbers cannot tell apart"):
        problem(table, Y)


def test_an_outcome_and_times_that_would_become_equal_are_refused():
    for y in (IDS, IDS.tolist(), pl.Series(IDS), IDS.astype(object)):
        with pytest.raises(InputError, match=r"y'? holds integers beyond"):
            problem(X, y)
    with pytest.raises(InputError, match="Column 'time' holds integers beyond"):
        problem(X, Y, time=IDS)


def test_labels_and_answers_that_would_become_equal():
    segments = [(2**63, -1, 2**63 + 1)[k % 3] for k in range(N)]
    assert len(np.unique(label_array(segments))) == 3
    many = explain_many(X, Y, by=["a\0" if k % 2 else "a" for k in range(N)], estimator="smooth")
    assert list(many.results) == ["a", "a\0"]
    assert label_codes(_as_whole(np.array([1e19, 2e19])))[1].tolist() == [0, 1]
    with pytest.raises(UserError, match="text and bytes"):
        problem(X, ["a" if k % 2 else b"a" for k in range(N)])
    with pytest.raises(InputError, match=r"^What .* holds integers beyond"):
        explain_model(lambda Z: 2**60 + (8 * Z[:, 0]).astype(int), X, random_state=0)
    with pytest.raises(InputError, match=r"^time holds integers beyond"):
        survival_outcome(IDS, np.ones(N), horizon=1.0)
    with pytest.raises(UserError, match="limit must be a number"):
        exceeds(Y, 1j)


@pytest.mark.parametrize(
    "numbers",
    [
        10**18 + RNG.integers(0, 10**16, N),
        2**60 + 2**12 * np.arange(N),
        np.array([2**63 + 2**12 * k for k in range(N)], dtype=np.uint64),
        pl.Series([10**30 + k * 10**25 for k in range(N)], dtype=pl.Int128),
        [decimal.Decimal(k) / 7 for k in range(N)],
    ],
    ids=["nanoseconds", "apart", "uint64", "Int128", "decimals"],
)
def test_large_numbers_that_differ_stay_different(numbers):
    read = problem(pl.DataFrame({"a": pl.Series(numbers), "b": Y}), numbers)
    assert len(np.unique(read.X[:, 0])) == len(np.unique(read.y)) == N


def test_long_ids_in_text_files_stay_text(tmp_path):
    path = tmp_path / "a.csv"
    for more in ([], ["?"] * 3):
        ids = [*map(str, IDS.tolist()), *more]
        path.write_text("id,y\n" + "".join(f"{k},{i % 7}\n" for i, k in enumerate(ids)))
        table = with_types(read_source(Source((path,))))
        assert table.frame["id"].to_list() == ids
        assert "more digits than numbers can hold" in " ".join(map(sentence, table.remarks))


def test_hugeint_of_duckdb_is_read(tmp_path):
    import duckdb

    path = Path(tmp_path / "a.duckdb")
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE t (a HUGEINT, y INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(k * 10**25, k) for k in range(30)])
    frame, _ = read_database(path, None, None, 100, 0)
    assert frame.schema["a"] == pl.Int128
    assert problem(frame.select("a"), frame["y"]).X[2, 0] == 2e25


def test_numbers_beyond_all_floats_get_a_sentence():
    tables = [
        pd.DataFrame({"a": pd.Series([10**400, *[1] * (N - 1)], dtype=object), "b": Y}),
        [[10**400, 1.0], *[[1.0, k] for k in range(N - 1)]],
    ]
    for table in tables:
        with pytest.raises(InputError):
            problem(table, Y)
    with pytest.raises(InputError, match="y contains infinity"):
        problem(X, [10**400, *Y[1:]])


@pytest.mark.parametrize("weight", [10**400, decimal.Decimal("sNaN"), 1j, "a"])
def test_weights_that_are_no_numbers(weight):
    with pytest.raises(UserError, match="sample_weight must"):
        problem(X, Y, sample_weight=[weight, *[1] * (N - 1)])


def test_the_largest_weights_have_no_unit_either():
    weights = RNG.random(N) + 0.5
    wanted = problem(X, Y, sample_weight=weights).sample_weight
    found = problem(X, Y, sample_weight=np.where(GONE, 0.5, 1.5e308)).sample_weight
    assert np.isfinite(found).all()
    tiny = problem(X, Y, sample_weight=weights * 1e-300).sample_weight
    assert np.allclose(tiny, wanted)
    with pytest.raises(InputError, match="which count rows, but these are too large"):
        problem(X, Y, sample_weight=np.full(N, 1e308))


def test_a_signalling_nan_is_missing():
    numbers = [decimal.Decimal("sNaN"), *map(decimal.Decimal, range(N - 1))]
    assert np.isnan(problem(pd.DataFrame({"a": numbers, "b": Y}), Y).X[0, 0])


# Imaginary parts and labels -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [complex, np.complex64])
def test_imaginary_parts_are_never_dropped(kind):
    ones = [kind(1 + 2j)] * N
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (X + 1j, (X + 1j).astype(object), pd.DataFrame({"a": ones, "b": Y}),
                      pd.DataFrame({"a": pd.Series(ones, dtype=object), "b": Y})):  # fmt: skip
            with pytest.raises(UserError):
                problem(table, Y)
        for y in (ones, np.array(ones)):
            with pytest.raises(UserError, match=r"^y holds"):
                problem(X, y)
        for weights in (ones, np.array(ones)):
            with pytest.raises(UserError, match="it holds complex ones"):
                problem(X, Y, sample_weight=weights)


def test_zero_bytes_at_the_end_of_a_label_count():
    labels = ["a\0" if k % 2 else "a" for k in range(N)]
    assert problem(X, labels).target.classes == ("a", "a\0")
    assert np.array_equal(problem(X, labels).y[:, 0], np.arange(N) % 2)
    assert len(np.unique(problem(X, Y, row_groups=labels).row_groups)) == 2
    assert len(np.unique(group_shares(labels, seed=0))) == 2


def test_bytes_need_not_be_ascii():
    labels = [b"\xff" if k % 2 else b"a" for k in range(N)]
    for y in (labels, np.array(labels)):
        assert problem(X, y).target.classes == ("\\xff", "a")


def test_rows_of_y_of_different_lengths():
    with pytest.raises(InputError, match="rows of y have different lengths"):
        problem(X, [[1], [1, 2]] * (N // 2))


# Folds --------------------------------------------------------------------------------------------

ALL = np.arange(N)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(ALL, ALL)], "both in a training set and in its test set"),
        ([(ALL[:40], ALL[39:])], "both in a training set and in its test set"),
        ([(ALL < 40, ALL >= 30)], "both in a training set and in its test set"),
        ([(ALL[:40], [-1])], "below 0 or beyond the 60"),
        ([(ALL[:40], [60])], "below 0 or beyond the 60"),
        ([(ALL[:40], ALL[40:] + 0.5)], "places of rows"),
        ([(ALL[:40] > 3, ALL[:40] > 3)], "places of rows"),
        ([(ALL[:40], [])], "without training rows or test rows"),
        ([([], ALL[:40])], "without training rows or test rows"),
        ([], "no folds"),
        ([(ALL[:40], ALL[40:]), (ALL[:40], ALL[40:])], "overlap"),
    ],
)
def test_folds_that_measure_nothing_or_what_was_seen(cv, message):
    with pytest.raises(InputError, match=message):
        ShapleyEffects("boosting", cv=cv).fit(X, Y)


def test_truth_values_of_rows_are_folds_too():
    (fold,) = make_folds(N, [(ALL < 40, ALL >= 40)])
    assert (fold.train.tolist(), fold.test.tolist()) == (ALL[:40].tolist(), ALL[40:].tolist())


@pytest.mark.parametrize("estimator", ["smooth", "forest", "boosting", "auto"])
@pytest.mark.parametrize("cv", [-3, 0, True, N + 1])
def test_impossible_numbers_of_folds(estimator, cv):
    with pytest.raises(InputError, match="is not between 2 and the number of rows"):
        ShapleyEffects(estimator, cv=cv).fit(X, Y)


def test_lists_of_rows_do_not_fit_a_sample():
    splits = list(KFold(3).split(X))
    with pytest.raises(InputError, match="only a sample of the rows is used"):
        problem(X, Y, settings={"cv": splits, "max_rows": 50})
    assert problem(X, Y, settings={"cv": KFold(3), "max_rows": 50}).n_measured == 50


# Long tables --------------------------------------------------------------------------------------


def test_a_sample_of_very_many_rows_takes_no_memory_for_the_others():
    sampler = BlockSampler(RowCount(10**10), max_rows=1000, seed=0)
    assert len(sampler.rows(5 * 10**9)) == 500

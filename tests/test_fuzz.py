"""Random messy frames: `fit` gives a result, or an error that a person can read."""

import datetime as dt
import decimal
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from shaff import ShapleyEffects

SEED = 20_220_301
N_DEFAULT, N_SLOW = 60, 500


def with_gaps(rng, values, share):
    return [None if rng.random() < share else value for value in values]


def text(rng, n, levels):
    return [f"level {k}" if k else "" for k in rng.integers(levels, size=n)]


def dates(rng, n):
    return [dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(9999, size=n)]


MAKERS = {
    "normal": lambda rng, n: rng.standard_normal(n).tolist(),
    "huge": lambda rng, n: (rng.standard_normal(n) * 1e300).tolist(),
    "tiny": lambda rng, n: (rng.standard_normal(n) * 1e-300).tolist(),
    "whole": lambda rng, n: rng.integers(-5, 5, size=n).tolist(),
    "wide": lambda rng, n: rng.integers(2**62, size=n).tolist(),
    "flag": lambda rng, n: (rng.random(n) < 0.5).tolist(),
    "constant": lambda rng, n: [3.0] * n,
    "infinite": lambda rng, n: [float("inf"), *rng.standard_normal(n - 1).tolist()],
    "void": lambda rng, n: [None] * n,
    "text": lambda rng, n: text(rng, n, 4),
    "many": lambda rng, n: text(rng, n, 3 * n),
    "id": lambda rng, n: [f"id {i}" for i in range(n)],
    "one text": lambda rng, n: ["same"] * n,
    "date": dates,
    "clock": lambda rng, n: [dt.datetime.combine(d, dt.time(5)) for d in dates(rng, n)],
    "duration": lambda rng, n: [dt.timedelta(hours=int(h)) for h in rng.integers(99, size=n)],
    "decimal": lambda rng, n: [decimal.Decimal(int(k)) / 7 for k in rng.integers(99, size=n)],
    "mixed": lambda rng, n: [["a", 1, 2.5, True][k] for k in rng.integers(4, size=n)],
    "list": lambda rng, n: [[1, 2]] * n,
    "bytes": lambda rng, n: [b"a", b"b"] * (n // 2) + [b"c"] * (n % 2),
    "time": lambda rng, n: [dt.time(int(h)) for h in rng.integers(24, size=n)],
    "complex": lambda rng, n: [1j] * n,
}
USUAL = ["normal", "whole", "flag", "text", "many", "date"]


def random_column(rng, n, odd):
    kind = rng.choice(list(MAKERS) if rng.random() < odd else USUAL)
    return with_gaps(rng, MAKERS[kind](rng, n), rng.choice([0, 0, 0, 0, 0.2, 0.2, 0.8]))


def random_frame(rng, n):
    p = int(rng.integers(0 if rng.random() < 0.05 else 1, 6))
    odd = rng.choice([0.0, 0.0, 0.3])
    names = [rng.choice(["a", "b", f"x{j}", "naïve name", ""]) if rng.random() < 0.1 else f"x{j}"
             for j in range(p)]  # fmt: skip
    columns = [random_column(rng, n, odd) for _ in range(p)]
    if rng.random() < 0.4:
        return pl.DataFrame(dict(zip(names, columns, strict=True)), strict=False)
    frame = pd.DataFrame(dict(enumerate(columns)), index=range(5, n + 5))
    frame.columns = names if rng.random() < 0.8 else list(range(p))
    return frame.convert_dtypes() if rng.random() < 0.3 else frame


def random_target(rng, n):
    usual = ["normal", "normal", "whole", "text", "flag", "several"]
    kind = rng.choice(usual if rng.random() < 0.8 else list(MAKERS))
    if kind == "several":
        return rng.standard_normal((n, 2))
    return with_gaps(rng, MAKERS[kind](rng, n), 0.1 if rng.random() < 0.05 else 0)


def random_settings(rng, n):
    forest = RandomForestRegressor(4, min_samples_leaf=3)
    boosting = HistGradientBoostingRegressor(max_iter=4, max_features=0.5, min_samples_leaf=3)
    estimator = [forest, forest, forest, boosting][rng.integers(4)]
    fit = {}
    if rng.random() < 0.2:
        fit["sample_weight"] = rng.integers(0, 3, size=n)
    if rng.random() < 0.2:
        fit["row_groups"] = rng.choice(["u", "v", "w", "z"], size=n)
    return ShapleyEffects(estimator, n_subsets=8, random_state=0), fit


def check_one(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([12, 40, 60])) if rng.random() < 0.95 else 3
    est, fit = random_settings(rng, n)
    try:
        X, y = random_frame(rng, n), random_target(rng, n)
    except (pl.exceptions.PolarsError, TypeError):
        return "no frame"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = est.fit(X, y, **fit).result_
    except (ValueError, TypeError) as error:
        message = str(error)
        assert 15 < len(message) < 400, message
        assert message[0].isupper() or message.split()[0].strip("'").isidentifier(), message
        assert "Traceback" not in message
        assert_raised_here(error)
        assert not any(word in message for word in INSIDE), message
        return "error"
    assert np.isfinite(result.effects).all()
    assert result.effects.sum() == pytest.approx(max(result.explained_variance, 0), abs=1e-9)
    return "result"


def assert_raised_here(error):
    """By a check of shaff or of scikit-learn's validation, not deep inside a library."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    checks = ("/shaff/", "sklearn/utils/validation", "sklearn/utils/multiclass")
    assert any(part in last.replace("\\", "/") for part in checks), (last, str(error))


# Words of numpy and of scikit-learn's insides that tell a user nothing.
INSIDE = ("ufunc", "broadcast", "NoneType", "dtype(", "axis", "index out of", "shape mismatch")


def run(seeds):
    outcomes = [check_one(SEED + k) for k in seeds]
    assert outcomes.count("result") > len(outcomes) / 4
    assert outcomes.count("error") > len(outcomes) / 20


def test_messy_frames():
    run(range(N_DEFAULT))


@pytest.mark.slow
def test_many_messy_frames():
    run(range(N_SLOW))

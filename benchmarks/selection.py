"""Selectors on data whose relevant and useless inputs are known, beside those of other packages.

    python -m benchmarks.selection                                   # all parts, selection.jsonl
    python -m benchmarks.selection --parts data fdr --seeds 0 20
    python -m benchmarks.selection --parts peers --seeds 0 5         # pip install boruta hidimstat
    python -m benchmarks.selection --report selection.jsonl

Each run leaves a line in the file and prints one; runs that the file already has are skipped.

- data: experiment 1a, and three data sets of 1000 rows that no setting was chosen on: interactions
  alone, categories, curves with three copies. Does `AllRelevantSelector` keep all inputs with an
  effect of 0.02 or more, and none that is independent of all others; how many of the copies does
  `MinimalSetSelector` keep, and what does its set lose: by refits of shaff's learners on held-out
  rows, in standard errors, and by scikit-learn's gradient boosting on 20 000 fresh rows.
- fdr: 20 of 200 inputs matter, the others are independent of these, and in every second data set
  correlated with each other: the share of false ones among those kept with ``adjust="fdr"`` at
  10 %, beside the adjustment of Benjamini and Yekutieli.
- peers: the same data by Boruta, `RFECV`, `SelectFromModel` and hidimstat (conditional importance
  of a forest, Bonferroni at 5 %), those that are installed. Time is that of the processor.
- search: the best set of each size among all 1024 of ten inputs, beside that of the search with
  other numbers of candidates (`shaff.fitting.smallest_set.FEW`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.model_selection import train_test_split

from benchmarks.lines import Record, run_parts
from shaff import AllRelevantSelector, MinimalSetSelector, ShapleyEffects
from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import experiment_1a, experiment_2, load_diabetes
from shaff.fitting import smallest_set
from shaff.subsets import Subsets

PARTS = ("data", "fdr", "peers", "search")
ROWS, FRESH = 1000, 20_000
SEARCHED = ("experiment 1a", "experiment 2", "diabetes")
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, and what is true of their inputs.

    Parameters
    ----------
    X : frame of shape (n_rows, n_inputs)
    y : array of shape (n_rows,)
    relevant, useless : lists of int
        Inputs with an effect of 0.02 or more, and inputs that are independent of y and all others.
    copies : tuple of int
    """

    X: pd.DataFrame
    y: FloatArray
    relevant: list[int]
    useless: list[int]
    copies: tuple[int, ...] = ()

    @property
    def codes(self) -> FloatArray:
        """The inputs as numbers, for those who take no categories."""
        columns = [self.X[c] for c in self.X]
        return np.column_stack(
            [c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c for c in columns]
        ).astype(float)


def _framed(columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({f"x{k}": column for k, column in enumerate(columns)})


def _noisy(signal: FloatArray, explained: float, rng: Rng) -> FloatArray:
    spread = np.sqrt((1 - explained) / explained) * signal.std()
    return signal + spread * rng.standard_normal(len(signal))


def linear(n: int, rng: Rng) -> Data:
    """Experiment 1a of the paper: x11 and x12 are copies of x1, the last two are useless."""
    exp = experiment_1a(n=n, random_state=int(rng.integers(2**31)))
    return Data(_framed(list(exp.X.T)), exp.y, list(range(13)), [13, 14], (1, 11, 12))


def interacting(n: int, rng: Rng) -> Data:
    """Two products and a change of sign: no input tells anything alone."""
    X = rng.standard_normal((n, 10))
    signal = X[:, 0] * X[:, 1] + np.sign(X[:, 2]) * X[:, 3] + 0.8 * X[:, 4] * X[:, 5]
    return Data(_framed(list(X.T)), _noisy(signal, 0.7, rng), list(range(6)), [6, 7, 8, 9])


def categories(n: int, rng: Rng) -> Data:
    """Categories with 3, 6 and 12 values, numbers, and as many useless inputs of the same kinds."""
    few, more, many = (rng.integers(k, size=n) for k in (3, 6, 12))
    idle = [rng.integers(k, size=n) for k in (3, 6, 12)]
    one, two, three, idle_number = rng.standard_normal((4, n))
    means = np.random.default_rng(7).standard_normal(12)
    signal = (np.array([-1.0, 0.2, 0.9])[few] + 0.8 * means[more] + 0.8 * means[::-1][many]
              + one + np.where(few == 1, two, 0.0) + 0.7 * np.abs(three))  # fmt: skip
    as_names = [pd.Series(c).map("v{}".format).astype("category") for c in (few, more, many, *idle)]
    frame = _framed([*as_names[:3], one, two, three, *as_names[3:], idle_number])
    return Data(frame, _noisy(signal, 0.7, rng), list(range(6)), [6, 7, 8, 9])


def copied(n: int, rng: Rng) -> Data:
    """Curves; x5 and x6 are copies of x0, x7 goes with x1 and acts through it alone."""
    X = rng.standard_normal((n, 5))
    proxy = 0.8 * X[:, 1] + 0.6 * rng.standard_normal(n)
    signal = np.sin(2 * X[:, 0]) + 0.8 * X[:, 1] + 0.6 * X[:, 2] ** 2 + 0.7 * X[:, 0] * X[:, 3]
    columns = [*X.T, X[:, 0], X[:, 0], proxy, rng.standard_normal(n)]
    return Data(_framed(columns), _noisy(signal, 0.8, rng), [0, 1, 2, 3, 5, 6], [4, 8], (0, 5, 6))


DATA: dict[str, Callable[[int, Rng], Data]] = {
    "experiment 1a": linear,
    "interactions": interacting,
    "categories": categories,
    "three copies": copied,
}


def drawn(name: str, seed: int) -> tuple[Data, Data]:
    """Rows to select on, and fresh ones."""
    make = DATA[name]
    return make(ROWS, np.random.default_rng([seed, 0])), make(
        FRESH, np.random.default_rng([seed, 1])
    )


def fresh_loss(kept: BoolArray, data: Data, fresh: Data) -> float:
    """Share of the variance of fresh rows that gradient boosting explains less with the set."""

    def explained(columns: BoolArray) -> float:
        names = data.X.columns[columns]
        model = HistGradientBoostingRegressor(random_state=0, categorical_features="from_dtype")
        return model.fit(data.X[names], data.y).score(fresh.X[names], fresh.y)

    if not kept.any():
        return float("nan")
    return explained(np.ones(len(kept), dtype=bool)) - explained(kept)


def truth_of(kept: BoolArray, data: Data) -> Record:
    return {
        "size": int(kept.sum()),
        "missed": int((~kept[data.relevant]).sum()),
        "useless": int(kept[data.useless].sum()),
        "copies": int(kept[list(data.copies)].sum()),
    }


def by_shaff(data: str, seed: int) -> Record:
    """Both selectors on one data set."""
    rows, fresh = drawn(data, seed)
    record: Record = {}
    for name, selector in (("relevant", AllRelevantSelector), ("minimal", MinimalSetSelector)):
        started = time.process_time()
        found = selector(random_state=seed).fit(rows.X, rows.y)
        record[f"{name}_cpu"] = time.process_time() - started
        kept = found.support_
        record |= {f"{name}_{k}": v for k, v in truth_of(kept, rows).items()}
        record[f"{name}_fresh_loss"] = fresh_loss(kept, rows, fresh)
    step, everything = found.path_[int(found.selection_.kept.sum())], found.selection_
    record |= {"projected": step.explained_variance, "all": everything.explained_variance}
    if step.refitted is not None:
        record |= {"refitted": step.refitted, "error": step.refitted_error}
    return record


def _boruta(data: Data, seed: int) -> BoolArray:
    from boruta import BorutaPy

    forest = RandomForestRegressor(max_depth=5, random_state=seed)
    # As its guide says; "auto" is the number of trees by the number of columns.
    found = BorutaPy(forest, n_estimators="auto", random_state=seed).fit(data.codes, data.y)
    return np.asarray(found.support_, dtype=bool)


def _rfecv(data: Data, seed: int) -> BoolArray:
    forest = RandomForestRegressor(random_state=seed)
    return np.asarray(RFECV(forest, cv=5).fit(data.codes, data.y).support_, dtype=bool)


def _select_from_model(data: Data, seed: int) -> BoolArray:
    forest = RandomForestRegressor(random_state=seed)
    return np.asarray(SelectFromModel(forest).fit(data.codes, data.y).get_support(), dtype=bool)


def _hidimstat(data: Data, seed: int) -> BoolArray:
    from hidimstat import CFI

    X, X_new, y, y_new = train_test_split(data.codes, data.y, test_size=0.5, random_state=seed)
    forest = RandomForestRegressor(random_state=seed).fit(X, y)
    found = CFI(forest, random_state=seed)
    found.fit(X, y)
    found.importance(X_new, y_new)
    return np.asarray(found.fwer_selection(0.05, n_tests=X.shape[1]) > 0, dtype=bool)


PEERS: dict[str, tuple[str, Callable[[Data, int], BoolArray]]] = {
    "Boruta": ("boruta", _boruta),
    "RFECV": ("sklearn", _rfecv),
    "SelectFromModel": ("sklearn", _select_from_model),
    "hidimstat": ("hidimstat", _hidimstat),
}


def peers(data: str, peer: str, seed: int) -> Record:
    """One selector of another package on one data set."""
    rows, fresh = drawn(data, seed)
    started = time.process_time()
    kept = PEERS[peer][1](rows, seed)
    cpu = time.process_time() - started
    return {**truth_of(kept, rows), "cpu": cpu, "fresh_loss": fresh_loss(kept, rows, fresh)}


def many_columns(seed: int) -> tuple[FloatArray, FloatArray, BoolArray]:
    """200 inputs in random order, of which 20 matter: lines, curves, a product, a step."""
    rng = np.random.default_rng(seed)
    true, idle = rng.standard_normal((ROWS, 20)), rng.standard_normal((ROWS, 180))
    if seed % 2:  # chains of ten
        for j in range(180):
            idle[:, j] = idle[:, j] if j % 10 == 0 else 0.8 * idle[:, j - 1] + 0.6 * idle[:, j]
    signal = true[:, :10] @ np.linspace(1, 0.3, 10) + 0.8 * np.sin(2 * true[:, 10:14]).sum(axis=1)
    signal += 0.7 * np.abs(true[:, 14:17]).sum(axis=1) + 0.8 * true[:, 17] * true[:, 18]
    signal += true[:, 19] > 0.5
    order = rng.permutation(200)
    return np.hstack([true, idle])[:, order], _noisy(signal, 0.6, rng), order < 20


def fdr(seed: int) -> Record:
    """The share of useless inputs among those that are kept at 10 %."""
    X, y, matters = many_columns(seed)
    started = time.process_time()
    found = AllRelevantSelector(alpha=0.1, adjust="fdr", random_state=seed).fit(X, y)
    cpu = time.process_time() - started
    harmonic = (1 / np.arange(1, 201)).sum()
    kept = {"bh": found.support_, "by": found.selection_.p_adjusted * harmonic <= 0.1,
            "holm": found.result_.null_test("holm") <= 0.05}  # fmt: skip
    record: Record = {"cpu": cpu, "in_game": int((~found.result_.is_screened).sum())}
    for name, some in kept.items():
        record[f"{name}_false"] = float((some & ~matters).sum() / max(some.sum(), 1))
        record[f"{name}_found"] = int((some & matters).sum())
    return record


def ten_columns(data: str, seed: int) -> tuple[FloatArray, FloatArray]:
    if data == "diabetes":
        X, y, _ = load_diabetes()
        rows = np.random.default_rng(seed).permutation(len(y))[:400]
        return X[rows], y[rows]
    make = {"experiment 1a": experiment_1a, "experiment 2": experiment_2}[data]
    exp = make(n=600, random_state=seed)
    return exp.X[:, :10], exp.y


def search(data: str, seed: int) -> Record:
    """What the search finds on the way, beside all subsets of ten inputs."""
    X, y = ten_columns(data, seed)
    record: Record = {}
    for few in (1, 6, 1000):
        with patch.object(smallest_set, "FEW", few):
            found = MinimalSetSelector(ShapleyEffects(random_state=seed)).fit(X, y)
        evaluator = found.effects_._fitted_game.evaluator
        record[f"evaluated_{few}"] = evaluator.n_evaluated
        record[f"path_{few}"] = [step.explained_variance for step in found.path_]
    masks = (np.arange(1, 1024)[:, None] >> np.arange(10) & 1).astype(bool)
    v = evaluator.evaluate(Subsets.from_masks(masks), influences=False).v_plain
    best = [0.0, *(float(v[masks.sum(axis=1) == k].max()) for k in range(1, 11))]
    short = {few: np.subtract(best, record.pop(f"path_{few}")) for few in (1, 6, 1000)}
    return record | {f"short_{few}": float(lost.max()) for few, lost in short.items()}


RUNS = {"data": by_shaff, "fdr": fdr, "peers": peers, "search": search}


def run(part: str, **key: Any) -> Record:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = RUNS[part](**key)
    shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()}
    print(part, key, shown, flush=True)
    return record


def keys(part: str, seeds: range) -> list[Record]:
    if part == "data":
        return [{"data": d, "seed": s} for s in seeds for d in DATA]
    if part == "search":
        return [{"data": d, "seed": s} for s in seeds for d in SEARCHED]
    if part == "fdr":
        return [{"seed": s} for s in seeds]
    there = [p for p, (module, _) in PEERS.items() if find_spec(module) is not None]
    for peer in PEERS.keys() - set(there):
        print(f"{peer} is left out: {PEERS[peer][0]} is not installed")
    return [{"data": d, "peer": p, "seed": s} for s in seeds for d in DATA for p in there]


def _mean(records: list[Record], name: str) -> float:
    return float(np.nanmean([r[name] for r in records]))


def _some(records: list[Record], **key: Any) -> list[Record]:
    return [r for r in records if key.items() <= r.items()]


def _report_data(records: list[Record], data: str) -> None:
    some = _some(records, part="data", data=data)
    if not some:
        return
    clean = sum(r["relevant_missed"] == r["relevant_useless"] == 0 for r in some)
    has_copies = any(r["relevant_copies"] for r in some)
    one = sum(r["minimal_copies"] == 1 for r in some) if has_copies else "-"
    checked = [r for r in some if "refitted" in r]
    losses = [(r["all"] - r["refitted"], r["error"]) for r in checked]
    projected = np.mean([r["projected"] - r["refitted"] for r in checked])
    print(f"{data}, {len(some)} seeds")
    print(f"  all relevant: right in {clean}, mean size {_mean(some, 'relevant_size'):.1f}, "
          f"loss on fresh rows {_mean(some, 'relevant_fresh_loss'):.4f}, "
          f"{_mean(some, 'relevant_cpu'):.1f} s")  # fmt: skip
    print(f"  minimal set: mean size {_mean(some, 'minimal_size'):.1f}, "
          f"one of the copies in {one}, useless {_mean(some, 'minimal_useless'):.2f}, "
          f"refitted within one error in "
          f"{sum(loss <= error + 1e-9 for loss, error in losses)}, mean loss "
          f"{np.mean([loss for loss, _ in losses]):.4f} (error {_mean(checked, 'error'):.4f}), "
          f"projection less refit {projected:.4f}, loss on fresh rows "
          f"{_mean(some, 'minimal_fresh_loss'):.4f}, "
          f"{_mean(some, 'minimal_cpu'):.1f} s")  # fmt: skip


def _report_peer(records: list[Record], data: str, peer: str) -> None:
    some = _some(records, part="peers", data=data, peer=peer)
    if some:
        print(f"{data}, {peer}, {len(some)} seeds: size {_mean(some, 'size'):.1f}, missed "
              f"{_mean(some, 'missed'):.2f}, useless {_mean(some, 'useless'):.2f}, copies "
              f"{_mean(some, 'copies'):.1f}, loss on fresh rows "
              f"{_mean(some, 'fresh_loss'):.4f}, {_mean(some, 'cpu'):.1f} s")  # fmt: skip


def _report_fdr(records: list[Record]) -> None:
    some = _some(records, part="fdr")
    if some:
        print(f"200 inputs, {len(some)} seeds, {_mean(some, 'in_game'):.0f} by name, "
              f"{_mean(some, 'cpu'):.1f} s")  # fmt: skip
        for rule in ("bh", "by", "holm"):
            false, found = _mean(some, f"{rule}_false"), _mean(some, f"{rule}_found")
            print(f"  {rule}: {false:.3f} of those kept are false, {found:.1f} of 20 found")


def _report_search(records: list[Record], data: str) -> None:
    some = _some(records, part="search", data=data)
    for few in (1, 6, 1000) if some else ():
        short = max(r[f"short_{few}"] for r in some)
        print(f"search, {data}, {len(some)} seeds, {few} candidates: short by {short:.4f} at most, "
              f"{_mean(some, f'evaluated_{few}'):.0f} evaluated")  # fmt: skip


def report(records: list[Record]) -> None:
    """A line a part, or a data set of it."""
    for data in DATA:
        _report_data(records, data)
        for peer in PEERS:
            _report_peer(records, data, peer)
    _report_fdr(records)
    for data in SEARCHED:
        _report_search(records, data)


def main() -> None:
    run_parts(__doc__, PARTS, keys, run, report, out="selection.jsonl", seeds=20)


if __name__ == "__main__":
    main()

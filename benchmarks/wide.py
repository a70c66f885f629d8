"""Many columns: what the screen keeps, what it costs, and whether tests hold.

    python -m benchmarks.wide nulls     --out nulls.jsonl     [--cases t3 factor] [--seeds 0 200]
    python -m benchmarks.wide retention --out retention.jsonl [--seeds 0 100]
    python -m benchmarks.wide bounds    --out bounds.jsonl    [--seeds 0 20]
    python -m benchmarks.wide optimism  --out optimism.jsonl  [--seeds 0 10]
    python -m benchmarks.wide time      --out time.jsonl      [--seeds 0 1]
    python -m benchmarks.wide large     --out large.jsonl     [--cases p5000] [--seeds 0 1]
    python -m benchmarks.wide designs   --out designs.jsonl   [--seeds 0 10]
    python -m benchmarks.wide report    --out any.jsonl

Every run leaves a line in its file, and those that the file has are not run again: a command that
was stopped goes on where it was. `report` prints what a file has so far, with standard errors.

- nulls: p-values of inputs without effect, and of one with an effect of 0.03 (`power`); the cases
  of `benchmarks.wide_data.TUNING` are for choosing between tests;
- retention: columns with effects of 0.03 and 0.015 among nulls: how often do they play;
- bounds: the same with whole fits: how often are the upper bounds of dropped columns right;
- optimism: v of all, beside v of the same models on 20 000 fresh rows ("p40 quick": on 4000);
- time: 20 true columns among p, n = 5000: CPU seconds, memory, and how many are in the top 25;
- large: the same with n = 20 000, up to 5000 columns; memory is the peak of the process, so that a
  case by itself tells its own;
- designs: error of the effects that the design leaves by number of players, and its CPU time.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fresh import held_out_and_fresh
from benchmarks.lines import Record, fill, read
from benchmarks.wide_data import NULLS, TUNING, Data, shape, wide
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray
from shaff.data.problem import RawData, read_problem
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.fitting.evaluator import run_design as take_turns
from shaff.fitting.fit import choose_players
from shaff.fitting.settings import Settings
from shaff.protocols import DesignContext, Proposal, Values
from shaff.results.effects import EffectsResult
from shaff.screening import PlayerSelection
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.subsets import Subsets


def fit(data: Data, seed: int, **settings: Any) -> EffectsResult:
    with warnings.catch_warnings():
        # That nothing is explained is what some of them should say.
        warnings.simplefilter("ignore", UserWarning)
        return ShapleyEffects(random_state=seed, **settings).fit(data.X, data.y).result_


# Level and power -------------------------------------------------------------------------------


def run_null(case: str, seed: int) -> Record:
    data = {**NULLS, **TUNING}[case](np.random.default_rng([seed, 14]))
    result = fit(data, seed)
    return {
        "nulls": data.nulls,
        "known": data.known,
        "raw": rounded(result.raw_effects),
        "plain": rounded(
            result.raw_effects if result.plain_effects is None else result.plain_effects
        ),
        "p": rounded(result.null_test(adjust=None)),
        "holm": rounded(result.null_test()),
        "errors": {name: rounded(e) for name, e in (result.errors_by_source or {}).items()},
    }


def rounded(figures: Any) -> Any:
    return [float(f"{figure:.6g}") for figure in np.ravel(figures)]


# What plays, and what is said of the rest ------------------------------------------------------

WIDE = {
    f"n{n} p{p} {'bent' if bent else 'linear'}": wide(n, p, bent)
    for n, p in ((300, 40), (1000, 200))
    for bent in (False, True)
}


def run_retention(case: str, seed: int) -> Record:
    """The screen alone, as a fit with the defaults would have it."""
    data = WIDE[case](np.random.default_rng([seed, 14]))
    selection = selection_of(data, seed)
    return {
        "n_kept": len(selection.kept),
        "kept": kept_by_effect(data, set(selection.kept.tolist())),
    }


def selection_of(data: Data, seed: int) -> PlayerSelection:
    """As `ShapleyEffects(random_state=seed)` has it."""
    settings = Settings.resolve(ShapleyEffects(random_state=seed).get_params())
    return choose_players(settings, read_problem(RawData(data.X, data.y), settings.reading))


def kept_by_effect(data: Data, kept: set[int]) -> dict[str, float]:
    """Share of the columns of each effect that play."""
    effects = sorted(set(data.known.values()))
    return {
        str(e): float(np.mean([j in kept for j, own in data.known.items() if own == e]))
        for e in effects
    }


def run_bounds(case: str, seed: int) -> Record:
    data = WIDE[case](np.random.default_rng([seed, 14]))
    result = fit(data, seed)
    truth = np.zeros(len(result.names))
    truth[list(data.known)] = list(data.known.values())
    bounds, out = result.upper_bound(), np.flatnonzero(result.is_screened)
    inside = bounds >= truth
    low, high = result.confidence_interval()
    real = list(data.known)
    return {
        "n_out": len(out),
        "covered": float(inside[out].mean()) if len(out) else 1.0,
        "real_out": int((truth[out] > 0).sum()),
        "real_covered": int(inside[out][truth[out] > 0].sum()),
        "mean_bound": float(bounds[out].mean()) if len(out) else 0.0,
        "others": result.others,
        "error": float(np.abs(result.effects - truth).sum()),
        "intervals": float(((low <= truth) & (truth <= high))[real].mean()),
        "false": float((result.null_test(adjust=None)[data.nulls] < 0.05).mean()),
        "family": bool((result.null_test()[data.nulls] < 0.05).any()),
    }


# Is v what new rows say ------------------------------------------------------------------------

# Columns and fresh rows. A fit takes 4000 of these at a time; the quick cases have no more.
OPTIMISM = {f"p{p}": (p, 20_000) for p in (40, 200, 1000)}
QUICK = {f"{case} quick": (p, 4000) for case, (p, _) in OPTIMISM.items()}


def run_optimism(case: str, seed: int) -> Record:
    """v of all players, others among them, beside the same models on fresh rows."""
    p, n_fresh = {**OPTIMISM, **QUICK}[case]
    both = wide(1000 + n_fresh, p, True)(np.random.default_rng([seed, 14]))
    return dict(held_out_and_fresh(both.X, both.y, 1000, seed))


# Time and memory -------------------------------------------------------------------------------

TIMED = {f"p{p}": p for p in (100, 400, 2000)}
LARGE = {f"p{p}": p for p in (200, 1000, 5000)}


def run_time(case: str, seed: int) -> Record:
    return time_fit(5000, TIMED[case], seed)


def run_large(case: str, seed: int) -> Record:
    return time_fit(20_000, LARGE[case], seed)


def time_fit(n: int, p: int, seed: int) -> Record:
    """20 true columns, half of them bent, with effects of 0.04 each."""
    rng = np.random.default_rng([seed, 14])
    X = rng.standard_normal((n, p))
    columns = rng.permutation(p)[:20]
    parts = [shape(k // 10 * (1 + k % 3), X[:, j], True) for k, j in enumerate(columns)]
    y = np.sqrt(0.04) * np.sum(parts, axis=0) + np.sqrt(0.2) * rng.standard_normal(n)
    started = time.perf_counter()
    result = fit(Data(X, y, [], {}), seed, n_jobs=2)
    return {
        "wall": round(time.perf_counter() - started, 1),
        "found": int(np.isin(result.order[:25], columns).sum()),
        "n_players": int((~result.is_screened).sum()),
        "n_subsets": result.n_subsets,
        "explained": result.explained_variance,
        "error": float(np.abs(result.effects[columns] - 0.04).sum()),
    }


# Designs ---------------------------------------------------------------------------------------

DESIGNS = {f"{p} players": p for p in (25, 50, 100, 200)}


def run_design(case: str, seed: int) -> Record:
    """A game with known effects: a concave function of a sum of the players' weights, plus noise
    of 0.003 in every value, with the default number of subsets and without a tolerance."""
    p, rng = DESIGNS[case], np.random.default_rng([seed, 14])
    weight = rng.exponential(size=p) * (rng.random(p) < 0.3)
    weight[0] += 0.5
    weight /= weight.sum()

    def value(masks: npt.NDArray[np.bool_]) -> FloatArray:
        return np.asarray(0.9 * np.sqrt(masks @ weight))

    context = DesignContext(p, None, None, seed)
    design = GaussianProcessDesign(p, context.max_subsets, None, random_state=seed)
    full = Subsets.full(p)

    def evaluate(proposal: Proposal, _: int) -> Values:
        v = value(proposal.subsets.masks())
        return Values(proposal.subsets, v + 0.003 * rng.standard_normal(len(v)))

    proposals, history = take_turns(design, Values(full, value(full.masks())), evaluate)
    effects = GaussianProcessSolver().solve(
        Proposal.concatenate(proposals), history.v[1:], float(history.v[0])
    )
    orders = rng.random((20_000, p)).argsort(axis=1)
    truth = np.zeros(p)
    for order in orders:
        truth[order] += np.diff(0.9 * np.sqrt(np.cumsum(weight[order])), prepend=0.0)
    truth /= len(orders)
    return {
        "subsets": context.max_subsets,
        "error": float(np.abs(effects.effects - truth).sum()),
        "largest": float(np.abs(effects.effects - truth).max()),
    }


# Files -----------------------------------------------------------------------------------------

COMMANDS: dict[str, tuple[dict[str, Any], Callable[[str, int], Record]]] = {
    "nulls": (NULLS, run_null),
    "retention": (WIDE, run_retention),
    "bounds": (WIDE, run_bounds),
    "optimism": (OPTIMISM, run_optimism),
    "time": (TIMED, run_time),
    "large": (LARGE, run_large),
    "designs": (DESIGNS, run_design),
}


def run(command: str, case: str, seed: int) -> Record:
    """What stands beside the key of a run: its figures, CPU seconds and the peak of memory."""
    started = time.process_time()
    record = COMMANDS[command][1](case, seed)
    record["cpu"] = round(time.process_time() - started, 2)
    record["mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return record


def keys(command: str, cases: list[str], seeds: range) -> list[Record]:
    """Seed by seed, so that all cases have a few runs early."""
    known = cases or list(COMMANDS[command][0])
    return [{"command": command, "case": case, "seed": seed} for seed in seeds for case in known]


# Report ----------------------------------------------------------------------------------------


def report(records: list[Record]) -> None:
    """A table a command, a row a case."""
    for command in COMMANDS:
        found = [r for r in records if r["command"] == command]
        cases = dict.fromkeys(r["case"] for r in found)
        if cases:
            print(f"\n{command} (means ± standard errors)")
        for case in cases:
            own = [r for r in found if r["case"] == case]
            figures = [FIGURES[command](r) for r in own]
            cells = [f"{name} {mean_and_error(figures, name)}" for name in figures[0]]
            cells.append(f"CPU {np.mean([r['cpu'] for r in own]):.1f} s")
            print(f"  {case:22s}{len(own):4d} runs  " + "  ".join(cells), flush=True)


def mean_and_error(figures: list[dict[str, float]], name: str) -> str:
    numbers = np.array([f[name] for f in figures if not np.isnan(f[name])])
    if not len(numbers):
        return "–"
    if len(numbers) == 1:
        return f"{numbers[0]:.4g}"
    return f"{numbers.mean():.4f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.4f}"


def null_figures(r: Record) -> dict[str, float]:
    p, holm = np.array(r["p"]), np.array(r["holm"])
    known = [int(j) for j, effect in r["known"].items() if effect == 0.03]
    return {
        "false positives": float((p[r["nulls"]] < 0.05).mean()),
        "family-wise": float((holm[r["nulls"]] < 0.05).any()),
        "power at 0.03": float((p[known] < 0.05).mean()) if known else np.nan,
    }


def bound_figures(r: Record) -> dict[str, float]:
    return {
        "dropped": r["n_out"],
        "covered": r["covered"],
        "bound": r["mean_bound"],
        "with effect": r["real_out"],
        "of them covered": r["real_covered"] / r["real_out"] if r["real_out"] else np.nan,
        "cum. error": r["error"],
        "intervals": r["intervals"],
        "false positives": r["false"],
        "family-wise": float(r["family"]),
    }


def time_figures(r: Record) -> dict[str, float]:
    names = ("wall", "found", "n_players", "n_subsets", "error")
    return {k: r[k] for k in names} | {"MiB": r["mib"]}


FIGURES: dict[str, Callable[[Record], dict[str, float]]] = {
    "nulls": null_figures,
    "retention": lambda r: {
        "players": r["n_kept"],
        **{f"kept {e}": k for e, k in r["kept"].items()},
    },
    "bounds": bound_figures,
    "optimism": lambda r: {
        "held out": r["held_out"],
        "fresh": r["fresh"],
        "held out - fresh": r["held_out"] - r["fresh"],
    },
    "time": time_figures,
    "large": time_figures,
    "designs": lambda r: {k: r[k] for k in ("subsets", "error", "largest")},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=[*COMMANDS, "report"])
    parser.add_argument("--out", type=Path, required=True, help="file of runs, to go on with")
    parser.add_argument("--cases", nargs="+", default=[], help="only these")
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "END"),
                        help="0 1 for times, 0 10 for the rest")  # fmt: skip
    args = parser.parse_args()
    if args.command != "report":
        seeds = args.seeds or (0, 1 if args.command in ("time", "large") else 10)
        fill(args.out, keys(args.command, args.cases, range(*seeds)), run)
    report(read(args.out))


if __name__ == "__main__":
    main()

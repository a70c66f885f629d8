"""``python -m benchmarks.peers.games``: `solve_game` beside the approximators of shapiq.

Five games of 15 players with values known by enumeration: the exact values of experiments 1a and 2,
and three random games of other kinds. Every approximator may evaluate as many subsets, and each
subset has one value: the exact one plus noise of the given standard deviation, none for the empty
and the full set. The error is the sum over the players of the absolute difference to the exact
Shapley value, as a share of the value of the full set.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.games import random_game
from shaff import solve_game
from shaff._util.files import replacing
from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import experiment_1a, experiment_2

N_PLAYERS = 15
BUDGETS = (50, 100, 200, 500, 1000)
NOISES = (0.0, 0.01)
KINDS = ("sparse interactions", "coverage", "soft majority")
Game = Callable[[BoolArray], FloatArray]
Approximate = Callable[[Game, int, int], FloatArray]


def games() -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Name, values of all subsets by number, and exact Shapley values, scaled to a total of 1."""
    every = (np.arange(2**N_PLAYERS)[:, None] >> np.arange(N_PLAYERS) & 1).astype(bool)
    for name, make in (("1a", experiment_1a), ("2", experiment_2)):
        found = make(50, 0)
        values = found.game(every)
        yield name, values / values[-1], found.effects / values[-1]
    for kind in KINDS:
        known = random_game(kind, N_PLAYERS, seed=0)
        values = known.game(every)
        yield kind, values / values[-1], known.effects / values[-1]


def look_up(table: FloatArray, masks: BoolArray) -> FloatArray:
    """Values of subsets; some approximators ask for a single one, without its row."""
    return table[np.atleast_2d(masks).astype(bool) @ (1 << np.arange(N_PLAYERS))]


def noisy(values: FloatArray, noise: float, seed: int) -> FloatArray:
    """One noisy value for each subset, whoever asks for it."""
    added = noise * np.random.default_rng([seed, 7]).standard_normal(len(values))
    added[[0, -1]] = 0.0
    return values + added


def of_shaff(game: Game, budget: int, seed: int) -> FloatArray:
    return solve_game(game, N_PLAYERS, n_subsets=budget, random_state=seed).effects


def of_shapiq(name: str, game: Game, budget: int, seed: int, **settings: object) -> FloatArray:
    from shapiq import approximator

    asked = getattr(approximator, name)(n=N_PLAYERS, random_state=seed, **settings)
    return np.asarray(asked.approximate(budget, game).get_n_order_values(1))


PEERS: dict[str, Approximate] = {
    "shaff": of_shaff,
    **{
        name: partial(of_shapiq, name)
        for name in ("KernelSHAP", "LeverageSHAP", "OddSHAP", "PolySHAP", "SVARM",
                     "UnbiasedKernelSHAP", "PermutationSamplingSV", "StratifiedSamplingSV",
                     "OwenSamplingSV")
    },
    "KernelSHAP, paired": partial(of_shapiq, "KernelSHAP", pairing_trick=True),
    "kADDSHAP": partial(of_shapiq, "kADDSHAP", max_order=2),
    "RegressionMSR": partial(of_shapiq, "RegressionMSR", index="SV"),
    "ProxySHAP": partial(of_shapiq, "ProxySHAP", max_order=1, index="SV"),
}  # fmt: skip


def error_of(peer: str, table: FloatArray, effects: FloatArray, budget: int, seed: int) -> float:
    """The error, or NaN where the approximator fails with so few subsets."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = PEERS[peer](partial(look_up, table), budget, seed)
    except Exception as error:
        print(f"{peer}, {budget} subsets: {error}", file=sys.stderr)
        return float("nan")
    return float(np.abs(found - effects).sum())


def run(path: Path, n_seeds: int) -> dict[str, list[float]]:
    """Errors by game, noise, budget and peer; what the file holds is not run again."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name, values, effects in games():
        for noise, budget, peer in (
            (s, k, peer) for s in NOISES for k in BUDGETS for peer in PEERS
        ):
            key, started = f"{name}/{noise}/{budget}/{peer}", time.process_time()
            errors = kept.get(key, [])
            for seed in range(len(errors), n_seeds):
                table = noisy(values, noise, seed)
                errors = [*errors, round(error_of(peer, table, effects, budget, seed), 6)]
            if errors != kept.get(key):
                kept[key] = errors
                print(f"{key}: {np.mean(errors):.4f}, {time.process_time() - started:.1f} s",
                      file=sys.stderr, flush=True)  # fmt: skip
                with replacing(path) as temporary:
                    temporary.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
    return kept


def cell(kept: dict[str, list[float]], name: str, noise: float, budget: int) -> list[str]:
    """Our mean error, the best other, and the difference with its standard error."""
    errors = {peer: np.array(kept[f"{name}/{noise}/{budget}/{peer}"]) for peer in PEERS}
    ours = errors.pop("shaff")
    best = min(errors, key=lambda peer: np.nan_to_num(errors[peer].mean(), nan=np.inf))
    gap = ours - errors[best]
    spread = gap.std(ddof=1) / np.sqrt(len(gap))
    # Level where the difference is within two of its standard errors.
    word = "level" if abs(gap.mean()) <= 2 * spread else ("first" if gap.mean() < 0 else "behind")
    return [f"{ours.mean():.4f}", f"{errors[best].mean():.4f} ({best})", word]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.games")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("peers-output/games.json"))
    given = parser.parse_args()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    kept = run(given.output, given.seeds)
    print("| game | noise | subsets | shaff | best other | shaff is |\n|---|---|---|---|---|---|")
    for name, noise, budget in ((g, s, k) for g in ("1a", "2", *KINDS) for s in NOISES
                                for k in BUDGETS):  # fmt: skip
        print(f"| {name} | {noise} | {budget} | {' | '.join(cell(kept, name, noise, budget))} |")


if __name__ == "__main__":
    main()

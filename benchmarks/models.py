"""Functions with known effects, explained as models: error and fidelity of `explain_model`.

    python -m benchmarks.models [--cases ishigami] [--n 1000] [--seeds 0 10] [--keep FILE]

Each function is given as a model, with rows that were drawn from the distribution of its inputs:
`explain_model` asks it about these rows, and knows nothing else. Beside it the same function is
explained as a simulator with as many calls, which knows the distribution: at Sobol' points, and at
points that are drawn independently, as the rows are. Errors are sums of absolute errors of the
effects. Fidelity is what the learners explain of the predictions: as the result reports it (with
and without the correction), and on 20 000 fresh rows.

With ``--keep`` every run is written to a file of lines as it comes, and not made again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, uniform

from benchmarks.cases import autoregressive, effects_of, projections
from benchmarks.simulators import CASES as SIMULATORS
from benchmarks.simulators import SimulatorCase
from shaff import ShapleyEffects, explain_model, explain_simulator
from shaff._util.typing import FloatArray
from shaff.fitting.fitted_game import as_played
from shaff.subsets import Subsets

N_FRESH = 20_000
# Seeds of fresh rows, which are not those of any run.
FRESH_SEEDS = 10_000
SLOPES = np.array([1.0, 0.7, -0.5, 0.8, 0.0, 0.3])
COLUMNS = ("model", "sobol", "iid", "fidelity", "plain", "fresh")


def friedman(x: FloatArray) -> FloatArray:
    """Inputs of shape (6, n); the last does nothing."""
    waves = 10 * np.sin(np.pi * x[0] * x[1])
    return np.asarray(waves + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4])


def line(x: FloatArray) -> FloatArray:
    """Inputs of shape (6, n)."""
    return np.asarray(SLOPES @ x)


def tariff(x: FloatArray) -> FloatArray:
    """A step, a product and a curve that saturates; inputs of shape (4, n)."""
    return np.asarray((x[0] > 0.6) * (1 + x[1]) + np.tanh(3 * x[2]) * x[1] + 0.3 * x[3])


@dataclass(frozen=True, eq=False)
class GaussianCase(SimulatorCase):
    """A function of standard normal inputs; ``ranks`` are the correlations of the normals."""

    @cached_property
    def correlation(self) -> FloatArray:
        """Correlation of the inputs."""
        return self.ranks

    def margins(self, normals: FloatArray) -> FloatArray:
        """The normals are the inputs."""
        return normals

    @cached_property
    def effects(self) -> FloatArray:
        """The closed form of a linear function."""
        values = projections(self.ranks, SLOPES)
        return effects_of(values / values[-1])


CASES: dict[str, SimulatorCase] = {
    case.name: case
    for case in (
        SIMULATORS["ishigami"],
        SIMULATORS["g_sobol"],
        SimulatorCase("friedman", friedman, 0.0, 1.0, np.eye(6)),
        GaussianCase("line", line, 0.0, 1.0, autoregressive(0.6)),
        SimulatorCase("tariff", tariff, 0.0, 1.0, np.full((4, 4), 0.4) + 0.6 * np.eye(4)),
    )
}


def draw(case: SimulatorCase, n: int, rng: np.random.Generator) -> FloatArray:
    """Rows of the inputs, shape (n, n_inputs)."""
    normals = np.linalg.cholesky(case.correlation) @ rng.standard_normal((case.n_inputs, n))
    return np.ascontiguousarray(case.margins(normals).T)


def known_inputs(case: SimulatorCase) -> dict[str, Any]:
    """The inputs as `explain_simulator` takes them."""
    is_normal = isinstance(case, GaussianCase)
    margin = norm() if is_normal else uniform(case.low, case.high - case.low)
    ranks = 6 / np.pi * np.arcsin(case.ranks / 2) if is_normal else case.ranks
    names = [f"x{j}" for j in range(case.n_inputs)]
    correlation = None if case.is_independent else ranks
    return {"inputs": dict.fromkeys(names, margin), "correlation": correlation}


def run(case: SimulatorCase, n: int, seed: int) -> dict[str, float]:
    """Errors and fidelities of one run."""

    def model(rows: FloatArray) -> FloatArray:
        return case.signal(np.asarray(rows).T)

    est = explain_model(model, draw(case, n, np.random.default_rng(seed)), random_state=seed)
    how = {"n": n, "vectorised": True, "random_state": seed}
    sobol = explain_simulator(model, **known_inputs(case), **how).result
    iid = explain_simulator(model, lambda n, rng: draw(case, n, rng), **how).result
    plain = est.result_.plain_explained_variance
    explained = est.result_.explained_variance
    return {
        **{
            name: float(np.abs(result.effects - case.effects).sum())
            for name, result in (("model", est.result_), ("sobol", sobol), ("iid", iid))
        },
        "fidelity": explained,
        "plain": explained if plain is None else plain,
        "fresh": followed(
            est, model, draw(case, N_FRESH, np.random.default_rng(FRESH_SEEDS + seed))
        ),
    }


def followed(
    est: ShapleyEffects, model: Callable[[FloatArray], FloatArray], fresh: FloatArray
) -> float:
    """Share of the variance of a model's predictions of fresh rows that the learners explain."""
    fitted = est._fitted_game
    rows = as_played(fitted.selection, fitted.game, fitted.columns, fresh)
    full = Subsets.full(len(fitted.selection.problem.players))
    said, predicted = model(fresh), fitted.game.values.predict(full, rows)[0, :, 0]
    return float(1 - np.mean((said - predicted) ** 2) / said.var())


def kept_runs(keep: Path | None) -> dict[tuple[str, int, int], dict[str, float]]:
    """Runs that were made before."""
    if keep is None or not keep.exists():
        return {}
    lines = [json.loads(text) for text in keep.read_text("utf-8").splitlines()]
    return {(kept["case"], kept["n"], kept["seed"]): kept["found"] for kept in lines}


def runs(case: SimulatorCase, n: int, seeds: range, keep: Path | None) -> list[dict[str, float]]:
    """The runs of all seeds; those that are not kept yet are made now."""
    known = kept_runs(keep)
    found = []
    for seed in seeds:
        one = known.get((case.name, n, seed))
        if one is None:
            one = run(case, n, seed)
            if keep is not None:
                kept = json.dumps({"case": case.name, "n": n, "seed": seed, "found": one})
                with keep.open("a", encoding="utf-8") as file:
                    file.write(kept + "\n")
        found.append(one)
    return found


def summary(case: SimulatorCase, n: int, found: list[dict[str, float]]) -> str:
    """One line of the table: mean errors, their ratios, and how far fidelities are off."""
    mean = {name: float(np.mean([one[name] for one in found])) for name in COLUMNS}
    off = max(abs(one["fidelity"] - one["fresh"]) for one in found)
    plain_off = max(abs(one["plain"] - one["fresh"]) for one in found)
    return (
        f"{case.name:9s} {n:5d}   {mean['model']:.4f} {mean['sobol']:.4f} {mean['iid']:.4f}   "
        f"{mean['model'] / mean['sobol']:.2f} {mean['model'] / mean['iid']:.2f}   "
        f"{mean['fidelity']:.3f} {mean['plain']:.3f} {mean['fresh']:.3f}   "
        f"{off:.3f} {plain_off:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10))
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    print("error of model, simulator (Sobol'), simulator (iid); ratios of the first to the others;")
    print("fidelity reported, uncorrected, on fresh rows; largest differences to the last")
    for n in options.n:
        for name in options.cases:
            found = runs(CASES[name], n, range(*options.seeds), options.keep)
            print(summary(CASES[name], n, found), flush=True)


if __name__ == "__main__":
    main()

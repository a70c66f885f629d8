"""Wall time of a default fit on several cores over that on one.

    python -m benchmarks.cores [--case 2:4900 2:10000] [--cores 2] [--pairs 5]

Fits are made in processes of their own, on one core and on several in turn, as `benchmarks.pairs`
makes them. The figures are medians of the ratios: what else the machine does hits both. What more
cores than the machine has would bring is told by `benchmarks.chain`.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.pairs import measure

CASES = ("1a:1000", "2:1000", "2:4900", "2:10000")


def walls(case: str, cores: int, n_pairs: int) -> np.ndarray:
    """Wall seconds on one core and on several, shape (n_pairs, 2)."""
    found = np.empty((n_pairs, 2))
    for pair in range(n_pairs):
        # Each goes first every other time.
        for k in (0, 1) if pair % 2 else (1, 0):
            found[pair, k] = measure(None, case, pair, cores if k else 1, False)[1]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", nargs="+", default=CASES, metavar="EXPERIMENT[:ROWS]")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    for case in options.case:
        found = walls(case, options.cores, options.pairs)
        ratios = found[:, 1] / found[:, 0]
        one, several = np.median(found, axis=0)
        spread = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(
            f"{case}: wall {one:.2f} s on one core, {several:.2f} s on {options.cores}: "
            f"{np.median(ratios):.3f} (pairs: {spread})",
            flush=True,
        )


if __name__ == "__main__":
    main()

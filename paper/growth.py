"""Table 2, the complexities, as measured growth of the time in n, p and K."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from paper.plan import Study
from paper.runs import RunStore, Task

FACTOR = 4


@dataclass(frozen=True)
class Cost:
    """What the paper says of a system's time, and where we measure it.

    Parameters
    ----------
    label, system, claim : str
    n_rows, n_subsets, n_columns : int
        At the start; each grows by `FACTOR` in turn, columns to ``more_columns`` if that is given.
    by_subsets : bool
        Whether K is a choice.
    more_columns : int or None
    """

    label: str
    system: str
    claim: str
    n_rows: int = 3000
    n_subsets: int = 300
    n_columns: int = 16
    by_subsets: bool = True
    more_columns: int | None = None

    def tasks(self, study: Study) -> dict[str, Task]:
        """The measurement at the start and one for each size that grows."""
        n = int(min(self.n_rows, study.growth.max_rows))
        k = int(min(self.n_subsets, study.growth.max_subsets))
        p = self.n_columns
        sizes = {
            "start": (n, p, k),
            "n": (FACTOR * n, p, k),
            "p": (n, self.more_columns or FACTOR * p, k),
        }
        if self.by_subsets:
            sizes["K"] = (n, p, FACTOR * k)
        return {
            name: Task(f"p={p}", self.system, study.seed, n, k, study.growth.n_trees)
            for name, (n, p, k) in sizes.items()
        }


COSTS = (
    Cost("SHAFF", "shaff_published", "M K n log n"),
    Cost("Williamson", "williamson", "M K p n log² n", n_rows=1000, n_subsets=100),
    Cost("SAGE", "sage", "M p n log n"),
    Cost("Broto", "broto", "2^p p n log n", n_columns=5, by_subsets=False, more_columns=9),
    Cost("shaff, defaults", "shaff", "–", by_subsets=False),
)


def growth_tasks(study: Study) -> list[Task]:
    """All measurements."""
    return [task for cost in COSTS for task in cost.tasks(study).values()]


def growth_markdown(study: Study, store: RunStore) -> str:
    """Seconds at the start, and the power of n, p and K by which they grow."""
    lines = [
        "| | paper: order | start: n, p, K | seconds | power of n | power of p | power of K |",
        "|---|---|---|---|---|---|---|",
    ]
    for cost in COSTS:
        tasks = cost.tasks(study)
        found = {name: run for name, task in tasks.items() if (run := store.get(task)) is not None}
        seconds = {name: run.seconds for name, run in found.items()}
        first = f"{seconds['start']:.2f}" if "start" in seconds else "no run"
        start = tasks["start"]
        sizes = f"{start.n_rows}, {cost.n_columns}, {start.n_subsets if cost.by_subsets else '–'}"
        powers = [_power(cost, seconds, name) for name in ("n", "p", "K")]
        lines.append("| " + " | ".join([cost.label, cost.claim, sizes, first, *powers]) + " |")
    return "\n".join(lines)


def _power(cost: Cost, seconds: dict[str, float], name: str) -> str:
    if "start" not in seconds or name not in seconds:
        return "–"
    ratio = seconds[name] / seconds["start"]
    if name == "p" and cost.more_columns is not None:
        return f"× {ratio ** (1 / (cost.more_columns - cost.n_columns)):.1f} a column"
    return f"{log(ratio) / log(FACTOR):.2f}"

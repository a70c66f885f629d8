"""A fit that tells of each evaluation, for tests that stop it: in a process of its own, or here."""

import sys
from unittest.mock import patch

from sklearn.ensemble import RandomForestRegressor

from shaff import ShapleyEffects
from shaff.datasets import experiment_2
from shaff.values.forest.projected_forest import ProjectedForest


def say(line):
    print(line, flush=True)


def run(n_rows, n_trees, n_jobs, checkpoint=None, chunk=64, tell=say):
    """Fit, tell "evaluating" before each block of subsets, and return the bits of the result."""
    exp = experiment_2(n=n_rows, random_state=0)
    model = RandomForestRegressor(n_trees, min_samples_leaf=5, n_jobs=1)
    est = ShapleyEffects(
        model,
        design="leverage",
        n_subsets=600,
        n_jobs=n_jobs,
        random_state=0,
        checkpoint=checkpoint,
    )
    evaluate = ProjectedForest.values

    def values(self, subsets, **options):
        tell("evaluating")
        return evaluate(self, subsets, **options)

    with (
        patch.object(ProjectedForest, "values", values),
        patch("shaff.fitting.evaluator.CHUNK", chunk),
    ):
        try:
            est.fit(exp.X, exp.y)
        except KeyboardInterrupt:
            tell(f"interrupted {[name for name in vars(est) if name.endswith('_')]}")
            raise
    return est.effects_.tobytes().hex() + est.result_.covariance.tobytes().hex()


if __name__ == "__main__":
    rows, trees, jobs, size = map(int, sys.argv[1:5])
    say(run(rows, trees, jobs, sys.argv[5] or None, size))

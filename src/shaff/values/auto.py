"""What ``estimator="auto"`` takes: boosting, a forest or their stack."""

from __future__ import annotations

from dataclasses import replace

from shaff.data.problem import Problem
from shaff.protocols import Game, Values
from shaff.subsets import Subsets
from shaff.trees.kinds import paper_forest
from shaff.values.boosting import make_boosting
from shaff.values.forest import make_forest
from shaff.values.stack import stacked

SCOUT_TREES = 50
# "auto" leaves boosting only for something that explains more by this much.
MARGIN = 0.01
# Up to so many rows "auto" considers the stack: it prices a subset three times.
STACKED_ROWS = 5000


def make_auto(problem: Problem) -> Game:
    """Boosting, forest or their stack: what explains most of the rows it has not seen.

    They are compared with at most 50 trees in the forest; boosting wins near ties, because it
    shrinks least on small subsets too, and the stack is for data that are small enough for it.
    Only boosting keeps to the splits of a splitter.
    """
    boosting = make_boosting(problem)
    if problem.has_splits:
        return boosting
    scout = make_forest(replace(problem, forest_error="unbiased"), paper_forest(SCOUT_TREES))
    candidates = [boosting, scout]
    if len(problem.X) <= STACKED_ROWS:
        candidates.append(stacked(problem, boosting, scout))
    priced = {game.name: _price_all(game) for game in candidates}
    chosen = _choose({name: float(values.v[0]) for name, values in priced.items()})
    compared = ", ".join(f"{name} {values.v[0]:.3f}" for name, values in priced.items())
    note = (
        f"Chose {chosen} by the variance explained of rows not seen, boosting unless another has "
        f"{MARGIN} more: {compared}."
    )
    game = replace(boosting, priced=priced["boosting"])
    if chosen != "boosting":
        forest = make_forest(problem)
        game = forest if chosen == "forest" else stacked(problem, boosting, forest)
    return replace(game, notes=(note, *game.notes))


def _price_all(game: Game) -> Values:
    return game.values.values(Subsets.full(game.values.n_players), influences=True)


def _choose(explained: dict[str, float]) -> str:
    chosen = "boosting"
    for name in explained:
        chosen = name if explained[name] > explained[chosen] + MARGIN else chosen
    return chosen

"""Step 1 of the paper: subsets drawn by how often they occur along the paths of the forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from shaff import _core
from shaff._util.typing import FloatArray, Players, RandomState
from shaff.errors import InputError
from shaff.protocols import DesignContext, DesignSetting, Proposal, Values
from shaff.subsets import Subsets, log_kernel_weight
from shaff.trees.forest import Forest

WEIGHTINGS = ("pair", "published")
REPEATS = ("counted", "once")


def path_subsets(forest: Forest, players: Players | None = None) -> tuple[Subsets, FloatArray]:
    """Return the subsets that occur along the paths of a forest, and their frequencies.

    A path counts the set of split variables of each of its prefixes once; the full set is left
    out and the frequencies are scaled to sum to one. O(number of nodes), any number of columns.
    ``players`` (lists of columns) makes the sets those of players that a prefix touches.
    """
    player_of = np.arange(forest.n_columns, dtype=np.int32)
    n_players = forest.n_columns
    if players is not None:
        n_players = len(players)
        for player, columns in enumerate(players):
            player_of[columns] = player
    feature = np.where(forest.feature < 0, -1, player_of[forest.feature]).astype(np.int32)
    n_words = Subsets.full(n_players).words.shape[1]
    words, counts = _core.count_path_subsets(
        forest.offsets, feature, forest.left, forest.right, n_words
    )
    subsets = Subsets(words, n_players)
    proper = subsets.sizes < n_players
    frequency = counts[proper].astype(np.float64)
    return subsets[proper], frequency / max(frequency.sum(), 1.0)


class ForestPathsDesign:
    """Paired importance sampling from the path frequencies: draws, each with its complement.

    Parameters
    ----------
    candidates : Subsets
    frequency : float array of shape (n_candidates,)
    n_draws : int or None
        Number of draws with replacement; None draws until ``n_subsets`` evaluations are reached.
    n_subsets : int or None
        Cap on the number of distinct subsets, complements included.
    paired_weights : {"pair", "published"}
        A pair {U, complement of U} is reached with probability q = p(U) + p(complement). "pair"
        weights both members by w(U) / q, which is consistent. "published" is the paper's formula:
        w(U) / p(U), the complement taking its partner's weight; a pair whose members both occur
        in the forest then counts twice.
    random_state : int, RandomState or None
    repeats : {"counted", "once"}
        "counted" gives a subset that was drawn m times m times its weight, as importance sampling
        asks. "once" reads the paper's draws as a set: a subset counts once however often it was
        drawn. This reading is not consistent (docs/paper.md, "What the paper's words can mean").

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.forest_paths import ForestPathsDesign
    >>> from shaff.subsets import Subsets
    >>> seen = Subsets.from_indices([[0], [0, 1]], n_players=3)
    >>> design = ForestPathsDesign(seen, np.array([0.6, 0.4]), n_draws=20, random_state=0)
    >>> len(design.draw().subsets)
    4
    """

    def __init__(
        self,
        candidates: Subsets,
        frequency: FloatArray,
        n_draws: int | None = 500,
        n_subsets: int | None = None,
        paired_weights: str = "pair",
        random_state: RandomState = None,
        repeats: str = "counted",
    ) -> None:
        self.candidates = candidates
        self.frequency = frequency
        self.n_draws = n_draws
        self.n_subsets = n_subsets
        self.paired_weights = paired_weights
        self.random_state = random_state
        self.repeats = repeats

    def propose(self, history: Values) -> Proposal | None:
        """Propose all subsets at once, then nothing."""
        if len(history.v) > 1 or len(self.candidates) == 0:
            return None
        return self.draw()

    def draw(self) -> Proposal:
        """Draw subsets; return them and their complements, each once, with their summed weights.

        Players that occur in no draw do not take part.
        """
        rng = check_random_state(self.random_state)
        n_draws = (
            _DRAWS_PER_SUBSET * (self.n_subsets or 0) if self.n_draws is None else self.n_draws
        )
        draws = rng.choice(len(self.candidates), n_draws, p=self.frequency)
        if self.n_subsets is not None:
            draws = draws[: _draws_within(self.candidates[draws], self.n_subsets // 2)]
        found, first, count = np.unique(draws, return_index=True, return_counts=True)
        order = np.argsort(first)
        drawn, count = self.candidates[found[order]], count[order]
        times = np.log(count) if self.repeats == "counted" else 0.0
        drawn = drawn.with_log_weight(self._log_weight(drawn) + times)
        both = Subsets.concatenate([drawn, drawn.complement()])
        subsets = both.unique() if self.repeats == "counted" else _first_of_each(both)
        return Proposal(subsets, active=np.asarray(drawn.masks().any(axis=0)))

    def _log_weight(self, drawn: Subsets) -> FloatArray:
        probability = dict(zip(self.candidates.keys(), self.frequency, strict=True))
        reached = np.array([probability[key] for key in drawn.keys()])
        if self.paired_weights == "pair":
            reached += [probability.get(key, 0.0) for key in drawn.complement().keys()]
        weight = log_kernel_weight(drawn.sizes, drawn.n_players) - np.log(reached)
        return np.asarray(weight, dtype=np.float64)


# Repetitions among the draws do not count as evaluations, hence far more draws than subsets.
# Fewer, and ``n_subsets`` is not reached (`benchmarks.published`).
_DRAWS_PER_SUBSET = 20


def _first_of_each(subsets: Subsets) -> Subsets:
    """Each subset once, with the weight that it has where it occurs first."""
    first = np.unique(subsets.words, axis=0, return_index=True)[1]
    return subsets[np.sort(first)]


def _draws_within(drawn: Subsets, n_pairs: int) -> int:
    """Return how many of the first draws have at most ``n_pairs`` distinct pairs."""
    seen: set[bytes] = set()
    for count, (key, partner) in enumerate(
        zip(drawn.keys(), drawn.complement().keys(), strict=True)
    ):
        seen.add(min(key, partner))
        if len(seen) > n_pairs:
            return count
    return len(drawn)


@dataclass(frozen=True)
class ForestPaths(DesignSetting):
    """The paper's design as a setting of `ShapleyEffects`: ``design=ForestPaths(...)``.

    Parameters
    ----------
    n_draws : int or None, default=None
        Number of draws; None lets ``n_subsets`` decide.
    paired_weights : {"pair", "published"}, default="pair"
        See `ForestPathsDesign`.
    repeats : {"counted", "once"}, default="counted"
        Whether a subset that is drawn m times has m times its weight, or counts once.

    Examples
    --------
    >>> from shaff.designs.forest_paths import ForestPaths
    >>> ForestPaths(n_draws=500, paired_weights="published")
    ForestPaths(n_draws=500, paired_weights='published', repeats='counted')
    """

    n_draws: int | None = None
    paired_weights: str = "pair"
    repeats: str = "counted"
    name = "forest_paths"

    def make(self, context: DesignContext) -> ForestPathsDesign:
        """Return the design on the paths of the forest of step 2."""
        if context.forest is None:
            raise InputError(
                'design="forest_paths" follows the paths of a forest: use it with '
                'estimator="forest" or a scikit-learn forest.'
            )
        self._check()
        candidates, frequency = path_subsets(context.forest, context.players)
        n_subsets = context.n_subsets
        if self.n_draws is None and n_subsets is None:
            n_subsets = context.max_subsets
        return ForestPathsDesign(
            candidates,
            frequency,
            self.n_draws,
            n_subsets,
            self.paired_weights,
            context.seed,
            self.repeats,
        )

    def _check(self) -> None:
        for name, known in (("paired_weights", WEIGHTINGS), ("repeats", REPEATS)):
            given = getattr(self, name)
            if given not in known:
                raise InputError(f"{name}={given!r} is unknown: use one of {known}.")

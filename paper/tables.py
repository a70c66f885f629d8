"""The paper's tables as data: what was run, and what the paper printed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from paper.plan import N_SUBSETS, Study
from paper.runs import Task


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Parameters
    ----------
    label : str
        As the paper names it.
    system : str
        A name of `paper.systems.SYSTEMS`.
    printed : dict of str to float
        The paper's cumulative absolute error by experiment; absent where it has none.
    n_subsets : int
    effort : str or None
        Rows, trees and repetitions: an effort of the study by name, in place of the system's own.
    """

    label: str
    system: str
    printed: dict[str, float] = field(default_factory=dict)
    n_subsets: int = N_SUBSETS
    effort: str | None = None

    def tasks(self, study: Study, experiment: str) -> list[Task]:
        """The runs behind one cell."""
        effort = None if self.effort is None else getattr(study, self.effort)
        return study.tasks(self.system, experiment, self.n_subsets, effort)


@dataclass(frozen=True)
class PaperTable:
    """A table of cumulative absolute errors, one column per experiment."""

    name: str
    title: str
    experiments: tuple[str, ...]
    rows: tuple[Row, ...]


DEFAULTS = Row("shaff, defaults", "shaff")
# Beside systems that fit a forest for every subset, which get less effort.
LIKE_RETRAINED = Row("SHAFF, sizes of the retrained", "shaff_published", effort="retrained")
# What the number of trees does: it limits the subsets that draws can reach.
FEWER_TREES = Row("SHAFF, fewer trees", "shaff_published", effort="fewer_trees")

COMPETITORS = PaperTable(
    "table-3",
    "Table 3: SHAFF against other Shapley algorithms",
    ("1a", "1b", "2"),
    (
        Row("SHAFF", "shaff_published", {"1a": 0.25, "1b": 0.80, "2": 0.15}),
        Row("Williamson", "williamson", {"1a": 0.64, "1b": 1.17, "2": 0.24}),
        LIKE_RETRAINED,
        FEWER_TREES,
        Row("SAGE", "sage", {"1a": 0.33, "1b": 1.16, "2": 0.18}),
        Row("SAGE, K = 3000", "sage", {}, 3000, effort="more_subsets"),
        DEFAULTS,
    ),
)

COMBINATIONS = PaperTable(
    "table-4",
    "Table 4: ways to choose subsets x ways to evaluate them",
    ("1a", "2"),
    (
        Row("SHAFF (pIS/Projected-RF)", "shaff_published", {"1a": 0.25, "2": 0.15}),
        Row("pIS/Forest", "paths_retrained", {"1a": 0.23, "2": 0.13}),
        Row("pIS/Marginals", "paths_marginal", {"1a": 0.26, "2": 0.31}),
        Row("pIS/TreeSHAP", "paths_tree_shap", {"1a": 1.18, "2": 1.49}),
        Row("pMC/Projected-RF", "pairs_projected", {"1a": 0.55, "2": 0.29}),
        Row("pMC/Forest", "pairs_retrained", {"1a": 0.56, "2": 0.19}),
        LIKE_RETRAINED,
        FEWER_TREES,
        DEFAULTS,
    ),
)

NUMBER_OF_SUBSETS = PaperTable(
    "table-5",
    "Table 5: SHAFF by the number of subsets K",
    ("1a",),
    (
        *(
            Row(f"K = {k}", "shaff_published", {"1a": error}, k)
            for k, error in (
                (10, 0.67),
                (50, 0.40),
                (100, 0.30),
                (200, 0.29),
                (500, 0.25),
                (1000, 0.22),
                (3000, 0.21),
            )
        ),
        *(
            replace(FEWER_TREES, label=f"K = {k}, fewer trees", n_subsets=k)
            for k in (10, 50, 100, 200, 500, 1000, 3000)
        ),
        DEFAULTS,
    ),
)

TABLES = (COMPETITORS, COMBINATIONS, NUMBER_OF_SUBSETS)

# Table 1 of the paper in its words, and what the system is called here.
STATE_OF_THE_ART = (
    ("Song et al. 2016", "all", "global", "permutation", "known conditionals", ("song",)),
    ("Lundberg and Lee 2017", "all", "local", "Monte-Carlo", "marginals", ("kernel_shap",)),
    ("Lundberg et al. 2018", "tree ensembles", "local", "greedy heuristic", "greedy heuristic",
     ("tree_shap",)),
    ("Aas et al. 2019", "all", "local", "Monte-Carlo", "known conditionals",
     ("aas_gaussian", "aas_copula", "aas_empirical")),
    ("Covert et al. 2020 (SAGE)", "all", "global", "Monte-Carlo", "marginals", ("sage",)),
    ("Broto et al. 2020", "all", "global", "brute force", "nearest neighbours",
     ("broto", "broto_sampled")),
    ("Williamson and Feng 2020", "all", "global", "Monte-Carlo", "retrain model", ("williamson",)),
    ("Covert and Lee 2020", "all", "local", "Monte-Carlo", "marginals", ("covert_lee",)),
    ("SHAFF", "random forests", "global", "importance sampling", "projected forests", ()),
)  # fmt: skip

# What each figure of the paper shows, by label of the panel.
SHOWN = {"SHAFF": "shaff_published", "Williamson": "williamson", "SAGE": "sage"}
FIGURES: dict[str, dict[str, str]] = {
    "1a": {**SHOWN, "shaff, defaults": "shaff"},
    "1b": {**SHOWN, "shaff, defaults": "shaff"},
    "2": {**SHOWN, "shaff, defaults": "shaff"},
    "3": {**SHOWN, "MDI": "mdi", "shaff, defaults": "shaff"},
}

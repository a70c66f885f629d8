"""Learners by name, and what results say about them."""

from types import SimpleNamespace

import numpy as np
import pytest

from shaff import ShapleyEffects
from shaff.cli import options
from shaff.data.problem import Problem
from shaff.errors import InputError
from shaff.fitting.notes import learner, models
from shaff.protocols import Game, LearnerFacts, ValueSetting
from shaff.show.sentences import model_words
from shaff.values.making import make_values
from shaff.values.means import MeanValues
from shaff.values.registry import LEARNERS, learner_words

SENTENCES = {
    LearnerFacts(): (),
    LearnerFacts(
        explains_model="Ridge", n_labelled=300, blended=("linear", "forest"), n_splits=2
    ): (
        "Explains the predictions of Ridge on 300 rows, through a surrogate: the model, not the "
        "data.",
        "The model is a blend of two kinds (linear and forest), averaged over two splits of the "
        "rows.",
    ),
    LearnerFacts(enough="constant"): (
        "No model predicts held-out rows better than the mean does.",
    ),
    LearnerFacts(enough="linear"): (
        "A linear model is enough here: trees on top of it do not predict better.",
    ),
    LearnerFacts(enough="normal_scores"): (
        "A linear model of the ranked inputs is enough here: trees on top of it do not predict "
        "better.",
    ),
    LearnerFacts(enough="quadratic"): (
        "A model of straight lines and squares is enough here: trees on top of it do not predict "
        "better.",
    ),
    LearnerFacts(ignores_cv=True): (
        "cv is not used: a forest is measured on its out-of-bag rows, and bags are drawn at "
        'random. Boosting (estimator="boosting") uses cv.',
    ),
    LearnerFacts(reference="Breiman (2003).", orders_levels=True): (
        "Breiman (2003).",
        "Levels of categories are ordered by their mean of y over all rows, as in ranger.",
    ),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    return X, X[:, 0] + 0.5 * rng.standard_normal(60)


@pytest.mark.parametrize(("facts", "sentences"), SENTENCES.items())
def test_every_fact_has_its_sentence(facts, sentences):
    assert learner_notes(facts) == sentences


def learner_notes(facts):
    """What the rules say about a learner of which nothing else is known."""
    known = SimpleNamespace(
        game=SimpleNamespace(facts=facts, notes=()),
        solution=None,
        checks=SimpleNamespace(linear_explained=None),
    )
    return (*learner.about_the_learner(known), *models.simpler_is_enough(known))


def test_least_squares_speaks_first_where_two_simpler_models_are_enough():
    X = np.random.default_rng(0).standard_normal((400, 3))
    y = X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(400)
    notes = ShapleyEffects("boosting", random_state=0).fit(X, y).result_.notes
    assert sum("is enough here" in note for note in notes) == 1
    assert any(note.startswith("A linear model is enough here: on held-out rows") for note in notes)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_is_made_by_its_name(rows, name):
    game = make_values(name, Problem.of(*rows, random_state=0))
    assert game.name == ("stack" if name == "auto" else name)
    assert game.notes == (), "learners of shaff state facts, not sentences"


def test_the_stack_says_what_it_blends(rows):
    game = make_values("stack", Problem.of(*rows, random_state=0))
    assert learner_notes(game.facts) == (
        "The model is a blend of four kinds (linear, forest, boosted trees and smooth curves), "
        "averaged over five splits of the rows.",
    )


def test_the_command_line_and_the_sentences_know_the_same_learners(rows):
    assert [learner.value for learner in options.Learner] == list(LEARNERS)
    result = ShapleyEffects("smooth", random_state=0).fit(*rows).result_
    assert model_words(result).startswith(LEARNERS["smooth"].words)
    assert learner_words("path_dependent") == "path dependent"


def test_an_unknown_name_is_told_the_names(rows):
    with pytest.raises(InputError, match="estimator='oracle' is unknown: use 'auto', 'forest', "):
        make_values("oracle", Problem.of(*rows))


class _Means(MeanValues):
    def _means(self, known, rows):
        n_rows = len(self.X if rows is None else rows)
        return np.full((len(known), n_rows, 1), self.y.mean())


class _Outside(ValueSetting):
    name = "outside"

    def make(self, problem):
        return Game(_Means(problem), self.name, notes=("Made elsewhere.",))


def test_notes_of_value_functions_from_outside_are_kept(rows):
    result = ShapleyEffects(_Outside(), random_state=0).fit(*rows).result_
    assert "Made elsewhere." in result.notes

"""`solve_game`: Shapley values of any set function."""

import numpy as np
import pytest

from benchmarks.games import KINDS, random_game
from shaff import solve_game
from shaff.datasets import shapley_values
from shaff.errors import InputError, InputTypeError


@pytest.mark.parametrize("p", [1, 2, 5])
def test_few_players_are_solved_exactly(p):
    table = np.random.default_rng(p).normal(size=2**p)  # the empty set is worth something, too

    def game(masks):
        return table[masks @ (1 << np.arange(p))]

    found = solve_game(game, p)
    expected = shapley_values(lambda masks: game(masks) - table[0], p)
    np.testing.assert_allclose(found.effects, expected, atol=1e-12)
    assert found.n_subsets == 2**p
    assert not found.standard_errors.any()


@pytest.mark.parametrize("kind", KINDS)
def test_many_players_from_few_evaluations(kind):
    known = random_game(kind, 12, seed=3)
    found = solve_game(known.game, 12, n_subsets=150, random_state=0)
    assert found.n_subsets <= 150
    assert found.effects.sum() == pytest.approx(found.value, abs=1e-9)
    assert np.abs(found.effects - known.effects).sum() < 0.12
    assert (np.abs(found.effects - known.effects) <= 4 * found.standard_errors + 1e-9).all()


def test_units_do_not_matter_and_effects_may_be_negative():
    known = random_game("coverage", 10, seed=0)
    plain = solve_game(known.game, 10, n_subsets=80, random_state=0)
    other = solve_game(lambda m: 7 - 1000 * known.game(m), 10, n_subsets=80, random_state=0)
    np.testing.assert_allclose(other.effects, -1000 * plain.effects, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(other.standard_errors, 1000 * plain.standard_errors, rtol=1e-2)
    assert (other.effects < 0).any()


def test_a_tolerance_stops_early_and_the_same_seed_gives_the_same_bits():
    known = random_game("linear Gaussian", 12, seed=1)
    coarse, fine, again = (
        solve_game(known.game, 12, n_subsets=300, tol=tol, random_state=0)
        for tol in (0.02, 1e-9, 0.02)
    )
    assert coarse.n_subsets < fine.n_subsets <= 300
    assert coarse.standard_errors.max() <= 0.02
    np.testing.assert_array_equal(coarse.effects, again.effects)


@pytest.mark.parametrize(("p", "n_subsets"), [(12, 202), (14, 212), (27, 402), (41, 412)])
def test_without_a_number_as_many_subsets_are_evaluated_as_is_documented(p, n_subsets):
    found = solve_game(lambda masks: np.sqrt(masks.sum(axis=1)), p, random_state=0)
    assert found.n_subsets == n_subsets


def test_what_follows_the_number_of_players_is_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        solve_game(lambda masks: masks.sum(axis=1), 4, 10)


def test_each_subset_is_asked_for_once():
    asked = []

    def game(masks):
        asked.extend(row.tobytes() for row in masks)
        return masks.sum(axis=1) ** 2

    solve_game(game, 9, n_subsets=100, random_state=0)
    assert len(asked) == len(set(asked)) == 100


def test_fewer_evaluations_than_players_are_kept_to():
    found = solve_game(lambda masks: masks.sum(axis=1), 30, n_subsets=10, random_state=0)
    assert found.n_subsets <= 10
    np.testing.assert_allclose(found.effects.sum(), 30)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"game": 3}, InputTypeError, "callable"),
        ({"n_players": 0}, InputError, "n_players"),
        ({"n_players": 2.5}, InputError, "n_players"),
        ({"n_subsets": 3}, InputError, "n_subsets"),
        ({"n_subsets": True}, InputError, "n_subsets"),
        ({"tol": 0.0}, InputError, "tol"),
        ({"game": lambda masks: 1.0}, InputError, "shape"),
        ({"game": lambda masks: masks}, InputError, "shape"),
        ({"game": lambda masks: np.full(len(masks), np.nan)}, InputError, "finite"),
        ({"game": lambda masks: ["a"] * len(masks)}, InputTypeError, "expected numbers"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else None,
)
def test_bad_games_are_refused_in_a_sentence(arguments, error, said):
    call = {"game": lambda masks: masks.sum(axis=1), "n_players": 4, **arguments}
    with pytest.raises(error, match=said):
        solve_game(**call)

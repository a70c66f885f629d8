"""Hierarchies: Owen effects of inputs in groups."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import as_lists, games_in_parts
from results import HOSTILE, rich_result

from benchmarks.definitions import as_set_function, owen_effects
from benchmarks.games import random_game
from shaff import ShapleyEffects, load_result, solve_game
from shaff.cli import main
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.errors import InputError, InputTypeError
from shaff.gaussian_process.kernel import OddKernel, Points
from shaff.gaussian_process.owen_kernel import OwenKernel
from shaff.show.report import render
from shaff.solve.exact import owen_map, shapley_map
from shaff.subsets import Subsets, n_owen_coalitions, owen_coalitions

GROUPS = {"home": {"size": ["area", "rooms"], "place": ["x"]}, "owner": {"age": ["age"],
          "income": ["income"]}}  # fmt: skip


def houses(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    X[:, 1] += X[:, 0]
    X[:, 4] += X[:, 3]
    names = ["area", "rooms", "x", "age", "income", "year"]
    y = X[:, 0] + 0.5 * X[:, 2] * X[:, 4] + 0.5 * X[:, 3] + 0.3 * X[:, 5]
    return pd.DataFrame(X, columns=names), pd.Series(y + 0.3 * rng.standard_normal(n), name="price")


def run(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def fitted(groups=None, **more):
    settings = {"random_state": 0, **more}
    return ShapleyEffects("boosting", groups=groups or GROUPS, **settings).fit(*houses())


@settings(max_examples=40, deadline=None)
@given(games_in_parts())
def test_owen_effects_equal_the_average_over_all_orders(case):
    v, unions = case
    found = solve_game(as_set_function(v), len(unions), groups=as_lists(unions))
    np.testing.assert_allclose(found.effects, owen_effects(v, unions), atol=1e-9)
    assert found.n_subsets == n_owen_coalitions(unions) + 2


@settings(max_examples=20, deadline=None)
@given(games_in_parts(), st.integers(0, 2**32 - 1))
def test_the_process_is_that_of_the_definition(case, seed):
    """Covariances of Owen effects by quadrature against those by the exact linear map."""
    unions, rng = case[1], np.random.default_rng(seed)
    p = len(unions)
    kernel = OwenKernel(1.3, rng.uniform(0.01, 3, p), 0.2, 0.0, np.zeros(p), unions=unions)
    inner = ExhaustiveDesign(p).subsets
    masks = np.vstack([inner.masks(), np.ones((1, p), bool), np.zeros((1, p), bool)])
    signs = np.where(masks, 1.0, -1.0)
    differ = masks[:, None] != masks[None]
    prior = 1.3 * np.exp(-(differ * kernel.rates).sum(axis=2)) + 0.2 * signs @ signs.T / 4
    weights = owen_map(inner, unions)
    weights = np.hstack([weights, -weights.sum(axis=1, keepdims=True)])
    place = {mask.tobytes(): k for k, mask in enumerate(masks)}
    other = [place[(~mask).tobytes()] for mask in masks]
    np.testing.assert_allclose(
        kernel.with_effects(Points.make(signs)), weights @ (prior - prior[:, other]), atol=1e-10
    )
    np.testing.assert_allclose(kernel.effects_covariance, weights @ prior @ weights.T, atol=1e-10)


def test_groups_of_one_give_shapley_values():
    rates = np.random.default_rng(0).uniform(0.1, 1, 7)
    plain = OddKernel(1.0, rates, 0.1, 0.0, np.zeros(7))
    alone = OwenKernel.of(plain, np.arange(7))
    np.testing.assert_allclose(alone.effects_covariance, plain.effects_covariance, atol=1e-12)
    subsets = ExhaustiveDesign(4).subsets
    np.testing.assert_allclose(owen_map(subsets, np.arange(4)), shapley_map(subsets), atol=1e-12)


def test_coalitions_come_with_their_complements():
    unions = np.array([0, 1, 0, 2, 1, 1])
    found = owen_coalitions(unions)
    assert len(found) == len(set(found.keys())) == n_owen_coalitions(unions)
    assert set(found.keys()) == set(found.complement().keys())


def test_a_subset_that_occurs_twice_counts_once():
    unions = np.array([0, 0, 1])
    once = owen_coalitions(unions)
    twice = Subsets.concatenate([once, once[:2]])
    v = np.random.default_rng(0).standard_normal(len(once) + 1)
    again = np.concatenate([v[:-1], v[:2], v[-1:]])
    np.testing.assert_allclose(owen_map(twice, unions) @ again, owen_map(once, unions) @ v)


@pytest.mark.parametrize("kind", ["coverage", "linear Gaussian"])
def test_many_players_from_few_evaluations(kind):
    known = random_game(kind, 14, seed=1)
    unions = np.repeat([0, 1], 7)
    exact = solve_game(known.game, 14, groups=as_lists(unions), n_subsets=600)
    assert not exact.standard_errors.any()
    found = solve_game(known.game, 14, groups=as_lists(unions), n_subsets=120, random_state=0)
    assert found.n_subsets <= 120
    assert np.abs(found.effects - exact.effects).sum() < 0.1
    assert (np.abs(found.effects - exact.effects) <= 4 * found.standard_errors + 1e-9).all()
    whole = solve_game(lambda m: known.game(m[:, unions]), 2).effects
    np.testing.assert_allclose(exact.effects.reshape(2, 7).sum(axis=1), whole, atol=1e-9)


def test_inputs_add_up_to_their_group_which_has_its_shapley_effect():
    result = fitted().result_
    upper = result.upper_level()
    assert result.hierarchy == {"home": ("size", "place"), "owner": ("age", "income"),
                                "year": ("year",)}  # fmt: skip
    known = {tuple(s): v for s, v in zip(result.subsets.tolist(), result.values, strict=True)}
    unions = np.array([0, 0, 1, 1, 2])
    assert result.names == ("size", "place", "age", "income", "year")

    def quotient(masks):
        return [known.get(tuple(mask[unions].tolist()), 0.0) for mask in masks]

    whole = dict(zip(("home", "owner", "year"), solve_game(quotient, 3).effects, strict=True))
    assert dict(zip(upper.names, upper.raw_effects, strict=True)) == pytest.approx(whole)
    assert upper.effects.sum() == pytest.approx(result.explained_variance, abs=1e-9)
    error = np.sqrt(result.covariance[:2, :2].sum())
    assert upper.standard_errors[upper.names.index("home")] == pytest.approx(error)
    assert upper.p_values[upper.names.index("home")] < 0.001
    assert upper.first_order[upper.names.index("home")] == known[True, True, False, False, False]


def test_local_values_of_a_group_are_those_of_its_inputs():
    est = fitted()
    local = est.explain()
    groups = local.summed(est.result_.hierarchy)
    assert groups.names == ("home", "owner", "year")
    np.testing.assert_allclose(groups.values.sum(axis=1), local.values.sum(axis=1), atol=1e-9)
    np.testing.assert_array_equal(groups.values[:, 2], local.values[:, local.names.index("year")])
    assert np.isnan(groups.data[:, 0]).all()
    assert not np.isnan(groups.data[:, 2]).any()
    with pytest.raises(InputError, match="no input 'garden'"):
        local.summed({"home": ["garden"]})


def test_interactions_are_those_of_the_inputs():
    assert fitted().interactions().values.shape == (5, 5)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (
            {"home": {"size": ["area"], "place": ["area"]}},
            "'area' is in two groups, 'size' and 'place'",
        ),
        ({"home": {"size": ["area", "area"]}}, "'area' is twice in the group 'size'"),
        ({"home": {"size": ["area"]}, "more": {"size": ["x"]}}, "Two groups are named 'size'"),
        ({"home": {}, "more": {"size": ["x"]}}, "'home' has no groups"),
        ({"home": {"size": []}}, "'size' has no columns"),
        ({"home": {"size": {"inner": ["area"]}}}, "two levels, not three"),
        ({"year": {"size": ["area"]}}, "'year' has the name of an input"),
        ({"home": {"size": ["garden"]}}, "'garden', which the data do not have"),
    ],
)
def test_wrong_groups_are_one_sentence(groups, said):
    with pytest.raises(InputError, match=said) as error:
        fitted(groups)
    assert str(error.value).count(".") == 1


def test_players_of_wrong_groups_are_one_sentence():
    game = np.sum
    with pytest.raises(InputError, match="groups names player 1 twice"):
        solve_game(game, 3, groups=[[0, 1], [1]])
    with pytest.raises(InputError, match="players are 0 to 2"):
        solve_game(game, 3, groups=[[0, 3]])
    with pytest.raises(InputError, match=r"groups\[1\] is empty"):
        solve_game(game, 3, groups=[[0], []])
    for groups in (5, [0, 1], {"a": [0, 1]}):
        with pytest.raises(InputTypeError, match="groups must be a list of lists of players"):
            solve_game(game, 3, groups=groups)


@pytest.mark.parametrize("word", ["home::=area", "::size=area", "a::b::size=area", "home::size"])
def test_a_group_on_the_command_line_has_one_upper_group(word, tmp_path, capsys):
    houses()[0].to_csv(tmp_path / "t.csv", index=False)
    assert run(["explain", str(tmp_path / "t.csv"), "--target", "year", "--group", word]) == 2
    assert f"--group: write {word!r} as" in capsys.readouterr().err


def test_the_hierarchy_is_seen_everywhere(tmp_path):
    result = fitted().result_
    again = load_result(result.to_json())
    assert again.hierarchy == result.hierarchy
    lines = again.summary().splitlines()
    assert lines[1].startswith("Owen effects")
    shown = [line.split("  ")[0] or line.split("  ")[1] for line in lines[4:11]]
    assert sorted(shown) == sorted([*result.names, "home", "owner"])
    assert lines[5].startswith("  ")
    frame = again.to_frame()
    assert dict(zip(frame["input"], frame["group"], strict=True))["place"] == "home"
    page = again.to_html(tmp_path / "r.html").read_text("utf-8")
    assert '<details class="part"' in page
    assert "owner" in page
    labels = [label.get_text() for label in again.plot().ax_.get_yticklabels()]
    assert {"home", "owner"} < set(labels)
    assert len(again.plot(max_inputs=2).ax_.get_yticklabels()) < len(labels)
    with pytest.raises(InputError, match="neither an order nor groups"):
        result.upper_level().upper_level()


def test_hostile_names_of_groups_do_no_harm():
    hostile = rich_result(
        HOSTILE[:5], hierarchy={HOSTILE[5]: HOSTILE[:3], HOSTILE[0]: HOSTILE[3:5]}
    )
    page = render(hostile)
    assert "<img src=x" not in page
    assert "<script>document" not in page
    assert "<img src=x" not in hostile._repr_html_()
    assert len(hostile.plot().ax_.get_yticklabels()) == 7


def test_the_command_line_takes_groups_of_groups(tmp_path, capsys):
    X, y = houses(120)
    X.assign(price=y).to_csv(tmp_path / "houses.csv", index=False)
    words = ["--group", "home::size=area,rooms", "--group", "home::place=x", "--group", "a/b=age"]
    out = tmp_path / "r.json"
    given = ["explain", str(tmp_path / "houses.csv"), "--target", "price"]
    given += ["--estimator", "boosting"]
    assert run([*given, *words, "--json", str(out)]) == 0
    assert json.loads(out.read_text())["hierarchy"]["home"] == ["size", "place"]
    assert "a/b" in capsys.readouterr().out
    assert run([*given, *words, "--group", "home=year"]) == 2
    assert "'home' is named twice" in capsys.readouterr().err

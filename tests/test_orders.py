"""Orders: effects when layers of inputs enter one after the other."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from parts import as_lists, games_in_parts

from benchmarks.definitions import as_set_function, layered_effects, quadratic_game
from shaff import ShapleyEffects, load_result, solve_game
from shaff.cli import main
from shaff.data.structure import Structure, layers_of
from shaff.designs import find_design
from shaff.designs.layered import make_design
from shaff.errors import InputError
from shaff.gaussian_process.linear_game import linear_proxy
from shaff.protocols import DesignContext

NAMES = ["age", "sex", "bmi", "pressure"]
ORDER = [["age", "sex"], ["bmi"], ["pressure"]]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age, sex, own, rest, noise = rng.standard_normal((5, n))
    bmi = 0.7 * age + 0.7 * own
    pressure = 0.6 * bmi + 0.8 * rest
    X = pd.DataFrame(np.column_stack([age, sex, bmi, pressure]), columns=NAMES)
    return X, pd.Series(bmi + pressure + 0.5 * sex + 0.5 * noise, name="risk")


def run(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def fitted(order=ORDER, X=None, **more):
    data, y = people()
    settings = {"random_state": 0, **more}
    return ShapleyEffects("boosting", order=order, **settings).fit(data if X is None else X, y)


@settings(max_examples=40, deadline=None)
@given(games_in_parts())
def test_layers_equal_the_average_over_all_orders(case):
    v, layers = case
    found = solve_game(as_set_function(v), len(layers), order=as_lists(layers))
    np.testing.assert_allclose(found.effects, layered_effects(v, layers), atol=1e-9)
    assert found.effects.sum() == pytest.approx(v[-1] - v[0], abs=1e-9)


def test_a_single_layer_is_no_order():
    v = np.random.default_rng(0).standard_normal(2**6)
    plain, layered = (
        solve_game(as_set_function(v), 6, order=order) for order in (None, [range(6)])
    )
    np.testing.assert_allclose(layered.effects, plain.effects, atol=1e-12)


def test_large_layers_are_solved_within_their_errors():
    slopes = np.random.default_rng(1).uniform(0.2, 1, 20)
    covariance = 0.4 + 0.6 * np.eye(20)

    def game(masks):
        return np.array([_explained(covariance, slopes, mask) for mask in masks])

    order = [list(range(3)), list(range(3, 20))]
    found = solve_game(game, 20, order=order, n_subsets=120, random_state=0)
    assert found.n_subsets <= 120
    truth = linear_layers(covariance, slopes, order)
    assert (np.abs(found.effects - truth) < 4 * found.standard_errors + 0.01).all()
    assert found.effects[:3].sum() == pytest.approx(game([np.arange(20) < 3])[0], abs=1e-9)


def _explained(covariance, slopes, mask):
    if not mask.any():
        return 0.0
    across = covariance[:, mask] @ np.linalg.solve(covariance[np.ix_(mask, mask)], covariance[mask])
    return slopes @ across @ slopes / (slopes @ covariance @ slopes)


def linear_layers(covariance, slopes, order, n_orders=400):
    """What each input adds in many orders that heed the layers."""
    rng, total = np.random.default_rng(0), np.zeros(len(slopes))
    for _ in range(n_orders):
        known, last = np.zeros(len(slopes), dtype=bool), 0.0
        for j in np.concatenate([rng.permutation(layer) for layer in order]).astype(int):
            known[j] = True
            value = _explained(covariance, slopes, known)
            total[j], last = total[j] + value - last, value
    return total / n_orders


def test_effects_are_close_to_the_truth_and_add_up():
    result = fitted().result_
    shocks = np.array(  # the inputs from independent ones: age, sex, own part, rest
        [[1, 0, 0, 0], [0, 1, 0, 0], [0.7, 0, 0.7, 0], [0.42, 0, 0.42, 0.8]]
    )
    covariance, slopes = shocks @ shocks.T, np.array([0, 0.5, 1, 1])
    truth = layered_effects(
        quadratic_game(np.zeros((4, 4)), slopes, covariance, 0.5), np.array([0, 0, 1, 2])
    )
    assert np.abs(result.effects - truth).max() < 0.08
    assert result.raw_effects.sum() == pytest.approx(result.explained_variance, abs=1e-9)
    assert result.layers == (("age", "sex"), ("bmi",), ("pressure",))
    assert truth[0] > 0.3  # all that age does is done by others
    assert fitted(order=None).result_.effects[0] < truth[0] - 0.1


def test_layers_are_those_of_the_values():
    result = fitted().result_
    known = {
        tuple(subset): value for subset, value in zip(result.subsets, result.values, strict=True)
    }
    young, adult = known[True, True, False, False], known[True, True, True, False]
    upper = result.upper_level()
    assert upper.names == ("layer 1", "layer 2", "layer 3")
    np.testing.assert_allclose(
        upper.raw_effects, np.diff([0, young, adult, result.explained_variance]), atol=1e-12
    )


def test_local_values_add_up_and_average_to_the_effects_of_the_order():
    est = fitted()
    local = est.explain(errors=True)
    np.testing.assert_allclose(local.base + local.values.sum(axis=1), local.predictions, atol=1e-9)
    shares = (local.values**2).mean(axis=0)
    assert shares.argmax() == est.effects_.argmax()
    assert local.standard_errors.shape == local.values.shape


def test_an_input_that_adds_nothing_to_earlier_layers_is_not_detected():
    rng = np.random.default_rng(3)
    cause, noise, own = rng.standard_normal((3, 400))
    X = pd.DataFrame({"cause": cause, "echo": cause + 0.3 * own})
    y = cause + noise
    first, second = (
        ShapleyEffects("smooth", order=order, random_state=0).fit(X, y).result_
        for order in ([["cause"], ["echo"]], [["echo"], ["cause"]])
    )
    assert first.p_values[1] > 0.05 > first.p_values[0]
    assert second.p_values[1] < 0.05
    assert second.effects[1] > 0.3 > 0.02 > first.effects[1]


def test_copies_in_different_layers_are_not_alike():
    X, _ = people()
    X["again"] = X["bmi"]
    apart = fitted([["bmi"], ["age", "sex", "again"], ["pressure"]], X).result_
    assert apart.effects[4] == pytest.approx(0, abs=1e-9)
    assert apart.effects[2] > 0.5
    together = fitted([["bmi", "again"], ["age", "sex"], ["pressure"]], X).result_
    assert (
        together.effects[4] == together.effects[2] == pytest.approx(apart.effects[2] / 2, abs=0.01)
    )


def test_groups_in_layers_and_layers_without_brackets():
    grouped = fitted(["person", "bmi", 3], groups={"person": ["age", "sex"]}).result_
    plain = fitted().result_
    assert grouped.names == ("person", "bmi", "pressure")
    assert grouped.effects[0] == pytest.approx(plain.effects[:2].sum(), abs=0.02)
    np.testing.assert_allclose(grouped.effects[1:], plain.effects[2:], atol=0.02)


def test_the_order_of_columns_and_the_number_of_threads_do_not_matter():
    X, _ = people()
    one = fitted(n_jobs=1).result_
    other = fitted(X=X[NAMES[::-1]], n_jobs=2).result_
    assert one.effects.tolist() == other.effects[::-1].tolist()
    assert one.p_values.tolist() == other.p_values[::-1].tolist()


def test_many_inputs_enter_by_name():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    est = ShapleyEffects("boosting", order=[range(15), range(15, 30)], n_subsets=120,
                         random_state=0)  # fmt: skip
    result = est.fit(X, X[:, 0] + X[:, 20]).result_
    assert result.screened is None
    assert set(result.order[:2]) == {0, 20}
    # The ends of layers and both Sobol indices are evaluated beside the design.
    assert result.n_subsets <= 121 + 60


def test_a_stopped_run_continues(tmp_path):
    whole = fitted(checkpoint=tmp_path / "whole").result_
    folder = tmp_path / "part"
    shutil.copytree(tmp_path / "whole", folder)
    again = fitted(checkpoint=folder, verbose=0).result_
    assert again.effects.tolist() == whole.effects.tolist() == fitted().result_.effects.tolist()


def test_evaluations_are_shared_out():
    structure = Structure(np.array([0, 0, 1, *[2] * 12]))
    context = DesignContext(15, 100, None, 0, structure=structure)
    made = make_design(find_design("auto"), context)
    assert [design.n_subsets for design in made._open.values()] == [2, 96]
    with pytest.raises(InputError, match="n_subsets=3 is too few for 3 layers"):
        make_design(find_design("auto"), DesignContext(15, 3, None, 0, structure=structure))


def test_the_linear_game_of_a_layer_has_its_effects():
    X, y = people(2000)
    order = np.array([0, 0, 1, 1])
    proxy = linear_proxy(X, y, order=order)
    for layer in layers_of(order):
        own = proxy.given(layer.before, layer.members)
        ends = own.game(np.array([[True, True], [False, False]]))
        assert own.effects.sum() == pytest.approx(ends[0] - ends[1], abs=1e-9)


@pytest.mark.parametrize(
    "layer", [pd.Index(["bmi", "sex"]), np.array(["bmi", "sex"]), ("bmi", "sex")]
)
def test_a_layer_is_any_list(layer):
    first = fitted([["age"], ["sex", "bmi"], ["pressure"]]).result_
    np.testing.assert_array_equal(fitted(["age", layer, "pressure"]).effects_, first.effects)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ([["age", "sex"], ["bmi", "age"], ["pressure"]], "'age' in layer 1 and in layer 2"),
        ([["age", "age", "sex"], ["bmi"], ["pressure"]], "'age' twice in layer 1"),
        ([["age", "sex"], ["bmi"]], "lacks 'pressure'"),
        ([["age", "sex"], [], ["bmi", "pressure"]], "Layer 2 of order is empty"),
        ([["age", "sex"], ["bmi"], ["presure"]], "names 'presure', which is no input"),
        ([["age", "sex"], ["bmi"], [7]], "names 7, which is no input"),
        ("age", "order must be a list of layers"),
        ({"age": ["bmi"], "bmi": ["age"]}, "order must be a list of layers"),
        ({("age", "sex"), ("bmi", "pressure")}, "order must be a list of layers"),
        ([["age", "sex"], None], "Layer 2 of order is no list"),
        ([["age"], {"bmi", "sex"}, ["pressure"]], "Layer 2 of order is no list"),
        ([["age"], iter(["bmi", "sex"]), ["pressure"]], "Layer 2 of order is no list"),
    ],
)
def test_a_wrong_order_is_one_sentence(order, said):
    with pytest.raises((InputError, TypeError), match=said) as error:
        fitted(order)
    assert str(error.value).count(".") == 1


def test_what_an_order_does_not_go_with_is_one_sentence():
    with pytest.raises(InputError, match="in the group 'person': name the group"):
        fitted([["age"], ["bmi"], ["pressure"]], groups={"person": ["age", "sex"]})
    with pytest.raises(InputError, match="With an order, leave design and solver"):
        fitted(design="leverage")
    with pytest.raises(InputError, match="every input is evaluated by name"):
        fitted(screen=2)
    with pytest.raises(InputError, match="order and groups of groups"):
        fitted(groups={"all": {"a": ["age"], "b": ["bmi"]}})
    with pytest.raises(InputError, match="Interactions have no order"):
        fitted().interactions()


def test_the_order_is_seen_everywhere(tmp_path):
    result = fitted().result_
    again = load_result(result.to_json())
    assert again.layers == result.layers
    lines = again.summary().splitlines()
    assert lines[1].startswith("In the order age, sex → bmi → pressure")
    shown = [line.split()[:2] for line in lines[4:11]]
    assert shown[0] == ["layer", "1"]
    assert shown[3] == ["layer", "2"]
    assert any(note.startswith("The order of the layers is an assumption") for note in again.notes)
    assert again.to_frame()["layer"].tolist() == [
        {"age": 1, "sex": 1, "bmi": 2, "pressure": 3}[name] for name in again.to_frame()["input"]
    ]
    page = again.to_html(tmp_path / "r.html").read_text("utf-8")
    assert "layer 2" in page
    assert "In the order age, sex → bmi → pressure" in page
    labels = [label.get_text() for label in again.plot().ax_.get_yticklabels()]
    assert labels[0] == "layer 1"
    assert labels[3] == "layer 2"
    assert "layer 3" in again._repr_html_()
    assert "order=[['age', 'sex'], ['bmi'], ['pressure']]" in again.call


def test_the_command_line_takes_an_order(tmp_path, capsys):
    X, y = people(120)
    X.assign(risk=y).to_csv(tmp_path / "people.csv", index=False)
    given = ["explain", str(tmp_path / "people.csv"), "--target", "risk", "--estimator", "boosting"]
    out = tmp_path / "r.json"
    assert run([*given, "--order", "age, sex; bmi; pressure", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["layers"] == [["age", "sex"], ["bmi"], ["pressure"]]
    assert "layer 2" in capsys.readouterr().out
    assert run([*given, "--order", "age,sex;bmii;pressure"]) == 2
    assert "did you mean 'bmi'?" in capsys.readouterr().err
    assert run([*given, "--order", "age,sex;;pressure"]) == 2
    assert "--order: write" in capsys.readouterr().err
    config = tmp_path / "c.toml"
    config.write_text('order = "age,sex;bmi;pressure"\n')
    assert run([*given, "--config", str(config)]) == 0

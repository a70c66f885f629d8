"""Every script of the gallery runs, prints, draws, and ends in a decision that its numbers bear."""

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

GALLERY = Path(__file__).parent.parent / "gallery"
SCRIPTS = {path.stem.removeprefix("plot_"): path for path in sorted(GALLERY.glob("plot_*.py"))}


def effect(result, name):
    return result.effects[result.names.index(name)]


def p_adjusted(result, name):
    table = result.to_frame("pandas").set_index("input")
    return table.loc[name, "p_adjusted"]


def top(result, n=1):
    return {result.names[j] for j in result.order[:n]}


def key_drivers(found):
    result = found["result"]
    assert 0.02 < result.explained_variance < 0.09
    assert top(result, 3) == {"children", "years married", "religious"}
    assert p_adjusted(result, "his occupation") > 0.05
    assert p_adjusted(result, "her occupation") > 0.05


def credit_default(found):
    result = found["result"]
    assert result.shares[result.names.index("balance")] > 0.95
    assert p_adjusted(result, "income") > 0.05
    owing = found["owing"].groupby("student")["defaulted"].mean()
    assert owing["Yes"] < owing["No"]
    assert abs(found["local"]["student"][found["student"]].mean()) < 0.005


def wage_panel(found):
    result, naive, ratio = found["result"], found["naive"], found["table"]["ratio"]
    assert ratio.idxmax() == "educ"
    assert ratio["year"] < 1.2
    assert top(result, 4) >= {"educ", "hours"}
    assert all(p_adjusted(result, name) < 0.05 for name in ("educ", "hours", "occupation"))
    assert p_adjusted(naive, "black") < 0.05 < p_adjusted(result, "black")


def bike_rentals(found):
    result, shuffled = found["result"], found["shuffled"]
    assert top(result) == {"clock"}
    assert effect(result, "clock") == pytest.approx(effect(shuffled, "clock"), abs=0.05)
    assert 0.4 < effect(result, "season") / effect(shuffled, "season") < 0.65
    assert (result.standard_errors > 3 * shuffled.standard_errors).all()


def flood(found):
    result = found["result"]
    assert result.names[result.order[0]] == "dyke"
    assert top(result, 3) == {"dyke", "flow", "down"}
    assert max(effect(result, "length"), effect(result, "width")) < 0.001


def governments(found):
    result = found["result"]
    assert top(result, 3) == {"regime", "democracy", "continent"}
    assert p_adjusted(result, "region") > 0.05
    assert effect(found["apart"], "region") > 0.03
    assert result.explained_variance < 0.5


def caravan(found):
    assert set(found["names"]) == {"PPERSAUT", "APERSAUT", "PBRAND"}
    blocks = found["blocks"]
    assert effect(blocks, "own policies") > 2 * effect(blocks, "neighbourhood")
    assert found["result"].explained_variance < 0.1


def penguins(found):
    result, ordered, full = found["result"], found["ordered"], found["full"]
    island = result.names.index("island")
    assert result.first_order[island] > 0.3
    assert result.total[island] < 0.01
    assert ordered.effects[island] < 0.01
    assert top(full) == {"flipper_length_mm"}


def wine_tests(found):
    assert found["relevant"].get_support().all()
    kept = list(found["minimal"].get_feature_names_out())
    assert len(kept) < 8
    assert {"flavanoids", "color intensity", "proline"} <= {*kept} & {*found["short"]}


def wages_two_periods(found):
    compared = found["found"]
    assert compared.p_adjusted.min() > 0.05
    assert compared.joint_p_value > 0.05
    assert abs(compared.differences).argmax() == compared.names.index("education")
    low, high = compared.confidence_interval()
    excluded = {n for n, a, b in zip(compared.names, low, high, strict=True) if a > 0 or b < 0}
    assert excluded == {"race"}
    change = found["change"]
    assert change.mechanism > 4 * abs(change.parts).max()


def single_customers(found):
    result, frame = found["est"].result_, found["frame"]
    assert effect(result, "loyalty") > 3 * effect(result, "prices")
    loyal, tempted = frame.loc[found["loyal"]], frame.loc[found["tempted"]]
    assert loyal["loyalty"] > 0.3 > loyal["prices"] + loyal["discounts"]
    assert tempted["prices"] + tempted["discounts"] > 0.2 > tempted["loyalty"]
    assert found["by_offer"].mean() < 0.5


def fitted_model(found):
    table = found["table"]
    first = {"chronic conditions", "bad health", "age"}
    for column in ("of the predictions", "of the outcome"):
        assert set(table[column].nlargest(3).index) == first
    assert (table.loc[["income", "education"], "difference"] > 1).all()
    assert table.loc[["income", "education"], "of the outcome"].max() < 0.5
    model = found["model"]
    gap = model.score(found["X_old"], found["y_old"]) - model.score(found["X_new"], found["y_new"])
    assert gap > 0.05


# What the prose of each page says of its numbers.
CLAIMS = {
    claim.__name__: claim
    for claim in (
        key_drivers,
        credit_default,
        wage_panel,
        bike_rentals,
        flood,
        governments,
        caravan,
        penguins,
        wine_tests,
        wages_two_periods,
        single_customers,
        fitted_model,
    )
}


def test_every_script_has_its_claims_and_its_card():
    assert set(CLAIMS) == set(SCRIPTS)
    index = (GALLERY / "index.rst").read_text("utf-8")
    in_tree = re.findall(r"^   plot_(\w+)$", index, re.M)
    assert in_tree == re.findall(r":link: plot_(\w+)", index)
    assert in_tree == re.findall(r"sphx_glr_plot_(\w+)_thumb", index)
    assert sorted(in_tree) == sorted(SCRIPTS)
    titles = re.findall(r"grid-item-card:: (.+)", index)
    heads = [SCRIPTS[name].read_text("utf-8").splitlines()[1] for name in in_tree]
    assert titles == heads


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_ends_in_a_decision(name):
    text = SCRIPTS[name].read_text("utf-8")
    titles = re.findall(r"^# (.+)\n# ---+$", text, re.M)
    assert titles[-2:] == ["Caveat", "Decision"]
    assert max(map(len, text.splitlines())) <= 76


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with mpl.rc_context({"figure.max_open_warning": 0}):
        found = runpy.run_path(str(SCRIPTS[name]))
        drawn = len(plt.get_fignums())
        plt.close("all")
    assert capsys.readouterr().out.strip()
    assert drawn
    CLAIMS[name](found)

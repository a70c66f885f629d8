"""The pictures of the guide, from real fits: ``make screenshots`` or
``python -m benchmarks.screenshots [--into docs/images]`` draws all of them.

Report (light, dark, phone, print; 3, 20 and 300 inputs; classes), plots, notebook and terminal.

The numbers that the pictures show go into ``numbers.json`` beside them, by the fit that they come
from. `tests/test_docs.py` fits again and fails where today's numbers are others: the pictures are
then out of date.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

from benchmarks import front
from benchmarks.browser import chromium
from shaff import EffectsResult, MinimalSetSelector, ShapleyEffects
from shaff.datasets import experiment_2, load_diabetes
from shaff.show.plots import EffectsDisplay, InteractionsDisplay, make_display
from shaff.show.plots.display import (
    BLUE,
    INK,
    PALE,
    dress_rows,
    matplotlib_module,
    set_title,
)

IMAGES = Path(__file__).parents[1] / "docs" / "images"
NUMBERS = "numbers.json"
Fit = tuple[ShapleyEffects, pd.DataFrame, pd.Series]
WIDE, PHONE = {"width": 1100, "height": 900}, {"width": 390, "height": 844}
# Name of a picture: result, size, colours and medium.
SHOTS = {
    "report": ("demo", WIDE, "light", "screen"),
    "report-dark": ("demo", WIDE, "dark", "screen"),
    "report-phone": ("demo", PHONE, "light", "screen"),
    "report-print": ("demo", {"width": 794, "height": 1123}, "light", "print"),
    "report-3": ("three", WIDE, "light", "screen"),
    "report-20": ("twenty", WIDE, "light", "screen"),
    "report-300": ("many", WIDE, "light", "screen"),
    "report-classes": ("classes", WIDE, "light", "screen"),
}
# Pictures that are not drawn by one of the tables above and below, and the fits they show.
OTHER_PICTURES = {
    "demo": "demo",
    "notebook": "demo",
    "terminal": "demo",
    "plot-beeswarm": "demo",
    "plot-waterfall": "demo",
    "plot-local-dependence": "demo",
    "plot-interactions": "interactions",
    "plot-path": "demo",
    "measures": "proxies",
    "front": "copies",
}
ORDER = [["age", "sex"], ["bmi"], ["pressure"]]
GROUPS = {
    "home": {"size": ["area", "rooms"], "place": ["x"]},
    "owner": {"age": ["age"], "income": ["income"]},
}
# Effects of a fit that are kept: those that its pictures show.
MOST_NUMBERS = 20
PLOTS = {
    "plot-effects": ("demo", "effects", {}),
    "plot-sobol-panel": ("demo", "effects", {"sobol": True}),
    "plot-sobol": ("demo", "sobol", {}),
    "plot-dependence": ("demo", "dependence", {}),
    "plot-convergence": ("demo", "convergence", {}),
    "plot-classes": ("classes", "outputs", {"max_inputs": 8}),
    "plot-300": ("many", "effects", {}),
    "plot-order": ("order", "effects", {}),
    "plot-hierarchy": ("hierarchy", "effects", {}),
}


def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    X, y, names = load_diabetes()
    return pd.DataFrame(X, columns=list(names)), pd.Series(y, name="disease progression")


def blocks(n_rows: int, n_blocks: int, size: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs that come in blocks of near relatives; the first of some blocks matter."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.standard_normal((n_rows, n_blocks)), size, axis=1)
    X = 0.7 * common + 0.7 * rng.standard_normal(common.shape)
    letters = "abcdefghij"
    names = [f"marker {k // size:02d}{letters[k % size]}" for k in range(X.shape[1])]
    weights = np.linspace(1, 0.3, min(n_blocks, 8))
    signal = X[:, : len(weights) * size : size] @ weights
    y = signal + rng.standard_normal(n_rows)
    return pd.DataFrame(X, columns=names), pd.Series(y, name="yield")


def fits() -> dict[str, Fit]:
    """The fits that the pictures show, not done yet."""
    wine = load_wine(as_frame=True)
    cultivar = wine.target.map(dict(enumerate(("Barolo", "Grignolino", "Barbera"))))
    X, y = diabetes()
    forest = {"estimator": "forest", "random_state": 0}
    return {
        "demo": (ShapleyEffects(random_state=0), X, y),
        "three": (ShapleyEffects(**forest), X[["bmi", "blood pressure", "age"]], y),
        "twenty": (ShapleyEffects(**forest), *blocks(500, 5, 4)),
        "many": (ShapleyEffects(**forest, n_subsets=200), *blocks(600, 60, 5)),
        "classes": (ShapleyEffects(**forest), wine.data, cultivar.rename("cultivar")),
        "interactions": (ShapleyEffects("boosting", random_state=0), *interacting()),
        "order": (ShapleyEffects("smooth", random_state=0, order=ORDER), *people()),
        "hierarchy": (ShapleyEffects("smooth", random_state=0, groups=GROUPS), *houses()),
        "proxies": (ShapleyEffects(random_state=0), *proxies()),
        "copies": (ShapleyEffects(random_state=0), *front.table(1000, 0)),
    }


def people() -> tuple[pd.DataFrame, pd.Series]:
    """Age acts on bmi, and bmi on pressure: the data of the page on orders."""
    age, sex, own, rest, noise = np.random.default_rng(0).standard_normal((5, 800))
    bmi = 0.7 * age + 0.7 * own
    pressure = 0.6 * bmi + 0.8 * rest
    table = pd.DataFrame({"age": age, "sex": sex, "bmi": bmi, "pressure": pressure})
    return table, pd.Series(bmi + pressure + 0.5 * sex + 0.5 * noise, name="risk")


def houses() -> tuple[pd.DataFrame, pd.Series]:
    """Homes and their owners: the data of the page on hierarchies."""
    rng = np.random.default_rng(0)
    names = ["area", "rooms", "x", "age", "income", "year"]
    X = pd.DataFrame(rng.standard_normal((600, 6)), columns=names)
    X["rooms"] += X["area"]
    X["income"] += X["age"]
    y = X["area"] + 0.5 * X["x"] * X["income"] + 0.5 * X["age"] + 0.3 * X["year"]
    return X, (y + 0.3 * rng.standard_normal(600)).rename("price")


def proxies() -> tuple[pd.DataFrame, pd.Series]:
    """A cause and two proxies of it: the data of the page on measures."""
    cause, a, b, other, noise = np.random.default_rng(0).standard_normal((5, 1000))
    X = pd.DataFrame({"cause": cause, "near": 0.95 * cause + 0.3 * a, "far": 0.7 * cause + 0.7 * b,
                      "other": other})  # fmt: skip
    return X, pd.Series(cause + 0.7 * other + 0.5 * noise, name="y")


def draw_measures(fitted: ShapleyEffects, X: pd.DataFrame, y: pd.Series, path: Path) -> None:
    """Draw five measures of the same inputs side by side."""
    result, pyplot = fitted.result_, matplotlib_module("pyplot")
    forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(X[:700], y[:700])
    moved = permutation_importance(forest, X[700:], y[700:], n_repeats=10, random_state=0)
    measures = {
        "alone\n(first-order)": result.first_order,
        "fair share\n(Shapley)": result.effects,
        "irreplaceable\n(total)": result.total,
        "carried by it\n(PME)": fitted.proportional_marginal_effects().effects,
        "shuffled, by a forest\n(permutation)": moved.importances_mean,
    }
    figure, panels = pyplot.subplots(1, 5, figsize=(9.5, 2.3), layout="constrained", sharex=True)
    for panel, (title, values) in zip(panels, measures.items(), strict=True):
        is_shapley_like = "Shapley" in title or "PME" in title
        color = BLUE if is_shapley_like else PALE
        panel.barh(range(len(values)), np.maximum(values, 0), height=0.68, color=color, zorder=2)
        dress_rows(panel, list(X.columns) if panel is panels[0] else [""] * len(values))
        set_title(panel, title)
        panel.title.set_fontsize(9)
        panel.set_xticks([0, 0.2, 0.4])
    panels[0].set_xlim(0, 0.62)
    panels[2].set_xlabel("dark: sums to what all inputs explain", fontsize=9, color=INK)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def interacting() -> tuple[pd.DataFrame, pd.Series]:
    """Experiment 2 of the paper."""
    data = experiment_2(n=3000, random_state=0)
    return pd.DataFrame(data.X, columns=list(data.names)), pd.Series(data.y, name="y")


def picture_fits() -> dict[str, str]:
    """Which fit each picture shows."""
    drawn = {name: entry[0] for name, entry in (*SHOTS.items(), *PLOTS.items())}
    return {**drawn, **OTHER_PICTURES}


def numbers(result: EffectsResult) -> dict[str, Any]:
    """What pictures of a result show, rounded as no picture is."""
    shown = result.order[:MOST_NUMBERS]
    return {
        "explained_variance": round(result.explained_variance, 5),
        "effects": {result.names[j]: round(float(result.effects[j]), 5) for j in shown},
    }


def shoot_reports(browser, made: dict[str, EffectsResult], folder: Path, into: Path) -> None:
    for name, (result, viewport, scheme, medium) in SHOTS.items():
        path = made[result].to_html(folder / f"{name}.html")
        # Whole pages are long: a reader of the guide needs their shape, not every letter.
        is_top = name in ("report", "report-dark")
        page = browser.new_page(
            viewport=viewport, color_scheme=scheme, device_scale_factor=1.5 if is_top else 1
        )
        page.goto(path.as_uri())
        page.emulate_media(media=medium, color_scheme=scheme)
        if name == "report":
            page.hover("#chart li[data-place='2'] .bar")
        page.screenshot(path=into / f"{name}.png", full_page=name not in ("report", "report-dark"))
        page.close()


def draw_rows(fitted: ShapleyEffects, into: Path) -> None:
    """Pictures of single rows."""
    local = fitted.explain()
    local.beeswarm().save(into / "plot-beeswarm.png")
    local.waterfall(7).save(into / "plot-waterfall.png")
    local.dependence("bmi").save(into / "plot-local-dependence.png")


def shoot_html(browser, html: str, path: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 200}, device_scale_factor=1.5)
    page.set_content(html)
    page.screenshot(path=path, full_page=True)
    page.close()


def notebook(result: EffectsResult) -> str:
    """What a notebook shows of a cell that ends in a result: code, then its HTML."""
    code = "ShapleyEffects(random_state=0).fit(X, y).result_"
    return (
        '<body style="font:14px system-ui,sans-serif;margin:16px;color:#212121">'
        '<pre style="background:#f5f5f5;border:1px solid #ddd;padding:8px;margin:0 0 12px">'
        f"[1]: {escape(code)}</pre>{result._repr_html_()}</body>"
    )


def terminal(folder: Path) -> str:
    """What ``shaff demo`` prints, as a terminal shows it."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    command = [sys.executable, "-m", "shaff", "demo", "--output", str(folder / "demo")]
    colours = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm-256color"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=colours)
    console = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text("$ shaff demo", style="bold green"))
    printed = done.stdout.replace(str(folder / "demo"), "demo-output")
    console.print(Text.from_ansi(printed))
    return console.export_html(
        theme=MONOKAI,
        code_format='<body style="margin:0;background:#14191f;color:#e8edf2">'
        '<pre style="font:14px DejaVu Sans Mono,monospace;padding:16px;margin:0">{code}</pre>'
        "<style>{stylesheet}</style></body>",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=IMAGES)
    into = parser.parse_args().into
    into.mkdir(exist_ok=True, parents=True)
    fitted = {name: model.fit(X, y) for name, (model, X, y) in fits().items()}
    made = {name: model.result_ for name, model in fitted.items()}
    for name, (result, kind, options) in PLOTS.items():
        make_display(made[result], kind).save(into / f"{name}.png", **options)
    EffectsDisplay.from_result(made["demo"]).save(into / "demo.png")
    found = fitted["interactions"].interactions()
    InteractionsDisplay.from_result(found).save(into / "plot-interactions.png")
    draw_rows(fitted["demo"], into)
    MinimalSetSelector(random_state=0).fit(*diabetes()).plot().save(into / "plot-path.png")
    draw_measures(fitted["proxies"], *proxies(), into / "measures.png")
    front.draw(front.measured(1000, 0), into / "front.png")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        shoot_reports(browser, made, Path(folder), into)
        shoot_html(browser, notebook(made["demo"]), into / "notebook.png", 760)
        shoot_html(browser, terminal(Path(folder)), into / "terminal.png", 900)
    content = {name: numbers(result) for name, result in made.items()}
    (into / NUMBERS).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for path in sorted(into.glob("*.png")):
        print(f"{path.stat().st_size / 1e3:7.0f} kB  {path.name}")


if __name__ == "__main__":
    main()

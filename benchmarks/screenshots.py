"""The pictures of the guide, from real fits: ``make screenshots`` or
``python -m benchmarks.screenshots`` draws all of them into docs/images.

Report (light, dark, phone, print; 3, 20 and 300 inputs; classes), plots, notebook and terminal.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from benchmarks.browser import chromium
from shaff import EffectsResult, ShapleyEffects
from shaff.datasets import experiment_2, load_diabetes
from shaff.show.plots import EffectsDisplay, InteractionsDisplay, make_display

IMAGES = Path(__file__).parents[1] / "docs" / "images"
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
PLOTS = {
    "plot-effects": ("demo", "effects", {}),
    "plot-sobol-panel": ("demo", "effects", {"sobol": True}),
    "plot-sobol": ("demo", "sobol", {}),
    "plot-dependence": ("demo", "dependence", {}),
    "plot-convergence": ("demo", "convergence", {}),
    "plot-classes": ("classes", "outputs", {"max_inputs": 8}),
    "plot-300": ("many", "effects", {}),
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


def results() -> dict[str, EffectsResult]:
    wine = load_wine(as_frame=True)
    cultivar = wine.target.map(dict(enumerate(("Barolo", "Grignolino", "Barbera"))))
    X, y = diabetes()
    forest = {"estimator": "forest", "random_state": 0}
    fits = {
        "demo": (ShapleyEffects(random_state=0), X, y),
        "three": (ShapleyEffects(**forest), X[["bmi", "blood pressure", "age"]], y),
        "twenty": (ShapleyEffects(**forest), *blocks(500, 5, 4)),
        "many": (ShapleyEffects(**forest, n_subsets=200), *blocks(600, 60, 5)),
        "classes": (ShapleyEffects(**forest), wine.data, cultivar.rename("cultivar")),
    }
    return {name: model.fit(A, b).result_ for name, (model, A, b) in fits.items()}


def shoot_reports(browser, made: dict[str, EffectsResult], folder: Path) -> None:
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
        page.screenshot(
            path=IMAGES / f"{name}.png", full_page=name not in ("report", "report-dark")
        )
        page.close()


def draw_interactions() -> None:
    """The heat map of experiment 2."""
    exp = experiment_2(n=3000, random_state=0)
    frame = pd.DataFrame(exp.X, columns=list(exp.names))
    found = ShapleyEffects("boosting", random_state=0).fit(frame, exp.y).interactions()
    InteractionsDisplay.from_result(found).save(IMAGES / "plot-interactions.png")


def shoot_rows() -> None:
    """Pictures of single rows."""
    X, y = diabetes()
    local = ShapleyEffects(random_state=0).fit(X, y).explain()
    local.beeswarm().save(IMAGES / "plot-beeswarm.png")
    local.waterfall(7).save(IMAGES / "plot-waterfall.png")
    local.dependence("bmi").save(IMAGES / "plot-local-dependence.png")


def shoot_html(browser, html: str, name: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 200}, device_scale_factor=1.5)
    page.set_content(html)
    page.screenshot(path=IMAGES / f"{name}.png", full_page=True)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    made = results()
    for name, (result, kind, options) in PLOTS.items():
        display = make_display(made[result], kind)
        display.save(IMAGES / f"{name}.png", **options)
    EffectsDisplay.from_result(made["demo"]).save(IMAGES / "demo.png")
    draw_interactions()
    shoot_rows()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        shoot_reports(browser, made, Path(folder))
        shoot_html(browser, notebook(made["demo"]), "notebook", 760)
        shoot_html(browser, terminal(Path(folder)), "terminal", 900)
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.stat().st_size / 1e3:7.0f} kB  {path.name}")


if __name__ == "__main__":
    main()

"""The way out: a fit makes its result once, and notes are written in one place."""

import ast
import inspect
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import shaff
from shaff import EffectsResult, ShapleyEffects
from shaff.fitting import notes
from shaff.fitting.facts import Facts

SOURCE = Path(shaff.__file__).parent
ROOT = Path(__file__).parents[1]
N = 200


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b", "c"])
    X["again"], X["one"], X["id"] = X["a"], 1.0, np.arange(N)
    return X, X["a"] + X["b"] + rng.standard_normal(N)


def fits():
    X, y = table()
    settings = {"random_state": 0, "n_subsets": 20}
    wide = np.random.default_rng(1).standard_normal((N, 40))
    model, forest = LinearRegression().fit(X, y), RandomForestRegressor(20).fit(X, y)
    yield "default", lambda: ShapleyEffects(**settings).fit(X, y)
    yield "by name", lambda: ShapleyEffects("smooth", **settings).fit(X.assign(y=y), "y")
    yield "constant", lambda: ShapleyEffects(**settings).fit(X, np.ones(N))
    yield "screened", lambda: ShapleyEffects("boosting", **settings).fit(wide, wide[:, 0])
    yield "classes", lambda: ShapleyEffects("forest", **settings).fit(X, y > 0)
    yield (
        "published",
        lambda: ShapleyEffects.as_published(
            estimator=RandomForestRegressor(20, min_samples_leaf=5), random_state=0
        ).fit(X, y),
    )
    yield "preset", lambda: ShapleyEffects.preset("mdi", random_state=0).fit(X, y)
    yield "surrogate", lambda: ShapleyEffects.from_fitted(model, X, **settings)
    yield (
        "fitted forest",
        lambda: ShapleyEffects.from_fitted(forest, X, y, rows="training", **settings),
    )
    sampled = {"max_rows": 100, "value_rows": "all"}
    yield "all rows", lambda: ShapleyEffects("boosting", **settings, **sampled).fit(X, y)


FITS = dict(fits())


@pytest.mark.parametrize("name", FITS)
def test_a_fit_makes_one_result_from_its_facts(name, monkeypatch):
    made, seen = [], []
    finish = EffectsResult.__post_init__

    def count(result):
        finish(result)
        made.append(result)

    def keep(facts):
        seen.append(facts)
        return notes.write_notes(facts)

    monkeypatch.setattr(EffectsResult, "__post_init__", count)
    monkeypatch.setattr("shaff.fitting.assemble.write_notes", keep)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = FITS[name]()
    assert made == [est.result_]
    (facts,) = seen
    assert isinstance(facts, Facts)
    # Every note of the result is one that a rule gives for these facts, in the rules' order.
    said = [note for rule in notes.RULES for note in rule(facts)]
    assert est.result_.notes == tuple(dict.fromkeys(said))
    assert len(set(said)) == len(said), "a note was written by two rules"


def modules_outside_notes():
    inside = SOURCE / "fitting" / "notes"
    return [path for path in SOURCE.rglob("*.py") if inside not in path.parents]


def sentences_in(node):
    """Texts of several words, as they stand in the code."""
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return [text for text in texts if isinstance(text, str) and " " in text.strip()]


def written_notes(tree):
    """Texts that are passed, or assigned, as notes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in ("notes", "note"):
            yield from sentences_in(node.value)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {getattr(t, "id", getattr(t, "attr", "")) for t in targets}
            if names & {"notes", "note"}:
                yield from sentences_in(node.value)
        if isinstance(node, ast.FunctionDef) and node.name.strip("_") in ("notes", "note"):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            for part in body:
                yield from sentences_in(part)


def test_notes_are_written_in_one_place():
    found = {
        str(path.relative_to(SOURCE)): texts
        for path in modules_outside_notes()
        if (texts := list(written_notes(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_a_note_elsewhere_would_be_found():
    code = 'result = replace(result, notes=(*result.notes, f"A {kind} of note."))'
    assert list(written_notes(ast.parse(code)))


def test_rules_are_functions_with_a_reason():
    for rule in notes.RULES:
        assert inspect.getdoc(rule), rule
        assert rule.__module__.startswith("shaff.fitting.notes")


@pytest.mark.parametrize("name", ["default", "screened", "published", "all rows"])
def test_what_was_evaluated_gives_the_effects(name):
    result = FITS[name]().result_
    assert result.subsets.shape == (result.n_subsets, len(result.game_names))
    full = result.subsets.all(axis=1)
    assert result.values[full].tolist() == [result.explained_variance]
    raw = dict(zip(result.game_names, result.weights @ result.values, strict=True))
    by_name = dict(zip(result.names, result.raw_effects, strict=True))
    if "all others" in raw:
        by_name["all others"] = result.others["raw_effect"]
    for key, effect in raw.items():
        assert effect == pytest.approx(by_name[key], abs=1e-10)


UPWARD = {
    "plain": "from shaff.show.text import aligned\n",
    "for types": "if TYPE_CHECKING:\n    from shaff.fitting.fit import fit\n",
}


@pytest.mark.parametrize("kind", [None, *UPWARD])
def test_an_import_of_a_higher_room_is_found(kind, tmp_path):
    package = tmp_path / "shaff"
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    shutil.copytree(SOURCE, package, ignore=ignored)
    shutil.copy(ROOT / ".importlinter", tmp_path)
    if kind is not None:
        with (package / "solve" / "projection.py").open("a", encoding="utf-8") as file:
            file.write("from typing import TYPE_CHECKING\n" + UPWARD[kind])
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is (kind is None), done.stdout
    assert ("shaff.solve.projection ->" in done.stdout) is (kind is not None)


PUBLIC = {
    "__init__.py", "__main__.py", "_version.py", "_core.pyi", "py.typed", "errors.py",
    "datasets.py", "estimator.py", "many.py", "change.py", "games.py", "subsets.py",
    "protocols.py", "simulators.py", "selection.py",
}  # fmt: skip


def test_only_public_modules_stand_at_the_top():
    files = {path.name for path in SOURCE.iterdir() if path.is_file()}
    assert {name for name in files if not name.endswith((".so", ".pyd"))} == PUBLIC


def test_no_class_has_the_name_of_another():
    names = [
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_docstring_begins_with_a_genitive():
    found = [
        f"{path.name}: {text.splitlines()[0]}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        and (text := ast.get_docstring(node) or "").startswith("Of ")
    ]
    assert found == []


def test_the_package_shows_public_names_and_nothing_else():
    names = {*shaff.__all__, "datasets", "errors", "protocols", "subsets"}
    assert set(dir(shaff)) == names
    assert all(getattr(shaff, name) is not None for name in names)
    for name in ("Any", "find_spec", "import_module", "TYPE_CHECKING", "fitting_", "no_such"):
        assert not hasattr(shaff, name)

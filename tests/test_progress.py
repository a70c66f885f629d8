"""Progress: each step with its name, and nothing that stops a fit."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects
from shaff.cli import main
from shaff.fitting import progress


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((60, 3))
    return X, X[:, 0] + X[:, 1] ** 2


@pytest.fixture
def terminal(monkeypatch):
    """Bars are drawn on terminals only."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


def test_growing_and_pricing_are_told(rows, terminal, capsys):
    ShapleyEffects("stack", n_subsets=4, random_state=0, verbose=1).fit(*rows)
    out, err = capsys.readouterr()
    assert out == ""
    growing, evaluating = (err.index(step) for step in ("Growing learners", "Evaluating subsets"))
    assert growing < evaluating


def test_bars_stay_at_home_when_models_are_fitted_in_other_processes(rows, terminal, capsys):
    settings = {"estimator": LinearRegression(), "n_subsets": 8, "random_state": 0, "n_jobs": 2}
    loud, silent = (
        ShapleyEffects.preset("williamson", **settings, verbose=verbose).fit(*rows).effects_
        for verbose in (1, 0)
    )
    assert loud.tolist() == silent.tolist()
    assert "Growing learners" in capsys.readouterr().err


def test_the_time_that_is_left_stands_before_its_word(rows, terminal, capsys):
    ShapleyEffects("smooth", n_subsets=4, random_state=0, verbose=1).fit(*rows)
    err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"\d:\d\d:\d\d elapsed, +[-\d:]+ left", err)


def test_without_a_terminal_there_is_a_line_a_minute(rows, monkeypatch, capsys):
    ShapleyEffects("smooth", n_subsets=4, random_state=0, verbose=1).fit(*rows)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress, "A_MINUTE", 0.0)
    ShapleyEffects("smooth", n_subsets=4, random_state=0, verbose=1).fit(*rows)
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line.startswith("shaff: ") for line in err.splitlines())
    assert "shaff: Evaluating subsets: " in err
    ShapleyEffects("smooth", n_subsets=4, random_state=0).fit(*rows)
    assert capsys.readouterr().err == ""


def test_notebooks_without_widgets_get_no_warning(rows, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert progress._terminal() is None  # every warning is an error


def test_the_command_line_is_quiet_and_saves_what_it_has(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "A_MINUTE", 0.0)
    table = "x,z,y\n" + "".join(f"{i},{i % 3},{i * i}\n" for i in range(40))
    (tmp_path / "a.csv").write_text(table)
    words = ["explain", "a.csv", "--target", "y", "--estimator", "smooth", "--jobs", "1"]
    said = []
    for more in ([], ["--quiet"], ["--quiet", "--checkpoint", "saved"]):
        with pytest.raises(SystemExit) as stop:
            main([*words, *more])
        assert stop.value.code == 0
        said.append(capsys.readouterr())
    assert "shaff: " in said[0].err
    assert said[1].err == said[2].err == ""
    assert said[0].out == said[1].out == said[2].out
    assert list((tmp_path / "saved").glob("*.part"))

"""What is not shaff's own stays as it was: the state of `random`, the environment, figures."""

import subprocess
import sys

import pytest

pytest.importorskip("matplotlib")

IMPORTED = """
import os, random
import joblib, sklearn.base, sklearn.ensemble, sklearn.model_selection, threadpoolctl
import scipy.special, narwhals
before, state = dict(os.environ), random.getstate()
import shaff
for name in shaff.__all__:
    getattr(shaff, name)
assert random.getstate() == state, "random"
assert dict(os.environ) == before, {k for k in os.environ if before.get(k) != os.environ[k]}
"""


def test_imports_change_nothing_that_the_libraries_beneath_have_not():
    """rich draws a number, and joblib and threadpoolctl set a variable each, when scikit-learn is
    imported: nothing is added to that."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_files_leave_no_figure_open(tmp_path):
    from matplotlib import pyplot
    from results import rich_result

    open_before = pyplot.get_fignums()
    result = rich_result()
    result.to_html(tmp_path / "a.html")
    from shaff.show.plots import make_display

    make_display(result).save(tmp_path / "a.png")
    assert pyplot.get_fignums() == open_before

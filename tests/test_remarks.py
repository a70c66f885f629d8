"""Facts about how data were read: each has one sentence, written in one place."""

import pickle
import re
from pathlib import Path

import numpy as np

import shaff
from shaff import ShapleyEffects
from shaff.data.remarks import Remark, merged
from shaff.fitting.notes.reading import SENTENCES, sentence

ROOT = Path(shaff.__file__).parent
FILES = [*(ROOT / "data").rglob("*.py"), *(ROOT / "cli").rglob("*.py"), ROOT / "simulators.py"]


def test_every_kind_has_a_sentence_and_every_sentence_is_used():
    source = "".join(path.read_text("utf-8") for path in FILES)
    named = set(re.findall(r'(?<!>>> )Remark\("([^"]+)"', source))
    assert named <= SENTENCES.keys()
    unused = [kind for kind in SENTENCES if source.count(f'"{kind}"') == 0]
    assert unused == []


def test_remarks_are_compared_by_what_they_state():
    remark = Remark("spelled", ("a",), {"form": "percentages", "unread": ()})
    other = Remark("spelled", ("a",), {"form": "percentages", "unread": ("?",)})
    assert pickle.loads(pickle.dumps(remark)) == remark != other
    assert len({remark, other, pickle.loads(pickle.dumps(remark))}) == 2


def test_one_sentence_for_the_same_fact_about_several_columns():
    forms = {"a": "percentages", "b": "dates", "c": "percentages"}
    spelled = [Remark("spelled", (k,), {"form": form, "unread": ()}) for k, form in forms.items()]
    assert list(map(sentence, merged(spelled))) == [
        "Columns 'a', 'c' hold percentages.",
        "Column 'b' holds dates.",
    ]


def test_a_sample_is_noted_once_also_if_all_rows_are_measured():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    settings = {"estimator": "boosting", "max_rows": 200, "n_subsets": 4, "random_state": 0}
    for value_rows, start in (("sample", "Computed on"), ("all", "The learners were grown on")):
        est = ShapleyEffects(**settings, value_rows=value_rows).fit(X, X[:, 0])
        about = [note for note in est.result_.notes if "a random sample of 200" in note]
        assert len(about) == 1
        assert about[0].startswith(start)

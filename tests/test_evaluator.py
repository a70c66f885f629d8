"""Long evaluations: checkpoints, interruption, progress."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import long_run
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from shaff import ShapleyEffects
from shaff.errors import InputError, StorageError
from shaff.fitting.checkpoint import FORMAT, Checkpoint, _to_bytes, fingerprint
from shaff.fitting.evaluator import CHUNK, Evaluator
from shaff.protocols import Proposal, Values
from shaff.subsets import Subsets


class Counted:
    """A game that counts how many subsets it was asked to evaluate."""

    def __init__(self, n_players=10):
        self.n_players = n_players
        self.asked = 0

    def values(self, subsets, *, influences=False):
        self.asked += len(subsets)
        v = np.sqrt(subsets.sizes / self.n_players)
        psi = np.outer(v, np.arange(3)).astype(np.float32) if influences else None
        return Values(subsets, v, psi)


def some_subsets(n=150, n_players=10):
    """Each another one."""
    codes = np.random.default_rng(0).permutation(2**n_players)[:n]
    return Subsets.from_masks(codes[:, None] >> np.arange(n_players) & 1)


def evaluate(game, subsets, checkpoint, influences=False):
    return Evaluator(game, checkpoint).evaluate(subsets, influences=influences)


class Steps:
    def __init__(self):
        self.seen = []
        self.notes = []

    def update(self, done, total, note=""):
        self.seen.append((done, total))
        self.notes += [note] if note else []


def test_progress_counts_the_subsets():
    steps, subsets = Steps(), some_subsets(155)
    evaluator = Evaluator(Counted(), progress=steps)
    evaluator.evaluate(subsets[:5])
    assert steps.seen == [(5, None)]
    evaluator.evaluate(subsets[5:], total=155)
    assert steps.seen[1:] == [(5 + CHUNK, 155), (5 + 2 * CHUNK, 155), (155, 155)]


def test_an_evaluator_that_reports_elsewhere_shares_the_values():
    first, second, subsets = Steps(), Steps(), some_subsets(30)
    evaluator = Evaluator(Counted(), progress=first)
    other = evaluator.reporting_to(second)
    other.evaluate(subsets[:10])
    evaluator.evaluate(subsets)
    assert other.n_evaluated == 30
    assert (first.seen, second.seen) == ([(30, None)], [(10, None)])
    with pytest.raises(AttributeError):
        evaluator.progress = second


class InThree:
    """A design of three proposals; the last two know an error."""

    def __init__(self):
        self.asked = []

    def propose(self, history):
        self.asked.append(len(history.v))
        step = len(self.asked)
        if step > 3:
            return None
        batch = some_subsets(30)[10 * (step - 1) : 10 * step]
        return Proposal(batch, error=None if step == 1 else 0.1 / step)


@pytest.mark.parametrize(("planned", "total"), [(None, None), (40, 40)])
def test_a_design_proposes_until_it_is_content(planned, total):
    steps, design, full = Steps(), InThree(), Subsets.full(10)
    proposals, history = Evaluator(Counted(), progress=steps).run(design, full, planned)
    assert design.asked == [1, 11, 21, 31]
    assert [len(proposal.subsets) for proposal in proposals] == [10, 10, 10]
    assert history.subsets.keys() == [*full.keys(), *some_subsets(30).keys()]
    np.testing.assert_array_equal(history.v, np.sqrt(history.subsets.sizes / 10))
    assert history.influences is None
    assert steps.notes == ["error bar 0.0500", "error bar 0.0333"]
    assert steps.seen[-1] == (31, total)


@pytest.mark.parametrize("influences", [False, True])
def test_a_second_run_reads_what_the_first_has_saved(tmp_path, influences):
    game, subsets = Counted(), some_subsets()
    first = evaluate(game, subsets, Checkpoint(tmp_path, b"a"), influences)
    again = evaluate(game, subsets, Checkpoint(tmp_path, b"a"), influences)
    assert game.asked == 150
    assert again.v.tobytes() == first.v.tobytes()
    assert (again.influences is None) is not influences
    if influences:
        assert again.influences.dtype == np.float32
        assert again.influences.tobytes() == first.influences.tobytes()


def test_other_runs_and_subsets_are_not_mixed_up(tmp_path):
    game = Counted()
    evaluate(game, some_subsets(), Checkpoint(tmp_path, b"a"))
    evaluate(game, some_subsets(), Checkpoint(tmp_path, b"b"))
    assert game.asked == 300
    evaluate(game, some_subsets(), Checkpoint(tmp_path, b"a"), influences=True)
    assert game.asked == 450
    others = some_subsets().complement()
    new = set(others.keys()) - set(some_subsets().keys())
    evaluate(game, others, Checkpoint(tmp_path, b"a"))
    assert game.asked == 450 + len(new)


def test_blocks_need_not_be_the_same(tmp_path):
    """Another number of workers cuts the subsets in another way."""
    game, subsets = Counted(), some_subsets()
    evaluate(game, subsets[20:90], Checkpoint(tmp_path, b"a"))
    again = evaluate(game, subsets, Checkpoint(tmp_path, b"a"))
    assert game.asked == 150
    assert again.v.tobytes() == evaluate(Counted(), subsets, None).v.tobytes()


def test_two_runs_share_what_they_price(tmp_path):
    game, subsets = Counted(), some_subsets(40)
    first, second = (Evaluator(game, Checkpoint(tmp_path, b"a")) for _ in range(2))
    first.evaluate(subsets[:10])
    second.evaluate(subsets[:20])
    first.evaluate(subsets[:30])
    assert game.asked == 30
    # What the other has asked for besides is not this run's.
    assert (first.n_evaluated, second.n_evaluated) == (30, 20)


def test_a_value_with_influences_is_no_value_without(tmp_path):
    """Forests sum their trees in another order then: a second run must do as the first did."""
    game, subsets = Counted(), some_subsets(5)
    evaluate(game, subsets, Checkpoint(tmp_path, b"a"), influences=True)
    evaluate(game, subsets, Checkpoint(tmp_path, b"a"), influences=False)
    assert game.asked == 10


def flip(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-40],
        lambda data: data + b"more",
        lambda data: b"\x00" * len(data),
        lambda data: flip(data, len(data) // 2),
        lambda data: flip(data, len(FORMAT) + 3),
        lambda data: flip(data, len(FORMAT) - 2),  # the digit
    ],
    ids=["empty", "cut", "longer", "zeros", "bit", "hash", "format"],
)
def test_damaged_files_are_priced_again(tmp_path, damage):
    subsets = some_subsets(30)
    whole = evaluate(Counted(), subsets, Checkpoint(tmp_path, b"a"))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    game = Counted()
    again = evaluate(game, subsets, Checkpoint(tmp_path, b"a"))
    assert game.asked == 30
    assert again.v.tobytes() == whole.v.tobytes()
    evaluate(game, subsets, Checkpoint(tmp_path, b"a"))  # repaired
    assert game.asked == 30


SUBSETS = some_subsets(30)
GOOD = {"subsets": SUBSETS.masks(), "v": np.zeros(30), "with_rows": np.array(False)}


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"v": np.zeros(30)},
        {**GOOD, "v": np.zeros(29)},
        {**GOOD, "v": np.zeros((30, 2))},
        {**GOOD, "v": np.array(["a"] * 30)},
        {**GOOD, "subsets": np.zeros((30, 10))},
        {**GOOD, "subsets": SUBSETS.masks()[:, :7]},
        {**GOOD, "with_rows": np.zeros(3, dtype=bool)},
        {**GOOD, "plain": np.zeros(3)},
        {**GOOD, "newer": np.zeros(30)},
    ],
    ids=["none", "v", "short", "square", "text", "numbers", "players", "rows", "plain", "newer"],
)
def test_wrong_content_under_a_right_hash_is_evaluated_again(tmp_path, arrays):
    wanted = evaluate(Counted(), SUBSETS, Checkpoint(tmp_path, b"a"))
    (file,) = tmp_path.iterdir()
    file.write_bytes(_to_bytes(arrays))
    game = Counted()
    assert evaluate(game, SUBSETS, Checkpoint(tmp_path, b"a")).v.tobytes() == wanted.v.tobytes()
    assert game.asked == 30


def test_a_right_hash_of_no_arrays(tmp_path):
    evaluate(Counted(), SUBSETS, Checkpoint(tmp_path, b"a"))
    (file,) = tmp_path.iterdir()
    for body in (b"", b"no arrays", b"PK\x03\x04 nor these"):
        head = FORMAT + hashlib.sha256(body).digest() + len(body).to_bytes(8, "little")
        file.write_bytes(head + body)
        game = Counted()
        evaluate(game, SUBSETS, Checkpoint(tmp_path, b"a"))
        assert game.asked == 30


def test_saved_values_of_other_rows_are_forgotten(tmp_path):
    half, checkpoint = SUBSETS[:20], Checkpoint(tmp_path, b"a")
    other = {**GOOD, "subsets": half.masks(), "v": np.zeros(20), "with_rows": np.array(True),
             "influences": np.zeros((20, 99), dtype=np.float32)}  # fmt: skip
    evaluate(Counted(), half, checkpoint, influences=True)
    (file,) = tmp_path.iterdir()
    file.write_bytes(_to_bytes(other))
    found = evaluate(Counted(), SUBSETS, Checkpoint(tmp_path, b"a"), influences=True)
    assert (
        found.influences.tobytes()
        == Counted().values(SUBSETS, influences=True).influences.tobytes()
    )


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs an endless device")
def test_devices_and_pipes_are_no_checkpoints(tmp_path):
    evaluate(Counted(), SUBSETS, Checkpoint(tmp_path, b"a"))
    (file,) = tmp_path.iterdir()
    for make in (lambda: file.symlink_to("/dev/zero"), lambda: os.mkfifo(file)):
        file.unlink()
        make()
        game = Counted()
        evaluate(game, SUBSETS[:29], Checkpoint(tmp_path, b"a"))
        assert game.asked == 29
        for part in tmp_path.iterdir():
            if part != file:
                part.unlink()


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full_disk(path, data):
        with path.open("wb") as file:
            file.write(data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(StorageError, match=r"cannot be written to \(No space left on device\)"):
        evaluate(Counted(), some_subsets(), Checkpoint(tmp_path, b"a"))
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written to"):
        Checkpoint(tmp_path / "file" / "folder", b"a")
    with pytest.raises(InputError, match="Protocol not known"):
        Checkpoint("nowhere://folder", b"a")


def test_addresses_of_fsspec_hold_checkpoints():
    game, subsets, address = Counted(), some_subsets(), "memory://a-run"
    first = evaluate(game, subsets, Checkpoint(address, b"a"), influences=True)
    again = evaluate(game, subsets, Checkpoint(address, b"a"), influences=True)
    assert game.asked == 150
    assert again.influences.tobytes() == first.influences.tobytes()


def test_fingerprints_tell_runs_apart():
    X = np.arange(6.0).reshape(3, 2)
    model = RandomForestRegressor(7)
    same = fingerprint(X, {"estimator": model, "cv": None}, 3)
    assert fingerprint(X.copy(), {"cv": None, "estimator": RandomForestRegressor(7)}, 3) == same
    others = [
        fingerprint(X + 1, {"estimator": model, "cv": None}, 3),
        fingerprint(X.T, {"estimator": model, "cv": None}, 3),
        fingerprint(X, {"estimator": RandomForestRegressor(8), "cv": None}, 3),
        fingerprint(X, {"estimator": model, "cv": None}, 4),
    ]
    assert len({same, *others}) == 5


# Whole runs in a process of their own ------------------------------------------------------------


def start(n_rows, n_trees, n_jobs, chunk, checkpoint=""):
    arguments = [str(given) for given in (n_rows, n_trees, n_jobs, chunk, checkpoint)]
    return subprocess.Popen(
        [sys.executable, long_run.__file__, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def read_until(process, line, times):
    """Wait for the line to come so many times."""
    for _ in range(times):
        while (got := process.stdout.readline()).strip() != line:
            assert got, process.stderr.read()


@pytest.fixture(scope="module")
def whole():
    """Result and evaluations of a run that nobody stops."""
    told = []
    return long_run.run(300, 20, 1, tell=told.append), told


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_run_goes_on_with_the_same_bits(tmp_path, n_jobs, whole):
    with start(300, 20, n_jobs, CHUNK, tmp_path) as killed:
        read_until(killed, "evaluating", 5)
        killed.send_signal(signal.SIGKILL)
    n_saved = len([file for file in tmp_path.iterdir() if file.suffix == ".part"])
    assert 0 < n_saved < 11
    bits, told = whole
    told_again = []
    assert long_run.run(300, 20, n_jobs, tmp_path, tell=told_again.append) == bits
    assert len(told_again) < len(told) - 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_fit_within_a_second(n_jobs):
    """All subsets are one task here, which takes many seconds; the kernel polls every 20 ms."""
    process = start(8000, 20, n_jobs, chunk=600)
    read_until(process, "evaluating", 2)
    time.sleep(0.5)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    read_until(process, "interrupted []", 1)
    waited = time.monotonic() - pressed
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    # A second, and as much again for every further process that wants the same core.
    assert waited < max(1.0, os.getloadavg()[0] / os.cpu_count())


def test_the_checkpoint_does_not_change_the_result(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = X @ [1, 2, 0, 0]
    settings = {"estimator": RandomForestRegressor(20, min_samples_leaf=5), "random_state": 0}
    plain = ShapleyEffects(**settings).fit(X, y)
    saved = ShapleyEffects(**settings, checkpoint=tmp_path / "new" / "folder").fit(X, y)
    again = ShapleyEffects(**settings, checkpoint=tmp_path / "new" / "folder").fit(X, y)
    assert plain.effects_.tobytes() == saved.effects_.tobytes() == again.effects_.tobytes()
    other = ShapleyEffects(**{**settings, "random_state": 1}, checkpoint=tmp_path / "new/folder")
    assert other.fit(X, y).effects_.tobytes() != plain.effects_.tobytes()

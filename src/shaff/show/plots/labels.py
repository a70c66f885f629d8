"""Short names that stay apart."""

from __future__ import annotations

from itertools import takewhile

from shaff._util.words import counted, shortened

MAX_NAME = 32


def make_labels(names: list[str]) -> list[str]:
    """Short names, all different.

    Examples
    --------
    >>> from shaff.show.plots.labels import make_labels
    >>> make_labels(["a b", "a  b", "c"])
    ['a b (1)', 'a b (2)', 'c']
    """
    labels = [shortened(name, MAX_NAME) for name in names]
    for label in {label for label in labels if labels.count(label) > 1 and "…" in label}:
        alike = [k for k, other in enumerate(labels) if other == label]
        start = _first_difference([names[k] for k in alike])
        for k in alike:
            labels[k] = _shortened_to(names[k], start)
    return [
        f"{label} ({labels[:k].count(label) + 1})" if labels.count(label) > 1 else label
        for k, label in enumerate(labels)
    ]


def target_label(target: str | None) -> str:
    """Short name of the outcome, for titles."""
    return "y" if target is None else shortened(target)


def unfolded(label: str, members: tuple[str, ...]) -> str:
    """A group with its columns in brackets, as many as there is room for.

    Examples
    --------
    >>> from shaff.show.plots.labels import unfolded
    >>> unfolded("blood", ("pressure", "sugar", "cholesterol", "triglycerides"))
    'blood (pressure, sugar, + 2)'
    """
    shown: list[str] = []
    for member in members:
        left = len(members) - len(shown) - 1
        trial = f"{label} ({', '.join([*shown, member])}{f', + {left}' * bool(left)})"
        if len(trial) > MAX_NAME:
            break
        shown.append(shortened(member, MAX_NAME))
    left = len(members) - len(shown)
    if not shown:
        columns = f" ({counted(left, 'column')})"
        return shortened(label, MAX_NAME - len(columns)) + columns
    return f"{label} ({', '.join(shown)}{f', + {left}' * bool(left)})"


def _first_difference(names: list[str]) -> int:
    """Where the first word begins that is not common to all, or else the first letter."""
    # The first and the last in the order of letters share no more than all do.
    pairs = zip(min(names), max(names), strict=False)
    common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(common.rfind(mark) for mark in " _-.,/(") + 1
    return start if len(common) - start <= MAX_NAME // 4 else len(common)


def _shortened_to(name: str, start: int) -> str:
    """The beginning of a name, and what there is room for from ``start`` on."""
    head = f"{name[: min(start, MAX_NAME // 3)].rstrip()}…"
    part = " ".join(name[start:].split())
    room = MAX_NAME - len(head)
    return head + (part if len(part) <= room else f"{part[: room - 1].rstrip()}…")

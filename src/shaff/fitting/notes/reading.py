"""Sentences about how the data were read, one for each kind of `shaff.data.remarks.Remark`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shaff._util.words import column_sentence, counted, listed
from shaff.data.remarks import Remark
from shaff.fitting.facts import Facts


def remarks(facts: Facts) -> Iterator[str]:
    """How the data were read."""
    yield from map(sentence, facts.remarks)


def outcome_details(facts: Facts) -> Iterator[str]:
    """How an outcome was computed that is no plain column."""
    details = facts.selection.problem.target.details
    if details:
        yield details


def sentence(remark: Remark) -> str:
    """Return the sentence that states a remark.

    Examples
    --------
    >>> from shaff.data.remarks import Remark
    >>> from shaff.fitting.notes.reading import sentence
    >>> sentence(Remark("dates", ("day",)))
    "Column 'day' holds dates: read as days since 1970."
    """
    return SENTENCES[remark.kind](remark)


def _of_columns(said: str) -> Callable[[Remark], str]:
    """A sentence that names its columns and nothing else."""
    return lambda remark: column_sentence(remark.columns, said)


def _always(said: str) -> Callable[[Remark], str]:
    """A sentence that is the same for every table."""
    return lambda _: said


def _found(remark: Remark) -> str:
    """What a column spells, and the words in it that spell nothing of the kind."""
    unread = remark.details["unread"]
    return f"holds {remark.details['form']}" + (f" but for {listed(unread)}" if unread else "")


def _spelled(remark: Remark) -> str:
    missing = ": read as missing." if remark.details["unread"] else "."
    return column_sentence(remark.columns, _found(remark) + missing)


def _spelled_text(remark: Remark) -> str:
    missing = " (missing)" if remark.details["unread"] else ""
    read = "days since 1970" if remark.details["is_date"] else "numbers"
    return column_sentence(
        remark.columns, f"{_found(remark)}{missing}, stored as text: read as {read}."
    )


def _open_dates(remark: Remark) -> str:
    return column_sentence(
        remark.columns,
        f"holds dates such as {remark.details['example']!r} that may begin with the day or the "
        "month: read as categories.",
    )


def _nearly_unique(remark: Remark) -> str:
    nearly = "" if remark.details["is_unique"] else "nearly "
    return column_sentence(
        remark.columns,
        f"has another category in {nearly}every row, which says little about other rows: names "
        "and ids are better left out.",
    )


def _ordered_outcome(remark: Remark) -> str:
    first, last = remark.details["ends"]
    return (
        f"The outcome is ordered, from {first!r} to {last!r}: its ranks, from 0 to "
        f"{remark.details['highest']}, are explained."
    )


def _sampled(remark: Remark) -> str:
    return (
        f"Computed on a random sample of {remark.details['n_sample']} of the "
        f"{remark.details['n_rows']} rows; the standard errors are those of the sample."
    )


def _grown_on_sample(remark: Remark) -> str:
    measured = "all rows" if remark.details["all_measured"] else "these and other rows"
    return (
        f"The learners were grown on a random sample of {remark.details['n_sample']} of the "
        f"{remark.details['n_rows']} rows. What they explain was measured on {measured}, each "
        "predicted by a learner that has not seen it."
    )


def _unsampled_categories(remark: Remark) -> str:
    n_categories = remark.details["n_categories"]
    what = "1 category" if n_categories == 1 else f"{n_categories} categories"
    return column_sentence(remark.columns, f"has {what} outside of the sample: read as missing.")


def _unsampled_classes(remark: Remark) -> str:
    return f"The sample has no row of {listed(remark.details['classes'])}: not explained."


def _several_files(remark: Remark) -> str:
    return f"Read from {remark.details['n_files']} files."


def _missing_target(remark: Remark) -> str:
    rows = counted(remark.details["n_rows"], "row")
    return f"Left out {rows} in which {remark.columns[0]!r} is missing."


def _failed_runs(remark: Remark) -> str:
    runs = counted(remark.details["n"], "run")
    return (
        f"{remark.details['n_failed']} of {runs} failed and were left out, the first with "
        f'"{remark.details["reason"]}": the effects are those of the points that did not fail.'
    )


SENTENCES: dict[str, Callable[[Remark], str]] = {
    # What columns hold.
    "dates": _of_columns("holds dates: read as days since 1970."),
    "durations": _of_columns("holds durations: read as days."),
    "dates or durations": _of_columns("holds dates or durations: read as days."),
    "ordered": _of_columns("holds ordered categories: read as their ranks, which start at 0."),
    "ordered outcome": _ordered_outcome,
    "mixed": _of_columns("mixes text and numbers: read as categories."),
    "nearly unique": _nearly_unique,
    # What text spells.
    "codes": _of_columns("holds codes with leading zeros: read as categories."),
    "long codes": _of_columns(
        "holds whole numbers with more digits than numbers can hold: read as categories."
    ),
    "open dates": _open_dates,
    "spelled": _spelled,
    "spelled in text": _spelled_text,
    "whole numbers": _of_columns(
        "holds whole numbers stored as text: read as categories; convert them if they are amounts."
    ),
    # Which rows were read.
    "sampled": _sampled,
    "grown on sample": _grown_on_sample,
    "unsampled categories": _unsampled_categories,
    "unsampled classes": _unsampled_classes,
    # Files.
    "Windows-1252": _always("Read as Windows-1252 (Latin-1) text, since it is not UTF-8."),
    "several files": _several_files,
    "row numbers": _always("The first column has no name and numbers the rows: left out."),
    "empty": _of_columns("has no value at all: left out."),
    "missing target": _missing_target,
    # Runs of simulators.
    "failed runs": _failed_runs,
    "simulated": _always(
        "The output is a function of the inputs: what is not explained, the learner has not learnt "
        "from these runs."
    ),
    "not repeated": _always(
        "A second run at the same point gave another output: what is not explained is noise of the "
        "simulator, and what the learner has not learnt from these runs."
    ),
    # Rows that came after the fit.
    "new categories": _of_columns(
        "has categories that did not occur in fit: they count as missing."
    ),
    "newly missing": _of_columns(
        "has missing values but had none in fit: what they mean is a guess."
    ),
    "rows of the fit": _always(
        "All of these are rows of the fit, which most of the learners have seen: explain() without "
        "rows predicts them as held-out rows."
    ),
}

"""Texts to counts of words: a folder of texts, or a column of them, as the sparse table that `Multinomial` takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from hedgerow.data.delimited import decode
from hedgerow.errors import ParameterError

__all__ = ["ENDINGS", "count_words", "read_folder"]

ENDINGS = (".txt", ".md", ".text")
#: Words are kept that stand in at least this share of the texts, and in two; and in no more than this share.
LEAST_SHARE, MOST_SHARE = 0.005, 0.5
#: A text is English if so large a share of its words are among the commonest of that language.
ENGLISH_SHARE = 0.25


def read_folder(place: Path) -> tuple[list[str], list[str]]:
    """The texts of a folder and their names, in order; folders within are looked into."""
    paths = sorted(path for path in place.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if not paths:
        raise ParameterError(f"{place}: must hold texts, in files that end in {', '.join(ENDINGS)}. It has none.")
    texts = []
    for path in paths:
        try:
            texts.append(decode(path.read_bytes())[0])
        except UnicodeDecodeError as error:
            raise ParameterError(f"{path}: must be text. {error}.") from error
    return texts, [str(path.relative_to(place)) for path in paths]


def count_words(texts: Sequence[str], words: Sequence[str] | None = None) -> tuple[Any, list[str], list[str]]:
    """How often each word stands in each text, the words, and what was decided, in words; `words` are those of a fit for new texts."""
    if words is not None:
        counts = CountVectorizer(vocabulary=list(words)).fit_transform(texts)
        return sparse.csr_array(counts), list(words), []
    least = max(2, int(np.ceil(LEAST_SHARE * len(texts))))
    english = _is_english(texts)
    try:
        counter = CountVectorizer(min_df=least, max_df=MOST_SHARE, stop_words="english" if english else None)
        counts = counter.fit_transform(texts)
    except ValueError as error:
        raise ParameterError(
            f"{len(texts):,} texts: must have words that stand in {least} of them and in no more than half. {error}."
        ) from error
    left = ", English stop words left out" if english else ""
    empty = int((np.diff(counts.indptr) == 0).sum())
    notes = [f"{counts.shape[1]:,} words in small letters, of two or more, in {least} to {MOST_SHARE:.0%} of the texts{left}"]
    if empty:
        notes.append(f"{empty:,} texts have none of these words, and say nothing")
    return sparse.csr_array(counts), counter.get_feature_names_out().tolist(), notes


def _is_english(texts: Sequence[str]) -> bool:
    """Whether the first texts are full of the commonest English words."""
    split = CountVectorizer().build_analyzer()
    found = [word for text in texts[:200] for word in split(text[:5000])]
    return len(found) > 0 and sum(word in ENGLISH_STOP_WORDS for word in found) >= ENGLISH_SHARE * len(found)

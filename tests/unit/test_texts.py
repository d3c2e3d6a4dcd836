"""Texts: folders and columns of them as counts of words, and new texts counted by the words of the fit."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.data.texts import count_words

RNG = np.random.default_rng(0)
TOPICS = [
    "the cat and the dog and a horse with fur barks at the tail of a puppy",
    "iron with zinc and gold from the ore of an alloy shines",
]
TEXTS = [" ".join(RNG.permutation(TOPICS[i % 2].split())[:9]) for i in range(60)]
SHORT = ("--draws", "20", "--warmup", "40", "--chains", "2", "--seed", "1", "--quiet")


def test_a_folder_of_texts(tmp_path, capsys) -> None:
    folder = tmp_path / "articles"
    (folder / "more").mkdir(parents=True)
    for i, text in enumerate(TEXTS):
        place = folder / ("more" if i >= 50 else "") / f"{i:02d}.txt"
        place.write_bytes(text.encode("utf-16" if i == 7 else "utf-8"))
    found = hr.data.read(folder)
    assert found.rows[:2] == ["00.txt", "01.txt"]
    assert found.rows[-1] == "more/59.txt"
    counter = CountVectorizer(min_df=2, max_df=0.5, stop_words="english")
    np.testing.assert_array_equal(found.X.toarray(), counter.fit_transform(TEXTS).toarray())
    assert "English stop words left out" in repr(found)
    assert main(["fit", str(folder), "--out", str(tmp_path / "run"), *SHORT]) == 0
    said = capsys.readouterr().out
    assert "Multinomial" in said
    assert "2 clusters in 60 points" in said
    capsys.readouterr()
    assert main(["summary", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "telling words" in said
    told = [set(line.split()[-1:]) | set(line.replace(",", "").split()) for line in said.splitlines()]
    assert any({"zinc"} <= words and not {"cat"} <= words for words in told)


def test_a_column_of_texts_and_new_ones(tmp_path, capsys) -> None:
    for name, texts in (("posts", TEXTS), ("new", ["a dog with a cat", "zinc", "nothing known"])):
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("title", "body", "likes"), *((f"t{i}", text, i) for i, text in enumerate(texts))])
    fit = ["fit", str(tmp_path / "posts.csv"), "--text", "body", "--id", "title", "--out", str(tmp_path / "run"), *SHORT]
    assert main(fit) == 0
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--id", "title"]) == 0
    lines = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [line["row"] for line in lines] == ["t0", "t1", "t2"]
    assert lines[0]["cluster"] != lines[1]["cluster"]
    post = hr.load(tmp_path / "run" / "run.hedge")
    new = hr.data.read(tmp_path / "new.csv", like=hr.data.Reading.from_json(post.run["reading"]))
    assert new.names == post.run["columns"]
    assert new.X.shape == (3, len(new.names))
    assert [str(k) for k in post.predict(new.X, max_draws=200)] == [line["cluster"] for line in lines]


def test_texts_that_say_nothing(tmp_path) -> None:
    with pytest.raises(hr.ParameterError, match="must hold texts, in files that end in"):
        hr.data.read(tmp_path)
    with pytest.raises(hr.ParameterError, match="3 texts: must have words that stand in 2 of them"):
        count_words(["one", "two", "three"])
    counts, _, notes = count_words(["eins zwei", "eins drei", "zwei", "vier", "vier"])
    assert counts.shape[0] == 5
    assert not any("English" in note for note in notes)

"""The words of the report: its headline, its verdict on the chains, the telling words of a branch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.numerals import mean_and_spread
from hedgerow.report.headline import headline
from hedgerow.report.levels import levels_headline
from hedgerow.report.payload import LEFT_OUT, CountsPart, DrawsPart, LevelPart, PointsPart, ReportPayload
from hedgerow.report.telling_words import node_words, top_words
from hedgerow.summaries.verdicts import Sentence, agreement, quantity_verdict


class TestWords:
    COUNTS = CountsPart(
        indptr=[0, 2, 4, 6],
        indices=[0, 2, 0, 2, 1, 2],
        counts=[5, 9, 4, 9, 7, 9],
        words=["tree", "video", "the"],
    )

    def test_clusters(self) -> None:
        assert top_words(self.COUNTS, np.array([0, 0, 1])) == [["tree", "the"], ["video"]]

    def test_nodes_agree_with_clusters_and_the_whole_lists_what_is_frequent(self) -> None:
        spans = (np.array([0, 1, 2]), [0, 0, 0, 1, 2], [3, 2, 1, 2, 3], [4, 3, 0, 0, 0])
        vocabulary, table = node_words(self.COUNTS, spans)
        assert table is not None
        words = [[vocabulary[w] for w in row if w >= 0] for row in table]
        assert words[0] == ["the", "tree", "video"]
        assert words[1] == ["tree", "the"]
        assert words[4] == ["video"]


class TestVerdicts:
    def draws(self, rhat: float, ess: float = 2000.0, chains: int = 4) -> DrawsPart:
        k = np.array([[3, 3, 4, 3]] * chains)
        return DrawsPart(k, {"log joint": k.astype(float)}, {"log joint": rhat}, {"log joint": ess})

    def agree(self, draws: DrawsPart) -> Sentence:
        return agreement(draws.quantities, draws.n_clusters, draws.rhat, draws.ess)

    @pytest.mark.parametrize(
        ("rhat", "ess", "tone", "words"),
        [
            (1.003, 2000, "good", "chains agree"),
            (1.03, 2000, "warn", "nearly agree"),
            (1.003, 50, "warn", "agree, but on few effective draws"),
            (1.4, 2000, "bad", "do not agree yet on log joint: run longer"),
            (float("nan"), 2000, "bad", "do not agree yet"),
        ],
    )
    def test_agreement(self, rhat: float, ess: float, tone: str, words: str) -> None:
        said = self.agree(self.draws(rhat, ess))
        assert said.tone == tone
        assert words in said.text

    @pytest.mark.parametrize(
        ("rhat", "tone", "words"), [(1.03, "good", "within an R-hat of 1.05, as asked"), (1.06, "bad", "do not agree")]
    )
    def test_a_run_is_judged_by_what_it_was_asked_for(self, rhat: float, tone: str, words: str) -> None:
        draws = self.draws(rhat)
        said = agreement(draws.quantities, draws.n_clusters, draws.rhat, draws.ess, asked=1.05)
        assert said.tone == tone
        assert words in said.text
        shown = quantity_verdict(draws.quantities["log joint"], rhat, 2000.0, 1.05).text
        assert shown == ("agree" if tone == "good" else "do not agree yet, run longer")

    def test_a_quantity_that_never_changed_is_no_alarm(self) -> None:
        draws = DrawsPart(np.full((2, 5), 3), {"K": np.full((2, 5), 3.0)}, {"K": float("nan")})
        assert quantity_verdict(draws.quantities["K"], draws.rhat["K"], math.inf).text == "never changed"
        assert self.agree(draws).tone == "good"

    def test_one_chain_cannot_agree(self) -> None:
        assert self.agree(self.draws(1.0, chains=1)).tone == "warn"

    def test_headline(self) -> None:
        payload = ReportPayload("T", PointsPart([0, 0, 1], uncertainty=[0.0, 0.0, 0.9]), draws=self.draws(1.4), notes=["Mind."])
        lead, sentences = headline(payload)
        assert lead == "2 clusters in 3 points."
        assert sentences[0].tone == "bad"  # what spoils the rest comes first
        texts = [sentence.text for sentence in sentences]
        assert "The most probable number of clusters is 3 (75% of 16 draws); 95% of the draws have 3 to 4." in texts
        assert "67% of the points sit firmly in their cluster, 33% could well be elsewhere." in texts
        assert texts[-1] == "Mind."

    @pytest.mark.parametrize(
        ("labels", "said"),
        [
            ([0] * 19 + [1], "2 clusters in 20 points, one of them a single point."),
            ([0] * 20 + [1, 2], "3 clusters in 22 points, 2 of them single points."),
            ([0] * 18 + [1], "2 clusters in 19 points."),
            ([0] * 19 + [1, 1], "2 clusters in 21 points."),
            (list(range(30)), "30 clusters in 30 points."),
        ],
    )
    def test_clusters_of_one_point_are_told_apart(self, labels: list[int], said: str) -> None:
        assert headline(ReportPayload("T", PointsPart(labels)))[0] == said

    def test_columns_left_out_are_named(self) -> None:
        payload = ReportPayload("T", PointsPart([0, 0, 1]), run={LEFT_OUT: "sex, year"})
        assert [s.text for s in headline(payload)[1]] == ["Columns that the clustering does not use: sex, year."]

    def test_fewer_clusters_than_the_draws_have_are_explained(self) -> None:
        draws = DrawsPart(np.array([[15, 14, 15, 15]]), {}, large=np.array([[13, 13, 14, 13]]), size=10)
        told = "The most probable number of clusters is 15 (75% of 4 draws); 95% of the draws have 14 to 15"
        for k, more in ((13, ", of which 13 to 14 with at least 10 points."), (14, ".")):
            assert headline(ReportPayload("T", PointsPart(np.arange(k)), draws=draws))[1][0].text == told + more


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (1_000_000_049.94, 2.8, "1000000049.9 ± 2.8"),  # an offset hides no difference between clusters
        (5.2e9, 1.1e9, "5.2e+09 ± 1.1e+09"),
        (-0.0001, 0.02, "0.000 ± 0.020"),
        (-3.456, 0.5, "−3.46 ± 0.50"),
        (9.1, 0.09999999999999964, "9.10 ± 0.10"),
        (2e-5, 1e-6, "2e−05 ± 1e−06"),
        (1e15, 1.0, "1e+15 ± 1"),
        (0.0, 1e7, "0 ± 1e+07"),
        (7.0, 0.0, "7 ± 0"),
        (7.25, float("nan"), "7.25"),
    ],
)
def test_a_mean_has_the_digits_that_its_spread_deserves(mean, sd, text):
    assert mean_and_spread(mean, sd) == text


def test_the_headline_of_levels_is_one_to_repeat() -> None:
    labels = [np.zeros(8, dtype=int), np.arange(8) % 2, np.arange(8)]
    strong = [LevelPart(0.1 * (at + 1), labels[at], strength=s, rhat=1.5) for at, s in enumerate((1.0, 0.9, 0.3))]
    lead, said = levels_headline(strong, 1)
    assert lead == "2 clusters in 8 points; halves of the points agree on them to 90%."
    assert said[0].text == "Looked at more closely there are up to 8 clusters, on which halves agree to 30%."
    assert said[-1].text.startswith("The chains of the level with 2 clusters do not agree yet (R-hat 1.50)")
    assert levels_headline(strong[:1], 0)[0].startswith("One group of 8 points")
    assert "the best reaches 30% with 8 clusters" in levels_headline(strong[2:], 0)[1][0].text

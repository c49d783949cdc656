"""What the page says: nothing of the command line."""

from __future__ import annotations

import re

import pytest

from understudy.metrics.base import metrics
from understudy.retarget.quality import advice
from understudy.studio.wording import REMEDIES, page_hint, page_words

COMMAND_LINE = re.compile(r"--\w|`understudy |\brecipe\b")


def test_every_metrics_advice_has_words_of_the_page() -> None:
    missing = [
        metric.title
        for metric in metrics().values()
        if COMMAND_LINE.search(metric.remedy) and COMMAND_LINE.search(REMEDIES.get(metric.title, metric.remedy))
    ]
    assert missing == []


@pytest.mark.parametrize("plants", ["fixed", "free"])
def test_advice_of_the_driver_is_said_in_words_of_the_page(plants: str) -> None:
    unmet = {"unmet": 2, "name": "LeftToe", "worst": 0.1}
    data = {
        "faults": ["stands still", "is upside down"],
        "contacts": unmet,
        "floor": unmet,
        "limits": unmet,
        "asked": {},
        "conflicts": ["a against b"] * 20,
    }
    sentences = [page_hint(sentence) for sentence in advice(data, plants)]
    assert len(sentences) > 6
    assert [sentence for sentence in sentences if COMMAND_LINE.search(sentence)] == []
    assert any("(Solving)" in sentence for sentence in sentences)


def test_a_note_leaves_its_option_out() -> None:
    note = "`root` lies on the floor, and follows below it (--floor-root stay keeps it where it is)"
    assert page_words(note) == "`root` lies on the floor, and follows below it"

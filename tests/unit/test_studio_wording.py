"""What the page says: nothing of the command line."""

from __future__ import annotations

import inspect
import re

import pytest

from understudy.analogy import make
from understudy.metrics.base import metrics
from understudy.recipe import guards
from understudy.retarget.quality import advice
from understudy.studio.wording import REMEDIES, page_hint, page_hints, page_words

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


def test_a_note_names_its_file_without_folders() -> None:
    assert page_words("/home/me/robots/g1.xml: unit m: as in all files of robots") == (
        "g1.xml: unit m: as in all files of robots"
    )
    assert page_words(r"C:\robots\g1.xml: unit m") == "g1.xml: unit m"
    assert page_words("walk.bvh: unit cm: 5 m/s is too fast") == "walk.bvh: unit cm: 5 m/s is too fast"


def test_advice_on_transitions_and_analogies_is_said_in_words_of_the_page_and_once() -> None:
    blend = "another --leave or --enter, or a longer --seconds, may be smoother"
    feet = "--no-clean leaves the feet as they are; other examples, --without or marker pairs may fit better"
    flips = "leave it out (without, --without LeftFoot)"
    words = inspect.getsource(guards) + inspect.getsource(make)
    assert all(text in words for text in (blend, feet, "leave it out (without, --without ")), "as the program says it"
    for text in (blend, feet, flips):
        assert not COMMAND_LINE.search(page_words(text)), page_words(text)
    hints = page_hints([f"path jerk: {feet}", f"pops: {feet}", "stands still"], page_words)
    assert hints == [f"path jerk, pops: {page_words(feet)}", "stands still"]
    assert len(page_hints(["path jerk: x", "pops: y", "pops: y"])) == 2

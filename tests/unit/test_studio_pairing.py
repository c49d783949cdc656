"""The page's own functions for values and bone pairs, run in Node."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

CallPage = Callable[[str, list[list[object]]], list[object]]
WEB = Path(__file__).resolve().parents[2] / "web"
ARM = {"source": "Arm", "target": "arm", "confidence": 0.9, "reason": "by name"}
BACK = {"source": ["Spine", "Chest"], "target": ["s1", "s2", "s3"], "confidence": 0.7, "reason": "by place", "twist": 5}


@pytest.fixture(scope="module")
def call_page(tmp_path_factory: pytest.TempPathFactory) -> CallPage:
    """Calls functions of a page module with JSON arguments, in order; returns their results."""
    bundler, node = WEB / "node_modules" / ".bin" / "rolldown", shutil.which("node")
    if not bundler.exists() or node is None:
        pytest.skip("what builds the page is not there; `make page` fetches it")
    folder = tmp_path_factory.mktemp("panels")

    def ask(module: str, calls: list[list[object]]) -> list[object]:
        built = folder / f"{module}.mjs"
        if not built.exists():
            source = WEB / "src" / "panels" / f"{module}.ts"
            command = [node, bundler, source, "--file", built, "--format", "esm"]
            subprocess.run(command, check=True, capture_output=True, cwd=WEB, timeout=120)
        code = f"""
            import * as module from {json.dumps(built.as_uri())};
            const calls = {json.dumps(calls)};
            console.log(JSON.stringify(calls.map(([name, ...given]) => module[name](...given) ?? null)));
        """
        command = [node, "--input-type=module", "-e", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        results: list[object] = json.loads(done.stdout)
        return results

    return ask


def test_a_new_pair_takes_its_bones_out_of_others_and_stands_where_the_first_stood(call_page: CallPage) -> None:
    paired, joined, added = call_page(
        "pairing",
        [
            ["paired", [ARM, BACK], ["Arm"], ["s2"]],
            ["paired", [ARM, BACK], ["Arm", "Chest"], ["arm"]],
            ["paired", [ARM], ["Head"], ["head"]],
        ],
    )
    fresh = {"confidence": 1, "reason": "given by hand"}
    assert paired == {
        "pairs": [{"source": "Arm", "target": "s2", **fresh}, {**BACK, "target": ["s1", "s3"]}],
        "index": 0,
    }
    assert joined == {
        "pairs": [{"source": ["Arm", "Chest"], "target": "arm", **fresh}, {**BACK, "source": "Spine"}],
        "index": 0,
    }
    assert added == {"pairs": [ARM, {"source": "Head", "target": "head", **fresh}], "index": 1}


def test_a_pair_with_nothing_left_goes(call_page: CallPage) -> None:
    (paired,) = call_page("pairing", [["paired", [ARM, BACK], ["Spine"], ["arm"]]])
    assert isinstance(paired, dict)
    assert [pair["source"] for pair in paired["pairs"]] == ["Spine", "Chest"]
    assert paired["index"] == 0


def test_confidence_has_a_word_for_each_kind_of_line(call_page: CallPage) -> None:
    assert call_page("pairing", [["sureness", 0.95], ["sureness", 0.6], ["sureness", 0.59]]) == [
        "sure",
        "likely",
        "doubtful",
    ]


def test_numbers_as_people_type_them(call_page: CallPage) -> None:
    typed = ["1.5", " 1,5 ", "-.5", "2e-3", "", "1.5 m", "1,2,3", "inf"]
    assert call_page("values", [["parseNumber", text] for text in typed]) == [
        1.5, 1.5, -0.5, 0.002, None, None, None, None,
    ]  # fmt: skip


def test_lists_need_no_brackets_and_words_no_quotes(call_page: CallPage) -> None:
    texts = ["1, 2, 3", "[[0, 1], [2, 3]]", '{"a": 1}', "auto", "[1,", "sample:walk"]
    assert call_page("values", [["parseJson", text] for text in texts]) == [
        [1, 2, 3], [[0, 1], [2, 3]], {"a": 1}, "auto", None, "sample:walk",
    ]  # fmt: skip


def test_values_come_back_from_their_text(call_page: CallPage) -> None:
    values = [[0.1, 2], {"point": "hand", "offset": [0, 1, 0]}, "word", 3, None]
    shown = call_page("values", [["jsonText", value] for value in values])
    assert call_page("values", [["parseJson", text] for text in shown]) == values


def test_paths_into_the_document(call_page: CallPage) -> None:
    document = {"recipe": {"contact": [{"end": 1.0}]}}
    end = ["recipe", "contact", 0, "end"]
    results = call_page(
        "values",
        [
            ["valueAt", document, end],
            ["valueAt", document, ["recipe", "none", 0, "end"]],
            ["beginsWith", end, end[:3]],
            ["beginsWith", end[:3], end],
            ["samePath", end, end],
            ["samePath", None, end],
        ],
    )
    assert results == [1.0, None, True, False, True, False]


def test_figures_as_people_read_them(call_page: CallPage) -> None:
    figures = [
        [0.00677, "m"],
        [1.234, "m"],
        [0.471, "share"],
        [1.0193, "ratio"],
        [87.83, "m/s^3"],
        [1e-9, "m"],
        [None, "s"],
    ]
    texts = ["6.77 mm", "1.23 m", "47.1 %", "1.02 ×", "87.8 m/s³", "0 mm", "–"]
    assert call_page("values", [["figureText", *figure] for figure in figures]) == texts

"""Documents of the studio: changes, invalid changes, undo and redo, and messages."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.base.fields import FieldError
from understudy.recipe import recipe_from
from understudy.studio.document import (
    MAX_LIST_CHANGES,
    MAX_UNDO_STEPS,
    History,
    apply_changes,
    differences,
    empty_document,
    is_ready,
)
from understudy.studio.messages import MAX_REQUEST_CHARACTERS, RequestError, error_table, json_text, pack, parse_request
from understudy.studio.opening import open_file


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def put(path: list[Any], value: Any) -> dict[str, Any]:
    return {"op": "set", "path": path, "value": value}


def test_fresh_document_is_a_recipe_that_can_be_read(tmp_path) -> None:
    document = empty_document()
    recipe = recipe_from(document["recipe"], tmp_path)
    assert recipe.actors == ()
    assert recipe.contacts is None
    assert not is_ready(document)
    assert is_ready(
        apply_changes(document, [{"op": "insert", "path": ["recipe", "actor", 0], "value": {"source": "a.bvh"}}])
    )
    assert json.loads(json_text(document)) == document


def test_changes_leave_the_old_document_alone() -> None:
    before = empty_document()
    text_before = text(before)
    after = apply_changes(
        before,
        [
            {"op": "insert", "path": ["recipe", "contact", 0], "value": {"point": "heel", "start": 0.0, "end": 1.0}},
            put(["recipe", "contact", 0, "end"], 0.5),
            put(["recipe", "options", "plants"], "fixed"),
            {"op": "remove", "path": ["recipe", "options", "spacing"]},
        ],
    )
    assert text(before) == text_before
    assert after["recipe"]["contact"] == [{"point": "heel", "start": 0.0, "end": 0.5}]
    assert after["recipe"]["options"]["plants"] == "fixed"
    assert "spacing" not in after["recipe"]["options"]


def test_nothing_in_a_recipe_is_a_key_that_is_not_given() -> None:
    actor = {"source": "a.bvh", "target": None, "morph": [0.0, 1.0]}
    document = apply_changes(empty_document(), [{"op": "insert", "path": ["recipe", "actor", 0], "value": actor}])
    assert document["recipe"]["actor"] == [{"source": "a.bvh", "morph": [0.0, 1.0]}]
    document = apply_changes(document, [put(["recipe", "actor", 0, "morph"], None)])
    assert document["recipe"]["actor"] == [{"source": "a.bvh"}]
    again = apply_changes(document, [put(["recipe", "actor", 0, "morph"], None)])
    assert again == document
    assert apply_changes(document, [put(["transition", "leave"], None)])["transition"]["leave"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("no", "Expected a change"),
        ({"op": "paint", "path": ["mode"]}, "one of set, insert, remove"),
        ({"op": "set", "path": []}, "Expected a path"),
        ({"op": "set", "path": ["mode", True], "value": 1}, "Expected a path"),
        ({"op": "set", "path": ["mode"], "value": "sleep"}, "Expected one of retarget"),
        ({"op": "set", "path": ["mode", "x"], "value": 1}, "The document has no `mode.x`"),
        (
            {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 1.0},
            "The document has no `recipe.contact.0`",
        ),
        ({"op": "insert", "path": ["recipe", "contact", 1], "value": {}}, "The document has no `recipe.contact.1`"),
        ({"op": "insert", "path": ["recipe", "contact", 0], "value": 3}, "Expected a table as `recipe.contact.0`"),
        ({"op": "insert", "path": ["recipe", "x"], "value": 3}, "The document has no `recipe.x`"),
        ({"op": "remove", "path": ["pairs"]}, "Expected a document with exactly the keys"),
        ({"op": "remove", "path": ["recipe", "solver"]}, "The document has no `recipe.solver`, which is required"),
        ({"op": "set", "path": ["recipe"], "value": None}, "Expected a document with exactly the keys"),
        ({"op": "set", "path": ["extra"], "value": 1}, "Expected a document with exactly the keys"),
        ({"op": "set", "path": ["pairs"], "value": 1}, "Expected a list or nothing as `pairs`"),
        ({"op": "set", "path": ["analogy", "a_new"], "value": 1}, "Expected a text as `analogy.a_new`"),
        ({"op": "remove", "path": ["recipe", "actor", -1]}, "The document has no `recipe.actor.-1`"),
    ],
)
def test_changes_that_cannot_be_made_are_refused(change: Any, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        apply_changes(empty_document(), [change])
    assert message in caught.value.message


def test_values_nested_without_end_are_refused() -> None:
    value: Any = 1
    for _ in range(40):
        value = [value]
    with pytest.raises(RequestError, match="nested more than"):
        apply_changes(empty_document(), [put(["recipe", "options", "keep"], value)])


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.0, -0.0, 1.0, 2.5, math.inf]),
    st.text(alphabet="ab<>", max_size=3),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(alphabet="xyz", min_size=1, max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(st.text(alphabet="xyz", min_size=1, max_size=2), VALUES, max_size=5)


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.tuples(TABLES, st.lists(TABLES, max_size=6)), min_size=1, max_size=8))
def test_undo_and_redo_give_every_document_back_to_the_byte(steps: list[Any]) -> None:
    history = History(empty_document())
    seen = [text(history.document)]
    for number, (settings_, poses) in enumerate(steps):
        analogy = {**history.document["analogy"], "settings": settings_, "poses": poses}
        if history.push(f"step {number}", {**history.document, "analogy": analogy}):
            seen.append(text(history.document))
    history = History.from_table(json.loads(json_text(history.table())))
    for expected in reversed(seen[:-1]):
        assert history.undo()
        assert text(history.document) == expected
    assert not history.undo()
    for expected in seen[1:]:
        assert history.redo()
        assert text(history.document) == expected
    assert not history.redo()


def test_history_is_bounded_and_a_new_step_ends_what_was_undone() -> None:
    history = History(empty_document())
    for number in range(MAX_UNDO_STEPS + 20):
        moved = apply_changes(history.document, [put(["transition", "leave"], float(number))])
        assert history.push(f"leave at {number}", moved)
    assert history.undo_label == f"leave at {MAX_UNDO_STEPS + 19}"
    taken = 0
    while history.undo():
        taken += 1
    assert taken == MAX_UNDO_STEPS
    assert history.document["transition"]["leave"] == 19.0
    assert history.redo_label == "leave at 20"
    assert not history.push("nothing", history.document)
    assert history.redo_label == "leave at 20"
    history.push("other", apply_changes(history.document, [put(["transition", "leave"], -1.0)]))
    assert history.redo_label is None


def test_differences_are_as_small_as_what_changed() -> None:
    contacts = [{"point": f"p{i}", "start": float(i), "end": i + 0.5} for i in range(40)]
    document = apply_changes(empty_document(), [put(["recipe", "contact"], contacts)])
    ended = apply_changes(document, [put(["recipe", "contact", 7, "end"], 9.0)])
    assert differences(document, ended) == [put(["recipe", "contact", 7, "end"], 9.0)]
    gone = apply_changes(document, [{"op": "remove", "path": ["recipe", "contact", 3]}])
    assert differences(document, gone) == [{"op": "remove", "path": ["recipe", "contact", 3]}]
    many = apply_changes(document, [put(["recipe", "contact"], contacts * 3)])
    assert len(contacts) * 2 > MAX_LIST_CHANGES
    assert [change["path"] for change in differences(document, many)] == [["recipe", "contact"]]


def test_binary_messages_are_aligned_and_hold_the_arrays() -> None:
    arrays = {
        "times": np.arange(3.0),
        "faces": np.arange(6).reshape(2, 3),
        "joints": np.arange(4, dtype=np.uint16),
        "places": np.arange(12.0).reshape(2, 2, 3)[:, ::-1],
    }
    message = pack({"on": "motion", "which": "<img onerror=x>"}, arrays)
    length = int.from_bytes(message[:4], "little")
    assert (4 + length) % 8 == 0
    header = json.loads(message[4 : 4 + length])
    assert header["which"] == "<img onerror=x>"
    assert [array_table["type"] for array_table in header["arrays"]] == ["float32", "uint32", "uint16", "float32"]
    offset = 4 + length
    for array_table in header["arrays"]:
        count = int(np.prod(array_table["shape"]))
        array = np.frombuffer(message, array_table["type"], count, offset).reshape(array_table["shape"])
        assert np.array_equal(array, arrays[array_table["name"]])
        offset += -(-array.nbytes // 8) * 8
    assert offset == len(message)


def test_json_is_what_browsers_read() -> None:
    encoded = json_text({"a": math.inf, "b": [-math.inf, math.nan, 1.5], "c": "1e999"})
    assert encoded == '{"a":1e999,"b":[-1e999,null,1.5],"c":"1e999"}'
    assert json.loads(encoded)["a"] == math.inf


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("", "not valid JSON"),
        ("[1]", "must be a table"),
        ('{"id": 1}', "must be a table with a text as `do`"),
        ('{"do": "hello"}', "a whole number as `id`"),
        ('{"do": "hello", "id": true}', "a whole number as `id`"),
        ('{"do": "hello", "id": NaN}', "NaN is not a number"),
        ("[" * 100000, "not valid JSON"),
        (" " * (MAX_REQUEST_CHARACTERS + 1), "at most"),
    ],
)
def test_requests_that_are_none_are_refused(sent: str, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_request(sent)
    assert message in caught.value.message


def test_troubles_say_what_of_the_document_they_are_about() -> None:
    assert error_table(FieldError("no", ("contact", 3, "end"), hint="so")) == {
        "message": "no",
        "hint": "so",
        "path": ["recipe", "contact", 3, "end"],
    }
    assert error_table(FieldError("no", ("pairs", 2)))["path"] == ["pairs", 2]
    assert error_table(RequestError("no", ("mode",)))["path"] == ["mode"]
    assert "path" not in error_table(RequestError("no"))


def test_an_actor_gets_a_name_that_no_other_actor_has() -> None:
    document = empty_document()
    actors = [{"source": "sample:walk"}, {"source": "sample:run", "name": "walk"}]
    document["recipe"]["actor"] = actors
    folders: Any = SimpleNamespace(document_name=str, base=Path())
    solver: Any = SimpleNamespace(filled=lambda document, _base: document)
    opened = open_file(document, "sample:walk", "actor", folders, solver)
    assert [actor["name"] for actor in opened["recipe"]["actor"]] == ["walk2", "walk", "walk3"]
    assert "name" not in actors[0]

"""The studio's server: access control, file access and every request."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.errors import UnderstudyError
from understudy.studio.folders import Folders

InvalidStatus = pytest.importorskip(
    "websockets.exceptions", reason="the studio's packages are not installed"
).InvalidStatus
TOKEN = "a-token"
SHOWN = {"x-understudy-token": TOKEN}


# --------------------------------------------------------------------------------------------------- access control


def test_the_page_needs_the_token_and_hides_it(studio: Any) -> None:
    refused = studio.get("/")
    assert refused.status == 403
    assert "Open the one that `understudy studio` printed" in refused.text
    assert studio.get("/?token=wrong").status == 403
    first = studio.get(f"/?token={TOKEN}")
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    pair = cookie.partition(";")[0]
    assert pair == f"understudy_studio_{studio.port}={TOKEN}"
    assert "studio" in studio.get("/", {"cookie": f"a=b; {pair}"}).text
    assert studio.get("/", {"cookie": pair.replace(str(studio.port), "1")}).status == 403
    assert studio.get("/", {"cookie": "="}).status == 403
    assert studio.get("/", SHOWN).status == 200


def test_only_the_pages_own_files_are_open(studio: Any) -> None:
    assert studio.get("/assets/a.js").headers["content-type"].startswith("text/javascript")
    for path in ("/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/../../session/session.json"):
        assert studio.get(path).status in (403, 404)
    for path in ("/../session/session.json", "/%2e%2e/session/lock", "/assets/../../session/lock"):
        assert studio.get(path, SHOWN).status == 404


def test_every_answer_keeps_the_page_to_itself(studio: Any) -> None:
    for answer in (studio.get("/", SHOWN), studio.get("/nothing", SHOWN), studio.get("/")):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert "immutable" in studio.get("/assets/a.js").headers["cache-control"]


def test_other_hosts_are_refused(studio: Any) -> None:
    port = studio.port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.x:{port}",
        "",
    ):
        assert studio.get("/", {**SHOWN, "host": host}).status == 400
        assert studio.get("/assets/a.js", {"host": host}).status == 400
    for host in (f"evil.example:{port}", f"127.0.0.1:{port + 1}"):
        with pytest.raises(InvalidStatus):
            studio.talk(host=host)
    for host in (f"localhost:{port}", f"[::1]:{port}", f"127.0.0.1:{port}"):
        assert studio.get("/", {**SHOWN, "host": host}).status == 200


def test_other_origins_are_refused(studio: Any) -> None:
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{studio.port}", "http://127.0.0.1:1"):
        assert studio.put("a.bvh", b"x", {**SHOWN, "origin": origin}).status == 400
        with pytest.raises(InvalidStatus):
            studio.talk(origin=origin)
    assert studio.put("a.bvh", b"x", {**SHOWN, "origin": studio.here}).status == 200


def test_the_websocket_needs_the_token(studio: Any) -> None:
    cookie = {"cookie": f"understudy_studio_{studio.port}={TOKEN}"}
    for refused in ({}, {"x-understudy-token": "wrong"}, cookie):
        # Without an origin a cookie is not enough: browsers always send one.
        with pytest.raises(InvalidStatus):
            studio.talk(additional_headers=refused)
    with studio.talk(additional_headers=cookie, origin=studio.here) as page:
        assert page.ask("hello")["ok"]
    with studio.talk(f"/live?token={TOKEN}", additional_headers={}) as page:
        assert page.ask("hello")["ok"]


# ------------------------------------------------------------------------------------------------- files and folders


def test_paths_outside_the_open_folders_are_refused(studio: Any) -> None:
    (studio.folder / "secret.bvh").write_text("HIERARCHY")
    (studio.folder / "files" / "out").symlink_to(studio.folder)
    (studio.folder / "files" / "link.bvh").symlink_to(studio.folder / "secret.bvh")
    (studio.folder / "files" / "inner").mkdir()
    with studio.talk() as page:
        for name in (
            "../secret.bvh",
            str(studio.folder / "secret.bvh"),
            "out/secret.bvh",
            "link.bvh",
            "inner/../../secret.bvh",
        ):
            reply = page.open(name, "source")
            assert not reply["ok"]
            assert "outside the folders that the studio has open" in reply["error"]["message"]
            assert "--folder" in reply["error"]["hint"]
            for command in ("save", "export"):
                assert "outside" in page.ask(command, path=name, which="result")["error"]["message"]
        for name in ("..", "out", "/"):
            assert "outside" in page.ask("browse", folder=name)["error"]["message"]
        change = {"op": "insert", "path": ["recipe", "actor", 0], "value": {"source": "../secret.bvh"}}
        reply = page.ask("edit", label="sneak", changes=[change])
        assert "outside" in reply["error"]["message"]
        assert reply["error"]["path"] == ["recipe", "actor", 0, "source"]
        for path in (["reading", "skeleton"], ["reading", "target_skeleton"]):
            sneak = {"op": "set", "path": ["recipe", *path], "value": "../secret.asf"}
            assert "outside" in page.ask("edit", label="sneak", changes=[sneak])["error"]["message"]
            assert "outside" in page.ask("drag", seq=1, changes=[sneak])["error"]["message"]
        assert page.document()["recipe"]["actor"] == []
        listed = page.ask("browse", folder=page.ask("browse", folder="")["value"]["folders"][0])["value"]
        assert [Path(name).name for name in listed["folders"]] == ["inner"]
        assert listed["files"] == []


def test_folders_are_listed(studio: Any) -> None:
    files = studio.folder / "files"
    for name in ("b.BVH", "a.toml", "c.txt", ".hidden.bvh", "robot.urdf"):
        (files / name).write_text("x")
    with studio.talk() as page:
        listing = page.ask("browse", folder=str(files))["value"]
        kinds = {entry["name"]: entry["kind"] for entry in listing["files"]}
        assert kinds == {"a.toml": "recipe", "b.BVH": "motion", "c.txt": "other", "robot.urdf": "character"}
        assert {"walk", "child"} <= {entry["name"] for entry in listing["samples"]}
        assert not page.ask("browse", folder="a.toml")["ok"]


def test_uploads_are_named_plainly_limited_and_whole(studio: Any) -> None:
    def put(name: str, content: bytes) -> Any:
        return studio.put(name, content, SHOWN)

    uploads = studio.folder / "session" / "uploads"
    assert studio.put("a.bvh", b"x").status == 403
    names = [put(name, b"HIERARCHY").json()["name"] for name in ("../../a b.bvh", "C:\\evil\\<x>.BVH", "a b.bvh")]
    assert [Path(name).name for name in names] == ["a b.bvh", "_x_.bvh", "a b.bvh"]
    assert Path(put("a b.bvh", b"other").json()["name"]).name == "a b-2.bvh"
    assert sorted(entry.name for entry in uploads.iterdir()) == ["_x_.bvh", "a b-2.bvh", "a b.bvh"]
    large = put("large.bvh", b"x" * ((1 << 20) + 1))
    assert large.status == 413
    assert "larger than 1 MB" in large.json()["error"]["message"]
    for name in ("evil.py", "page.html", "noending", ".bvh", "", "x.svg"):
        refused = put(name, b"x")
        assert refused.status == 400
        assert "are not accepted; known: " in refused.json()["error"]["message"]
    assert len(list(uploads.iterdir())) == 3
    assert studio.get("/upload", SHOWN).status in (404, 405)


def test_a_broken_file_is_told_and_the_session_goes_on(studio: Any) -> None:
    (studio.folder / "files" / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\nOFFSET 0 0\n")
    (studio.folder / "files" / "broken.toml").write_text("[options]\nplants = 3\n")
    with studio.talk() as page:
        before = page.document()
        reply = page.open("broken.bvh", "source")["error"]
        assert "broken.bvh:4" in reply["message"]
        reply = page.open("broken.toml", "recipe")["error"]
        assert "broken.toml:2" in reply["message"]
        assert "there is no such file" in page.open("none.bvh", "source")["error"]["message"]
        assert (
            "There is no sample motion `wolk`; nearest: `walk`"
            in page.open("sample:wolk", "source")["error"]["message"]
        )
        assert "A file is opened as one of source" in page.open("sample:walk", "hero")["error"]["message"]
        assert page.document() == before
        assert page.state["undo"] is None
        assert page.open("sample:walk", "source")["ok"]
        assert page.state["document"]["recipe"]["contact"]


def test_requests_that_are_none_are_told_and_the_session_goes_on(studio: Any) -> None:
    with studio.talk() as page:
        for sent in ("", "{", '{"id": 1}', "[]", '{"id": "x", "do": "hello"}', "x" * (2 << 20)):
            page.connection.send(sent)
            assert page.until(lambda message: True)["on"] == "trouble"
        page.connection.send(b"\0\1\2")
        assert page.until(lambda message: True)["on"] == "trouble"
        assert "nearest: `edit`" in page.ask("edits")["error"]["message"]
        assert "needs a list as `changes`" in page.ask("edit", label="x")["error"]["message"]
        assert "needs a whole number as `seq`" in page.ask("drag", seq=True, changes=[])["error"]["message"]
        assert "There is no result yet" in page.ask("download", format="bvh", which="result")["error"]["message"]
        assert "no motion yet" in page.ask("detect")["error"]["message"]
        assert "more than" in page.ask("remember", view={"x": "y" * 70000})["error"]["message"]
        assert page.ask("hello")["ok"]


# -------------------------------------------------------------------------------------------------------- requests


def test_open_edit_undo_redo(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        assert page.open("sample:walk", "source")["ok"]
        assert page.open("sample:child", "target")["ok"]
        first = page.solved(page.state["version"])
        assert {motion["which"] for motion in page.motions} == {"source", "result"}
        assert first["tracks"]
        opened = json.dumps(page.state["document"], sort_keys=True)
        change = {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.31}
        version = page.state["version"]
        assert page.ask("edit", label="shorten the plant", changes=[change])["ok"]
        assert page.state["version"] > version
        assert (page.state["undo"], page.state["redo"]) == ("shorten the plant", None)
        assert page.solved(page.state["version"])["tracks"][0]["end"] == pytest.approx(0.31)
        edited = json.dumps(page.state["document"], sort_keys=True)
        assert page.ask("undo")["ok"]
        assert (page.state["undo"], page.state["redo"]) == ("open child as target", "shorten the plant")
        assert json.dumps(page.state["document"], sort_keys=True) == opened
        assert page.ask("redo")["ok"]
        assert json.dumps(page.state["document"], sort_keys=True) == edited
        while page.state["undo"] is not None:
            assert page.ask("undo")["ok"]
        assert page.state["document"]["recipe"]["actor"] == []
        assert page.ask("undo")["ok"]


def test_a_wrong_edit_is_told_with_where_it_is_and_can_be_undone(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        value = {"kind": "place", "point": "NoSuchHand", "place": "up"}
        page.ask("edit", label="x", changes=[{"op": "insert", "path": ["recipe", "constraint", 0], "value": value}])
        reply = page.heard("trouble")
        assert reply["path"][:3] == ["recipe", "constraint", 0]
        # The next result shows that the error is gone.
        assert reply["solving"]
        assert "There is no result yet" in page.ask("evaluate", which="result")["error"]["message"]
        page.ask("undo")
        page.solved(page.state["version"])
        assert page.ask("evaluate", which="result")["ok"]
        quality = [event["quality"] for event in page.events if event.get("on") == "quality"][-1]
        assert quality["measurements"]


def test_results_leave_as_files(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.open("sample:child", "target")
        for wanted, suffix in (("bvh", ".bvh"), ("glb", ".glb"), (".glb", ".glb")):
            reply = page.ask("download", format=wanted, which="result")["value"]
            assert reply["url"].endswith(suffix)
            assert studio.get(f"/{reply['url']}").status == 403
            answer = studio.get(f"/{reply['url']}", SHOWN)
            assert answer.headers["content-disposition"].startswith("attachment")
            fetched = studio.folder / f"fetched{suffix}"
            fetched.write_bytes(answer.content)
            assert understudy.read(fetched).motion.num_frames == samples.motion("walk").motion.num_frames
        assert "nearest: `bvh`" in page.ask("download", format="bhv", which="result")["error"]["message"]
        assert "no motion" not in page.ask("download", format="bvh", which="source")["value"]["url"]
        reply = page.ask("export", path="walk.bvh", which="result")["value"]
        assert reply["path"] == str(studio.folder / "files" / "walk.bvh")
        assert reply["not_kept"]
        assert understudy.read(reply["path"]).skeleton.names == samples.character("child").names
        for path in ("walk.nope", "none/walk.bvh", "."):
            assert not page.ask("export", path=path, which="result")["ok"]
        assert not page.ask("export", path="a.bvh", which="nobody")["ok"]
        assert studio.get("/download/x/../session.json", SHOWN).status == 404
        assert studio.get("/download/%2e%2e/session.json", SHOWN).status == 404


def test_a_recipe_is_saved_and_opened_as_the_command_line_has_it(studio: Any) -> None:
    from understudy.recipe import read_recipe, recipe_from, recipe_text
    from understudy.retarget.driver import prepare

    (studio.folder / "files" / "deep").mkdir()
    understudy.write(samples.motion("walk").motion, studio.folder / "files" / "walk.bvh")
    with studio.talk() as page:
        page.ask("hello")
        assert page.open("walk.bvh", "source")["ok"]
        assert page.open("sample:child", "target")["ok"]
        assert page.ask("suggest")["ok"]
        before = page.state["document"]
        assert before["pairs"]
        assert page.ask("save", path="deep/walk.toml")["ok"]
        recipe = read_recipe(studio.folder / "files" / "deep" / "walk.toml")
        assert recipe.actors[0].source == "../walk.bvh"
        assert recipe.actors[0].map == "walk.map.toml"
        assert len(prepare(recipe).contacts) == len(before["recipe"]["contact"])
        assert page.ask("fresh")["ok"]
        assert page.state["document"]["recipe"]["actor"] == []
        assert page.open("deep/walk.toml", "recipe")["ok"]
        after = page.state["document"]
        assert after["pairs"] == before["pairs"]
        texts = [recipe_text(recipe_from(entry["recipe"], studio.folder / "files")) for entry in (before, after)]
        assert texts[0] == texts[1]
        assert not page.ask("save", path="walk.bvh")["ok"]


def test_a_recipe_names_uploads_so_that_the_command_line_finds_them(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from understudy.recipe import read_recipe
    from understudy.retarget.driver import retarget

    understudy.write(samples.motion("squat", seconds=0.5).motion, tmp_path / "mine.bvh")
    upload = studio.put("mine.bvh", (tmp_path / "mine.bvh").read_bytes(), SHOWN).json()["name"]
    (tmp_path / "mine.bvh").unlink()
    with studio.talk() as page:
        page.ask("hello")
        assert page.open(upload, "source")["ok"]
        assert page.open("sample:child", "target")["ok"]
        assert page.ask("save", path="mine.toml")["ok"]
    # From any other folder, after the studio has ended.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    recipe = read_recipe(studio.folder / "files" / "mine.toml")
    assert retarget(recipe).motion.num_frames == samples.motion("squat", seconds=0.5).motion.num_frames


def test_further_actors_get_names_and_keep_contacts(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:dance/lead", "source")
        change = {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.123}
        page.ask("edit", label="end", changes=[change])
        first_page = len(page.state["document"]["recipe"]["contact"])
        assert page.open("sample:dance/follow", "actor")["ok"], page.events[-1]
        recipe = page.state["document"]["recipe"]
        first, second = (actor["name"] for actor in recipe["actor"])
        assert first != second
        assert [contact["actor"] for contact in recipe["contact"][:first_page]] == [first] * first_page
        assert recipe["contact"][0]["end"] == 0.123
        assert {contact["actor"] for contact in recipe["contact"][first_page:]} <= {first, second}
        page.solved(page.state["version"])
        assert {body["which"].partition(":")[2] for body in page.state["bodies"]} == {first, second}


def test_a_sample_of_several_actors_brings_them_all(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        assert page.open("sample:dance", "source")["ok"]
        recipe = page.state["document"]["recipe"]
        assert [actor["source"] for actor in recipe["actor"]] == ["sample:dance/lead", "sample:dance/follow"]
        assert any(contact["on"] == "follow" for contact in recipe["contact"])
        page.solved(page.state["version"])
        bodies = [body["which"] for body in page.state["bodies"]]
        assert bodies == ["source:lead", "source:follow", "result:lead", "result:follow"]


def test_two_tabs_see_the_same(studio: Any) -> None:
    with studio.talk() as first_page, studio.talk() as second_page:
        first_page.ask("hello")
        second_page.ask("hello")
        first_page.open("sample:walk", "source")
        version = first_page.state["version"]
        second_page.solved(version)
        assert second_page.state["document"] == first_page.state["document"]
        assert {motion["which"] for motion in second_page.motions} == {"source", "result"}
        second_page.ask("undo")
        assert (
            first_page.until(lambda message: message.get("on") == "state" and message["state"]["redo"])["state"][
                "version"
            ]
            > version
        )


def test_names_with_html_pass_as_text(studio: Any) -> None:
    name = "<img/src=x/onerror=alert(1)>"
    walk = samples.motion("walk").motion
    understudy.write(walk, studio.folder / "files" / "plain.bvh")
    text = (studio.folder / "files" / "plain.bvh").read_text().replace("LeftHand", name)
    assert name in text
    (studio.folder / "files" / "odd.bvh").write_text(text)
    with studio.talk() as page:
        page.ask("hello")
        assert page.open("odd.bvh", "source")["ok"]
        page.solved(page.state["version"])
        joints = [joint["name"] for body in page.state["bodies"] for joint in body["joints"]]
        assert name in joints
        answer = studio.get(f"/mesh/{name}", SHOWN)
        assert answer.headers["content-type"] == "application/json"
        assert answer.status == 404


def test_the_view_is_remembered_and_not_undone(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        assert page.state["view"] == {}
        page.ask("remember", view={"camera": [1, 2, 3]})
        page.ask("hello")
        assert page.state["view"] == {"camera": [1, 2, 3]}
        assert page.state["undo"] is None


def test_what_nobody_foresaw_is_told_and_the_session_goes_on(studio: Any, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*arguments: Any, **named: Any) -> None:
        raise ZeroDivisionError("a bug")

    with studio.talk() as page:
        page.ask("hello")
        with monkeypatch.context() as patched:
            patched.setattr(studio.session.document_solver, "solve", fail)
            page.open("sample:walk", "source")
            reply = page.heard("trouble")
        assert "Unexpected error: ZeroDivisionError: a bug" in reply["message"]
        change = {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.3}
        page.ask("edit", label="x", changes=[change])
        assert page.solved(page.state["version"])["tracks"]


def test_a_session_that_cannot_be_written_goes_on(studio: Any, monkeypatch: pytest.MonkeyPatch) -> None:

    def full(saved: Any) -> None:
        raise UnderstudyError("session.json: cannot be written: No space left on device")

    with studio.talk() as page:
        page.ask("hello")
        monkeypatch.setattr(studio.session.store, "save", full)
        assert page.ask("edit", label="x", changes=[{"op": "set", "path": ["mode"], "value": "transition"}])["ok"]
        troubles = [event["trouble"]["message"] for event in page.events if event.get("on") == "trouble"]
        assert troubles == ["session.json: cannot be written: No space left on device"]
        assert page.document()["mode"] == "transition"


def test_meshes_are_served(studio: Any) -> None:
    from understudy.figure.skin import Mesh, binds_of_rest
    from understudy.io import Clip

    child = samples.character("child")
    mesh = Mesh(
        name="cloak",
        vertices=np.eye(3),
        triangles=np.array([[0, 1, 2]]),
        joints=np.zeros((3, 1), int),
        weights=np.ones((3, 1)),
        joint_from_mesh=binds_of_rest(child),
    )
    understudy.write(Clip(skeleton=child, meshes=(mesh,)), studio.folder / "files" / "child.glb")
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        assert page.open("child.glb", "target")["ok"], page.events[-1]
        page.solved(page.state["version"])
        url = next(body["mesh"] for body in page.state["bodies"] if body["which"] == "result")
        assert url is not None
        assert studio.get(f"/{url}").status == 403
        data = studio.get(f"/{url}", SHOWN).content
        header = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
        assert header["on"] == "mesh"
        assert next(entry["shape"] for entry in header["arrays"] if entry["name"] == "positions") == [3, 3]


def test_images_of_materials_are_served(studio: Any) -> None:
    from understudy.figure.skin import Look, Material, Mesh, binds_of_rest
    from understudy.io import Clip

    child = samples.character("child")
    image = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"
    look = Look(uvs=np.zeros((1, 3, 2)), materials=(Material(image=image),), material_numbers=np.zeros(1, int))
    mesh = Mesh(
        vertices=np.eye(3),
        triangles=np.array([[0, 1, 2]]),
        joints=np.zeros((3, 1), int),
        weights=np.ones((3, 1)),
        joint_from_mesh=binds_of_rest(child),
        look=look,
    )
    understudy.write(Clip(skeleton=child, meshes=(mesh,)), studio.folder / "files" / "child.glb")
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        assert page.open("child.glb", "target")["ok"], page.events[-1]
        page.solved(page.state["version"])
        data = studio.get("/mesh/result", SHOWN).content
        header = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
        url = header["surfaces"][0]["image"]
        answer = studio.get(f"/{url}", SHOWN)
        assert (answer.status, answer.content) == (200, image)
        assert answer.headers["content-type"] == "image/png"
        assert studio.get(f"/{url}").status == 403
        # A page may still ask for what is no longer shown.
        assert studio.get(f"/image/{'0' * 32}", SHOWN).status == 204


def test_links_out_of_the_uploads_are_refused(studio: Any) -> None:
    folders = studio.session.folders
    uploads = folders.uploads
    uploads.mkdir()
    os.symlink("/etc", uploads / "etc")
    with pytest.raises(UnderstudyError, match="outside the folders"):
        folders.resolve(str(uploads / "etc" / "passwd"))
    with pytest.raises(UnderstudyError, match="is not a folder"):
        Folders((studio.folder / "none",), uploads)


def test_contacts_are_found_again_by_the_settings(studio: Any) -> None:
    motion = samples.motion("walk").motion
    understudy.write(motion, studio.folder / "files" / "walk.bvh")
    with studio.talk() as page:
        page.ask("hello")
        page.open("walk.bvh", "source")
        contacts = page.state["document"]["recipe"]["contact"]
        assert page.state["document"]["recipe"]["options"]["contacts"] == "listed"
        page.ask("edit", label="none", changes=[{"op": "set", "path": ["recipe", "contact"], "value": []}])
        page.ask("detect")
        assert page.state["document"]["recipe"]["contact"] == contacts
        strict = {"op": "set", "path": ["recipe", "detection", "shortest"], "value": 100.0}
        page.ask("edit", label="strict", changes=[strict])
        page.ask("detect")
        assert page.state["document"]["recipe"]["contact"] == []
        page.ask("undo")
        assert page.state["document"]["recipe"]["contact"] == contacts


def test_other_ways_to_solve_stand_beside_the_result_until_something_changes(studio: Any) -> None:
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.open("sample:child", "target")
        version = page.state["version"]
        page.solved(version)
        assert page.ask("variants", names=["4", "naive"])["ok"]
        result = page.heard("result", lambda result: result["variants"])
        assert [entry["which"] for entry in result["variants"]] == ["result", "variant:4", "variant:naive"]
        assert {"variant:4", "variant:naive"} <= {motion["which"] for motion in page.motions}
        assert page.ask("export", path="naive.bvh", which="variant:naive")["ok"]
        assert not page.ask("variants", names=[3])["ok"]
        page.events.clear()
        page.ask("variants", names=["nope"])
        assert "no variant `nope`" in page.heard("trouble")["message"]
        change = {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.3}
        page.ask("edit", label="x", changes=[change])
        assert page.solved(page.state["version"])["variants"] == []


@pytest.mark.parametrize(
    ("mode", "clips"),
    [
        ("transition", {"first": "sample:walk", "second": "sample:dog_walk"}),
        ("analogy", {"a_example": "sample:walk", "b_example": "sample:dog_walk", "a_new": "sample:march"}),
    ],
)
def test_clips_of_other_modes_are_opened_one_by_one(studio: Any, mode: str, clips: dict[str, str]) -> None:
    with studio.talk() as page:
        page.ask("hello")
        for role, name in clips.items():
            assert page.open(name, role)["ok"], page.events[-1]
            assert page.state["document"]["mode"] == mode
            assert page.state["document"][mode][role] == name
        page.solved(page.state["version"])
        assert {*clips, "result"} == {body["which"] for body in page.state["bodies"]}
        assert {*clips, "result"} == {motion["which"] for motion in page.motions}
        assert page.ask("export", path="out.bvh", which="result")["ok"]
        assert understudy.read(studio.folder / "files" / "out.bvh").motion.num_frames > 10
        page.ask("undo")
        assert "There is no result yet" in page.ask("export", path="b.bvh", which="result")["error"]["message"]


def test_pictures_and_videos_are_made(studio: Any) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    pytest.importorskip("PIL", reason="videos need pillow")
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:squat", "source")
        frames = {"op": "set", "path": ["recipe", "reading", "frames"], "value": "0:12"}
        page.ask("edit", label="short", changes=[frames, {"op": "set", "path": ["recipe", "contact"], "value": []}])
        for kind, wanted, begins in (("picture", "svg", b"<?xml"), ("video", "gif", b"GIF8")):
            reply = page.ask("render", kind=kind, format=wanted)
            assert reply["ok"], reply
            assert reply["value"]["url"].endswith(f".{wanted}")
            assert studio.get(f"/{reply['value']['url']}", SHOWN).content.startswith(begins)
        assert "Expected picture as png or svg" in page.ask("render", kind="video", format="png")["error"]["message"]


def test_a_function_of_the_users_own_is_found_beside_the_files(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (studio.folder / "files" / "wave.py").write_text("def high(points):\n    return points[:, 0, 1:2] - 1.2\n")
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        value = {"kind": "function", "function": "wave:high", "points": ["RightHand"], "start": 1.0, "end": 1.2}
        page.ask("edit", label="high", changes=[{"op": "insert", "path": ["recipe", "constraint", 0], "value": value}])
        consent = page.heard("trouble")["consent"]
        assert (consent["name"], consent["path"]) == ("wave:high", str(studio.folder / "files" / "wave.py"))
        assert "return points[:, 0, 1:2] - 1.2" in consent["text"]
        assert not page.ask("trust", digest="0" * 64)["ok"]
        assert page.ask("trust", digest=consent["digest"])["ok"]
        tracks = page.solved(page.state["version"])["tracks"]
        assert next(track for track in tracks if track["path"] == ["recipe", "constraint", 0])["met"]
        assert page.ask("save", path="wave.toml")["ok"]
        assert page.open("wave.toml", "recipe")["ok"]
        assert page.state["document"]["recipe"]["constraint"][0]["function"] == "wave:high"


def test_a_film_of_the_stage_has_every_frame_that_was_sent(studio: Any) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="joins the frames: `pip install 'understudy-motion[video]'`")
    from io import BytesIO

    from PIL import Image

    def frame(shade: int) -> bytes:
        stream = BytesIO()
        Image.new("RGB", (33, 20), (shade, 0, 0)).save(stream, format="PNG")
        return stream.getvalue()

    def sent(path: str, content: bytes) -> int:
        return int(studio.fetch("PUT", path, SHOWN, content).status)

    with studio.talk() as page:
        page.ask("hello")
        assert studio.fetch("PUT", "/film/any/0", None, frame(0)).status == 403
        name = page.ask("film_begin")["value"]["film"]
        for number in (0, 1, 2):
            assert sent(f"/film/{name}/{number}", frame(80 * number)) == 204
        assert sent(f"/film/{name}/3", b"no picture") == 400
        assert sent(f"/film/{name}/x", frame(0)) == 400
        assert sent("/film/other/0", frame(0)) == 400
        url = page.ask("film_end", film=name, fps=10)["value"]["url"]
        video = studio.get(f"/{url}", SHOWN).content
        assert video[4:8] == b"ftyp"
        path = studio.folder / "film.mp4"
        path.write_bytes(video)
        import imageio_ffmpeg

        count, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
        assert (count, round(seconds, 2)) == (3, 0.3)
        # A film that was joined or given up takes no more frames, and one with a gap is refused.
        assert sent(f"/film/{name}/0", frame(0)) == 400
        name = page.ask("film_begin")["value"]["film"]
        assert sent(f"/film/{name}/1", frame(0)) == 204
        assert "Frame 0 of the film is missing" in page.ask("film_end", film=name, fps=10)["error"]["message"]
        assert page.ask("film_end", film=name, fps=10, cancel=True)["value"]["url"] is None
        assert not page.ask("film_end", film=name, fps="fast")["ok"]

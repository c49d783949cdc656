"""A library in a store: the workers read and write through the S3 protocol of a small local server."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from understudy.batch import batch
from understudy.batch import lock as batch_lock
from understudy.io import write
from understudy.samples import character, motion

pytest.importorskip("s3fs")
DAY = "Sun, 15 Nov 2020 12:00:00 GMT"


class Handler(BaseHTTPRequestHandler):
    """The part of S3 that puts, gets, lists and deletes whole objects."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def key_and_query(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return unquote(parts.path).lstrip("/"), parse_qs(parts.query, keep_blank_values=True)

    def request_body(self) -> bytes:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return data
        body = b""
        while data:
            head, _, data = data.partition(b"\r\n")
            size = int(head.split(b";")[0], 16)
            body, data = body + data[:size], data[size + 2 :] if size else b""
        return body

    def do_PUT(self) -> None:
        key, data = self.key_and_query()[0], self.request_body()
        self.objects[key] = data
        self.answer(200, ETag=f'"{hashlib.md5(data).hexdigest()}"')

    def do_GET(self) -> None:
        key, query = self.key_and_query()
        if "list-type" in query:
            self.list(key.rstrip("/"), query["prefix"][0], query.get("delimiter", [""])[0])
        elif key not in self.objects:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            data = self.objects[key]
            match = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if match:
                first, last = int(match[1]), int(match[2] or len(data) - 1)
                piece = data[first : last + 1]
                self.answer(206, piece, Content_Range=f"bytes {first}-{first + len(piece) - 1}/{len(data)}")
            else:
                self.answer(200, data, ETag='"x"', Last_Modified=DAY)

    do_HEAD = do_GET  # noqa: N815

    def do_DELETE(self) -> None:
        self.objects.pop(self.key_and_query()[0], None)
        self.answer(200)

    def do_POST(self) -> None:
        bucket, data = self.key_and_query()[0].rstrip("/"), self.request_body().decode()
        for key in re.findall(r"<Key>(.*?)</Key>", data):
            self.objects.pop(f"{bucket}/{key}", None)
        self.answer(200, b"<DeleteResult/>")

    def list(self, bucket: str, prefix: str, delimiter: str) -> None:
        contents, folders = [], set()
        for key, data in sorted(self.objects.items()):
            name = key.removeprefix(f"{bucket}/")
            if not key.startswith(f"{bucket}/{prefix}"):
                continue
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
            else:
                attributes = f"<Key>{escape(name)}</Key><Size>{len(data)}</Size><ETag>x</ETag>"
                contents.append(
                    f"<Contents>{attributes}<LastModified>2020-11-15T12:00:00.000Z</LastModified></Contents>"
                )
        inner = "".join(contents)
        inner += "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders)
        )
        text = f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>{inner}</ListBucketResult>"
        self.answer(200, text.encode(), Content_Type="application/xml")


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """The objects of a store that this process and its workers access as s3://."""
    stored: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("StoreHandler", (Handler,), {"objects": stored}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batch_lock, "HEARTBEAT_SECONDS", 0.5)
    yield stored
    server.shutdown()
    server.server_close()


def test_a_library_in_a_store(objects: dict[str, bytes], tmp_path: Path) -> None:
    walk = motion("walk").motion.resampled(30.0)
    write(walk[:30], tmp_path / "walk.bvh")
    write(character("child"), tmp_path / "child.bvh")
    clip = (tmp_path / "walk.bvh").read_bytes()
    objects["lib/in/a/walk.bvh"] = objects["lib/in/b.bvh"] = clip
    objects["lib/in/broken.bvh"] = clip[:300]
    objects["lib/bodies/child.bvh"] = (tmp_path / "child.bvh").read_bytes()
    rows = {row["clip"]: row for row in batch("s3://lib/in", "s3://lib/bodies/child.bvh", "s3://lib/out", workers=1)}
    assert {clip: row["status"] for clip, row in rows.items()} == {
        "a/walk.bvh": "done",
        "b.bvh": "done",
        "broken.bvh": "failed",
    }
    assert rows["broken.bvh"]["reason"].startswith("broken.bvh:")
    keys = sorted(key for key in objects if key.startswith("lib/out/"))
    assert keys == [
        f"lib/out/{name}"
        for name in (
            ".batch/pictures.jsonl",
            ".batch/sources",
            "a/walk.bvh",
            "b.bvh",
            "index.html",
            "manifest.sha256",
            "rows.jsonl",
            "table.csv",
        )
    ]
    lines = [json.loads(line) for line in objects["lib/out/rows.jsonl"].splitlines()]
    assert lines == [rows["a/walk.bvh"], rows["b.bvh"], rows["broken.bvh"]]
    folder = tmp_path / "in"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "walk.bvh").write_bytes(clip)
    (local,) = batch(folder, tmp_path / "child.bvh", tmp_path / "out", engine="inline")
    assert objects["lib/out/a/walk.bvh"] == (tmp_path / "out" / "a" / "walk.bvh").read_bytes()
    assert local["key"] == rows["a/walk.bvh"]["key"]
    notes = json.dumps(rows["a/walk.bvh"]["notes"])
    assert "s3://lib/bodies/child.bvh" in notes
    assert "/tmp" not in notes

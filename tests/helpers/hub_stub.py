"""A stand-in for the Hugging Face Hub on 127.0.0.1: repositories are folders.

Enough of the protocol for ``create_repo``, ``upload_folder`` (plain and large files) and
``load_dataset("owner/name")``. Every request is kept in ``HubStub.requests`` as "METHOD path".
A request without the token is refused with 401.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_stub_token_that_must_not_be_shown"
_REPO = r"(?P<kind>datasets|spaces)/(?P<repo>[^/]+/[^/]+)"
_LARGE = ".parquet"


class HubStub:
    """The repositories, and what was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.requests: list[str] = []
        self.large: dict[str, bytes] = {}
        self.url = ""

    def folder(self, kind: str, repo: str) -> Path:
        return self.root / kind / repo.replace("/", "--")

    def files(self, kind: str, repo: str) -> dict[str, bytes]:
        folder = self.folder(kind, repo)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    def commit(self, kind: str, repo: str) -> str:
        total = hashlib.sha1(usedforsecurity=False)
        for name, data in self.files(kind, repo).items():
            total.update(name.encode() + data)
        return total.hexdigest()


@contextmanager
def serving(root: Path) -> Iterator[HubStub]:
    """Run a stub on a free port until the block ends."""
    hub = HubStub(root)
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: HubStub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        self.hub.requests.append(f"{self.command} {path}")
        body = self._body()
        if self.headers.get("Authorization") != f"Bearer {TOKEN}" and "/_large/" not in path:
            return self._send(401, {"error": "Invalid token"})
        for pattern, answer in _ROUTES:
            match = re.fullmatch(pattern, path)
            if match:
                return answer(self, match.groupdict(), body, parse_qs(parts.query))
        return self._fail(404, "EntryNotFound")

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _send(self, code: int, body: Any = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _fail(self, code: int, reason: str) -> None:
        self._send(code, {"error": reason}, X_Error_Code=reason, X_Error_Message=reason)

    def validate(self, *_: Any) -> None:
        self._send(200, {"errors": [], "warnings": []})

    def create(self, _: Any, body: bytes, __: Any) -> None:
        asked = json.loads(body)
        repo = f"{asked.get('organization') or 'me'}/{asked['name']}"
        folder = self.hub.folder(f"{asked['type']}s", repo)
        url = f"{self.hub.url}/{asked['type']}s/{repo}"
        if folder.is_dir():
            return self._send(409, {"error": "exists", "url": url})
        folder.mkdir(parents=True)
        return self._send(200, {"url": url, "name": repo, "id": repo})

    def preupload(self, _: Any, body: bytes, __: Any) -> None:
        modes = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(_LARGE) else "regular",
                "shouldIgnore": False,
            }
            for file in json.loads(body)["files"]
        ]
        self._send(200, {"files": modes})

    def large_batch(self, _: Any, body: bytes, __: Any) -> None:
        objects = [
            {**item, "actions": {"upload": {"href": f"{self.hub.url}/_large/{item['oid']}"}}}
            for item in json.loads(body)["objects"]
        ]
        self._send(200, {"transfer": "basic", "objects": objects})

    def large_put(self, names: dict[str, str], body: bytes, _: Any) -> None:
        self.hub.large[names["oid"]] = body
        self._send(200)

    def commit(self, names: dict[str, str], body: bytes, _: Any) -> None:
        folder = self.hub.folder(names["kind"], names["repo"])
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            path = folder / value.get("path", "")
            if entry["key"] == "deletedFile":
                path.unlink()
            elif entry["key"] in ("file", "lfsFile"):
                large = entry["key"] == "lfsFile"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(
                    self.hub.large[value["oid"]] if large else base64.b64decode(value["content"])
                )
        commit = self.hub.commit(names["kind"], names["repo"])
        url = f"{self.hub.url}/{names['kind']}/{names['repo']}/commit/{commit}"
        self._send(200, {"success": True, "commitOid": commit, "commitUrl": url})

    def info(self, names: dict[str, str], *_: Any) -> None:
        kind, repo = names["kind"], names["repo"]
        if not self.hub.folder(kind, repo).is_dir():
            return self._fail(404, "RepoNotFound")
        siblings = [{"rfilename": name} for name in self.hub.files(kind, repo)]
        about = {"id": repo, "sha": self.hub.commit(kind, repo), "siblings": siblings}
        return self._send(200, {**about, "private": False, "gated": False, "tags": []})

    def tree(self, names: dict[str, str], _: Any, query: dict[str, list[str]]) -> None:
        folder = f"{names.get('sub') or ''}".strip("/")
        deep = query.get("recursive", ["false"])[0].lower() == "true"
        files = self.hub.files(names["kind"], names["repo"])
        inside = {
            name: data
            for name, data in files.items()
            if not folder or name.startswith(folder + "/")
        }
        if folder and not inside:
            return self._fail(404, "EntryNotFound")
        return self._send(200, list(_entries(inside, folder, deep)))

    def resolve(self, names: dict[str, str], *_: Any) -> None:
        files = self.hub.files(names["kind"], names["repo"])
        if names["path"] not in files:
            return self._fail(404, "EntryNotFound")
        data = files[names["path"]]
        commit = self.hub.commit(names["kind"], names["repo"])
        headers = {"X_Repo_Commit": commit, "ETag": f'"{_oid(data)}"'}
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not span:
            return self._send(200, data, **headers)
        start, end = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
        headers["Content_Range"] = f"bytes {start}-{end}/{len(data)}"
        return self._send(206, data[start : end + 1], **headers)


def _entries(files: dict[str, bytes], folder: str, deep: bool) -> Iterator[dict[str, Any]]:
    seen = set()
    for name, data in files.items():
        parts = name[len(folder) + 1 if folder else 0 :].split("/")
        if len(parts) > 1 and parts[0] not in seen:
            seen.add(parts[0])
            yield _folder_entry("/".join(filter(None, [folder, parts[0]])))
        if deep or len(parts) == 1:
            yield _file_entry(name, data)


def _file_entry(name: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(data), "oid": _oid(data)}


def _folder_entry(name: str) -> dict[str, Any]:
    return {"type": "directory", "path": name, "size": 0, "oid": "0" * 40}


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


_ROUTES = (
    ("/api/validate-yaml", _Handler.validate),
    ("/api/repos/create", _Handler.create),
    (rf"/{_REPO}\.git/info/lfs/objects/batch", _Handler.large_batch),
    (r"/_large/(?P<oid>\w+)", _Handler.large_put),
    (rf"/api/{_REPO}/preupload/[^/]+", _Handler.preupload),
    (rf"/api/{_REPO}/commit/[^/]+", _Handler.commit),
    (rf"/api/{_REPO}/tree/[^/]+(?P<sub>/.*)?", _Handler.tree),
    (rf"/api/{_REPO}(/revision/[^/]+)?", _Handler.info),
    (rf"/{_REPO}/resolve/[^/]+/(?P<path>.+)", _Handler.resolve),
)

"""A stand-in for the Hugging Face Hub: repositories in memory, served over HTTP as the Hub serves them."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Files = dict[str, bytes]


@dataclass
class Repository:
    """Its commits, and the commit of each branch and tag."""

    private: bool = False
    refusal: str | None = None
    """The error code for readers of files without the token; it may be empty."""
    commits: dict[str, Files] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: Files, *, branch: str = "main", message: str = "") -> str:
        """Add files to a branch, and return the commit."""
        all_files = {**self.files(branch), **files}
        name = hashlib.sha1(repr((sorted(all_files.items()), len(self.commits))).encode()).hexdigest()
        self.commits[name] = all_files
        self.names[branch] = name
        self.messages.append(message)
        return name

    def files(self, revision: str) -> Files:
        return self.commits.get(self.names.get(revision, revision), {})


@dataclass
class ToyHub:
    """`repositories` by name, the `requests` so far, and the one `token` that may write, and read private ones."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    token: str = "hf_toy"
    url: str = ""


@contextmanager
def serving_hub() -> Iterator[ToyHub]:
    """A hub that answers until the context is left."""
    hub = ToyHub()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub})) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield hub
        server.shutdown()


class _RefusalError(Exception):
    """The status, and the code that tells the client the reason."""


class _Handler(BaseHTTPRequestHandler):
    hub: ToyHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _handle(self) -> None:
        answer = {"POST": self._post, "PUT": self._put}.get(self.command, self._get)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        try:
            answer(path, body)
        except _RefusalError as refusal:
            status, code = refusal.args
            self._send(b"", status, {"X-Error-Code": code})

    do_GET = do_HEAD = do_POST = do_PUT = _handle  # noqa: N815 - names of http.server

    def _send(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), status, {"Content-Type": "application/json"})

    @property
    def _is_known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {self.hub.token}"

    def _commit(self, name: str, revision: str) -> tuple[str, Files]:
        repository = self.hub.repositories.get(name)
        if repository is None or (repository.private and not self._is_known):
            raise _RefusalError(404, "RepoNotFound")
        commit = repository.names.get(revision, revision)
        if commit not in repository.commits:
            raise _RefusalError(404, "RevisionNotFound")
        return commit, repository.commits[commit]

    def _get(self, path: str, _: bytes) -> None:
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"] and len(parts) == 4:  # no revision: the branch `main`
            parts += ["revision", "main"]
        if len(parts) < 5:
            raise _RefusalError(404, "NothingThere")
        if parts[:2] == ["api", "models"]:
            name, what, revision = "/".join(parts[2:4]), parts[4], parts[5]
            commit, files = self._commit(name, revision)
            if what == "tree":
                listed = {path: {"size": len(content), "oid": _object_id(content)} for path, content in files.items()}
                self._send_json([{"type": "file", "path": path, **about} for path, about in listed.items()])
            else:
                self._send_json({"id": name, "sha": commit, "siblings": [{"rfilename": path} for path in files]})
        else:
            name, revision, file = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
            commit, files = self._commit(name, revision)
            if (code := self.hub.repositories[name].refusal) is not None and not self._is_known:
                raise _RefusalError(403, code)
            if file not in files:
                raise _RefusalError(404, "EntryNotFound")
            self._send(files[file], headers={"X-Repo-Commit": commit, "ETag": f'"{_object_id(files[file])}"'})

    def _post(self, path: str, body: bytes) -> None:
        if path == "/api/validate-yaml":
            self._send_json({"errors": [], "warnings": []})
            return
        if not self._is_known:
            raise _RefusalError(401, "Unauthorized")
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            status = 409 if name in self.hub.repositories else 200
            if status == 200:
                private = asked.get("private") or asked.get("visibility") == "private"  # before version 2, and since
                self.hub.repositories[name] = Repository(private=private)
                self.hub.repositories[name].commit({".gitattributes": b"*.bin filter=lfs\n"}, message="initial commit")
            self._send_json({"url": f"{self.hub.url}/{name}"}, status)
        elif path.endswith(".git/info/lfs/objects/batch"):
            objects = json.loads(body)["objects"]
            for each in objects:
                each["actions"] = {"upload": {"href": f"{self.hub.url}/objects/{each['oid']}"}}
            self._send_json({"transfer": "basic", "objects": objects})
        elif "/preupload/" in path:
            paths = [each["path"] for each in json.loads(body)["files"]]
            modes = {path: "lfs" if path.endswith(".safetensors") else "regular" for path in paths}
            files = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
            self._send_json({"files": files})
        else:
            _, _, _, owner, name, _, branch = path.split("/", maxsplit=6)
            self._commit(f"{owner}/{name}", branch)
            self._make_commit(self.hub.repositories[f"{owner}/{name}"], branch, body)

    def _make_commit(self, repository: Repository, branch: str, body: bytes) -> None:
        files: Files = {}
        message = ""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            else:
                files[value["path"]] = self.hub.objects[value["oid"]]
        commit = repository.commit(files, branch=branch, message=message)
        self._send_json({"success": True, "commitOid": commit, "commitUrl": f"{self.hub.url}/x/y/commit/{commit}"})

    def _put(self, path: str, body: bytes) -> None:
        self.hub.objects[hashlib.sha256(body).hexdigest()] = body
        self._send(b"")


def _object_id(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()

"""One process that learns and predicts over HTTP, and resumes from its checkpoint after a crash.

    python examples/serve.py model.okl --port 8000

Requests and answers are JSON objects.  Two signals save the model before the process ends: SIGINT (Ctrl-C) and SIGTERM.
"""

import argparse
import json
import pathlib
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import river_okl

LARGEST = 1_000_000  # bytes of a request


class Service:
    """A model and the number of labels that it has learned, in one checkpoint."""

    def __init__(self, path: pathlib.Path, every: int) -> None:
        self.path, self.every, self.lock = path, every, threading.RLock()
        new: dict[str, Any] = {"model": river_okl.OKLClassifier(), "learned": 0}
        self.state = river_okl.load(path) if path.exists() else new
        self.saved = self.state["learned"]

    def predict(self, x: dict[str, Any], key: Any = None) -> dict[str, Any]:
        p = self.state["model"].predict_proba_one(x, key=key)  # models may be shared by threads
        return {"label": max(p, key=p.get, default=None), "probabilities": p}

    def learn(self, x: dict[str, Any], y: Any, key: Any = None) -> dict[str, Any]:
        with self.lock:  # the model and the number change together
            self.state["model"].learn_one(x, y, key=key)
            self.state["learned"] += 1
            if self.state["learned"] - self.saved >= self.every:
                self.save()
            return self.status()

    def status(self) -> dict[str, Any]:
        return {"learned": self.state["learned"], "saved": self.saved}

    def save(self) -> None:
        with self.lock:
            river_okl.save(self.state, self.path)  # the file is the old checkpoint or the new one at any time
            self.saved = self.state["learned"]


class Handler(BaseHTTPRequestHandler):
    service: Service

    def do_GET(self) -> None:
        self.answer(200, self.service.status())

    def do_POST(self) -> None:
        service, length = self.service, int(self.headers.get("Content-Length", 0))
        if self.path not in ("/predict", "/learn") or not 0 < length <= LARGEST:
            return self.answer(404, {"error": f"POST at most {LARGEST} bytes to /predict or /learn"})
        try:
            request = json.loads(self.rfile.read(length))
            found = service.learn(**request) if self.path == "/learn" else service.predict(**request)
        except (TypeError, ValueError) as error:  # an invalid request leaves the model unchanged
            return self.answer(400, {"error": str(error)})
        return self.answer(200, found)

    def answer(self, status: int, content: dict[str, Any]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(content).encode() + b"\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=8000, help="0: any free port")
    parser.add_argument("--every", type=int, default=100, help="labels from one checkpoint to the next")
    options = parser.parse_args()
    Handler.service = Service(options.checkpoint, options.every)
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda *_: sys.exit())
    with ThreadingHTTPServer(("127.0.0.1", options.port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port} {Handler.service.status()}", flush=True)
        try:
            server.serve_forever()
        finally:
            Handler.service.save()

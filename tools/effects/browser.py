"""Chromium on a private display, and the state of its pages.

Serves the pages of this folder on the loopback address, starts Chromium, reads
the state of a page through DevTools and converts boxes in a page to boxes on
the screen. It performs no actions through DevTools; those are real input.
"""

import functools
import http.server
import json
import threading
import time
import urllib.request
from pathlib import Path

import websocket


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Page:
    def __init__(self, address):
        self.socket = websocket.create_connection(address, timeout=20)
        self.number = 0

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                return answer.get("result", {})

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"script failed: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer.get("result", {}).get("value")

    def close(self):
        self.socket.close()


class Browser:
    def __init__(self, stage, pages, address, dark=False, application_window=True, box=(0, 0, 1024, 608), more=()):
        self.stage = stage
        self.server = serve(pages)
        profile = stage.folder / "profile"
        self.profile = profile
        self.address = f"http://pages.test/{address}"
        command = ["chromium", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--test-type",
                   "--no-default-browser-check", "--password-store=basic", "--disable-features=Translate,MediaRouter",
                   "--remote-debugging-port=0", "--remote-allow-origins=*", "--disable-smooth-scrolling",
                   f"--host-resolver-rules=MAP pages.test 127.0.0.1:{self.server.server_port}",
                   f"--window-position={box[0]},{box[1]}", f"--window-size={box[2] - box[0]},{box[3] - box[1]}"]
        if dark:
            command.append("--force-dark-mode")
        command.append(f"--app={self.address}" if application_window else self.address)
        command.extend(more)
        self.child = stage.processes.start(command)
        self.port = self._port()
        self.page = None
        self.offset = (0, 0)
        self.attach("pages.test")

    def _port(self):
        for _ in range(600):
            try:
                return int((self.profile / "DevToolsActivePort").read_text().split()[0])
            except (FileNotFoundError, IndexError, ValueError):
                time.sleep(0.1)
        raise RuntimeError("Chromium did not start")

    def targets(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json", timeout=20) as answer:
            return [entry for entry in json.loads(answer.read()) if entry["type"] == "page"]

    def version(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=20) as answer:
            return json.loads(answer.read())["Browser"].replace("Chrome/", "Chromium ")

    def attach(self, part):
        for _ in range(300):
            for entry in self.targets():
                if part in entry["url"]:
                    if self.page:
                        self.page.close()
                    self.page = Page(entry["webSocketDebuggerUrl"])
                    return
            time.sleep(0.1)
        raise RuntimeError("no such page")

    def evaluate(self, expression):
        return self.page.evaluate(expression)

    def calibrate(self, place=(500, 300)):
        """Measures the page's position on the screen with a real mouse movement."""
        for _ in range(20):
            self.evaluate("window.pointer = null; window.addEventListener('mousemove', "
                          "event => { window.pointer = [event.clientX, event.clientY]; }); 0")
            self.stage.hand.move((place[0] - 7, place[1] - 5))
            time.sleep(0.1)
            self.stage.hand.move(place)
            time.sleep(0.3)
            pointer = self.evaluate("window.pointer")
            if pointer:
                self.offset = (place[0] - pointer[0], place[1] - pointer[1])
                return
        raise RuntimeError("the page received no mouse movement")

    def open(self, address):
        # A new number in the address forces a reload for every clip.
        self.number = getattr(self, "number", 0) + 1
        joint = "&" if "?" in address else "?"
        self.page.call("Page.navigate", url=f"http://pages.test/{address}{joint}load={self.number}")
        for _ in range(200):
            time.sleep(0.05)
            try:
                if self.evaluate(f"document.readyState === 'complete' && location.search.includes('load={self.number}') && !!window.pageState"):
                    self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
                    return
            except RuntimeError:
                pass
        raise RuntimeError("the page did not load")

    def box(self, selector):
        left, top, right, bottom = self.evaluate(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.left, box.top, box.right, box.bottom]; })()")
        return [round(left + self.offset[0]), round(top + self.offset[1]),
                round(right + self.offset[0]), round(bottom + self.offset[1])]

    def state(self):
        return self.evaluate("pageState()")

    def close(self):
        self.page.close()
        self.stage.processes.stop(self.child)
        self.server.shutdown()

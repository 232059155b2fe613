"""A private X display with screen capture, input and window state.

Starts Xvfb (and icewm if requested), sends real input through XTest, captures
the screen without the mouse pointer, and reports windows (visible ones, the
active one, its title). It is independent of applications, recordings and the
definition of an effect.
"""

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import mss
import numpy
from Xlib import X, XK, Xatom
from Xlib import display as x_display
from Xlib.ext import xtest

WIDTH, HEIGHT = 1024, 640
SAMPLE_SECONDS = 0.05
# Box of icewm's task bar clock; only used to suggest clips for manual review.
BAR_CLOCK = [930, 612, WIDTH, HEIGHT]

KEY_NAMES = {
    "ctrl": "Control_L", "shift": "Shift_L", "alt": "Alt_L", "escape": "Escape",
    "tab": "Tab", "enter": "Return", "backspace": "BackSpace", "delete": "Delete",
    "home": "Home", "end": "End", "page_down": "Next", "page_up": "Prior",
    "left": "Left", "right": "Right", "up": "Up", "down": "Down", "space": "space",
}

CHARACTER_NAMES = {
    " ": "space", "\n": "Return", ".": "period", ",": "comma", "-": "minus",
    "=": "equal", "+": "plus", "*": "asterisk", "/": "slash", ":": "colon",
    "!": "exclam", "?": "question", "'": "apostrophe", "_": "underscore",
    "$": "dollar", ";": "semicolon", "(": "parenleft", ")": "parenright",
}


def milliseconds():
    return time.monotonic() * 1000.0


class Processes:
    """Child processes started here; only these are stopped."""

    def __init__(self, environment):
        self.environment = environment
        self.children = []

    def start(self, command, **extra):
        environment = dict(self.environment, **extra)
        child = subprocess.Popen(
            command, env=environment, start_new_session=True, cwd=environment.get("HOME", "/"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.children.append(child)
        return child

    def stop(self, child):
        if child in self.children:
            self.children.remove(child)
        # Each child leads its own session, so its process group contains only its helpers.
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, number)
            except ProcessLookupError:
                break
            try:
                child.wait(timeout=2)
            except subprocess.TimeoutExpired:
                pass

    def stop_all(self):
        for child in list(reversed(self.children)):
            self.stop(child)


def start_server(processes, chooser):
    for _ in range(30):
        number = chooser.randrange(300, 30000)
        if Path(f"/tmp/.X11-unix/X{number}").exists() or Path(f"/tmp/.X{number}-lock").exists():
            continue
        child = processes.start(
            ["Xvfb", f":{number}", "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-noreset", "-nolisten", "tcp"])
        for _ in range(100):
            time.sleep(0.1)
            if child.poll() is not None:
                break
            if Path(f"/tmp/.X11-unix/X{number}").exists():
                time.sleep(0.3)
                return f":{number}"
        processes.stop(child)
    raise RuntimeError("no display could be started")


class Camera:
    """Samples the display in the background and stores the changed rows of each frame."""

    def __init__(self, display_name):
        self.display_name = display_name
        self.gate = threading.Lock()
        self.frames = None
        self.running = False
        self.thread = None

    def grab(self, source):
        # The lock prevents a capture from spanning an input.
        with self.gate:
            taken = milliseconds()
            shot = source.grab({"left": 0, "top": 0, "width": WIDTH, "height": HEIGHT})
        words = numpy.frombuffer(shot.raw, dtype=numpy.uint32).reshape(HEIGHT, WIDTH)
        return taken, words & numpy.uint32(0x00FFFFFF)

    def still(self):
        with mss.MSS(display=self.display_name, with_cursor=False) as source:
            return self.grab(source)[1]

    def _run(self, ready):
        last = None
        with mss.MSS(display=self.display_name, with_cursor=False) as source:
            while self.running:
                began = time.monotonic()
                taken, words = self.grab(source)
                if last is None:
                    self.frames.append((taken, 0, words.copy()))
                    ready.set()
                else:
                    rows = numpy.flatnonzero((words != last).any(axis=1))
                    if rows.size:
                        top, bottom = int(rows[0]), int(rows[-1]) + 1
                        self.frames.append((taken, top, words[top:bottom].copy()))
                last = words
                self.samples.append(taken)
                time.sleep(max(0.002, SAMPLE_SECONDS - (time.monotonic() - began)))

    def start(self):
        self.frames, self.samples, self.running = [], [], True
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        if not ready.wait(10):
            raise RuntimeError("no frame was captured")

    def stop(self):
        self.running = False
        self.thread.join()
        return self.frames, self.samples


def unfold(frames):
    """Reconstructs full frames from changed rows."""
    canvas = numpy.zeros((HEIGHT, WIDTH), dtype=numpy.uint32)
    for taken, top, rows in frames:
        canvas[top:top + rows.shape[0]] = rows
        yield taken, canvas


class Hand:
    """Mouse and keyboard through XTest."""

    def __init__(self, connection):
        self.connection = connection

    def _send(self, kind, detail=0, x=0, y=0):
        xtest.fake_input(self.connection, kind, detail, x=x, y=y)
        self.connection.sync()

    def move(self, place):
        self._send(X.MotionNotify, 0, int(place[0]), int(place[1]))
        time.sleep(0.02)

    def press(self, button):
        self._send(X.ButtonPress, button)
        time.sleep(0.03)
        self._send(X.ButtonRelease, button)
        time.sleep(0.03)

    def click(self, place, button=1, times=1):
        self.move(place)
        for _ in range(times):
            self.press(button)

    def scroll(self, place, notches):
        self.move(place)
        for _ in range(abs(notches)):
            self.press(5 if notches > 0 else 4)

    def drag(self, start, stop, steps=8):
        self.move(start)
        self._send(X.ButtonPress, 1)
        time.sleep(0.05)
        for step in range(1, steps + 1):
            share = step / steps
            self.move((start[0] + (stop[0] - start[0]) * share, start[1] + (stop[1] - start[1]) * share))
        time.sleep(0.05)
        self._send(X.ButtonRelease, 1)

    def _code(self, name):
        symbol = XK.string_to_keysym(name)
        code, level = next(iter(sorted(self.connection.keysym_to_keycodes(symbol), key=lambda pair: pair[1])))
        return code, level

    def keys(self, chord):
        names = chord.split("+")
        codes = [self._code(KEY_NAMES.get(name, name))[0] for name in names]
        for code in codes:
            self._send(X.KeyPress, code)
            time.sleep(0.01)
        for code in reversed(codes):
            self._send(X.KeyRelease, code)
        time.sleep(0.02)

    def type(self, text):
        shift = self._code("Shift_L")[0]
        for character in text:
            code, level = self._code(CHARACTER_NAMES.get(character, character))
            if level:
                self._send(X.KeyPress, shift)
            self._send(X.KeyPress, code)
            self._send(X.KeyRelease, code)
            if level:
                self._send(X.KeyRelease, shift)
            time.sleep(0.03)


class Windows:
    """State of windows from the X server and the window manager."""

    def __init__(self, connection):
        self.connection = connection
        self.root = connection.screen().root

    def _atom(self, name):
        return self.connection.intern_atom(name)

    def _property(self, window, name):
        try:
            answer = window.get_full_property(self._atom(name), X.AnyPropertyType)
        except Exception:
            return None
        return answer.value if answer else None

    def active(self):
        answer = self._property(self.root, "_NET_ACTIVE_WINDOW")
        if answer is not None and len(answer) and answer[0]:
            return self.connection.create_resource_object("window", int(answer[0]))
        if answer is not None:
            return None
        focus = self.connection.get_input_focus().focus
        if isinstance(focus, int):
            return None
        while True:
            tree = focus.query_tree()
            if not tree.parent or tree.parent.id == self.root.id:
                return focus
            focus = tree.parent

    def title_of(self, window):
        if window is None:
            return ""
        for name in ("_NET_WM_NAME", "WM_NAME"):
            value = self._property(window, name)
            if value is not None:
                return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        return ""

    def title(self):
        return self.title_of(self.active())

    def shown(self):
        """Returns every mapped child of the root from bottom to top: id, box, override flag."""
        found = []
        for window in self.root.query_tree().children:
            try:
                if window.get_attributes().map_state != X.IsViewable:
                    continue
                place = window.get_geometry()
                free = bool(window.get_attributes().override_redirect)
            except Exception:
                continue
            if place.width > 1 and place.height > 1 and place.x < WIDTH and place.y < HEIGHT and place.x + place.width > 0:
                found.append((window.id, place.x, place.y, place.width, place.height, free))
        return found

    def clients(self):
        value = self._property(self.root, "_NET_CLIENT_LIST")
        return [self.connection.create_resource_object("window", int(number)) for number in (value if value is not None else [])]

    def find(self, text):
        for window in self.clients():
            if text in self.title_of(window):
                return window
        return None

    def box(self, window):
        place = window.get_geometry()
        corner = window.translate_coords(self.root, 0, 0)
        x, y = -corner.x, -corner.y
        return (x, y, x + place.width, y + place.height)

    def state(self):
        titles = {window.id: self.title_of(window) for window in self.clients()}
        hidden = {window.id: list(self._property(window, "WM_STATE") or []) for window in self.clients()}
        desktop = self._property(self.root, "_NET_CURRENT_DESKTOP")
        active = self.active()
        return {"shown": self.shown(), "titles": titles, "hidden": hidden,
                "desktop": list(desktop) if desktop is not None else [],
                "active": active.id if active is not None else 0}

    def message(self, window, name, values):
        from Xlib.protocol import event
        data = (list(values) + [0] * 5)[:5]
        note = event.ClientMessage(window=window, client_type=self._atom(name), data=(32, data))
        self.root.send_event(note, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self.connection.sync()

    def activate(self, window):
        self.message(window, "_NET_ACTIVE_WINDOW", [2, X.CurrentTime, 0])

    def place(self, window, box):
        window.configure(x=box[0], y=box[1], width=box[2] - box[0], height=box[3] - box[1])
        self.connection.sync()


ICEWM_PREFERENCES = """\
ShowTaskBar={bar}
TaskBarShowClock={clock}
TimeFormat="%H:%M:%S"
TaskBarShowCPUStatus=0
TaskBarShowMEMStatus=0
TaskBarShowNetStatus=0
TaskBarShowAPMStatus=0
TaskBarShowAPMAuto=0
TaskBarShowMailboxStatus=0
TaskBarShowTray=0
TaskBarShowWorkspaces={spaces}
WorkspaceNames=" 1 ", " 2 "
ShowToolTips=0
ToolTipDelay=5000
ClickToFocus=1
RaiseOnFocus=1
OpaqueMove=1
OpaqueResize=1
ShowLogoutMenu=0
ConfirmLogout=0
SmartPlacement=1
EdgeSwitch=0
MenuActivateDelay=40
PointerFocusDelay=0
AutoRaiseDelay=0
TaskBarAutoHide=0
DelayPointerFocus=0
"""


class Stage:
    """One display with input, capture and window state for a recording."""

    def __init__(self, folder, chooser, manager=True, clock=False, bar=True, spaces=False, theme="default", background=0x8090A0):
        self.folder = Path(folder)
        self.home = self.folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        base = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC",
                "XDG_RUNTIME_DIR": str(self.folder), "GTK_A11Y": "atspi", "NO_AT_BRIDGE": "0",
                "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "QT_ACCESSIBILITY": "1", "GTK_OVERLAY_SCROLLING": "0"}
        self.processes = Processes(base)
        self.name = start_server(self.processes, chooser)
        base["DISPLAY"] = self.name
        self.processes.environment = base
        self.connection = x_display.Display(self.name)
        self.windows = Windows(self.connection)
        self.hand = Hand(self.connection)
        self.camera = Camera(self.name)
        self.windows.root.change_attributes(background_pixel=background)
        self.windows.root.clear_area()
        self.connection.sync()
        self._start_bus()
        if manager:
            self._start_manager(clock, bar, spaces, theme)

    def _start_bus(self):
        address = f"unix:path={self.folder}/bus"
        self.processes.start(["dbus-daemon", "--session", "--nofork", f"--address={address}"])
        self.processes.environment["DBUS_SESSION_BUS_ADDRESS"] = address
        for _ in range(50):
            if (self.folder / "bus").exists():
                return
            time.sleep(0.1)
        raise RuntimeError("the message bus did not start")

    def _start_manager(self, clock, bar, spaces, theme):
        folder = self.folder / "icewm"
        folder.mkdir()
        (folder / "preferences").write_text(
            ICEWM_PREFERENCES.format(clock=int(clock), bar=int(bar), spaces=int(spaces)))
        (folder / "theme").write_text(f'Theme="{theme}/default.theme"\n')
        (folder / "menu").write_text('prog "First entry" - true\nprog "Second entry" - true\nprog "Third entry" - true\n')
        (folder / "toolbar").write_text("")
        (folder / "programs").write_text("")
        (folder / "keys").write_text("")
        self.processes.start(["icewm"], ICEWM_PRIVCFG=str(folder))
        for _ in range(100):
            time.sleep(0.1)
            if self.windows._property(self.windows.root, "_NET_SUPPORTING_WM_CHECK") is not None:
                time.sleep(0.5)
                return
        raise RuntimeError("the window manager did not start")

    def wait_for_window(self, text, seconds=40):
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            found = self.windows.find(text)
            if found is not None:
                time.sleep(0.3)
                return found
            time.sleep(0.1)
        raise RuntimeError(f"no window with the title {text!r}")

    def settle(self, quiet=0.35, limit=4.0, still_needed=True):
        """Waits until the screen is idle, so that the preparation has finished."""
        if not still_needed:
            time.sleep(0.9)
            return
        end = time.monotonic() + limit
        last, since = self.camera.still(), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < quiet:
            time.sleep(0.06)
            now = self.camera.still()
            if not numpy.array_equal(now, last):
                last, since = now, time.monotonic()

    def close(self):
        try:
            self.connection.close()
        except Exception:
            pass
        self.processes.stop_all()

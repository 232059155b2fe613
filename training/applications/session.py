"""Isolated desktop for one application: X server, message bus, window manager, settings, and screen capture.

Windows have no title bar: AT-SPI does not report the buttons of a window manager, and unlabelled buttons would train
the model to ignore them. Title bars come from drawn screens, and from applications that draw their own.
"""

import ctypes
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageChops

BACKGROUNDS = ("#2e3440", "#3465a4", "#77767b", "#1d5a3f", "#d8d4c8")
OPENBOX = """<?xml version="1.0"?><openbox_config xmlns="http://openbox.org/3.4/rc">
<placement><policy>Smart</policy></placement><desktops><number>1</number></desktops>
<applications><application class="*"><decor>no</decor></application>
<application class="*" type="normal">%s</application></applications></openbox_config>"""


CARET = (6, 80)
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def _end_with_parent() -> None:
    """Ends with its parent, so that a killed session leaves no process."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# A window may close while its position is queried; Xlib would end the program.
NO_COMPLAINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda display, event: 0)


def same(one: Image.Image, other: Image.Image) -> bool:
    changed = ImageChops.difference(one, other).getbbox()
    return changed is None or (changed[2] - changed[0] <= CARET[0] and changed[3] - changed[1] <= CARET[1])


class Screen:
    """Windows of an X screen from bottom to top, by Xlib: AT-SPI does not report stacking."""

    def __init__(self, name: str) -> None:
        self.x = ctypes.CDLL("libX11.so.6")
        self.x.XSetErrorHandler(NO_COMPLAINT)
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        self.x.XDefaultRootWindow.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x.XOpenDisplay(name.encode()))
        if not self.display.value:
            raise RuntimeError(f"the X server {name} does not answer")
        self.root = self.x.XDefaultRootWindow(self.display)

    def windows(self) -> list[tuple[int, tuple[int, int, int, int], bool]]:
        """Returns number, box, and override-redirect flag of each mapped window."""
        root, parent, count = ctypes.c_ulong(), ctypes.c_ulong(), ctypes.c_uint()
        children = ctypes.POINTER(ctypes.c_ulong)()
        refer = ctypes.byref
        self.x.XQueryTree(
            self.display, ctypes.c_ulong(self.root), refer(root), refer(parent), refer(children), refer(count)
        )
        found = []
        for number in children[: count.value]:
            attributes = (ctypes.c_int * 64)()
            if not self.x.XGetWindowAttributes(self.display, ctypes.c_ulong(number), refer(attributes)):
                continue
            # XWindowAttributes: x, y, width, height first; map_state at byte 92, override_redirect at byte 120.
            x, y, width, height = attributes[:4]
            if attributes[23] == 2 and width > 2 and height > 2:
                found.append((number, (x, y, x + width, y + height), bool(attributes[30])))
        if children:
            self.x.XFree(children)
        return found


class Session:
    def __init__(
        self,
        size: tuple[int, int],
        scale: int,
        theme: str,
        style: str,
        icons: str,
        font: str,
        maximised: bool,
        seed: str,
    ) -> None:
        self.size, self.folder, self.running = size, Path(tempfile.mkdtemp(prefix="applications-")), []
        self.seed, self.chance = seed, random.Random(seed)
        self.background = self._background()
        try:
            self._start(scale, theme, style, icons, font, maximised)
        except BaseException:
            self.close()
            raise

    def _start(self, scale: int, theme: str, style: str, icons: str, font: str, maximised: bool) -> None:
        reading, writing = os.pipe()
        self.run(
            "Xvfb",
            "-displayfd",
            str(writing),
            "-screen",
            "0",
            f"{self.size[0]}x{self.size[1]}x24",
            "-nolisten",
            "tcp",
            "-noreset",
            "-fbdir",
            str(self.folder),
            pass_fds=(writing,),
        )
        os.close(writing)
        number = b""
        while not number.endswith(b"\n"):
            part = os.read(reading, 16)
            if not part:
                raise RuntimeError("Xvfb did not start")
            number += part
        os.close(reading)
        self.folder.chmod(0o700)
        self._settings(theme, icons, font)
        style, _, kvantum = style.partition("/")
        if kvantum:
            self._kvantum_settings(kvantum)
        self._documents()
        os.environ.update(
            DISPLAY=f":{number.decode().strip()}",
            HOME=str(self.folder),
            XDG_RUNTIME_DIR=str(self.folder),
            XDG_CONFIG_HOME=str(self.folder / "config"),
            XDG_CACHE_HOME=str(self.folder / "cache"),
            XDG_DATA_HOME=str(self.folder / "data"),
            GTK_MODULES="gail:atk-bridge",
            GDK_BACKEND="x11",
            GTK_THEME=theme,
            GTK_OVERLAY_SCROLLING="0",
            GDK_SCALE=str(scale),
            QT_SCALE_FACTOR=str(scale),
            QT_QPA_PLATFORM="xcb",
            QT_STYLE_OVERRIDE=style,
            QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1",
            QT_ACCESSIBILITY="1",
            GSETTINGS_BACKEND="memory",
            LC_ALL="C.UTF-8",
        )
        os.environ.pop("NO_AT_BRIDGE", None)
        reading, writing = os.pipe()
        self.run(
            "dbus-daemon",
            "--session",
            "--nofork",
            f"--print-address={writing}",
            f"--address=unix:dir={self.folder}",
            pass_fds=(writing,),
        )
        os.close(writing)
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = os.read(reading, 500).decode().strip()
        os.close(reading)
        self.run("/usr/libexec/at-spi-bus-launcher", "--launch-immediately", "--a11y=1", "--screen-reader=1")
        configuration = self.folder / "openbox.xml"
        configuration.write_text(OPENBOX % ("<maximized>yes</maximized>" if maximised else ""))
        self.run("openbox", "--config-file", str(configuration))
        self.screen = Screen(os.environ["DISPLAY"])
        subprocess.run(["xdotool", "mousemove", str(self.size[0] - 1), str(self.size[1] - 1)], check=False)

    def _settings(self, theme: str, icons: str, font: str) -> None:
        settings = self.folder / "config" / "gtk-3.0" / "settings.ini"
        settings.parent.mkdir(parents=True)
        points = self.chance.choice((9, 10, 10, 11, 12))
        settings.write_text(
            f"[Settings]\ngtk-theme-name={theme}\ngtk-icon-theme-name={icons}\ngtk-font-name={font} {points}\n"
            "gtk-enable-animations=0\ngtk-cursor-blink=0\n"
        )

    def _kvantum_settings(self, theme: str) -> None:
        settings = self.folder / "config" / "Kvantum" / "kvantum.kvconfig"
        settings.parent.mkdir()
        settings.write_text(f"[General]\ntheme={theme}\n")

    def _documents(self) -> None:
        documents = self.folder / "Documents"
        for name in ("Invoices", "Letters", "Music", "Pictures", "Reports"):
            (documents / name).mkdir(parents=True)
        words = "order address total customer report window letter picture number street river garden".split()
        for index in range(self.chance.randint(4, 30)):
            text = "\n".join(" ".join(self.chance.choices(words, k=self.chance.randint(3, 11))) for _ in range(40))
            (documents / f"{self.chance.choice(words)}-{index}.{self.chance.choice(('txt', 'csv', 'md'))}").write_text(
                text
            )
        for index in range(6):
            Image.effect_noise((320, 200), 90).save(documents / f"picture-{index}.png")

    def run(self, *command: str, **more: object) -> subprocess.Popen:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            **more,
        )
        self.running.append(process)
        return process

    def application(self, command: tuple[str, ...]) -> subprocess.Popen:
        documents = self.folder / "Documents"
        text = next(documents.glob("*.txt"), documents)
        stand_ins = {"FILE": str(text), "FOLDER": str(documents), "SEED": self.seed}
        return self.run(*(stand_ins.get(word, word) for word in command), cwd=documents)

    def screenshot(self) -> Image.Image:
        """Captures the screen, with a background where there is no window."""
        shown = self._shown()
        free = Image.new("L", shown.size, 255)
        for _, box, _ in self.screen.windows():
            free.paste(0, box)
        shown.paste(self.background, mask=free)
        return shown

    def _background(self) -> Image.Image:
        if self.chance.random() < 0.4:
            return Image.new("RGB", self.size, self.chance.choice(BACKGROUNDS))
        one, other = self.chance.sample(BACKGROUNDS, 2)
        fade = Image.linear_gradient("L").resize(self.size)
        return Image.composite(Image.new("RGB", self.size, one), Image.new("RGB", self.size, other), fade)

    def _shown(self) -> Image.Image:
        data = (self.folder / "Xvfb_screen0").read_bytes()
        head, _, _, _, width, height = struct.unpack(">6I", data[:24])
        line, colours = struct.unpack(">I", data[48:52])[0], struct.unpack(">I", data[76:80])[0]
        return Image.frombuffer("RGB", (width, height), data[head + colours * 12 :], "raw", "BGRX", line, 1).copy()

    def wait_for_idle(self, timeout: float = 8) -> Image.Image:
        """Waits until the screen has not changed for a moment and returns it; a blinking caret is ignored."""
        last, since, end = self.screenshot(), time.monotonic(), time.monotonic() + timeout
        while time.monotonic() < end and time.monotonic() - since < 0.6:
            time.sleep(0.15)
            now = self.screenshot()
            if not same(last, now):
                last, since = now, time.monotonic()
        return last

    def close(self) -> None:
        for process in reversed(self.running):
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(2)
            except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(2)
            except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                pass
        shutil.rmtree(self.folder, ignore_errors=True)

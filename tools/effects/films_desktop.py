"""Recordings of programs other than a browser: editors, dialogs, a calculator, terminals, windows.

Only defines the clips, their preparation and the expected state of the witness
(AT-SPI, the bytes that a shell wrote, the window manager); recording is done
elsewhere.
"""

import subprocess
import time

from accessible import Accessible
from film import Clip, Film, centre
from films_browser import became, chosen, grew_by, old, one_more_window, one_window_less
from stage import BAR_CLOCK, Stage

CARET = ("caret",)
MOUSEPAD_SETTINGS = "[org/xfce/mousepad/preferences/window]\npath-in-title=false\nstatusbar-visible=true\n"
WORDS = "stone river garden winter letter orange silver window market bridge"


def longer_text(lines):
    words = WORDS.split()
    return "".join(f"{number} {words[number % 10]} {words[(number * 3) % 10]}\n" for number in range(1, lines + 1))


def package_version(name):
    answer = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
    return f"{name} {answer.stdout}"


class Program:
    """A program on a private display with AT-SPI as its witness."""

    def __init__(self, stage, name, chooser):
        self.stage, self.hand, self.chooser = stage, stage.hand, chooser
        self.tree = Accessible(stage.processes.environment, name)

    def steps(self, *steps):
        def prepare():
            for step in steps:
                step()
                time.sleep(0.15)
        return prepare

    def push(self, *chords):
        def step():
            for chord in chords:
                self.hand.keys(chord)
                time.sleep(0.08)
        return step

    def box(self, role, name=None, number=0):
        return lambda: self.tree.box(role, name, number)

    def press(self, role, name=None, number=0):
        return lambda: self.hand.click(centre(self.tree.box(role, name, number)))

    def text(self, role, name=None, number=0):
        return lambda: self.tree.text_of(role, name, number)

    def nothing(self, what, kind, prepare, **extra):
        truth = "AT-SPI and X: texts, carets, values, states and windows stayed the same."
        return Clip(what, kind, False, truth, prepare, **extra)


class Editor(Program):
    """Mousepad or FeatherPad with a short file."""

    area, menu_role = "text", "menu"

    def at_end(self, *more):
        return self.steps(self.focus, self.push("ctrl+end"), *more)

    def at_start(self, *more):
        return self.steps(self.focus, self.push("ctrl+home"), *more)

    def focus(self):
        self.push("escape", "escape")()
        self.hand.click(self.spot())
        time.sleep(0.1)

    def spot(self):
        box = self.tree.box(self.area)
        return [box[0] + 40, box[1] + 12]

    def quiet(self):
        box = self.tree.box(self.area)
        return [box[2] - 60, box[3] - 40]

    def caret(self):
        return self.tree.text(self.tree.find(self.area))[1]

    def selection(self):
        return self.tree.text(self.tree.find(self.area))[2]

    def scroll_place(self):
        """Returns the index of the character in the upper corner, which measures the scroll position."""
        return self.tree.letter_at(self.area, 12, 8)

    def with_effect(self):
        pick, text = self.chooser.choice, self.text(self.area)
        typed = "AT-SPI: the text of the buffer grew by exactly the typed text."
        first, second = pick("kmtwz"), pick("bdfhg")
        word = pick(["garden", "seven", "north", "apple pie"])
        menu, other = self.chooser.sample(self.menus, 2)
        window = "X: the window of the menu was mapped."
        grown = lambda part: lambda before, after: len(old(after)) == len(old(before)) + len(part)
        return [
            Clip("type-one-character", "type_text", True, typed, self.at_end(), text=first, probe=text, check=grew_by(first), moves=CARET),
            Clip("type-one-character", "type_text", True, typed, self.at_start(), text=second, probe=text, check=grown(second), moves=CARET),
            Clip("type-word", "type_text", True, typed, self.at_end(), text=word, probe=text, check=grew_by(word), moves=CARET),
            Clip("delete-one-character", "key", True, "AT-SPI: the text of the buffer lost its last character.",
                 self.at_end(lambda: self.hand.type("xyz")), keys="backspace", probe=text, check=lambda b, a: old(a) == old(b)[:-1], moves=CARET),
            Clip("open-menu", "click", True, window, self.at_start(), self.box(self.menu_role, menu), check=one_more_window, moves=CARET),
            Clip("open-menu", "click", True, window, self.at_start(), self.box(self.menu_role, other), check=one_more_window, moves=CARET),
            Clip("close-menu-by-escape", "key", True, "X: the window of the menu was unmapped.", self.at_start(self.press(self.menu_role, menu)),
                 keys="escape", check=one_window_less, moves=CARET),
            Clip("open-context-menu", "right_click", True, window, self.at_start(), at=self.quiet, target=self.box(self.area), check=one_more_window, moves=CARET),
            Clip("select-all", "key", True, "AT-SPI: the selection covers the text.", self.at_start(), keys="ctrl+a",
                 probe=self.selection, check=lambda b, a: a["probe"] and a["probe"] != b["probe"], moves=CARET),
            Clip("click-places-caret", "click", True, "AT-SPI: the caret stands elsewhere in the text.", self.at_start(), self.box(self.area),
                 at=lambda: [self.tree.box(self.area)[0] + 60, self.tree.box(self.area)[1] + 85], probe=self.caret, check=lambda b, a: a["probe"] > 5, moves=CARET),
            Clip("key-moves-caret", "key", True, "AT-SPI: the caret stands elsewhere in the text.", self.at_start(), keys=pick(["down", "end", "right"]),
                 probe=self.caret, check=lambda b, a: a["probe"] > b["probe"], moves=CARET),
            Clip("scroll-text", "scroll", True, "AT-SPI: another letter of the text stands in the upper corner.", self.at_start(), at=self.quiet, notches=pick([1, 2, 3]),
                 probe=self.scroll_place, check=lambda b, a: a["probe"] > b["probe"], moves=CARET),
            Clip("select-word", "double_click", True, "AT-SPI: the selection covers a word.", self.at_start(), self.box(self.area),
                 at=self.spot, probe=self.selection, check=lambda b, a: bool(a["probe"]) and not b["probe"], moves=CARET),
            Clip("open-find", "key", True, "AT-SPI and X: a window or a field for the search is shown and has the focus.", self.at_start(), keys="ctrl+f",
                 check=lambda b, a: a["witness"] != b["witness"] or one_more_window(b, a), moves=CARET),
        ]

    def without_effect(self):
        keys = self.chooser.sample(["shift", "Pause", "F8", "Scroll_Lock"], 2)
        return [
            self.nothing("key-without-meaning", "key", self.at_start(), keys=keys[0], moves=CARET),
            self.nothing("key-without-meaning", "key", self.at_end(), keys=keys[1], moves=CARET),
            self.nothing("escape-with-nothing-open", "key", self.at_start(), keys="escape", moves=CARET),
            self.nothing("left-at-start", "key", self.at_start(), keys="left", moves=CARET),
            self.nothing("backspace-at-start", "key", self.at_start(), keys="backspace", moves=CARET),
            self.nothing("right-at-end", "key", self.at_end(), keys="right", moves=CARET),
            self.nothing("delete-at-end", "key", self.at_end(), keys="delete", moves=CARET),
            self.nothing("scroll-up-at-start", "scroll", self.at_start(), at=self.quiet, notches=-2, probe=self.scroll_place, moves=CARET),
            self.nothing("scroll-down-at-end", "scroll", self.at_end(), at=self.quiet, notches=3, probe=self.scroll_place, moves=CARET),
            self.nothing("move-over-text", "move", self.at_start(), at=self.quiet, target=self.box(self.area), moves=CARET),
            self.nothing("click-background-of-desktop", "click", self.at_start(), at=lambda: [985, 560], moves=CARET),
            self.nothing("key-home-at-start", "key", self.at_start(), keys="ctrl+home", moves=CARET),
        ]


class MousepadFilm(Editor):
    menus = ["File", "Edit", "Search", "View", "Document"]


class FeatherPadFilm(Editor):
    menu_role, menus = "menu item", ["File", "Edit", "Search", "Options"]

    # Qt does not report characters at points, so the scroll position cannot be verified.
    def with_effect(self):
        clips = [clip for clip in super().with_effect() if clip.kind != "scroll"]
        for clip in clips:
            # Qt stops the caret's blinking while a menu is open.
            clip.moves = () if clip.what == "close-menu-by-escape" else clip.moves
        return clips

    def without_effect(self):
        return [clip for clip in super().without_effect() if clip.kind != "scroll"]


class Calculator(Program):
    def cleared(self, text=""):
        return self.steps(self.push("escape", "escape"), self.push("Delete"), lambda: self.hand.type(text))

    def shown(self):
        return [text[0] for text in map(self.tree.text, self.tree.walk(self.tree.program())) if text]

    def with_effect(self):
        digits = self.chooser.sample("123456789", 4)
        truth = "AT-SPI: the text of the display changed."
        clips = [Clip("press-button-changes-text", "click", True, truth, self.cleared("1"), self.box("toggle button", digit), probe=self.shown,
                      check=lambda b, a: old(a) != old(b)) for digit in digits]
        clips += [
            Clip("type-one-character", "type_text", True, truth, self.cleared("4"), text="7", probe=self.shown, check=lambda b, a: old(a) != old(b)),
            Clip("type-word", "type_text", True, truth, self.cleared(), text="318", probe=self.shown, check=lambda b, a: old(a) != old(b)),
            Clip("key-computes", "key", True, truth, self.cleared("6+3"), keys="enter", probe=self.shown, check=lambda b, a: old(a) != old(b)),
            Clip("delete-one-character", "key", True, truth, self.cleared("45"), keys="backspace", probe=self.shown, check=lambda b, a: old(a) != old(b)),
            Clip("open-menu", "click", True, "X: the window of the menu was mapped.", self.cleared(), self.box("menu", "View"), check=one_more_window),
            Clip("open-menu", "click", True, "X: the window of the menu was mapped.", self.cleared(), self.box("menu", "Calculator"), check=one_more_window),
            Clip("close-menu-by-escape", "key", True, "X: the window of the menu was unmapped.", self.steps(self.press("menu", "Edit")), keys="escape", check=one_window_less),
        ]
        return clips

    def without_effect(self):
        here = self.cleared()
        return [
            self.nothing("key-without-meaning", "key", here, keys="shift"),
            self.nothing("key-without-meaning", "key", here, keys="Pause"),
            self.nothing("key-without-meaning", "key", here, keys="F8"),
            self.nothing("type-into-nothing", "type_text", here, text=self.chooser.choice(["k", "w"])),
            self.nothing("click-background-of-desktop", "click", here, at=lambda: [900, 300]),
            self.nothing("click-background-of-desktop", "click", here, at=lambda: [820, 520]),
            self.nothing("move-over-background", "move", here, at=lambda: [760, 420]),
            self.nothing("scroll-on-background", "scroll", here, at=lambda: [800, 200], notches=2),
            self.nothing("modifier-alone", "key", here, keys="ctrl"),
        ]


class Dialogs(Program):
    """Zenity; every clip starts a new dialog."""

    entry = ["--entry", "--title=Question", "--text=Your town"]
    scale = ["--scale", "--title=Volume", "--text=How loud", "--value=40"]
    choice = ["--list", "--radiolist", "--title=Colours", "--column=Pick", "--column=Colour", "--height=300",
              "TRUE", "Red", "FALSE", "Green", "FALSE", "Blue"]
    checks = ["--list", "--checklist", "--title=Fruit", "--column=Take", "--column=Fruit", "--height=300",
              "FALSE", "Apple", "TRUE", "Pear", "FALSE", "Plum"]
    ask = ["--question", "--title=Leave", "--text=Leave the room now?", "--width=360"]
    day = ["--calendar", "--title=Day", "--text=Choose a day", "--day=12", "--month=5", "--year=2021"]
    child = None

    def fresh(self, options, *more):
        def prepare():
            if self.child:
                self.stage.processes.stop(self.child)
                time.sleep(0.3)
            self.child = self.stage.processes.start(["zenity", *options])
            title = next(part[8:] for part in options if part.startswith("--title="))
            self.stage.wait_for_window(title)
            time.sleep(0.6)
            for step in more:
                step()
                time.sleep(0.15)
        return prepare

    def read(self, role):
        return lambda: str([self.tree.states(node) + [str(self.tree.text(node)), str(self.tree.value(node))]
                            for node in self.tree.walk(self.tree.program()) if node.get_role_name() == role])

    def with_effect(self):
        differs = lambda before, after: old(before) != old(after)
        letter = self.chooser.choice("kmtw")
        return [
            Clip("type-one-character", "type_text", True, "AT-SPI: the text of the field changed.", self.fresh(self.entry), text=letter, probe=self.read("text"), check=differs, moves=CARET),
            Clip("type-word", "type_text", True, "AT-SPI: the text of the field changed.", self.fresh(self.entry), text="Lisbon", probe=self.read("text"), check=differs, moves=CARET),
            Clip("tab-moves-focus", "key", True, "AT-SPI: another control has the state focused.", self.fresh(self.entry), keys="tab", probe=self.read("text"), check=differs, moves=CARET),
            Clip("press-button-closes-dialog", "click", True, "X: the window of the dialog is gone.", self.fresh(self.entry), self.box("push button", "OK"), check=one_window_less, moves=CARET),
            Clip("escape-closes-dialog", "key", True, "X: the window of the dialog is gone.", self.fresh(self.ask), keys="escape", check=one_window_less),
            Clip("press-button-closes-dialog", "click", True, "X: the window of the dialog is gone.", self.fresh(self.ask), self.box("push button", "No"), check=one_window_less),
            Clip("tab-moves-focus", "key", True, "AT-SPI: another control has the state focused.", self.fresh(self.ask), keys="tab", probe=self.read("push button"), check=differs),
            Clip("key-moves-slider", "key", True, "AT-SPI: the value of the slider changed.", self.fresh(self.scale), keys="right", probe=self.read("slider"), check=differs),
            Clip("select-row", "key", True, "AT-SPI: another cell has the state selected.", self.fresh(self.checks, self.push("down")), keys="down", probe=self.read("table cell"), check=differs),
            Clip("toggle-checkbox", "click", True, "AT-SPI: the cell got the state checked.", self.fresh(self.checks), self.box("table cell", None, 0), probe=self.read("table cell"), check=differs),
            Clip("choose-radio", "click", True, "AT-SPI: another cell has the state checked.", self.fresh(self.choice), self.box("table cell", None, 2), probe=self.read("table cell"), check=differs),
            Clip("delete-one-character", "key", True, "AT-SPI: the text of the field changed.", self.fresh(self.entry, lambda: self.hand.type("Rome")), keys="backspace", probe=self.read("text"), check=differs, moves=CARET),
        ]

    def without_effect(self):
        return [
            self.nothing("click-plain-label", "click", self.fresh(self.entry), target=self.box("label", "Your town"), moves=CARET),
            self.nothing("backspace-in-empty-field", "key", self.fresh(self.entry), keys="backspace", moves=CARET),
            self.nothing("key-without-meaning", "key", self.fresh(self.entry), keys="Pause", moves=CARET),
            self.nothing("left-at-start", "key", self.fresh(self.entry), keys="left", moves=CARET),
            self.nothing("modifier-alone", "key", self.fresh(self.entry), keys="ctrl", moves=CARET),
            self.nothing("click-plain-label", "click", self.fresh(self.scale), target=self.box("label", "How loud")),
            self.nothing("type-into-nothing", "type_text", self.fresh(self.ask), text="q"),
            self.nothing("move-over-plain-text", "move", self.fresh(self.ask), target=self.box("label", "Leave the room")),
            self.nothing("click-background-of-desktop", "click", self.fresh(self.ask), at=lambda: [900, 540]),
            self.nothing("key-without-meaning", "key", self.fresh(self.scale), keys="F8"),
            self.nothing("click-background-of-desktop", "click", self.fresh(self.checks), at=lambda: [80, 520]),
            self.nothing("scroll-where-nothing-scrolls", "scroll", self.fresh(self.ask), target=self.box("label", "Leave the room"), notches=2),
        ]


def program_film(kind, name, command, tree, title, package, clock=False, dark=False, theme="default", box=(30, 30, 760, 520), lines=60):
    def make(film_name, seed, folder, _, chooser):
        stage = Stage(folder, chooser, clock=clock, theme=theme)
        try:
            settings = stage.home / ".config" / "glib-2.0" / "settings"
            settings.mkdir(parents=True)
            (settings / "keyfile").write_text(MOUSEPAD_SETTINGS)
            (stage.home / "notes.txt").write_text(longer_text(lines))
            extra = {"GSETTINGS_BACKEND": "keyfile"}
            if dark:
                extra["GTK_THEME"] = "Adwaita:dark"
            stage.processes.environment.update(extra)
            park = (960, 80)
            if command:
                stage.processes.start(command)
                window = stage.wait_for_window(title)
                if box:
                    stage.windows.place(window, box)
                time.sleep(1.5)
            maker = kind(stage, tree, chooser)
            if kind is FeatherPadFilm:
                # Its title would show the path of a file, so it starts without one.
                stage.hand.click((300, 300))
                stage.hand.type(longer_text(34))
                time.sleep(8)
            witness = maker.tree.snapshot
            film = Film(film_name, seed, stage, witness, package_version(package), park, ["clock"] * clock)
            film.moving_boxes = lambda: [BAR_CLOCK] * clock
            return film, chosen(maker, chooser, 12), stage.close
        except Exception:
            stage.close()
            raise
    return make


class Terminal:
    """A shell in xterm; its witness is the shell's output."""

    def __init__(self, stage, chooser, log):
        self.stage, self.hand, self.chooser, self.log = stage, stage.hand, chooser, log

    def written(self):
        return self.log.read_bytes().decode("utf-8", "replace")[-400:]

    def length(self):
        return self.log.stat().st_size

    def witness(self):
        owner = self.stage.connection.get_selection_owner(1)
        return {"bytes": self.length(), "last": self.written(), "selection": getattr(owner, "id", owner)}

    def prompt(self, text="", clear=True):
        def prepare():
            self.hand.click(self.place)
            self.hand.keys("ctrl+e")
            self.hand.keys("ctrl+u")
            if clear:
                self.hand.keys("ctrl+l")
            self.hand.type(text)
            time.sleep(0.3)
        return prepare

    place = (300, 330)

    def nothing(self, what, kind, text="", **extra):
        extra.setdefault("moves", CARET)
        return Clip(what, kind, False, "The bytes the shell wrote, the selection and the windows stayed the same.", self.prompt(text), **extra)

    def effect(self, what, kind, text="", ending=None, **extra):
        extra.setdefault("moves", CARET)
        check = lambda before, after: after["witness"]["bytes"] > before["witness"]["bytes"] and (ending is None or ending in after["witness"]["last"][-80:])
        return Clip(what, kind, True, "The shell wrote new bytes to the terminal" + (f", among them {ending!r}." if ending else "."), self.prompt(text), check=check, **extra)

    def with_effect(self):
        pick = self.chooser.choice
        first, second, word = pick("kmt"), pick("wzb"), pick(["garden", "seven", "north"])
        return [
            self.typed("type-one-character", first),
            self.typed("type-one-character", second, "echo "),
            self.typed("type-word", word),
            self.typed("type-word", "ls -l", ""),
            self.effect("delete-one-character", "key", "abc", "\b", keys="backspace"),
            self.effect("delete-one-character", "key", "x", "\b", keys="backspace"),
            self.effect("enter-runs-command", "key", "echo hello", "hello", keys="enter"),
            self.effect("enter-on-empty-prompt", "key", "", "# ", keys="enter"),
            self.effect("late-effect-500", "key", "sleep 0.5; echo late", "late", keys="enter"),
            self.effect("key-moves-caret", "key", "some", "\b", keys="left"),
            self.effect("key-recalls-history", "key", "", None, keys="up"),
            self.effect("key-moves-caret", "key", "words", None, keys="home"),
            self.effect("clear-screen", "key", "some words", None, keys="ctrl+l"),
        ]

    def typed(self, what, text, before=""):
        clip = self.effect(what, "type_text", before, text)
        clip.text = text
        return clip

    def without_effect(self):
        return [
            self.nothing("backspace-at-empty-prompt", "key", keys="backspace"),
            self.nothing("left-at-empty-prompt", "key", keys="left"),
            self.nothing("right-at-end-of-line", "key", "word", keys="right"),
            self.nothing("delete-at-end-of-line", "key", "word", keys="delete"),
            self.nothing("modifier-alone", "key", keys="shift"),
            self.nothing("modifier-alone", "key", "abc", keys="ctrl"),
            self.nothing("click-in-terminal", "click", at=lambda: [self.place[0] + 30, self.place[1] + 10]),
            self.nothing("scroll-where-nothing-scrolls", "scroll", at=lambda: list(self.place), notches=-2),
            self.nothing("move-over-terminal", "move", at=lambda: [self.place[0] + 80, self.place[1] - 40]),
            self.nothing("erase-empty-line", "key", keys="ctrl+u"),
            self.nothing("click-background-of-desktop", "click", at=lambda: [self.empty[0], self.empty[1]]),
            self.nothing("key-home-at-start", "key", keys="home"),
        ]

    empty = (1000, 590)


def terminal_command(log, options):
    # Without a configuration the shell's prompt contains no user or host name.
    return ["xterm", "-bc", "-sl", "0", *options, "-e", "script", "-qfc", "bash --norc --noprofile", str(log)]


def terminal_film(options, manager=True, clock=False, theme="default", neighbour=None, place=(300, 330)):
    def make(film_name, seed, folder, _, chooser):
        stage = Stage(folder, chooser, manager=manager, clock=clock, theme=theme)
        try:
            rules = stage.home / "inputrc"
            rules.write_text("set bell-style none\nset enable-bracketed-paste off\n")
            stage.processes.environment.update({"PS1": "$ ", "INPUTRC": str(rules), "SHELL": "/bin/bash", "HISTFILE": ""})
            log = stage.folder / "typescript"
            if neighbour:
                stage.processes.start(["xterm", "-T", "Neighbour", "-geometry", "44x12+640+40", "-e", "bash", "-c", neighbour])
                stage.wait_for_window("Neighbour")
            stage.processes.start(terminal_command(log, ["-T", "Terminal", *options]))
            if manager:
                stage.wait_for_window("Terminal")
            for _ in range(100):
                if log.exists() and log.stat().st_size > 60:
                    break
                time.sleep(0.05)
            maker = Terminal(stage, chooser, log)
            maker.place = place
            stage.hand.move(place)
            time.sleep(0.5)
            if not manager:
                top = [entry for entry in stage.windows.shown()][-1]
                stage.connection.create_resource_object("window", top[0]).set_input_focus(1, 0)
                stage.connection.sync()
            maker.hand.click(place)
            maker.hand.type("echo start\n")
            time.sleep(0.5)
            movers = ["clock"] * (clock or bool(neighbour and "printf" in neighbour)) + ["process-list"] * bool(neighbour and "top" in neighbour)
            film = Film(film_name, seed, stage, maker.witness, package_version("xterm"), (place[0] + 60, place[1] + 60), movers)
            boxes = [BAR_CLOCK] * clock + ([list(stage.windows.box(stage.windows.find("Neighbour")))] if neighbour else [])
            film.moving_boxes = lambda: boxes
            return film, chosen(maker, chooser, 12), stage.close
        except Exception:
            stage.close()
            raise
    return make


class Desk:
    """Windows under a window manager; the witness is their X state."""

    def __init__(self, stage, chooser):
        self.stage, self.hand, self.chooser, self.windows = stage, stage.hand, chooser, stage.windows

    def title_bar(self, name):
        def place():
            box = self.windows.box(self.windows.find(name))
            return [box[0], box[1] - 18, box[2], box[1] - 2]
        return place

    def arranged(self, *more):
        def prepare():
            self.hand.keys("escape")
            for name, box in (("Letters", (60, 80, 460, 340)), ("Numbers", (380, 220, 780, 480)), ("Silent", (560, 60, 900, 180))):
                window = self.windows.find(name) or self.windows.clients()[2]
                self.windows.message(window, "_NET_WM_STATE", [0, self.windows._atom("_NET_WM_STATE_MAXIMIZED_VERT"), self.windows._atom("_NET_WM_STATE_MAXIMIZED_HORZ"), 2])
                self.windows.activate(window)
                time.sleep(0.15)
                self.windows.place(window, box)
            self.windows.activate(self.windows.find("Letters"))
            time.sleep(0.3)
            for step in more:
                step()
                time.sleep(0.2)
        return prepare

    def shifted(self, name, place, across, down):
        return lambda: [place()[0] + across, place()[1] + down]

    def corner(self, name):
        def place():
            box = self.windows.box(self.windows.find(name))
            return [box[2] + 2, box[3] + 2]
        return place

    def middle_of_bar(self, name):
        return lambda: centre(self.title_bar(name)())

    def geometry(self, name):
        return lambda: list(self.windows.box(self.windows.find(name)))

    def with_effect(self):
        key = self.chooser.choice("abc")
        bar, corner = self.middle_of_bar("Letters"), self.corner("Letters")
        differs = lambda before, after: old(before) != old(after)
        active = lambda before, after: before["windows"]["active"] != after["windows"]["active"]
        moved = "X: the window lies elsewhere."
        return [
            Clip("move-window", "drag", True, moved, self.arranged(), self.title_bar("Letters"), at=bar, to=self.shifted("Letters", bar, 90, 60), probe=self.geometry("Letters"), check=differs),
            Clip("move-window", "drag", True, moved, self.arranged(), self.title_bar("Letters"), at=bar, to=self.shifted("Letters", bar, 12, -20), probe=self.geometry("Letters"), check=differs),
            Clip("resize-window", "drag", True, "X: the window has another size.", self.arranged(), None, at=corner, to=self.shifted("Letters", corner, 70, 50), probe=self.geometry("Letters"), check=differs),
            Clip("raise-window", "click", True, "X: another window is the active one.", self.arranged(), self.title_bar("Numbers"), at=lambda: [self.title_bar("Numbers")()[2] - 180, self.title_bar("Numbers")()[1] + 8], check=active),
            Clip("raise-window", "click", True, "X: another window is the active one.", self.arranged(), None, at=lambda: [700, 420], check=active),
            Clip("open-root-menu", "right_click", True, "X: the window of the menu was mapped.", self.arranged(), at=lambda: [960, 400], check=one_more_window),
            Clip("close-root-menu-by-escape", "key", True, "X: the window of the menu was unmapped.", self.arranged(lambda: self.hand.click((960, 400), button=3)), keys="escape", check=one_window_less),
            Clip("open-task-bar-menu", "click", True, "X: the window of the menu was mapped.", self.arranged(), at=lambda: [24, 627], check=one_more_window),
            Clip("minimise-window", "key", True, "X: the state of the window is iconic.", self.arranged(), keys="alt+F9", check=lambda b, a: b["windows"]["hidden"] != a["windows"]["hidden"]),
            Clip("maximise-window", "key", True, "X: the window has another size.", self.arranged(), keys="alt+F10", probe=self.geometry("Letters"), check=differs),
            Clip("switch-window", "key", True, "X: another window is the active one.", self.arranged(), keys="alt+tab", check=active),
            Clip("title-only", "type_text", True, "X: the title of the window changed; the program writes nothing else by construction.",
                 self.arranged(lambda: self.windows.activate(self.windows.clients()[2])), text=key, check=lambda b, a: b["windows"]["titles"] != a["windows"]["titles"]),
        ]

    def nothing(self, what, kind, *more, **extra):
        return Clip(what, kind, False, "X: places, sizes, order, states and titles of all windows stayed the same; the programs in them write nothing, by construction.", self.arranged(*more), **extra)

    def without_effect(self):
        return [
            self.nothing("click-background-of-desktop", "click", at=lambda: [960, 420]),
            self.nothing("click-background-of-desktop", "click", at=lambda: [200, 520]),
            self.nothing("double-click-background", "double_click", at=lambda: [940, 300]),
            self.nothing("click-title-of-active-window", "click", target=self.title_bar("Letters"), at=self.middle_of_bar("Letters")),
            self.nothing("click-in-active-window", "click", target=self.geometry("Letters"), at=lambda: [200, 250]),
            self.nothing("key-without-meaning", "key", keys="shift"),
            self.nothing("key-without-meaning", "key", keys="Pause"),
            self.nothing("move-over-background", "move", at=lambda: [950, 500]),
            self.nothing("move-over-window", "move", at=lambda: [250, 200]),
            self.nothing("scroll-where-nothing-scrolls", "scroll", at=lambda: [200, 200], notches=2),
            self.nothing("type-into-nothing", "type_text", text="hello"),
            self.nothing("escape-with-nothing-open", "key", keys="escape"),
        ]


def desk_film(clock, theme):
    def make(film_name, seed, folder, _, chooser):
        stage = Stage(folder, chooser, clock=clock, theme=theme)
        try:
            # These terminals echo no input, so that only windows change.
            still = "stty -echo; while read -rsn1 key; do :; done"
            speaks = 'stty -echo; while read -rsn1 key; do number=$((number + 1)); printf "\\033]2;Silent $number\\007"; done'
            for title, script, colour in (("Letters", still, "ivory"), ("Numbers", still, "grey85"), ("Silent", speaks, "white")):
                stage.processes.start(["xterm", "-uc", "-T", title, "-bg", colour, "-cr", colour, "-geometry", "40x12", "-e", "bash", "-c", script])
                stage.wait_for_window(title)
            maker = Desk(stage, chooser)
            film = Film(film_name, seed, stage, lambda: None, package_version("icewm") + ", " + package_version("xterm"), (990, 560), ["clock"] * clock)
            film.moving_boxes = lambda: [BAR_CLOCK] * clock
            return film, chosen(maker, chooser, 12), stage.close
        except Exception:
            stage.close()
            raise
    return make


CLOCK = 'while :; do printf "\\r  %(%H:%M:%S)T "; sleep 1; done'
MAKERS = {
    "mousepad-light": program_film(MousepadFilm, "mousepad-light", ["mousepad", "--disable-server", "notes.txt"], "mousepad", "ousepad", "mousepad"),
    "mousepad-dark-clock": program_film(MousepadFilm, "mousepad-dark-clock", ["mousepad", "--disable-server", "notes.txt"], "mousepad", "ousepad", "mousepad",
                                        clock=True, dark=True, theme="metal2", box=(140, 60, 800, 500)),
    "featherpad": program_film(FeatherPadFilm, "featherpad", ["featherpad"], "FeatherPad", "Untitled", "featherpad", theme="win95", box=(60, 40, 820, 540)),
    "calculator": program_film(Calculator, "calculator", ["galculator"], "galculator", "alculator", "galculator", theme="motif", box=None),
    "dialogs": program_film(Dialogs, "dialogs", None, "zenity", "", "zenity"),
    "dialogs-dark-clock": program_film(Dialogs, "dialogs-dark-clock", None, "zenity", "", "zenity", clock=True, dark=True),
    "terminal": terminal_film(["-geometry", "84x26+40+40", "-fa", "monospace", "-fs", "11"]),
    "terminal-dark-clock": terminal_film(["-geometry", "70x22+20+30", "-bg", "#101418", "-fg", "#d0d0d0", "-cr", "#d0d0d0"], neighbour=CLOCK, place=(200, 250)),
    "terminal-beside-top": terminal_film(["-geometry", "70x16+30+300", "-bg", "ivory"], neighbour="top -d 1 -p $$", theme="win95", place=(200, 420)),
    "terminal-alone": terminal_film(["-geometry", "100x30+20+10", "-fa", "monospace", "-fs", "10"], manager=False),
    "desk": desk_film(False, "default"),
    "desk-clock": desk_film(True, "metal2"),
}

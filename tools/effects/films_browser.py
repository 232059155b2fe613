"""Recordings of Chromium: pages with forms, lists and panels, and a window with tabs.

Only defines the clips, their preparation and the expected DevTools state;
recording is done elsewhere.
"""

import time

from browser import Browser
from film import Clip, Film
from stage import BAR_CLOCK, Stage


def old(state):
    return state["probe"]


def grew_by(text):
    return lambda before, after: old(after) == old(before) + text


def became(value):
    return lambda before, after: old(before) != value and old(after) == value


def one_more_window(before, after):
    return len(after["windows"]["shown"]) > len(before["windows"]["shown"])


def one_window_less(before, after):
    return len(after["windows"]["shown"]) < len(before["windows"]["shown"])


class PageFilm:
    """A Chromium window with one page, reloaded for every clip."""

    def __init__(self, stage, browser, address, chooser, park):
        self.stage, self.browser, self.address = stage, browser, address
        self.chooser, self.park = chooser, park
        self.hand = stage.hand

    def fresh(self, *steps):
        def prepare():
            # Closes a menu left open by an earlier clip, which would consume the first click.
            self.hand.keys("escape")
            self.browser.open(self.address)
            time.sleep(0.15)
            for step in steps:
                step()
                time.sleep(0.15)
        return prepare

    def box(self, selector):
        return lambda: self.browser.box(selector)

    def ask(self, script):
        return lambda: self.browser.evaluate(script)

    def fill(self, selector, text):
        return lambda: self.browser.evaluate(f"document.querySelector('{selector}').value = '{text}'")

    def press(self, selector):
        def step():
            box = self.browser.box(selector)
            self.hand.click(((box[0] + box[2]) // 2, (box[1] + box[3]) // 2))
        return step

    def push(self, keys):
        return lambda: self.hand.keys(keys)

    def empty(self):
        x, y = self.park
        return lambda: [x + self.chooser.randrange(-40, 40), y + self.chooser.randrange(-25, 25)]

    def nothing(self, what, kind, **extra):
        """Returns a clip of an action without effect."""
        extra.setdefault("prepare", self.fresh())
        extra.setdefault("truth", "DevTools: every value, focus, selection, scroll place and text of the page stayed the same.")
        return Clip(what, kind, False, extra.pop("truth"), **extra)

    def same_for_all_pages(self):
        return [
            self.nothing("click-empty-page", "click", at=self.empty()),
            self.nothing("double-click-empty-page", "double_click", at=self.empty()),
            self.nothing("key-without-meaning", "key", keys=self.chooser.choice(["F9", "Pause", "shift", "F2", "Scroll_Lock"])),
            self.nothing("type-into-nothing", "type_text", text=self.chooser.choice(["q", "hello", "x7", "word"])),
            self.nothing("escape-with-nothing-open", "key", keys="escape"),
            self.nothing("move-over-empty-page", "move", at=self.empty()),
        ]


class FormFilm(PageFilm):
    def field(self, selector, text="", *more):
        return self.fresh(self.fill(selector, text), self.press(selector), self.push("end"), *more)

    def with_effect(self):
        pick, value = self.chooser.choice, "document.querySelector('{}').value".format
        letter = pick("kmtwzbr")
        word = pick(["garden", "seven", "Lisbon", "north", "apple pie"])
        place, other = self.chooser.sample(["#name", "#city", "#note"], 2)
        box, way = pick(["#gift", "#fast"]), pick(["#card", "#bill"])
        start = pick(["ab", "Anna", "12", "Monday"])
        typed = "DevTools: the value of the field grew by exactly the typed text."
        checked = "DevTools: the property checked of the control changed."
        caret = ("caret",)
        return [
            Clip("type-one-character", "type_text", True, typed, self.field(place, start), text=letter,
                 probe=self.ask(value(place)), check=grew_by(letter), moves=caret),
            Clip("type-one-character", "type_text", True, typed, self.field(other), text=letter,
                 probe=self.ask(value(other)), check=grew_by(letter), moves=caret),
            Clip("type-word", "type_text", True, typed, self.field(other, start + " "), text=word,
                 probe=self.ask(value(other)), check=grew_by(word), moves=caret),
            Clip("delete-one-character", "key", True, "DevTools: the value of the field lost its last character.",
                 self.field(place, start), keys="backspace", probe=self.ask(value(place)),
                 check=lambda before, after: old(after) == old(before)[:-1], moves=caret),
            Clip("toggle-checkbox", "click", True, checked, self.fresh(), self.box(box),
                 probe=self.ask(f"document.querySelector('{box}').checked"), check=became(True)),
            Clip("toggle-switch", "click", True, checked, self.fresh(), self.box("#letters"),
                 probe=self.ask("document.querySelector('#letters').checked"), check=became(True)),
            Clip("choose-radio", "click", True, checked, self.fresh(), self.box(way),
                 probe=self.ask(f"document.querySelector('{way}').checked"), check=became(True)),
            Clip("button-counts-one-up", "click", True, "DevTools: the text of the counter went from 1 to 2.", self.fresh(),
                 self.box("#count"), probe=self.ask("document.querySelector('#number').textContent"), check=became("2")),
            Clip("button-changes-far-status", "click", True, "DevTools: the text of the status bar changed.", self.fresh(),
                 self.box("#save"), probe=self.ask("document.querySelector('#status').textContent"), check=became("Saved the order")),
            Clip("open-drop-down", "click", True, "X: a new window was mapped; DevTools: the select is open.", self.fresh(),
                 self.box("#size"), probe=self.ask("document.querySelector('#size').matches(':open')"), check=one_more_window),
            Clip("close-drop-down-by-escape", "key", True, "X: the window of the list was unmapped.",
                 self.fresh(self.press("#size"), lambda: time.sleep(0.5)), keys="escape",
                 probe=self.ask("document.querySelector('#size').matches(':open')"), check=one_window_less),
            Clip("open-context-menu", "right_click", True, "X: the window of the menu was mapped.", self.fresh(),
                 self.box("#heading"), check=one_more_window),
            Clip("click-places-caret", "click", True, "DevTools: the field became the focused element.", self.fresh(),
                 self.box(place), probe=self.ask("document.activeElement.id"), check=became(place[1:])),
            Clip("tab-moves-focus", "key", True, "DevTools: another element became the focused element.",
                 self.fresh(self.press("#city")), keys="tab", probe=self.ask("document.activeElement.id"), check=became("note"), moves=caret),
            Clip("tab-moves-focus-to-button", "key", True, "DevTools: the button became the focused element.",
                 self.fresh(self.press("#amount")), keys="tab", probe=self.ask("document.activeElement.id"), check=became("count")),
            Clip("select-all-in-field", "key", True, "DevTools: the selection of the field covers its whole value.",
                 self.field(place, "some words"), keys="ctrl+a", moves=caret,
                 probe=self.ask("document.activeElement.selectionEnd - document.activeElement.selectionStart"), check=became(10)),
            Clip("drag-slider", "drag", True, "DevTools: the value of the slider changed.", self.fresh(), self.box("#amount"),
                 at=lambda: self.slider(0.3), to=lambda: self.slider(0.75), probe=self.ask(value("#amount")),
                 check=lambda before, after: old(before) == "30" and int(old(after)) > 50),
            Clip("key-chooses-next-entry", "key", True, "DevTools: the selected entry of the drop-down changed.",
                 self.fresh(self.press("#size"), self.push("escape")), keys="down",
                 probe=self.ask("document.querySelector('#size').value + document.querySelector('#size').matches(':open')")),
        ]

    def slider(self, share):
        left, top, right, bottom = self.browser.box("#amount")
        return [round(left + 8 + (right - left - 16) * share), (top + bottom) // 2]

    def without_effect(self):
        place = self.chooser.choice(["#name", "#city", "#note"])
        caret = ("caret",)
        return self.same_for_all_pages() + [
            self.nothing("click-disabled-button", "click", target=self.box("#send")),
            self.nothing("click-plain-label", "click", target=self.box("#plain-text"),
                         at=lambda: [self.browser.box("#plain-text")[0] + 60, self.browser.box("#plain-text")[1] + 8]),
            self.nothing("click-plain-label", "click", target=self.box("#name-label")),
            self.nothing("scroll-where-nothing-scrolls", "scroll", at=self.empty(), notches=self.chooser.choice([-3, 2, 3])),
            self.nothing("click-selected-radio", "click", prepare=self.fresh(self.press("#cash")), target=self.box("#cash")),
            self.nothing("right-click-where-no-menu-is", "right_click", target=self.box("#dead")),
            self.nothing("click-without-handler", "click", target=self.box("#dead")),
            self.nothing("move-over-plain-text", "move", target=self.box("#plain-text")),
            self.nothing("backspace-in-empty-field", "key", keys="backspace", prepare=self.field(place), moves=caret),
            self.nothing("left-at-start-of-field", "key", keys="left", prepare=self.field(place, "blue", self.push("home")), moves=caret),
            self.nothing("click-without-handler-beside-caret", "click", prepare=self.field(place, "green"), target=self.box("#dead"), moves=caret),
            self.nothing("escape-in-field", "key", keys="escape", prepare=self.field(place, "red"), moves=caret),
            self.nothing("scroll-where-nothing-scrolls", "scroll", at=self.empty(), notches=2, prepare=self.field("#name", "white"), moves=caret),
            self.nothing("modifier-alone-in-field", "key", keys="shift", prepare=self.field(place, "black"), moves=caret),
            self.nothing("move-over-plain-text", "move", prepare=self.field(place, "grey"), target=self.box("#plain-text"), moves=caret),
        ]


class ListFilm(PageFilm):
    def scrolled(self, script):
        return self.fresh(lambda: self.browser.evaluate(script))

    def with_effect(self):
        pick = self.chooser.choice
        scroll = "document.querySelector('#list').scrollTop"
        row, entry = pick(["#book-1", "#book-2", "#book-3"]), pick(["#entry-1", "#entry-3", "#entry-4"])
        moved = "DevTools: the scroll place changed."
        bottom = "window.scrollTo(0, 9999)"
        return [
            Clip("scroll-page-down", "scroll", True, moved, self.fresh(), at=self.empty(), notches=pick([1, 2, 3]), probe=self.ask("scrollY"), check=lambda b, a: a["probe"] > b["probe"]),
            Clip("scroll-page-up", "scroll", True, moved, self.scrolled(bottom), at=self.empty(), notches=-1, probe=self.ask("scrollY"), check=lambda b, a: a["probe"] < b["probe"]),
            Clip("scroll-list", "scroll", True, moved, self.fresh(), self.box("#list"), notches=pick([1, 2]), probe=self.ask(scroll), check=lambda b, a: a["probe"] > b["probe"]),
            Clip("key-page-down", "key", True, moved, self.fresh(), keys="page_down", probe=self.ask("scrollY"), check=lambda b, a: a["probe"] > b["probe"]),
            Clip("key-end", "key", True, moved, self.fresh(), keys="end", probe=self.ask("scrollY"), check=lambda b, a: a["probe"] > b["probe"]),
            Clip("select-table-row", "click", True, "DevTools: the row got the class of a chosen row.", self.fresh(), self.box(row),
                 probe=self.ask(f"document.querySelector('{row}').className"), check=became("chosen")),
            Clip("select-list-entry", "click", True, "DevTools: the entry got the class of a chosen entry.", self.fresh(), self.box(entry),
                 probe=self.ask(f"document.querySelector('{entry}').className"), check=became("chosen")),
            Clip("sort-table", "click", True, "DevTools: the rows of the table stand in another order.", self.fresh(), self.box("#head-title"),
                 probe=self.ask("document.querySelector('tbody').textContent")),
            Clip("follow-link-in-page", "click", True, "DevTools: the address got the fragment and the page scrolled.", self.fresh(), self.box("#jump"),
                 probe=self.ask("scrollY"), check=lambda b, a: a["probe"] > b["probe"]),
            Clip("open-details", "click", True, "DevTools: the property open of the details changed.", self.fresh(), self.box("#summary"),
                 probe=self.ask("document.querySelector('#details').open"), check=became(True)),
            Clip("select-word", "double_click", True, "DevTools: the selection holds a word.", self.fresh(), self.box("#passage"),
                 at=lambda: [self.browser.box("#passage")[0] + 25, self.browser.box("#passage")[1] + 9],
                 probe=self.ask("String(getSelection()).trim()"), check=lambda b, a: b["probe"] == "" and a["probe"] != ""),
            Clip("select-all-of-page", "key", True, "DevTools: the selection holds the text of the page.", self.fresh(), keys="ctrl+a",
                 probe=self.ask("String(getSelection()).length"), check=lambda b, a: a["probe"] > 50),
            Clip("select-text-by-drag", "drag", True, "DevTools: the selection holds text.", self.fresh(), self.box("#passage"),
                 at=lambda: [self.browser.box("#passage")[0] + 2, self.browser.box("#passage")[1] + 9],
                 to=lambda: [self.browser.box("#passage")[0] + 150, self.browser.box("#passage")[1] + 9],
                 probe=self.ask("String(getSelection())"), check=lambda b, a: b["probe"] == "" and len(a["probe"]) > 5),
            Clip("tab-puts-ring-on-link", "key", True, "DevTools: the link became the focused element with a visible ring.", self.fresh(self.push("tab")), keys="tab",
                 probe=self.ask("document.activeElement.id + document.activeElement.matches(':focus-visible')")),
        ]

    def without_effect(self):
        bottom = "window.scrollTo(0, 9999)"
        end = "document.querySelector('#list').scrollTop = 9999; window.scrollTo(0, 9999)"
        return self.same_for_all_pages() + [
            self.nothing("scroll-up-at-start", "scroll", at=self.empty(), notches=-2),
            self.nothing("scroll-down-at-end", "scroll", at=self.empty(), notches=3, prepare=self.scrolled(bottom)),
            self.nothing("scroll-list-up-at-start", "scroll", target=self.box("#list"), notches=-1),
            self.nothing("scroll-list-down-at-end", "scroll", target=self.box("#list"), notches=2, prepare=self.list_at_end()),
            self.nothing("key-end-at-end", "key", keys="end", prepare=self.scrolled(bottom)),
            self.nothing("key-home-at-start", "key", keys="home"),
            self.nothing("click-selected-row", "click", prepare=self.fresh(self.press("#book-2")), target=self.box("#book-2")),
            self.nothing("click-selected-entry", "click", prepare=self.fresh(self.press("#entry-2")), target=self.box("#entry-2")),
            self.nothing("click-table-head-without-handler", "click", target=self.box("#head-year")),
            self.nothing("move-over-table", "move", target=self.box("#book-3")),
        ]

    def list_at_end(self):
        # On a short page the wheel does not scroll the page once the list is at its end.
        return self.fresh(lambda: self.browser.evaluate(
            "document.querySelector('#article').remove(); document.querySelector('#list').scrollTop = 9999; window.scrollTo(0, 9999)"))


class PanelFilm(PageFilm):
    def text(self, selector):
        return self.ask(f"document.querySelector('{selector}').textContent")

    def with_effect(self):
        tab = self.chooser.choice(["#tab-two", "#tab-three"])
        late = "DevTools: the text changed, by construction {} ms after the click.".format
        clips = [
            Clip("open-menu", "click", True, "DevTools: the menu is no longer hidden.", self.fresh(), self.box("#file"),
                 probe=self.ask("document.querySelector('#menu').hidden"), check=became(False)),
            Clip("close-menu-by-escape", "key", True, "DevTools: the menu is hidden again.", self.fresh(self.press("#file")), keys="escape",
                 probe=self.ask("document.querySelector('#menu').hidden"), check=became(True)),
            Clip("choose-menu-entry", "click", True, "DevTools: the menu is hidden and the status bar has a new text.", self.fresh(self.press("#file")),
                 self.box("#menu-new"), probe=self.text("#status"), check=became("A new file")),
            Clip("hover-lights-entry", "move", True, "DevTools: the entry matches :hover and its style gives it a colour of its own.",
                 self.fresh(self.press("#file")), self.box("#menu-open"),
                 probe=self.ask("getComputedStyle(document.querySelector('#menu-open')).backgroundColor")),
            Clip("open-dialog", "click", True, "DevTools: the property open of the dialog changed.", self.fresh(), self.box("#about"),
                 probe=self.ask("document.querySelector('#dialog').open"), check=became(True)),
            Clip("close-dialog-by-escape", "key", True, "DevTools: the property open of the dialog changed.", self.fresh(self.press("#about")), keys="escape",
                 probe=self.ask("document.querySelector('#dialog').open"), check=became(False)),
            Clip("switch-tab-in-page", "click", True, "DevTools: the text of the leaf changed.", self.fresh(), self.box(tab), probe=self.text("#leaf")),
            Clip("small-change-of-border", "click", True, "DevTools: the computed colour of a border of one pixel changed.", self.fresh(), self.box("#border"),
                 probe=self.ask("getComputedStyle(document.querySelector('#border')).borderTopColor")),
            Clip("counter-one-to-two", "click", True, "DevTools: the text of the counter went from 1 to 2.", self.fresh(), self.box("#counter"),
                 probe=self.text("#counter-text"), check=became("2")),
            Clip("small-dot-changes-colour", "click", True, "DevTools: the style of a dot of six pixels changed.", self.fresh(), self.box("#dot"),
                 probe=self.ask("document.querySelector('#dot-sign').style.background")),
            Clip("effect-beside-what-moves", "click", True, "DevTools: the text right beside what moves changed.", self.fresh(), self.box("#beside"),
                 probe=self.text("#beside-text"), check=became("on")),
            Clip("title-only", "click", True, "DevTools and X: the title of the window changed, nothing in the page did.", self.fresh(), self.box("#rename"),
                 probe=self.ask("document.title"), check=became("Panel renamed")),
            Clip("far-status", "click", True, "DevTools: the text of the status bar changed.", self.fresh(), self.box("#report"),
                 probe=self.text("#status"), check=became("The report is written")),
        ]
        for wait in (200, 500, 800):
            clips.append(Clip(f"late-effect-{wait}", "click", True, late(wait), self.fresh(), self.box(f"#late{wait}"), probe=self.text("#late-text"), check=became("done")))
        return clips

    def without_effect(self):
        return self.same_for_all_pages() + [
            self.nothing("click-disabled-menu-entry", "click", prepare=self.fresh(self.press("#file")), target=self.box("#menu-print")),
            self.nothing("click-active-tab", "click", target=self.box("#tab-one")),
            self.nothing("click-beside-what-moves", "click", target=self.box("#beside-dead")),
            self.nothing("click-on-what-moves", "click", target=self.box("#mover"), at=lambda: self.inside("#mover")),
            self.nothing("click-without-handler", "click", target=self.box("#dead")),
            self.nothing("click-without-handler", "click", target=self.box("#view")),
            self.nothing("click-plain-label", "click", target=self.box("#plain-text")),
            self.nothing("scroll-where-nothing-scrolls", "scroll", at=self.empty(), notches=self.chooser.choice([-2, 1, 3])),
            self.nothing("move-over-plain-text", "move", target=self.box("#plain-text")),
            self.nothing("click-again-without-change", "click", prepare=self.fresh(self.press("#border")), target=self.box("#border")),
            self.nothing("click-again-without-change", "click", prepare=self.fresh(self.press("#report")), target=self.box("#report")),
        ]

    def inside(self, selector):
        box = self.browser.box(selector)
        return [(box[0] + box[2]) // 2, (box[1] + box[3]) // 2]


# name: page, theme, mover, letter size, window box, clock of the task bar, theme of the window manager
PAGES = {
    "form-light": ("form", "light", "", 15, (0, 0, 1024, 600), False, "default"),
    "form-dark-clock": ("form", "dark", "clock", 16, (60, 30, 900, 560), False, "metal2"),
    "form-spinner": ("form", "light", "spinner", 14, (0, 0, 1024, 600), False, "default"),
    "form-video": ("form", "light", "video", 15, (100, 10, 880, 580), False, "win95"),
    "list-light": ("list", "light", "", 14, (0, 0, 1024, 600), False, "default"),
    "list-dark-progress": ("list", "dark", "progress", 15, (40, 20, 940, 580), False, "motif"),
    "list-bar-clock": ("list", "light", "", 13, (0, 0, 1024, 600), True, "default"),
    "panel-light": ("panel", "light", "", 15, (20, 10, 800, 560), False, "win95"),
    "panel-dark-spinner": ("panel", "dark", "spinner", 16, (0, 0, 1024, 600), False, "default"),
    "panel-video": ("panel", "light", "video", 14, (150, 20, 820, 570), False, "metal2"),
    "panel-progress-clock": ("panel", "light", "progress", 15, (0, 0, 1024, 600), True, "default"),
}
KINDS = {"form": FormFilm, "list": ListFilm, "panel": PanelFilm}


def page_film(name, seed, folder, pages, chooser):
    page, theme, mover, size, box, clock, manager_theme = PAGES[name]
    stage = Stage(folder, chooser, clock=clock, theme=manager_theme)
    browser = None
    try:
        address = f"{page}.html?theme={theme}&mover={mover}&size={size}"
        browser = Browser(stage, pages, address, dark=theme == "dark", box=box)
        stage.wait_for_window({"form": "Order form", "list": "Library", "panel": "Control panel"}[page])
        middle = ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2)
        stage.hand.click((box[2] - 90, middle[1] + 40))
        browser.calibrate(middle)
        window = stage.windows.box(stage.windows.active())
        park = (window[2] - 90, window[3] - 110)
        maker = KINDS[page](stage, browser, address, chooser, park)
        movers = [mover] * bool(mover) + ["clock"] * clock
        film = Film(name, seed, stage, browser.state, browser.version(), park, movers)
        film.moving_boxes = lambda: ([browser.box("#mover")] if mover else []) + [BAR_CLOCK] * clock
        # On a page scrolled to its end, the animation at its start is not visible.
        film.hidden_movers = lambda: [mover] if mover and browser.evaluate(
            "document.querySelector('#mover').getBoundingClientRect().bottom <= 0") else []
        return film, chosen(maker, chooser, 11), lambda: finish(browser, stage)
    except Exception:
        finish(browser, stage)
        raise


def finish(browser, stage):
    if browser:
        browser.close()
    stage.close()


def fits(clip, maker):
    """Returns whether the page fits the clip: clips about background motion need a page with an animation."""
    return "what-moves" not in clip.what or "mover=&" not in getattr(maker, "address", "")


def chosen(maker, chooser, each):
    """Selects equal numbers of clips with and without effect, in random order."""
    effects, others = ([clip for clip in clips if fits(clip, maker)] for clips in (maker.with_effect(), maker.without_effect()))
    clips = chooser.sample(effects, min(each, len(effects))) + chooser.sample(others, min(each, len(others)))
    chooser.shuffle(clips)
    return clips

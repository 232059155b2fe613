"""Recordings of a whole Chromium window with tabs, address bar and menus.

Only defines the clips; DevTools and the window manager are the witnesses.
"""

import time

from browser import Browser
from film import Clip, Film
from films_browser import PageFilm, chosen, finish, old, one_more_window, one_window_less
from stage import BAR_CLOCK, Stage

NAMES = {"tabs": ("light", False, "default"), "tabs-dark-clock": ("dark", True, "default")}


class TabsFilm(PageFilm):
    def open_pages(self):
        return sorted(entry["url"].split("?")[0] for entry in self.browser.targets() if "pages.test" in entry["url"] or "newtab" in entry["url"] or "new-tab" in entry["url"])

    def reset(self, *steps):
        def prepare():
            self.hand.keys("escape")
            self.hand.keys("ctrl+1")
            self.browser.open(self.address)
            self.hand.click(self.park)
            for step in steps:
                step()
                time.sleep(0.3)
        return prepare

    def seen(self):
        return {"page": self.browser.state(), "seen": self.browser.evaluate("[document.visibilityState, document.hasFocus(), devicePixelRatio, history.length]"),
                "open": self.open_pages()}

    def with_effect(self):
        title = lambda: self.stage.windows.title()
        differs = lambda before, after: old(before) != old(after)
        focus = self.ask("document.hasFocus()")
        switched = "X: the title of the window is that of the other page; DevTools: this page is hidden."
        return [
            Clip("switch-tab", "key", True, switched, self.reset(), keys="ctrl+2", probe=title, check=differs),
            Clip("switch-tab", "key", True, switched, self.reset(), keys="ctrl+tab", probe=title, check=differs),
            Clip("follow-link", "click", True, "X and DevTools: another page is open in the tab.", self.reset(), self.box("#other"), probe=title, check=differs),
            Clip("follow-link-in-page", "click", True, "DevTools: the page scrolled.", self.reset(), self.box("#jump"), probe=self.ask("scrollY"), check=differs),
            Clip("focus-address-bar", "key", True, "DevTools: the page lost the focus.", self.reset(), keys="ctrl+l", probe=focus, check=differs),
            Clip("open-find", "key", True, "DevTools: the page lost the focus to the find bar.", self.reset(), keys="ctrl+f", probe=focus, check=differs),
            Clip("open-browser-menu", "key", True, "X: the window of the menu was mapped.", self.reset(), keys="alt+f", check=one_more_window),
            Clip("close-menu-by-escape", "key", True, "X: the window of the menu was unmapped.", self.reset(lambda: self.hand.keys("alt+f")), keys="escape", check=one_window_less),
            Clip("open-context-menu", "right_click", True, "X: the window of the menu was mapped.", self.reset(), at=self.empty(), check=one_more_window),
            Clip("select-list-entry", "click", True, "DevTools: the entry got the class of a chosen entry.", self.reset(), self.box("#entry-2"),
                 probe=self.ask("document.querySelector('#entry-2').className"), check=differs),
            Clip("scroll-page-down", "scroll", True, "DevTools: the scroll place changed.", self.reset(), at=self.empty(), notches=1, probe=self.ask("scrollY"), check=differs),
        ]

    def without_effect(self):
        clips = self.same_for_all_pages() + [
            self.nothing("switch-to-current-tab", "key", keys="ctrl+1"),
            self.nothing("scroll-up-at-start", "scroll", at=self.empty(), notches=-2),
            self.nothing("move-over-table", "move", target=self.box("#book-1")),
            self.nothing("click-table-head-without-handler", "click", target=self.box("#head-year")),
            self.nothing("modifier-alone", "key", keys="ctrl"),
            self.nothing("key-home-at-start", "key", keys="home"),
        ]
        for clip in clips:
            clip.prepare = self.reset()
        return clips


def film(name, seed, folder, pages, chooser):
    theme, clock, manager_theme = NAMES[name]
    stage = Stage(folder, chooser, clock=clock, theme=manager_theme)
    browser = None
    try:
        address = f"list.html?theme={theme}&size=14"
        browser = Browser(stage, pages, address, dark=theme == "dark", application_window=False, box=(0, 0, 1024, 600),
                          more=[f"http://pages.test/panel.html?theme={theme}"])
        time.sleep(2)
        stage.hand.keys("ctrl+1")
        time.sleep(0.5)
        browser.attach("list.html")
        stage.hand.click((800, 400))
        browser.calibrate((700, 400))
        park = (880, 420)
        maker = TabsFilm(stage, browser, address, chooser, park)
        result = Film(name, seed, stage, maker.seen, browser.version(), park, ["clock"] * clock)
        result.moving_boxes = lambda: [BAR_CLOCK] * clock
        return result, chosen(maker, chooser, 12), lambda: finish(browser, stage)
    except Exception:
        finish(browser, stage)
        raise

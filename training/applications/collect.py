"""Captures screenshots of real applications with boxes of their visible elements from AT-SPI.

    /usr/bin/python3 collect.py --out FOLDER [--seed 1] [--rounds 4] [--only mousepad] [--list-packages | --list]

Every application is started with its own X server, message bus and window manager, sometimes beside one or two others
of its split. Its menus, tabs and choices are opened with the pointer. Output is DIR/SPLIT/NAME.webp and a line of
DIR/SPLIT/labels.jsonl in the format of the drawn screens. Existing output is kept, so a run can be interrupted.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from catalogue import APPLICATIONS, FONTS, ICONS, PACKAGES, STYLES, THEMES, Application

SIZES = ((800, 600), (1024, 768), (1280, 800), (1366, 768), (1920, 1080), (2560, 1440))
EVALUATED = ((1280, 800), (1920, 1080), (2560, 1440))
MAX_SCREENSHOTS = 7
MIN_BOXES = 3
# Menu entries that would end the application or hide its window.
ENDS = ("quit", "exit", "close", "log out", "full")
SECONDS_A_SESSION = 150


def surroundings(application: Application, seed: str) -> dict[str, object]:
    chance, split = random.Random(seed), application.split
    size = chance.choice(SIZES if split == "train" else EVALUATED)
    return {
        "size": size,
        "scale": 2 if size[0] >= 1920 and chance.random() < 0.4 else 1,
        "theme": chance.choice(THEMES[split]),
        "style": chance.choice(STYLES[split]),
        "icons": chance.choice(ICONS[split]),
        "font": chance.choice(FONTS[split]),
    }


def brightness(look: str) -> str:
    """Brightness of a GTK theme or Qt style: GTK themes do not affect Qt."""
    if look.startswith("HighContrast"):
        return "contrast"
    return "dark" if any(word in look.lower() for word in ("dark", "black")) else "light"


class Visit:
    """Session of one application in one surrounding."""

    def __init__(self, application: Application, seed: str, folder: Path) -> None:
        from session import Session

        self.application, self.seed, self.folder = application, seed, folder
        self.around = surroundings(application, seed)
        self.chance, self.taken = random.Random(f"{seed}/visit"), 0
        others = [one for one in APPLICATIONS if one.split == application.split and one != application]
        self.companions = self.chance.sample(others, min(len(others), self.chance.choice((0, 0, 1, 2))))
        alone = not self.companions
        self.session = Session(seed=seed, maximised=alone and self.chance.random() < 0.7, **self.around)

    def run(self) -> int:
        try:
            for companion in self.companions:
                self.session.application(companion.command)
                self._wait_for_a_window()
            self.session.application(self.application.command)
            self._wait_for_a_window(1 + len(self.companions))
            first = self.take("start") or self.take("start")
            if first:
                self._open_menus(first)
                self._open_choices(first)
        finally:
            self.session.close()
        return self.taken

    def _wait_for_a_window(self, min_windows: int = 1) -> None:
        end = time.monotonic() + 20
        while (
            time.monotonic() < end
            and sum(box[2] - box[0] > 150 for _, box, _ in self.session.screen.windows()) < min_windows
        ):
            time.sleep(0.2)
        self.session.wait_for_idle(12)

    def take(self, what: str) -> list:
        """Captures a screenshot with its boxes, if both are consistent and certain."""
        from session import same
        from tree import Reader, UnlabelledScreen

        before, windows = self.session.wait_for_idle(), self.session.screen.windows()
        try:
            found = Reader(before, windows, int(self.around["scale"])).read()
        except UnlabelledScreen as error:
            print(f"{self.seed} {what}: discarded, {error}", file=sys.stderr)
            return []
        changed = windows != self.session.screen.windows() or not same(self.session.screenshot(), before)
        if len(found) < MIN_BOXES or changed:
            print(
                f"{self.seed} {what}: discarded, {len(found)} boxes on a screenshot that may have changed", file=sys.stderr
            )
            return []
        name = f"{self.seed.replace('/', '-')}-{self.taken}.webp"
        before.save(self.folder / name, quality=92)
        boxes = [
            {
                "class": one.kind,
                "box": list(one.box),
                "visible": round(min(1, one.share), 2),
                "interactable": one.interactable,
                "state": one.state,
            }
            for one in found
        ]
        look = str(self.around["theme"] if self.application.toolkit == "gtk" else self.around["style"])
        line = {
            "image": name,
            "size": list(before.size),
            "seed": self.seed,
            "split": self.application.split,
            "kit": f"application {self.application.name}",
            "toolkit": self.application.toolkit,
            "what": what,
            "beside": [one.name for one in self.companions],
            "look": look,
            "icons": self.around["icons"],
            "font": self.around["font"],
            "language": "en",
            "theme": brightness(look),
            "scale": self.around["scale"],
            "boxes": boxes,
        }
        with (self.folder / "labels.jsonl").open("a") as labels:
            labels.write(json.dumps(line) + "\n")
        self.taken += 1
        return found

    def _over(self) -> bool:
        return self.taken >= MAX_SCREENSHOTS or not self.session.screen.windows()

    def _click(self, box: tuple[int, int, int, int]) -> None:
        x, y = (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
        subprocess.run(["xdotool", "mousemove", str(x), str(y), "click", "1"], check=False)

    def _escape(self) -> None:
        subprocess.run(["xdotool", "key", "Escape"], check=False)

    def _open_menus(self, first: list) -> None:
        menus = [one for one in first if one.kind == "menu_item"]
        for menu in self.chance.sample(menus, min(2, len(menus))):
            if self._over():
                return
            self._click(menu.box)
            entries = [one for one in self.take("menu") if one.popup and not one.name.lower().startswith(ENDS)]
            if entries and self.chance.random() < 0.7:
                self._click(self.chance.choice(entries).box)
                self.take("after menu")
            self._escape()
            self._escape()

    def _open_choices(self, first: list) -> None:
        choices = [one for one in first if one.kind in ("drop_down", "tab", "list_item", "checkbox", "icon")]
        for one in self.chance.sample(choices, min(3, len(choices))):
            if self._over():
                return
            self._click(one.box)
            self.take(one.kind)
            if one.kind == "drop_down":
                self._escape()


def visit_apart(application: Application, seed: str, folder: Path) -> None:
    """Runs a session in its own process, because AT-SPI and the toolkits keep one bus for the lifetime of a process."""
    command = [sys.executable, __file__, "--out", str(folder.parent), "--visit", application.name, "--seed", seed]
    try:
        subprocess.run(command, timeout=SECONDS_A_SESSION, check=False)
    except subprocess.TimeoutExpired:
        print(f"{seed}: timed out", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--rounds", type=int, default=4, help="number of surroundings per application")
    parser.add_argument("--only", action="append", help="only this application; may be repeated")
    parser.add_argument("--list-packages", action="store_true", help="print the required Debian packages and exit")
    parser.add_argument(
        "--list", action="store_true", help="print applications and surroundings by split as JSON and exit"
    )
    parser.add_argument("--visit", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.list_packages:
        print(" ".join(PACKAGES))
        return
    if arguments.list:
        around = {"GTK themes": THEMES, "Qt styles": STYLES, "icons": ICONS, "fonts": FONTS}
        print(json.dumps({"applications": [asdict(one) for one in APPLICATIONS], "surroundings": around}))
        return
    if arguments.out is None:
        parser.error("set the output folder: --out FOLDER")
    by_name = {one.name: one for one in APPLICATIONS}
    if arguments.visit:
        application = by_name[arguments.visit]
        taken = Visit(application, arguments.seed, arguments.out / application.split).run()
        print(f"{arguments.seed}: {taken} screenshots")
        return
    for turn in range(arguments.rounds):
        for application in APPLICATIONS:
            if arguments.only and application.name not in arguments.only:
                continue
            folder = arguments.out / application.split
            folder.mkdir(parents=True, exist_ok=True)
            seed = f"{arguments.seed}/{application.name}/{turn}"
            labels = folder / "labels.jsonl"
            if labels.exists() and f'"seed": "{seed}"' in labels.read_text():
                continue
            visit_apart(application, seed, folder)


if __name__ == "__main__":
    main()

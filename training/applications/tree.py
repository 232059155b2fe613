"""Converts the AT-SPI trees of the applications on a screen to boxes of our classes.

AT-SPI is not reliable ground truth. It includes the label of a check box in its box, reports covered and scrolled-out
elements, has cells instead of rows, and knows a button's name but not whether it is drawn as text or as an icon. An
uncertain element makes the whole screen unusable: a wrong box is worse than one screen less.
"""

from dataclasses import dataclass, field

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402
from PIL import Image, ImageChops  # noqa: E402
from widgets.words import SHOWS_A_PICTOGRAM, SHOWS_WORDS  # noqa: E402

Box = tuple[int, int, int, int]
MIN_VISIBLE = 0.35
SMALLEST = 4
# IoU above which two boxes are the same element.
ONE_THING = 0.7
FULL_SCREEN_SHARE = 0.85
# Minimum brightness difference between the frame of a check mark and its surroundings.
FAINTEST = 14
MAX_NODES = 6000
# Maximum length of a text drawn on a square button: "sin" is drawn as text, "Save" as an icon.
MAX_KEY_CHARS = 3
# Descriptions set by the windows of widgets/: nothing else reveals whether a button shows text or an icon.
CLASS_BY_DESCRIPTION = {SHOWS_WORDS: "button", SHOWS_A_PICTOGRAM: "icon"}
# Tolerance for the fit of a window to a frame, as a fraction of its area.
AS_GOOD = 0.02

PLAIN = {
    "text": "text_field",
    "entry": "text_field",
    "password text": "text_field",
    "combo box": "drop_down",
    "slider": "slider",
    "spin button": "spin_box",
    "page tab": "tab",
    "link": "link",
    "menu": "menu_item",
    "menu item": "menu_item",
    "check menu item": "menu_item",
    "radio menu item": "menu_item",
    "list item": "list_item",
    "icon": "list_item",
    "tree item": "list_item",
    "scroll bar": "scroll_bar",
    "table column header": "control",
    "dialog": "dialog",
    "alert": "dialog",
    "file chooser": "dialog",
    "color chooser": "dialog",
    "toggle switch": "switch",
}
BUTTONS = {"push button", "toggle button", "push button menu"}
MARKS = {"check box": "checkbox", "radio button": "radio"}
MENUS = {"menu item", "check menu item", "radio menu item"}
WINDOW_MARKS = {"close", "minimize", "maximize", "restore", "minimise", "maximise"}
# Elements whose children are not separate elements.
CLOSED = {"spin button", "slider", "scroll bar", "check box", "radio button", "push button", "entry"}
LISTS = {"table", "tree table", "tree", "list"}
CLASSES_WITH_CHECKS = {"checkbox", "radio", "switch"}


class UnlabelledScreen(Exception):
    """The screen cannot be labelled with certainty."""


@dataclass
class Found:
    kind: str
    box: Box
    state: dict[str, bool]
    popup: bool = False
    name: str = ""
    share: float = 1.0
    interactable: bool = True


@dataclass
class Reader:
    screenshot: Image.Image
    windows: list[tuple[int, Box, bool]]
    scale: int
    # Scale of AT-SPI coordinates: some toolkits report them before scaling, some after.
    factor: int = 1
    found: list[Found] = field(default_factory=list)
    nodes: int = 0
    named: set[int] = field(default_factory=set)
    """Windows with a known frame."""
    lists: list[tuple[int | None, Box]] = field(default_factory=list)
    """Boxes of item views and their windows."""

    def read(self) -> list[Found]:
        desktop = Atspi.get_desktop(0)
        screen = (0, 0, *self.screenshot.size)
        for index in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(index)
            if application is not None:
                self.factor = self._factor_of(application)
                self._visit(application, screen, None, 0)
        self._need_popups()
        self._need_windows()
        return once_each(self.found)

    def _factor_of(self, application: Atspi.Accessible) -> int:
        """Returns the scale at which a frame of the application matches a window."""
        places = [place for _, place, _ in self.windows]
        for factor in (1, self.scale):
            for index in range(application.get_child_count()):
                frame = application.get_child_at_index(index)
                box = _extents(frame, factor) if frame is not None else None
                if box and any(_area(_cut(place, box)) > 0.95 * max(_area(place), _area(box)) for place in places):
                    return factor
        return 1

    def _need_popups(self) -> None:
        """Rejects the screen if an open menu is not reported. Smaller popups are tool tips."""
        for _, place, over in self.windows:
            size = min(place[2] - place[0], place[3] - place[1])
            inside = any(one.popup and _area(_cut(one.box, place)) for one in self.found)
            if over and size > 60 and not inside:
                raise UnlabelledScreen("an open popup is unknown to AT-SPI")

    def _need_windows(self) -> None:
        """Rejects the screen if a visible window has no known frame, because its content would have no boxes."""
        for number, place, over in self.windows:
            if not over and number not in self.named and self._share(place, number, False) > 0:
                raise UnlabelledScreen("a visible window is unknown to AT-SPI")

    def _need_one_list(self, seen: Box, window: int | None) -> None:
        """Rejects the screen if two lists share a place: Qt reports a list on a hidden tab page as visible."""
        if any(window == other and _are_one(seen, place) for other, place in self.lists):
            raise UnlabelledScreen("two lists are reported in the same place")
        self.lists.append((window, seen))

    def _visit(self, node: Atspi.Accessible, clip: Box, window: int | None, depth: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > 50:
            raise UnlabelledScreen("the tree is too large")
        try:
            role, states = node.get_role_name(), node.get_state_set()
            box = _extents(node, self.factor)
        except GLib.Error:
            return
        showing = states.contains(Atspi.StateType.SHOWING) and states.contains(Atspi.StateType.VISIBLE)
        if depth > 1 and not showing and role not in ("menu", "menu bar"):
            return
        if window is None and box and role in ("frame", "dialog", "window", "alert", "file chooser", "color chooser"):
            window = self._window_of(box, states.contains(Atspi.StateType.ACTIVE))
            if window is None and showing and depth == 1 and role != "window":
                raise UnlabelledScreen(f"a {role} is in no window")
            if window is not None:
                self.named.add(window)
        inner = clip
        if box and showing and depth > 0:
            seen = _cut(box, clip)
            self._take(node, role, states, box, seen, window)
            inner = self._clip_of_children(role, clip, seen)
            if _area(inner) == 0:
                return
        if role in CLOSED or (role == "combo box" and not states.contains(Atspi.StateType.EXPANDED)):
            return
        if role in LISTS and _area(inner):
            self._need_one_list(inner, window)
        if role in ("table", "tree table", "tree"):
            self._rows(node, inner, window)
            if role != "tree":
                return
        for index in range(min(node.get_child_count(), 400)):
            try:
                child = node.get_child_at_index(index)
            except GLib.Error:
                continue
            if child is not None:
                self._visit(child, inner, window, depth + 1)

    def _clip_of_children(self, role: str, clip: Box, seen: Box) -> Box:
        if role in ("menu", "menu item", "combo box", "window", "menu bar", "frame", "dialog"):
            return (0, 0, *self.screenshot.size)
        # GTK places the content of a page below its tab.
        return clip if role == "page tab" else seen

    def _window_of(self, box: Box, active: bool) -> int | None:
        """Returns the window that matches this frame best; of two in one place the upper one if it is active."""
        fits = {
            number: _area(_cut(place, box)) / max(_area(place), _area(box)) for number, place, over in self.windows if not over
        }
        best = max(fits.values(), default=0)
        fitting = [number for number, fit in fits.items() if fit > 0.6 and fit > best - AS_GOOD]
        if len(fitting) > 2:
            raise UnlabelledScreen("several windows are in the same place")
        return None if not fitting else fitting[-1] if active else fitting[0]

    def _share(self, box: Box, window: int | None, popup: bool) -> float:
        return self._seen(box, window, popup)[0]

    def _seen(self, box: Box, window: int | None, popup: bool) -> tuple[float, Box]:
        """Returns the visible fraction of the box, among popups or in its window, and the bounding box of the visible
        part."""
        if not _area(box):
            return 0.0, box
        columns = self._edges(box, 0)
        rows = self._edges(box, 1)
        shown = [
            (left, top, right, bottom)
            for left, right in zip(columns, columns[1:])
            for top, bottom in zip(rows, rows[1:])
            if self._is_on_top((left + right) / 2, (top + bottom) / 2, window, popup)
        ]
        if not shown:
            return 0.0, box
        around = tuple(min(one[side] for one in shown) if side < 2 else max(one[side] for one in shown) for side in range(4))
        return sum(_area(one) for one in shown) / _area(box), around

    def _edges(self, box: Box, axis: int) -> list[int]:
        """Borders of windows within the box along an axis: between two of them the topmost window is constant."""
        edges = {place[side] for _, place, _ in self.windows for side in (axis, axis + 2)}
        return sorted({box[axis], box[axis + 2]} | {edge for edge in edges if box[axis] < edge < box[axis + 2]})

    def _is_on_top(self, x: float, y: float, window: int | None, popup: bool) -> bool:
        over_it = ((number, over) for number, place, over in reversed(self.windows) if _holds(place, x, y))
        number, over = next(over_it, (None, False))
        return over if popup else number == window

    def _take(self, node, role: str, states, box: Box, seen: Box, window: int | None) -> None:
        kind = self._kind(node, role, states, box)
        if kind is None:
            return
        popup = (role in MENUS or role == "menu") and _role_of_parent(node) != "menu bar"
        if kind in MARKS.values() and _area(seen):
            # Its label may be covered while the mark is visible.
            head = (seen[0], seen[1], min(seen[2], seen[0] + seen[3] - seen[1]), seen[3])
            if self._share(head, window, popup) < MIN_VISIBLE:
                return
            box = seen = self._mark(seen)
            if seen is None:
                raise UnlabelledScreen(f"no mark found in a {role}")
        if not _area(seen):
            return
        inside = _area(seen) / _area(box)
        share, seen = self._seen(seen, window, popup)
        visible = inside * share
        if visible < MIN_VISIBLE or min(seen[2] - seen[0], seen[3] - seen[1]) < SMALLEST:
            return
        self.found.append(
            Found(
                kind,
                seen,
                _states(kind, role, states),
                popup,
                node.get_name() or "",
                visible,
                kind not in ("dialog", "image"),
            )
        )

    def _kind(self, node, role: str, states, box: Box) -> str | None:
        width, height = box[2] - box[0], box[3] - box[1]
        if width < SMALLEST or height < SMALLEST:
            return None
        if role in MARKS:
            # Qt reports toggle buttons of a tool bar as check boxes.
            return "icon" if width <= 1.4 * height and height >= 20 else MARKS[role]
        if role in BUTTONS:
            return self._button(node, role, box)
        if role == "image":
            return "image" if min(width, height) >= 64 else None
        if role in ("text", "entry", "password text") and height < 12:
            return None
        if PLAIN.get(role) == "dialog":
            # GTK reports a message inside a window as an alert; a full-screen window has no visible frame.
            fills = width * height > FULL_SCREEN_SHARE * self.screenshot.width * self.screenshot.height
            return None if fills or _role_of_parent(node) != "application" else "dialog"
        if role == "icon" and _role_of_parent(node) not in ("layered pane", "icon view"):
            return None
        if role == "label" and _links(node):
            raise UnlabelledScreen("links in a text have no boxes")
        if role == "calendar":
            raise UnlabelledScreen("a calendar does not name its days")
        return PLAIN.get(role)

    def _button(self, node, role: str, box: Box) -> str:
        width, height = box[2] - box[0], box[3] - box[1]
        name = node.get_name() or ""
        if name.lower() in WINDOW_MARKS and box[1] < 60 and height < 60:
            return "window_control"
        described = CLASS_BY_DESCRIPTION.get(node.get_description() or "")
        if described:
            return described
        image = _image_width(node)
        if role == "toggle button" and not name and not image and 1.6 <= width / height <= 2.7 and height <= 60:
            return "switch"
        if _has_words(node):
            return "button"
        square = width <= 1.7 * height
        # GTK names a button with only an arrow "Menu". Longer names belong to icons: a text button is wider than high,
        # and calculator keys have short names.
        words_fit = len(name) * 5 <= width and len(name) <= MAX_KEY_CHARS
        if square and (image or not words_fit):
            return "icon"
        return "button"

    def _mark(self, box: Box, reach: int = 0) -> Box | None:
        """Finds the square or circle of a check box: the first shape drawn there."""
        reach = min(box[2], box[0] + (reach or box[3] - box[1] + 14))
        part = self.screenshot.crop((box[0], box[1], reach, box[3])).convert("RGB")
        ground = part.getpixel((0, 0))
        difference = ImageChops.difference(part, Image.new("RGB", part.size, ground)).convert("L")
        drawn = difference.point(lambda value: 255 if value > FAINTEST else 0)
        columns = [drawn.crop((x, 0, x + 1, part.height)).getbbox() is not None for x in range(part.width)]
        if True not in columns:
            return None
        start = columns.index(True)
        end = next((x for x in range(start, part.width) if not columns[x]), part.width)
        rows = drawn.crop((start, 0, end, part.height)).getbbox()
        mark = (box[0] + start, box[1] + rows[1], box[0] + end, box[1] + rows[3])
        width, tall = mark[2] - mark[0], mark[3] - mark[1]
        return mark if 9 <= width <= 60 and 0.8 <= width / max(1, tall) <= 1.25 else None

    def _rows(self, table, clip: Box, window: int | None) -> None:
        """Derives rows from their cells: cells with the same top form a row."""
        rows: dict[int, list[Box]] = {}
        marks = []
        chosen: dict[int, bool] = {}
        headers = []
        for index in range(min(table.get_child_count(), 900)):
            try:
                cell = table.get_child_at_index(index)
                role, box, states = cell.get_role_name(), _extents(cell, self.factor), cell.get_state_set()
            except (GLib.Error, AttributeError):
                continue
            if not box or not states.contains(Atspi.StateType.SHOWING):
                continue
            if role == "table column header":
                headers.append(_cut(box, clip))
                continue
            if (
                role in MARKS
                and self._share(_cut(box, clip), window, False) == 1
                and _area(_cut(box, clip)) == _area(box)
            ):
                marks.append((role, box, states))
            if role not in ("table cell", "tree item", *MARKS) or _area(_cut(box, clip)) == 0:
                continue
            rows.setdefault(box[1], []).append(box)
            chosen[box[1]] = chosen.get(box[1], False) or states.contains(Atspi.StateType.SELECTED)
        for role, box, states in marks:
            mark = self._mark(box, box[2] - box[0])
            if mark is None:
                raise UnlabelledScreen(f"no mark found in a cell with a {role}")
            self.found.append(Found(MARKS[role], mark, _states(MARKS[role], role, states)))
        headers = [one for one in headers if min(one[2] - one[0], one[3] - one[1]) >= SMALLEST]
        top = max((one[3] for one in headers), default=clip[1])
        columns = max((len(cells) for cells in rows.values()), default=0)
        for one in headers:
            share, seen = self._seen(one, window, False)
            if share >= MIN_VISIBLE:
                self.found.append(Found("control", seen, {}, share=share))
        for start, cells in sorted(rows.items()):
            # A row with several columns is as wide as its table; a list entry is as wide as its content.
            left, right = (clip[0], clip[2]) if columns > 1 else (min(c[0] for c in cells), max(c[2] for c in cells))
            whole = (left, start, right, max(c[3] for c in cells))
            seen = _cut(whole, (clip[0], top, clip[2], clip[3]))
            if not _area(seen):
                continue
            inside = _area(seen) / _area(whole)
            share, seen = self._seen(seen, window, False)
            visible = inside * share
            if visible >= MIN_VISIBLE and seen[3] - seen[1] > SMALLEST:
                kind = "table_row" if columns > 1 and headers else "list_item"
                self.found.append(Found(kind, seen, {"selected": chosen[start]}, share=visible))


def once_each(found: list[Found]) -> list[Found]:
    """Removes duplicates: some toolkits report table headings twice, one pixel apart."""
    kept: list[Found] = []
    for one in found:
        if not any(one.kind == other.kind and _are_one(one.box, other.box) for other in kept):
            kept.append(one)
    return kept


def _are_one(a: Box, b: Box) -> bool:
    shared = _area(_cut(a, b))
    return shared > ONE_THING * (_area(a) + _area(b) - shared)


def _extents(node, factor: int) -> Box | None:
    component = node.get_component_iface()
    if component is None:
        return None
    e = component.get_extents(Atspi.CoordType.SCREEN)
    if e.width <= 0 or e.height <= 0 or e.x < -30000:
        return None
    return (e.x * factor, e.y * factor, (e.x + e.width) * factor, (e.y + e.height) * factor)


def _image_width(node) -> int:
    try:
        image = node.get_image_iface()
        return max(0, image.get_image_size().x) if image is not None else 0
    except (GLib.Error, AttributeError):
        return 0


def _has_words(node, depth: int = 3) -> bool:
    """Returns whether a composed button shows a text label."""
    for index in range(min(node.get_child_count(), 8)):
        child = node.get_child_at_index(index)
        if child is None or not child.get_state_set().contains(Atspi.StateType.SHOWING):
            continue
        if child.get_role_name() == "label" and (child.get_name() or "").strip():
            return True
        if depth and _has_words(child, depth - 1):
            return True
    return False


def _links(node) -> int:
    try:
        text = node.get_hypertext_iface()
        return text.get_n_links() if text is not None else 0
    except (GLib.Error, AttributeError):
        return 0


def _role_of_parent(node) -> str:
    parent = node.get_parent()
    return parent.get_role_name() if parent is not None else ""


def _states(kind: str, role: str, states) -> dict[str, bool]:
    has = states.contains
    state: dict[str, bool] = {}
    if kind in CLASSES_WITH_CHECKS:
        state["checked"] = has(Atspi.StateType.CHECKED) or has(Atspi.StateType.PRESSED)
    elif role in ("toggle button", "check menu item", "radio menu item") and (
        has(Atspi.StateType.CHECKED) or has(Atspi.StateType.PRESSED)
    ):
        state["checked"] = True
    if kind in ("tab", "list_item", "menu_item"):
        state["selected"] = has(Atspi.StateType.SELECTED)
    if kind == "drop_down":
        state["expanded"] = has(Atspi.StateType.EXPANDED)
    if kind not in ("dialog", "scroll_bar", "text_field") and not has(Atspi.StateType.SENSITIVE):
        state["disabled"] = True
    if kind == "text_field" and has(Atspi.StateType.FOCUSED):
        state["focused"] = True
    return state


def _cut(a: Box, b: Box) -> Box:
    return (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _area(box: Box) -> int:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])

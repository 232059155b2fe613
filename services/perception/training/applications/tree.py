"""From what AT-SPI says of the applications on a screen to boxes of our classes.

AT-SPI is no truth to be taken as it is. It counts the words of a check box to the box, reports what other windows cover
and what lies outside of a scrolled area, has no rows but cells, and knows a button's name but not whether it is drawn
as words or as a pictogram. What is not certain makes the whole screen unfit: a wrong box is worse than one screen less.
"""

from dataclasses import dataclass, field

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402
from PIL import Image, ImageChops  # noqa: E402
from widgets.words import SHOWS_A_PICTOGRAM, SHOWS_WORDS  # noqa: E402

Box = tuple[int, int, int, int]
LEAST_VISIBLE = 0.35
SMALLEST = 4
# Two boxes that share more of their union are one thing.
ONE_THING = 0.7
MOST_OF_A_SCREEN = 0.85
# How much brighter or darker than what is around it a pixel of a check mark's frame is, at least.
FAINTEST = 14
MOST_NODES = 6000
# Letters on a square button: "sin" is written on one, "Save" is drawn.
LONGEST_KEY = 3
# What the windows of widgets/ say of their buttons: where words are below a pictogram nothing else tells.
SAID = {SHOWS_WORDS: "button", SHOWS_A_PICTOGRAM: "icon"}
# By how much of itself a window may fit a frame less than another and still be the one.
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
# What is inside of these is part of them.
CLOSED = {"spin button", "slider", "scroll bar", "check box", "radio button", "push button", "entry"}
LISTS = {"table", "tree table", "tree", "list"}
CLASSES_WITH_CHECKS = {"checkbox", "radio", "switch"}


class Unfit(Exception):
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
    picture: Image.Image
    windows: list[tuple[int, Box, bool]]
    scale: int
    # How many pixels are one of AT-SPI's: some toolkits count before their scale, some after it.
    factor: int = 1
    found: list[Found] = field(default_factory=list)
    nodes: int = 0
    named: set[int] = field(default_factory=set)
    """The windows of which the frame is known."""
    lists: list[tuple[int | None, Box]] = field(default_factory=list)
    """What is said to show items, and in which window."""

    def read(self) -> list[Found]:
        desktop = Atspi.get_desktop(0)
        screen = (0, 0, *self.picture.size)
        for index in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(index)
            if application is not None:
                self.factor = self._factor_of(application)
                self._visit(application, screen, None, 0)
        self._need_popups()
        self._need_windows()
        return once_each(self.found)

    def _factor_of(self, application: Atspi.Accessible) -> int:
        """The factor by which one of the application's frames is a window of the screen."""
        places = [place for _, place, _ in self.windows]
        for factor in (1, self.scale):
            for index in range(application.get_child_count()):
                frame = application.get_child_at_index(index)
                box = _extents(frame, factor) if frame is not None else None
                if box and any(_area(_cut(place, box)) > 0.95 * max(_area(place), _area(box)) for place in places):
                    return factor
        return 1

    def _need_popups(self) -> None:
        """An open menu of which nothing is known is a toolkit that does not tell. Smaller ones are tool tips."""
        for _, place, over in self.windows:
            size = min(place[2] - place[0], place[3] - place[1])
            inside = any(one.popup and _area(_cut(one.box, place)) for one in self.found)
            if over and size > 60 and not inside:
                raise Unfit("something is open, and nothing is known of it")

    def _need_windows(self) -> None:
        """A window that is seen and of which no frame is known: what is in it would be without boxes."""
        for number, place, over in self.windows:
            if not over and number not in self.named and self._share(place, number, False) > 0:
                raise Unfit("a window is seen, and nothing is known of it")

    def _need_one_list(self, seen: Box, window: int | None) -> None:
        """Qt says of a list that fills a page of a tab that it shows, also while another page does."""
        if any(window == other and _are_one(seen, place) for other, place in self.lists):
            raise Unfit("two lists are said to be in the same place")
        self.lists.append((window, seen))

    def _visit(self, node: Atspi.Accessible, clip: Box, window: int | None, depth: int) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES or depth > 50:
            raise Unfit("the tree is too large")
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
                raise Unfit(f"a {role} is in no window")
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
            return (0, 0, *self.picture.size)
        # GTK hangs the contents of a page under its tab.
        return clip if role == "page tab" else seen

    def _window_of(self, box: Box, active: bool) -> int | None:
        """The window that has this frame: the one that fits; of two in one place the upper one if it is active."""
        fits = {
            number: _area(_cut(place, box)) / max(_area(place), _area(box)) for number, place, over in self.windows if not over
        }
        best = max(fits.values(), default=0)
        fitting = [number for number, fit in fits.items() if fit > 0.6 and fit > best - AS_GOOD]
        if len(fitting) > 2:
            raise Unfit("several windows are in the same place")
        return None if not fitting else fitting[-1] if active else fitting[0]

    def _share(self, box: Box, window: int | None, popup: bool) -> float:
        return self._seen(box, window, popup)[0]

    def _seen(self, box: Box, window: int | None, popup: bool) -> tuple[float, Box]:
        """How much of the box is on top, in the popups or in its own window, and the least box around what is."""
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
        """Where windows begin or end within the box, along x or y: between two of these one window is on top."""
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
            # Its words may be covered where the mark itself is seen.
            head = (seen[0], seen[1], min(seen[2], seen[0] + seen[3] - seen[1]), seen[3])
            if self._share(head, window, popup) < LEAST_VISIBLE:
                return
            box = seen = self._mark(seen)
            if seen is None:
                raise Unfit(f"no mark was found in a {role}")
        if not _area(seen):
            return
        inside = _area(seen) / _area(box)
        share, seen = self._seen(seen, window, popup)
        visible = inside * share
        if visible < LEAST_VISIBLE or min(seen[2] - seen[0], seen[3] - seen[1]) < SMALLEST:
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
            # Qt calls the buttons of a tool bar that stay down check boxes.
            return "icon" if width <= 1.4 * height and height >= 20 else MARKS[role]
        if role in BUTTONS:
            return self._button(node, role, box)
        if role == "image":
            return "image" if min(width, height) >= 64 else None
        if role in ("text", "entry", "password text") and height < 12:
            return None
        if PLAIN.get(role) == "dialog":
            # GTK calls a message inside of a window an alert; and what fills the screen has no frame to be seen.
            fills = width * height > MOST_OF_A_SCREEN * self.picture.width * self.picture.height
            return None if fills or _role_of_parent(node) != "application" else "dialog"
        if role == "icon" and _role_of_parent(node) not in ("layered pane", "icon view"):
            return None
        if role == "label" and _links(node):
            raise Unfit("links in a text have no boxes")
        if role == "calendar":
            raise Unfit("a calendar does not name its days")
        return PLAIN.get(role)

    def _button(self, node, role: str, box: Box) -> str:
        width, height = box[2] - box[0], box[3] - box[1]
        name = node.get_name() or ""
        if name.lower() in WINDOW_MARKS and box[1] < 60 and height < 60:
            return "window_control"
        said = SAID.get(node.get_description() or "")
        if said:
            return said
        image = _image_width(node)
        if role == "toggle button" and not name and not image and 1.6 <= width / height <= 2.7 and height <= 60:
            return "switch"
        if _has_words(node):
            return "button"
        square = width <= 1.7 * height
        # A button that opens a menu and shows nothing but an arrow is called Menu by GTK. Longer names are said of
        # pictograms: a button of words is wider than high, and the keys of a calculator have short ones.
        words_fit = len(name) * 5 <= width and len(name) <= LONGEST_KEY
        if square and (image or not words_fit):
            return "icon"
        return "button"

    def _mark(self, box: Box, reach: int = 0) -> Box | None:
        """The little square or circle at the head of a check box: the first thing drawn there."""
        reach = min(box[2], box[0] + (reach or box[3] - box[1] + 14))
        part = self.picture.crop((box[0], box[1], reach, box[3])).convert("RGB")
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
        """Rows, from their cells: what begins at the same height is one row."""
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
                raise Unfit(f"no mark was found in a cell with a {role}")
            self.found.append(Found(MARKS[role], mark, _states(MARKS[role], role, states)))
        headers = [one for one in headers if min(one[2] - one[0], one[3] - one[1]) >= SMALLEST]
        top = max((one[3] for one in headers), default=clip[1])
        columns = max((len(cells) for cells in rows.values()), default=0)
        for one in headers:
            share, seen = self._seen(one, window, False)
            if share >= LEAST_VISIBLE:
                self.found.append(Found("control", seen, {}, share=share))
        for start, cells in sorted(rows.items()):
            # A row of several columns is as wide as its table; an entry of a list is what is drawn of it.
            left, right = (clip[0], clip[2]) if columns > 1 else (min(c[0] for c in cells), max(c[2] for c in cells))
            whole = (left, start, right, max(c[3] for c in cells))
            seen = _cut(whole, (clip[0], top, clip[2], clip[3]))
            if not _area(seen):
                continue
            inside = _area(seen) / _area(whole)
            share, seen = self._seen(seen, window, False)
            visible = inside * share
            if visible >= LEAST_VISIBLE and seen[3] - seen[1] > SMALLEST:
                kind = "table_row" if columns > 1 and headers else "list_item"
                self.found.append(Found(kind, seen, {"selected": chosen[start]}, share=visible))


def once_each(found: list[Found]) -> list[Found]:
    """Each thing once: some toolkits name the headings of a table in the table and in a head of its own, a pixel apart."""
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
    """Whether a label with words shows in a button that has parts."""
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
    said: dict[str, bool] = {}
    if kind in CLASSES_WITH_CHECKS:
        said["checked"] = has(Atspi.StateType.CHECKED) or has(Atspi.StateType.PRESSED)
    elif role in ("toggle button", "check menu item", "radio menu item") and (
        has(Atspi.StateType.CHECKED) or has(Atspi.StateType.PRESSED)
    ):
        said["checked"] = True
    if kind in ("tab", "list_item", "menu_item"):
        said["selected"] = has(Atspi.StateType.SELECTED)
    if kind == "drop_down":
        said["expanded"] = has(Atspi.StateType.EXPANDED)
    if kind not in ("dialog", "scroll_bar", "text_field") and not has(Atspi.StateType.SENSITIVE):
        said["disabled"] = True
    if kind == "text_field" and has(Atspi.StateType.FOCUSED):
        said["focused"] = True
    return said


def _cut(a: Box, b: Box) -> Box:
    return (max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _area(box: Box) -> int:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])

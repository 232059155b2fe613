"""A window of random GTK 3 widgets in varying numbers, sizes and states.

    /usr/bin/python3 gtk_window.py SEED

Real applications have few sliders and few disabled controls, and each has one tool bar. Here the toolkit draws these in
the theme of the session, and AT-SPI reports their positions. The widgets have no function.
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GdkPixbuf, Gtk  # noqa: E402
from words import SHOWS_A_PICTOGRAM, SHOWS_WORDS, Chance  # noqa: E402

ICONS = """
    document-new document-open document-save document-print edit-cut edit-copy edit-paste edit-undo edit-redo edit-find
    edit-delete edit-clear view-refresh go-previous go-next go-up go-down go-home list-add list-remove zoom-in zoom-out
    zoom-fit-best media-playback-start media-playback-pause media-playback-stop media-skip-forward media-skip-backward
    audio-volume-high system-search preferences-system help-about window-close folder user-trash mail-send mail-reply-sender
    contact-new bookmark-new network-server computer printer process-stop view-fullscreen format-text-bold format-text-
    italic format-justify-left insert-image starred
""".split()
FOLDER_ICONS = "folder text-x-generic image-x-generic audio-x-generic package-x-generic".split()


PAGES = "form form mixer mixer table table tree editor rows grid".split()
LINES = "entry entry combo combo spin switch check radios scale some_buttons".split()
"""Window methods: page contents, and controls in a form line, repeated by frequency."""
WAYS = (Gtk.Orientation.HORIZONTAL, Gtk.Orientation.VERTICAL)


class Window:
    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.window = Gtk.Window(title=chance.words(1, 3))
        self.window.set_default_size(chance.randint(380, 1300), chance.randint(300, 900))
        self.window.connect("destroy", Gtk.main_quit)
        outer = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.window.add(outer)
        if chance.maybe(0.65):
            outer.pack_start(self.menu_bar(), False, False, 0)
        for _ in range(chance.choice((0, 1, 1, 1, 2))):
            outer.pack_start(self.tool_bar(), False, False, 0)
        outer.pack_start(self.body(), True, True, 0)
        if chance.maybe(0.3):
            outer.pack_start(self.buttons(), False, False, 0)
        if chance.maybe(0.4):
            bar = Gtk.Statusbar()
            bar.push(0, chance.words(1, 5))
            outer.pack_start(bar, False, False, 0)
        self.window.show_all()

    def off(self, widget: Gtk.Widget, share: float = 0.12) -> Gtk.Widget:
        """Disables `widget` with probability `share`."""
        if self.chance.maybe(share):
            widget.set_sensitive(False)
        return widget

    def icon(self, size: Gtk.IconSize = Gtk.IconSize.MENU) -> Gtk.Image:
        return Gtk.Image.new_from_icon_name(self.chance.choice(ICONS), size)

    # --- Bars -----------------------------------------------------------------------------------------------------

    def menu_bar(self) -> Gtk.Widget:
        bar = Gtk.MenuBar()
        for _ in range(self.chance.randint(3, 7)):
            head = Gtk.MenuItem(label=self.chance.words(1, 1))
            head.set_submenu(self.menu())
            bar.append(head)
        return bar

    def menu(self) -> Gtk.Menu:
        menu = Gtk.Menu()
        for _ in range(self.chance.randint(3, 12)):
            if self.chance.maybe(0.12):
                menu.append(Gtk.SeparatorMenuItem())
            kind = self.chance.choice((Gtk.MenuItem, Gtk.MenuItem, Gtk.MenuItem, Gtk.CheckMenuItem, Gtk.RadioMenuItem))
            item = kind(label=self.chance.words(1, 3))
            if isinstance(item, Gtk.CheckMenuItem):
                item.set_active(self.chance.maybe(0.5))
            menu.append(self.off(item, 0.25))
        return menu

    def tool_bar(self) -> Gtk.Widget:
        bar = Gtk.Toolbar()
        styles = (Gtk.ToolbarStyle.ICONS, Gtk.ToolbarStyle.ICONS, Gtk.ToolbarStyle.BOTH, Gtk.ToolbarStyle.BOTH_HORIZ)
        style = self.chance.choice(styles)
        bar.set_style(style)
        sizes = (Gtk.IconSize.SMALL_TOOLBAR, Gtk.IconSize.LARGE_TOOLBAR, Gtk.IconSize.LARGE_TOOLBAR, Gtk.IconSize.DND)
        bar.set_icon_size(self.chance.choice(sizes))
        share_off = self.chance.choice((0.0, 0.15, 0.5, 0.8))
        for _ in range(self.chance.randint(3, 14)):
            if self.chance.maybe(0.14):
                bar.insert(Gtk.SeparatorToolItem(), -1)
            kind = Gtk.ToggleToolButton if self.chance.maybe(0.12) else Gtk.ToolButton
            item = kind(icon_name=self.chance.choice(ICONS), label=self.chance.words(1, 1))
            important = self.chance.maybe(0.3)
            item.set_is_important(important)
            # Beside an icon GTK shows the text of important items only.
            worded = style == Gtk.ToolbarStyle.BOTH or (style == Gtk.ToolbarStyle.BOTH_HORIZ and important)
            item.get_child().get_accessible().set_description(SHOWS_WORDS if worded else SHOWS_A_PICTOGRAM)
            bar.insert(self.off(item, share_off), -1)
        if self.chance.maybe(0.25):
            place = Gtk.ToolItem()
            place.set_expand(self.chance.maybe(0.5))
            place.add(self.entry())
            bar.insert(place, -1)
        return bar

    def buttons(self) -> Gtk.Widget:
        row = Gtk.Box(spacing=self.chance.randint(3, 10), border_width=self.chance.randint(3, 12))
        for _ in range(self.chance.randint(1, 4)):
            row.pack_end(self.button(), False, False, 0)
        if self.chance.maybe(0.4):
            row.pack_start(self.button(), False, False, 0)
        return row

    # --- What fills a window --------------------------------------------------------------------------------------

    def body(self) -> Gtk.Widget:
        way = self.chance.random()
        if way < 0.3:
            return self.notebook()
        if way < 0.55:
            panes = Gtk.Paned(orientation=self.chance.choice(WAYS))
            panes.pack1(self.side(), False, True)
            panes.pack2(self.page(), True, True)
            panes.set_position(self.chance.randint(110, 360))
            return panes
        return self.page()

    def side(self) -> Gtk.Widget:
        return getattr(self, self.chance.choice(("table", "tree", "rows", "form")))()

    def notebook(self) -> Gtk.Widget:
        notebook = Gtk.Notebook(scrollable=True, border_width=self.chance.choice((0, 0, 6, 12)))
        notebook.set_tab_pos(self.chance.choice((Gtk.PositionType.TOP,) * 6 + (Gtk.PositionType.LEFT, Gtk.PositionType.BOTTOM)))
        closing = self.chance.maybe(0.3)
        for _ in range(self.chance.randint(1, 7)):
            head = Gtk.Label(label=self.chance.words(1, 2))
            if closing:
                box = Gtk.Box(spacing=4)
                box.pack_start(head, True, True, 0)
                close = Gtk.Button(relief=Gtk.ReliefStyle.NONE)
                close.add(Gtk.Image.new_from_icon_name("window-close", Gtk.IconSize.MENU))
                box.pack_start(close, False, False, 0)
                box.show_all()
                head = box
            notebook.append_page(self.page(), head)
        return notebook

    def page(self) -> Gtk.Widget:
        return getattr(self, self.chance.choice(PAGES))()

    def scrolled(self, inner: Gtk.Widget, share_framed: float = 0.5) -> Gtk.Widget:
        place = Gtk.ScrolledWindow()
        if self.chance.maybe(share_framed):
            place.set_shadow_type(Gtk.ShadowType.IN)
        if self.chance.maybe(0.2):
            place.set_policy(Gtk.PolicyType.ALWAYS, Gtk.PolicyType.ALWAYS)
        place.add(inner)
        return place

    def editor(self) -> Gtk.Widget:
        text = Gtk.TextView(monospace=self.chance.maybe(0.4))
        text.set_left_margin(self.chance.choice((0, 2, 8, 20)))
        text.get_buffer().set_text(self.chance.lines(self.chance.choice((0, 0, 1, 4, 20, 80))))
        return self.scrolled(text)

    def form(self) -> Gtk.Widget:
        grid = Gtk.Grid(row_spacing=self.chance.randint(2, 14), column_spacing=self.chance.randint(4, 16))
        grid.set_border_width(self.chance.randint(4, 24))
        wide = self.chance.maybe(0.5)
        for line in range(self.chance.randint(3, 14)):
            one = getattr(self, self.chance.choice(LINES))()
            if isinstance(one, Gtk.CheckButton):
                grid.attach(one, self.chance.randint(0, 1), line, 1, 1)
                continue
            grid.attach(Gtk.Label(label=self.chance.words(1, 3), xalign=self.chance.choice((0, 1))), 0, line, 1, 1)
            one.set_hexpand(wide and not isinstance(one, Gtk.Switch))
            one.set_halign(Gtk.Align.FILL if wide and not isinstance(one, Gtk.Switch) else Gtk.Align.START)
            grid.attach(one, 1, line, 1, 1)
        if not self.chance.maybe(0.3):
            return grid
        frame = Gtk.Frame(label=self.chance.words(1, 2), border_width=8)
        frame.add(grid)
        return frame

    def mixer(self) -> Gtk.Widget:
        """Horizontal or vertical sliders with their names."""
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=self.chance.randint(2, 16))
        box.set_border_width(self.chance.randint(4, 16))
        if self.chance.maybe(0.3):
            standing = Gtk.Box(spacing=self.chance.randint(4, 24))
            for _ in range(self.chance.randint(2, 12)):
                standing.pack_start(self.scale(Gtk.Orientation.VERTICAL), False, False, 0)
            box.pack_start(standing, True, True, 0)
        for _ in range(self.chance.randint(1, 5)):
            part = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
            head = Gtk.Box(spacing=6)
            head.pack_start(self.icon(self.chance.choice((Gtk.IconSize.MENU, Gtk.IconSize.DND))), False, False, 0)
            head.pack_start(Gtk.Label(label=self.chance.words(1, 4), xalign=0), True, True, 0)
            for _ in range(self.chance.randint(0, 3)):
                head.pack_start(self.tool(), False, False, 0)
            part.pack_start(head, False, False, 0)
            for _ in range(self.chance.choice((1, 1, 1, 2))):
                line = Gtk.Box(spacing=6)
                line.pack_start(Gtk.Label(label=self.chance.words(1, 1)), False, False, 0)
                line.pack_start(self.scale(), True, True, 0)
                part.pack_start(line, False, False, 0)
            if self.chance.maybe(0.3):
                part.pack_start(Gtk.ProgressBar(fraction=self.chance.random()), False, False, 0)
            box.pack_start(part, False, False, 0)
        return box

    def table(self) -> Gtk.Widget:
        chance = self.chance
        kinds = [chance.choice((str, str, str, bool, GdkPixbuf.Pixbuf)) for _ in range(chance.randint(1, 6))]
        if str not in kinds:
            kinds.append(str)
        store = Gtk.ListStore(*(str if kind is GdkPixbuf.Pixbuf else kind for kind in kinds))
        cell = {str: chance.value, bool: lambda: chance.maybe(0.5), GdkPixbuf.Pixbuf: lambda: chance.choice(FOLDER_ICONS)}
        for _ in range(chance.randint(1, 40)):
            store.append([cell[kind]() for kind in kinds])
        view = Gtk.TreeView(model=store, headers_visible=chance.maybe(0.65))
        none, horizontal, both = (Gtk.TreeViewGridLines.NONE, Gtk.TreeViewGridLines.HORIZONTAL, Gtk.TreeViewGridLines.BOTH)
        view.set_grid_lines(chance.choice((none, none, none, horizontal, both)))
        for index, kind in enumerate(kinds):
            drawn, what = {
                str: (Gtk.CellRendererText(), "text"),
                bool: (Gtk.CellRendererToggle(), "active"),
                GdkPixbuf.Pixbuf: (Gtk.CellRendererPixbuf(), "icon-name"),
            }[kind]
            column = Gtk.TreeViewColumn(chance.words(1, 1) if kind is str else "", drawn, **{what.replace("-", "_"): index})
            column.set_resizable(True)
            column.set_expand(chance.maybe(0.3))
            if kind is str and chance.maybe(0.3):
                column.set_sort_column_id(index)
            view.append_column(column)
        if chance.maybe(0.6):
            view.get_selection().select_path(Gtk.TreePath(chance.randint(0, len(store) - 1)))
        else:
            view.get_selection().unselect_all()
        return self.scrolled(view)

    def tree(self) -> Gtk.Widget:
        chance = self.chance
        store = Gtk.TreeStore(str, str)
        branches = [None]
        for _ in range(chance.randint(4, 30)):
            inside = store.append(chance.choice(branches), [chance.choice(FOLDER_ICONS), chance.file()])
            if chance.maybe(0.4) and store.iter_depth(inside) < 4:
                branches.append(inside)
        view = Gtk.TreeView(model=store, headers_visible=False)
        column = Gtk.TreeViewColumn()
        icon, text = Gtk.CellRendererPixbuf(), Gtk.CellRendererText()
        column.pack_start(icon, False)
        column.pack_start(text, True)
        column.add_attribute(icon, "icon-name", 0)
        column.add_attribute(text, "text", 1)
        view.append_column(column)
        view.expand_all()
        return self.scrolled(view)

    def rows(self) -> Gtk.Widget:
        """A list of settings with their controls."""
        rows = Gtk.ListBox()
        pad = self.chance.randint(3, 14)
        for _ in range(self.chance.randint(3, 16)):
            line = Gtk.Box(spacing=10, border_width=pad)
            if self.chance.maybe(0.4):
                line.pack_start(self.icon(), False, False, 0)
            line.pack_start(Gtk.Label(label=self.chance.words(1, 4), xalign=0), True, True, 0)
            if self.chance.maybe(0.6):
                one = self.chance.choice((self.switch, self.combo, self.button, self.tool, self.spin))()
                one.set_valign(Gtk.Align.CENTER)
                line.pack_start(one, False, False, 0)
            rows.add(line)
        return self.scrolled(rows)

    def grid(self) -> Gtk.Widget:
        """A grid of buttons, as in a calculator or a game."""
        grid = Gtk.Grid(row_homogeneous=True, column_homogeneous=True, border_width=self.chance.randint(2, 12))
        grid.set_row_spacing(self.chance.randint(0, 8))
        grid.set_column_spacing(self.chance.randint(0, 8))
        for x in range(self.chance.randint(3, 8)):
            for y in range(self.chance.randint(3, 7)):
                key = Gtk.Button(label=self.chance.key())
                key.set_hexpand(True)
                key.set_vexpand(True)
                grid.attach(key, x, y, 1, 1)
        return grid

    # --- Single controls ------------------------------------------------------------------------------------------

    def button(self) -> Gtk.Widget:
        button = Gtk.Button(label=self.chance.words(1, 2))
        if self.chance.maybe(0.25):
            button.set_image(self.icon(Gtk.IconSize.BUTTON))
            button.set_always_show_image(True)
        return self.off(button)

    def some_buttons(self) -> Gtk.Widget:
        box = Gtk.Box(spacing=6)
        for _ in range(self.chance.randint(1, 3)):
            box.pack_start(self.button() if self.chance.maybe(0.6) else self.tool(), False, False, 0)
        return box

    def tool(self) -> Gtk.Widget:
        kind = Gtk.ToggleButton if self.chance.maybe(0.3) else Gtk.Button
        button = kind(relief=self.chance.choice((Gtk.ReliefStyle.NONE, Gtk.ReliefStyle.NORMAL)))
        button.add(self.icon())
        button.get_accessible().set_description(SHOWS_A_PICTOGRAM)
        return self.off(button)

    def entry(self) -> Gtk.Widget:
        entry = self.chance.choice((Gtk.Entry, Gtk.Entry, Gtk.SearchEntry))()
        entry.set_width_chars(self.chance.choice((8, 14, 20, 30)))
        if self.chance.maybe(0.6):
            entry.set_text(self.chance.value())
        elif self.chance.maybe(0.6):
            entry.set_placeholder_text(self.chance.words(1, 3))
        return self.off(entry)

    def combo(self) -> Gtk.Widget:
        combo = Gtk.ComboBoxText()
        for _ in range(self.chance.randint(2, 9)):
            combo.append_text(self.chance.words(1, 2))
        combo.set_active(self.chance.randint(-1, 1))
        return self.off(combo)

    def spin(self) -> Gtk.Widget:
        spin = Gtk.SpinButton.new_with_range(0, 10 ** self.chance.randint(1, 4), 1)
        spin.set_value(self.chance.randint(0, 100))
        return self.off(spin)

    def switch(self) -> Gtk.Widget:
        return self.off(Gtk.Switch(active=self.chance.maybe(0.5)))

    def check(self) -> Gtk.Widget:
        return self.off(Gtk.CheckButton(label=self.chance.words(1, 4), active=self.chance.maybe(0.5)))

    def radios(self) -> Gtk.Widget:
        box = Gtk.Box(orientation=self.chance.choice(WAYS), spacing=self.chance.randint(0, 10))
        first = None
        for _ in range(self.chance.randint(2, 4)):
            one = Gtk.RadioButton.new_with_label_from_widget(first, self.chance.words(1, 2))
            first = first or one
            box.pack_start(self.off(one), False, False, 0)
        return box

    def scale(self, way: Gtk.Orientation = Gtk.Orientation.HORIZONTAL) -> Gtk.Widget:
        scale = Gtk.Scale.new_with_range(way, 0, 100, 1)
        scale.set_value(self.chance.randint(0, 100))
        scale.set_draw_value(self.chance.maybe(0.4))
        scale.set_value_pos(self.chance.choice((Gtk.PositionType.TOP, Gtk.PositionType.RIGHT, Gtk.PositionType.LEFT)))
        if self.chance.maybe(0.2):
            for at in range(0, 101, 25):
                scale.add_mark(at, Gtk.PositionType.BOTTOM, None)
        if way == Gtk.Orientation.HORIZONTAL:
            scale.set_size_request(self.chance.randint(100, 400), -1)
        else:
            scale.set_inverted(True)
            scale.set_size_request(-1, self.chance.randint(90, 260))
        return self.off(scale)


if __name__ == "__main__":
    Window(Chance(f"gtk/{sys.argv[1]}"))
    Gtk.main()

"""A window of random Qt 5 widgets; the Qt counterpart of `gtk_window.py`.

/usr/bin/python3 qt_window.py SEED
"""

import sys

from PySide2.QtCore import QSize, Qt
from PySide2.QtGui import QColor, QIcon, QPalette, QStandardItem, QStandardItemModel
from PySide2.QtWidgets import (
    QAbstractItemView,
    QAction,
    QApplication,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGridLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QSlider,
    QSpinBox,
    QSplitter,
    QStyle,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QToolBar,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)
from words import SHOWS_A_PICTOGRAM, SHOWS_WORDS, Chance

NO_PICTOGRAMS = (
    "SP_CustomBase",
    "SP_MessageBoxInformation",
    "SP_MessageBoxWarning",
    "SP_MessageBoxCritical",
    "SP_MessageBoxQuestion",
)
ICONS = [getattr(QStyle, name) for name in dir(QStyle) if name.startswith("SP_") and name not in NO_PICTOGRAMS]
PAGES = "form form mixer mixer table table tree editor list grid".split()
LINES = "entry entry combo combo spin check check radios slider some_buttons".split()
"""Window methods: page contents, and controls in a form line, repeated by frequency."""


ACCENTS = ("#3daee9", "#e95420", "#2e7d32", "#7e57c2", "#00897b", "#c62828", "#607d8b")


def dark(ground: QColor, accent: QColor) -> QPalette:
    """Creates a dark palette; Qt derives the other shades from these colours."""
    palette = QPalette(ground)
    for role, colour in (
        (QPalette.Base, ground.darker(130)),
        (QPalette.AlternateBase, ground.darker(115)),
        (QPalette.WindowText, QColor("#eee")),
        (QPalette.Text, QColor("#eee")),
        (QPalette.ButtonText, QColor("#eee")),
        (QPalette.Highlight, accent),
        (QPalette.HighlightedText, QColor("white")),
    ):
        palette.setColor(role, colour)
    for role in (QPalette.WindowText, QPalette.Text, QPalette.ButtonText):
        palette.setColor(QPalette.Disabled, role, QColor("#888"))
    return palette


class Window(QMainWindow):
    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self.chance = chance
        self.setWindowTitle(chance.words(1, 3))
        self.resize(chance.randint(380, 1300), chance.randint(300, 900))
        if chance.maybe(0.75):
            for _ in range(chance.randint(3, 7)):
                self.fill(self.menuBar().addMenu(chance.words(1, 1)))
        for _ in range(chance.choice((0, 1, 1, 1, 2))):
            self.tool_bar()
        middle = QWidget()
        outer = QVBoxLayout(middle)
        margin = chance.choice((0, 0, 6, 9))
        outer.setContentsMargins(margin, margin, margin, margin)
        outer.addWidget(self.body(), 1)
        if chance.maybe(0.3):
            outer.addLayout(self.buttons())
        self.setCentralWidget(middle)
        if chance.maybe(0.4):
            self.statusBar().showMessage(chance.words(1, 5))

    def off(self, widget: QWidget, share: float = 0.12) -> QWidget:
        if self.chance.maybe(share):
            widget.setEnabled(False)
        return widget

    def items(self, view: QAbstractItemView) -> QAbstractItemView:
        """Hides the scroll bars of item views, because AT-SPI does not report them."""
        view.setVerticalScrollBarPolicy(Qt.ScrollBarAlwaysOff)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarAlwaysOff)
        return view

    def icon(self) -> QIcon:
        return self.style().standardIcon(self.chance.choice(ICONS))

    def lying(self) -> Qt.Orientation:
        return self.chance.choice((Qt.Horizontal, Qt.Vertical))

    # --- Bars -----------------------------------------------------------------------------------------------------

    def fill(self, menu: QMenu) -> None:
        for _ in range(self.chance.randint(3, 12)):
            if self.chance.maybe(0.12):
                menu.addSeparator()
            action = QAction(self.chance.words(1, 3), menu)
            if self.chance.maybe(0.3):
                action.setIcon(self.icon())
            if self.chance.maybe(0.2):
                action.setCheckable(True)
                action.setChecked(self.chance.maybe(0.5))
            if self.chance.maybe(0.3):
                action.setShortcut(f"Ctrl+{self.chance.choice('ABDEFGHKLNOPSTU')}")
            action.setEnabled(not self.chance.maybe(0.25))
            menu.addAction(action)

    def tool_bar(self) -> None:
        bar = QToolBar()
        bar.setMovable(self.chance.maybe(0.6))
        styles = (Qt.ToolButtonIconOnly, Qt.ToolButtonIconOnly, Qt.ToolButtonTextUnderIcon, Qt.ToolButtonTextBesideIcon)
        style = self.chance.choice(styles)
        bar.setToolButtonStyle(style)
        side = self.chance.choice((16, 22, 24, 32))
        bar.setIconSize(QSize(side, side))
        share_off = self.chance.choice((0.0, 0.15, 0.5, 0.8))
        for _ in range(self.chance.randint(3, 14)):
            if self.chance.maybe(0.14):
                bar.addSeparator()
            action = QAction(self.icon(), self.chance.words(1, 1), bar)
            action.setEnabled(not self.chance.maybe(share_off))
            bar.addAction(action)
            says = SHOWS_A_PICTOGRAM if style == Qt.ToolButtonIconOnly else SHOWS_WORDS
            bar.widgetForAction(action).setAccessibleDescription(says)
        if self.chance.maybe(0.25):
            bar.addWidget(self.chance.choice((self.entry, self.combo))())
        self.addToolBar(bar)
        if self.chance.maybe(0.5):
            self.addToolBarBreak()

    def buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        if self.chance.maybe(0.4):
            row.addWidget(self.button())
        row.addStretch(1)
        for _ in range(self.chance.randint(1, 4)):
            row.addWidget(self.button())
        return row

    # --- What fills a window --------------------------------------------------------------------------------------

    def body(self) -> QWidget:
        way = self.chance.random()
        if way < 0.3:
            tabs = QTabWidget()
            tabs.setTabsClosable(self.chance.maybe(0.3))
            tabs.setDocumentMode(self.chance.maybe(0.3))
            for _ in range(self.chance.randint(1, 7)):
                tabs.addTab(self.leaf(), self.chance.words(1, 2))
            return tabs
        if way < 0.55:
            panes = QSplitter(self.lying())
            panes.addWidget(getattr(self, self.chance.choice(("list", "tree", "table", "form")))())
            panes.addWidget(self.page())
            panes.setStretchFactor(1, 3)
            return panes
        return self.page()

    def leaf(self) -> QWidget:
        """Wraps a page in a widget: AT-SPI reports a list that is itself a page as visible on other pages."""
        place = QWidget()
        around = QVBoxLayout(place)
        margin = self.chance.choice((0, 0, 6, 9))
        around.setContentsMargins(margin, margin, margin, margin)
        around.addWidget(self.page())
        return place

    def page(self) -> QWidget:
        return getattr(self, self.chance.choice(PAGES))()

    def editor(self) -> QWidget:
        text = QPlainTextEdit()
        text.setPlainText(self.chance.lines(self.chance.choice((0, 0, 1, 4, 20, 80))))
        if self.chance.maybe(0.4):
            text.setFrameStyle(0)
        if self.chance.maybe(0.4):
            text.setLineWrapMode(QPlainTextEdit.NoWrap)
        return text

    def form(self) -> QWidget:
        frame = QGroupBox(self.chance.words(1, 2)) if self.chance.maybe(0.3) else QWidget()
        lines = QFormLayout(frame)
        lines.setVerticalSpacing(self.chance.randint(2, 14))
        lines.setFieldGrowthPolicy(self.chance.choice((QFormLayout.AllNonFixedFieldsGrow, QFormLayout.FieldsStayAtSizeHint)))
        for _ in range(self.chance.randint(3, 14)):
            one = getattr(self, self.chance.choice(LINES))()
            if isinstance(one, QCheckBox):
                lines.addRow(one)
            else:
                lines.addRow(self.chance.words(1, 3), one)
        return frame

    def mixer(self) -> QWidget:
        page = QWidget()
        box = QVBoxLayout(page)
        if self.chance.maybe(0.3):
            standing = QHBoxLayout()
            for _ in range(self.chance.randint(2, 12)):
                standing.addWidget(self.slider(Qt.Vertical))
            box.addLayout(standing, 1)
        for _ in range(self.chance.randint(1, 5)):
            head = QHBoxLayout()
            head.addWidget(QLabel(self.chance.words(1, 4)), 1)
            for _ in range(self.chance.randint(0, 3)):
                head.addWidget(self.tool())
            box.addLayout(head)
            line = QHBoxLayout()
            line.addWidget(QLabel(self.chance.words(1, 1)))
            line.addWidget(self.slider(), 1)
            box.addLayout(line)
            if self.chance.maybe(0.3):
                progress = QProgressBar()
                progress.setValue(self.chance.randint(0, 100))
                box.addWidget(progress)
        box.addStretch(1)
        return page

    def table(self) -> QWidget:
        chance = self.chance
        table = self.items(QTableWidget(chance.randint(1, 40), chance.randint(2, 7)))
        table.setHorizontalHeaderLabels([chance.words(1, 1) for _ in range(table.columnCount())])
        table.setShowGrid(chance.maybe(0.5))
        table.setAlternatingRowColors(chance.maybe(0.4))
        table.verticalHeader().setVisible(False)
        table.verticalHeader().setDefaultSectionSize(chance.randint(20, 34))
        table.setSelectionBehavior(QTableWidget.SelectRows)
        pictured = chance.maybe(0.4)
        for row in range(table.rowCount()):
            for column in range(table.columnCount()):
                item = QTableWidgetItem(chance.value())
                if pictured and column == 0:
                    item.setIcon(self.icon())
                table.setItem(row, column, item)
        table.horizontalHeader().setStretchLastSection(chance.maybe(0.5))
        if chance.maybe(0.5):
            table.selectRow(chance.randint(0, table.rowCount() - 1))
        return table

    def tree(self) -> QWidget:
        chance = self.chance
        model = QStandardItemModel()
        branches = [model.invisibleRootItem()]
        for _ in range(chance.randint(4, 30)):
            item = QStandardItem(self.icon(), chance.file())
            chance.choice(branches).appendRow(item)
            if chance.maybe(0.3):
                branches.append(item)
        view = self.items(QTreeView())
        view.setModel(model)
        view.setHeaderHidden(True)
        view.expandAll()
        return view

    def list(self) -> QWidget:
        view = self.items(QListWidget())
        view.setAlternatingRowColors(self.chance.maybe(0.3))
        view.setSpacing(self.chance.choice((0, 0, 2, 5)))
        for _ in range(self.chance.randint(2, 30)):
            item = QListWidgetItem(self.chance.value())
            if self.chance.maybe(0.4):
                item.setIcon(self.icon())
            view.addItem(item)
        if self.chance.maybe(0.5):
            view.setCurrentRow(self.chance.randint(0, view.count() - 1))
        return view

    def grid(self) -> QWidget:
        page = QWidget()
        keys = QGridLayout(page)
        keys.setSpacing(self.chance.randint(0, 8))
        for x in range(self.chance.randint(3, 8)):
            for y in range(self.chance.randint(3, 7)):
                key = QPushButton(self.chance.key())
                key.setMinimumWidth(30)
                keys.addWidget(key, y, x)
        return page

    # --- Single controls ------------------------------------------------------------------------------------------

    def button(self) -> QWidget:
        button = QPushButton(self.chance.words(1, 2))
        if self.chance.maybe(0.3):
            button.setIcon(self.icon())
        return self.off(button)

    def some_buttons(self) -> QWidget:
        place = QWidget()
        row = QHBoxLayout(place)
        row.setContentsMargins(0, 0, 0, 0)
        for _ in range(self.chance.randint(1, 3)):
            row.addWidget(self.button() if self.chance.maybe(0.6) else self.tool())
        row.addStretch(1)
        return place

    def tool(self) -> QWidget:
        button = QToolButton()
        button.setIcon(self.icon())
        button.setAutoRaise(self.chance.maybe(0.5))
        button.setAccessibleDescription(SHOWS_A_PICTOGRAM)
        return self.off(button)

    def entry(self) -> QWidget:
        entry = QLineEdit()
        if self.chance.maybe(0.6):
            entry.setText(self.chance.value())
        elif self.chance.maybe(0.6):
            entry.setPlaceholderText(self.chance.words(1, 3))
        return self.off(entry)

    def combo(self) -> QWidget:
        combo = QComboBox()
        combo.addItems([self.chance.words(1, 2) for _ in range(self.chance.randint(2, 9))])
        return self.off(combo)

    def spin(self) -> QWidget:
        spin = QSpinBox()
        spin.setMaximum(10 ** self.chance.randint(1, 4))
        spin.setValue(self.chance.randint(0, 100))
        return self.off(spin)

    def check(self) -> QWidget:
        check = QCheckBox(self.chance.words(1, 4))
        check.setChecked(self.chance.maybe(0.5))
        return self.off(check)

    def radios(self) -> QWidget:
        place = QWidget()
        row = (QHBoxLayout if self.chance.maybe(0.5) else QVBoxLayout)(place)
        row.setContentsMargins(0, 0, 0, 0)
        for index in range(self.chance.randint(2, 4)):
            one = QRadioButton(self.chance.words(1, 2))
            one.setChecked(index == 0)
            row.addWidget(self.off(one))
        return place

    def slider(self, way: Qt.Orientation = Qt.Horizontal) -> QWidget:
        slider = QSlider(way)
        slider.setValue(self.chance.randint(0, 99))
        if self.chance.maybe(0.25):
            slider.setTickPosition(QSlider.TicksBelow)
        slider.setMinimumSize(*((90, 16) if way == Qt.Horizontal else (16, 90)))
        return self.off(slider)


if __name__ == "__main__":
    application = QApplication(sys.argv[:1])
    chance = Chance(f"qt/{sys.argv[1]}")
    if application.style().objectName() == "fusion":
        accent = QColor(chance.choice(ACCENTS))
        if chance.maybe(0.4):
            application.setPalette(dark(QColor(chance.choice(("#2b2b2b", "#31363b", "#3b3b44"))), accent))
        else:
            palette = application.palette()
            palette.setColor(QPalette.Highlight, accent)
            application.setPalette(palette)
    window = Window(chance)
    window.show()
    sys.exit(application.exec_())

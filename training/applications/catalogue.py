"""Applications and surroundings by split. Splits are by application and by theme, never by screen."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Application:
    name: str
    split: str
    command: tuple[str, ...]
    package: str
    toolkit: str


def _gtk(name: str, split: str, *arguments: str, package: str = "") -> Application:
    return Application(name, split, (name, *arguments), package or name, "gtk")


def _qt(name: str, split: str, *arguments: str, package: str = "") -> Application:
    return Application(name, split, (name, *arguments), package or name, "qt")


def _dialog(name: str, *arguments: str) -> Application:
    return Application(f"zenity-{name}", "train", ("zenity", *arguments), "zenity", "gtk")


def _widgets(toolkit: str, package: str) -> Application:
    program = Path(__file__).parent / "widgets" / f"{toolkit}_window.py"
    return Application(f"widgets-{toolkit}", "train", ("/usr/bin/python3", str(program), "SEED"), package, toolkit)


# Excluded after inspection, because AT-SPI does not report a part of their content: geany (its editor), gucharmap (its
# grid), thunar and ristretto (file icons), gtk3-widget-factory (colours reported as radio buttons), pcmanfm, hexchat,
# lxappearance, sylpheed and xarchiver (GTK 2: lists, menus), pluma (choices in its status bar), remmina (a status bar
# button), rhythmbox (its sliders are too high), eog (its scale menu), kcharselect and ktimer (grid cells, disabled
# controls), gnumeric and gnome-sudoku (cells), drawing (its tools), kpat (its game list), clementine (reports invisible
# rows), filelight (a page reported as a tab), qelectrotech (wrong positions), gscan2pdf (fields of a message),
# assistant, krename, gitg, goldendict, qtpass and umbrello (links), kcolorchooser (colour cells), bluefish (document
# tabs), strawberry (a slider). Excluded because no screen is accepted completely: mate-system-monitor,
# gnome-system-monitor, xfce4-taskmanager, gnome-disks, gparted, xfburn, gthumb, okular, gwenview, vlc, pcmanfm-qt,
# quodlibet, easytag, osmo, nm-connection-editor, shutter, gtg, sound-juicer, terminator, dolphin, ktorrent, lximage-qt,
# cutecom, qps, vym, kturtle, qsynth, tellico, kleopatra. Excluded because they show a single dialog only: texstudio,
# zim, grisbi. Also excluded: relatives of evaluation applications (evince, file-roller), and GTK 4 applications such as
# gnome-calculator, which report no screen positions. FILE and FOLDER stand for a text and a folder created by the
# session, SEED for the seed of a session.
APPLICATIONS = (
    # Our own windows with random widgets of a toolkit, different in each session.
    _widgets("gtk", package="gir1.2-gtk-3.0"),
    _widgets("qt", package="python3-pyside2.qtwidgets"),
    _dialog(
        "form",
        *("--forms", "--title=Order", "--text=Details", "--add-entry=Name", "--add-entry=Street"),
        *("--add-password=Password", "--add-combo=Country", "--combo-values=France|Japan|Peru"),
    ),
    _dialog(
        "list",
        *("--list", "--width=560", "--height=420", "--column=Name", "--column=Number"),
        *"Lamp 12 Chair 7 Table 3 Shelf 25 Clock 1".split(),
    ),
    _dialog(
        "choices",
        *("--list", "--checklist", "--width=520", "--height=360", "--column=", "--column=Fruit"),
        *"TRUE Apple FALSE Pear TRUE Plum".split(),
    ),
    _dialog("files", "--file-selection"),
    _dialog("scale", "--scale", "--text=Brightness"),
    _gtk("mousepad", "train", "FILE"),
    _gtk("galculator", "train"),
    _gtk("transmission-gtk", "train"),
    _gtk("lxterminal", "train"),
    _gtk("dconf-editor", "train"),
    _gtk("qalculate-gtk", "train"),
    _qt("featherpad", "train", "FILE"),
    _qt("transmission-qt", "train"),
    _qt("qterminal", "train"),
    _qt("keepassxc", "train"),
    _gtk("meld", "train"),
    _gtk("d-feet", "train"),
    _gtk("glade", "train"),
    _qt("qbittorrent", "train"),
    _gtk("gedit", "train", "FILE"),
    _gtk("xfce4-appfinder", "train"),
    _gtk("caja", "train", "--no-desktop", "FOLDER"),
    _gtk("eom", "train"),
    _gtk("system-config-printer", "train"),
    _qt("kwrite", "train", "FILE"),
    _qt("ark", "train"),
    _qt("kfind", "train"),
    _qt("kolourpaint", "train"),
    _qt("smplayer", "train"),
    _qt("juk", "train"),
    _qt("kate", "train"),
    _qt("kdiff3", "train"),
    _qt("kompare", "train"),
    _qt("designer", "train", package="qttools5-dev-tools"),
    _qt("linguist", "train", package="qttools5-dev-tools"),
    _qt("focuswriter", "train"),
    _gtk("cherrytree", "train"),
    _gtk("homebank", "train"),
    _gtk("uget-gtk", "train", package="uget"),
    _gtk("catfish", "train"),
    _gtk("mate-search-tool", "train", package="mate-utils"),
    _gtk("mate-dictionary", "train", package="mate-utils"),
    _gtk("liferea", "train"),
    _gtk("abiword", "train"),
    _gtk("seahorse", "train"),
    _gtk("soundconverter", "train"),
    _gtk("xournalpp", "train"),
    _gtk("xfce4-appearance-settings", "train", package="xfce4-settings"),
    _gtk("xfce4-keyboard-settings", "train", package="xfce4-settings"),
    _gtk("xfce4-mouse-settings", "train", package="xfce4-settings"),
    _gtk("deluge-gtk", "train"),
    _gtk("gtkhash", "train"),
    _gtk("mate-appearance-properties", "train", package="mate-control-center"),
    _gtk("mate-default-applications-properties", "train", package="mate-control-center"),
    _gtk("mate-keybinding-properties", "train", package="mate-control-center"),
    _gtk("gnote", "train"),
    _gtk("diffuse", "train"),
    _gtk("gpodder", "train"),
    _gtk("gramps", "train"),
    _gtk("onboard-settings", "train", package="onboard"),
    _gtk("pan", "train"),
    _gtk("geeqie", "train"),
    _qt("kget", "train"),
    _qt("kmplot", "train"),
    _qt("quiterss", "train"),
    _qt("kmymoney", "train"),
    _qt("lyx", "train"),
    _qt("retext", "train"),
    _qt("scribus", "train"),
    _qt("konsole", "train"),
    _qt("kbackup", "train"),
    _qt("kalgebra", "train"),
    _qt("ksystemlog", "train"),
    _qt("lxqt-config-appearance", "train", package="lxqt-config"),
    _qt("obconf-qt", "train"),
    _qt("screengrab", "train"),
    _qt("manuskript", "train"),
    _qt("labplot2", "train", package="labplot"),
    _qt("keditbookmarks", "train"),
    _qt("sweeper", "train"),
    _qt("kdf", "train"),
    _gtk("mate-calc", "validation"),
    _gtk("engrampa", "validation"),
    _qt("qpdfview", "validation"),
    _gtk("l3afpad", "test", "FILE"),
    _gtk("atril", "test"),
    _gtk("pavucontrol", "test"),
    _gtk("xfce4-terminal", "test"),
    _gtk("viewnior", "test"),
    _qt("sqlitebrowser", "test"),
    _qt("audacious", "test"),
    _qt("speedcrunch", "test"),
    _qt("kcalc", "test"),
)

THEMES = {
    "train": (
        *("Adwaita", "Adwaita-dark", "Arc", "Arc-Dark", "Greybird", "Greybird-dark"),
        *("Numix", "HighContrast", "HighContrastInverse", "Raleigh"),
        *("BlackMATE", "Blue-Submarine", "BlueMenta", "GreenLaguna", "Menta", "TraditionalOk", "TraditionalGreen"),
        *("Orchis", "Orchis-Dark", "Yaru", "Yaru-dark", "Arc-Darker", "Blackbird", "Bluebird"),
    ),
    "validation": ("Materia", "Materia-dark-compact"),
    "test": ("Breeze", "Breeze-Dark"),
}
# Cleanlooks and plastique use Qt's Windows style, which is an evaluation style, for some controls, and motif is similar
# to it.
STYLES = {
    "train": (
        *("Fusion", "adwaita", "kvantum/KvAdapta", "kvantum/KvAdaptaDark", "kvantum/KvAmbiance", "kvantum/KvArc"),
        *("kvantum/KvArcDark", "kvantum/KvBeige", "kvantum/KvCurves", "kvantum/KvDark", "kvantum/KvFlat"),
        *("kvantum/KvFlatLight", "kvantum/KvGnome", "kvantum/KvGnomeDark", "kvantum/KvGray", "kvantum/KvMojave"),
        *("kvantum/KvMojaveLight", "kvantum/KvSimplicity", "kvantum/KvSimplicityDark", "kvantum/KvYaru"),
    ),
    "validation": ("adwaita-dark",),
    "test": ("Windows",),
}
"""Qt styles. A Kvantum theme is a style of its own: it draws every control from its own images."""
ICONS = {
    "train": ("Adwaita", "elementary-xfce", "Tango", "gnome"),
    "validation": ("oxygen",),
    "test": ("breeze", "breeze-dark"),
}
FONTS = {
    "train": ("DejaVu Sans", "Liberation Sans", "Nimbus Sans"),
    "validation": ("DejaVu Serif",),
    "test": ("URW Gothic",),
}

PACKAGES = (
    "xvfb xdotool openbox dbus at-spi2-core gir1.2-atspi-2.0 python3-gi python3-pil libatk-adaptor "
    "tango-icon-theme elementary-xfce-icon-theme breeze-icon-theme oxygen-icon-theme gnome-icon-theme "
    "arc-theme greybird-gtk-theme numix-gtk-theme materia-gtk-theme breeze-gtk-theme gnome-themes-extra adwaita-qt "
    "mate-themes orchis-gtk-theme yaru-theme-gtk blackbird-gtk-theme bluebird-gtk-theme "
    "qt5-style-kvantum qt5-style-kvantum-themes "
    "fonts-dejavu-extra fonts-liberation fonts-urw-base35"
).split() + sorted({one.package for one in APPLICATIONS})

"""Generated screens of 1920×1080 with known text, for OCR benchmarks.

The same seed gives the same screens. Chromium draws them and confirms that each known string is fully visible on one
line. No known string is a substring of another on its screen. Backgrounds differ, so that no two screens share image
content that could be cached.
"""

import html
import json
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SIZE = (1920, 1080)


def plain(text: str) -> str:
    """Normalises a text for comparison: no spaces, NFKC."""
    return "".join(unicodedata.normalize("NFKC", text).split())


# --- Words ---


def phrases(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


WHO = phrases("""
The second printer|Every new order|A signed contract|The weekly summary|Your last payment
The backup server|This device|The shipping label|An older version|The shared calendar|The release branch
The test laboratory|Each warehouse|The monthly budget|A missing signature|The visitor badge
""")
DOES = phrases("""
was sent to|has replaced|is waiting for|does not match|was checked against|depends on|was copied from
is ready for|has been moved to|must agree with|takes longer than|no longer needs
""")
WHAT = phrases("""
the main office|the customer record|an approved invoice|the archive folder|a second review|the spare battery
the meeting room|the delivery note|a stronger password|the updated price list|the network drive|the quality report
the exchange rate|a different supplier|the keyboard layout|the project budget
""")
WHEN = phrases("""
since Monday|before noon|at 14:30|on 12 March|for two weeks|by Friday evening|after the update|every quarter
in three weeks|in version 3.2|within 24 hours|this year
""")
KINDS = phrases("""
Approved|Blue|Quarterly|Local|Shared|Urgent|Second|Wireless|Hidden|Former|Yearly|Signed|Global|Quick|Joint
Private|Western|Broken|Empty|Fixed
""")
THINGS = phrases("""
invoice|folder|budget|adapter|keyboard|shipment|review|template|journal|warranty|exchange|playlist|holiday
workshop|filter|gallery|pump|voucher|request|quotation
""")
WHO_ZH = phrases("财务部|新的订单|这份合同|会议纪要|系统管理员|仓库主管|客户服务中心|项目小组|备份服务器|上海分公司|产品说明书|技术人员")
WHEN_ZH = phrases("今天上午|下周一|月底之前|昨天晚上|三月十二日|每个季度|更新以后|周五下午|两小时内|节假日期间|本年度|升级完成后")
DOES_ZH = phrases("需要核对|已经提交|正在检查|将会更换|尚未收到|重新整理了|负责保管|准备下载|应当确认|可以查看|自动保存|顺利通过了")
WHAT_ZH = phrases("季度报告|付款记录|会议室的钥匙|仓库清单|网络设置|客户的地址|质量证明|发货通知|培训资料|年度预算|安全检查|新版本的说明")
IDIOMS = phrases("""
画蛇添足|亡羊补牢|守株待兔|胸有成竹|井底之蛙|刻舟求剑|对牛弹琴|掩耳盗铃|狐假虎威|滥竽充数|杯弓蛇影|叶公好龙|愚公移山|精卫填海
卧薪尝胆|破釜沉舟|纸上谈兵|完璧归赵|负荆请罪|指鹿为马|望梅止渴|草木皆兵|闻鸡起舞|凿壁偷光|悬梁刺股|铁杵成针|锦上添花|雪中送炭|风雨同舟
海阔天空|龙飞凤舞|鸟语花香|春暖秋凉|翻山越岭|披荆斩棘|循序渐进|融会贯通|举一反三|精益求精|持之以恒|废寝忘食|栩栩如生|络绎不绝|鳞次栉比
一帆风顺|马到成功|井井有条|家喻户晓|引人入胜|五颜六色|名列前茅|脚踏实地|全力以赴|实事求是|千方百计|日积月累|迫不及待|兴高采烈|万众一心
自言自语|理直气壮|半途而废|小心翼翼|见义勇为|无微不至|层出不穷|从容不迫|坚持不懈|恍然大悟|异口同声|得意忘形|流连忘返|欣欣向荣|百折不挠
目不转睛|喜出望外|争先恐后|急中生智|后来居上|温故知新|取长补短|同甘共苦|南辕北辙|水滴石穿|津津有味|焕然一新|念念不忘|头头是道|画龙点睛
""")
ENDINGS = ["pdf", "xlsx", "png", "txt", "zip", "docx"]

Make = Callable[[random.Random], str]


def pick(chance: random.Random, *lists: list[str]) -> list[str]:
    return [chance.choice(one) for one in lists]


def english(chance: random.Random) -> str:
    return " ".join(pick(chance, WHO, DOES, WHAT, WHEN))


def chinese(chance: random.Random) -> str:
    return "".join(pick(chance, WHO_ZH, WHEN_ZH, DOES_ZH, WHAT_ZH))


def mixed(chance: random.Random) -> str:
    shapes = ["在 {e} 中{z}", "{z}，见 {e}", "{e}：{z}", "{z} ({e})", "把 {e} 交给{z}"]
    return chance.choice(shapes).format(e=thing(chance), z=chinese(chance))


def thing(chance: random.Random) -> str:
    return f"{' '.join(pick(chance, KINDS, THINGS))} {chance.randint(100, 999)}"


def thing_zh(chance: random.Random) -> str:
    return f"{chance.choice(IDIOMS)}{chance.choice(WHAT_ZH)}{chance.randint(100, 999)}"


def running_zh(chance: random.Random) -> str:
    """Returns forty characters of running text, as in a narrow column."""
    parts = [f"{chinese(chance)}，{'、'.join(pick(chance, IDIOMS, IDIOMS))}。" for _ in range(3)]
    start = chance.randint(0, 12)
    return "".join(parts)[start:start + 40]


def date(chance: random.Random) -> str:
    return f"{chance.randint(2015, 2029)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def amount(chance: random.Random) -> str:
    return f"{chance.randint(1000, 98000):,}.{chance.randint(0, 99):02}"


def short(chance: random.Random) -> str:
    clause = " ".join(pick(chance, DOES, WHAT))
    return chance.choice([thing(chance), date(chance), f"{thing(chance)} {amount(chance)}", clause])


def short_zh(chance: random.Random) -> str:
    two = "".join(pick(chance, IDIOMS, IDIOMS))
    return chance.choice([thing_zh(chance), two, "，".join(pick(chance, WHO_ZH, IDIOMS))])


# --- Screens ---


class Page:
    """Builder for one screen's text.

    Invariant: no known string is a substring of another, because finding it would prove nothing.
    """

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self.known: list[str] = []

    def is_new(self, text: str) -> bool:
        sought = plain(text)
        return not any(sought in plain(one) or plain(one) in sought for one in self.known)

    def know(self, text: str) -> str:
        if not self.is_new(text):
            raise ValueError(f"{text!r} overlaps with another string of this screen")
        self.known.append(text)
        return html.escape(text)

    def say(self, text: str) -> str:
        return f"<span data-known>{self.know(text)}</span>"

    def all(self, texts: str) -> list[str]:
        return [self.say(text) for text in texts.split("|")]

    def field(self, text: str) -> str:
        return f'<input data-known value="{self.know(text)}">'

    def new(self, make: Make) -> str:
        """Returns a new text."""
        texts = (make(self.chance) for _ in range(1000))
        return next(text for text in texts if self.is_new(text))

    def some(self, count: int, *makes: Make) -> list[str]:
        """Returns `count` new texts, alternating between the kinds."""
        return [self.say(self.new(makes[index % len(makes)])) for index in range(count)]


def each(tag: str, parts: list[str], style: str = "") -> str:
    return "".join(f'<{tag} style="{style}">{part}</{tag}>' for part in parts)


def bar(page: Page, title: str, entries: str) -> str:
    """Returns the title bar of most screens."""
    links = each("span", page.all(entries), "margin-left:36px")
    return f'<header class="panel"><b>{page.say(title)}</b>{links}</header>'


def columns(*parts: str, widths: str) -> str:
    style = f"display:grid;grid-template-columns:{widths};gap:40px;padding:24px 30px"
    return f'<main style="{style}">{each("div", list(parts))}</main>'


def notes(page: Page) -> str:
    def column(title: str, *makes: Make) -> str:
        return f"<h3>{page.say(title)}</h3>" + each("div", page.some(36, *makes), "line-height:24px")
    left = column("Release notes", english)
    middle = column("更新日志", chinese, running_zh)
    right = column("Known problems", english, mixed)
    return bar(page, "Help centre", "Overview|Downloads|Community") + columns(left, middle, right, widths="1fr 1fr 1fr")


def dashboard(page: Page) -> str:
    def card(make: Make) -> str:
        big = f'<div style="font-size:34px;margin:10px 0">{page.say(page.new(amount))}</div>'
        return page.say(page.new(make)) + big + each("div", page.some(4, short, chinese), "line-height:25px")
    cards = each("section", [card((thing, thing_zh)[index % 2]) for index in range(12)], CARD)
    return bar(page, "Operations", "Monitor|Alarms|告警记录|Capacity") + f'<main style="{GRID}">{cards}</main>'


def news(page: Page) -> str:
    def story(make: Make) -> str:
        below = f'<p style="font-weight:normal;font-size:14px">{page.say(page.new(make))}</p>'
        return f'<div style="margin-bottom:26px">{page.say(page.new(make))}{below}</div>'
    parts = ["".join(story(make) for _ in range(11)) for make in (english, chinese)]
    return bar(page, "Business today", "Markets|Companies|科技新闻|Weather") + columns(*parts, widths="1fr 1fr")


def code(page: Page) -> str:
    tree = each("div", page.all(CODE_FILES), "padding:5px 20px")
    rows = each("div", [coloured(page, line) for line in CODE.strip("\n").split("\n")], "height:23px")
    return f'<div style="display:flex"><nav class="panel">{tree}</nav><pre>{rows}</pre></div>'


def coloured(page: Page, line: str) -> str:
    if not line.strip():
        return ""
    indent = line[:len(line) - len(line.lstrip())]
    text = page.know(line.strip())
    if not text.startswith(("#", "&quot;")):
        text = re.sub(r"\b(def|class|return|for|in|if|from|import|with|as|not|raise)\b", r"<i>\1</i>", text)
    return f"{indent}<span data-known>{text}</span>"


def table(page: Page) -> str:
    kinds = [lambda chance: str(chance.randint(10000, 99999)), thing, thing_zh, chinese, date, amount]
    heads = "Number|Article|名称|Remarks|Ordered|Total"
    rows = [each("th", [*page.all(heads), "State"])]
    for index in range(25):
        state = ("Paid", "Open", "Late")[index % 3]
        rows.append(each("td", [*page.some(6, *kinds), f"<button>{state}</button>"]))
    return bar(page, "Purchasing", "Orders|Suppliers|库存|Statistics") + f"<table>{each('tr', rows)}</table>"


def grid(rows: int, *makes: Make) -> Callable[[Page], str]:
    """Returns rows of four cells; 47 rows fill the screen."""
    style = "display:grid;grid-template-columns:repeat(4,1fr);grid-auto-rows:22px;padding:20px"
    return lambda page: f'<main style="{style}">{each("div", page.some(4 * rows, *makes))}</main>'


def form(page: Page) -> str:
    def rows(entries: str) -> str:
        pairs = (entry.split("=") for entry in entries.split("|"))
        cells = [f'<td style="width:220px">{page.say(label)}</td><td>{page.field(value)}</td>' for label, value in pairs]
        return f"<table>{each('tr', cells)}</table>"
    checks = each("p", [f'<input type="checkbox" checked>{text}' for text in page.some(5, english, chinese)])
    buttons = each("button", page.all("Save changes|Cancel|Print preview|提交申请|重新填写"))
    head = bar(page, "Shipping request", "Sender and goods|Insurance|报关")
    fields = columns(rows(FORM), rows(FORM_ZH), widths="1fr 1fr")
    return f'{head}{fields}<div style="padding:0 30px">{checks}{buttons}</div>'


def chat(page: Page) -> str:
    def bubble(index: int) -> str:
        side = "said" if index % 3 == 1 else "heard"
        lines = each("div", page.some(1 + index % 2, (english, chinese, mixed)[index % 3], chinese))
        return f'<div class="{side}">{lines}</div>'
    rooms = each("p", page.some(16, thing, thing_zh))
    talk = "".join(bubble(index) for index in range(14))
    box = page.field("Write a message to the group")
    return bar(page, "Messages", "Unread|Mentions|通讯录") + columns(rooms, talk + box, widths="300px 1fr")


def files(page: Page) -> str:
    def name(chance: random.Random) -> str:
        stem = "-".join(pick(chance, KINDS, THINGS)).lower()
        return f"{stem}-{chance.randint(10, 99)}.{chance.choice(ENDINGS)}"

    def name_zh(chance: random.Random) -> str:
        stem = "".join(pick(chance, WHO_ZH, WHAT_ZH))
        return f"{stem}_{chance.randint(10, 99)}.{chance.choice(ENDINGS)}"

    def size(chance: random.Random) -> str:
        return f"{chance.randint(100, 999)}.{chance.randint(1, 9)} {chance.choice(['KB', 'MB'])}"

    def row(name: Make) -> str:
        icon = '<b style="padding:0 7px;background:#5a8fd0;margin-right:10px"></b>'
        return each("td", [icon + page.say(page.new(name)), *page.some(2, size, date)])
    rows = [row((name, name, name_zh)[index % 3]) for index in range(28)]
    places = each("p", page.all("Desktop|Documents|Pictures|下载|回收站|Network"))
    listing = columns(places, f"<table>{each('tr', rows)}</table>", widths="200px 1fr")
    return bar(page, "Archive", "File|Edit|View|Go|Bookmarks|Help") + listing


def article(page: Page) -> str:
    column = each("p", page.some(24, running_zh), "margin:0;line-height:36px")
    side = each("p", page.some(18, short_zh), "font-size:15px")
    body = f'<h1 style="font-size:34px">{page.say(page.new(chinese))}</h1>{column}'
    return columns(body, side, widths="900px 1fr")


def two_languages(page: Page) -> str:
    parts = [each("p", page.some(28, mixed, english, mixed, chinese), "margin:0;line-height:34px") for _ in range(2)]
    return bar(page, "Wiki 知识库", "Recent changes|最近更改|Log out") + columns(*parts, widths="1fr 1fr")


def settings(page: Page) -> str:
    def row(make: Make) -> str:
        knob = '<b style="float:right;width:44px;height:22px;border-radius:11px;background:#4a90e2"></b>'
        title, remark = page.some(2, make)
        return f'{knob}{title}<div style="color:#777;font-size:14px">{remark}</div>'

    def section(title: str, make: Make) -> str:
        head = f'<h1 style="font-size:44px;margin:12px 0">{page.say(title)}</h1>'
        rows = [row(make) for _ in range(4)]
        return head + each("div", rows, "padding:8px 0;border-bottom:1px solid rgba(127,127,127,.3)")
    topics = each("p", page.all("System|Bluetooth|Network access|Accounts|时间和语言|隐私|Accessibility"))
    parts = section("Display", english) + section("声音与通知", chinese) + section("Power and battery", english)
    return columns(topics, parts, widths="260px 1100px")


def faint(page: Page) -> str:
    parts = [each("p", page.some(26, *makes)) for makes in ((english,), (chinese, running_zh), (thing, thing_zh))]
    return bar(page, "Reading room", "Shelves|Loans|馆藏目录") + columns(*parts, widths="1fr 1fr 400px")


def terminal(page: Page) -> str:
    def log(chance: random.Random) -> str:
        size, day, minute = (chance.randint(*span) for span in ((1000, 99999), (10, 28), (10, 59)))
        stem = "_".join(pick(chance, KINDS, THINGS)).lower()
        return f"-rw-r--r-- 1 operator staff {size} Nov {day} 14:{minute} {stem}.log"

    def commit(chance: random.Random) -> str:
        return f"{chance.getrandbits(28):07x} {english(chance)}"

    def test(chance: random.Random) -> str:
        return f"test {'::'.join(pick(chance, THINGS, THINGS))}_{chance.choice(KINDS).lower()} ... ok"

    def block(command: str, make: Make) -> list[str]:
        return [page.say(f"operator@build:~/project$ {command}"), *page.some(10, make)]
    lines = [*block("ls -l reports", log), *block("git log --oneline", commit), *block("cargo test", test)]
    lines += block("cat 说明.txt", chinese)
    return f'<pre style="margin:16px">{each("div", lines, "height:23px")}</pre>'


CARD = "border:1px solid rgba(127,127,127,.4);border-radius:8px;padding:16px 20px"
GRID = "display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:20px;padding:24px 30px"
FORM = (
    "Company=Northern Paper Works|Street and number=48 Harbour Road|Postcode=CF10 4QZ|Town or city=Cardiff|"
    "Telephone=029 5550 1874|E-mail address=orders@example.org|Weight in kilograms=127.5|Contents=Printed catalogues|"
    "Declared value=3,480.00|Collection day=Thursday morning"
)
FORM_ZH = (
    "公司名称=东方印刷有限公司|详细地址=滨海路一百二十号|邮政编码=200082|所在城市=杭州市|联系电话=0571-5550-3296|"
    "货物说明=精装图册与样品|包装方式=木箱加固|申报价值=26,900.00|取件时间=星期四上午九点|备注=轻拿轻放，注意防潮"
)
CODE_FILES = "README.md|pyproject.toml|ledger.py|balance_sheet.py|rates.json|importer.py|test_journal.py|Makefile|LICENSE"
CODE = '''
from dataclasses import dataclass, field
from decimal import Decimal, ROUND_HALF_EVEN
import csv

CENT = Decimal("0.01")

@dataclass(frozen=True)
class Entry:
    """One line of a journal: an amount that moves between two accounts."""
    debit: str
    credit: str
    value: Decimal
    tags: tuple[str, ...] = field(default_factory=tuple)

class Journal:
    # Kept in the order in which they were entered, 按录入顺序保存。
    def __init__(self, entries=()):
        self.entries = list(entries)

    def balance(self, account: str) -> Decimal:
        plus = sum(e.value for e in self.entries if e.debit == account)
        minus = sum(e.value for e in self.entries if e.credit == account)
        return (plus - minus).quantize(CENT, rounding=ROUND_HALF_EVEN)

    def add(self, line: Entry) -> None:
        if line.value <= 0:
            raise ValueError(f"not positive: {line.value!r}")
        self.entries.append(line)

def load(path, delimiter=";"):
    with open(path, newline="", encoding="utf-8") as source:
        reader = csv.DictReader(source, delimiter=delimiter)
        rows = [row for row in reader if not row["debit"].startswith("#")]
    return Journal(Entry(r["debit"], r["credit"], Decimal(r["value"])) for r in rows)

def report(journal, accounts):
    width = max(len(name) for name in accounts) + 4
    for name in sorted(accounts):
        print(f"{name:<{width}}{journal.balance(name):>14,.2f}")
'''


class Screen(NamedTuple):
    name: str
    ground: str
    ink: str
    font: str
    build: Callable[[Page], str]


SANS, DEJAVU, CJK, MONO = "'Liberation Sans'", "'DejaVu Sans'", "'Noto Sans CJK SC'", "'DejaVu Sans Mono'"

# All backgrounds clearly differ, because panels are translucent.
WARM_UP = Screen("warm-up", "#d8e8f0", "#222", f"15px {SANS}", grid(10, short, short_zh))
SCREENS = [
    Screen("small-grey", "#fbfbfb", "#777", f"11px {DEJAVU}", notes),
    Screen("white-on-dark", "#1b1d23", "#f2f2f2", f"15px {DEJAVU}", dashboard),
    Screen("bold", "#f0f0ec", "#111", f"bold 19px {SANS}", news),
    Screen("code", "#282c34", "#d4d8e0", f"14px {MONO}", code),
    Screen("table", "#ffffff", "#222", f"14px {SANS}", table),
    Screen("dense-english", "#f7f7f3", "#000", f"13px {SANS}", grid(47, short)),
    Screen("dense-chinese", "#f3f6fb", "#111", f"13px {CJK}", grid(47, short_zh)),
    Screen("form", "#e9ecf1", "#1c1c1c", f"16px {SANS}", form),
    Screen("chat", "#eef3ea", "#1a1a1a", f"16px {SANS}", chat),
    Screen("files", "#faf4e6", "#2b2b2b", f"14px {DEJAVU}", files),
    Screen("article-chinese", "#fdf9f0", "#333", f"20px {CJK}", article),
    Screen("mixed", "#f4f0f7", "#202030", f"16px {SANS}", two_languages),
    Screen("settings", "#f1f4f4", "#161616", f"17px {SANS}", settings),
    Screen("low-contrast", "#e4e4e4", "#a6a6a6", f"15px {SANS}", faint),
    Screen("terminal", "#0c1410", "#9fe0a8", f"15px {MONO}", terminal),
]

STYLE = """
* { box-sizing: border-box } body { margin: 0; width: 1920px; height: 1080px; overflow: hidden; white-space: nowrap }
pre { margin: 20px; font: inherit } i { font-style: normal; color: #d08fe0 } .panel { background: rgba(127,127,127,.12) }
header { padding: 14px 30px } header b { font-size: 1.3em } nav { width: 260px; height: 1080px }
table { border-collapse: collapse; margin: 10px 20px; width: calc(100% - 40px) }
td, th { padding: 5px 18px; text-align: left }
tr { border-bottom: 1px solid rgba(127,127,127,.35) } button, input { font: inherit; color: inherit; padding: 7px 14px }
button { margin-right: 16px; background: rgba(127,127,127,.2); border: 1px solid #888; border-radius: 4px }
td button { padding: 0 8px } input { background: transparent; border: 1px solid #999; width: 420px }
.said, .heard { width: max-content; border-radius: 14px; padding: 10px 16px; margin-bottom: 14px }
.said { margin-left: auto; background: rgba(40,120,220,.25) } .heard { background: rgba(127,127,127,.15) }
input[type=checkbox] { width: auto; margin-right: 12px }
"""

# Reports for each known string its text and whether both ends are visible on the screen. Lines do not wrap.
LOOK = """<script>
const known = [...document.querySelectorAll("[data-known]")].map(one => {
  one.scrollIntoView({block: "nearest"});
  const box = one.getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
  const shows = x => one.contains(document.elementFromPoint(x, middle));
  const inside = box.right <= 1920 && box.bottom + scrollY <= 1080;
  const fits = inside && one.scrollWidth <= Math.max(one.clientWidth, box.width);
  return [one.value ?? one.textContent, fits && shows(box.left + 2) && shows(box.right - 2)];
});
scrollTo(0, 0);
document.documentElement.setAttribute("data-seen", JSON.stringify(known));
</script>"""


class DrawnScreen(NamedTuple):
    name: str
    path: Path
    known: list[str]


def draw(screen: Screen, seed: int, folder: Path) -> DrawnScreen:
    page = Page(f"{seed} {screen.name}")
    style = f"background:{screen.ground};color:{screen.ink};font:{screen.font},{CJK}"
    head = f'<!DOCTYPE html><html lang="zh-CN"><meta charset="utf-8"><style>{STYLE}</style>'
    body = f'<body style="{style}">{screen.build(page)}{LOOK}'
    image = folder / f"{screen.name}.png"
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as scratch:
        source = Path(scratch) / "page.html"
        source.write_text(head + body, "utf-8")
        dump = chromium(source, "--dump-dom", f"--screenshot={image}")
    seen = json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', dump).group(1)))
    hidden = [text for text, shows in seen if not shows]
    if hidden or sorted(text for text, _ in seen) != sorted(page.known):
        sys.exit(f"the screen {screen.name} does not show what it should: {hidden or 'other strings'}")
    return DrawnScreen(screen.name, image, page.known)


def chromium(source: Path, *arguments: str) -> str:
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
        f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={source.parent / 'profile'}", *arguments, source.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout.decode()

"""Draws text lines as on screens, with installed fonts, reproducibly for a seed.

Only calibration and benchmarks draw; they need Pillow. Setup uses the lines stored in the repository.
"""

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONTS = Path("/usr/share/fonts")

# From the packages fonts-dejavu-core, fonts-liberation and fonts-noto-cjk.
LATIN = [
    "truetype/dejavu/DejaVuSans.ttf", "truetype/dejavu/DejaVuSans-Bold.ttf", "truetype/dejavu/DejaVuSansMono.ttf",
    "truetype/dejavu/DejaVuSerif.ttf", "truetype/liberation/LiberationSans-Regular.ttf",
    "truetype/liberation/LiberationSans-Bold.ttf", "truetype/liberation/LiberationSans-Italic.ttf",
    "truetype/liberation/LiberationSerif-Regular.ttf", "truetype/liberation/LiberationMono-Regular.ttf",
    "truetype/liberation/LiberationSansNarrow-Regular.ttf",
]
# Face 2 of these collections is the simplified Chinese one.
CHINESE = [
    "opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc",
    "opentype/noto/NotoSerifCJK-Regular.ttc",
]
SIMPLIFIED = 2

# Text and background colours: pages, grey notes, buttons, dark themes, links, selections, warnings.
COLOURS = [
    ("#000000", "#ffffff"), ("#202124", "#f1f3f4"), ("#5f6368", "#ffffff"), ("#8a8a8a", "#ffffff"),
    ("#333333", "#e0e0e0"), ("#ffffff", "#1a73e8"), ("#ffffff", "#202124"), ("#d4d4d4", "#1e1e1e"),
    ("#9cdcfe", "#1e1e1e"), ("#0645ad", "#ffffff"), ("#ffffff", "#2e7d32"), ("#b00020", "#ffffff"),
    ("#000000", "#fff3cd"), ("#e8eaed", "#35363a"), ("#006600", "#eeffee"), ("#c0c0c0", "#3b2f2f"),
]

ENGLISH_PHRASES = """
Save changes|Cancel|Open file|Recent documents|Sign in|Forgot your password?|Settings|Privacy policy|Search the web
Total amount due|Invoice number|Customer name|Shipping address|Add to cart|Remove item|Proceed to checkout|Order history
The quick brown fox jumps over the lazy dog|Your session will expire in|minutes ago|Last modified|Not responding
Are you sure you want to delete|This action cannot be undone|Learn more about|Terms of service|Copyright|All rights reserved
Error: connection refused|Permission denied|No such file or directory|warning: unused variable|return Ok(())|fn main()
https://example.org/path?id=|user@example.com|/usr/share/doc/|C:\\Users\\Public\\|SELECT * FROM orders WHERE|$ git status
Page|of|Zoom|View|Edit|Help|Insert|Format|Tools|Window|Undo|Redo|Copy|Paste|Select all|Find and replace|Print preview
January|February|March|Wednesday|Thursday|Yesterday|Tomorrow|New message|Inbox|Drafts|Sent|Archive|Unread|Subject
Quarterly report|Revenue|Expenses|Balance|Account|Transfer|Deposit|Withdraw|Exchange rate|Interest|Payment method
Download complete|Upload failed|Retry|Connected|Disconnected|Battery|Volume|Brightness|Network|Bluetooth|Updates
""".strip().replace("\n", "|").split("|")

CHINESE_PHRASES = """
保存更改|取消|打开文件|最近的文档|登录|忘记密码|设置|隐私政策|搜索网页|应付总额|发票号码|客户姓名|收货地址|加入购物车|删除项目|去结算
订单历史|您的会话即将过期|分钟前|上次修改时间|没有响应|确定要删除吗|此操作无法撤销|了解更多|服务条款|版权所有|保留一切权利|连接被拒绝
权限不足|找不到该文件|第一页|共十页|缩放|查看|编辑|帮助|插入|格式|工具|窗口|撤消|重做|复制|粘贴|全选|查找和替换|打印预览
星期三|昨天|明天|新邮件|收件箱|草稿|已发送|归档|未读|主题|季度报告|收入|支出|余额|账户|转账|存款|取款|汇率|利息|付款方式
下载完成|上传失败|重试|已连接|断开连接|电池|音量|亮度|网络|蓝牙|更新|请在周五之前完成报告|下周一上午十点开会|欢迎使用本系统|请输入验证码
""".strip().replace("\n", "|").split("|")

# Common characters; a charset of thousands consists mostly of rare ones.
COMMON = list("的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么")

SIGNS = "0123456789.,:;!?()<>+-*/=%&@#$_'"


class Line(NamedTuple):
    text: str
    # Rows, columns and red, green, blue.
    pixels: np.ndarray


def draw(seed: int, count: int, charset: list[str]) -> list[Line]:
    """Draws `count` lines. Chinese mixes phrases and single characters of the charset, to cover all kinds of strokes."""
    chance = random.Random(seed)
    rare = [sign for sign in charset if len(sign) == 1 and "\u4e00" <= sign <= "\u9fff"]
    return [draw_line(chance, rare) for _ in range(count)]


def draw_line(chance: random.Random, rare: list[str]) -> Line:
    chinese = chance.random() < 0.45
    text = chinese_text(chance, rare) if chinese else english_text(chance)
    size = chance.choice([10, 11, 12, 13, 13, 14, 14, 15, 16, 16, 18, 20, 24, 28])
    font = load_font(chance.choice(CHINESE if chinese else LATIN), max(size, 12) if chinese else size)
    ink, ground = chance.choice(COLOURS)
    return Line(text, render_line(text, font, ink, ground, [chance.randint(1, 5) for _ in range(4)]))


def load_font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / name, size, index=SIMPLIFIED if name.endswith(".ttc") else 0)


def render_line(text: str, font: ImageFont.FreeTypeFont, ink: str, ground: str, margins: list[int]) -> np.ndarray:
    """Draws the text with a margin, as in the boxes of text detection."""
    left, top, right, bottom = font.getbbox(text)
    size = (right - left + margins[0] + margins[2], bottom - top + margins[1] + margins[3])
    image = Image.new("RGB", size, ground)
    ImageDraw.Draw(image).text((margins[0] - left, margins[1] - top), text, fill=ink, font=font)
    return np.asarray(image)


def english_text(chance: random.Random) -> str:
    parts = [chance.choice(ENGLISH_PHRASES) for _ in range(chance.choice([1, 1, 1, 2, 2, 3]))]
    if chance.random() < 0.4:
        parts.insert(chance.randint(0, len(parts)), number(chance))
    return " ".join(parts)


def chinese_text(chance: random.Random, rare: list[str]) -> str:
    parts = [chance.choice(CHINESE_PHRASES) for _ in range(chance.choice([1, 1, 2, 3]))]
    if chance.random() < 0.5:
        parts.append("".join(chance.sample(rare, chance.randint(2, 8))))
    if chance.random() < 0.3:
        parts.append(number(chance))
    return chance.choice(["", "", "，"]).join(parts)


def number(chance: random.Random) -> str:
    shape = chance.randrange(5)
    if shape == 0:
        return f"{chance.randint(1, 9999)}.{chance.randint(0, 99):02}"
    if shape == 1:
        return f"{chance.randint(1990, 2030)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    if shape == 2:
        return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}"
    if shape == 3:
        return f"({chance.randint(1, 100)}%)"
    return "".join(chance.choice(SIGNS) for _ in range(chance.randint(2, 6)))

//! Vocabulary of the phrasebook, as tables. Lookup in a sentence is in `phrase`.
//!
//! The order of words is not described here: the parsers know it.

use motorium_proto::domain::action::{Button, FramePart};
use motorium_proto::domain::element::ElementKind;

use crate::matcher::Relation;

/// Verb of a clause. Its arguments are parsed in `clause`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// A click with this button and click count.
    Click(Button, u8),
    /// A key press if the object is a key, otherwise a click.
    Press,
    /// A choice from a list, or a click.
    Select,
    /// A checkbox to check (`true`) or uncheck.
    Toggle(bool),
    Hover,
    Type,
    /// An entry of text by an ambiguous verb, such as `write`: the text must be quoted or a field named.
    Write,
    /// A field, then its new text.
    Fill,
    /// A field, then its new text, which is required.
    Set,
    Clear,
    Hold,
    /// A scroll, with the direction if the verb includes it.
    Scroll(Option<Direction>),
    Wait,
    Drag,
    /// A drag of an element, or a move of the pointer.
    Move,
    Copy,
    Cut,
    Paste,
    SelectAll,
    Undo,
    Redo,
    /// An address, an application, or an element.
    Open,
    Launch,
    Visit,
    SwitchTo,
    Focus,
    Back,
    Forward,
    Refresh,
    Verify,
}

/// Direction of a scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
}

/// A click.
const LEFT: Verb = Verb::Click(Button::Left, 1);
/// A double click.
const DOUBLE: Verb = Verb::Click(Button::Left, 2);
/// A triple click, which selects a line or paragraph.
const TRIPLE: Verb = Verb::Click(Button::Left, 3);
/// A click that opens the context menu.
const RIGHT: Verb = Verb::Click(Button::Right, 1);
/// A click with the middle button.
const MIDDLE: Verb = Verb::Click(Button::Middle, 1);

/// All verbs with their phrases.
pub(super) const VERBS: &[(Verb, &[&str])] = &[
    (LEFT, &["click on", "click at", "click", "left-click on", "left-click", "left click on", "left click", "single-click", "tap on", "tap", "press on", "expand", "collapse", "find and click on", "find and click"]),
    (LEFT, &["点击", "单击", "左键点击", "左键单击", "点按", "轻点", "轻触", "点选", "点开", "点", "展开", "折叠", "收起"]),
    (DOUBLE, &["double-click on", "double-click", "double click on", "double click", "doubleclick", "double-tap", "double tap", "双击", "左键双击"]),
    (TRIPLE, &["triple-click on", "triple-click", "triple click on", "triple click", "三击", "三连击"]),
    (RIGHT, &["right-click on", "right-click", "right click on", "right click", "rightclick", "右键点击", "右键单击", "右击", "右键"]),
    (MIDDLE, &["middle-click on", "middle-click", "middle click on", "middle click", "中键点击", "中键单击"]),
    (Verb::Press, &["press", "hit", "strike", "push", "按下", "按", "敲", "敲击"]),
    (Verb::Select, &["select", "choose", "pick", "选择", "选取", "挑选", "选"]),
    (Verb::Toggle(true), &["check", "tick", "check off", "tick off", "turn on", "switch on", "勾选", "选中", "勾上", "开启"]),
    (Verb::Toggle(false), &["uncheck", "untick", "turn off", "switch off", "deselect", "unselect", "取消勾选", "取消选中", "取消选择", "去掉勾选"]),
    (Verb::Hover, &["hover over", "hover on", "hover", "point at", "point to", "mouse over", "move the mouse to", "move the mouse over", "move the mouse pointer to", "move the pointer to", "move the cursor to", "move mouse to", "move to", "悬停在", "悬停到", "悬停", "指向", "移动到", "移到", "鼠标移动到", "鼠标移到", "移动鼠标到", "将鼠标移动到", "把鼠标移动到", "将鼠标移到", "把鼠标移到", "将鼠标悬停在", "鼠标悬停在"]),
    (Verb::Type, &["type", "type in", "enter", "input", "key in", "输入", "键入", "录入", "写入", "填入"]),
    (Verb::Write, &["write", "insert", "put", "写", "写上", "填上"]),
    (Verb::Fill, &["fill in", "fill out", "fill", "填写", "填"]),
    (Verb::Set, &["set", "replace", "change", "设置", "设定", "设", "修改", "改", "替换"]),
    (Verb::Clear, &["clear", "clear out", "empty", "erase", "清空", "清除", "清掉"]),
    (Verb::Hold, &["hold down", "hold", "press and hold", "press and hold down", "keep pressing", "按住", "长按", "按着"]),
    (Verb::Scroll(None), &["scroll", "滚动", "滑动", "滚"]),
    (Verb::Scroll(Some(Direction::Down)), &["scroll down", "scroll downwards", "向下滚动", "往下滚动", "向下滑动", "往下滑动", "向下滚", "往下滚", "下滚", "向下翻", "往下翻"]),
    (Verb::Scroll(Some(Direction::Up)), &["scroll up", "scroll upwards", "向上滚动", "往上滚动", "向上滑动", "往上滑动", "向上滚", "往上滚", "上滚", "向上翻", "往上翻"]),
    (Verb::Scroll(Some(Direction::Left)), &["scroll left", "scroll to the left", "向左滚动", "往左滚动", "向左滑动", "向左滚"]),
    (Verb::Scroll(Some(Direction::Right)), &["scroll right", "scroll to the right", "向右滚动", "往右滚动", "向右滑动", "向右滚"]),
    (Verb::Wait, &["wait", "pause", "sleep", "等待", "等到", "等", "暂停", "稍等"]),
    (Verb::Drag, &["drag and drop", "drag", "拖动", "拖拽", "拖放", "拖"]),
    (Verb::Move, &["move", "移动"]),
    (Verb::Copy, &["copy", "复制", "拷贝"]),
    (Verb::Cut, &["cut", "剪切"]),
    (Verb::Paste, &["paste", "粘贴"]),
    (Verb::SelectAll, &["select all", "select everything", "全选"]),
    (Verb::Undo, &["undo", "撤销"]),
    (Verb::Redo, &["redo", "重做"]),
    (Verb::Open, &["open up", "open", "打开"]),
    (Verb::Launch, &["launch", "start", "run", "启动", "运行"]),
    (Verb::Visit, &["go to", "visit", "navigate to", "browse to", "访问", "前往", "转到", "浏览"]),
    (Verb::SwitchTo, &["switch to", "switch over to", "bring up", "activate", "切换到", "切换至", "切到", "激活"]),
    (Verb::Focus, &["focus on", "focus into", "focus in", "focus", "聚焦到", "聚焦", "定位到"]),
    (Verb::Back, &["go back", "navigate back", "返回", "后退"]),
    (Verb::Forward, &["go forward", "navigate forward", "前进"]),
    (Verb::Refresh, &["refresh", "reload", "刷新", "重新加载"]),
    (Verb::Verify, &["check that", "check if", "check whether", "verify that", "verify", "make sure that", "make sure", "ensure that", "ensure", "assert that", "assert", "confirm that", "确认", "确保", "检查", "验证", "核实"]),
];

/// Phrases that start like a verb of the table but have another meaning, which the phrasebook does not support.
pub(super) const NON_VERBS: &[&str] = &[
    "set up", "set aside", "check out", "check in", "pick up", "pick out", "put together", "put away", "put on", "turn in", "turn over", "hold on", "move on",
    "run out", "start over", "start again", "start by", "start with", "write to", "write down", "write about", "open a new", "change the way", "打车", "打字", "点餐",
    "点菜", "点评", "点赞", "写信", "改写", "改进", "改善", "选购", "等级", "等于", "填补", "设计", "设想", "设法", "按照", "按时", "按摩", "运行时", "写作", "写一",
];

/// Filler words before a verb.
pub(super) const FILLERS: &[&str] = &[
    "please", "kindly", "now", "just", "simply", "also", "first", "firstly", "first of all", "next", "finally", "lastly", "at last",
    "to begin", "can you", "could you", "would you", "will you", "you should", "you can", "i want you to", "i want to", "i would like you to",
    "i'd like you to", "i'd like to", "i need you to", "go ahead and", "try to", "hey", "hello", "ok", "okay", "let's", "let us", "and", "also",
    "then", "afterwards", "after that", "请你", "请您", "请", "麻烦你", "麻烦", "帮我", "帮忙", "我要", "我想", "首先", "先", "最后", "接下来",
    "现在", "然后", "接着", "随后", "之后", "其次", "再", "再次", "再一次", "并且", "并", "而且", "同时", "您", "你", "需要", "能否", "可以", "去", "用鼠标", "用鼠标左键", "快速",
];

/// Filler words at the end of a clause.
pub(super) const TRAILERS: &[&str] =
    &["please", "for me", "now", "thanks", "thank you", "吧", "一下", "即可", "就行", "就可以了", "谢谢", "哦", "了"];

/// Filler words after a Chinese verb (`点一下`, `点击了`).
pub(super) const AFTER_VERB: &[&str] = &["一下", "一次", "了", "：", ":"];

/// Words that always start the next clause.
pub(super) const SEQUENCE: &[&str] = &[
    "and then", "then", "after that", "afterwards", "followed by", "然后", "接着", "随后", "接下来", "之后", "紧接着",
];

/// Words that start the next clause before a verb, and otherwise join list items.
pub(super) const JOINERS: &[&str] = &["and", "&", "plus", "as well as", "并且", "而且", "并", "和", "与", "及", "以及", "再", "同时"];

/// Noun of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    Kind(ElementKind),
    Window,
    Application,
    Key,
    Address,
    /// The whole screen.
    Screen,
    /// A list to choose from, open or closed.
    List,
    /// Opened by a double click.
    File,
    /// A generic noun without a kind of element (`the item "A"`).
    Element,
}

/// All nouns with their spellings. Plurals count as the singular, because other words state the number.
pub(super) const NOUNS: &[(Noun, &[&str])] = &[
    (Noun::Kind(ElementKind::Button), &["button", "buttons", "btn", "push button", "按钮", "按键"]),
    (Noun::Kind(ElementKind::TextField), &["text field", "text fields", "field", "fields", "text box", "textbox", "text boxes", "textboxes", "input", "inputs", "input field", "input fields", "input box", "input textbox", "text input", "edit box", "entry field", "box", "textarea", "text area", "bar", "输入框", "文本框", "编辑框", "输入栏", "文本域", "字段", "框"]),
    (Noun::Kind(ElementKind::Checkbox), &["checkbox", "checkboxes", "check box", "check boxes", "tick box", "复选框", "勾选框", "多选框"]),
    (Noun::Kind(ElementKind::Radio), &["radio", "radio button", "radio buttons", "radio box", "option button", "单选框", "单选按钮", "单选项"]),
    (Noun::Kind(ElementKind::Switch), &["switch", "toggle", "toggle switch", "开关"]),
    (Noun::Kind(ElementKind::DropDown), &["dropdown", "drop-down", "drop down", "dropdown list", "drop-down list", "drop down list", "dropdown menu", "drop-down menu", "dropdown box", "drop-down box", "combo box", "combobox", "select box", "下拉框", "下拉列表", "下拉菜单", "下拉", "组合框"]),
    (Noun::Kind(ElementKind::Slider), &["slider", "sliders", "滑块", "滑动条", "滑条"]),
    (Noun::Kind(ElementKind::SpinBox), &["spinner", "spin box", "spinbox", "number box", "数字框", "微调框"]),
    (Noun::Kind(ElementKind::Tab), &["tab", "tabs", "标签页", "选项卡", "页签", "标签"]),
    (Noun::Kind(ElementKind::Link), &["link", "links", "hyperlink", "链接", "超链接"]),
    (Noun::Kind(ElementKind::MenuItem), &["menu", "menus", "menu item", "menu items", "menu entry", "menu option", "菜单", "菜单项"]),
    (Noun::Kind(ElementKind::ListItem), &["list item", "list items", "list entry", "列表项"]),
    (Noun::Kind(ElementKind::TableRow), &["row", "rows", "table row", "表格行"]),
    (Noun::Kind(ElementKind::Icon), &["icon", "icons", "图标"]),
    (Noun::Kind(ElementKind::Image), &["image", "images", "picture", "photo", "图片", "图像", "照片"]),
    (Noun::Kind(ElementKind::Label), &["label", "labels", "文字", "字样"]),
    (Noun::Kind(ElementKind::ScrollBar), &["scrollbar", "scroll bar", "滚动条"]),
    (Noun::Kind(ElementKind::Dialog), &["dialog", "dialog box", "dialogue", "dialogue box", "popup", "pop-up", "对话框", "弹窗", "弹出框"]),
    (Noun::Window, &["window", "windows", "窗口", "视窗"]),
    (Noun::Application, &["app", "application", "program", "应用", "应用程序", "程序", "软件"]),
    (Noun::Key, &["key", "keys", "key combination", "shortcut", "键", "键盘", "快捷键", "组合键"]),
    (Noun::Address, &["url", "address", "website", "web site", "site", "web page", "webpage", "page", "网址", "网站", "网页", "地址", "链接地址"]),
    (Noun::Screen, &["screen", "desktop", "display", "屏幕", "桌面", "界面", "页面"]),
    (Noun::List, &["list", "lists", "scroll list", "listbox", "list box", "selection list", "列表", "列表框", "名单"]),
    (Noun::File, &["folder", "file", "文件夹"]),
    (Noun::Element, &["one", "item", "items", "option", "options", "element", "entry", "word", "words", "text", "section", "heading", "result", "control", "table", "form", "panel", "group", "sidebar", "toolbar", "menu bar", "card", "选项", "项目", "条目", "文本", "单词", "控件", "元素", "表格", "表单", "面板", "工具栏", "侧边栏", "菜单栏", "区域"]),
];

/// Places with their phrases.
pub(super) const PLACES: &[(FramePart, &[&str])] = &[
    (FramePart::TopLeft, &["top left", "top-left", "upper left", "upper-left", "左上角", "左上方", "左上"]),
    (FramePart::TopRight, &["top right", "top-right", "upper right", "upper-right", "右上角", "右上方", "右上"]),
    (FramePart::BottomLeft, &["bottom left", "bottom-left", "lower left", "lower-left", "左下角", "左下方", "左下"]),
    (FramePart::BottomRight, &["bottom right", "bottom-right", "lower right", "lower-right", "右下角", "右下方", "右下"]),
    (FramePart::Top, &["top", "upper", "顶部", "顶端", "上方", "最上面", "上面", "上部"]),
    (FramePart::Bottom, &["bottom", "lower", "底部", "底端", "下方", "最下面", "下面", "下部"]),
    (FramePart::Left, &["left", "left-hand", "左侧", "左边", "左面", "左方"]),
    (FramePart::Right, &["right", "right-hand", "右侧", "右边", "右面", "右方"]),
    (FramePart::Centre, &["centre", "center", "middle", "中间", "中央", "正中", "中部", "中心"]),
];

/// Words that may follow a place (`at the top of the page`, `右上角`).
pub(super) const PLACE_NOUNS: &[&str] = &[
    "corner", "side", "edge", "half", "part", "area", "of the screen", "of the page", "of the window", "of the desktop", "of the display",
    "of screen", "of page", "on the screen", "on the page",
];

/// Words that may precede a Chinese place.
pub(super) const BEFORE_PLACE: &[&str] = &["页面的", "屏幕的", "窗口的", "桌面的", "页面", "屏幕", "窗口", "桌面", "位于", "在"];

/// Relations between two elements. The English phrase precedes the other element.
pub(super) const RELATIONS_BEFORE: &[(Relation, &[&str])] = &[
    (Relation::NextTo, &["next to", "beside", "near", "close to", "adjacent to"]),
    (Relation::LeftOf, &["left of", "to the left of", "on the left of"]),
    (Relation::RightOf, &["right of", "to the right of", "on the right of"]),
    (Relation::Above, &["above", "over"]),
    (Relation::Below, &["below", "under", "underneath", "beneath"]),
    (Relation::RowOf, &["in the row of", "in the row with", "in the row for", "in the row", "in the same row as", "on the row of", "on the row"]),
    (Relation::Inside, &["in", "inside", "within", "on", "of", "from"]),
];

/// Chinese relations, which stand between the other element and the target.
pub(super) const RELATIONS_BETWEEN: &[(Relation, &[&str])] = &[
    (Relation::NextTo, &["旁边的", "旁的", "附近的"]),
    (Relation::LeftOf, &["左边的", "左侧的", "左面的"]),
    (Relation::RightOf, &["右边的", "右侧的", "右面的", "后面的"]),
    (Relation::Above, &["上方的", "上面的"]),
    (Relation::Below, &["下方的", "下面的"]),
    (Relation::RowOf, &["所在行的", "那一行的", "这一行的", "同一行的", "行的"]),
    (Relation::Inside, &["对话框中的", "对话框里的", "窗口中的", "窗口里的", "中的", "里的", "内的", "上的"]),
];

/// Words that introduce the text of an element (`the button labelled "OK"`).
pub(super) const LABEL_PHRASES: &[&str] = &[
    "labeled with", "labelled with", "labeled", "labelled", "called", "named", "titled", "entitled", "marked", "saying", "reading", "that says",
    "that reads", "which says", "with the text", "with text", "with the label", "with label", "with the name", "with the title", "containing",
];

/// Chinese words that introduce the text of an element; `的` and the kind follow the text.
pub(super) const LABEL_PHRASES_CHINESE: &[&str] = &["名为", "名叫", "叫做", "叫", "写着", "标有", "标着", "显示", "标题为", "文字为", "内容为", "带有"];

/// Determiners.
pub(super) const DETERMINERS: &[&str] = &["the", "a", "an", "this", "that", "my", "your", "its", "这个", "那个", "该", "此", "一个"];

/// Words for all matching elements.
pub(super) const ALL_OF: &[&str] =
    &["both of the", "both the", "both", "all of the", "all the", "all", "every", "each of the", "each", "两个", "所有的", "所有", "全部", "每个", "每一个"];

/// Pronouns for the target named last.
pub(super) const PRONOUNS: &[&str] = &["it", "them", "that", "this", "它", "他", "其"];

/// Ordinals in words.
pub(super) const ORDINALS: &[(u32, &[&str])] = &[
    (1, &["first"]),
    (2, &["second"]),
    (3, &["third"]),
    (4, &["fourth"]),
    (5, &["fifth"]),
    (6, &["sixth"]),
    (7, &["seventh"]),
    (8, &["eighth"]),
    (9, &["ninth"]),
    (10, &["tenth"]),
    (11, &["eleventh"]),
    (12, &["twelfth"]),
];

/// Words for the last element.
pub(super) const LAST: &[&str] = &["last", "final", "最后一个", "最后的", "最末一个"];

/// Classifiers after a Chinese ordinal (`第二个`).
pub(super) const CLASSIFIERS: &[&str] = &["个", "项", "条", "行", "处", "张", "次"];

/// Numbers in words.
pub(super) const NUMBERS: &[(u32, &[&str])] = &[
    (1, &["one", "once", "a", "an"]),
    (2, &["two", "twice"]),
    (3, &["three", "thrice"]),
    (4, &["four"]),
    (5, &["five"]),
    (6, &["six"]),
    (7, &["seven"]),
    (8, &["eight"]),
    (9, &["nine"]),
    (10, &["ten"]),
    (12, &["twelve"]),
    (15, &["fifteen"]),
    (20, &["twenty"]),
    (30, &["thirty"]),
];

/// Units of time, in milliseconds.
pub(super) const TIME_UNITS: &[(u32, &[&str])] = &[
    (1, &["ms", "millisecond", "milliseconds", "msec", "毫秒"]),
    (1_000, &["s", "sec", "secs", "second", "seconds", "秒钟", "秒"]),
    (60_000, &["min", "mins", "minute", "minutes", "分钟", "分"]),
];

/// Vague durations, in milliseconds.
pub(super) const VAGUE_TIMES: &[(u32, &[&str])] = &[
    (500, &["half a second", "半秒", "半秒钟"]),
    (1_000, &["a moment", "a bit", "a little", "a while", "briefly", "片刻", "一会儿", "一会", "一下"]),
];

/// Words for repetitions, after a number.
pub(super) const TIMES: &[&str] = &["times", "time", "x", "次", "下", "遍"];

/// Words for wheel notches, after a number.
pub(super) const NOTCHES: &[&str] =
    &["notches", "notch", "clicks", "click", "ticks", "steps", "lines", "times", "time", "格", "次", "下", "行"];

/// Words for pixels, after a number.
pub(super) const PIXELS: &[&str] = &["pixels", "pixel", "px", "像素", "个像素"];

/// Directions without a verb.
pub(super) const DIRECTIONS: &[(Direction, &[&str])] = &[
    (Direction::Down, &["down", "downwards", "downward", "向下", "往下"]),
    (Direction::Up, &["up", "upwards", "upward", "向上", "往上"]),
    (Direction::Left, &["left", "leftwards", "to the left", "向左", "往左"]),
    (Direction::Right, &["right", "rightwards", "to the right", "向右", "往右"]),
];

/// Ends of the scroll range.
pub(super) const ENDS: &[(Direction, &[&str])] = &[
    (Direction::Down, &["to the bottom", "to the very bottom", "to the end", "all the way down", "all the way", "to bottom", "到底部", "到最底部", "到页面底部", "到最下面", "到底端", "到底", "到末尾"]),
    (Direction::Up, &["to the top", "to the very top", "to the beginning", "to the start", "all the way up", "to top", "到顶部", "到最顶部", "到页面顶部", "到最上面", "到顶端", "到顶", "到开头"]),
    (Direction::Left, &["to the far left", "to the left end", "到最左边", "到最左侧"]),
    (Direction::Right, &["to the far right", "to the right end", "到最右边", "到最右侧"]),
];

/// Words that introduce a condition.
pub(super) const UNTIL: &[&str] = &["until", "till", "for", "直到", "到", "至"];

/// Predicates after a text: it is visible.
pub(super) const SHOWN: &[&str] = &[
    "to appear", "to be shown", "to be visible", "to show up", "to show", "appears", "appear", "is shown", "are shown", "is visible", "are visible", "is displayed",
    "is on the screen", "is on screen", "is present", "is there", "exists", "shows up", "shows", "is seen", "can be seen", "出现", "显示出来", "显示", "可见",
    "存在", "已出现", "已显示", "出现了", "加载出来", "加载完成",
];

/// Predicates after a text: it is not visible.
pub(super) const HIDDEN: &[&str] = &[
    "to disappear", "to vanish", "to go away", "disappears", "disappear", "vanishes", "is gone", "has gone", "is hidden", "goes away", "is not shown", "is not visible",
    "is not there", "is not present", "is not displayed", "isn't shown", "isn't visible", "isn't there", "does not appear", "doesn't appear", "does not exist", "are gone",
    "消失了", "消失", "不见了", "不存在", "不显示", "没有出现", "未出现", "不可见",
];

/// Predicates before a text: it is visible.
pub(super) const SHOWN_BEFORE: &[&str] = &["there is", "there are", "you see", "i see", "is shown", "出现了", "出现", "显示了", "显示", "看到", "存在", "有"];

/// Predicates before a text: it is not visible.
pub(super) const HIDDEN_BEFORE: &[&str] =
    &["there is no", "there are no", "no", "没有出现", "没有显示", "没有", "不存在", "未出现", "不显示", "不出现"];

/// Filler words before a condition.
pub(super) const CONDITION_FILLERS: &[&str] =
    &["the text", "text", "the word", "the words", "the message", "the page shows", "the screen shows", "页面上", "页面中", "页面", "屏幕上", "屏幕", "是否", "已经", "已", "能", "文字", "文本"];

/// Words that introduce a maximum duration.
pub(super) const TIMEOUT: &[&str] = &["for up to", "for at most", "up to", "at most", "within", "最多", "最长", "至多"];

/// Prepositions before the field to type into. These always introduce a field; those of [`POSSIBLE_INTO`] only before an
/// unambiguous field, because they occur in ordinary text as well.
pub(super) const INTO: &[&str] = &["into", "in to", "inside"];
/// See [`INTO`].
pub(super) const POSSIBLE_INTO: &[&str] = &["in", "to", "on", "as", "for", "at"];
/// Chinese prepositions before a field, after the verb or the text.
pub(super) const INTO_CHINESE: &[&str] = &["到", "进", "入", "至", "在", "到了"];

/// Words before a field's new text.
pub(super) const FILLED_WITH: &[&str] = &["with", "to", "as", "=", "为", "成", "成为"];

/// Prepositions before the list to choose from.
pub(super) const SOURCE: &[&str] = &["from", "out of"];
/// Prepositions before a list to choose from, only before an unambiguous list.
pub(super) const POSSIBLE_SOURCE: &[&str] = &["in", "on", "of", "with"];

/// Prepositions before a drop target.
pub(super) const DRAG_TO: &[&str] = &["onto", "on to", "into", "to", "over", "on", "到", "至", "进", "入"];

/// Words that introduce a location phrase before the verb.
pub(super) const COVERBS: &[&str] = &["in", "into", "inside", "from", "on", "using", "use", "with", "在", "从", "于", "用", "使用", "通过", "对", "把", "将", "往", "向"];

/// Chinese locatives after an element's name.
pub(super) const LOCATIVES: &[&str] = &["里面", "里", "中", "内", "上", "处", "当中", "内部", "后面", "下", "之中"];

/// Chinese names of keys, with their chords.
pub(super) const CHINESE_KEYS: &[(&str, &[&str])] = &[
    ("enter", &["回车", "回车键", "确认键", "换行键"]),
    ("space", &["空格", "空格键"]),
    ("tab", &["制表键", "制表符"]),
    ("backspace", &["退格", "退格键"]),
    ("delete", &["删除键"]),
    ("escape", &["退出键", "取消键"]),
    ("up", &["上箭头", "向上箭头", "上方向键", "向上键", "方向键上", "上键"]),
    ("down", &["下箭头", "向下箭头", "下方向键", "向下键", "方向键下", "下键"]),
    ("left", &["左箭头", "向左箭头", "左方向键", "向左键", "方向键左", "左键头"]),
    ("right", &["右箭头", "向右箭头", "右方向键", "向右键", "方向键右", "右键头"]),
    ("pageup", &["上翻页键", "上一页键"]),
    ("pagedown", &["下翻页键", "下一页键"]),
    ("home", &["行首键"]),
    ("end", &["行尾键"]),
];

/// Names of keys that are equally often the text of a button; without the word `key` the button is meant.
pub(super) const AMBIGUOUS_KEY_NAMES: &[&str] = &[
    "back", "next", "prior", "print", "menu", "apps", "pause", "break", "add", "subtract", "divide", "multiply", "option", "command", "windows", "quote", "dot",
    "comma", "period", "plus", "minus", "equals", "equal", "colon", "opt", "insert", "meta",
];

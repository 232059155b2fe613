//! Names of content: titles of messages and articles, names of documents, and what is dragged.
//!
//! A title such as `Install the update today` says what a message is about, and not what a click on it does. It does not decide
//! what a list item is: perception does.

use motorium_proto::domain::element::{Element, ElementKind};
use motorium_text::fold::NormalisedText;

/// Kinds of elements that show content by its title.
const TITLE_KINDS: [ElementKind; 3] = [
    ElementKind::ListItem,
    ElementKind::TableRow,
    ElementKind::Link,
];
/// Kinds of elements that show a document by its name. A link with such a name may be a script of a site.
const DOCUMENT_KINDS: [ElementKind; 5] = [
    ElementKind::ListItem,
    ElementKind::TableRow,
    ElementKind::Icon,
    ElementKind::Image,
    ElementKind::Label,
];
/// Minimum length of a title, in words and in ideographs. Shorter texts are those of menus and buttons.
const MIN_TITLE_WORDS: usize = 3;
const MIN_TITLE_IDEOGRAPHS: usize = 5;
/// Minimum length of a name that is taken out of an intent, in words and in ideographs.
const MIN_NAME_WORDS: usize = 2;
const MIN_NAME_IDEOGRAPHS: usize = 4;
/// First words of an intent that looks at something.
const VIEWING_WORDS: [&str; 12] = [
    "open",
    "read",
    "show",
    "view",
    "look",
    "play",
    "preview",
    "select",
    "click",
    "choose",
    "mark",
    "highlight",
];
const VIEWING_PHRASES: [&str; 9] = [
    "打开", "查看", "阅读", "选择", "选中", "播放", "预览", "点击", "打開",
];
/// Words for content in an intent.
const CONTENT_WORDS: [&str; 22] = [
    "message", "mail", "email", "article", "bookmark", "song", "track", "video", "photo",
    "picture", "file", "document", "result", "post", "thread", "note", "book", "story", "event",
    "ticket", "card", "notice",
];
const CONTENT_PHRASES: [&str; 14] = [
    "邮件", "文章", "书签", "歌曲", "视频", "照片", "图片", "文件", "文档", "结果", "通知", "帖子",
    "热搜", "新闻",
];
/// Endings of documents that no program runs.
const DOCUMENT_ENDINGS: [&str; 34] = [
    "avi", "bmp", "csv", "doc", "docx", "epub", "flac", "gif", "jpeg", "jpg", "json", "log", "md",
    "mkv", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg", "pdf", "png", "ppt", "pptx", "svg",
    "tsv", "txt", "wav", "webp", "xls", "xlsx", "xml", "zip",
];

/// Returns true if an element only shows content: a document by its name, or something by its title if this is what the intent
/// looks at.
pub(super) fn shows_content(element: &Element, text: &str, intent: &str) -> bool {
    let is_document = DOCUMENT_KINDS.contains(&element.kind) && is_document_name(text);
    let is_title = TITLE_KINDS.contains(&element.kind) && is_title(text);
    is_document || (is_title && looks_at_content(&without_name(intent, text)))
}

/// Returns true for an entry of a list or a table.
pub(super) fn is_entry(element: &Element) -> bool {
    matches!(element.kind, ElementKind::ListItem | ElementKind::TableRow)
}

/// Returns true if an element is named by a title or a document, unlike the entry `Trash` of a list of folders.
pub(super) fn is_titled(element: &Element) -> bool {
    is_title(&element.content) || is_document_name(&element.content)
}

/// Returns an intent without the name of what it is about: `Drag "Buy milk" to the top` buys nothing. A name of one word may be the
/// order itself, and an intent that is nothing but the name too.
pub(super) fn without_name(intent: &str, name: &str) -> String {
    let name = name.trim();
    let plain = NormalisedText::of(name);
    let is_name = plain.words.len() >= MIN_NAME_WORDS
        || plain.characters.chars().count() >= MIN_NAME_IDEOGRAPHS;
    if !is_name {
        return intent.to_owned();
    }
    let (mut kept, mut rest) = (String::new(), intent);
    while let Some(at) = find_ignoring_case(rest, name) {
        kept += &rest[..at.start];
        kept.push(' ');
        rest = &rest[at.end..];
    }
    kept += rest;
    match kept.contains(char::is_alphanumeric) {
        true => kept,
        false => intent.to_owned(),
    }
}

/// Returns the position of a text in another one. Letters are compared one by one, because the lower case of some is longer.
fn find_ignoring_case(text: &str, wanted: &str) -> Option<std::ops::Range<usize>> {
    let wanted: Vec<char> = wanted.chars().flat_map(char::to_lowercase).collect();
    text.char_indices().find_map(|(start, _)| {
        let mut left = wanted.as_slice();
        for (offset, letter) in text[start..].char_indices() {
            let lower: Vec<char> = letter.to_lowercase().collect();
            left = left.strip_prefix(lower.as_slice())?;
            if left.is_empty() {
                let found = start..start + offset + letter.len_utf8();
                return is_apart(text, &found).then_some(found);
            }
        }
        None
    })
}

/// Returns true if no word of Latin letters goes on beyond a part of a text.
fn is_apart(text: &str, part: &std::ops::Range<usize>) -> bool {
    let is_letter =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    !is_letter(text[..part.start].chars().next_back())
        && !is_letter(text[part.end..].chars().next())
}

pub(super) fn is_title(text: &str) -> bool {
    let plain = NormalisedText::of(text);
    plain.words.len() >= MIN_TITLE_WORDS || plain.characters.chars().count() >= MIN_TITLE_IDEOGRAPHS
}

fn is_document_name(text: &str) -> bool {
    let text = text.trim();
    let is_known = |ending: &str| DOCUMENT_ENDINGS.contains(&ending.to_lowercase().as_str());
    let parts = text.rsplit_once('.');
    // With a space, it may be what a menu does with a document: `Delete report.pdf`.
    parts.is_some_and(|(name, ending)| !name.is_empty() && is_known(ending))
        && !text.contains(char::is_whitespace)
}

fn looks_at_content(intent: &str) -> bool {
    let plain = intent.to_lowercase();
    let mut own = plain
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let views = own
        .next()
        .is_some_and(|first| VIEWING_WORDS.contains(&first))
        && own.any(|word| CONTENT_WORDS.contains(&word.trim_end_matches('s')));
    let mentions = |phrases: &[&str]| phrases.iter().any(|phrase| intent.contains(phrase));
    views || (mentions(&VIEWING_PHRASES) && mentions(&CONTENT_PHRASES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_out_of_an_intent() {
        let check = |intent: &str, name: &str, expected: &str| {
            let left = without_name(intent, name);
            assert_eq!(left, expected, "{intent}");
        };
        check("Drag \"Buy milk\" up", "Buy Milk", "Drag \" \" up");
        check("把购买牛奶移到最后", "购买牛奶", "把 移到最后");
        check("İndir Buy milk", "buy milk", "İndir  ");
        check("Delete it", "", "Delete it");
        check("Delete it", "Buy milk", "Delete it");
        check("Delete the card", "e", "Delete the card");
        check("Send the message", "send", "Send the message");
        check("Delete file", "delete file", "Delete file");
        check("Undelete files now", "delete files", "Undelete files now");
    }

    #[test]
    fn only_documents_are_names_of_documents() {
        for name in ["submit.txt", "order-2026.pdf", "删除.ODT"] {
            assert!(is_document_name(name), "{name}");
        }
        for name in [
            "install.sh",
            "Delete report.pdf",
            ".pdf",
            "Delete",
            "run.exe",
        ] {
            assert!(!is_document_name(name), "{name}");
        }
    }
}

//! Words that a browser shows of its own accord about the page that it was told to open: the address in its address bar, in the
//! title of a tab and on its error pages. They are there whether the page came or not, so that they tell nothing about it.
//!
//! Pure. Where evidence is looked for, the caller decides; it also says which addresses were opened. The headings of error pages are
//! not in the lexicon, which users may replace: they are the browser's own words and not a matter of judgement.

use std::borrow::Cow;

use crate::fold::width_and_case;

/// Headings of the error pages of browsers, in English and Chinese: those that no page is likely to have for a line of its own,
/// so that a page about an error of its own is none. Texts of Chromium 156 (`components/error_page`) and Firefox ESR 140
/// (`netError.ftl`).
const ERROR_HEADINGS: &[&str] = &[
    "this site can't be reached",
    "this page isn't working",
    "this webpage is not available",
    "your connection is not private",
    "your file couldn't be accessed",
    "aw, snap!",
    "server not found",
    "problem loading page",
    "hmm. we're having trouble finding that site.",
    "无法访问此网站",
    "该网页无法正常运作",
    "未连接到互联网",
    "您的连接不是私密连接",
    "无法访问您的文件",
    "喔唷，崩溃啦！",
    "找不到服务器",
    "载入页面时出错",
];

/// Beginnings of the codes that Chromium shows below the heading (`net/base/net_error_list.h`), which are lines of their own, too.
const ERROR_CODES: [&str; 3] = ["ERR_", "DNS_PROBE_", "NET::ERR_"];
/// Code of an error page that a server answered with.
const HTTP_ERROR: &str = "HTTP ERROR ";

/// Returns the line that tells that a browser shows an error page in place of the page: its code, or else its heading.
pub fn browser_error<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let code = lines.clone().find(|line| is_error_code(line.trim()));
    let heading = || {
        let mut lines = lines;
        lines.find(|line| {
            let line = letters(line);
            ERROR_HEADINGS.iter().any(|known| letters(known) == line)
        })
    };
    code.or_else(heading).map(str::trim)
}

/// Headings of the question of a browser whether a page with unsaved changes may be left, in English and Chinese. Texts of Chromium
/// 156 (`components/javascript_dialogs`) and earlier ones.
const LEAVE_HEADINGS: &[&str] = &[
    "leave site?",
    "leave app?",
    "reload site?",
    "reload app?",
    "要离开此网站吗？",
    "离开此网站？",
    "要重新加载此网站吗？",
    "要重新加载该网站吗？",
    "重新加载此网站？",
];
/// Beginnings of the sentence below it. Text recognition may cut it where it wraps.
const LEAVE_REASONS: &[&str] = &[
    "changes you made may not be saved",
    "changes that you made may not be saved",
    "系统可能不会保存您所做的更改",
];
/// Beginning of the same question of Firefox ESR 140, which has no heading.
const LEAVE_SENTENCE: &str = "this page is asking you to confirm that you want to leave";
/// Names of the buttons that answer it by leaving the page, and by staying.
const LEAVE_BUTTONS: &[&str] = &[
    "leave",
    "reload",
    "leave page",
    "离开",
    "重新加载",
    "离开页面",
];
const STAY_BUTTONS: &[&str] = &["cancel", "stay on page", "取消", "留在页面"];

/// Returns the line in which a browser asks whether a page with unsaved changes may be left.
pub fn leave_question<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let is_heading = |line: &&str| {
        let line = letters(line);
        LEAVE_HEADINGS.iter().any(|known| letters(known) == line)
    };
    let is_reason = |line: &str| {
        let line = letters(line);
        LEAVE_REASONS
            .iter()
            .any(|known| line.starts_with(&letters(known)))
    };
    let is_sentence = |line: &&str| letters(line).starts_with(&letters(LEAVE_SENTENCE));
    let has_reason = || lines.clone().any(is_reason);
    let heading = lines.clone().find(is_heading).filter(|_| has_reason());
    heading
        .or_else(|| lines.clone().find(is_sentence))
        .map(str::trim)
}

/// Returns true if a button with this name answers the question of [`leave_question`].
#[must_use]
pub fn answers_leave_question(name: &str) -> bool {
    is_one_of(name, LEAVE_BUTTONS) || stays_on_page(name)
}

/// Returns true if a button with this name answers the question of [`leave_question`] with no.
#[must_use]
pub fn stays_on_page(name: &str) -> bool {
    is_one_of(name, STAY_BUTTONS)
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    let name = letters(name);
    names.iter().any(|known| letters(known) == name)
}

/// Headings of bubbles that Chromium 156 and Firefox ESR 140 show over a page, in English and Chinese.
const BUBBLE_HEADINGS: &[&str] = &[
    "save password?",
    "update password?",
    "save address?",
    "save card?",
    "translate this page?",
    "restore pages?",
    "show notifications",
    "要保存密码吗？",
    "要更新密码吗？",
    "要保存地址吗？",
    "要恢复页面吗？",
    "要翻译此网页吗？",
    "显示通知",
];

/// Returns the heading of a bubble that a browser shows over a page. A page may say the same.
pub fn browser_bubble<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let heading = lines.find(|line| is_one_of(line, BUBBLE_HEADINGS));
    heading.map(str::trim)
}

/// Words that stand beside the number of a status in a server's own page, in lower case.
const STATUS_WORDS: [&str; 18] = [
    "not found",
    "nothing here",
    "no such",
    "does not exist",
    "doesn’t exist",
    "doesn't exist",
    "error",
    "forbidden",
    "unauthorized",
    "gone",
    "bad gateway",
    "gateway timeout",
    "service unavailable",
    "错误",
    "未找到",
    "找不到",
    "不存在",
    "无法访问",
];

/// Status of a page that a server does not have. Other numbers that stand alone may be anything.
const NOT_FOUND: &str = "404";

/// Maximum number of characters of a line that tells a status. Longer ones are sentences about something else.
const MAX_STATUS_CHARS: usize = 50;

/// Returns the line in which a page says that a server did not have what was asked for, such as `404 Not Found`. The page has come,
/// so it may still be what is wanted.
pub fn status_line<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.find(|line| is_status(line)).map(str::trim)
}

fn is_status(line: &str) -> bool {
    if line.chars().count() > MAX_STATUS_CHARS {
        return false;
    }
    let mut numbers = line.split(|letter: char| !letter.is_ascii_digit());
    let is_error = |number: &str| number.len() == 3 && number.starts_with(['4', '5']);
    let lower = line.to_lowercase();
    // Many pages show the number alone, in large digits.
    line.trim() == NOT_FOUND
        || numbers.any(is_error) && STATUS_WORDS.iter().any(|word| lower.contains(word))
}

fn is_error_code(line: &str) -> bool {
    let is_number =
        |rest: &str| rest.len() == 3 && rest.bytes().all(|digit| digit.is_ascii_digit());
    // Text recognition drops underscores, and a line of capital letters alone is still no sentence.
    let is_name = |rest: &str| {
        let mut letters = rest.chars();
        rest.len() > 2
            && letters.all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || " _".contains(it))
    };
    let name = ERROR_CODES.iter().find_map(|code| line.strip_prefix(code));
    name.is_some_and(is_name) || line.strip_prefix(HTTP_ERROR).is_some_and(is_number)
}

/// Returns the letters and digits of a text in lower case and one width. Apostrophes come in several forms, and text recognition
/// drops some of them.
fn letters(text: &str) -> String {
    width_and_case(text)
        .filter(|character| character.is_alphanumeric())
        .collect()
}

/// The words of a browser about the pages that a task has opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowserWords {
    /// Hosts, and names of files, in lower case.
    names: Vec<String>,
    is_error_page: bool,
}

impl BrowserWords {
    /// Returns the words about pages at these addresses, on a screen with these lines.
    pub fn new<'a>(
        addresses: impl IntoIterator<Item = &'a str>,
        lines: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let mut names: Vec<String> = addresses.into_iter().filter_map(name_in).collect();
        names.sort();
        names.dedup();
        let is_error_page = !names.is_empty() && browser_error(lines).is_some();
        Self {
            names,
            is_error_page,
        }
    }

    /// Returns a line without the words that are parts of an opened address. If `wanted` names an address, the whole line
    /// counts, except on an error page: there the page has not come.
    #[must_use]
    pub fn removed_from<'a>(&self, line: &'a str, wanted: &str) -> Cow<'a, str> {
        let wanted = wanted.to_lowercase();
        let is_wanted = self.names.iter().any(|name| wanted.contains(name));
        if self.names.is_empty() || is_wanted && !self.is_error_page {
            return Cow::Borrowed(line);
        }
        let mut rest = String::new();
        let mut was_removed = false;
        for piece in pieces(line) {
            let lower = piece.to_lowercase();
            match self.names.iter().any(|name| lower.contains(name)) {
                // A space, so that the words on both sides stay two.
                true => rest.push(' '),
                false => rest.push_str(piece),
            }
            was_removed |= self.names.iter().any(|name| lower.contains(name));
        }
        match was_removed {
            true => Cow::Owned(rest),
            false => Cow::Borrowed(line),
        }
    }
}

/// Returns a line in pieces: runs of visible ASCII characters, of which an address is one, and what is between them. Chinese
/// texts have no spaces around an address.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?.is_ascii_graphic();
        let end = rest.find(|character: char| character.is_ascii_graphic() != first);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

/// Returns the part of an address by which a browser names it: the host without `www.`, or the name of a local file. `None` for
/// what is no address of a page.
fn name_in(address: &str) -> Option<String> {
    let address = address.trim();
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let path = rest.split(['?', '#']).next()?;
    if scheme.eq_ignore_ascii_case("file") {
        let name = path.rsplit('/').find(|part| !part.is_empty())?;
        return Some(name.to_lowercase());
    }
    let authority = path.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    // A port is not part of what an error page names. Addresses of IPv6 have colons of their own.
    let host = match host.strip_prefix('[') {
        Some(host) => host.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.to_lowercase();
    let host = host.trim_start_matches("www.").trim_end_matches('.');
    // A single word is a page of the browser (`about:blank`), or a name that pages use as a word.
    let is_host = host.contains(['.', ':']) || host == "localhost";
    is_host.then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR_PAGE: [&str; 5] = [
        "This site can’t be reached",
        "Check if there is a typo in www.example.org.",
        "ERR_NAME_NOT_RESOLVED",
        "example.org/welcome",
        "Reload",
    ];

    fn words(lines: &[&'static str]) -> BrowserWords {
        BrowserWords::new(
            ["https://www.Example.org:8443/welcome?x=1"],
            lines.iter().copied(),
        )
    }

    #[test]
    fn an_opened_address_is_no_word_of_the_page() {
        let words = words(&["Example Domain"]);
        let rest = |line, wanted| words.removed_from(line, wanted).trim().to_owned();
        assert_eq!(rest("example.org/welcome", "Welcome"), "");
        assert_eq!(rest("example.org's server", "Example"), "server");
        assert_eq!(rest("Example Domain", "Example"), "Example Domain");
        assert_eq!(
            rest("请检查WWW.EXAMPLE.ORG中的错误", "错误"),
            "请检查 中的错误"
        );
        // The address itself is wanted.
        assert_eq!(
            rest("Go to example.org", "example.org"),
            "Go to example.org"
        );
    }

    #[test]
    fn on_an_error_page_the_address_is_not_shown_even_if_it_is_wanted() {
        let words = words(&ERROR_PAGE);
        let rest = words.removed_from(
            "Check if there is a typo in www.example.org.",
            "example.org",
        );
        assert_eq!(rest.trim(), "Check if there is a typo in");
        let heading = words.removed_from(ERROR_PAGE[0], "can’t be reached");
        assert_eq!(heading, ERROR_PAGE[0], "a user may wait for the error");
    }

    #[test]
    fn a_page_without_what_was_asked_for_is_known_by_its_status() {
        for line in [
            "404 Not Found",
            "Error code: 404",
            "403 Forbidden",
            " 502 Bad Gateway ",
            "404 - 页面不存在",
            "HTTP Error 500",
            "404 nothing here",
            "404",
        ] {
            assert_eq!(status_line([line].into_iter()), Some(line.trim()), "{line}");
        }
        for line in [
            "404 pages",
            "Not found",
            "Invoice 404",
            "1404 errors",
            "Error 200",
            "500",
            "We had 404 visitors who did not read what the error of our server meant",
        ] {
            assert_eq!(status_line([line].into_iter()), None, "{line}");
        }
    }

    #[test]
    fn error_pages_are_told_from_texts_about_them() {
        let error = |lines: &[&'static str]| browser_error(lines.iter().copied());
        assert_eq!(error(&ERROR_PAGE), Some("ERR_NAME_NOT_RESOLVED"));
        assert_eq!(error(&["Hello", "ERR NAME"]), None);
        assert_eq!(error(&["HTTP ERROR 404"]), Some("HTTP ERROR 404"));
        assert_eq!(error(&["无法访问此网站"]), Some("无法访问此网站"));
        assert_eq!(error(&["Server Not Found "]), Some("Server Not Found"));
        assert_eq!(
            error(&["Unable to connect"]),
            None,
            "an application says so, too"
        );
        let article = "How to fix ERR_NAME_NOT_RESOLVED and This site can’t be reached";
        assert_eq!(error(&[article, "HTTP ERROR handling"]), None);
    }

    #[test]
    fn the_question_whether_to_leave_a_page_is_told_from_texts_about_it() {
        let question = |lines: &[&'static str]| leave_question(lines.iter().copied());
        let body = "Changes you made may not be saved.";
        assert_eq!(
            question(&["Draft", " Leave site? ", body]),
            Some("Leave site?")
        );
        assert_eq!(
            question(&["Reload site?", body, "Cancel"]),
            Some("Reload site?")
        );
        assert_eq!(
            question(&["要离开此网站吗？", "系统可能不会保存您所做的更改。"]),
            Some("要离开此网站吗？")
        );
        let firefox = "This page is asking you to confirm that you want to leave —";
        assert_eq!(question(&[firefox]), Some(firefox));
        assert_eq!(question(&["Leave site?"]), None);
        assert_eq!(question(&[body, "Leave"]), None);
        assert_eq!(question(&["When to leave site? An article", body]), None);
        assert!(answers_leave_question("Reload") && answers_leave_question("取消"));
        assert!(!answers_leave_question("Delete") && !answers_leave_question(""));
        assert!(stays_on_page("Cancel") && !stays_on_page("Reload"));
        let bubble = browser_bubble(["Inbox", "Save password? "].into_iter());
        assert_eq!(bubble, Some("Save password?"));
        assert_eq!(browser_bubble(["How to save password?"].into_iter()), None);
    }

    #[test]
    fn addresses_have_names() {
        let names = [
            ("https://user@example.org:80/a", Some("example.org")),
            ("example.org", Some("example.org")),
            ("http://[::1]:8000/", Some("::1")),
            ("http://localhost:8000", Some("localhost")),
            ("file:///home/ann/Welcome.html", Some("welcome.html")),
            ("about:blank", None),
            ("", None),
        ];
        for (address, name) in names {
            assert_eq!(name_in(address).as_deref(), name, "{address}");
        }
    }
}

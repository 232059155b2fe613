//! What is typed is what is received.

use std::fs;

use motorium_executor::drivers::x11::X11Driver;

use crate::support::page::{self, Page};
use crate::support::{Desktop, wait_for};
use crate::{chord, driver, perform, type_text};

/// Texts that others get wrong.
fn corpus() -> Vec<String> {
    let ascii: String = (' '..='~').collect();
    let chinese: String = ('\u{4e00}'..'\u{4e3c}').collect();
    let fixed = [
        "The quick brown fox jumps over the lazy dog, 42 times; isn't it?",
        "äöüß ÄÖÜ éèçà €µ ñ",
        "你好世界",
        "こんにちは、カタカナと漢字",
        "👩‍👩‍👧‍👦 👍🏽 🇩🇪",
        "e\u{301}a\u{308}o\u{302} n\u{303}",
        "one\ttwo\nthree\tfour\nfive",
    ];
    [ascii, chinese]
        .into_iter()
        .chain(fixed.map(str::to_owned))
        .collect()
}

async fn check_browser(layout: &str) {
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    for text in corpus() {
        // Tab leaves a text area.
        let text = text.replace('\t', " ");
        perform(&driver, type_text(&text))
            .await
            .unwrap_or_else(|failure| panic!("{layout}: {text:?}: {failure}"));
        assert_eq!(received(&driver, &page).await, text, "layout {layout}");
    }
}

pub(crate) async fn received(driver: &X11Driver, page: &Page) -> String {
    page.clear();
    perform(driver, chord("f9")).await.unwrap();
    let report = page
        .wait("the page's text", |event| event["kind"] == "text")
        .await;
    report["value"].as_str().unwrap().to_owned()
}

async fn check_editor(layout: &str) {
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let file = desktop.path("text.txt");
    fs::write(&file, "").unwrap();
    let mut editor = desktop.command("mousepad");
    desktop.open(editor.arg(&file), "mousepad").await;
    for text in corpus() {
        perform(&driver, chord("ctrl+a")).await.unwrap();
        perform(&driver, type_text(&text))
            .await
            .unwrap_or_else(|failure| panic!("{layout}: {text:?}: {failure}"));
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        perform(&driver, chord("ctrl+s")).await.unwrap();
        wait_for("the saved file", || {
            (fs::metadata(&file).ok()?.modified().ok()? > before).then_some(())
        })
        .await;
        let saved = wait_for("its content", || {
            fs::read_to_string(&file)
                .ok()
                .filter(|text| !text.is_empty())
        })
        .await;
        assert_eq!(saved, text, "layout {layout}");
    }
}

async fn check_terminal(layout: &str) {
    const END: u8 = 0x04;
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let file = desktop.path("bytes");
    let mut terminal = desktop.command("xterm");
    let script = format!("stty raw -echo; exec cat > {}", file.display());
    desktop
        .open(terminal.args(["-u8", "-e", "sh", "-c", &script]), "xterm")
        .await;
    wait_for("the terminal's program", || file.exists().then_some(())).await;
    let mut before = 0;
    for text in corpus() {
        perform(&driver, type_text(&text))
            .await
            .unwrap_or_else(|failure| panic!("{layout}: {text:?}: {failure}"));
        perform(&driver, chord("ctrl+d")).await.unwrap();
        let bytes = wait_for("the end of the text", || {
            fs::read(&file)
                .ok()
                .filter(|bytes| bytes[before..].last() == Some(&END))
        })
        .await;
        let text = text.replace('\n', "\r");
        assert_eq!(
            String::from_utf8_lossy(&bytes[before..bytes.len() - 1]),
            text,
            "layout {layout}"
        );
        before = bytes.len();
    }
}

#[tokio::test]
async fn a_browser_receives_the_text_on_an_american_keyboard() {
    check_browser("us").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_german_keyboard() {
    check_browser("de").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_french_keyboard() {
    check_browser("fr").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_an_american_keyboard() {
    check_editor("us").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_german_keyboard() {
    check_editor("de").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_french_keyboard() {
    check_editor("fr").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_an_american_keyboard() {
    check_terminal("us").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_german_keyboard() {
    check_terminal("de").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_french_keyboard() {
    check_terminal("fr").await;
}

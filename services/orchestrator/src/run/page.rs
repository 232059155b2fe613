//! The page that the browser in front shows, as its driver reports it. One short attempt: a page that hangs holds nothing up.

use std::time::Duration;

use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::frame::{Frame, is_browser};
use motorium_proto::service::ReadPageRequest;
use url::Url;

use super::context::RunContext;
use super::{RunResult, page_text};

/// Timeout for reading a page's URL; without it, the URL counts as unknown.
// A step or an action waits for it, and a page that hangs must not delay every one.
const PAGE_URL_TIMEOUT: Duration = Duration::from_millis(700);

/// Timeout for reading a page's text; without it, data is extracted from the screen alone.
// One extraction waits for it, and a long page takes its driver some hundred milliseconds.
const PAGE_TEXT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum length of a page's text, in characters.
// Longer texts rarely improve an extraction, and every token costs.
const MAX_PAGE_TEXT_CHARS: usize = 50_000;

/// Returns the URL of the page for the planner and the log; `None` if no browser is in front, or its URL is unknown.
pub(super) async fn current_url(run: &RunContext, frame: &Frame) -> RunResult<Option<String>> {
    if !run.config.features.tell_page_url || !is_in_front(run, frame) {
        return Ok(None);
    }
    let url = run.guard(read_url(run)).await?;
    Ok(url.map(|url| without_credentials(&url)))
}

/// Returns the text of the page, as far as the screen may be shown; `None` if no browser is in front, or its driver does not answer.
pub(super) async fn text(run: &RunContext, frame: &Frame) -> RunResult<Option<String>> {
    if run.config.features.gate_page_text && !is_in_front(run, frame) {
        return Ok(None);
    }
    let request = ReadPageRequest {
        display: run.display(),
        max_characters: MAX_PAGE_TEXT_CHARS,
    };
    let asked = run.ports.executor.read_page(request);
    let read = run.guard(tokio::time::timeout(PAGE_TEXT_TIMEOUT, asked));
    let Ok(Ok(page)) = read.await? else {
        return Ok(None);
    };
    Ok(page_text::redacted(&page.text, frame, &run.redactions(&[])))
}

/// Returns whether a browser is in front.
fn is_in_front(run: &RunContext, frame: &Frame) -> bool {
    let window = frame.active_window();
    run.desktop.platform == Platform::Browser
        || window.is_some_and(|window| is_browser(&window.application))
}

/// Reads the URL of the page from the browser driver.
pub(super) async fn read_url(run: &RunContext) -> Option<String> {
    let request = ReadPageRequest {
        display: run.display(),
        max_characters: 1,
    };
    let asked = run.ports.executor.read_page(request);
    let page = tokio::time::timeout(PAGE_URL_TIMEOUT, asked).await;
    Some(page.ok()?.ok()?.url).filter(|url| !url.is_empty())
}

/// Returns a URL without the name and the password that it may contain.
fn without_credentials(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return url.to_owned();
    };
    if parsed.username().is_empty() && parsed.password().is_none() {
        return url.to_owned();
    }
    // Fails only for URLs that can have neither.
    let _ = parsed.set_username("");
    let _ = parsed.set_password(None);
    parsed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_url_is_reported_without_credentials() {
        assert_eq!(
            without_credentials("https://ann:secret@shop.example/a?b#c"),
            "https://shop.example/a?b#c"
        );
        for url in ["https://shop.example", "about:blank", "not a url"] {
            assert_eq!(without_credentials(url), url);
        }
    }
}

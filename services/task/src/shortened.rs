//! Shortens texts that are shown or told in one line or a few.

/// Returns at most this many characters of a text, with an ellipsis for the rest.
pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

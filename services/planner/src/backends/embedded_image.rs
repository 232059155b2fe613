//! Recognises images in the text of a request, in every dialect.
//!
//! It decodes nothing: a long string of base64 counts as an image.

/// Minimum length of a base64 string that counts as an image: long enough that prose or JSON is not mistaken for one.
const MIN_IMAGE_BASE64_BYTES: usize = 2048;

/// Returns whether a text of a request is the content of an image.
pub(crate) fn is_image(text: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    text.starts_with("data:image/")
        || text.len() >= MIN_IMAGE_BASE64_BYTES
            && text.bytes().take(MIN_IMAGE_BASE64_BYTES).all(is_base64)
}

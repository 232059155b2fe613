//! Loads the charset of a text recognition model, from a file or from the model.
//!
//! The meaning of the list is defined in [`decode`](super::decode).

use std::path::Path;

use ort::session::Session;

use super::decode::Charset;
use crate::error::Error;

/// Metadata key under which PP-OCR's ONNX files store their characters, one per line.
const METADATA_KEY: &str = "character";

/// Loads the charset of the model at `model`: from the file `listed`, or from the model's metadata.
///
/// # Errors
/// [`Error::ModelFileMissing`] and [`Error::ModelFileUnusable`], which name the file.
pub(super) fn load(
    session: &Session,
    model: &Path,
    listed: Option<&Path>,
) -> Result<Charset, Error> {
    let list = match listed {
        Some(file) => read(file)?,
        None => carried(session).ok_or_else(|| Error::ModelFileUnusable {
            path: model.to_owned(),
            detail: format!(
                "its metadata has no `{METADATA_KEY}` list; set perception.charset to a file with one character per line"
            ),
        })?,
    };
    Ok(Charset::parse(&list))
}

fn carried(session: &Session) -> Option<String> {
    session
        .metadata()
        .ok()
        .and_then(|metadata| metadata.custom(METADATA_KEY))
}

fn read(file: &Path) -> Result<String, Error> {
    std::fs::read_to_string(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::ModelFileMissing {
            path: file.to_owned(),
        },
        _ => Error::ModelFileUnusable {
            path: file.to_owned(),
            detail: error.to_string(),
        },
    })
}

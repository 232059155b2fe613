//! Where the signs that a recogniser knows are listed: in a file of their own, or in the model.
//!
//! What the list means is the matter of [`decode`](super::decode).

use std::path::Path;

use ort::session::Session;

use super::decode::Alphabet;
use crate::error::Error;

/// Key of the model's metadata under which PP-OCR's ONNX files have their signs, one a line.
const KEY: &str = "character";

/// The signs of the model at `model`: those of the file `listed`, or those that it carries.
///
/// # Errors
/// [`Error::ModelFileMissing`] and [`Error::ModelFileUnusable`], which name the file.
pub(super) fn of(
    session: &Session,
    model: &Path,
    listed: Option<&Path>,
) -> Result<Alphabet, Error> {
    let list = match listed {
        Some(file) => read(file)?,
        None => carried(session).ok_or_else(|| Error::ModelFileUnusable {
            path: model.to_owned(),
            detail: format!(
                "its metadata has no `{KEY}` list; name a file that has one sign a line as perception.alphabet"
            ),
        })?,
    };
    Ok(Alphabet::parse(&list))
}

fn carried(session: &Session) -> Option<String> {
    session
        .metadata()
        .ok()
        .and_then(|metadata| metadata.custom(KEY))
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

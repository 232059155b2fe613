//! Content of the clipboard that outlives the process which owned it.
//!
//! The content of an X selection is served by its owner. A process that ends would take it along, so it hands the
//! content to another process. This is the form in which it is passed on: a line of JSON that describes the
//! representations, followed by their bytes.
//!
//! It does not talk to a display: the driver does.

use std::io::{BufRead, Error, ErrorKind, Read, Result, Write};

use serde::{Deserialize, Serialize};

/// Maximum length of the description. Applications offer some dozens of representations.
const MAX_DESCRIPTION_BYTES: u64 = 1024 * 1024;
/// Maximum number of bytes of one representation.
// A large image fits; a length that was read wrongly must not exhaust the memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The content of one or more selections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClipboardContent {
    pub selections: Vec<SelectionContent>,
}

/// The content of a selection (`CLIPBOARD`, `PRIMARY`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionContent {
    pub selection: String,
    pub representations: Vec<ClipboardRepresentation>,
}

/// One representation of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardRepresentation {
    /// Name under which applications request it (`image/png`).
    pub target: String,
    /// Type of the data.
    pub kind: String,
    /// Bits per unit: 8, 16 or 32.
    pub format: u8,
    pub data: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    selections: Vec<SelectionDescription>,
}

#[derive(Serialize, Deserialize)]
struct SelectionDescription {
    selection: String,
    representations: Vec<RepresentationDescription>,
}

#[derive(Serialize, Deserialize)]
struct RepresentationDescription {
    target: String,
    kind: String,
    format: u8,
    bytes: u64,
}

impl ClipboardContent {
    /// Returns whether there is no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.selections.is_empty()
    }

    /// Writes the content.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, mut to: impl Write) -> Result<()> {
        let mut line = serde_json::to_vec(&self.description())?;
        line.push(b'\n');
        to.write_all(&line)?;
        let selections = self.selections.iter();
        for representation in selections.flat_map(|one| &one.representations) {
            to.write_all(&representation.data)?;
        }
        to.flush()
    }

    fn description(&self) -> Description {
        let representation = |one: &ClipboardRepresentation| RepresentationDescription {
            target: one.target.clone(),
            kind: one.kind.clone(),
            format: one.format,
            bytes: one.data.len() as u64,
        };
        let selection = |one: &SelectionContent| SelectionDescription {
            selection: one.selection.clone(),
            representations: one.representations.iter().map(representation).collect(),
        };
        Description {
            selections: self.selections.iter().map(selection).collect(),
        }
    }

    /// Reads a content that [`ClipboardContent::write`] has written.
    ///
    /// # Errors
    /// If reading fails, or something else was written.
    pub fn read(mut from: impl BufRead) -> Result<Self> {
        let mut line = Vec::new();
        from.by_ref()
            .take(MAX_DESCRIPTION_BYTES)
            .read_until(b'\n', &mut line)?;
        let Description { selections } = serde_json::from_slice(&line)?;
        let mut content = Self::default();
        for described in selections {
            let representations = described.representations.into_iter();
            content.selections.push(SelectionContent {
                selection: described.selection,
                representations: representations
                    .map(|one| read_representation(one, &mut from))
                    .collect::<Result<_>>()?,
            });
        }
        Ok(content)
    }
}

fn read_representation(
    described: RepresentationDescription,
    from: &mut impl Read,
) -> Result<ClipboardRepresentation> {
    if described.bytes > MAX_BYTES || !matches!(described.format, 8 | 16 | 32) {
        return Err(Error::new(
            ErrorKind::InvalidData,
            "not a representation of a clipboard",
        ));
    }
    let mut data = Vec::new();
    from.take(described.bytes).read_to_end(&mut data)?;
    if data.len() as u64 != described.bytes {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(ClipboardRepresentation {
        target: described.target,
        kind: described.kind,
        format: described.format,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipboard_content_round_trips() {
        let representation = |target: &str, data: &[u8]| ClipboardRepresentation {
            target: target.to_owned(),
            kind: target.to_owned(),
            format: 8,
            data: data.to_vec(),
        };
        let content = ClipboardContent {
            selections: vec![
                SelectionContent {
                    selection: "CLIPBOARD".to_owned(),
                    representations: vec![
                        representation("image/png", &[0x89, b'\n', 0, 255]),
                        representation("text/html", b""),
                    ],
                },
                SelectionContent {
                    selection: "PRIMARY".to_owned(),
                    representations: vec![representation("UTF8_STRING", "旧".as_bytes())],
                },
            ],
        };
        let mut written = Vec::new();
        content.write(&mut written).unwrap();
        assert_eq!(ClipboardContent::read(&*written).unwrap(), content);
        let cut = &written[..written.len() - 1];
        assert!(ClipboardContent::read(cut).is_err());
        assert!(ClipboardContent::read(&b"something else"[..]).is_err());
    }
}

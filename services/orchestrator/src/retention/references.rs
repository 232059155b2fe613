//! Finds the blobs that a stored event names.
//!
//! Deliberately without knowledge of the kinds of events: what it does not recognise would be removed. Every value of 32 bytes
//! and every 64 hexadecimal digits may be the hash of a blob, in a kind of event that a later version adds, too. A value that
//! is no hash keeps nothing, because no blob has it.

use std::collections::BTreeSet;

use motorium_store::BlobId;

/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 64;
/// Maximum depth of messages within messages.
// Protobuf decoders refuse more than 100; bounds the recursion in content that only looks like messages.
const MAX_DEPTH: usize = 100;

/// Returns every blob that the encoded message may name.
pub(super) fn blobs(message: &[u8]) -> BTreeSet<BlobId> {
    let mut found = BTreeSet::new();
    in_fields(message, MAX_DEPTH, &mut found);
    in_text(message, &mut found);
    found
}

/// Adds values of 32 bytes among the fields of a message and of the messages within it.
fn in_fields(message: &[u8], depth: usize, found: &mut BTreeSet<BlobId>) {
    let Some(values) = values(message).filter(|_| depth > 0) else {
        return;
    };
    for value in values {
        if let Ok(sha256) = <[u8; 32]>::try_from(value) {
            found.insert(BlobId::from(sha256));
        }
        // A hash may look like a message, and a message may have 32 bytes.
        in_fields(value, depth - 1, found);
    }
}

/// Returns the values of fields with a length; `None` if this is no message.
fn values(message: &[u8]) -> Option<Vec<&[u8]>> {
    let mut values = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match tag & 7 {
            0 => drop(varint(&mut rest)?),
            1 => drop(take(&mut rest, 8)?),
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                values.push(take(&mut rest, length)?);
            }
            5 => drop(take(&mut rest, 4)?),
            _ => return None,
        }
    }
    Some(values)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    rest.split_off(..length)
}

/// Adds hashes that are written as digits, such as in the name of an artifact. Of more digits in a row the first and the last
/// 64: the byte before or after a name may look like a digit.
fn in_text(message: &[u8], found: &mut BTreeSet<BlobId>) {
    let runs = message.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    for run in runs.filter(|run| run.len() >= DIGITS) {
        for digits in [&run[..DIGITS], &run[run.len() - DIGITS..]] {
            let text = std::str::from_utf8(digits).unwrap_or_default();
            found.extend(BlobId::parse(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::orchestrator as wire;
    use prost::Message as _;

    use super::*;

    fn blob(number: u8) -> BlobId {
        BlobId::from([number; 32])
    }

    #[test]
    fn finds_hashes_in_bytes_and_in_names_at_any_depth() {
        let artifact = wire::Artifact {
            name: format!("tasks/t/artifacts/{}", blob(0xaa)),
            sha256: blob(0xbb).sha256().to_vec().into(),
            ..wire::Artifact::default()
        };
        let found = blobs(&artifact.encode_to_vec());
        assert!(
            found.contains(&blob(0xaa)) && found.contains(&blob(0xbb)),
            "{found:?}"
        );

        // A field that this version does not have, within another one.
        let inner = artifact.encode_to_vec();
        let mut unknown = vec![0xfa, 0x3e];
        prost::encoding::encode_varint(inner.len() as u64, &mut unknown);
        unknown.extend(inner);
        let found = blobs(&unknown);
        assert!(
            found.contains(&blob(0xaa)) && found.contains(&blob(0xbb)),
            "{found:?}"
        );
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for length in 0..300_usize {
            for factor in [1, 7, 13, 31, 127, 255] {
                let noise: Vec<u8> = (0..length)
                    .map(|index| u8::try_from((index * factor + length) % 256).unwrap_or_default())
                    .collect();
                let _ = blobs(&noise);
            }
        }
        assert_eq!(blobs(&[]), BTreeSet::new());
    }
}

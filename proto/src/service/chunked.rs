//! Values that travel as several messages: a header, then the content in chunks.

use bytes::{Bytes, BytesMut};
use tonic::{Status, Streaming};

use super::{WireStream, malformed_response};
use crate::error::{ErrorReport, FieldError};
use crate::limits::CHUNK_BYTES;

/// A value that travels as several messages.
pub trait Chunked: Sized {
    /// One of the messages.
    type Message: Send + 'static;
    /// Everything but the content. Sent in the first message.
    type Header;
    /// Name of the header's field.
    const HEADER_FIELD: &'static str;

    /// Splits the value into its header and its content.
    fn split(self) -> (Self::Header, Bytes);
    /// Joins a header and a content.
    ///
    /// # Errors
    /// If the header is invalid.
    fn join(header: Self::Header, content: Bytes) -> Result<Self, FieldError>;
    /// Returns the message with this part.
    fn message(part: Part<Self::Header>) -> Self::Message;
    /// Returns the part in a message; `None` if it has none.
    fn part(message: Self::Message) -> Option<Part<Self::Header>>;
}

/// Part of a value in one message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<H> {
    Header(H),
    /// The next bytes of the content.
    Chunk(Bytes),
}

/// Returns the messages of a value.
pub(crate) fn messages<T: Chunked>(value: T) -> Vec<T::Message> {
    let (header, content) = value.split();
    let chunks = (0..content.len())
        .step_by(CHUNK_BYTES)
        .map(|start| content.slice(start..content.len().min(start + CHUNK_BYTES)));
    std::iter::once(Part::Header(header))
        .chain(chunks.map(Part::Chunk))
        .map(T::message)
        .collect()
}

/// Returns the messages of a value as tonic serves them.
pub(crate) fn stream<T: Chunked>(value: T) -> WireStream<T::Message> {
    Box::pin(tokio_stream::iter(messages(value).into_iter().map(Ok)))
}

/// Receives a value: the header first, then at most `max_bytes` of content.
pub(crate) async fn join<T: Chunked>(
    mut messages: Streaming<T::Message>,
    max_bytes: usize,
) -> Result<T, JoinError> {
    let first = messages.message().await?.and_then(T::part);
    let Some(Part::Header(header)) = first else {
        return Err(FieldError::new(T::HEADER_FIELD, "must come in the first message").into());
    };
    let mut content = BytesMut::new();
    while let Some(message) = messages.message().await? {
        let Some(Part::Chunk(chunk)) = T::part(message) else {
            return Err(FieldError::new("chunk", "every message after the first has one").into());
        };
        // Checked before the chunk is kept, so that a sender cannot exceed the limit in memory.
        if content.len() + chunk.len() > max_bytes {
            let problem = format!("the file is larger than {max_bytes} bytes");
            return Err(FieldError::new("chunk", problem).into());
        }
        content.extend_from_slice(&chunk);
    }
    Ok(T::join(header, content.freeze()).map_err(|error| error.within(T::HEADER_FIELD))?)
}

/// Error while receiving a value.
#[derive(Debug)]
pub(crate) enum JoinError {
    /// The sender or the connection failed.
    Transport(Status),
    /// The messages are invalid.
    Invalid(FieldError),
}

impl From<Status> for JoinError {
    fn from(status: Status) -> Self {
        Self::Transport(status)
    }
}

impl From<FieldError> for JoinError {
    fn from(error: FieldError) -> Self {
        Self::Invalid(error)
    }
}

/// The error that a server returns for an upload.
impl From<JoinError> for Status {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Transport(status) => status,
            JoinError::Invalid(error) => error.into(),
        }
    }
}

/// The error that a client returns for a download.
impl From<JoinError> for ErrorReport {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Transport(status) => ErrorReport::from_status(&status),
            JoinError::Invalid(error) => malformed_response(error),
        }
    }
}

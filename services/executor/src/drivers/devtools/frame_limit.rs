//! Limit of the messages that a browser sends: a longer one is cut, and the connection goes on.
//!
//! An event about a request contains what the page uploads, so that a page chooses the length of messages. A WebSocket
//! with a maximum size ends at a longer one, and with it the filter of the page's addresses. So the frames are cut below
//! the WebSocket, before they are in memory: a cut text arrives as a binary message, which browsers do not send here.
//! [`completed`] makes JSON of it again.
//!
//! The limit is per frame, not per message: browsers send each message in one frame.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Size of a read from the connection.
const CHUNK: usize = 16 * 1024;
/// End of the HTTP response before the first frame.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// Operation codes of RFC 6455.
const OPCODE: u8 = 0x0f;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const FIRST_CONTROL: u8 = 8;

/// A connection to a WebSocket server whose frames have at most this many bytes when they are read.
#[derive(Debug)]
pub(super) struct LimitedFrames<S> {
    stream: S,
    cutter: FrameCutter,
    /// Bytes that were read and cut, and not yet asked for.
    pending: Vec<u8>,
    given: usize,
}

impl<S> LimitedFrames<S> {
    /// Limits the frames that follow the response to the upgrade.
    pub(super) fn new(stream: S, max_bytes: u64) -> Self {
        Self {
            stream,
            cutter: FrameCutter {
                max_bytes,
                position: Position::Head { matched: 0 },
            },
            pending: Vec::new(),
            given: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedFrames<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.given == this.pending.len() {
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.pending.clear();
            this.given = 0;
            this.cutter.feed(chunk.filled(), &mut this.pending);
        }
        let left = &this.pending[this.given..];
        let length = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..length]);
        this.given += length;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedFrames<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[derive(Debug)]
struct FrameCutter {
    max_bytes: u64,
    position: Position,
}

/// Position in the bytes from the server.
#[derive(Debug)]
enum Position {
    /// Before the end of the HTTP response, of whose last four bytes `matched` have arrived.
    Head {
        matched: usize,
    },
    FrameHeader(Vec<u8>),
    /// In the payload of a frame. Numbers of bytes that are still to be kept, and to be dropped after them.
    Payload {
        kept: u64,
        dropped: u64,
    },
}

impl FrameCutter {
    /// Cuts the next bytes from the server.
    fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some(&first) = bytes.first() {
            match &mut self.position {
                Position::Head { matched } => {
                    out.push(first);
                    bytes = &bytes[1..];
                    *matched = match END_OF_HEAD[*matched] == first {
                        true => *matched + 1,
                        false => usize::from(first == END_OF_HEAD[0]),
                    };
                    if *matched == END_OF_HEAD.len() {
                        self.position = Position::FrameHeader(Vec::new());
                    }
                }
                Position::FrameHeader(header) => {
                    header.push(first);
                    bytes = &bytes[1..];
                    if let Some(length) = payload_length(header) {
                        self.position = begin_payload(header, length, self.max_bytes, out);
                    }
                }
                Position::Payload { kept, dropped } => {
                    let (now, rest) = split_at(bytes, *kept);
                    out.extend_from_slice(now);
                    *kept -= now.len() as u64;
                    let (skipped, rest) = split_at(rest, *dropped);
                    *dropped -= skipped.len() as u64;
                    bytes = rest;
                    if (*kept, *dropped) == (0, 0) {
                        self.position = Position::FrameHeader(Vec::new());
                    }
                }
            }
        }
    }
}

/// Writes the header of a frame, and returns the position after it.
fn begin_payload(header: &[u8], length: u64, max_bytes: u64, out: &mut Vec<u8>) -> Position {
    let opcode = header[0] & OPCODE;
    let kept = match opcode < FIRST_CONTROL {
        true => length.min(max_bytes),
        false => length,
    };
    if kept == length {
        out.extend_from_slice(header);
    } else {
        let cut = if opcode == TEXT { BINARY } else { opcode };
        let is_masked = header[1] & 0x80;
        out.extend_from_slice(&[(header[0] & !OPCODE) | cut, is_masked | 127]);
        out.extend_from_slice(&kept.to_be_bytes());
        // The mask, if there is one.
        out.extend_from_slice(&header[2 + extended_length(header)..]);
    }
    match length {
        0 => Position::FrameHeader(Vec::new()),
        length => Position::Payload {
            kept,
            dropped: length - kept,
        },
    }
}

/// Returns the length of a frame's payload once its header is complete.
fn payload_length(header: &[u8]) -> Option<u64> {
    let second = *header.get(1)?;
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let extended = extended_length(header);
    if header.len() < 2 + extended + mask {
        return None;
    }
    let bytes = &header[2..2 + extended];
    Some(match extended {
        0 => u64::from(second & 0x7f),
        _ => bytes
            .iter()
            .fold(0, |length, byte| length << 8 | u64::from(*byte)),
    })
}

/// Returns the number of bytes of the extended length of a frame.
fn extended_length(header: &[u8]) -> usize {
    match header[1] & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    }
}

fn split_at(bytes: &[u8], wanted: u64) -> (&[u8], &[u8]) {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    bytes.split_at(wanted.min(bytes.len()))
}

/// Returns the JSON of a cut message with the members that are complete; `None` if there is none.
pub(super) fn completed(cut: &[u8]) -> Option<String> {
    let mut outline = Outline::default();
    let separators = cut.iter().enumerate();
    let last = separators
        .filter(|(_, byte)| outline.is_separator(**byte))
        .last();
    let complete = &cut[..last?.0];
    let mut outline = Outline::default();
    for byte in complete {
        outline.is_separator(*byte);
    }
    let mut text = std::str::from_utf8(complete).ok()?.to_owned();
    text.extend(outline.open.iter().rev().map(|close| char::from(*close)));
    Some(text)
}

/// Follows the structure of a JSON text.
#[derive(Debug, Default)]
struct Outline {
    /// Closing brackets that are due, innermost last.
    open: Vec<u8>,
    in_string: bool,
    escaped: bool,
}

impl Outline {
    /// Takes the next byte and returns whether a member ends before it.
    fn is_separator(&mut self, byte: u8) -> bool {
        if self.in_string {
            let is_escape = byte == b'\\' && !self.escaped;
            self.in_string = byte != b'"' || self.escaped;
            self.escaped = is_escape;
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => self.open.push(b'}'),
            b'[' => self.open.push(b']'),
            b'}' | b']' => drop(self.open.pop()),
            b',' => return true,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 300;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        match payload.len() {
            length @ 0..126 => bytes.push(u8::try_from(length).unwrap()),
            length @ 126..65536 => {
                bytes.push(126);
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            length => {
                bytes.push(127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(payload);
        bytes
    }

    fn cut(bytes: &[u8], chunk: usize) -> Vec<u8> {
        let mut frames = LimitedFrames::new((), MAX);
        let mut out = Vec::new();
        for part in bytes.chunks(chunk) {
            frames.cutter.feed(part, &mut out);
        }
        out
    }

    #[test]
    fn long_frames_are_cut_and_those_after_them_arrive() {
        let head = b"HTTP/1.1 101 Switching Protocols\r\n\r\r\n\r\n";
        let long = vec![b'x'; 70_000];
        let sent = [
            head.to_vec(),
            frame(0x81, b"short"),
            frame(0x81, &long),
            frame(0x89, b""),
            frame(0x81, &long[..301]),
            frame(0x82, &long[..300]),
            frame(0x81, b"last"),
        ];
        let mut cut_frame = vec![0x82, 127];
        cut_frame.extend(MAX.to_be_bytes());
        cut_frame.extend(&long[..300]);
        let expected = [
            head.to_vec(),
            frame(0x81, b"short"),
            cut_frame.clone(),
            frame(0x89, b""),
            cut_frame,
            frame(0x82, &long[..300]),
            frame(0x81, b"last"),
        ];
        for chunk in [1, 2, 7, 100_000] {
            assert_eq!(cut(&sent.concat(), chunk), expected.concat(), "{chunk}");
        }
    }

    #[test]
    fn cut_message_keeps_its_complete_members() {
        let paused = r#"{"method":"Fetch.requestPaused","params":{"requestId":"7","request":{"url":"http://a/,\"","headers":{"A":"b"},"postData":"a,b\"#;
        for (cut, expected) in [
            (
                paused,
                r#"{"method":"Fetch.requestPaused","params":{"requestId":"7","request":{"url":"http://a/,\"","headers":{"A":"b"}}}}"#,
            ),
            (r#"{"id":5,"result":{"value":"é"#, r#"{"id":5}"#),
            (r#"{"a":[1,2,3"#, r#"{"a":[1,2]}"#),
        ] {
            assert_eq!(completed(cut.as_bytes()).as_deref(), Some(expected));
        }
        assert_eq!(completed(b"{\"a\":\"x"), None);
    }
}

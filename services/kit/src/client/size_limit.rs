//! Rejects messages that are larger than their receiver accepts, before they are sent or buffered.
//!
//! The other side would reject them too, but inconsistently: tonic with `OUT_OF_RANGE`, others with
//! `RESOURCE_EXHAUSTED`, a proxy in between with `CANCELLED`. Only the lengths in gRPC's message prefixes are read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use motorium_proto::error::ErrorReport;
use tokio::sync::oneshot;
use tonic::Status;
use tonic::body::Body;

use super::{Shared, connection_lost};
use crate::error_info;

/// Size of the prefix of a gRPC message: a compression flag of one byte and a length of four bytes.
const PREFIX_BYTES: usize = 5;

/// Parser of message prefixes in a stream of chunks, which may split a message anywhere.
#[derive(Debug)]
struct MessageLengths {
    limit: usize,
    prefix: [u8; PREFIX_BYTES],
    prefix_filled: usize,
    /// Remaining bytes of the current message.
    message_left: usize,
}

impl MessageLengths {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            prefix: [0; PREFIX_BYTES],
            prefix_filled: 0,
            message_left: 0,
        }
    }

    /// Parses the next chunk. Returns the length of the first message that is too large as an error.
    fn feed(&mut self, mut chunk: &[u8]) -> Result<(), usize> {
        while !chunk.is_empty() {
            if self.message_left > 0 {
                let skipped = self.message_left.min(chunk.len());
                chunk.advance(skipped);
                self.message_left -= skipped;
                continue;
            }
            self.prefix[self.prefix_filled] = chunk[0];
            self.prefix_filled += 1;
            chunk.advance(1);
            if self.prefix_filled == PREFIX_BYTES {
                self.prefix_filled = 0;
                self.message_left = (&self.prefix[1..]).get_u32() as usize;
                if self.message_left > self.limit {
                    return Err(self.message_left);
                }
            }
        }
        Ok(())
    }
}

/// Wraps a request. The receiver gets an error if one of its messages is too large.
pub(super) fn request(
    request: Request<Body>,
    limit: usize,
) -> (Request<Body>, oneshot::Receiver<ErrorReport>) {
    let (refuse, refused) = oneshot::channel();
    let guard = |inner| {
        Body::new(OutgoingBody {
            inner,
            lengths: MessageLengths::new(limit),
            refuse: Some(refuse),
        })
    };
    (request.map(guard), refused)
}

/// Wraps a response. A message that is too large ends it with an error, and so does a broken connection.
pub(super) fn response(response: Response<Body>, shared: Arc<Shared>) -> Response<Body> {
    let lengths = MessageLengths::new(shared.message_bytes);
    response.map(|body| {
        Body::new(IncomingBody {
            inner: Some(body),
            lengths,
            shared,
        })
    })
}

struct OutgoingBody {
    inner: Body,
    lengths: MessageLengths,
    refuse: Option<oneshot::Sender<ErrorReport>>,
}

impl HttpBody for OutgoingBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let chunk = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok())
            .and_then(Frame::data_ref);
        let Some(Err(size)) = chunk.map(|chunk| self.lengths.feed(chunk)) else {
            return Poll::Ready(frame);
        };
        let report = error_info::message_too_large(size, self.lengths.limit);
        if let Some(refuse) = self.refuse.take() {
            // Ignored: the call may have ended in the meantime.
            let _ = refuse.send(report.clone());
        }
        Poll::Ready(Some(Err(report.into_status())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

struct IncomingBody {
    inner: Option<Body>,
    lengths: MessageLengths,
    shared: Arc<Shared>,
}

impl IncomingBody {
    /// Returns the error for an oversize message or a broken connection.
    fn violation(&mut self, frame: &Result<Frame<Bytes>, Status>) -> Option<ErrorReport> {
        match frame {
            Ok(frame) => {
                let size = self.lengths.feed(frame.data_ref()?).err()?;
                Some(error_info::message_too_large(size, self.lengths.limit))
            }
            Err(status) => Some(connection_lost(
                status.code(),
                status.message(),
                &self.shared.uri,
            )),
        }
    }
}

impl HttpBody for IncomingBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(body) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let Some(frame) = ready!(Pin::new(body).poll_frame(cx)) else {
            return Poll::Ready(None);
        };
        let Some(report) = self.violation(&frame) else {
            return Poll::Ready(Some(frame));
        };
        self.inner = None;
        Poll::Ready(Some(Ok(error_info::trailers(report))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: usize) -> Vec<u8> {
        let prefix = [&[0][..], &u32::try_from(size).unwrap().to_be_bytes()].concat();
        [prefix, vec![7; size]].concat()
    }

    #[test]
    fn message_lengths_are_found_at_any_chunking() {
        let fine = [message(0), message(10), message(3)].concat();
        let large = [message(10), message(11)].concat();
        for cut in 1..=fine.len() {
            let mut lengths = MessageLengths::new(10);
            assert!(
                fine.chunks(cut).all(|chunk| lengths.feed(chunk).is_ok()),
                "cut at {cut}"
            );
            let mut lengths = MessageLengths::new(10);
            let refused = large
                .chunks(cut)
                .find_map(|chunk| lengths.feed(chunk).err());
            assert_eq!(refused, Some(11), "cut at {cut}");
        }
    }
}

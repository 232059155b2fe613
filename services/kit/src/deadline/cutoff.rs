//! Ends a call, both its head and its stream, with an error at a given cutoff. Until then the response is unchanged.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use motorium_proto::error::ErrorReport;
use tonic::Status;
use tonic::body::Body;

use super::{CURRENT, Deadline};
use crate::error_info;

/// A future that resolves at the cutoff of a call, with the error for its caller.
pub(crate) type CutoffFuture = Pin<Box<dyn Future<Output = ErrorReport> + Send>>;

/// Runs `handler` under `deadline` and ends it when `cutoff` resolves.
///
/// A handler that is cut off is dropped at once, so that its work stops too.
pub(crate) async fn with_cutoff(
    handler: impl Future<Output = Response<Body>>,
    deadline: Option<Deadline>,
    mut cutoff: CutoffFuture,
) -> Response<Body> {
    let scoped = async {
        match deadline {
            Some(deadline) => CURRENT.scope(deadline, handler).await,
            None => handler.await,
        }
    };
    tokio::select! {
        // The cutoff is polled first: tonic's own timer may fire in the same tick, and it returns a bare CANCELLED.
        biased;
        report = &mut cutoff => error_info::response(report),
        response = scoped => response.map(|body| Body::new(CutoffBody { inner: Some(body), deadline, cutoff })),
    }
}

struct CutoffBody {
    inner: Option<Body>,
    deadline: Option<Deadline>,
    cutoff: CutoffFuture,
}

impl HttpBody for CutoffBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self {
            inner,
            deadline,
            cutoff,
        } = &mut *self;
        let Some(body) = inner else {
            return Poll::Ready(None);
        };
        // The cutoff is polled first, so that a stream that is always ready ends as well.
        if let Poll::Ready(report) = cutoff.as_mut().poll(cx) {
            *inner = None;
            return Poll::Ready(Some(Ok(error_info::trailers(report))));
        }
        Deadline::scope_sync(*deadline, || Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

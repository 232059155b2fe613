//! Converts a panic of a handler to an `INTERNAL` response, so that the server continues.
//!
//! Nothing is logged here, because the panic hook has already logged the panic (see [`crate::telemetry`]).

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use motorium_proto::error::{ErrorReport, reason};
use tonic::body::Body;
use tonic::{Code, Status};

use crate::error_info;

fn report(_payload: Box<dyn Any + Send>) -> ErrorReport {
    ErrorReport::new(
        Code::Internal,
        reason::INTERNAL,
        "the service has a bug that this call triggered; see its log",
    )
}

/// Returns the response of `handler`, or `INTERNAL` if it panics, either now or while its body is read.
pub(crate) async fn catch_panics(handler: impl Future<Output = Response<Body>>) -> Response<Body> {
    // Unwind safe: a handler that panicked is dropped and its state is never used again.
    match AssertUnwindSafe(handler).catch_unwind().await {
        Ok(response) => response.map(|body| Body::new(CatchPanicBody { inner: Some(body) })),
        Err(payload) => error_info::response(report(payload)),
    }
}

/// A body that ends with `INTERNAL` if its inner body panics.
struct CatchPanicBody {
    inner: Option<Body>,
}

impl HttpBody for CatchPanicBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(inner).poll_frame(cx)));
        polled.unwrap_or_else(|payload| {
            self.inner = None;
            Poll::Ready(Some(Ok(error_info::trailers(report(payload)))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

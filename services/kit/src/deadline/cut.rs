//! Ends a call, head and stream, with a report at a given moment; its answer until then passes through unchanged.

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

/// Resolves when the call is to end, with what its caller is told.
pub(crate) type Moment = Pin<Box<dyn Future<Output = ErrorReport> + Send>>;

/// The response of `handler`, run under `deadline` and ended at `moment` if it is not done by then.
///
/// What is cut is dropped at once, so that its work stops too.
pub(crate) async fn cut(
    handler: impl Future<Output = Response<Body>>,
    deadline: Option<Deadline>,
    mut moment: Moment,
) -> Response<Body> {
    let scoped = async {
        match deadline {
            Some(deadline) => CURRENT.scope(deadline, handler).await,
            None => handler.await,
        }
    };
    tokio::select! {
        // The moment comes first: tonic's own timer may fire in the same tick, and its answer is a bare CANCELLED.
        biased;
        report = &mut moment => error_info::response(report),
        response = scoped => response.map(|body| Body::new(CutBody { inner: Some(body), deadline, moment })),
    }
}

struct CutBody {
    inner: Option<Body>,
    deadline: Option<Deadline>,
    moment: Moment,
}

impl HttpBody for CutBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Self {
            inner,
            deadline,
            moment,
        } = &mut *self;
        let Some(body) = inner else {
            return Poll::Ready(None);
        };
        // The moment comes first: a stream that always has something ready must end as well.
        if let Poll::Ready(report) = moment.as_mut().poll(cx) {
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

//! Adds `ErrorInfo` to every status that a server returns, including those that tonic creates.
//!
//! tonic returns a bare status for an oversize message, an unknown method or a handler that is too late. Such a status is
//! recognised here and gets its stable reason. A status that already has details is never changed.

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use motorium_proto::error::{ErrorReport, reason};
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::{debug, error};

/// Converts a status without details to the most likely report.
///
/// Matches texts of tonic; `tests/kit/statuses.rs` fails if a new version of tonic changes them.
pub(crate) fn classify(status: &Status, method: &str) -> ErrorReport {
    let message = status.message();
    let report = |code, reason: &str, text: String| {
        ErrorReport::new(code, reason, text).with("method", method)
    };
    match status.code() {
        Code::OutOfRange if message.contains("message length too large") => {
            too_large(message, method)
        }
        Code::ResourceExhausted if message.contains("size limit") => too_large(message, method),
        Code::Cancelled if message.contains("Timeout expired") => deadline_exceeded(method),
        Code::Unimplemented => report(
            Code::Unimplemented,
            reason::NOT_SERVED,
            format!(
                "{method} is not served here; list the services of this server with reflection"
            ),
        ),
        Code::Internal | Code::Unknown | Code::DataLoss => {
            report(status.code(), reason::INTERNAL, message.to_owned())
        }
        code => report(code, reason::TRANSPORT, message.to_owned()),
    }
}

/// Creates the report for a message larger than its receiver accepts, from the text of tonic.
fn too_large(found: &str, method: &str) -> ErrorReport {
    let numbers: Vec<&str> = found
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .collect();
    let report = match numbers.as_slice() {
        [size, limit] => message_too_large(size, limit),
        [limit] => message_too_large("more", limit),
        _ => message_too_large("more", "the limit"),
    };
    report.with("method", method)
}

/// Creates the report for a message of `size` bytes where at most `limit` are accepted.
///
/// The code is `RESOURCE_EXHAUSTED`, as in most gRPC implementations. tonic's own `OUT_OF_RANGE` has another meaning here.
pub(crate) fn message_too_large(size: impl ToString, limit: impl ToString) -> ErrorReport {
    let (size, limit) = (size.to_string(), limit.to_string());
    let text = format!(
        "the message has {size} bytes, but the maximum is {limit}; send a reference or fewer items"
    );
    ErrorReport::new(Code::ResourceExhausted, reason::MESSAGE_TOO_LARGE, text)
        .with("size", size)
        .with("limit", limit)
}

/// Creates the report for a call whose deadline has passed.
pub(crate) fn deadline_exceeded(method: &str) -> ErrorReport {
    ErrorReport::new(
        Code::DeadlineExceeded,
        reason::DEADLINE_EXCEEDED,
        "the deadline of the call passed before it was done",
    )
    .with("method", method)
}

/// Creates the report for a call that the shutdown of the server ends.
pub(crate) fn shutting_down() -> ErrorReport {
    ErrorReport::new(
        Code::Unavailable,
        reason::SHUTTING_DOWN,
        "the server is shutting down; retry the call",
    )
}

/// Adds `ErrorInfo` to bare statuses in the head and the trailers of a response, and logs internal errors.
pub(crate) fn with_error_info(mut response: Response<Body>, method: String) -> Response<Body> {
    add_missing_error_info(response.headers_mut(), &method);
    response.map(|body| {
        Body::new(body.map_frame(move |mut frame| {
            if let Some(trailers) = frame.trailers_mut() {
                add_missing_error_info(trailers, &method);
            }
            frame
        }))
    })
}

fn add_missing_error_info(headers: &mut HeaderMap, method: &str) {
    let Some(status) = Status::from_header_map(headers).filter(|status| status.code() != Code::Ok)
    else {
        return;
    };
    let bare = status.details().is_empty();
    let report = if bare {
        classify(&status, method)
    } else {
        ErrorReport::from_status(&status)
    };
    log(&report, method);
    if bare {
        add(report, headers);
    }
}

/// Logs a failed call: as an error if the code says that the service itself is at fault, otherwise at debug level.
fn log(report: &ErrorReport, method: &str) {
    let ErrorReport {
        code,
        reason,
        message,
        ..
    } = report;
    match code {
        Code::Internal | Code::Unknown | Code::DataLoss => {
            error!(method, ?code, reason, message, "call failed")
        }
        _ => debug!(method, ?code, reason, message, "call rejected"),
    }
}

fn add(report: ErrorReport, headers: &mut HeaderMap) {
    report
        .into_status()
        .add_header(headers)
        .expect("a report has only text that a header can carry");
}

/// Returns the trailers that end a stream with this report.
pub(crate) fn trailers(report: ErrorReport) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    add(report, &mut trailers);
    Frame::trailers(trailers)
}

/// Returns a response that consists only of this report.
pub(crate) fn response(report: ErrorReport) -> Response<Body> {
    report.into_status().into_http()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: Status, code: Code, reason: &str) -> ErrorReport {
        let report = classify(&status, "/a.B/C");
        assert_eq!(
            (report.code, report.reason.as_str()),
            (code, reason),
            "{status:?}"
        );
        assert_eq!(report.metadata["method"], "/a.B/C");
        report
    }

    #[test]
    fn bare_statuses_get_their_reason() {
        let oversize = "Error, decoded message length too large: found 5000000 bytes, the limit is: 4194304 bytes";
        let report = check(
            Status::out_of_range(oversize),
            Code::ResourceExhausted,
            reason::MESSAGE_TOO_LARGE,
        );
        assert_eq!(
            (
                report.metadata["size"].as_str(),
                report.metadata["limit"].as_str()
            ),
            ("5000000", "4194304")
        );
        check(
            Status::cancelled("Timeout expired"),
            Code::DeadlineExceeded,
            reason::DEADLINE_EXCEEDED,
        );
        check(
            Status::unimplemented(""),
            Code::Unimplemented,
            reason::NOT_SERVED,
        );
        check(Status::internal("x"), Code::Internal, reason::INTERNAL);
        check(
            Status::not_found("service not registered"),
            Code::NotFound,
            reason::TRANSPORT,
        );
        check(
            Status::cancelled("by the caller"),
            Code::Cancelled,
            reason::TRANSPORT,
        );
    }
}

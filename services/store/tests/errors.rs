//! Every error of the store has a reason, and every reason has a documentation page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::error::ErrorReport;
use motorium_store::{BlobId, Error};
use tonic::Code;

fn every_error() -> Vec<(Error, Code)> {
    let task = TaskName::from_segment("a").unwrap();
    let (id, path) = (BlobId::of(b""), PathBuf::from("/secret/place"));
    vec![
        (Error::TaskNotFound { task: task.clone() }, Code::NotFound),
        (
            Error::TaskExists { task: task.clone() },
            Code::AlreadyExists,
        ),
        (
            Error::RequestIdReused { id: "r".to_owned() },
            Code::InvalidArgument,
        ),
        (Error::LeaseLost { task: task.clone() }, Code::Aborted),
        (
            Error::Conflict {
                task: task.clone(),
                expected: EventSeq(1),
                last: EventSeq(2),
            },
            Code::Aborted,
        ),
        (
            Error::TaskNotEnded { task: task.clone() },
            Code::FailedPrecondition,
        ),
        (
            Error::SessionNotEmpty {
                session: "sessions/a".to_owned(),
                tasks: 2,
            },
            Code::FailedPrecondition,
        ),
        (
            Error::ResourceNotFound {
                name: "desktops/a".to_owned(),
            },
            Code::NotFound,
        ),
        (
            Error::ResourceExists {
                name: "desktops/a".to_owned(),
            },
            Code::AlreadyExists,
        ),
        (Error::BadPageToken, Code::InvalidArgument),
        (Error::BadResumeToken, Code::InvalidArgument),
        (Error::ResumeTokenExpired, Code::OutOfRange),
        (
            Error::ResumeTokenAhead {
                task,
                seq: EventSeq(2),
                last: EventSeq(1),
            },
            Code::OutOfRange,
        ),
        (Error::BlobNotFound { id }, Code::NotFound),
        (Error::BlobCorrupt { id }, Code::DataLoss),
        (
            Error::UnknownBackend {
                uri: "/secret/place".to_owned(),
                known: "",
            },
            Code::Internal,
        ),
        (
            Error::Unwritable {
                path: path.clone(),
                detail: String::new(),
            },
            Code::Internal,
        ),
        (Error::Full { path: path.clone() }, Code::ResourceExhausted),
        (
            Error::Corrupt {
                path: path.clone(),
                detail: String::new(),
            },
            Code::DataLoss,
        ),
        (
            Error::TooNew {
                path: path.clone(),
                found: 2,
            },
            Code::FailedPrecondition,
        ),
        (Error::Busy { path }, Code::Unavailable),
        (Error::Failed("x".into()), Code::Internal),
    ]
}

#[test]
fn errors_survive_the_wire_without_local_paths() {
    for (error, code) in every_error() {
        let report = error.report();
        assert_eq!(report.code, code, "{report:?}");
        assert!(
            !report.message.contains("/secret/place"),
            "{}",
            report.message
        );
        assert_eq!(
            ErrorReport::from_status(&report.clone().into_status()),
            report
        );
    }
}

#[test]
fn each_reason_has_a_page() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let reasons: BTreeSet<String> = every_error()
        .into_iter()
        .map(|(error, _)| error.report().reason)
        .collect();
    for reason in reasons {
        let page = pages.join(format!("{reason}.md"));
        let text = std::fs::read_to_string(&page)
            .unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(
            text.starts_with(&format!("# {reason}\n")),
            "{}",
            page.display()
        );
    }
}

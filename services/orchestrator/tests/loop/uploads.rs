//! Uploads: a caller that floods the Orchestrator with files that never end takes no memory of it, and no turn of others.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{FuturesUnordered, iter, pending};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::in_time;

/// Uploads of a caller at a time, those that wait included.
const MAX_PRESENT: usize = 34;

#[tokio::test]
async fn uploads_that_never_end_are_limited() {
    let cluster = Cluster::start(Vec::new()).await;
    let stalled = || async {
        let chunk = wire::UploadFileRequest {
            chunk: vec![0; 100_000].into(),
        };
        let chunks = iter([chunk]).chain(pending());
        cluster.client().raw().upload_file(chunks).await
    };
    let flood = 40;
    let mut uploads: FuturesUnordered<_> = (0..flood).map(|_| stalled()).collect();
    for _ in MAX_PRESENT..flood {
        let refused = in_time("an upload to be refused", uploads.next()).await;
        let report = ErrorReport::from_status(&refused.unwrap().unwrap_err());
        assert_eq!(
            (report.code, report.reason.as_str()),
            (Code::ResourceExhausted, "TOO_MANY_UPLOADS")
        );
    }
    let further = tokio::time::timeout(Duration::from_millis(200), uploads.next()).await;
    assert!(further.is_err(), "the others wait: {further:?}");
    // Their client goes away.
    drop(uploads);
    let chunk = wire::UploadFileRequest {
        chunk: "a file".into(),
    };
    let usual = async {
        loop {
            let uploaded = cluster
                .client()
                .raw()
                .upload_file(iter([chunk.clone()]))
                .await;
            match uploaded {
                Ok(uploaded) => return uploaded.into_inner(),
                Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let uploaded = in_time("an upload after the flood", usual).await;
    assert_eq!(uploaded.size_bytes, 6);
}

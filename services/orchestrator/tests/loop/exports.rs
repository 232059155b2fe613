//! Exports: a caller that opens exports without reading them takes no memory of the Orchestrator, and no turn of others.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::MAX_ATTACHMENT_BYTES;
use motorium_proto::v1::orchestrator as wire;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::in_time;

/// Exports of a caller at a time, and those that wait included.
const MAX_AT_A_TIME: usize = 2;
const MAX_PRESENT: usize = 10;

/// Creates a task whose export is longer than what the connection takes ahead of a reader.
async fn large_task(cluster: &Cluster) -> String {
    let attachments = (0..3).map(|number| wire::Attachment {
        name: format!("{number}.bin"),
        data: Bytes::from(vec![number; MAX_ATTACHMENT_BYTES]),
        ..wire::Attachment::default()
    });
    let task = wire::Task {
        attachments: attachments.collect(),
        ..wire::Task::default()
    };
    cluster.create_with(task).await
}

#[tokio::test]
async fn exports_that_are_not_read_are_limited() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = large_task(&cluster).await;
    let export = || async {
        let request = wire::ExportTrajectoryRequest { name: name.clone() };
        cluster.client().raw().export_trajectory(request).await
    };
    let flood = 16;
    let mut exports: FuturesUnordered<_> = (0..flood).map(|_| export()).collect();
    let (mut open, mut refused) = (Vec::new(), 0);
    while open.len() < MAX_AT_A_TIME || refused < flood - MAX_PRESENT {
        match in_time("an export to begin or to be refused", exports.next())
            .await
            .unwrap()
        {
            Ok(stream) => open.push(stream.into_inner()),
            Err(status) => {
                let report = ErrorReport::from_status(&status);
                assert_eq!(
                    (report.code, report.reason.as_str()),
                    (Code::ResourceExhausted, "TOO_MANY_EXPORTS")
                );
                refused += 1;
            }
        }
    }
    let further = tokio::time::timeout(Duration::from_millis(200), exports.next()).await;
    assert!(further.is_err(), "the others wait: {further:?}");
    // Their client goes away.
    drop((exports, open));
    let usual = async {
        loop {
            match export().await {
                Ok(stream) => return stream.into_inner(),
                Err(status) => assert_eq!(status.code(), Code::ResourceExhausted),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let mut pieces = in_time("an export after the flood", usual).await;
    let mut size = 0;
    while let Some(piece) = in_time("a piece", pieces.next()).await {
        size += piece.unwrap().chunk.len();
    }
    assert!(size > 3 * MAX_ATTACHMENT_BYTES, "{size} bytes");
}

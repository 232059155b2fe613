//! Streams the trajectory of a task as an archive.
//!
//! Its files are not made here: [`motorium_recording::trajectory`] does.

use futures::StreamExt as _;
use motorium_proto::v1::orchestrator as wire;
use tonic::Status;

use super::exports::deliver;
use super::{Edge, ResponseStream};
use crate::error::Error;
use motorium_recording::trajectory::Trajectory;

impl Edge {
    pub(super) async fn trajectory(
        &self,
        request: wire::ExportTrajectoryRequest,
    ) -> Result<ResponseStream<wire::ExportTrajectoryResponse>, Error> {
        let name = self.visible_task("name", &request.name).await?;
        let slot = self.export_slot().await?;
        let gathered = Trajectory::gather(self.store.as_ref(), self.blobs.clone(), &name).await?;
        let pieces = gathered.archive().map(|piece| match piece {
            Ok(chunk) => Ok(wire::ExportTrajectoryResponse { chunk }),
            Err(error) => Err(Status::from(Error::from(error))),
        });
        Ok(deliver(pieces, slot))
    }
}

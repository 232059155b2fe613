//! Everything about a task as one archive, piece by piece.

use futures::StreamExt as _;
use motorium_proto::v1::orchestrator as wire;
use tonic::Status;

use super::{AnswerStream, Edge, task_name};
use crate::error::Error;
use crate::trajectory::Trajectory;

impl Edge {
    pub(super) async fn trajectory(
        &self,
        request: wire::ExportTrajectoryRequest,
    ) -> Result<AnswerStream<wire::ExportTrajectoryResponse>, Error> {
        let name = task_name("name", &request.name)?;
        let gathered = Trajectory::gather(self.store.as_ref(), self.blobs.clone(), &name).await?;
        let pieces = gathered.archive().map(|piece| match piece {
            Ok(chunk) => Ok(wire::ExportTrajectoryResponse { chunk }),
            Err(error) => Err(Status::from(Error::from(error))),
        });
        Ok(pieces.boxed())
    }
}

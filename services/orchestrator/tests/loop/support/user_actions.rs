//! User actions on a running task.

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Status;

use super::cluster::Cluster;

impl Cluster {
    pub(crate) async fn pause(&self, task: &str) {
        let request = wire::PauseTaskRequest {
            name: task.to_owned(),
            ..wire::PauseTaskRequest::default()
        };
        let paused = self.client().raw().pause_task(request).await.unwrap();
        assert_eq!(paused.into_inner().task.unwrap().state(), State::Paused);
    }

    pub(crate) async fn resume(&self, task: &str) {
        let request = wire::ResumeTaskRequest {
            name: task.to_owned(),
            ..wire::ResumeTaskRequest::default()
        };
        self.client().raw().resume_task(request).await.unwrap();
    }

    /// Takes the desktop over as the user "the night shift".
    pub(crate) async fn take_over(&self, task: &str) -> wire::Task {
        let request = wire::TakeOverRequest {
            name: task.to_owned(),
            user: "the night shift".to_owned(),
            ..wire::TakeOverRequest::default()
        };
        let taken = self.client().raw().take_over(request).await.unwrap();
        taken.into_inner().task.unwrap()
    }

    pub(crate) async fn hand_back(&self, task: &str) {
        self.try_to_hand_back(task).await.unwrap();
    }

    pub(crate) async fn try_to_hand_back(&self, task: &str) -> Result<(), Status> {
        let request = wire::HandBackRequest {
            name: task.to_owned(),
            message: "the dialog is gone".to_owned(),
            ..wire::HandBackRequest::default()
        };
        self.client().raw().hand_back(request).await.map(drop)
    }

    pub(crate) async fn say(&self, task: &str, text: &str) {
        let request = wire::SendMessageRequest {
            name: task.to_owned(),
            text: text.to_owned(),
            ..wire::SendMessageRequest::default()
        };
        self.client().raw().send_message(request).await.unwrap();
    }
}

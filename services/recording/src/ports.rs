//! The three services that a run calls.

use std::sync::Arc;

use motorium_proto::service::{Executor, Perception, Planner};

/// The three services that a run calls.
#[derive(Clone)]
pub struct Ports {
    pub perception: Arc<dyn Perception>,
    pub planner: Arc<dyn Planner>,
    pub executor: Arc<dyn Executor>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

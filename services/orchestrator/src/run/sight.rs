//! A screen that can be captured but not parsed: whether a task can go on with it. No I/O.

use std::collections::BTreeSet;

use motorium_proto::service::{BackendInfo, BackendState};
use motorium_task::Task;

/// Means of a run to go on with a screen that can be captured but not parsed.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Backends that are shown screenshots and can go on without elements.
    image_backends: BTreeSet<String>,
    /// True if the last screen could not be parsed.
    pub(super) is_unparsed: bool,
}

impl Sight {
    /// Remembers the backends that may decide for this task.
    pub(super) fn learn(&mut self, backends: &[BackendInfo], chosen: &[String]) {
        let may_decide = |backend: &&BackendInfo| {
            let is_chosen = chosen.is_empty() || chosen.contains(&backend.name);
            is_chosen && backend.state != BackendState::NotConfigured
        };
        let shown = backends.iter().filter(may_decide);
        let shown = shown.filter(|backend| backend.needs_image);
        self.image_backends = shown.map(|backend| backend.name.clone()).collect();
    }

    /// Returns whether the task can go on without elements. A backend that only knows elements would take an empty screen for the
    /// truth.
    pub(super) fn suffices(&self, task: &Task) -> bool {
        let decisions = task.steps.iter().rev();
        let last = decisions.filter_map(|step| step.decision.as_ref()).next();
        match last {
            Some(last) => self.image_backends.contains(&last.backend),
            None => !self.image_backends.is_empty(),
        }
    }
}

//! Work of a run beside its loop: listening for commands, renewing leases, and watching for human input.

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::context::RunContext;
use super::lease_keeper::LeaseKeeper;
use super::takeover::human_input;
use motorium_proto::domain::desktop::Lease;

/// Background tasks of one run. They end with it.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    command_listener: Option<AbortOnDropHandle<()>>,
    /// Pauses the task when a person uses the mouse or the keyboard.
    human_input_monitor: Option<AbortOnDropHandle<()>>,
    /// Set once the desktop is leased.
    lease_keeper: Option<LeaseKeeper>,
    /// Cancelled when a renewal of the desktop's lease fails: another task may have the desktop then.
    pub(super) lease_unsure: CancellationToken,
}

impl BackgroundTasks {
    /// Starts listening for commands. Runs from the beginning, so that a task can be cancelled while it waits for its
    /// desktop.
    pub(super) fn listen_for_commands(&mut self, run: &RunContext) {
        let listening = run.journal.listen(run.interrupts.stop.clone());
        self.command_listener = Some(AbortOnDropHandle::new(tokio::spawn(listening)));
    }

    /// Starts renewing the leases of the task and of its desktop.
    pub(super) fn keep_leases(&mut self, run: &RunContext, lease: &Lease) {
        self.lease_keeper = Some(LeaseKeeper::start(run, lease, self.lease_unsure.clone()));
    }

    /// Starts pausing the task on human input.
    pub(super) fn watch_human_input(&mut self, run: &RunContext) {
        if run.config.pause_on_human_input {
            let pausing = run.journal.pause_on_human_input(human_input(run));
            self.human_input_monitor = Some(AbortOnDropHandle::new(tokio::spawn(pausing)));
        }
    }

    /// Stops renewing the leases and releases the desktop.
    pub(super) async fn stop(&mut self) {
        if let Some(keeper) = self.lease_keeper.take() {
            keeper.stop().await;
        }
    }
}

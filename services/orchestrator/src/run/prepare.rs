//! Preparation before the first step: leases the desktop, settles what a crash left open, and puts attachments.

use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::id::{ActionId, DisplayId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{AcquireRequest, PutFile};
use tonic::Code;

use super::act::{outcome_of, retry_due};
use super::lease_keeper::{LeaseKeeper, acquire_lease};
use super::{Halt, RunResult, Runner, halt, is_transient};
use crate::error::reason;
use motorium_task::event::{Event, Failure};
use motorium_task::spec::Attachment;

impl Runner {
    pub(super) async fn prepare(&mut self) -> RunResult {
        self.watch_for_commands();
        let lease = self.acquire().await?;
        let recovered = self.task.started_at.is_some();
        self.lease_keeper = Some(LeaseKeeper::start(self, lease.display.clone(), lease.epoch));
        self.desktop.display = Some(lease.display);
        let desktop = self.desktop.name.clone();
        let acquired = Event::DesktopAcquired {
            desktop: desktop.clone(),
            epoch: lease.epoch,
        };
        let begun = if recovered {
            self.remember_screens().await;
            self.recovery().await?
        } else {
            self.start_events()
        };
        self.record(
            vec![acquired]
                .into_iter()
                .chain(begun)
                .chain([Event::LiveFrame { desktop }])
                .collect(),
        )
        .await?;
        self.has_begun = true;
        self.watch_human_input();
        if self.task.cancel_requested.is_some() {
            return Ok(());
        }
        self.before_run().await?;
        self.load_backends().await?;
        self.load_functions().await?;
        self.put_attachments().await
    }

    async fn acquire(&mut self) -> RunResult<motorium_proto::domain::desktop::Lease> {
        let request = AcquireRequest {
            display: self.desktop.display.clone(),
            holder: self.task.spec.name.to_string(),
            ttl: AcquireRequest::DEFAULT_TTL,
            take_over: false,
        };
        let lease = self
            .try_call("leasing the desktop", move |ports| {
                acquire_lease(ports, request.clone())
            })
            .await?;
        lease.map_err(|report| match report.reason.as_str() {
            "DESKTOP_LEASED" => Halt::DesktopBusy,
            _ if !is_desktops_fault(&report) => halt("leasing the desktop", report),
            // The task has not touched the desktop yet, so it can wait for this desktop or another one.
            _ => Halt::OwnershipLost(report.message),
        })
    }

    fn start_events(&self) -> Vec<Event> {
        vec![Event::Started {
            orchestrator: self.orchestrator.clone(),
        }]
    }

    /// Settles actions that a crash left open. The new lease fences off the old holder, and the Executor's journal
    /// tells how far its actions came. Actions of which no input was sent are due again, with the rest of their step.
    /// Actions with an unknown outcome are never repeated and end the step.
    async fn recovery(&mut self) -> RunResult<Vec<Event>> {
        let unfinished: Vec<ActionId> = self.task.unfinished_actions().cloned().collect();
        let mut unknown = Vec::new();
        let mut settled = Vec::new();
        for action_id in unfinished {
            let progress = self.look_up(action_id.clone()).await?;
            let outcome = outcome_of(progress);
            let never_happened = outcome.sent_nothing();
            if outcome.result == ActionResult::Unknown {
                unknown.push(action_id.clone());
            }
            settled.push(Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome,
            });
            if never_happened {
                settled.push(retry_due(action_id, self.task.spec.message_language()));
            }
        }
        let orchestrator = self.orchestrator.clone();
        let mut events = vec![Event::Recovered {
            orchestrator,
            unknown_actions: unknown,
        }];
        events.extend(settled);
        Ok(events)
    }

    async fn load_backends(&mut self) -> RunResult {
        let backends = self
            .call("listing the planner's backends", |ports| async move {
                ports.planner.list_backends().await
            })
            .await?;
        let chosen = &self.task.spec.backends;
        if let Some(unknown) = chosen
            .iter()
            .find(|name| !backends.iter().any(|backend| backend.name == **name))
        {
            let known: Vec<&str> = backends
                .iter()
                .map(|backend| backend.name.as_str())
                .collect();
            let message = format!(
                "unknown planner backend `{unknown}`; known backends: {}",
                known.join(", ")
            );
            return Err(Halt::Fail(Failure::new(reason::BACKEND_NOT_FOUND, message)));
        }
        let asked = |name: &String| chosen.is_empty() || chosen.contains(name);
        self.needs_image = backends
            .iter()
            .any(|backend| backend.needs_image && asked(&backend.name));
        let display = self.desktop.display.clone();
        let capabilities = self
            .call("reading the Executor's capabilities", move |ports| {
                let display = display.clone();
                async move { ports.executor.get_capabilities(display).await }
            })
            .await?;
        self.applications = capabilities.applications;
        Ok(())
    }

    async fn put_attachments(&mut self) -> RunResult {
        let attachments = self.task.spec.attachments.clone();
        for attachment in attachments {
            if !self.task.attachments_put.contains(&attachment.name) {
                self.put_attachment(attachment).await?;
            }
        }
        Ok(())
    }

    async fn put_attachment(&mut self, attachment: Attachment) -> RunResult {
        let Some((_, epoch)) = self.task.desktop.clone() else {
            return Ok(());
        };
        let file = PutFile {
            display: self.desktop.display.clone(),
            epoch,
            name: attachment.name,
            overwrite: true,
            content: attachment.data,
        };
        let info = self
            .call("putting a file on the desktop", move |ports| {
                let file = file.clone();
                async move { ports.executor.put_file(file).await }
            })
            .await?;
        let event = Event::AttachmentPut {
            name: info.name,
            size_bytes: info.size_bytes,
            path: info.path,
        };
        self.record(vec![event]).await
    }

    pub(super) fn display(&self) -> Option<DisplayId> {
        self.desktop.display.clone()
    }
}

/// Returns whether the error is the desktop's fault: it is unreachable, or cannot store its lease. The task is then
/// released rather than failed; otherwise one faulty desktop would fail every task.
fn is_desktops_fault(report: &ErrorReport) -> bool {
    is_transient(report) || matches!(report.code, Code::Internal | Code::DataLoss)
}

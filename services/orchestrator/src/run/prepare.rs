//! Before the first step: the desktop is leased, what a crash left open is settled, attachments are put.

use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::id::{ActionId, DisplayId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{AcquireRequest, PutFile};
use tonic::Code;

use super::act::{due_again, outcome_of};
use super::keeper::{Keeper, lease};
use super::{Flow, Halt, Runner, halt, is_transient};
use crate::error::reason;
use crate::task::event::{Event, Failure};
use crate::task::spec::Attachment;

impl Runner {
    pub(super) async fn prepare(&mut self) -> Flow {
        self.watch_for_commands();
        let lease = self.acquire().await?;
        let recovered = self.task.started_at.is_some();
        self.keeper = Some(Keeper::start(self, lease.display.clone(), lease.epoch));
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
            self.beginning()
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
        self.watch_for_people();
        if self.task.cancel_requested.is_some() {
            return Ok(());
        }
        self.before_run().await?;
        self.learn_about_backends().await?;
        self.learn_about_functions().await?;
        self.put_attachments().await
    }

    async fn acquire(&mut self) -> Flow<motorium_proto::domain::desktop::Lease> {
        let request = AcquireRequest {
            display: self.desktop.display.clone(),
            holder: self.task.spec.name.to_string(),
            ttl: AcquireRequest::DEFAULT_TTL,
            take_over: false,
        };
        let lease = self
            .ask_for_answer("leasing the desktop", move |ports| {
                lease(ports, request.clone())
            })
            .await?;
        lease.map_err(|report| match report.reason.as_str() {
            "DESKTOP_LEASED" => Halt::Busy,
            _ if !is_desktops_fault(&report) => halt("leasing the desktop", report),
            // Nothing has been done to it yet. It waits for this desktop, or for another one.
            _ => Halt::Lost(report.message),
        })
    }

    fn beginning(&self) -> Vec<Event> {
        vec![Event::Started {
            orchestrator: self.orchestrator.clone(),
        }]
    }

    /// Settles what a crash left open. The lease is ours and newer, so nothing of the old holder can arrive any
    /// more; the Executor's journal says how far its actions came. That of which nothing was sent is due again, and
    /// the rest of its step after it; what the journal cannot say stays unknown, is never repeated, and ends the step.
    async fn recovery(&mut self) -> Flow<Vec<Event>> {
        let unfinished: Vec<ActionId> = self.task.unfinished_actions().cloned().collect();
        let mut unknown = Vec::new();
        let mut settled = Vec::new();
        for action_id in unfinished {
            let progress = self.look_up(action_id.clone()).await?;
            let outcome = outcome_of(progress);
            let never_happened = outcome.never_happened();
            if outcome.result == ActionResult::Unknown {
                unknown.push(action_id.clone());
            }
            settled.push(Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome,
            });
            if never_happened {
                settled.push(due_again(action_id));
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

    async fn learn_about_backends(&mut self) -> Flow {
        let backends = self
            .ask("asking for the planner's backends", |ports| async move {
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
                "there is no planner backend `{unknown}`; there are: {}",
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
            .ask("asking what the Executor can do", move |ports| {
                let display = display.clone();
                async move { ports.executor.get_capabilities(display).await }
            })
            .await?;
        self.applications = capabilities.applications;
        Ok(())
    }

    async fn put_attachments(&mut self) -> Flow {
        let attachments = self.task.spec.attachments.clone();
        for attachment in attachments {
            if !self.task.attachments_put.contains(&attachment.name) {
                self.put_attachment(attachment).await?;
            }
        }
        Ok(())
    }

    async fn put_attachment(&mut self, attachment: Attachment) -> Flow {
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
            .ask("putting a file on the desktop", move |ports| {
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

/// Whether any task would have been refused: the desktop is away, or cannot even write its lease down. Then it fails
/// none; one sick desktop would soon have failed them all.
fn is_desktops_fault(report: &ErrorReport) -> bool {
    is_transient(report) || matches!(report.code, Code::Internal | Code::DataLoss)
}

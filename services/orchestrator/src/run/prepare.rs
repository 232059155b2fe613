//! Preparation before the first step: leases the desktop, settles what a crash left open, and puts attachments.
//!
//! No step is made here: the run loop does that.

use motorium_messages::Message;
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::id::{ActionId, TaskName};
use motorium_proto::error::ErrorReport;
use motorium_proto::error::reason::DESKTOP_LEASED;
use motorium_proto::service::{AcquireRequest, ActionProgress, FenceRequest};
use tonic::Code;

use super::actuator::{Actuator, last_action, outcome_of, retry_due};
use super::attachments::put_attachments;
use super::context::RunContext;
use super::decide::Planning;
use super::lease_keeper::acquire_lease;
use super::{Halt, RunResult, Runner, halt, hooks, is_transient};
use crate::error::reason;
use crate::queue;
use motorium_task::event::{Event, Failure};
use motorium_task::{DesktopHold, DesktopWait, Lifecycle};

impl Runner {
    pub(super) async fn prepare(&mut self) -> RunResult {
        self.background.listen_for_commands(&self.run);
        let lease = acquire(&mut self.run).await?;
        let recovered = self.run.task().started_at.is_some();
        self.background.keep_leases(&self.run, &lease);
        self.run.desktop.display = Some(lease.display.clone());
        let desktop = self.run.desktop.name.clone();
        let begun = if recovered {
            self.gate.provenance.remember_screens(&self.run).await;
            recovery(&mut self.run, &self.actuator, &lease, &self.orchestrator).await?
        } else {
            self.start_events()
        };
        let acquired = Event::DesktopAcquired {
            desktop: desktop.clone(),
            epoch: lease.epoch,
            journal_checkpoint: lease.journal_checkpoint,
        };
        self.run
            .record(
                vec![acquired]
                    .into_iter()
                    .chain(begun)
                    .chain([Event::LiveFrame { desktop }])
                    .collect(),
            )
            .await?;
        self.run.interrupts.has_begun = true;
        self.background.watch_human_input(&self.run);
        if self.run.task().cancel_requested.is_some() {
            return Ok(());
        }
        hooks::before_run(&mut self.run).await?;
        self.run.show_screen(&self.background.lease_unsure);
        self.planning.load_backends(&mut self.run).await?;
        self.functions.load_functions(&mut self.run).await?;
        put_attachments(&mut self.run).await
    }

    fn start_events(&self) -> Vec<Event> {
        vec![Event::Started {
            orchestrator: self.orchestrator.clone(),
        }]
    }
}

impl Planning {
    async fn load_backends(&mut self, run: &mut RunContext) -> RunResult {
        let backends = run
            .call(Message::OperationListBackends, |ports| async move {
                ports.planner.list_backends().await
            })
            .await?;
        let chosen = &run.task().spec.backends;
        if let Some(unknown) = chosen
            .iter()
            .find(|name| !backends.iter().any(|backend| backend.name == **name))
        {
            let known: Vec<&str> = backends
                .iter()
                .map(|backend| backend.name.as_str())
                .collect();
            let message = run.task().text(Message::BackendUnknown {
                name: unknown,
                known: &known.join(", "),
            });
            return Err(Halt::Fail(Failure::new(reason::BACKEND_NOT_FOUND, message)));
        }
        run.sight
            .learn(&backends, &run.task().spec.backends.clone());
        let chosen = &run.task().spec.backends;
        let asked = |name: &String| chosen.is_empty() || chosen.contains(name);
        self.needs_image = backends
            .iter()
            .any(|backend| backend.needs_image && asked(&backend.name));
        let display = run.desktop.display.clone();
        let capabilities = run
            .call(Message::OperationReadCapabilities, move |ports| {
                let display = display.clone();
                async move { ports.executor.get_capabilities(display).await }
            })
            .await?;
        self.applications = capabilities.applications;
        self.files_folder = capabilities.files_folder;
        Ok(())
    }
}

async fn acquire(run: &mut RunContext) -> RunResult<Lease> {
    let request = AcquireRequest {
        display: run.desktop.display.clone(),
        holder: run.task().spec.name.to_string(),
        ttl: AcquireRequest::DEFAULT_TTL,
        take_over: false,
        tenant: run
            .config
            .features
            .tenant_files
            .then(|| run.task().spec.owner.tenant.clone()),
    };
    let lease = run
        .try_call(Message::OperationLeaseDesktop, move |ports| {
            acquire_lease(ports, request.clone())
        })
        .await?;
    if let Err(report) = &lease
        && report.reason == DESKTOP_LEASED
    {
        record_lease_holder(run, report).await?;
    }
    lease.map_err(|report| match report.reason.as_str() {
        DESKTOP_LEASED => Halt::DesktopBusy,
        _ if !is_desktops_fault(&report) => {
            halt(run.task(), Message::OperationLeaseDesktop, report)
        }
        // The task has not touched the desktop yet, so it can wait for this desktop or another one.
        _ => Halt::OwnershipLost(report.message),
    })
}

/// Records which client of another process holds the desktop of a task that has not started.
async fn record_lease_holder(run: &mut RunContext, report: &ErrorReport) -> RunResult {
    let holder = match report.metadata.get("holder") {
        Some(holder) if is_foreign(run, holder).await => Some(DesktopHold::HIDDEN_TASK.to_owned()),
        holder => holder.cloned(),
    };
    let wait = DesktopWait::Queued {
        position: 1,
        holds: vec![DesktopHold {
            desktop: run.desktop.name.clone(),
            holder: Some(holder.unwrap_or_else(|| report.message.clone())),
        }],
    };
    let known = run.task().desktop_wait.as_ref();
    let is_known = known.is_some_and(|known| known.has_same_holds(&wait));
    if is_known || run.task().lifecycle != Lifecycle::Pending {
        return Ok(());
    }
    let event = queue::event(run.task(), &wait);
    run.record(vec![event]).await
}

/// Returns whether a holder of a lease is a task of another tenant.
async fn is_foreign(run: &RunContext, holder: &str) -> bool {
    let Ok(name) = TaskName::parse("holder", holder) else {
        return false;
    };
    let row = run.journal.store().get_task(&name).await;
    row.is_ok_and(|row| row.tenant != run.task().spec.owner.tenant)
}

/// Settles actions that a crash left open. The new lease fences off the old holder, and the Executor's journal
/// tells how far its actions came. Actions of which no input was sent are due again, with the rest of their step.
/// Actions with an unknown outcome are never repeated and end the step.
async fn recovery(
    run: &mut RunContext,
    actuator: &Actuator,
    lease: &Lease,
    orchestrator: &str,
) -> RunResult<Vec<Event>> {
    let unfinished: Vec<ActionId> = run.task().unfinished_actions().cloned().collect();
    let mut unknown = Vec::new();
    let mut settled = Vec::new();
    for action_id in unfinished {
        let progress = settled_progress(run, actuator, lease, action_id.clone()).await?;
        let language = run.task().spec.message_language();
        let outcome = outcome_of(progress, language);
        let never_happened = outcome.sent_nothing;
        if outcome.result == ActionResult::Unknown {
            unknown.push(action_id.clone());
        }
        settled.push(Event::ActionPerformed {
            action_id: action_id.clone(),
            outcome,
        });
        if never_happened {
            settled.push(retry_due(action_id, language));
        }
    }
    let orchestrator = orchestrator.to_owned();
    let mut events = vec![Event::Recovered {
        orchestrator,
        unknown_actions: unknown,
    }];
    events.extend(settled);
    Ok(events)
}

/// Returns how far an action of an earlier lease came. Only the journal of that lease can tell that it did not start.
async fn settled_progress(
    run: &mut RunContext,
    actuator: &Actuator,
    lease: &Lease,
    action_id: ActionId,
) -> RunResult<ActionProgress> {
    let request = FenceRequest {
        display: lease.display.clone(),
        epoch: lease.epoch,
        action_id: action_id.clone(),
        journal_checkpoint: run.task().journal_checkpoint.clone(),
        last_action_id: last_action(run),
    };
    let progress = match actuator.fence(run, request).await? {
        Some(progress) => progress,
        // The epoch of the new lease rejects late calls of the old holder.
        None => actuator.look_up(run, action_id).await?,
    };
    let continues = run.task().is_continued_by(&run.desktop.name, lease.epoch);
    Ok(match progress {
        ActionProgress::NotStarted if run.config.features.fence_actions && !continues => {
            ActionProgress::Unknown
        }
        progress => progress,
    })
}

/// Returns whether the error is the desktop's fault: it is unreachable, or cannot store its lease. The task is then
/// released rather than failed; otherwise one faulty desktop would fail every task.
fn is_desktops_fault(report: &ErrorReport) -> bool {
    is_transient(report) || matches!(report.code, Code::Internal | Code::DataLoss)
}

//! Hooks around screenshots.

use motorium_messages::Message;
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::service::Redaction;

use super::{RunResult, or_fail};
use crate::hooks::event::HookScreenshot;
use crate::hooks::{HookDenial, HookEvent, HookPoint};
use crate::run::context::RunContext;

/// Asks the hooks for redactions of the following captures.
pub(in crate::run) async fn before_screenshot(run: &mut RunContext) -> RunResult {
    if !run.wants(HookPoint::BeforeScreenshot) {
        run.hooks.redactions.clear();
        return Ok(());
    }
    let (hidden, denial) = ask_redactions(run).await?;
    or_fail(denial, run.task(), |denial| Message::HookDeniesScreenshot {
        denial,
    })?;
    run.hooks.redactions = hidden;
    Ok(())
}

/// Asks the hooks for redactions of the observation for the next step. Captures of this step are still compared
/// meanwhile and keep their own redactions. Returns `None` if a hook denies the screenshot.
pub(in crate::run) async fn before_next_screenshot(
    run: &mut RunContext,
) -> RunResult<Option<Vec<Redaction>>> {
    run.hooks.next_redactions = None;
    if run.wants(HookPoint::BeforeScreenshot) {
        let (hidden, denial) = ask_redactions(run).await?;
        if denial.is_some() {
            return Ok(None);
        }
        run.hooks.next_redactions = Some(hidden);
    }
    Ok(Some(run.hooks.next_redactions.clone().unwrap_or_default()))
}

/// Applies the redactions of the observation that was started early.
pub(in crate::run) fn use_next_redactions(run: &mut RunContext) {
    run.hooks.redactions = run.hooks.next_redactions.take().unwrap_or_default();
}

async fn ask_redactions(run: &mut RunContext) -> RunResult<(Vec<Redaction>, Option<HookDenial>)> {
    let mut hook_event = HookEvent::BeforeScreenshot(Vec::new());
    let denial = run.ask_hooks(&mut hook_event, None).await?;
    match hook_event {
        HookEvent::BeforeScreenshot(hidden) => Ok((hidden, denial)),
        _ => unreachable!("a hook cannot change an event's kind"),
    }
}

/// Notifies the hooks of a screenshot.
pub(in crate::run) async fn after_screenshot(
    run: &mut RunContext,
    frame: &Frame,
    image: Option<&Image>,
) {
    if run.wants(HookPoint::AfterScreenshot) {
        let seen = HookEvent::AfterScreenshot(HookScreenshot { frame, image });
        run.tell_hooks(seen, None).await;
    }
}

//! Judges the effect of a drag of `motorium act`, as a task judges its actions: by the screen before and after it.
//!
//! Most drags move something without the display noticing, so that the Executor knows only that the input was sent. Deliberately not
//! here: other actions, whose outcomes say what was sent, and background motion, for which a task watches the screen longer.

use std::time::Duration;

use motorium_kit::config::LayeredConfig;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::Effect;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{CaptureRequest, CompareRequest, WaitForIdleRequest};
use motorium_task::effect::{self, EffectCriterion, Evidence};

use super::running::PerceptionHandle;
use crate::show::terminal_language;

/// Time within which the effect of a drag has to begin, and time for it to settle. Those of a task's drags.
const FIRST_CHANGE: Duration = Duration::from_secs(1);
const SETTLED: Duration = Duration::from_millis(2500);

/// The screen before a drag.
pub(super) struct DragLook {
    perception: PerceptionHandle,
    display: Option<DisplayId>,
    before: Frame,
}

impl DragLook {
    /// Looks at the screen before a drag. `None` for other actions, and if the screen cannot be seen.
    pub(super) async fn before(
        loaded: &LayeredConfig,
        action: &Action<CapturePoint>,
        display: Option<DisplayId>,
        in_process: bool,
    ) -> Option<Self> {
        if action.kind() != ActionKind::Drag {
            return None;
        }
        let perception = PerceptionHandle::connect(loaded, in_process).await.ok()?;
        let before = capture(&perception, display.as_ref()).await?;
        Some(Self {
            perception,
            display,
            before,
        })
    }

    /// Returns the effect of the drag; `None` if the screen cannot be seen any more.
    pub(super) async fn effect(self, action: &Action<CapturePoint>) -> Option<Effect> {
        let perception = &self.perception.perception;
        let request = WaitForIdleRequest {
            display: self.display.clone(),
            since_frame: Some(self.before.id.clone()),
            first_change_timeout: FIRST_CHANGE,
            timeout: SETTLED,
            ..WaitForIdleRequest::default()
        };
        let idle = perception.wait_for_idle(request).await.ok()?;
        let after = capture(&self.perception, self.display.as_ref()).await?;
        let request = CompareRequest {
            ignore: idle.background_motion.clone(),
            ..CompareRequest::new(self.before.id.clone(), after.id.clone())
        };
        let comparison = perception.compare(request).await.ok()?;
        let evidence = Evidence {
            action,
            target: None,
            left_field: None,
            before: &self.before,
            after: &after,
            comparison,
            idle: &idle,
            background_motion: &[],
            language: terminal_language(),
        };
        Some(effect::judge(evidence, EffectCriterion::ChangedRegions))
    }
}

/// Captures the screen without the pointer, which is elsewhere after the drag.
async fn capture(handle: &PerceptionHandle, display: Option<&DisplayId>) -> Option<Frame> {
    let request = CaptureRequest {
        display: display.cloned(),
        omit_cursor: true,
        ..CaptureRequest::default()
    };
    let captured = handle.perception.capture(request).await;
    Some(captured.ok()?.frame)
}

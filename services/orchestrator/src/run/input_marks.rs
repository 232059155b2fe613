//! Tells Perception where the next action goes, so that people who watch the live stream see it.
//!
//! It is sent and not awaited: an action never waits for its viewers, and is performed also if there are none. It is no part
//! of a recording; the exported page draws targets and points from the events.

use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::MarkInputRequest;

use super::attempt::ResolvedAction;
use super::context::RunContext;

/// Time limit of the call. A mark that comes later than this would be shown after its action.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Shows an action in the live streams of its desktop.
pub(super) fn show(run: &RunContext, resolved: &ResolvedAction) {
    let presses = presses(&resolved.action);
    if presses.is_empty() && resolved.target.is_none() {
        return;
    }
    let perception = run.background_perception.0.clone();
    let request = MarkInputRequest {
        display: run.display(),
        presses,
        target: resolved.target,
    };
    tokio::spawn(async move {
        match tokio::time::timeout(TIMEOUT, perception.mark_input(request)).await {
            Ok(Ok(())) => {}
            Ok(Err(report)) => tracing::debug!(%report, "viewers do not see the action"),
            Err(_) => tracing::debug!("viewers do not see the action: Perception is busy"),
        }
    });
}

/// Returns the points at which an action presses or releases a button.
fn presses(action: &Action<CapturePoint>) -> Vec<CapturePoint> {
    match action {
        Action::Click { at, .. } | Action::MouseDown { at, .. } | Action::MouseUp { at, .. } => {
            at.iter().copied().collect()
        }
        Action::Drag { path, .. } => path
            .first()
            .into_iter()
            .chain(path.last())
            .copied()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::Button;

    use super::*;

    #[test]
    fn a_drag_is_marked_at_both_ends_and_a_move_nowhere() {
        let points = [(1, 1), (5, 5), (9, 2)].map(|(x, y)| CapturePoint::new(x, y));
        let drag = Action::Drag {
            path: points.to_vec(),
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
            hold: None,
        };
        assert_eq!(presses(&drag), [points[0], points[2]]);
        assert_eq!(presses(&Action::Move { to: points[0] }), []);
    }
}

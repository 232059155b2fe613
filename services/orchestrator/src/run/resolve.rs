//! Resolves the targets of actions to points on the current screen.
//!
//! Targets in words are not matched here: the Planner does that.

use motorium_imaging::space::denormalise;
use motorium_messages::Message;
use motorium_phrasebook::target;
use motorium_proto::domain::action::{ActionKind, Target, TextAnchor};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::error::ErrorReport;
use motorium_proto::error::reason::{TARGET_AMBIGUOUS, TARGET_NOT_FOUND};
use motorium_proto::service::{ResolveRequest, ResolvedTarget, TargetQuery};

use super::attempt::{ResolvedAction, TypedAddresses};
use super::context::RunContext;
use super::provenance::with_known_text;
use super::screen::{Screen, ScreenView};
use super::{RunResult, halt, is_transient};

/// Resolves the targets of an action to points, or returns why that is impossible.
pub(super) async fn resolve(
    run: &mut RunContext,
    screen: &mut Screen,
    planned: &PlannedAction,
) -> RunResult<Result<ResolvedAction, String>> {
    let is_point = |target: &Target| matches!(target, Target::Point(_));
    // The policy judges the element under the action, even if the action names none: an earlier click may have
    // opened something.
    if depends_on_screen(planned.action.kind()) || !planned.action.targets().all(is_point) {
        screen.refresh_if_stale(run).await?;
    }
    // A click needs the element at its point; a drag's path has many points and no element.
    let at_rest =
        planned.action.kind() == ActionKind::Click && screen.view().is_some_and(|view| !view.stale);
    let mut points = Vec::new();
    let mut target_box = None;
    for target in planned.action.targets() {
        if let Target::Point(point) = target
            && !at_rest
        {
            points.push(*point);
            continue;
        }
        match locate(run, screen, target).await? {
            Ok((point, bounds)) => {
                points.push(point);
                target_box = bounds;
            }
            Err(message) => return Ok(Err(message)),
        }
    }
    let label = label(screen, planned, points.last().copied());
    let mut points = points.into_iter();
    let with_points = planned.action.clone().try_map(|_| points.next().ok_or(()));
    let action = with_points.expect("one point was found for each target");
    let action = with_known_text(run, action);
    Ok(Ok(ResolvedAction {
        action,
        target: target_box,
        label,
        is_risky: false,
        addresses: TypedAddresses::default(),
    }))
}

/// Maximum length of an element's text in a label, in characters: a label tells elements apart, and a paragraph is long.
const MAX_LABEL_CHARS: usize = 60;

/// Returns the kind and the text of the element at the last target. Later steps have other elements under its number.
fn label(screen: &Screen, planned: &PlannedAction, point: Option<CapturePoint>) -> Option<String> {
    let (scene, frame) = screen.view()?.scene();
    let element = match planned.action.targets().last()? {
        Target::Element(id) => scene.element(*id),
        Target::Point(_) | Target::Text(_) => smallest_at(scene, frame.size, point?),
    }?;
    let text = element.content.split_whitespace().collect::<Vec<_>>();
    let text = text.join(" ");
    let text = match text.char_indices().nth(MAX_LABEL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    Some(match text.as_str() {
        "" => element.kind.to_string(),
        text => format!("{} \"{text}\"", element.kind),
    })
}

/// Returns the smallest element at a point.
fn smallest_at(scene: &Scene, size: CaptureSize, point: CapturePoint) -> Option<&Element> {
    let elements = scene.elements.iter();
    let at_point = elements.filter_map(|element| {
        let bounds = denormalise(&element.bounds, size);
        bounds.contains(point).then_some((bounds.area(), element))
    });
    let smallest = at_point.min_by_key(|(area, _)| *area);
    smallest.map(|(_, element)| element)
}

/// Resolves one target: in words with the Planner, otherwise here.
async fn locate(
    run: &mut RunContext,
    screen: &Screen,
    target: &Target,
) -> RunResult<Result<(CapturePoint, Option<CaptureRect>), String>> {
    let Some(view) = screen.view() else {
        return Ok(Err(run.task().text(Message::ScreenNotObserved)));
    };
    let resolved = match target {
        Target::Text(anchor) => find_in_words(run, view, target, anchor).await?,
        Target::Element(_) | Target::Point(_) => {
            let (scene, frame) = view.scene();
            let resolved = target::resolve(target, frame, scene);
            resolved.map_err(|error| error.text(run.task().spec.message_language()))
        }
    };
    Ok(resolved.map(|resolved| (resolved.point, Some(resolved.bounds))))
}

/// Asks the Planner for a target in words, which it matches with the texts on the screen. No model is asked: models see the list of
/// elements when they decide, and name one.
async fn find_in_words(
    run: &mut RunContext,
    view: &ScreenView,
    target: &Target,
    anchor: &TextAnchor,
) -> RunResult<Result<ResolvedTarget, String>> {
    let request = ResolveRequest {
        target: TargetQuery::Target(target.clone()),
        frame: view.observation.frame.clone(),
        scene: view.observation.scene.clone(),
    };
    let resolved = run
        .try_call(Message::OperationFindTarget, move |ports| {
            let request = request.clone();
            async move { ports.planner.resolve_target(request).await }
        })
        .await?;
    match resolved {
        Err(report) if is_transient(&report) => {
            Err(halt(run.task(), Message::OperationFindTarget, report))
        }
        resolved => Ok(resolved.map_err(|report| not_found_text(run, anchor, report))),
    }
}

/// Returns the Planner's error about a target in the language of the task. Other errors are passed on as they are.
fn not_found_text(run: &RunContext, anchor: &TextAnchor, report: ErrorReport) -> String {
    let description = target::describe(anchor, run.task().spec.message_language());
    let detail = |key: &str| report.metadata.get(key).map_or("", String::as_str);
    let message = match report.reason.as_str() {
        TARGET_NOT_FOUND => target::not_found(&description, detail("nearest")),
        TARGET_AMBIGUOUS => Message::TargetAmbiguous {
            target: &description,
            count: detail("count").parse().unwrap_or_default(),
        },
        _ => return report.message,
    };
    run.task().text(message)
}

/// Returns whether an action depends on what is on the screen, so that the policy has to judge its target.
pub(super) fn depends_on_screen(kind: ActionKind) -> bool {
    use ActionKind::{Move, Scroll, SetClipboard, Wait};
    !matches!(kind, Move | Scroll | SetClipboard | Wait)
}

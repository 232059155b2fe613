//! A step that is described, without a screen: its action, the label of what it acts on, and the texts around.
//!
//! It draws the smallest screen on which the step makes sense, so that a policy judges it as it would judge the step of a task. It
//! does not parse sentences.

use std::collections::BTreeMap;
use std::time::SystemTime;

use motorium_proto::domain::action::{Action, Target, TextAnchor};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};
use motorium_task::keyboard::KeyboardHistory;
use motorium_text::lexicon::Lexicon;

use super::context::{ActionContext, ActionInputs};
use super::named_hosts::named_private_hosts;

/// Size of the drawn screen.
const SIZE: CaptureSize = CaptureSize::new(1280, 800);
/// Point at which a described action acts: the centre of its target.
pub const POINT: CapturePoint = CapturePoint::new(630, 412);
/// Size of the target.
const TARGET_SIZE: (i32, i32) = (60, 24);
/// Corner and size of a field, and width of the label to its left.
const FIELD: (i32, i32, i32, i32) = (600, 600, 200, 30);
/// Distance of the texts above the target. Twenty of them are within the reach of a heading, 150 pixels.
const TEXT_PITCH: i32 = 7;
const FIELD_LABEL_WIDTH: i32 = 100;

/// A described step. Points of its action are [`POINT`].
#[derive(Debug, Clone)]
pub struct DescribedStep<'a> {
    pub action: Action<CapturePoint>,
    /// Words of the planner for what the step is to do.
    pub intent: &'a str,
    /// `None` for an action that points at nothing that has a name.
    pub target: Option<DescribedTarget>,
    pub surroundings: Surroundings<'a>,
}

/// An element that a step acts on, by its label.
#[derive(Debug, Clone)]
pub enum DescribedTarget {
    /// An element that the action points at.
    Element { label: String, kind: ElementKind },
    /// A field that was clicked before, where text and keys go.
    Field { label: String },
}

/// Surroundings of a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// Texts above the target.
    pub texts: &'a [String],
    pub application: &'a str,
    pub window_title: &'a str,
    /// URL of the page, if known.
    pub url: Option<&'a str>,
    /// Words of the user, whose hosts may be opened.
    pub user_text: &'a str,
}

impl DescribedStep<'_> {
    /// Returns the step as policies see it.
    #[must_use]
    pub fn context(&self, words: &Lexicon) -> ActionContext {
        let is_pointed = self.action.targets().next().is_some();
        let has_texts = !self.surroundings.texts.is_empty();
        let pointed_at = match &self.target {
            Some(DescribedTarget::Field { .. }) => Some(field_bounds()),
            Some(DescribedTarget::Element { .. }) => Some(target_bounds()),
            None => has_texts.then(target_bounds),
        };
        ActionContext::of(
            words,
            &ActionInputs {
                planned: &self.planned(),
                action: &self.action,
                target: is_pointed.then(target_bounds),
                pointed_at,
                keyboard: &KeyboardHistory::default(),
                frame: &self.frame(),
                scene: &self.scene(),
                url: self.surroundings.url,
                labels: &BTreeMap::new(),
                named_hosts: &named_private_hosts([self.surroundings.user_text]),
                pasted: None,
                tainted: false,
                suspected_injection: false,
            },
        )
    }

    fn planned(&self) -> PlannedAction {
        let target = Target::Text(TextAnchor::default());
        let planned = self.action.clone().try_map(|_| Ok::<_, ()>(target.clone()));
        PlannedAction {
            action: planned.expect("the target is always there"),
            intent: self.intent.to_owned(),
            verify_pointer: false,
            repeatable: true,
        }
    }

    fn scene(&self) -> Scene {
        let mut elements = Vec::new();
        match &self.target {
            Some(DescribedTarget::Element { label, kind }) => {
                elements.push(element(1, label, *kind, target_bounds()));
            }
            Some(DescribedTarget::Field { label }) => {
                let (x, y, _, height) = FIELD;
                let left = rect((x - FIELD_LABEL_WIDTH - 20, y, FIELD_LABEL_WIDTH, height));
                elements.push(element(2, label, ElementKind::Label, left));
            }
            None => {}
        }
        // One below the other, right above the target, so that all of them count as its heading.
        let target = match &self.target {
            Some(DescribedTarget::Field { .. }) => field_bounds(),
            _ => target_bounds(),
        };
        for (row, text) in (1..).zip(self.surroundings.texts.iter().rev()) {
            let (x, y) = (target.center().x - 150, target.min.y - TEXT_PITCH * row);
            let bounds = rect((x, y, 300, TEXT_PITCH - 1));
            elements.push(element(
                10 + row.unsigned_abs(),
                text,
                ElementKind::Label,
                bounds,
            ));
        }
        Scene {
            frame: FrameId::new("described"),
            elements,
            relations: Vec::new(),
        }
    }

    fn frame(&self) -> Frame {
        let window = Window {
            id: "1".to_owned(),
            title: self.surroundings.window_title.to_owned(),
            application: self.surroundings.application.to_owned(),
            process: None,
            bounds: rect((0, 0, SIZE.width, SIZE.height)),
            active: true,
            minimised: false,
            modal: false,
        };
        Frame {
            id: FrameId::new("described"),
            display: DisplayId::new("described"),
            origin: CapturePoint::zero(),
            size: SIZE,
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: Vec::new(),
            windows: vec![window],
        }
    }
}

fn rect((x, y, width, height): (i32, i32, i32, i32)) -> CaptureRect {
    let min = CapturePoint::new(x, y);
    CaptureRect::new(min, CapturePoint::new(x + width, y + height))
}

fn target_bounds() -> CaptureRect {
    let (width, height) = TARGET_SIZE;
    rect((POINT.x - width / 2, POINT.y - height / 2, width, height))
}

fn field_bounds() -> CaptureRect {
    rect(FIELD)
}

fn element(id: u32, text: &str, kind: ElementKind, bounds: CaptureRect) -> Element {
    let corner = |point: CapturePoint| {
        NormalisedPoint::new(
            f64::from(point.x) / f64::from(SIZE.width),
            f64::from(point.y) / f64::from(SIZE.height),
        )
    };
    Element {
        id: ElementId(id),
        kind,
        content: text.to_owned(),
        bounds: NormalisedRect::new(corner(bounds.min), corner(bounds.max)),
        interactable: true,
        confidence: 1.0,
        centre: bounds.center(),
        source: ElementSource::Both,
        state: ElementState::default(),
    }
}

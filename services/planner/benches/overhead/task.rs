//! The step that is decided: on a captured desktop, and on a drawn one with more strokes than any real desktop has. The
//! drawn one makes measurements comparable between machines.

use std::sync::LazyLock;
use std::time::SystemTime;

use bytes::Bytes;
use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_proto::domain::action::{Action, Button, Target};
use motorium_proto::domain::decision::{PastAction, PastStep, PlannedAction, RemainingLimits};
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Image, ImageContent};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};
use motorium_proto::domain::session::TaskContext;
use motorium_proto::service::{ImageFormat, PlanRequest};

const WIDTH: u32 = 1920;
const HEIGHT: u32 = 1080;
const STEPS: u32 = 3;
const LENGTH: u32 = 80;
const ELEMENTS: u32 = 40;

/// A captured and annotated desktop with two windows.
const DESKTOP: &[u8] = include_bytes!("../../../../docs/images/set-of-marks.png");

/// Kind of screens that a task shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    Desktop,
    Dense,
}

impl Look {
    /// The screens of a long task.
    fn screens(self) -> &'static [Image] {
        static REAL: LazyLock<Vec<Image>> = LazyLock::new(desktop);
        static DENSE: LazyLock<Vec<Image>> = LazyLock::new(|| (0..LENGTH).map(dense).collect());
        match self {
            Self::Desktop => &REAL,
            Self::Dense => &DENSE,
        }
    }
}

/// A request with its own copies of the images, as if received over the network: the current screen and those of the
/// three steps before.
pub(crate) fn request(step: usize, look: Look) -> PlanRequest {
    let first = step as u32 % (LENGTH - STEPS);
    let frame = FrameId::new("frame");
    PlanRequest {
        goal: "Save the invoice as a PDF in the folder of this month.".to_owned(),
        instructions: String::new(),
        frame: Frame {
            id: frame.clone(),
            display: DisplayId::new("display"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(WIDTH as i32, HEIGHT as i32),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: Vec::new(),
            windows: Vec::new(),
        },
        image: Some(copy(first + STEPS, look)),
        scene: Scene {
            frame,
            elements: (1..=ELEMENTS).map(element).collect(),
            relations: Vec::new(),
        },
        history: (first..first + STEPS)
            .map(|index| past(index, look))
            .collect(),
        user_messages: Vec::new(),
        remaining: RemainingLimits::default(),
        functions: Vec::new(),
        conversation: Bytes::new(),
        conversation_backend: String::new(),
        backends: Vec::new(),
        platform: Platform::Linux,
        language: None,
        notices: Vec::new(),
        applications: Vec::new(),
        current_url: None,
        context: TaskContext::default(),
        written_by_model: false,
        person_texts: Vec::new(),
    }
}

fn copy(index: u32, look: Look) -> Image {
    let mut image = look.screens()[index as usize].clone();
    if let ImageContent::Bytes(bytes) = &image.content {
        image.content = ImageContent::Bytes(Bytes::copy_from_slice(bytes));
    }
    image
}

fn past(index: u32, look: Look) -> PastStep {
    let click = Action::Click {
        at: Some(Target::Element(ElementId(index + 1))),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
    };
    PastStep {
        step: index + 1,
        thought: "The menu has to be opened first.".to_owned(),
        actions: vec![PastAction {
            planned: PlannedAction {
                action: click,
                intent: "open the menu".to_owned(),
                verify_pointer: false,
                repeatable: true,
            },
            outcome: ActionOutcome::new(ActionResult::Performed, ""),
            effect: None,
            retries: 0,
            target_label: None,
        }],
        image: Some(copy(index, look)),
        frame_size: Some(CaptureSize::new(WIDTH as i32, HEIGHT as i32)),
        ..PastStep::default()
    }
}

/// An element of a grid of buttons, eight per row.
fn element(number: u32) -> Element {
    let (column, row) = ((number - 1) % 8, (number - 1) / 8);
    let (x, y) = (0.06 + f64::from(column) * 0.08, 0.08 + f64::from(row) * 0.1);
    let corner = |x, y| NormalisedPoint::new(x, y);
    Element {
        id: ElementId(number),
        kind: ElementKind::Button,
        content: format!("Button {number}"),
        bounds: NormalisedRect::new(corner(x, y), corner(x + 0.06, y + 0.04)),
        interactable: true,
        confidence: 0.9,
        centre: CapturePoint::new((x * 1920.0) as i32 + 57, (y * 1080.0) as i32 + 21),
        source: ElementSource::Both,
        state: ElementState::default(),
    }
}

/// The captured desktop, with a bar at the bottom that grows with each step so that every frame differs.
fn desktop() -> Vec<Image> {
    let captured = codec::decode(DESKTOP).expect("the screenshot of the desktop can be read");
    let at = |step: u32| {
        let mut pixels = captured.clone();
        for x in 0..8 * (step + 1) {
            pixels.put_pixel(x, HEIGHT - 1, Rgba([30, 30, 30, 255]));
        }
        codec::encode(&pixels, ImageFormat::Png).expect("a screen can be encoded")
    };
    (0..LENGTH).map(at).collect()
}

/// A window full of lines in front of a gradient, with one more line per step.
fn dense(step: u32) -> Image {
    let pixels = RgbaImage::from_fn(WIDTH, HEIGHT, |x, y| {
        let in_window = (100..1500).contains(&x) && (60..1000 + step).contains(&y);
        if !in_window {
            return Rgba([(y / 8) as u8, 60, 90 + (y / 12) as u8, 255]);
        }
        if is_stroke(x, y) {
            Rgba([30, 30, 30, 255])
        } else {
            Rgba([250, 250, 250, 255])
        }
    });
    codec::encode(&pixels, ImageFormat::Png).expect("a screen can be encoded")
}

/// Returns whether a pixel belongs to the stroke of a letter: lines of 14 pixels every 24, with words of different
/// lengths.
fn is_stroke(x: u32, y: u32) -> bool {
    let (line, row) = (y / 24, y % 24);
    let letter = (x / 9)
        .wrapping_mul(2_654_435_761)
        .wrapping_add(line.wrapping_mul(40_503))
        >> 13;
    (5..19).contains(&row)
        && !letter.is_multiple_of(5)
        && (x.wrapping_mul(letter | 1) >> 2).is_multiple_of(3)
}

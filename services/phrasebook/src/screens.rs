//! Screens described as text, one element per line, so that a test shows what its planner sees:
//!
//! ```text
//! window 0,0 640x500 "Invoices" active
//! button 20,40 80x30 "Save"
//! label  20,90 60x20 "Name:"
//! ```
//!
//! A line that starts with `text` is a line from text recognition; a window with the word `browser` is one of a browser. The frame is 1000×800.

use std::time::SystemTime;

use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureRect, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};

/// Size of the frame. Thousandths of its width are pixels, which keeps the expected positions in tests readable.
const SIZE: CaptureSize = CaptureSize::new(1000, 800);

/// A frame and its elements.
#[derive(Debug, Clone)]
pub struct DescribedScreen {
    pub frame: Frame,
    pub scene: Scene,
}

/// Parses a screen description.
pub fn screen(description: &str) -> DescribedScreen {
    let mut windows = Vec::new();
    let mut elements = Vec::new();
    for line in description
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let line = ElementLine::parse(line);
        if line.what == "window" {
            windows.push(window(&line));
        } else {
            elements.push(element(&line, elements.len()));
        }
    }
    let id = FrameId::new("frame");
    let frame = Frame {
        id: id.clone(),
        display: DisplayId::new("display"),
        origin: CapturePoint::zero(),
        size: SIZE,
        scale: 1.0,
        captured_at: SystemTime::UNIX_EPOCH,
        cursor: None,
        monitors: Vec::new(),
        windows,
    };
    DescribedScreen {
        frame,
        scene: Scene {
            frame: id,
            elements,
            relations: Vec::new(),
        },
    }
}

struct ElementLine<'a> {
    what: &'a str,
    bounds: CaptureRect,
    content: String,
    flags: Vec<&'a str>,
}

impl<'a> ElementLine<'a> {
    fn parse(line: &'a str) -> Self {
        let (head, quoted) = line.split_once('"').unwrap_or((line, ""));
        let (content, flags) = quoted.rsplit_once('"').unwrap_or((quoted, ""));
        let mut words = head.split_whitespace();
        let what = words.next().expect("a line starts with a kind");
        let (x, y) = pair(words.next().expect("a place"), ',');
        let (width, height) = pair(words.next().expect("an extent"), 'x');
        let bounds = CaptureRect::from_origin_and_size(
            CapturePoint::new(x, y),
            CaptureSize::new(width, height),
        );
        let flags = words.chain(flags.split_whitespace()).collect();
        Self {
            what,
            bounds,
            content: content.to_owned(),
            flags,
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

fn pair(text: &str, separator: char) -> (i32, i32) {
    let (a, b) = text
        .split_once(separator)
        .unwrap_or_else(|| panic!("`{text}` has no `{separator}`"));
    (a.parse().expect("a number"), b.parse().expect("a number"))
}

fn window(line: &ElementLine<'_>) -> Window {
    Window {
        id: line.content.clone(),
        title: line.content.clone(),
        application: if line.has("browser") { "chromium" } else { "" }.to_owned(),
        process: None,
        bounds: line.bounds,
        active: line.has("active"),
        minimised: line.has("minimised"),
        modal: line.has("modal"),
    }
}

fn element(line: &ElementLine<'_>, index: usize) -> Element {
    let is_text = line.what == "text";
    let kind = if is_text {
        ElementKind::Label
    } else {
        ElementKind::from_name(line.what).expect("a kind of element")
    };
    let fraction = |value: i32, extent: i32| f64::from(value) / f64::from(extent);
    let corner = |point: CapturePoint| {
        NormalisedPoint::new(
            fraction(point.x, SIZE.width),
            fraction(point.y, SIZE.height),
        )
    };
    Element {
        id: ElementId(u32::try_from(index + 1).expect("few elements")),
        kind,
        content: line.content.clone(),
        bounds: NormalisedRect::new(corner(line.bounds.min), corner(line.bounds.max)),
        interactable: !matches!(
            kind,
            ElementKind::Label | ElementKind::Image | ElementKind::Dialog
        ),
        confidence: 0.9,
        centre: line.bounds.center(),
        source: match kind {
            _ if is_text => ElementSource::Ocr,
            // Its content is its meaning, which nothing on the screen says.
            ElementKind::Icon => ElementSource::Detector,
            _ => ElementSource::Both,
        },
        state: ElementState {
            checked: line
                .has("checked")
                .then_some(true)
                .or(line.has("unchecked").then_some(false)),
            selected: None,
            disabled: line.has("disabled").then_some(true),
            focused: line.has("focused").then_some(true),
            expanded: None,
            placeholder: line.has("placeholder").then_some(true),
        },
    }
}

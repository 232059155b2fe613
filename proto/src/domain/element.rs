//! What can be seen on a frame: elements, and the scene that holds them in reading order.

use std::fmt;

use super::geometry::{CapturePoint, NormalisedRect};
use super::id::{ElementId, FrameId};

/// One thing on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub id: ElementId,
    pub kind: ElementKind,
    /// Its text or its name; empty where nothing is known.
    pub content: String,
    pub bounds: NormalisedRect,
    pub interactable: bool,
    /// 0 to 1.
    pub confidence: f32,
    /// Where a click on it goes.
    pub centre: CapturePoint,
    pub source: ElementSource,
    pub state: ElementState,
}

/// What is known of an element's state; `None` where it does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElementState {
    pub checked: Option<bool>,
    pub selected: Option<bool>,
    pub disabled: Option<bool>,
    pub focused: Option<bool>,
    pub expanded: Option<bool>,
    /// Its text is a hint at what to enter, not a value.
    pub placeholder: Option<bool>,
}

impl ElementState {
    /// What is known, by the names of the contract.
    pub fn known(self) -> impl Iterator<Item = (&'static str, bool)> {
        let all = [
            ("checked", self.checked),
            ("selected", self.selected),
            ("disabled", self.disabled),
            ("focused", self.focused),
            ("expanded", self.expanded),
            ("placeholder", self.placeholder),
        ];
        let known = |(name, known): (_, Option<bool>)| Some((name, known?));
        all.into_iter().filter_map(known)
    }
}

/// How an element was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementSource {
    Detector,
    Ocr,
    /// A detected control whose text was read.
    Both,
}

/// Declares [`ElementKind`] with the name that prompts, JSON and the phrasebook use.
macro_rules! element_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an element is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ElementKind {
            $($(#[$doc])* $variant,)*
        }

        impl ElementKind {
            /// Every kind, in the order of the contract.
            pub const ALL: &'static [ElementKind] = &[$(ElementKind::$variant,)*];

            /// The name that prompts and JSON use.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ElementKind::$variant => $name,)*
                }
            }

            /// The kind of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(ElementKind::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

element_kinds! {
    Button = "button",
    TextField = "text_field",
    Checkbox = "checkbox",
    Radio = "radio",
    Switch = "switch",
    DropDown = "drop_down",
    Slider = "slider",
    SpinBox = "spin_box",
    Tab = "tab",
    Link = "link",
    MenuItem = "menu_item",
    ListItem = "list_item",
    TableRow = "table_row",
    Icon = "icon",
    Image = "image",
    /// Plain text.
    Label = "label",
    ScrollBar = "scroll_bar",
    WindowControl = "window_control",
    Dialog = "dialog",
    /// Something one can act on, of no known kind.
    Control = "control",
}

impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The elements of one frame, in reading order.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    pub frame: FrameId,
    pub elements: Vec<Element>,
    /// As far as they are known.
    pub relations: Vec<Relation>,
}

/// How two elements belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// `from` is the label of `to`.
    LabelOf,
    /// `from` lies within the control, row, group or dialog `to`.
    PartOf,
    /// `from` is a radio button of the group that begins with `to`, its topmost or leftmost one.
    GroupedWith,
    /// `from` is the text that heads the group that begins with `to`.
    HeadingOf,
}

/// A relation between two elements of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    pub kind: RelationKind,
    pub from: ElementId,
    pub to: ElementId,
}

impl Scene {
    /// The element of that number.
    #[must_use]
    pub fn element(&self, id: ElementId) -> Option<&Element> {
        self.elements.iter().find(|element| element.id == id)
    }
}

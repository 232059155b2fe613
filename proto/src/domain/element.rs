//! Elements of a frame, and the scene that has them in reading order.
//!
//! Elements are not found here: Perception does that.

use std::fmt;

use super::geometry::{CapturePoint, NormalisedRect};
use super::id::{ElementId, FrameId};

/// A user interface element on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub id: ElementId,
    pub kind: ElementKind,
    /// Text of the element, or the meaning of its icon. Empty if unknown.
    pub content: String,
    pub bounds: NormalisedRect,
    pub interactable: bool,
    /// Confidence of the detection, 0 to 1.
    pub confidence: f32,
    /// Click point.
    pub centre: CapturePoint,
    pub source: ElementSource,
    pub state: ElementState,
}

/// State of an element. `None` where it is not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElementState {
    pub checked: Option<bool>,
    pub selected: Option<bool>,
    pub disabled: Option<bool>,
    pub focused: Option<bool>,
    pub expanded: Option<bool>,
    /// True if the text is a placeholder, not a value.
    pub placeholder: Option<bool>,
}

impl ElementState {
    /// Returns the known states, by their names in the contract.
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

/// Stage of the parser that found an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementSource {
    Detector,
    Ocr,
    /// Found by the detector, with text from text recognition.
    Both,
}

/// Declares [`ElementKind`] with the names used in prompts, JSON and the phrasebook.
macro_rules! element_kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Kind of an element.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ElementKind {
            $($(#[$doc])* $variant,)*
        }

        impl ElementKind {
            /// All kinds, in the order of the contract.
            pub const ALL: &'static [ElementKind] = &[$(ElementKind::$variant,)*];

            /// Returns the name used in prompts and JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ElementKind::$variant => $name,)*
                }
            }

            /// Returns the kind with this name.
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
    /// Interactive element of unknown kind.
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
    /// Known relations between the elements.
    pub relations: Vec<Relation>,
}

/// Kind of a relation between two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// `from` is the label of `to`.
    LabelOf,
    /// `from` is inside the control, row, group or dialog `to`.
    PartOf,
    /// `from` is a radio button of the group whose first (topmost or leftmost) radio button is `to`.
    GroupedWith,
    /// `from` is the heading of the group that starts with `to`.
    HeadingOf,
}

/// A directed relation between two elements of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    pub kind: RelationKind,
    pub from: ElementId,
    pub to: ElementId,
}

impl Scene {
    /// Returns the element with this number.
    #[must_use]
    pub fn element(&self, id: ElementId) -> Option<&Element> {
        self.elements.iter().find(|element| element.id == id)
    }
}

//! Conversion of actions, their targets, texts and keys. Checks what holds on every desktop: counts, lengths and
//! required targets.
//!
//! It does not check that a target is on a screen: the services do.

use std::time::Duration;

use super::{duration, element, require, wire_duration};
use crate::domain::action::{
    Action, Button, ControlCharacters, FramePart, Ordinal, ScrollAmount, Target, Text, TextAnchor,
    WindowSelector,
};
use crate::domain::geometry::CapturePoint;
use crate::domain::id::ElementId;
use crate::domain::key::Key;
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::TextAnchor> for TextAnchor {
    type Error = FieldError;

    fn try_from(anchor: wire::TextAnchor) -> Result<Self, FieldError> {
        let ordinal = match anchor.ordinal {
            0 => None,
            -1 => Some(Ordinal::Last),
            n => {
                Some(Ordinal::Nth(u32::try_from(n).map_err(|_| {
                    FieldError::new("ordinal", "is less than -1")
                })?))
            }
        };
        Ok(Self {
            text: anchor.text,
            kind: element::kind(anchor.kind)?,
            place: place(anchor.place)?,
            ordinal,
        })
    }
}

impl From<TextAnchor> for wire::TextAnchor {
    fn from(anchor: TextAnchor) -> Self {
        let ordinal = match anchor.ordinal {
            None => 0,
            Some(Ordinal::Last) => -1,
            // Sending must not fail. No screen has that many elements.
            Some(Ordinal::Nth(n)) => i32::try_from(n).unwrap_or(i32::MAX),
        };
        Self {
            text: anchor.text,
            kind: anchor
                .kind
                .map_or(wire::ElementKind::Unspecified, Into::into)
                .into(),
            place: anchor
                .place
                .map_or(wire::FramePart::Unspecified, Into::into)
                .into(),
            ordinal,
        }
    }
}

enumerations! {
    optional place("place"): wire::FramePart => FramePart {
        TopLeft, Top, TopRight, Left, Centre, Right, BottomLeft, Bottom, BottomRight
    }

    // Unspecified is the left button.
    default(Left) button("button"): wire::Button => Button { Left, Right, Middle, Back, Forward }

    default(AsKeys) control_characters("control_characters"): wire::ControlCharacters => ControlCharacters {
        AsKeys, AsText, ByWindow
    }
}

impl TryFrom<wire::Target> for Target {
    type Error = FieldError;

    fn try_from(target: wire::Target) -> Result<Self, FieldError> {
        use wire::target::Target as Wire;

        match target.target {
            Some(Wire::ElementId(id)) => Ok(Target::Element(ElementId(id))),
            Some(Wire::Point(point)) => Ok(Target::Point(CapturePoint::try_from(point)?)),
            Some(Wire::Text(anchor)) => Ok(Target::Text(
                TextAnchor::try_from(anchor).map_err(|error| error.within("text"))?,
            )),
            None => Err(FieldError::new(
                "target",
                "must be an element, a point or a text",
            )),
        }
    }
}

impl From<Target> for wire::Target {
    fn from(target: Target) -> Self {
        use wire::target::Target as Wire;

        let target = match target {
            Target::Element(id) => Wire::ElementId(id.0),
            Target::Point(point) => Wire::Point(point.into()),
            Target::Text(anchor) => Wire::Text(anchor.into()),
        };
        Self {
            target: Some(target),
        }
    }
}

/// Conversion of a target: any [`Target`] for planners, a point for the Executor.
pub(super) trait Aim: Sized {
    fn from_wire(target: wire::Target) -> Result<Self, FieldError>;
    fn into_wire(self) -> wire::Target;
}

impl Aim for Target {
    fn from_wire(target: wire::Target) -> Result<Self, FieldError> {
        Target::try_from(target)
    }

    fn into_wire(self) -> wire::Target {
        self.into()
    }
}

impl Aim for CapturePoint {
    fn from_wire(target: wire::Target) -> Result<Self, FieldError> {
        match Target::try_from(target)? {
            Target::Point(point) => Ok(point),
            Target::Element(_) | Target::Text(_) => Err(FieldError::new(
                "target",
                "must be a point; elements and texts must be resolved before an action is performed",
            )),
        }
    }

    fn into_wire(self) -> wire::Target {
        Target::Point(self).into()
    }
}

fn aim<T: Aim>(field: &str, target: Option<wire::Target>) -> Result<T, FieldError> {
    let target = target.ok_or_else(|| FieldError::missing(field))?;
    T::from_wire(target).map_err(|error| error.within(field))
}

fn optional_aim<T: Aim>(
    field: &str,
    target: Option<wire::Target>,
) -> Result<Option<T>, FieldError> {
    target.map(|target| aim(field, Some(target))).transpose()
}

fn wire_button(button: Button) -> i32 {
    wire::Button::from(button).into()
}

/// Parses the names of keys.
pub(super) fn keys(field: &str, names: &[String]) -> Result<Vec<Key>, FieldError> {
    names
        .iter()
        .enumerate()
        .map(|(index, name)| Key::parse(&format!("{field}[{index}]"), name))
        .collect()
}

/// Returns the names of keys.
pub(super) fn key_names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// Parses at least one key, as single names or as one chord (`ctrl+s`).
fn chord(names: &[String]) -> Result<Vec<Key>, FieldError> {
    match names {
        [] => Err(FieldError::missing("keys")),
        [one] => Key::parse_chord("keys[0]", one),
        several => keys("keys", several),
    }
}

impl TryFrom<wire::TextInput> for Text {
    type Error = FieldError;

    fn try_from(text: wire::TextInput) -> Result<Self, FieldError> {
        use wire::text_input::Source;

        match text.source {
            Some(Source::Literal(text)) => Ok(Text::Literal(text)),
            Some(Source::Secret(name)) if name.is_empty() => Err(FieldError::missing("secret")),
            Some(Source::Secret(name)) => Ok(Text::Secret(name)),
            None => Err(FieldError::new(
                "source",
                "must be a literal text or the name of a secret",
            )),
        }
    }
}

impl From<Text> for wire::TextInput {
    fn from(text: Text) -> Self {
        use wire::text_input::Source;

        let source = match text {
            Text::Literal(text) => Source::Literal(text),
            Text::Secret(name) => Source::Secret(name),
        };
        Self {
            source: Some(source),
        }
    }
}

fn click<T: Aim>(click: wire::ClickAction) -> Result<Action<T>, FieldError> {
    let count = match click.count {
        0 => 1,
        // Applications know double and triple clicks; more clicks are several actions.
        n @ 1..=3 => n as u8,
        n => {
            return Err(FieldError::new(
                "count",
                format!("is {n}; must be 1, 2 or 3"),
            ));
        }
    };
    Ok(Action::Click {
        at: optional_aim("at", click.at)?,
        button: button(click.button)?,
        count,
        modifiers: keys("modifiers", &click.modifiers)?,
    })
}

fn drag<T: Aim>(drag: wire::DragAction) -> Result<Action<T>, FieldError> {
    let path: Vec<T> = drag
        .path
        .into_iter()
        .enumerate()
        .map(|(index, point)| aim(&format!("path[{index}]"), Some(point)))
        .collect::<Result<_, _>>()?;
    // With one point there is no movement, and applications take the drag for a click.
    if path.len() < 2 {
        return Err(FieldError::new(
            "path",
            format!("has {} points; a drag requires at least 2", path.len()),
        ));
    }
    Ok(Action::Drag {
        path,
        button: button(drag.button)?,
        modifiers: keys("modifiers", &drag.modifiers)?,
        duration: duration("duration", drag.duration)?,
        hold: duration("hold", drag.hold)?,
    })
}

fn scroll<T: Aim>(scroll: wire::ScrollAction) -> Result<Action<T>, FieldError> {
    use wire::ScrollUnit as Wire;

    let unit = Wire::try_from(scroll.unit)
        .map_err(|_| FieldError::new("unit", format!("has the unknown value {}", scroll.unit)))?;
    let (x, y) = (scroll.x, scroll.y);
    // A scroll by nothing is a mistake of the caller, which would otherwise look like a scroll without effect.
    if (x, y) == (0, 0) {
        return Err(FieldError::new("y", "must not be zero together with `x`"));
    }
    let amount = match unit {
        Wire::Unspecified | Wire::Notches => ScrollAmount::Notches { x, y },
        Wire::Pixels => ScrollAmount::Pixels { x, y },
    };
    let modifiers = keys("modifiers", &scroll.modifiers)?;
    Ok(Action::Scroll {
        at: optional_aim("at", scroll.at)?,
        amount,
        modifiers,
    })
}

fn window(window: Option<wire::focus_window_action::Window>) -> Result<WindowSelector, FieldError> {
    use wire::focus_window_action::Window as Wire;

    let selector = match window {
        Some(Wire::Id(id)) => WindowSelector::Id(id),
        Some(Wire::Title(title)) => WindowSelector::Title(title),
        Some(Wire::Application(class)) => WindowSelector::Application(class),
        None => return Err(FieldError::missing("window")),
    };
    Ok(selector)
}

fn named(field: &str, text: String) -> Result<String, FieldError> {
    if text.is_empty() {
        Err(FieldError::missing(field))
    } else {
        Ok(text)
    }
}

fn length(field: &str, message: Option<prost_types::Duration>) -> Result<Duration, FieldError> {
    duration(field, message)?.ok_or_else(|| FieldError::missing(field))
}

fn from_wire<T: Aim>(action: wire::Action) -> Result<Action<T>, FieldError> {
    use wire::action::Action as Wire;

    let Some(action) = action.action else {
        return Err(FieldError::new("action", "has no kind of action"));
    };
    let (name, action) = match action {
        Wire::Move(a) => ("move", aim("to", a.to).map(|to| Action::Move { to })),
        Wire::Click(a) => ("click", click(a)),
        Wire::MouseDown(a) => (
            "mouse_down",
            mouse_button(a.at, a.button).map(|(at, button)| Action::MouseDown { at, button }),
        ),
        Wire::MouseUp(a) => (
            "mouse_up",
            mouse_button(a.at, a.button).map(|(at, button)| Action::MouseUp { at, button }),
        ),
        Wire::Drag(a) => ("drag", drag(a)),
        Wire::Scroll(a) => ("scroll", scroll(a)),
        Wire::TypeText(a) => ("type_text", type_text(a)),
        Wire::KeyChord(a) => (
            "key_chord",
            chord(&a.keys).map(|keys| Action::KeyChord {
                keys,
                // Zero is the default of the contract: the field was not set.
                repeat: a.repeat.max(1),
            }),
        ),
        Wire::HoldKey(a) => ("hold_key", hold_key(a)),
        Wire::Wait(a) => (
            "wait",
            length("duration", a.duration).map(|duration| Action::Wait { duration }),
        ),
        Wire::SetClipboard(a) => (
            "set_clipboard",
            require("text", a.text).map(|text| Action::SetClipboard { text }),
        ),
        Wire::Paste(a) => (
            "paste",
            super::optional("text", a.text).map(|text| Action::Paste { text }),
        ),
        Wire::OpenApplication(a) => (
            "open_application",
            named("name", a.name).map(|name| Action::OpenApplication { name }),
        ),
        Wire::OpenUrl(a) => (
            "open_url",
            named("url", a.url).map(|url| Action::OpenUrl { url }),
        ),
        Wire::FocusWindow(a) => (
            "focus_window",
            window(a.window).map(|window| Action::FocusWindow { window }),
        ),
        Wire::GoToUrl(a) => (
            "go_to_url",
            named("url", a.url).map(|url| Action::GoToUrl { url }),
        ),
        Wire::GoBack(_) => ("go_back", Ok(Action::GoBack)),
        Wire::GoForward(_) => ("go_forward", Ok(Action::GoForward)),
        Wire::Refresh(_) => ("refresh", Ok(Action::Refresh)),
    };
    let within = |error: FieldError| error.within(name);
    let action: Action<T> = action.map_err(within)?;
    action.check_limits().map_err(within)?;
    Ok(action)
}

fn mouse_button<T: Aim>(
    at: Option<wire::Target>,
    number: i32,
) -> Result<(Option<T>, Button), FieldError> {
    Ok((optional_aim("at", at)?, button(number)?))
}

fn type_text<T>(action: wire::TypeTextAction) -> Result<Action<T>, FieldError> {
    let control_characters = control_characters(action.control_characters)?;
    Ok(Action::TypeText {
        text: require("text", action.text)?,
        control_characters,
    })
}

fn hold_key<T>(action: wire::HoldKeyAction) -> Result<Action<T>, FieldError> {
    Ok(Action::HoldKey {
        keys: chord(&action.keys)?,
        duration: length("duration", action.duration)?,
    })
}

fn into_wire<T: Aim>(action: Action<T>) -> wire::Action {
    use wire::action::Action as Wire;

    let action = match action {
        Action::Move { to } => Wire::Move(wire::MoveAction {
            to: Some(to.into_wire()),
        }),
        Action::Click {
            at,
            button,
            count,
            modifiers,
        } => Wire::Click(wire::ClickAction {
            at: at.map(Aim::into_wire),
            button: wire_button(button),
            count: count.into(),
            modifiers: key_names(&modifiers),
        }),
        Action::MouseDown { at, button } => Wire::MouseDown(wire::MouseDownAction {
            at: at.map(Aim::into_wire),
            button: wire_button(button),
        }),
        Action::MouseUp { at, button } => Wire::MouseUp(wire::MouseUpAction {
            at: at.map(Aim::into_wire),
            button: wire_button(button),
        }),
        Action::Drag {
            path,
            button,
            modifiers,
            duration,
            hold,
        } => Wire::Drag(wire::DragAction {
            path: path.into_iter().map(Aim::into_wire).collect(),
            button: wire_button(button),
            modifiers: key_names(&modifiers),
            duration: duration.map(wire_duration),
            hold: hold.map(wire_duration),
        }),
        Action::Scroll {
            at,
            amount,
            modifiers,
        } => {
            let (unit, x, y) = match amount {
                ScrollAmount::Notches { x, y } => (wire::ScrollUnit::Notches, x, y),
                ScrollAmount::Pixels { x, y } => (wire::ScrollUnit::Pixels, x, y),
            };
            let modifiers = key_names(&modifiers);
            Wire::Scroll(wire::ScrollAction {
                at: at.map(Aim::into_wire),
                unit: unit.into(),
                x,
                y,
                modifiers,
            })
        }
        Action::TypeText {
            text,
            control_characters,
        } => Wire::TypeText(wire::TypeTextAction {
            text: Some(text.into()),
            control_characters: wire::ControlCharacters::from(control_characters).into(),
        }),
        Action::KeyChord { keys, repeat } => Wire::KeyChord(wire::KeyChordAction {
            keys: key_names(&keys),
            repeat,
        }),
        Action::HoldKey { keys, duration } => Wire::HoldKey(wire::HoldKeyAction {
            keys: key_names(&keys),
            duration: Some(wire_duration(duration)),
        }),
        Action::Wait { duration } => Wire::Wait(wire::WaitAction {
            duration: Some(wire_duration(duration)),
        }),
        Action::SetClipboard { text } => Wire::SetClipboard(wire::SetClipboardAction {
            text: Some(text.into()),
        }),
        Action::Paste { text } => Wire::Paste(wire::PasteAction {
            text: text.map(Into::into),
        }),
        Action::OpenApplication { name } => {
            Wire::OpenApplication(wire::OpenApplicationAction { name })
        }
        Action::OpenUrl { url } => Wire::OpenUrl(wire::OpenUrlAction { url }),
        Action::FocusWindow { window } => {
            use wire::focus_window_action::Window;

            let window = match window {
                WindowSelector::Id(id) => Window::Id(id),
                WindowSelector::Title(title) => Window::Title(title),
                WindowSelector::Application(class) => Window::Application(class),
            };
            Wire::FocusWindow(wire::FocusWindowAction {
                window: Some(window),
            })
        }
        Action::GoToUrl { url } => Wire::GoToUrl(wire::GoToUrlAction { url }),
        Action::GoBack => Wire::GoBack(wire::GoBackAction {}),
        Action::GoForward => Wire::GoForward(wire::GoForwardAction {}),
        Action::Refresh => Wire::Refresh(wire::RefreshAction {}),
    };
    wire::Action {
        action: Some(action),
    }
}

impl TryFrom<wire::Action> for Action<Target> {
    type Error = FieldError;

    fn try_from(action: wire::Action) -> Result<Self, FieldError> {
        from_wire(action)
    }
}

impl From<Action<Target>> for wire::Action {
    fn from(action: Action<Target>) -> Self {
        into_wire(action)
    }
}

impl TryFrom<wire::Action> for Action<CapturePoint> {
    type Error = FieldError;

    fn try_from(action: wire::Action) -> Result<Self, FieldError> {
        from_wire(action)
    }
}

impl From<Action<CapturePoint>> for wire::Action {
    fn from(action: Action<CapturePoint>) -> Self {
        into_wire(action)
    }
}

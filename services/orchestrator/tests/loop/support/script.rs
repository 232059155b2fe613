//! Short constructors for decisions and actions.

use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text, TextAnchor,
};
use motorium_proto::domain::decision::{FunctionCall, Next, PlannedAction};
use motorium_proto::domain::id::ElementId;
use motorium_proto::domain::key::Key;
use motorium_proto::v1::orchestrator as wire;

/// A click on this element. It may be repeated.
pub(crate) fn click(element: u32) -> PlannedAction {
    PlannedAction {
        action: Action::Click {
            at: Some(Target::Element(ElementId(element))),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        intent: format!("click \"Button {element}\""),
        verify_pointer: false,
        repeatable: true,
    }
}

/// A click on the element with this text, which the Planner finds.
pub(crate) fn click_text(text: &str) -> PlannedAction {
    PlannedAction {
        action: Action::Click {
            at: Some(Target::Text(TextAnchor {
                text: text.to_owned(),
                ..TextAnchor::default()
            })),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        intent: format!("click \"{text}\""),
        verify_pointer: false,
        repeatable: true,
    }
}

/// Returns a click on this element that may not be repeated.
pub(crate) fn click_once(element: u32) -> PlannedAction {
    PlannedAction {
        repeatable: false,
        ..click(element)
    }
}

/// A scroll that may be repeated.
pub(crate) fn scroll_down() -> PlannedAction {
    PlannedAction {
        action: Action::Scroll {
            at: None,
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: Vec::new(),
        },
        intent: "scroll down".to_owned(),
        verify_pointer: false,
        repeatable: true,
    }
}

/// Text typed into the focused element.
pub(crate) fn typing(text: &str) -> PlannedAction {
    entering(Text::Literal(text.to_owned()), text)
}

/// A press of the Enter key.
pub(crate) fn enter(intent: &str) -> PlannedAction {
    PlannedAction {
        action: Action::KeyChord {
            keys: vec![Key::Enter],
            repeat: 1,
        },
        intent: intent.to_owned(),
        verify_pointer: false,
        repeatable: false,
    }
}

pub(crate) fn typing_secret(name: &str) -> PlannedAction {
    entering(Text::Secret(name.to_owned()), name)
}

fn entering(text: Text, words: &str) -> PlannedAction {
    PlannedAction {
        action: Action::TypeText {
            text,
            control_characters: ControlCharacters::AsKeys,
        },
        intent: format!("type \"{words}\""),
        verify_pointer: false,
        repeatable: false,
    }
}

/// One step with these actions.
pub(crate) fn act<const N: usize>(actions: [PlannedAction; N]) -> Next {
    Next::Act(actions.into())
}

/// One step that calls functions of these names, with these arguments.
pub(crate) fn call<const N: usize>(calls: [(&str, &str); N]) -> Next {
    let call = |(number, (name, arguments)): (usize, (&str, &str))| FunctionCall {
        call_id: format!("model-{number}"),
        name: name.to_owned(),
        arguments_json: arguments.to_owned(),
    };
    Next::CallFunctions(calls.into_iter().enumerate().map(call).collect())
}

/// A claim of success with its evidence.
pub(crate) fn done_because(answer: &str, evidence: &str) -> Next {
    Next::Done {
        answer: answer.to_owned(),
        evidence: vec![evidence.to_owned()],
    }
}

pub(crate) fn done(answer: &str) -> Next {
    Next::Done {
        answer: answer.to_owned(),
        evidence: Vec::new(),
    }
}

/// Returns a task that may take this long.
pub(crate) fn lasting(seconds: i64) -> wire::Task {
    let limits = wire::Limits {
        max_duration: Some(prost_types::Duration { seconds, nanos: 0 }),
        ..wire::Limits::default()
    };
    wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    }
}

pub(crate) fn ask(question: &str) -> Next {
    Next::Ask {
        question: question.to_owned(),
        requires_manual_action: false,
    }
}

pub(crate) fn give_up(reason: &str) -> Next {
    Next::Fail {
        reason: reason.to_owned(),
    }
}

/// A task that may take one step.
pub(crate) fn one_step() -> wire::Task {
    let limits = wire::Limits {
        max_steps: 1,
        ..wire::Limits::default()
    };
    wire::Task {
        limits: Some(limits),
        ..wire::Task::default()
    }
}

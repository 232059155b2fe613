//! Marks typed texts of several lines, so that the Executor may insert them whole.
//!
//! Pure. Deliberately not here: whether and how a text is inserted, which depends on the window that has the focus when it is entered;
//! texts of one line with a line break at the end, which is the Enter key; and decisions of other Planner services, which say
//! themselves how their texts are entered.

use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::decision::Next;

/// Leaves it to the Executor how texts of several lines are entered.
pub(crate) fn leave_to_executor(next: Next) -> Next {
    let Next::Act(mut actions) = next else {
        return next;
    };
    for planned in &mut actions {
        if let Action::TypeText {
            text: Text::Literal(text),
            control_characters,
        } = &mut planned.action
            && text.trim_end_matches(['\n', '\r']).contains('\n')
        {
            *control_characters = ControlCharacters::ByWindow;
        }
    }
    Next::Act(actions)
}

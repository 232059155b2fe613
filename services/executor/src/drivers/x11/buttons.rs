//! Numbers of pointer buttons in the core protocol of X11. The wheel, which has numbers too, is not a button here.

use motorium_proto::domain::action::Button;

/// Buttons with their numbers. Those from 8 on follow the wheel (X.Org's evdev and libinput drivers).
const BUTTONS: [(Button, u8); 5] = [
    (Button::Left, 1),
    (Button::Middle, 2),
    (Button::Right, 3),
    (Button::Back, 8),
    (Button::Forward, 9),
];

/// Returns the number of a button.
pub(super) fn button_number(button: Button) -> u8 {
    let mut known = BUTTONS.iter();
    known
        .find_map(|&(one, number)| (one == button).then_some(number))
        .expect("every button has a number")
}

/// Returns the button with this number; `None` for the wheel and buttons without a name.
pub(super) fn numbered_button(number: u8) -> Option<Button> {
    let mut known = BUTTONS.iter();
    known.find_map(|&(button, one)| (one == number).then_some(button))
}

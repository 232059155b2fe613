//! One connection's worth of driving: what an action means in terms of hands, keyboard, clipboard and windows.
//!
//! Runs on the injector's thread alone. Invariant: when an action ends in an error, everything this session held is
//! released before the error is handed on, as far as the display still listens.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use secrecy::ExposeSecret as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::browser::Verb;
use super::clipboard::{Clipboard, Selection};
use super::hands::{Hands, Pressable};
use super::human::OwnInput;
use super::input_method;
use super::keyboard;
use super::keymap::Keymap;
use super::link::Link;
use super::loans::Loans;
use super::text::{Circumstances, Piece, plan};
use super::windows::{self, Recipient};
use crate::drivers::{Error, Failure, Performed, Work};

/// Pastes the clipboard in windows of every toolkit.
const PASTE: [Key; 2] = [Key::Control, Key::Character('v')];
/// Pastes in terminals.
const PASTE_IN_TERMINAL: [Key; 2] = [Key::Shift, Key::Insert];
/// Classes of terminals, in lower case.
const TERMINALS: &[&str] = &[
    "alacritty",
    "gnome-terminal",
    "gnome-terminal-server",
    "kitty",
    "konsole",
    "lxterminal",
    "mate-terminal",
    "rxvt",
    "st-256color",
    "terminator",
    "tilix",
    "urxvt",
    "uxterm",
    "xfce4-terminal",
    "xterm",
];

/// A live connection and everything that belongs to it.
#[derive(Debug)]
pub(super) struct Session {
    hands: Hands,
    loans: Loans,
    clipboard: Clipboard,
}

impl Session {
    /// Connects, and clears away what a killed predecessor may have left: pressed keys and buttons, lent keys.
    pub(super) fn open(
        display: &str,
        patience: Duration,
        own: &Arc<OwnInput>,
    ) -> Result<Self, Error> {
        let link = Link::connect(display, patience)?;
        enable_extensions(&link)?;
        let mut hands = Hands::new(link, Arc::clone(own))?;
        let leaked = hands.release_everything()?;
        if !leaked.is_empty() {
            let count = leaked.len();
            tracing::warn!(
                on = hands.link.display(),
                count,
                "released keys and buttons that a predecessor had left pressed"
            );
        }
        let loans = Loans::recover(&hands.link)?;
        hands.sync()?;
        let clipboard = Clipboard::start(display, patience)?;
        Ok(Self {
            hands,
            loans,
            clipboard,
        })
    }

    /// Whether the display still answers.
    pub(super) fn probe(&self) -> Result<(), Error> {
        self.hands.sync()
    }

    /// Performs an action.
    pub(super) fn perform(
        &mut self,
        work: &Work,
        stop: &CancellationToken,
    ) -> Result<Performed, Failure> {
        self.hands.start_action();
        match self.carry_out(work, stop) {
            Ok(note) => Ok(Performed {
                pointer: Some(self.pointer()?),
                note,
            }),
            Err(error) => {
                let input_sent = self.hands.input_sent();
                self.let_go();
                Err(Failure { error, input_sent })
            }
        }
    }

    /// After a failure nothing stays pressed. A display that is gone has nothing pressed, or is cleared on reconnection.
    fn let_go(&mut self) {
        // The keyboard's state goes out with the flush of what follows.
        let put_back = self.hands.put_back();
        if let Err(error) = put_back.and_then(|()| self.hands.release_held(0)) {
            tracing::warn!(%error, "keys and buttons could not be released; the next connection will do it");
        }
    }

    fn carry_out(
        &mut self,
        work: &Work,
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        crate::drivers::pause::check(stop)?;
        match &work.action {
            Action::Move { to } => {
                self.hands.move_to(*to)?;
                self.hands.sync()?;
            }
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => self.hands.click(*at, *button, *count, modifiers)?,
            Action::MouseDown { at, button } => self.hands.mouse_down(*at, *button)?,
            Action::MouseUp { at, button } => self.hands.mouse_up(*at, *button)?,
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => {
                self.hands.drag(path, *button, modifiers, *duration, stop)?;
            }
            Action::Scroll {
                at,
                amount,
                modifiers,
            } => self.hands.scroll(*at, *amount, modifiers, stop)?,
            Action::TypeText {
                text,
                control_characters,
            } => {
                return self.type_text(text, *control_characters, work, stop);
            }
            Action::KeyChord { keys, repeat } => {
                if may_touch_clipboard(keys) {
                    self.clipboard.settle(stop)?;
                    self.clipboard.restore()?;
                }
                if may_paste(keys) {
                    self.begin_paste()?;
                }
                self.hands.chord(keys, *repeat, &mut self.loans, stop)?;
            }
            Action::HoldKey { keys, duration } => {
                self.hands.hold(keys, *duration, &mut self.loans, stop)?
            }
            Action::SetClipboard { text } => {
                let text = literal(text)?;
                self.clipboard.settle(stop)?;
                self.clipboard.set(text)?;
            }
            Action::Paste { text } => self.paste(text.as_ref(), stop)?,
            Action::FocusWindow { window } => {
                windows::focus(&self.hands.link, &self.hands.atoms, window, stop)?
            }
            Action::GoToUrl { url } => self.hands.browse(Verb::GoTo(url), &mut self.loans, stop)?,
            Action::GoBack => self.hands.browse(Verb::Back, &mut self.loans, stop)?,
            Action::GoForward => self.hands.browse(Verb::Forward, &mut self.loans, stop)?,
            Action::Refresh => self.hands.browse(Verb::Refresh, &mut self.loans, stop)?,
            Action::Wait { .. } | Action::OpenApplication { .. } | Action::OpenUrl { .. } => {
                unreachable!("the driver does this without the injector")
            }
        }
        Ok(None)
    }

    /// Pastes what is on the clipboard, after putting a text there for good.
    fn paste(&mut self, text: Option<&Text>, stop: &CancellationToken) -> Result<(), Error> {
        let text = text.map(literal).transpose()?;
        self.clipboard.settle(stop)?;
        match text {
            Some(text) => self.clipboard.set(text)?,
            None => self.clipboard.restore()?,
        }
        self.begin_paste()?;
        self.hands.chord(&PASTE, 1, &mut self.loans, stop)
    }

    /// Notes that the window with the keyboard is about to paste.
    fn begin_paste(&mut self) -> Result<(), Error> {
        let focused = windows::focused(&self.hands.link)?;
        self.clipboard
            .begin_paste(focused.map(|focused| focused.window));
        Ok(())
    }

    /// Enters a text through the clipboard, and sees to it that the former content comes back.
    fn paste_once(&mut self, text: &str, stop: &CancellationToken) -> Result<(), Error> {
        let focused = windows::focused(&self.hands.link)?;
        let is_terminal = focused
            .as_ref()
            .is_some_and(|focused| is_terminal(&focused.application));
        // Terminals send ctrl+v to their program. Some of them paste one selection at shift+Insert, some the other.
        let (chord, selections): (_, &[Selection]) = if is_terminal {
            (
                PASTE_IN_TERMINAL,
                &[Selection::Primary, Selection::Clipboard],
            )
        } else {
            (PASTE, &[Selection::Clipboard])
        };
        self.clipboard.settle(stop)?;
        for &selection in selections {
            self.clipboard.lend(selection, text)?;
        }
        self.begin_paste()?;
        let taken = self
            .hands
            .chord(&chord, 1, &mut self.loans, stop)
            .and_then(|()| self.clipboard.finish_paste(stop));
        let given_back = match taken {
            Err(Error::PasteNotTaken { .. }) => self.clipboard.restore(),
            _ => self.clipboard.release(),
        };
        taken.and(given_back)
    }

    fn type_text(
        &mut self,
        text: &Text,
        control_characters: ControlCharacters,
        work: &Work,
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let (text, secret) = match (text, &work.secret) {
            (Text::Literal(text), _) => (text.as_str(), false),
            (Text::Secret(_), Some(value)) => (value.expose_secret(), true),
            (Text::Secret(name), None) => {
                return Err(Error::TextNotTypable {
                    why: format!("the secret `{name}` was not resolved"),
                });
            }
        };
        let keymap = Keymap::read(&self.hands.link)?;
        let circumstances = Circumstances {
            control_characters,
            room: self.loans.room(&keymap),
            secret,
            input_method: input_method::is_present(&self.hands.link, self.hands.atoms.XIM_SERVERS)?,
        };
        let pieces = plan(text, circumstances, |character| {
            keyboard::is_in_layout(&keymap, &self.loans, character)
        })?;
        let window = windows::focused(&self.hands.link)?;
        let recipient = Recipient {
            window: window.as_ref(),
            secret: secret.then_some(work),
        };
        for piece in &pieces {
            self.enter(piece, recipient, stop)?;
        }
        Ok(note(&pieces))
    }

    /// Enters a piece for its recipient, which is looked at when the keys are ready.
    fn enter(
        &mut self,
        piece: &Piece,
        recipient: Recipient<'_>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let text = match piece {
            Piece::Keys(text) => text,
            Piece::Lent { text, .. } => {
                self.hands.lend_missing(text, &mut self.loans, stop)?;
                text
            }
            Piece::Pasted(text) => {
                recipient.check(&self.hands.link, &self.hands.atoms)?;
                return self.paste_once(text, stop);
            }
        };
        let entered = self.hands.strokes(text, recipient, stop);
        self.loans.used();
        entered
    }

    /// Where the pointer is.
    pub(super) fn pointer(&self) -> Result<CapturePoint, Error> {
        self.hands.pointer()
    }

    /// The extent of the screen.
    pub(super) fn size(&self) -> Result<motorium_proto::domain::geometry::CaptureSize, Error> {
        self.hands.size()
    }

    /// Releases everything that is down on the display and names it.
    pub(super) fn release_all(&mut self) -> Result<Vec<String>, Error> {
        let keymap = Keymap::read(&self.hands.link)?;
        let released = self.hands.release_everything()?;
        Ok(released
            .into_iter()
            .map(|what| name(&keymap, what))
            .collect())
    }

    /// When [`Session::tidy`] is wanted.
    pub(super) fn tidy_due(&self) -> Option<Instant> {
        self.loans.due()
    }

    /// Gives back what is no longer used.
    pub(super) fn tidy(&mut self) -> Result<(), Error> {
        self.loans.give_back(&self.hands.link)
    }

    /// Leaves the display as it was found.
    pub(super) fn close(&mut self) {
        self.let_go();
        if self.loans.due().is_none() {
            return;
        }
        // Whoever has been typed to last reads its keys with the map as it is.
        let read = windows::await_application(
            &self.hands.link,
            &self.hands.atoms,
            &CancellationToken::new(),
        );
        if let Err(error) = read.and_then(|()| self.loans.give_back(&self.hands.link)) {
            tracing::debug!(%error, "lent keys stay lent until the next start");
        }
    }
}

/// The text of a clipboard action. The clipboard is there for everybody to read, so that a secret is refused.
fn literal(text: &Text) -> Result<&str, Error> {
    match text {
        Text::Literal(text) => Ok(text),
        Text::Secret(name) => Err(Error::TextNotTypable {
            why: format!(
                "the secret `{name}` goes in as keys, never through the clipboard; type it instead"
            ),
        }),
    }
}

/// Whether a chord may copy, cut or paste, so that the clipboard must hold what its user believes it to hold.
fn may_touch_clipboard(keys: &[Key]) -> bool {
    keys.iter()
        .any(|key| matches!(key, Key::Control | Key::Insert))
}

/// Whether a chord pastes, in one kind of window or another.
fn may_paste(keys: &[Key]) -> bool {
    let has = |key| keys.contains(&key);
    (has(Key::Control) && (has(Key::Character('v')) || has(Key::Character('V'))))
        || (has(Key::Shift) && has(Key::Insert))
}

fn is_terminal(application: &str) -> bool {
    TERMINALS.contains(&application.to_lowercase().as_str())
}

/// How a text was entered, where it was not as plain keys.
fn note(pieces: &[Piece]) -> Option<String> {
    let pasted = pieces.iter().any(|piece| matches!(piece, Piece::Pasted(_)));
    let lent = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Lent { .. }));
    match (pasted, lent) {
        (true, _) => {
            Some("entered through the clipboard, whose former content was put back".to_owned())
        }
        (false, true) => Some(
            "entered as keys, some of them lent to characters that the layout lacks".to_owned(),
        ),
        (false, false) => None,
    }
}

fn name(keymap: &Keymap, what: Pressable) -> String {
    match what {
        Pressable::Button(1) => "left button".to_owned(),
        Pressable::Button(2) => "middle button".to_owned(),
        Pressable::Button(3) => "right button".to_owned(),
        Pressable::Button(other) => format!("button {other}"),
        Pressable::Key(keycode) => keymap
            .symbols(keycode)
            .first()
            .and_then(|&symbol| xkeysym::Keysym::from(symbol).name())
            .map_or_else(
                || format!("key {keycode}"),
                |name| name.trim_start_matches("XK_").to_owned(),
            ),
    }
}

/// X extensions have to be asked for before they are used.
pub(super) fn enable_extensions(link: &Link) -> Result<(), Error> {
    use super::link::OrLost as _;
    use x11rb::protocol::xkb::ConnectionExt as _;
    use x11rb::protocol::xtest::ConnectionExt as _;
    let missing = |name: &str| Error::NoDisplay {
        display: link.display().to_owned(),
        cause: format!("the server lacks the extension {name}"),
    };
    let xtest = link
        .x
        .xtest_get_version(2, 2)
        .map_err(|_| missing("XTEST"))?;
    let xkb = link
        .x
        .xkb_use_extension(1, 0)
        .map_err(|_| missing("XKEYBOARD"))?;
    xtest.reply().or_lost(link)?;
    if !xkb.reply().or_lost(link)?.supported {
        return Err(missing("XKEYBOARD 1.0"));
    }
    Ok(())
}

//! A session on one connection: maps actions to input, keyboard, clipboard and windows.
//!
//! Runs on the injector thread only. Invariant: when an action fails, everything this session holds is released before
//! the error is returned, if the display still responds.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::service::ClipboardText;
use motorium_x11::Connection;
use secrecy::ExposeSecret as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::browser::BrowserCommand;
use super::clipboard::{Clipboard, Selection};
use super::connection::{self, OrDisplayError as _};
use super::held_input::Pressable;
use super::input_method;
use super::key_remap::KeyRemaps;
use super::keyboard;
use super::keymap::Keymap;
use super::pointer::DragTiming;
use super::release_guard::ReleaseGuard;
use super::synthetic_input::SyntheticInput;
use super::text::{PlanOptions, TextSegment, plan};
use super::windows::{self, TextTarget};
use super::xtest::XTestInput;
use crate::drivers::clipboard_content::ClipboardContent;
use crate::drivers::{DriverFailure, DriverOutcome, Error, PreparedAction};

/// Paste shortcut of all toolkits.
const PASTE: [Key; 2] = [Key::Control, Key::Character('v')];
/// Paste shortcut of terminals.
const PASTE_IN_TERMINAL: [Key; 2] = [Key::Shift, Key::Insert];
/// Window classes of terminals, in lower case.
const TERMINALS: &[&str] = &[
    "alacritty",
    "cosmic-term",
    "deepin-terminal",
    "foot",
    "ghostty",
    "gnome-terminal",
    "gnome-terminal-server",
    "guake",
    "kitty",
    "konsole",
    "lxterminal",
    "mate-terminal",
    "ptyxis",
    "qterminal",
    "rxvt",
    "st-256color",
    "terminator",
    "tilix",
    "urxvt",
    "uxterm",
    "wezterm",
    "xfce4-terminal",
    "xterm",
    "yakuake",
];

/// A live connection and its state.
#[derive(Debug)]
pub(super) struct Session {
    input: XTestInput,
    remaps: KeyRemaps,
    clipboard: Clipboard,
}

impl Session {
    /// Connects and cleans up after a killed process: pressed keys and buttons, remapped keycodes.
    pub(super) fn open(
        display: &str,
        timeout: Duration,
        scale: Option<f64>,
        own: &Arc<SyntheticInput>,
        guard: &Arc<ReleaseGuard>,
    ) -> Result<Self, Error> {
        let link = connection::connect(display, timeout)?;
        enable_extensions(&link)?;
        let mut input = XTestInput::new(link, scale, Arc::clone(own), Arc::clone(guard))?;
        let leaked = input.release_everything()?;
        if !leaked.is_empty() {
            let count = leaked.len();
            tracing::warn!(
                on = input.link.display(),
                count,
                "released keys and buttons that a previous process had left pressed"
            );
        }
        let remaps = KeyRemaps::recover(&input.link, guard)?;
        input.sync()?;
        let clipboard = Clipboard::start(display, timeout)?;
        Ok(Self {
            input,
            remaps,
            clipboard,
        })
    }

    /// Checks that the display responds.
    pub(super) fn probe(&self) -> Result<(), Error> {
        self.input.sync()
    }

    /// Performs an action.
    pub(super) fn perform(
        &mut self,
        work: &PreparedAction,
        stop: &CancellationToken,
    ) -> Result<DriverOutcome, DriverFailure> {
        self.input.start_action(&work.forbidden_chords);
        match self.carry_out(work, stop) {
            Ok(note) => {
                // Its reply comes after everything before it.
                let pointer = self.pointer()?;
                self.input.confirm();
                Ok(DriverOutcome {
                    pointer: Some(pointer),
                    note,
                })
            }
            Err(error) => {
                let input_sent = self.input.input_sent();
                self.release_input();
                Err(DriverFailure { error, input_sent })
            }
        }
    }

    /// Releases everything after a failure. A display that is gone has nothing pressed, or is cleaned up on
    /// reconnection.
    fn release_input(&mut self) {
        // Sent with the flush of the following release.
        let put_back = self.input.restore_keyboard();
        if let Err(error) = put_back.and_then(|()| self.input.release_held(0)) {
            tracing::warn!(%error, "keys and buttons could not be released; the next connection releases them");
        }
    }

    fn carry_out(
        &mut self,
        work: &PreparedAction,
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        crate::drivers::pause::check(stop)?;
        match &work.action {
            Action::Move { to } => {
                self.input.move_to(*to)?;
                self.input.sync()?;
            }
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => self.input.click(*at, *button, *count, modifiers, stop)?,
            Action::MouseDown { at, button } => self.input.mouse_down(*at, *button, stop)?,
            Action::MouseUp { at, button } => self.input.mouse_up(*at, *button)?,
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
                hold,
            } => {
                let (duration, hold) = (*duration, *hold);
                let timing = DragTiming { duration, hold };
                return self.input.drag(path, *button, modifiers, timing, stop);
            }
            Action::Scroll {
                at,
                amount,
                modifiers,
            } => self.input.scroll(*at, *amount, modifiers, stop)?,
            Action::TypeText {
                text,
                control_characters,
            } => {
                return self.type_text(text, *control_characters, work, stop);
            }
            Action::KeyChord { keys, repeat } => {
                if may_touch_clipboard(keys) {
                    self.clipboard.wait_for_idle(stop)?;
                    self.clipboard.restore()?;
                    self.clipboard.expect_copy()?;
                }
                if may_paste(keys) {
                    self.begin_paste()?;
                }
                self.input.chord(keys, *repeat, &mut self.remaps, stop)?;
            }
            Action::HoldKey { keys, duration } => {
                self.input.hold(keys, *duration, &mut self.remaps, stop)?
            }
            Action::SetClipboard { text } => {
                let text = literal(text)?;
                self.clipboard.wait_for_idle(stop)?;
                self.clipboard.set(text)?;
            }
            Action::Paste { text } => return self.paste(text.as_ref(), stop),
            Action::FocusWindow { window } => windows::focus(&self.input.link, window, stop)?,
            Action::GoToUrl { url } => {
                self.input
                    .run_browser_command(BrowserCommand::GoTo(url), &mut self.remaps, stop)?
            }
            Action::GoBack => {
                self.input
                    .run_browser_command(BrowserCommand::Back, &mut self.remaps, stop)?
            }
            Action::GoForward => {
                self.input
                    .run_browser_command(BrowserCommand::Forward, &mut self.remaps, stop)?
            }
            Action::Refresh => {
                self.input
                    .run_browser_command(BrowserCommand::Refresh, &mut self.remaps, stop)?
            }
            Action::Wait { .. } | Action::OpenApplication { .. } | Action::OpenUrl { .. } => {
                unreachable!("the driver handles this without the injector")
            }
        }
        Ok(None)
    }

    /// Pastes the clipboard, after setting it to `text` if there is one.
    fn paste(
        &mut self,
        text: Option<&Text>,
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        let text = text.map(literal).transpose()?;
        self.clipboard.wait_for_idle(stop)?;
        match text {
            Some(text) => self.clipboard.set(text)?,
            None => self.clipboard.restore()?,
        }
        self.begin_paste()?;
        self.input.chord(&PASTE, 1, &mut self.remaps, stop)?;
        Ok(text.map(|_| {
            "the clipboard now holds this text instead of its previous content".to_owned()
        }))
    }

    /// Records that the focused window is about to paste.
    fn begin_paste(&mut self) -> Result<(), Error> {
        let focused = windows::focused(&self.input.link)?;
        self.clipboard
            .begin_paste(focused.map(|focused| focused.window));
        Ok(())
    }

    /// Enters a text through the clipboard, whose previous content is restored later.
    fn paste_temporarily(&mut self, text: &str, stop: &CancellationToken) -> Result<(), Error> {
        let focused = windows::focused(&self.input.link)?;
        let is_terminal = focused
            .as_ref()
            .is_some_and(|focused| is_terminal(&focused.application));
        // Terminals pass ctrl+v on to their program. On shift+Insert some paste the clipboard and others the primary
        // selection.
        let (chord, selections): (_, &[Selection]) = if is_terminal {
            (
                PASTE_IN_TERMINAL,
                &[Selection::Primary, Selection::Clipboard],
            )
        } else {
            (PASTE, &[Selection::Clipboard])
        };
        self.clipboard.wait_for_idle(stop)?;
        for &selection in selections {
            self.clipboard.offer_temporarily(selection, text)?;
        }
        self.begin_paste()?;
        let taken = self
            .input
            .chord(&chord, 1, &mut self.remaps, stop)
            .and_then(|()| self.clipboard.finish_paste(stop));
        let given_back = match taken {
            Err(Error::PasteTimedOut { .. }) => self.clipboard.restore(),
            _ => self.clipboard.release(),
        };
        taken.and(given_back)
    }

    fn type_text(
        &mut self,
        text: &Text,
        control_characters: ControlCharacters,
        work: &PreparedAction,
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
        let keymap = Keymap::read(&self.input.link)?;
        let window = windows::focused(&self.input.link)?;
        let in_terminal = window
            .as_ref()
            .is_some_and(|window| is_terminal(&window.application));
        let circumstances = PlanOptions {
            inserts_controls: inserts_controls(control_characters, text, in_terminal || secret),
            max_remaps: self.remaps.capacity(&keymap),
            secret,
            input_method: input_method::is_present(&self.input.link, self.input.atoms.XIM_SERVERS)?,
        };
        let pieces = plan(text, circumstances, |character| {
            keyboard::is_in_layout(&keymap, &self.remaps, character)
        })?;
        for piece in &pieces {
            if let TextSegment::Keys(typed) | TextSegment::Remapped { text: typed, .. } = piece {
                self.input.check_typed(&keymap, typed)?;
            }
        }
        let recipient = TextTarget {
            window: window.as_ref(),
            secret: secret.then_some(work),
        };
        for piece in &pieces {
            self.enter(piece, recipient, stop)?;
        }
        let notes = [
            note(&pieces),
            self.successor_note(text, recipient)?,
            self.unread_note(&pieces, stop)?,
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        Ok((!notes.is_empty()).then(|| notes.join("; ")))
    }

    /// Describes the window that has taken the focus during the last keys. Return and Tab may hand it over by
    /// themselves.
    fn successor_note(
        &self,
        text: &str,
        recipient: TextTarget<'_>,
    ) -> Result<Option<String>, Error> {
        let last = text.chars().rev().take(keyboard::STROKES_PER_WRITE);
        if text.is_empty()
            || last
                .into_iter()
                .any(|key| matches!(key, '\n' | '\r' | '\t'))
        {
            return Ok(None);
        }
        let successor = recipient.successor(&self.input.link)?;
        Ok(successor.map(|application| {
            format!(
                "another window (`{application}`) took the focus at the end, and may have got the last characters"
            )
        }))
    }

    /// Waits until the application has read the text, and tells if it has not.
    fn unread_note(
        &self,
        pieces: &[TextSegment],
        stop: &CancellationToken,
    ) -> Result<Option<String>, Error> {
        if pieces.is_empty() || windows::wait_until_read(&self.input.link, stop)? {
            return Ok(None);
        }
        Ok(Some(
            "the application has not read all of the text yet".to_owned(),
        ))
    }

    /// Enters a segment. The target window is checked once the keys are ready.
    fn enter(
        &mut self,
        piece: &TextSegment,
        recipient: TextTarget<'_>,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let text = match piece {
            TextSegment::Keys(text) => text,
            TextSegment::Remapped { text, .. } => {
                self.input.remap_missing(text, &mut self.remaps, stop)?;
                text
            }
            TextSegment::Pasted(text) => {
                recipient.check(&self.input.link)?;
                return self.paste_temporarily(text, stop);
            }
        };
        let entered = self.input.type_characters(text, recipient, stop);
        self.remaps.used();
        entered
    }

    /// Returns the text of the clipboard, as a program on the desktop would paste it.
    pub(super) fn clipboard_text(&self) -> Result<ClipboardText, Error> {
        self.clipboard.read_text()
    }

    /// Returns whether a program has copied something since the last keys that may copy.
    pub(super) fn has_copied(&self) -> Result<Option<bool>, Error> {
        self.clipboard.has_copied()
    }

    /// Restores the clipboard, and returns the content that would be lost with this process.
    pub(super) fn remaining_clipboard(&self) -> Result<ClipboardContent, Error> {
        self.clipboard.remaining()
    }

    /// Returns the position of the pointer.
    pub(super) fn pointer(&self) -> Result<CapturePoint, Error> {
        self.input.pointer()
    }

    /// Returns the size of the screen.
    pub(super) fn size(&self) -> Result<motorium_proto::domain::geometry::CaptureSize, Error> {
        self.input.size()
    }

    /// Releases every pressed key and button, and returns their names.
    pub(super) fn release_all(&mut self) -> Result<Vec<String>, Error> {
        let keymap = Keymap::read(&self.input.link)?;
        let released = self.input.release_everything()?;
        Ok(released
            .into_iter()
            .map(|what| name(&keymap, what))
            .collect())
    }

    /// Returns when [`Session::restore_idle_keymap`] is due.
    pub(super) fn keymap_restore_due(&self) -> Option<Instant> {
        self.remaps.due()
    }

    /// Restores the keymap.
    pub(super) fn restore_idle_keymap(&mut self) -> Result<(), Error> {
        self.remaps.restore(&self.input.link)
    }

    /// Restores the display.
    pub(super) fn close(&mut self) {
        self.release_input();
        if self.remaps.due().is_none() {
            return;
        }
        // The last application must have read its keys before the keymap changes.
        let read = windows::wait_for_application(&self.input.link, &CancellationToken::new());
        if let Err(error) = read.and_then(|()| self.remaps.restore(&self.input.link)) {
            tracing::debug!(%error, "remapped keycodes are restored at the next start");
        }
    }
}

/// Returns the text of a clipboard action. Secrets are refused: every program can read the clipboard.
fn literal(text: &Text) -> Result<&str, Error> {
    match text {
        Text::Literal(text) => Ok(text),
        Text::Secret(name) => Err(Error::TextNotTypable {
            why: format!(
                "the secret `{name}` cannot be pasted or put on the clipboard; type it instead"
            ),
        }),
    }
}

/// Returns whether a chord may copy, cut or paste, so that the clipboard must hold the user's content.
fn may_touch_clipboard(keys: &[Key]) -> bool {
    keys.iter()
        .any(|key| matches!(key, Key::Control | Key::Insert))
}

/// Returns whether a chord pastes in some kind of window.
fn may_paste(keys: &[Key]) -> bool {
    let has = |key| keys.contains(&key);
    (has(Key::Control) && (has(Key::Character('v')) || has(Key::Character('V'))))
        || (has(Key::Shift) && has(Key::Insert))
}

fn is_terminal(application: &str) -> bool {
    let name = application.to_lowercase();
    // The last part of an application id such as `org.kde.konsole`.
    let own = name.rsplit('.').next().unwrap_or(&name);
    TERMINALS.contains(&own)
}

/// Returns whether control characters of a text are inserted with it. `needs_keys` is true in a terminal, where each line is to run,
/// and for a secret, which never goes through a clipboard.
fn inserts_controls(handling: ControlCharacters, text: &str, needs_keys: bool) -> bool {
    match handling {
        ControlCharacters::AsKeys => false,
        ControlCharacters::AsText => true,
        ControlCharacters::ByWindow => !needs_keys && has_several_lines(text),
    }
}

/// Returns whether a text has a line break other than at its end, where it is the Enter key.
fn has_several_lines(text: &str) -> bool {
    text.trim_end_matches(['\n', '\r']).contains('\n')
}

/// Describes how a text was entered, if not by plain keys.
fn note(pieces: &[TextSegment]) -> Option<String> {
    let pasted = pieces
        .iter()
        .any(|piece| matches!(piece, TextSegment::Pasted(_)));
    let lent = pieces
        .iter()
        .any(|piece| matches!(piece, TextSegment::Remapped { .. }));
    match (pasted, lent) {
        (true, _) => {
            Some("entered through the clipboard, whose previous content is restored".to_owned())
        }
        (false, true) => Some(
            "entered as keys, some of them remapped to characters that the layout lacks".to_owned(),
        ),
        (false, false) => None,
    }
}

fn name(keymap: &Keymap, what: Pressable) -> String {
    match what {
        Pressable::Button(1) => "left button".to_owned(),
        Pressable::Button(2) => "middle button".to_owned(),
        Pressable::Button(3) => "right button".to_owned(),
        Pressable::Button(8) => "back button".to_owned(),
        Pressable::Button(9) => "forward button".to_owned(),
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

/// Enables the X extensions, which is required before their use.
pub(super) fn enable_extensions(link: &Connection) -> Result<(), Error> {
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
    xtest.reply().or_display_error(link)?;
    if !xkb.reply().or_display_error(link)?.supported {
        return Err(missing("XKEYBOARD 1.0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_are_inserted_where_the_window_takes_them() {
        use ControlCharacters::{AsKeys, AsText, ByWindow};

        let lines = "if a {\nb\n}";
        for (handling, text, needs_keys, expected) in [
            (ByWindow, lines, false, true),
            (ByWindow, lines, true, false),
            (ByWindow, "ann\tsecret\n", false, false),
            (ByWindow, "hello", false, false),
            (AsKeys, lines, false, false),
            (AsText, "a\tb", true, true),
        ] {
            assert_eq!(
                inserts_controls(handling, text, needs_keys),
                expected,
                "{handling:?} {text:?}"
            );
        }
        assert!(is_terminal("XTerm") && is_terminal("org.kde.konsole"));
        assert!(!is_terminal("Mousepad"));
    }
}

//! Rules for actions: the configured allowlist, and refusals that explain themselves.
//!
//! Pure. The rules check what an action states. They cannot know that a typed text is a URL or that a click hits a
//! "Pay" button: that is the task of the Orchestrator's policy and of restrictions on the desktop itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::action::{Action, ActionKind, ControlCharacters, Text};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;

use super::named_hosts::NamedHosts;
use super::refusal::Refusal;
use super::url_rules::UrlRules;

/// Default forbidden chords: they switch to a text console, or end the X server or the session.
pub const DEFAULT_FORBIDDEN_CHORDS: &[&str] = &[
    "ctrl+alt+delete",
    "ctrl+alt+backspace",
    "ctrl+alt+f1",
    "ctrl+alt+f2",
    "ctrl+alt+f3",
    "ctrl+alt+f4",
    "ctrl+alt+f5",
    "ctrl+alt+f6",
    "ctrl+alt+f7",
    "ctrl+alt+f8",
    "ctrl+alt+f9",
    "ctrl+alt+f10",
    "ctrl+alt+f11",
    "ctrl+alt+f12",
];

/// Name of the rule for chords, as in the configuration.
pub(crate) const FORBIDDEN_CHORDS: &str = "rules.forbidden_chords";
/// Distance in pixels between the checked points of a drag's path. Small enough that no region of a few pixels is
/// skipped.
const PATH_STEP_PX: f64 = 2.0;
/// Maximum number of checked points per leg: longer than any display's diagonal. The driver refuses points outside the
/// display.
const MAX_PATH_STEPS: f64 = 20_000.0;

/// The rules of a desktop.
#[derive(Debug, Clone)]
pub struct Rules {
    pub kinds: BTreeSet<ActionKind>,
    /// Compared by name here. Drivers that know the layout compare them by what they do on it.
    pub forbidden_chords: Arc<[Chord]>,
    pub applications: BTreeSet<String>,
    pub urls: UrlRules,
    /// `None` allows the whole display.
    pub allowed_regions: Option<Vec<CaptureRect>>,
    pub denied_regions: Vec<CaptureRect>,
    /// Maximum time that one action may wait or hold keys.
    pub max_action_duration: Duration,
}

/// A key combination that must not be pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord {
    /// The combination as configured.
    pub name: String,
    /// Its keys as configured, for drivers that know the layout.
    pub keys: Vec<Key>,
    /// Its keys on a US keyboard.
    on_us_keyboard: Vec<Key>,
}

impl Chord {
    /// Parses a chord of the configuration.
    ///
    /// # Errors
    /// If a key is unknown.
    pub fn parse(name: &str) -> Result<Self, motorium_proto::error::FieldError> {
        let keys = Key::parse_chord("forbidden_chords", name)?;
        Ok(Self {
            name: name.to_owned(),
            on_us_keyboard: Key::on_us_keyboard(&keys),
            keys,
        })
    }

    /// Returns whether `struck` contains this chord. Both are keys of a US keyboard.
    fn is_in(&self, struck: &[Key]) -> bool {
        self.on_us_keyboard.iter().all(|key| struck.contains(key))
    }

    /// Explains why this chord is not pressed.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        Refusal {
            rule: FORBIDDEN_CHORDS,
            reason: format!("the key combination {} is forbidden", self.name),
        }
    }
}

impl Rules {
    /// Returns whether [`Rules::check`] needs the position of the pointer.
    #[must_use]
    pub fn needs_pointer(&self) -> bool {
        self.allowed_regions.is_some() || !self.denied_regions.is_empty()
    }

    /// Checks an action. URLs are returned as a browser parses them.
    ///
    /// `pointer` is the position at which an action without a target acts, and `named_hosts` are those of the lease.
    ///
    /// # Errors
    /// Returns the refusal.
    pub fn check(
        &self,
        action: Action<CapturePoint>,
        pointer: Option<CapturePoint>,
        named_hosts: &NamedHosts,
    ) -> Result<Action<CapturePoint>, Refusal> {
        self.check_kind(action.kind())?;
        self.check_regions(&action, pointer)?;
        match action {
            Action::KeyChord { keys, repeat } => {
                self.check_chord(&keys)?;
                Ok(Action::KeyChord { keys, repeat })
            }
            Action::HoldKey { keys, duration } => {
                self.check_chord(&keys)?;
                self.check_duration(duration)?;
                Ok(Action::HoldKey { keys, duration })
            }
            Action::TypeText {
                text,
                control_characters,
            } => {
                self.check_text(&text, control_characters)?;
                Ok(Action::TypeText {
                    text,
                    control_characters,
                })
            }
            Action::Wait { duration } => {
                self.check_duration(duration)?;
                Ok(Action::Wait { duration })
            }
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
                hold,
            } => {
                self.check_duration(hold.unwrap_or_default())?;
                Ok(Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
                    hold,
                })
            }
            Action::OpenApplication { name } => {
                self.check_application(&name)?;
                Ok(Action::OpenApplication { name })
            }
            Action::OpenUrl { url } => Ok(Action::OpenUrl {
                url: self.urls.parse_and_check(&url, named_hosts)?.into(),
            }),
            Action::GoToUrl { url } => Ok(Action::GoToUrl {
                url: self.urls.parse_and_check(&url, named_hosts)?.into(),
            }),
            unchanged @ (Action::Move { .. }
            | Action::Click { .. }
            | Action::MouseDown { .. }
            | Action::MouseUp { .. }
            | Action::Scroll { .. }
            | Action::SetClipboard { .. }
            | Action::Paste { .. }
            | Action::FocusWindow { .. }
            | Action::GoBack
            | Action::GoForward
            | Action::Refresh) => Ok(unchanged),
        }
    }

    fn check_kind(&self, kind: ActionKind) -> Result<(), Refusal> {
        if self.kinds.contains(&kind) {
            return Ok(());
        }
        Err(Refusal {
            rule: "rules.actions",
            reason: format!("actions of the kind {kind} are not allowed"),
        })
    }

    fn check_chord(&self, keys: &[Key]) -> Result<(), Refusal> {
        let struck = Key::on_us_keyboard(keys);
        let mut chords = self.forbidden_chords.iter();
        match chords.find(|chord| chord.is_in(&struck)) {
            None => Ok(()),
            Some(chord) => Err(chord.refusal()),
        }
    }

    /// Checks the keys that control characters of a text press.
    fn check_text(
        &self,
        text: &Text,
        control_characters: ControlCharacters,
    ) -> Result<(), Refusal> {
        let Text::Literal(text) = text else {
            return Ok(());
        };
        if control_characters != ControlCharacters::AsKeys {
            return Ok(());
        }
        for (characters, key) in [(['\n', '\r'].as_slice(), Key::Enter), (&['\t'], Key::Tab)] {
            if text.contains(characters) {
                self.check_chord(&[key])?;
            }
        }
        Ok(())
    }

    fn check_duration(&self, duration: Duration) -> Result<(), Refusal> {
        if duration <= self.max_action_duration {
            return Ok(());
        }
        let (asked, max) = (
            duration.as_secs_f64(),
            self.max_action_duration.as_secs_f64(),
        );
        Err(Refusal {
            rule: "rules.max_action_duration",
            reason: format!("{asked} s exceeds the maximum of {max} s"),
        })
    }

    fn check_application(&self, name: &str) -> Result<(), Refusal> {
        if self.applications.contains(name) {
            return Ok(());
        }
        let known = self
            .applications
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let known = if known.is_empty() {
            "none is allowed".to_owned()
        } else {
            format!("allowed: {known}")
        };
        Err(Refusal {
            rule: "applications",
            reason: format!("the application `{name}` is not allowed; {known}"),
        })
    }

    fn check_regions(
        &self,
        action: &Action<CapturePoint>,
        pointer: Option<CapturePoint>,
    ) -> Result<(), Refusal> {
        if !self.needs_pointer() {
            return Ok(());
        }
        let targets: Vec<CapturePoint> = action.targets().copied().collect();
        let places = if targets.is_empty() && acts_at_pointer(action.kind()) {
            pointer.into_iter().collect()
        } else {
            path_points(&targets)
        };
        places
            .into_iter()
            .try_for_each(|point| self.check_point(point))
    }

    fn check_point(&self, point: CapturePoint) -> Result<(), Refusal> {
        let (x, y) = (point.x, point.y);
        if self
            .denied_regions
            .iter()
            .any(|region| region.contains(point))
        {
            let reason = format!("({x}, {y}) is in a denied region");
            return Err(Refusal {
                rule: "rules.denied_regions",
                reason,
            });
        }
        let allowed = self.allowed_regions.as_ref();
        if allowed.is_none_or(|regions| regions.iter().any(|region| region.contains(point))) {
            return Ok(());
        }
        let reason = format!("({x}, {y}) is outside the allowed regions");
        Err(Refusal {
            rule: "rules.allowed_regions",
            reason,
        })
    }
}

/// Returns true if an action without a target acts where the pointer is.
fn acts_at_pointer(kind: ActionKind) -> bool {
    match kind {
        ActionKind::Click | ActionKind::MouseDown | ActionKind::MouseUp | ActionKind::Scroll => {
            true
        }
        ActionKind::Move
        | ActionKind::Drag
        | ActionKind::TypeText
        | ActionKind::KeyChord
        | ActionKind::HoldKey
        | ActionKind::Wait
        | ActionKind::SetClipboard
        | ActionKind::Paste
        | ActionKind::OpenApplication
        | ActionKind::OpenUrl
        | ActionKind::FocusWindow
        | ActionKind::GoToUrl
        | ActionKind::GoBack
        | ActionKind::GoForward
        | ActionKind::Refresh => false,
    }
}

/// Returns the points that the pointer passes when it moves along `targets`.
fn path_points(targets: &[CapturePoint]) -> Vec<CapturePoint> {
    let mut points: Vec<CapturePoint> = targets.first().copied().into_iter().collect();
    for leg in targets.windows(2) {
        let whole = leg[1].to_f64() - leg[0].to_f64();
        let steps = (whole.length() / PATH_STEP_PX)
            .ceil()
            .clamp(1.0, MAX_PATH_STEPS);
        points.extend((1..=steps as u32).map(|step| {
            (leg[0].to_f64() + whole * (f64::from(step) / steps))
                .round()
                .to_i32()
        }));
    }
    points
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::{Button, ScrollAmount};

    use super::super::url_rules::HostRule;
    use super::*;

    fn rules() -> Rules {
        let region = |x, y, width, height| {
            CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            )
        };
        Rules {
            kinds: ActionKind::ALL
                .iter()
                .copied()
                .filter(|kind| *kind != ActionKind::Paste)
                .collect(),
            forbidden_chords: DEFAULT_FORBIDDEN_CHORDS
                .iter()
                .map(|chord| Chord::parse(chord).unwrap())
                .collect(),
            applications: ["editor".to_owned()].into(),
            urls: UrlRules {
                schemes: vec!["https".to_owned()],
                hosts: vec![HostRule::Any],
                denied_hosts: Vec::new(),
            },
            allowed_regions: Some(vec![region(0, 0, 1000, 1000)]),
            denied_regions: vec![region(100, 100, 10, 10)],
            max_action_duration: Duration::from_secs(60),
        }
    }

    fn check(action: Action<CapturePoint>, expected: Result<(), (&str, &str)>) {
        let pointer = CapturePoint::new(105, 105);
        let judged = rules().check(action.clone(), Some(pointer), &NamedHosts::default());
        match (judged, expected) {
            (Ok(_), Ok(())) => {}
            (Err(refusal), Err((rule, part))) => {
                assert_eq!(refusal.rule, rule, "{action:?}");
                assert!(refusal.reason.contains(part), "{}", refusal.reason);
            }
            (got, expected) => panic!("{action:?}: {got:?} instead of {expected:?}"),
        }
    }

    fn chord(keys: &str) -> Action<CapturePoint> {
        Action::KeyChord {
            keys: Key::parse_chord("keys", keys).unwrap(),
            repeat: 1,
        }
    }

    fn open(url: &str) -> Action<CapturePoint> {
        Action::OpenUrl {
            url: url.to_owned(),
        }
    }

    fn click(at: Option<(i32, i32)>) -> Action<CapturePoint> {
        let at = at.map(|(x, y)| CapturePoint::new(x, y));
        Action::Click {
            at,
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        }
    }

    fn drag(path: &[(i32, i32)]) -> Action<CapturePoint> {
        let path = path.iter().map(|&(x, y)| CapturePoint::new(x, y)).collect();
        Action::Drag {
            path,
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
            hold: None,
        }
    }

    #[test]
    fn kinds_that_are_not_listed_are_refused() {
        check(
            Action::Paste { text: None },
            Err(("rules.actions", "paste")),
        );
        check(Action::Refresh, Ok(()));
    }

    #[test]
    fn forbidden_chords_are_refused_in_any_order_or_combination() {
        let refused = Err(("rules.forbidden_chords", "ctrl+alt+"));
        check(chord("ctrl+alt+delete"), refused);
        check(chord("Delete+ALT+Control_L"), refused);
        check(chord("ctrl+shift+alt+BackSpace"), refused);
        check(chord("ctrl+alt+F7"), refused);
        check(chord("ctrl+altgr+KP_Decimal+delete"), refused);
        check(chord("ctrl+alt+t"), Ok(()));
        check(chord("ctrl+delete"), Ok(()));
        let keys = Key::parse_chord("keys", "ctrl+alt+delete").unwrap();
        check(
            Action::HoldKey {
                keys,
                duration: Duration::from_secs(1),
            },
            refused,
        );
    }

    #[test]
    fn addresses_are_judged_and_come_back_as_a_browser_reads_them() {
        let refused = Err(("rules.url_schemes", "http"));
        let plain = "http://example.com/".to_owned();
        check(open(&plain), refused);
        check(Action::GoToUrl { url: plain }, refused);
        let named = NamedHosts::default();
        let checked = rules().check(open("HTTPS://Example.com"), None, &named);
        let Ok(Action::OpenUrl { url }) = checked else {
            panic!("refused")
        };
        assert_eq!(url, "https://example.com/");
    }

    #[test]
    fn applications_are_known_by_name() {
        check(
            Action::OpenApplication {
                name: "editor".to_owned(),
            },
            Ok(()),
        );
        check(
            Action::OpenApplication {
                name: "sh -c".to_owned(),
            },
            Err(("applications", "allowed: editor")),
        );
    }

    #[test]
    fn region_rules_apply_to_points_and_drag_paths() {
        check(click(Some((10, 10))), Ok(()));
        check(
            click(Some((105, 105))),
            Err(("rules.denied_regions", "(105, 105)")),
        );
        check(
            click(Some((1000, 10))),
            Err(("rules.allowed_regions", "(1000, 10)")),
        );
        check(click(None), Err(("rules.denied_regions", "(105, 105)")));
        check(
            drag(&[(90, 90), (120, 120)]),
            Err(("rules.denied_regions", "in a denied region")),
        );
        check(drag(&[(0, 0), (50, 400)]), Ok(()));
        let amount = ScrollAmount::Notches { x: 0, y: 1 };
        check(
            Action::Scroll {
                at: None,
                amount,
                modifiers: Vec::new(),
            },
            Err(("rules.denied_regions", "")),
        );
        check(chord("ctrl+a"), Ok(()));
    }

    #[test]
    fn actions_longer_than_the_maximum_are_refused() {
        check(
            Action::Wait {
                duration: Duration::from_secs(60),
            },
            Ok(()),
        );
        check(
            Action::Wait {
                duration: Duration::from_secs(61),
            },
            Err((
                "rules.max_action_duration",
                "61 s exceeds the maximum of 60 s",
            )),
        );
    }
}

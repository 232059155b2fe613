//! Films of real applications: pictures with their times, and what was done in them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use image::codecs::webp::WebPDecoder;
use image::{AnimationDecoder as _, RgbaImage};
use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text,
};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use serde::Deserialize;

/// What is known of a film.
#[derive(Debug, Deserialize)]
struct Labels {
    film: String,
    clips: Vec<Label>,
}

/// What is known of one action in it. Times are milliseconds from the film's beginning.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Label {
    pub(crate) id: String,
    /// What was done, in a word or two.
    pub(crate) what: String,
    started_ms: u64,
    acted_ms: u64,
    ended_ms: u64,
    action: Done,
    target: Option<[i32; 4]>,
    pub(crate) title_before: String,
    pub(crate) title_after: String,
    pub(crate) had_effect: bool,
    pub(crate) moves_anyway: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Done {
    kind: String,
    at: Option<[i32; 2]>,
    to: Option<[i32; 2]>,
    keys: Option<String>,
    text: Option<String>,
    notches: Option<i32>,
}

/// A picture, and how long after the beginning of its part it is shown.
pub(crate) type Shown = (Duration, Arc<RgbaImage>);

/// One action: what was seen before it, and what after.
#[derive(Debug, Clone)]
pub(crate) struct Clip {
    pub(crate) label: Label,
    pub(crate) before: Vec<Shown>,
    pub(crate) after: Vec<Shown>,
}

impl Label {
    /// What was done; `None` if its effect is never judged.
    ///
    /// # Panics
    /// If the label is none of those that the recorder writes.
    pub(crate) fn action(&self) -> Option<Action<Target>> {
        let Done {
            kind,
            at,
            to,
            keys,
            text,
            notches,
        } = &self.action;
        let at = at.map(|[x, y]| Target::Point(CapturePoint::new(x, y)));
        let click = |button, count| Action::Click {
            at: at.clone(),
            button,
            count,
            modifiers: vec![],
        };
        Some(match kind.as_str() {
            "click" => click(Button::Left, 1),
            "double_click" => click(Button::Left, 2),
            "right_click" => click(Button::Right, 1),
            "type_text" => Action::TypeText {
                text: Text::Literal(text.clone().expect("it has a text")),
                control_characters: ControlCharacters::AsKeys,
            },
            "key" => Action::KeyChord {
                keys: Key::parse_chord("keys", keys.as_deref().expect("it has keys"))
                    .unwrap_or_else(|error| panic!("{}: {error}", self.id)),
                repeat: 1,
            },
            "scroll" => Action::Scroll {
                at,
                amount: ScrollAmount::Notches {
                    x: 0,
                    y: notches.expect("it has notches"),
                },
                modifiers: vec![],
            },
            "drag" => Action::Drag {
                path: [at, to.map(|[x, y]| Target::Point(CapturePoint::new(x, y)))]
                    .into_iter()
                    .flatten()
                    .collect(),
                button: Button::Left,
                modifiers: vec![],
                duration: None,
            },
            "move" => return None,
            other => panic!("{}: nothing is known of `{other}`", self.id),
        })
    }

    pub(crate) fn target(&self) -> Option<CaptureRect> {
        self.target.map(|[x1, y1, x2, y2]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        })
    }
}

/// The films of a folder, by name.
///
/// # Panics
/// If the folder cannot be read.
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let mut films: Vec<PathBuf> = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    films.sort();
    films
}

/// Reads a film, and gives each clip to `take` as soon as it is there: a whole film is too large for memory.
///
/// # Panics
/// If it cannot be read.
pub(crate) fn read(path: &Path, mut take: impl FnMut(Clip)) {
    let labels = File::open(path).expect("it was listed");
    let labels: Labels = serde_json::from_reader(BufReader::new(labels))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let film = path.with_file_name(&labels.film);
    let file = File::open(&film).unwrap_or_else(|error| panic!("{}: {error}", film.display()));
    let decoder = WebPDecoder::new(BufReader::new(file)).expect("it is WebP");
    let mut frames = decoder.into_frames();
    let mut until = 0;
    let mut current: Option<(u64, Arc<RgbaImage>)> = None;
    for label in labels.clips {
        let mut clip = Clip {
            before: Vec::new(),
            after: Vec::new(),
            label,
        };
        let Label {
            started_ms,
            acted_ms,
            ended_ms,
            ..
        } = clip.label;
        loop {
            if let Some((from, picture)) = &current {
                let ms = |from: u64, since: u64| Duration::from_millis(from.saturating_sub(since));
                if *from < acted_ms && until > started_ms {
                    clip.before
                        .push((ms(*from, started_ms), Arc::clone(picture)));
                }
                if *from < ended_ms && until > acted_ms {
                    clip.after.push((ms(*from, acted_ms), Arc::clone(picture)));
                }
            }
            if until >= ended_ms {
                break;
            }
            let Some(frame) = frames.next() else { break };
            let frame = frame.expect("it can be decoded");
            let (numerator, denominator) = frame.delay().numer_denom_ms();
            current = Some((until, Arc::new(frame.into_buffer())));
            until += u64::from(numerator / denominator);
        }
        take(clip);
    }
}

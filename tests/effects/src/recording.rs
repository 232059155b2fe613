//! Screen recordings of real applications: timed images with labelled actions.

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

/// Labels of a recording.
#[derive(Debug, Deserialize)]
struct RecordingLabels {
    film: String,
    clips: Vec<ClipLabel>,
}

/// Label of one clip. Times are milliseconds from the start of the recording.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ClipLabel {
    pub(crate) id: String,
    /// Category of the action.
    pub(crate) what: String,
    started_ms: u64,
    acted_ms: u64,
    ended_ms: u64,
    action: RecordedAction,
    target: Option<[i32; 4]>,
    pub(crate) title_before: String,
    pub(crate) title_after: String,
    pub(crate) had_effect: bool,
    pub(crate) moves_anyway: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct RecordedAction {
    kind: String,
    at: Option<[i32; 2]>,
    to: Option<[i32; 2]>,
    keys: Option<String>,
    text: Option<String>,
    notches: Option<i32>,
}

/// An image with its time from the start of its part.
pub(crate) type TimedImage = (Duration, Arc<RgbaImage>);

/// A clip: the images before and after one action.
#[derive(Debug, Clone)]
pub(crate) struct Clip {
    pub(crate) label: ClipLabel,
    pub(crate) before: Vec<TimedImage>,
    pub(crate) after: Vec<TimedImage>,
}

impl ClipLabel {
    /// Returns the action; `None` if its effect is never judged.
    ///
    /// # Panics
    /// If the label is not one that the recorder writes.
    pub(crate) fn action(&self) -> Option<Action<Target>> {
        let RecordedAction {
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
                text: Text::Literal(text.clone().expect("the label has a text")),
                control_characters: ControlCharacters::AsKeys,
            },
            "key" => Action::KeyChord {
                keys: Key::parse_chord("keys", keys.as_deref().expect("the label has keys"))
                    .unwrap_or_else(|error| panic!("{}: {error}", self.id)),
                repeat: 1,
            },
            "scroll" => Action::Scroll {
                at,
                amount: ScrollAmount::Notches {
                    x: 0,
                    y: notches.expect("the label has notches"),
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
                hold: None,
            },
            "move" => return None,
            other => panic!("{}: unknown kind of action `{other}`", self.id),
        })
    }

    pub(crate) fn target(&self) -> Option<CaptureRect> {
        self.target.map(|[x1, y1, x2, y2]| {
            CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
        })
    }
}

/// Returns the recordings of a folder, by name.
///
/// # Panics
/// If the folder cannot be read.
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.expect("the folder is readable").path());
    let mut films: Vec<PathBuf> = files
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    films.sort();
    films
}

/// Decodes a recording and passes each clip to `take` as soon as it is complete, because a whole recording is too large for
/// memory.
///
/// # Panics
/// If it cannot be read.
pub(crate) fn read(path: &Path, mut take: impl FnMut(Clip)) {
    let labels = File::open(path).expect("the file was listed");
    let labels: RecordingLabels = serde_json::from_reader(BufReader::new(labels))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let film = path.with_file_name(&labels.film);
    let file = File::open(&film).unwrap_or_else(|error| panic!("{}: {error}", film.display()));
    let decoder = WebPDecoder::new(BufReader::new(file)).expect("the recording is WebP");
    let mut frames = decoder.into_frames();
    let mut until = 0;
    let mut current: Option<(u64, Arc<RgbaImage>)> = None;
    for label in labels.clips {
        let mut clip = Clip {
            before: Vec::new(),
            after: Vec::new(),
            label,
        };
        let ClipLabel {
            started_ms,
            acted_ms,
            ended_ms,
            ..
        } = clip.label;
        loop {
            if let Some((from, image)) = &current {
                let ms = |from: u64, since: u64| Duration::from_millis(from.saturating_sub(since));
                if *from < acted_ms && until > started_ms {
                    clip.before.push((ms(*from, started_ms), Arc::clone(image)));
                }
                if *from < ended_ms && until > acted_ms {
                    clip.after.push((ms(*from, acted_ms), Arc::clone(image)));
                }
            }
            if until >= ended_ms {
                break;
            }
            let Some(frame) = frames.next() else { break };
            let frame = frame.expect("the frame is valid");
            let (numerator, denominator) = frame.delay().numer_denom_ms();
            current = Some((until, Arc::new(frame.into_buffer())));
            until += u64::from(numerator / denominator);
        }
        take(clip);
    }
}

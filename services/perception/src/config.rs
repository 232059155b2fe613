//! Settings as they are written, and the configuration that is meant by them.
//!
//! [`Settings`] is the section `[perception]`; [`Config`] is checked and complete, and nothing behind it sees a raw
//! text.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::{self, Channel};
use motorium_kit::config::{Listen, Section, Span};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{PerceptionClient, Redaction, SensitiveText};
use serde::{Deserialize, Serialize};

use crate::frames::Limits;
use crate::parse::Parser;
use crate::parse::describe::{DescribeSettings, Describing};
use crate::parse::detect::{DetectSettings, Detector, Model, NoDetector, YoloDetector};
use crate::parse::embedded::EmbeddedParser;
use crate::parse::omniparser::OmniParser;
use crate::parse::queue::ParseQueue;
use crate::parse::read::{ModelFiles, PaddleReader, ReadSettings};
use crate::parse::remote::RemoteParser;
use crate::service::{Driver, PerceptionService, Redactor, Screens};

/// The port that the service listens on if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 7701;

/// What the figures of the model card are for; it moves a little with every training. docs/performance.md says why it is this.
pub const LEAST_CONFIDENCE: f32 = 0.22;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value is not one of those that are known, or makes no sense.
    #[error("perception.{key}: {problem}")]
    BadValue { key: &'static str, problem: String },
}

/// The section `[perception]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub listen: Listen,
    /// The displays to see, the default one first. Without any, `$DISPLAY`.
    pub displays: Vec<String>,
    /// `x11`, or `xcap` where it was built in.
    pub driver: String,
    /// Capture pixels per logical point. Without it, what the desktop says of itself.
    pub scale: Option<f64>,
    /// How long one call to the display server may take before it counts as stopped.
    pub patience: Span,
    /// Frames that are kept at most.
    pub frames: usize,
    /// Memory for the frames that are kept, in MiB.
    pub frame_memory: usize,
    /// Threads to parse with. Without it, one per core, at most four.
    pub threads: Option<usize>,
    /// What finds controls: `built_in` (what it misses is in its model card), an ONNX file in the layout of YOLOv8, or `none`:
    /// elements are text alone then.
    pub detector: String,
    /// Controls that are less certain than this are left out, 0 to 1.
    pub detector_confidence: f32,
    /// Pictures are scaled down to this long side, in pixels, before text is looked for; where much of it is small then,
    /// they are looked at in more detail. Less is faster and misses small text.
    pub text_long_side: u32,
    /// Lines of text that are remembered by their pixels.
    pub remembered_lines: usize,
    /// A model that finds text, in the layout of PP-OCR's ONNX files. Without it, the one that set-up fetched.
    pub text_finder: Option<PathBuf>,
    /// A model that reads a line, likewise: for other languages than English and Chinese.
    pub text_reader: Option<PathBuf>,
    /// The signs that `text_reader` reads, one a line. Without it, those that the model carries.
    pub alphabet: Option<PathBuf>,
    /// Who looks at pictures: `embedded`, `perception:http://HOST:PORT` (another Perception) or
    /// `omniparser:http://HOST:PORT` (an OmniParser server).
    pub parser: String,
    /// What never leaves this process: `card_numbers`, `email_addresses`, `window:NAME` (an application),
    /// `text:PATTERN` (a regular expression), `region:X,Y,WIDTH,HEIGHT` (of every display, in its pixels).
    pub hide: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let reading = ReadSettings::default();
        Self {
            listen: Listen::loopback(DEFAULT_PORT),
            displays: Vec::new(),
            driver: Driver::KNOWN
                .first()
                .map_or("", |(name, _)| name)
                .to_owned(),
            scale: None,
            patience: Span(Duration::from_secs(2)),
            frames: 64,
            frame_memory: 192,
            threads: None,
            detector: "built_in".to_owned(),
            detector_confidence: LEAST_CONFIDENCE,
            text_long_side: reading.locate_long_side,
            remembered_lines: reading.remembered_lines,
            text_finder: None,
            text_reader: None,
            alphabet: None,
            parser: "embedded".to_owned(),
            hide: Vec::new(),
        }
    }
}

impl Settings {
    /// The library and the models that are meant: those in the folder `data`, but for what is named.
    ///
    /// # Errors
    /// If a file that is named is not there.
    pub fn model_files(&self, data: &Path) -> Result<ModelFiles, Error> {
        if self.alphabet.is_some() && self.text_reader.is_none() {
            return Err(Error::BadValue {
                key: "alphabet",
                problem: "belongs to a `text_reader`, and there is none".to_owned(),
            });
        }
        for (key, file) in [
            ("text_finder", &self.text_finder),
            ("text_reader", &self.text_reader),
            ("alphabet", &self.alphabet),
        ] {
            if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
                let problem = format!("there is no file {}", file.display());
                return Err(Error::BadValue { key, problem });
            }
        }
        let there = ModelFiles::in_folder(data);
        Ok(ModelFiles {
            locate: self.text_finder.clone().unwrap_or(there.locate),
            recognise: self.text_reader.clone().unwrap_or(there.recognise),
            alphabet: self.alphabet.clone(),
            ..there
        })
    }

    /// How controls are looked for beside a reader with so many threads.
    fn detecting(
        &self,
        models: &ModelFiles,
        threads: usize,
    ) -> Result<Option<DetectSettings>, Error> {
        let bad = |key, problem| Error::BadValue { key, problem };
        if !(0.0..=1.0).contains(&self.detector_confidence) {
            let problem = format!("{} is not from 0 to 1", self.detector_confidence);
            return Err(bad("detector_confidence", problem));
        }
        let model = match self.detector.as_str() {
            "none" => return Ok(None),
            "built_in" => Model::BuiltIn,
            path if Path::new(path).is_file() => Model::File(path.into()),
            path => {
                let problem = format!(
                    "there is no file `{path}`; there are built_in, none, and the path of an ONNX file"
                );
                return Err(bad("detector", problem));
            }
        };
        Ok(Some(DetectSettings {
            model,
            runtime: models.runtime.clone(),
            // It is done long before the reader is, so it leaves the reader most of the cores.
            threads: (threads / 2).max(1),
            least_confidence: self.detector_confidence,
        }))
    }
}

impl Section for Settings {
    const NAME: &'static str = "perception";
}

/// What is meant: checked and complete.
#[derive(Debug, Clone)]
pub struct Config {
    displays: Vec<DisplayId>,
    driver: Driver,
    scale: Option<f64>,
    patience: Duration,
    frames: Limits,
    models: ModelFiles,
    reading: ReadSettings,
    /// `None` to find no controls.
    detecting: Option<DetectSettings>,
    parser: ParserChoice,
    hidden: Redactor,
}

/// Who looks at pictures.
#[derive(Debug, Clone)]
enum ParserChoice {
    Embedded,
    /// Another Perception.
    Perception(client::Config),
    /// The base address of an OmniParser server.
    OmniParser(String),
}

impl Config {
    /// Makes sense of the settings. `data` is the folder that has ONNX Runtime and the models; `environment` gives
    /// `DISPLAY`.
    ///
    /// # Errors
    /// If a value cannot be used.
    pub fn resolve(
        settings: Settings,
        data: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let defaults = ReadSettings::default();
        let models = settings.model_files(data)?;
        let threads = settings.threads.unwrap_or(defaults.threads).max(1);
        let detecting = settings.detecting(&models, threads)?;
        let (parser, hidden) = (parser(&settings.parser)?, hidden(&settings.hide)?);
        if !matches!(parser, ParserChoice::Embedded) && hidden.hides_text() {
            return Err(Error::BadValue {
                key: "hide",
                problem:
                    "text can be hidden only with `parser = \"embedded\"`: it has to be read first"
                        .to_owned(),
            });
        }
        Ok(Self {
            displays: displays(settings.displays, environment),
            driver: driver(&settings.driver)?,
            scale: settings.scale.map(check_scale).transpose()?,
            patience: settings.patience.0,
            frames: Limits {
                frames: settings.frames,
                bytes: settings.frame_memory << 20,
            },
            parser,
            hidden,
            models,
            detecting,
            reading: ReadSettings {
                threads,
                locate_long_side: settings.text_long_side,
                remembered_lines: settings.remembered_lines,
                ..defaults
            },
        })
    }

    /// Calls another Perception with this token and these certificates.
    #[must_use]
    pub fn calling_with(mut self, base: &client::Config) -> Self {
        if let ParserChoice::Perception(config) = &mut self.parser {
            *config = client::Config {
                uri: std::mem::take(&mut config.uri),
                ..base.clone()
            };
        }
        self
    }

    /// Starts the service. The models are loaded meanwhile; what is wrong with them is told by the calls that need
    /// them, and in the log.
    ///
    /// # Errors
    /// If the parser's address cannot be used.
    pub async fn start(self) -> Result<PerceptionService, Error> {
        let screens = Screens::new(self.driver, self.displays, self.patience, self.scale);
        let parser = ParseQueue::new(self.parser.build(
            self.models,
            self.reading,
            self.detecting,
        )?);
        let mut service = PerceptionService::new(screens, parser, self.frames, self.hidden);
        service.warm_up();
        Ok(service)
    }
}

fn displays(
    configured: Vec<String>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Vec<DisplayId> {
    if !configured.is_empty() {
        return configured.into_iter().map(DisplayId::new).collect();
    }
    let mut variables = environment.into_iter();
    let of_session = variables.find(|(name, value)| name == "DISPLAY" && !value.is_empty());
    of_session
        .map(|(_, display)| DisplayId::new(display))
        .into_iter()
        .collect()
}

impl ParserChoice {
    fn build(
        self,
        models: ModelFiles,
        reading: ReadSettings,
        detecting: Option<DetectSettings>,
    ) -> Result<Arc<dyn Parser>, Error> {
        Ok(match self {
            Self::Embedded => {
                let reader = PaddleReader::new(models, reading);
                let detector = detecting.map_or_else(|| Arc::new(NoDetector) as _, detector);
                Arc::new(EmbeddedParser::new(detector, Arc::new(reader)))
            }
            Self::Perception(config) => {
                let channel = Channel::connect_lazy(&config).map_err(bad_parser)?;
                let perception = Arc::new(PerceptionClient::new(channel));
                Arc::new(RemoteParser::new(config.uri, perception))
            }
            Self::OmniParser(url) => Arc::new(OmniParser::new(&url).map_err(bad_parser)?),
        })
    }
}

/// A detector that looks closer at what it finds.
fn detector(settings: DetectSettings) -> Arc<dyn Detector> {
    let closer = DescribeSettings {
        runtime: settings.runtime.clone(),
        threads: settings.threads,
    };
    let detector = Arc::new(YoloDetector::new(settings));
    Arc::new(Describing::new(detector, closer))
}

fn bad_parser(problem: impl std::fmt::Display) -> Error {
    Error::BadValue {
        key: "parser",
        problem: problem.to_string(),
    }
}

fn parser(written: &str) -> Result<ParserChoice, Error> {
    match written.split_once(':') {
        None if written == "embedded" => Ok(ParserChoice::Embedded),
        Some(("perception", url)) => Ok(ParserChoice::Perception(client::Config::new(url))),
        Some(("omniparser", url)) => Ok(ParserChoice::OmniParser(url.to_owned())),
        _ => Err(bad_parser(format!(
            "there is no `{written}`; there are embedded, perception:http://HOST:PORT, omniparser:http://HOST:PORT"
        ))),
    }
}

fn hidden(written: &[String]) -> Result<Redactor, Error> {
    let bad = |problem| Error::BadValue {
        key: "hide",
        problem,
    };
    let mut hidden = Redactor::default();
    for entry in written {
        let named = entry.split_once(':');
        if let Some(("region", region)) = named {
            hidden.add_display_region(region_of(region).map_err(bad)?);
            continue;
        }
        let redaction = match (entry.as_str(), named) {
            ("card_numbers", _) => Redaction::SensitiveText(SensitiveText::CardNumber),
            ("email_addresses", _) => Redaction::SensitiveText(SensitiveText::EmailAddress),
            (_, Some(("window", name))) if !name.is_empty() => Redaction::Window(name.to_owned()),
            (_, Some(("text", pattern))) => Redaction::TextPattern(pattern.to_owned()),
            _ => {
                return Err(bad(format!(
                    "`{entry}` is none of card_numbers, email_addresses, window:NAME, text:PATTERN, \
                     region:X,Y,WIDTH,HEIGHT"
                )));
            }
        };
        let name = named.map_or(entry.as_str(), |(_, name)| name);
        hidden
            .add(&redaction)
            .map_err(|problem| bad(format!("`{name}` {problem}")))?;
    }
    Ok(hidden)
}

fn region_of(written: &str) -> Result<CaptureRect, String> {
    let numbers: Option<Vec<i32>> = written
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect();
    match numbers.as_deref() {
        Some(&[x, y, width, height]) if width > 0 && height > 0 => {
            Ok(CaptureRect::from_origin_and_size(
                CapturePoint::new(x, y),
                CaptureSize::new(width, height),
            ))
        }
        _ => Err(format!(
            "`region:{written}` is no region; write region:X,Y,WIDTH,HEIGHT, as in region:0,0,400,80"
        )),
    }
}

fn driver(name: &str) -> Result<Driver, Error> {
    let found = Driver::KNOWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, driver)| *driver).ok_or_else(|| {
        let known: Vec<_> = Driver::KNOWN.iter().map(|(known, _)| *known).collect();
        Error::BadValue {
            key: "driver",
            problem: format!("there is no `{name}`; this build has {}", known.join(", ")),
        }
    })
}

fn check_scale(scale: f64) -> Result<f64, Error> {
    if (0.1..=16.0).contains(&scale) {
        return Ok(scale);
    }
    Err(Error::BadValue {
        key: "scale",
        problem: format!("{scale} is not between 0.1 and 16"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(settings: Settings, display: &str) -> Result<Config, Error> {
        Config::resolve(
            settings,
            Path::new("/data"),
            [("DISPLAY".to_owned(), display.to_owned())],
        )
    }

    #[test]
    fn displays_come_from_the_settings_or_the_session() {
        let check = |configured: &[&str], session: &str, expected: &[&str]| {
            let displays = configured
                .iter()
                .map(|&display| display.to_owned())
                .collect();
            let config = resolve(
                Settings {
                    displays,
                    ..Settings::default()
                },
                session,
            )
            .unwrap();
            let got: Vec<_> = config.displays.iter().map(DisplayId::as_str).collect();
            assert_eq!(got, expected);
        };
        check(&[], "", &[]);
        check(&[], ":7", &[":7"]);
        check(&[":1", ":2"], ":7", &[":1", ":2"]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let check = |settings, part: &str| {
            let error = resolve(settings, ":0").unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(
            Settings {
                driver: "wayland".to_owned(),
                ..Settings::default()
            },
            "perception.driver: there is no `wayland`",
        );
        check(
            Settings {
                parser: "tesseract".to_owned(),
                ..Settings::default()
            },
            "perception.parser: there is no `tesseract`; there are embedded",
        );
        check(
            Settings {
                scale: Some(0.0),
                ..Settings::default()
            },
            "perception.scale: 0 is not between",
        );
        check(
            Settings {
                scale: Some(f64::NAN),
                ..Settings::default()
            },
            "perception.scale",
        );
        check(
            Settings {
                parser: "omniparser:http://127.0.0.1:8000".to_owned(),
                hide: vec!["card_numbers".to_owned()],
                ..Settings::default()
            },
            "text can be hidden only with",
        );
        check(
            Settings {
                text_reader: Some("/data/greek.onnx".into()),
                ..Settings::default()
            },
            "perception.text_reader: there is no file /data/greek.onnx",
        );
        check(
            Settings {
                alphabet: Some("/data/greek.txt".into()),
                ..Settings::default()
            },
            "perception.alphabet: belongs to a `text_reader`",
        );
        for (entry, part) in [
            (
                "passwords",
                "perception.hide: `passwords` is none of card_numbers",
            ),
            ("window:", "`window:` is none of"),
            ("text:(", "`(` is not a regular expression"),
            ("region:1,2,3", "`region:1,2,3` is no region"),
            ("region:1,2,0,4", "`region:1,2,0,4` is no region"),
        ] {
            check(
                Settings {
                    hide: vec![entry.to_owned()],
                    ..Settings::default()
                },
                part,
            );
        }
    }
}

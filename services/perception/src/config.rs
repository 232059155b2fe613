//! The `[perception]` settings as written, and the validated configuration derived from them.
//!
//! [`Settings`] mirrors the configuration section `[perception]`. [`Config`] is validated and complete; later code
//! never sees a raw string.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::{self, Channel};
use motorium_kit::config::{HumanDuration, ListenAddress, Secret, Section};
use motorium_proto::domain::geometry::parse_region;
use motorium_proto::domain::id::DisplayId;
use motorium_proto::service::{PerceptionClient, Redaction, SensitiveText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frames::FrameLimits;
use crate::parse::Parser;
use crate::parse::describe::{DescribeSettings, DescribingDetector};
use crate::parse::detect::{DetectSettings, Detector, DetectorModel, NoDetector, YoloDetector};
use crate::parse::embedded::EmbeddedParser;
use crate::parse::omniparser::{OmniParser, OmniParserConfig};
use crate::parse::queue::ParseQueue;
use crate::parse::read::{ModelFiles, PaddleReader, ReadSettings};
use crate::parse::remote::RemoteParser;
use crate::service::{Driver, PerceptionService, Redactor, Screens};

/// Default port of the service.
pub const DEFAULT_PORT: u16 = 7701;

/// Default confidence threshold of the detector.
///
/// The measurements in the model card use this threshold. reports/detector.md explains the choice; retraining may shift
/// it slightly.
pub const DEFAULT_CONFIDENCE_THRESHOLD: f32 = 0.22;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The value is unknown or out of range.
    #[error("perception.{key}: {problem}")]
    BadValue { key: &'static str, problem: String },
}

/// Settings of the section `[perception]`, as written: capturing and parsing of the screen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on.
    pub listen: ListenAddress,
    /// Displays to capture, the default one first. If empty, `$DISPLAY` is used.
    #[schemars(example = [":1"])]
    pub displays: Vec<String>,
    /// Capture driver: `x11`, or `xcap` in builds with the feature `driver-xcap`.
    pub driver: String,
    /// Capture pixels per logical point. Default: the scale that the desktop reports.
    #[schemars(extend("x-unit" = "pixels per point"), example = 2.0)]
    pub scale: Option<f64>,
    /// Timeout of one call to the display server.
    pub display_timeout: HumanDuration,
    /// Maximum number of frames kept.
    pub max_frames: usize,
    /// Maximum memory for kept frames, in MiB.
    pub max_frame_memory_mib: usize,
    /// Number of parser threads. Default: one per core, at most four.
    #[schemars(example = 2)]
    pub threads: Option<usize>,
    /// UI detector: `built_in` (its model card lists its weaknesses), the path of an ONNX file with the YOLOv8 layout,
    /// or `none` to get text elements only.
    pub detector: String,
    /// Confidence threshold of the detector, 0 to 1. Controls below it are dropped.
    #[schemars(extend("x-unit" = "0 to 1"))]
    pub detector_confidence_threshold: f32,
    /// Long side, in pixels, to which images are scaled before text detection. If many lines turn out small, the image
    /// is scanned again at a higher resolution. Smaller is faster and misses small text.
    pub text_detection_max_side_px: u32,
    /// Number of recognised lines cached by their pixels.
    pub text_cache_lines: usize,
    /// Text detection model in the layout of PP-OCR's ONNX files. Default: the model that set-up fetched.
    #[schemars(extend("format" = "path"), example = "/opt/models/detect.onnx")]
    pub text_detection_model: Option<PathBuf>,
    /// Text recognition model in the same layout, for languages other than English and Chinese.
    #[schemars(extend("format" = "path"), example = "/opt/models/recognise.onnx")]
    pub text_recognition_model: Option<PathBuf>,
    /// Charset of the text recognition model, one character per line. Default: the list in the model's metadata.
    #[schemars(extend("format" = "path"), example = "/opt/models/charset.txt")]
    pub charset: Option<PathBuf>,
    /// Parser: `embedded`, `perception:http://HOST:PORT` (another Perception service), `omniparser:http://HOST:PORT` or
    /// `omniparser:https://HOST:PORT` (an OmniParser server).
    pub parser: String,
    /// Token for the OmniParser server, sent as `authorization: Bearer …`. Requires https, or a server on this machine.
    #[schemars(example = &"a-token")]
    pub parser_token: Option<Secret>,
    /// Certificates to trust for the OmniParser server besides the system's, in PEM.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/ca.crt")]
    pub parser_ca_file: Option<PathBuf>,
    /// Content to redact before it leaves this process: `card_numbers`, `email_addresses`, `window:NAME` (an
    /// application), `text:PATTERN` (a regular expression), `region:X,Y,WIDTH,HEIGHT` (of every display, in capture
    /// pixels).
    #[schemars(example = ["card_numbers", "window:KeePassXC"])]
    pub redact: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let reading = ReadSettings::default();
        Self {
            listen: ListenAddress::loopback(DEFAULT_PORT),
            displays: Vec::new(),
            driver: Driver::KNOWN
                .first()
                .map_or("", |(name, _)| name)
                .to_owned(),
            scale: None,
            display_timeout: HumanDuration(Duration::from_secs(2)),
            max_frames: 64,
            max_frame_memory_mib: 192,
            threads: None,
            detector: "built_in".to_owned(),
            detector_confidence_threshold: DEFAULT_CONFIDENCE_THRESHOLD,
            text_detection_max_side_px: reading.text_detection_max_side,
            text_cache_lines: reading.cache_lines,
            text_detection_model: None,
            text_recognition_model: None,
            charset: None,
            parser: "embedded".to_owned(),
            parser_token: None,
            parser_ca_file: None,
            redact: Vec::new(),
        }
    }
}

impl Settings {
    /// Resolves the ONNX Runtime library and the models: files in the folder `data`, overridden by the ones that are
    /// configured.
    ///
    /// # Errors
    /// If a configured file does not exist.
    pub fn model_files(&self, data: &Path) -> Result<ModelFiles, Error> {
        if self.charset.is_some() && self.text_recognition_model.is_none() {
            return Err(Error::BadValue {
                key: "charset",
                problem: "requires `text_recognition_model`, which is not set".to_owned(),
            });
        }
        for (key, file) in [
            ("text_detection_model", &self.text_detection_model),
            ("text_recognition_model", &self.text_recognition_model),
            ("charset", &self.charset),
        ] {
            if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
                let problem = format!("file {} does not exist", file.display());
                return Err(Error::BadValue { key, problem });
            }
        }
        let there = ModelFiles::in_folder(data);
        Ok(ModelFiles {
            text_detection: self
                .text_detection_model
                .clone()
                .unwrap_or(there.text_detection),
            text_recognition: self
                .text_recognition_model
                .clone()
                .unwrap_or(there.text_recognition),
            charset: self.charset.clone(),
            ..there
        })
    }

    /// Resolves the detector settings, for a parser with `threads` threads.
    fn detecting(
        &self,
        models: &ModelFiles,
        threads: usize,
    ) -> Result<Option<DetectSettings>, Error> {
        let bad = |key, problem| Error::BadValue { key, problem };
        if !(0.0..=1.0).contains(&self.detector_confidence_threshold) {
            let problem = format!(
                "{} is not between 0 and 1",
                self.detector_confidence_threshold
            );
            return Err(bad("detector_confidence_threshold", problem));
        }
        let model = match self.detector.as_str() {
            "none" => return Ok(None),
            "built_in" => DetectorModel::BuiltIn,
            path if Path::new(path).is_file() => DetectorModel::File(path.into()),
            path => {
                let problem = format!(
                    "file `{path}` does not exist; use built_in, none or the path of an ONNX file"
                );
                return Err(bad("detector", problem));
            }
        };
        Ok(Some(DetectSettings {
            model,
            runtime: models.runtime.clone(),
            // The detector finishes well before text recognition, so recognition gets most of the cores.
            threads: (threads / 2).max(1),
            confidence_threshold: self.detector_confidence_threshold,
        }))
    }
}

impl Section for Settings {
    const NAME: &'static str = "perception";
}

/// Validated and complete configuration.
#[derive(Debug, Clone)]
pub struct Config {
    displays: Vec<DisplayId>,
    driver: Driver,
    scale: Option<f64>,
    display_timeout: Duration,
    frame_limits: FrameLimits,
    models: ModelFiles,
    read_settings: ReadSettings,
    /// `None` to detect no controls.
    detect_settings: Option<DetectSettings>,
    parser: ParserChoice,
    redactor: Redactor,
}

/// Parser selected by the configuration.
#[derive(Debug, Clone)]
enum ParserChoice {
    Embedded,
    /// Another Perception service.
    Perception(Box<client::Config>),
    /// An OmniParser server.
    OmniParser(OmniParserConfig),
}

impl Config {
    /// Validates the settings. `data` is the folder with ONNX Runtime and the models; `environment` provides `DISPLAY`.
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
        let (parser, hidden) = (
            parse_parser(&settings)?,
            parse_redactions(&settings.redact)?,
        );
        if !matches!(parser, ParserChoice::Embedded) && hidden.has_text_rules() {
            return Err(Error::BadValue {
                key: "redact",
                problem:
                    "text can be redacted only with `parser = \"embedded\"`, because it must be recognised first"
                        .to_owned(),
            });
        }
        Ok(Self {
            displays: displays(settings.displays, environment),
            driver: driver(&settings.driver)?,
            scale: settings.scale.map(check_scale).transpose()?,
            display_timeout: settings.display_timeout.0,
            frame_limits: FrameLimits {
                frames: settings.max_frames,
                bytes: settings.max_frame_memory_mib << 20,
            },
            parser,
            redactor: hidden,
            models,
            detect_settings: detecting,
            read_settings: ReadSettings {
                threads,
                text_detection_max_side: settings.text_detection_max_side_px,
                cache_lines: settings.text_cache_lines,
                ..defaults
            },
        })
    }

    /// Sets the token and the certificates for calls to another Perception service.
    #[must_use]
    pub fn with_client_config(mut self, base: &client::Config) -> Self {
        if let ParserChoice::Perception(config) = &mut self.parser {
            **config = client::Config {
                uri: std::mem::take(&mut config.uri),
                ..base.clone()
            };
        }
        self
    }

    /// Starts the service and loads the models in the background. Model errors are logged and returned by the calls
    /// that need the models.
    ///
    /// # Errors
    /// If the parser's address cannot be used.
    pub async fn start(self) -> Result<PerceptionService, Error> {
        let screens = Screens::new(self.driver, self.displays, self.display_timeout, self.scale);
        let parser = ParseQueue::new(self.parser.build(
            self.models,
            self.read_settings,
            self.detect_settings,
        )?);
        let mut service = PerceptionService::new(screens, parser, self.frame_limits, self.redactor);
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
                let channel = Channel::connect_lazy(&config).map_err(invalid_parser)?;
                let perception = Arc::new(PerceptionClient::new(channel));
                Arc::new(RemoteParser::new(config.uri, perception))
            }
            Self::OmniParser(config) => Arc::new(OmniParser::new(&config).map_err(invalid_parser)?),
        })
    }
}

/// Builds a detector that also describes its detections.
fn detector(settings: DetectSettings) -> Arc<dyn Detector> {
    let closer = DescribeSettings {
        runtime: settings.runtime.clone(),
        threads: settings.threads,
    };
    let detector = Arc::new(YoloDetector::new(settings));
    Arc::new(DescribingDetector::new(detector, closer))
}

fn invalid_parser(problem: impl std::fmt::Display) -> Error {
    Error::BadValue {
        key: "parser",
        problem: problem.to_string(),
    }
}

fn parse_parser(settings: &Settings) -> Result<ParserChoice, Error> {
    let written = settings.parser.as_str();
    let is_omniparser = written.starts_with("omniparser:");
    for (key, is_given) in [
        ("parser_token", settings.parser_token.is_some()),
        ("parser_ca_file", settings.parser_ca_file.is_some()),
    ] {
        if is_given && !is_omniparser {
            return Err(Error::BadValue {
                key,
                problem: "only for a parser omniparser:https://HOST:PORT".to_owned(),
            });
        }
    }
    match written.split_once(':') {
        None if written == "embedded" => Ok(ParserChoice::Embedded),
        Some(("perception", url)) => {
            Ok(ParserChoice::Perception(Box::new(client::Config::new(url))))
        }
        Some(("omniparser", url)) => Ok(ParserChoice::OmniParser(OmniParserConfig {
            base: url.to_owned(),
            token: settings.parser_token.clone(),
            ca_file: settings.parser_ca_file.clone(),
        })),
        _ => Err(invalid_parser(format!(
            "unknown parser `{written}`; use embedded, perception:http://HOST:PORT or omniparser:https://HOST:PORT"
        ))),
    }
}

fn parse_redactions(written: &[String]) -> Result<Redactor, Error> {
    let bad = |problem| Error::BadValue {
        key: "redact",
        problem,
    };
    let mut hidden = Redactor::default();
    for entry in written {
        let named = entry.split_once(':');
        if let Some(("region", region)) = named {
            let parsed = parse_region(region).ok_or_else(|| {
                bad(format!(
                    "invalid region `region:{region}`; use region:X,Y,WIDTH,HEIGHT, for example region:0,0,400,80"
                ))
            })?;
            hidden.add_display_region(parsed);
            continue;
        }
        let redaction = match (entry.as_str(), named) {
            ("card_numbers", _) => Redaction::SensitiveText(SensitiveText::CardNumber),
            ("email_addresses", _) => Redaction::SensitiveText(SensitiveText::EmailAddress),
            (_, Some(("window", name))) if !name.is_empty() => Redaction::Window(name.to_owned()),
            (_, Some(("text", pattern))) => Redaction::TextPattern(pattern.to_owned()),
            _ => {
                return Err(bad(format!(
                    "unknown redaction `{entry}`; use card_numbers, email_addresses, window:NAME, text:PATTERN or \
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

fn driver(name: &str) -> Result<Driver, Error> {
    let found = Driver::KNOWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, driver)| *driver).ok_or_else(|| {
        let known: Vec<_> = Driver::KNOWN.iter().map(|(known, _)| *known).collect();
        Error::BadValue {
            key: "driver",
            problem: format!(
                "unknown driver `{name}`; this build has {}",
                known.join(", ")
            ),
        }
    })
}

fn check_scale(scale: f64) -> Result<f64, Error> {
    // Scales that a real desktop can have: from an overview at a tenth to an 8K display with large text.
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
    fn invalid_perception_settings_are_reported() {
        let check = |settings, part: &str| {
            let error = resolve(settings, ":0").unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(
            Settings {
                driver: "wayland".to_owned(),
                ..Settings::default()
            },
            "perception.driver: unknown driver `wayland`",
        );
        check(
            Settings {
                parser: "tesseract".to_owned(),
                ..Settings::default()
            },
            "perception.parser: unknown parser `tesseract`; use embedded",
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
                redact: vec!["card_numbers".to_owned()],
                ..Settings::default()
            },
            "text can be redacted only with",
        );
        check(
            Settings {
                text_recognition_model: Some("/data/greek.onnx".into()),
                ..Settings::default()
            },
            "perception.text_recognition_model: file /data/greek.onnx does not exist",
        );
        check(
            Settings {
                charset: Some("/data/greek.txt".into()),
                ..Settings::default()
            },
            "perception.charset: requires `text_recognition_model`",
        );
        for (entry, part) in [
            (
                "passwords",
                "perception.redact: unknown redaction `passwords`; use card_numbers",
            ),
            ("window:", "unknown redaction `window:`"),
            ("text:(", "`(` is not a valid regular expression"),
            ("region:1,2,3", "invalid region `region:1,2,3`"),
            ("region:1,2,0,4", "invalid region `region:1,2,0,4`"),
        ] {
            check(
                Settings {
                    redact: vec![entry.to_owned()],
                    ..Settings::default()
                },
                part,
            );
        }
    }
}

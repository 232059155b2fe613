//! Settings as they are written, and the configuration that is meant by them.
//!
//! [`Settings`] is the section `[executor]`; [`Config`] is checked and complete, and nothing behind it sees a raw
//! text. What is not named is not allowed, and an empty list names nothing. Named by default are every kind of action, no
//! application, `http` and `https` addresses of any host, the whole display, no window for a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::config::{Listen, Section, Span};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::DisplayId;
use motorium_proto::limits::MAX_FILE;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use url::Url;

use crate::desktop::{Desktop, Parts};
use crate::drivers::Driver;
use crate::drivers::devtools::{BrowserDriver, Options as BrowserOptions};
use crate::drivers::launch::{Launcher, Program, Programs};
use crate::drivers::recording::{self, RecordingDriver};
use crate::error::Error as ServiceError;
use crate::files::Files;
use crate::guard::Folder;
use crate::guard::addresses::{Addresses, DEFAULT_URL_SCHEMES, HostPattern};
use crate::guard::journal::Retention;
use crate::guard::rules::{Chord, DEFAULT_FORBIDDEN_CHORDS, Rules};
use crate::guard::targets::{SecretTargets, WindowPattern};
use crate::secrets::{Secrets, variable};
use crate::service::ExecutorService;
use crate::terms::Terms;

/// The port that the service listens on if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 7703;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value is not one of those that are known, or contradicts another.
    #[error("executor.{key}: {problem}")]
    BadValue { key: &'static str, problem: String },
    /// Another configuration differs in what a running process cannot change.
    #[error(
        "rules, applications, browser and secrets change while the executor runs; listen, displays, driver, devtools, \
         patience, recording, folders, largest_file and journal only when it is started again"
    )]
    Fixed,
    /// What the configuration names cannot be opened.
    #[error("the executor cannot start: {0}")]
    Start(#[from] ServiceError),
    /// The file of the recording driver cannot be opened.
    #[error("executor.recording.file: {0}")]
    Recording(std::io::Error),
    /// The system gives no thread for a driver.
    #[error("the driver cannot start: {0}")]
    Driver(std::io::Error),
}

/// The section `[executor]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub listen: Listen,
    /// The displays to act on, the default one first. Without any, `$DISPLAY`.
    pub displays: Vec<String>,
    /// `x11`, `recording`, or `enigo` where it was built in.
    pub driver: String,
    /// How long one call to the display server may take before it counts as stopped.
    pub patience: Span,
    pub rules: RuleSettings,
    /// What may be opened, by name.
    pub applications: BTreeMap<String, Program>,
    /// What opens addresses. It gets the address as its last argument, unless `devtools` are there to be told it.
    pub browser: Option<Program>,
    /// Where the browser's DevTools listen, as `http://127.0.0.1:9222`. With them pages are read, and the browser is
    /// held to the addresses that the rules allow. They belong to one display.
    pub devtools: Option<String>,
    /// A folder of files, one for each secret, that nobody else may read.
    pub secrets: Option<PathBuf>,
    /// For each secret the windows that it may go into: `application:NAME`, `title:WORDS`, `anywhere`. `*` is for those
    /// that are not named; without either a secret goes nowhere.
    pub secret_targets: BTreeMap<String, Vec<String>>,
    /// A folder with one for each display, for the files of tasks. Without it, one below the data folder.
    pub files: Option<PathBuf>,
    /// Largest file, in bytes.
    pub largest_file: u64,
    pub journal: JournalSettings,
    /// What the driver `recording` does with what it is told.
    pub recording: RecordingSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Listen::loopback(DEFAULT_PORT),
            displays: Vec::new(),
            driver: if cfg!(target_os = "linux") {
                "x11"
            } else {
                "enigo"
            }
            .to_owned(),
            patience: Span::seconds(2),
            rules: RuleSettings::default(),
            applications: BTreeMap::new(),
            browser: None,
            devtools: None,
            secrets: None,
            secret_targets: BTreeMap::new(),
            files: None,
            largest_file: MAX_FILE as u64,
            journal: JournalSettings::default(),
            recording: RecordingSettings::default(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "executor";
}

/// The section `[executor.recording]`, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordingSettings {
    /// A file that a line of JSON is added to for each action.
    pub file: Option<PathBuf>,
    /// How long an action takes.
    pub pace: Span,
}

/// The section `[executor.rules]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// Kinds of action that are allowed; all unless they are named.
    pub actions: Vec<String>,
    /// Chords that are never struck, whatever else is struck with them.
    pub forbidden_chords: Vec<String>,
    pub url_schemes: Vec<String>,
    /// `example.com`, `*.example.com`, or `*` for any.
    pub url_hosts: Vec<String>,
    /// Never these, whatever else is configured.
    pub denied_url_hosts: Vec<String>,
    /// Where the pointer may act; everywhere unless it is named.
    pub allowed_regions: Option<Vec<Region>>,
    /// Where it may not.
    pub denied_regions: Vec<Region>,
    /// 0 means no limit.
    pub max_actions_per_second: f64,
    /// The longest time that one action may wait or hold keys.
    pub longest: Span,
}

impl Default for RuleSettings {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            actions: ActionKind::ALL
                .iter()
                .map(|kind| kind.as_str().to_owned())
                .collect(),
            forbidden_chords: texts(DEFAULT_FORBIDDEN_CHORDS),
            url_schemes: texts(DEFAULT_URL_SCHEMES),
            url_hosts: texts(&["*"]),
            denied_url_hosts: Vec::new(),
            allowed_regions: None,
            denied_regions: Vec::new(),
            max_actions_per_second: 0.0,
            longest: Span::seconds(60),
        }
    }
}

/// A box of the display, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

impl From<Region> for CaptureRect {
    fn from(region: Region) -> Self {
        CaptureRect::from_origin_and_size(
            CapturePoint::new(region.x, region.y),
            CaptureSize::new(region.width, region.height),
        )
    }
}

/// The section `[executor.journal]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalSettings {
    /// Finished actions that are remembered at most.
    pub entries: usize,
    /// How long they are remembered.
    pub age: Span,
    /// Whether an intent must have reached the disk before the input is sent.
    pub sync: bool,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            entries: 20_000,
            age: Span::seconds(7 * 24 * 3600),
            sync: true,
        }
    }
}

/// What is meant: checked and complete.
#[derive(Debug, Clone)]
pub struct Config {
    fixed: Fixed,
    terms: Terms,
    programs: Programs,
}

/// What stays as it is for as long as the process runs.
#[derive(Debug, Clone, PartialEq)]
struct Fixed {
    listen: Listen,
    displays: Vec<DisplayId>,
    driver: DriverKind,
    devtools: Option<String>,
    patience: Duration,
    /// Folder of files, and folder of what must survive; each has one for each display below it.
    files: PathBuf,
    state: PathBuf,
    largest_file: u64,
    retention: Retention,
    recording: RecordingSettings,
}

/// The service with what it needs to be told of other terms while it runs.
#[derive(Debug)]
pub struct Started {
    pub service: Arc<ExecutorService>,
    fixed: Fixed,
    desktops: Vec<Arc<Desktop>>,
    launcher: Launcher,
    /// For the browser that is held to them.
    addresses: watch::Sender<Arc<Addresses>>,
}

impl Started {
    /// Puts rules, applications, browser and secrets of another configuration in force.
    ///
    /// # Errors
    /// If it differs in anything else; then nothing changes.
    pub fn put_in_force(&self, config: Config) -> Result<(), Error> {
        if config.fixed != self.fixed {
            return Err(Error::Fixed);
        }
        self.launcher.replace(config.programs);
        self.addresses
            .send_replace(Arc::new(config.terms.rules.addresses.clone()));
        for desktop in &self.desktops {
            desktop.put_in_force(config.terms.clone());
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DriverKind {
    #[cfg(target_os = "linux")]
    X11,
    #[cfg(feature = "driver-enigo")]
    Enigo,
    Recording,
}

impl Config {
    /// Makes sense of the settings. `data` is the folder for everything that is kept; `environment` gives `DISPLAY`
    /// and the secrets among the variables.
    ///
    /// # Errors
    /// If a value cannot be used.
    pub fn resolve(
        settings: Settings,
        data: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let environment: Vec<(String, String)> = environment.into_iter().collect();
        let applications: BTreeSet<String> = settings.applications.keys().cloned().collect();
        let displays = displays(settings.displays, &environment);
        Ok(Self {
            fixed: Fixed {
                listen: settings.listen,
                devtools: devtools(settings.devtools, displays.len())?,
                displays,
                driver: driver_kind(&settings.driver)?,
                patience: settings.patience.0,
                files: settings.files.unwrap_or_else(|| data.join("files")),
                state: data.join("executor"),
                largest_file: settings.largest_file,
                retention: Retention {
                    entries: settings.journal.entries,
                    age: settings.journal.age.0,
                    sync: settings.journal.sync,
                },
                recording: settings.recording,
            },
            terms: Terms {
                max_actions_per_second: max_rate(settings.rules.max_actions_per_second)?,
                rules: rules(settings.rules, applications)?,
                secrets: Secrets::new(settings.secrets, environment),
                secret_targets: secret_targets(settings.secret_targets)?,
            },
            programs: Programs {
                applications: settings.applications,
                browser: settings.browser,
            },
        })
    }

    /// Starts the service.
    ///
    /// # Errors
    /// If a folder cannot be used, is another process's, or what lies in it is damaged.
    pub async fn start(self) -> Result<Started, Error> {
        let launcher = Launcher::new(self.programs);
        let (addresses, in_force) = watch::channel(Arc::new(self.terms.rules.addresses.clone()));
        let mut desktops = Vec::new();
        for display in &self.fixed.displays {
            let driver = self.fixed.start_driver(display, &launcher)?;
            let driver = self
                .fixed
                .with_browser(driver, display, &launcher, &in_force);
            desktops.push(self.fixed.desktop(display, driver, &self.terms).await?);
        }
        Ok(Started {
            service: Arc::new(ExecutorService::new(desktops.clone())),
            fixed: self.fixed,
            desktops,
            launcher,
            addresses,
        })
    }
}

impl Fixed {
    async fn desktop(
        &self,
        display: &DisplayId,
        driver: Arc<dyn Driver>,
        terms: &Terms,
    ) -> Result<Arc<Desktop>, Error> {
        let folder_name = folder_name(display);
        let parts = Parts {
            display: display.clone(),
            driver,
            terms: terms.clone(),
            files: Files::open(&self.files.join(&folder_name), self.largest_file)
                .map_err(ServiceError::from)?,
            folder: Folder::open(self.state.join(&folder_name)).map_err(ServiceError::from)?,
            retention: self.retention,
        };
        Ok(Desktop::start(parts).await?)
    }

    /// Puts the browser's DevTools beside the hands, where they are configured. A dry run leads no browser.
    fn with_browser(
        &self,
        hands: Arc<dyn Driver>,
        display: &DisplayId,
        launcher: &Launcher,
        addresses: &watch::Receiver<Arc<Addresses>>,
    ) -> Arc<dyn Driver> {
        match &self.devtools {
            Some(endpoint) if self.driver != DriverKind::Recording => {
                let options = BrowserOptions {
                    endpoint: endpoint.clone(),
                    display: display.as_str().to_owned(),
                    launcher: launcher.clone(),
                    addresses: addresses.clone(),
                };
                Arc::new(BrowserDriver::start(hands, options))
            }
            _ => hands,
        }
    }

    fn start_driver(
        &self,
        display: &DisplayId,
        launcher: &Launcher,
    ) -> Result<Arc<dyn Driver>, Error> {
        Ok(match self.driver {
            #[cfg(target_os = "linux")]
            DriverKind::X11 => {
                use crate::drivers::x11::{Options, X11Driver};
                let options = Options {
                    display: display.as_str().to_owned(),
                    patience: self.patience,
                    launcher: launcher.clone(),
                };
                Arc::new(X11Driver::start(options).map_err(Error::Driver)?)
            }
            #[cfg(feature = "driver-enigo")]
            DriverKind::Enigo => {
                use crate::drivers::portable::{Options, PortableDriver};
                let options = Options {
                    display: display.as_str().to_owned(),
                    patience: self.patience,
                    launcher: launcher.clone(),
                };
                Arc::new(PortableDriver::start(options).map_err(Error::Driver)?)
            }
            DriverKind::Recording => {
                let options = recording::Options {
                    display: display.clone(),
                    size: PRETENDED_SIZE,
                    file: self.recording.file.clone(),
                    pace: self.recording.pace.0,
                };
                Arc::new(RecordingDriver::start(options).map_err(Error::Recording)?)
            }
        })
    }
}

/// The process's environment, without variables that are not text.
pub fn process_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What the recording driver pretends to act on.
const PRETENDED_SIZE: CaptureSize = CaptureSize::new(1920, 1080);

fn displays(configured: Vec<String>, environment: &[(String, String)]) -> Vec<DisplayId> {
    if !configured.is_empty() {
        return configured.into_iter().map(DisplayId::new).collect();
    }
    let of_session = environment
        .iter()
        .find(|(name, value)| name == "DISPLAY" && !value.is_empty());
    of_session
        .map(|(_, display)| DisplayId::new(display.as_str()))
        .into_iter()
        .collect()
}

/// An address as it is needed to connect, of a browser that can belong to one display only.
fn devtools(written: Option<String>, displays: usize) -> Result<Option<String>, Error> {
    let bad = |problem: String| Error::BadValue {
        key: "devtools",
        problem,
    };
    let Some(written) = written else {
        return Ok(None);
    };
    let whole = Url::parse(&written)
        .is_ok_and(|url| url.scheme() == "http" && url.port().is_some() && url.path() == "/");
    if !whole {
        return Err(bad(format!(
            "`{written}` is not where DevTools listen; write it like http://127.0.0.1:9222"
        )));
    }
    if displays > 1 {
        return Err(bad(format!(
            "one browser cannot belong to {displays} displays; run an executor for each display"
        )));
    }
    Ok(Some(written))
}

fn driver_kind(name: &str) -> Result<DriverKind, Error> {
    let known: &[(&str, DriverKind)] = &[
        #[cfg(target_os = "linux")]
        ("x11", DriverKind::X11),
        #[cfg(feature = "driver-enigo")]
        ("enigo", DriverKind::Enigo),
        ("recording", DriverKind::Recording),
    ];
    known
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, kind)| *kind)
        .ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let problem = format!(
                "no driver is called `{name}`; this build has: {}",
                names.join(", ")
            );
            Error::BadValue {
                key: "driver",
                problem,
            }
        })
}

fn max_rate(rate: f64) -> Result<Option<f64>, Error> {
    if rate == 0.0 {
        return Ok(None);
    }
    if rate.is_finite() && rate > 0.0 {
        return Ok(Some(rate));
    }
    let problem = format!("{rate} is not a number of actions; 0 means no limit");
    Err(Error::BadValue {
        key: "rules.max_actions_per_second",
        problem,
    })
}

fn rules(settings: RuleSettings, applications: BTreeSet<String>) -> Result<Rules, Error> {
    let chords = settings
        .forbidden_chords
        .iter()
        .map(|name| Chord::parse(name))
        .collect::<Result<_, _>>();
    let forbidden_chords =
        chords.map_err(|error: motorium_proto::error::FieldError| Error::BadValue {
            key: "rules.forbidden_chords",
            problem: error.description,
        })?;
    Ok(Rules {
        kinds: kinds(&settings.actions)?,
        forbidden_chords,
        applications,
        addresses: Addresses {
            schemes: settings
                .url_schemes
                .iter()
                .map(|scheme| scheme.to_lowercase())
                .collect(),
            hosts: host_patterns("rules.url_hosts", &settings.url_hosts)?,
            denied_hosts: host_patterns("rules.denied_url_hosts", &settings.denied_url_hosts)?,
        },
        allowed_regions: settings
            .allowed_regions
            .map(|regions| regions.into_iter().map(Into::into).collect()),
        denied_regions: settings
            .denied_regions
            .into_iter()
            .map(Into::into)
            .collect(),
        longest: settings.longest.0,
    })
}

fn host_patterns(key: &'static str, written: &[String]) -> Result<Vec<HostPattern>, Error> {
    let patterns = written.iter().map(|pattern| HostPattern::parse(pattern));
    patterns
        .collect::<Result<_, _>>()
        .map_err(|problem| Error::BadValue { key, problem })
}

fn secret_targets(written: BTreeMap<String, Vec<String>>) -> Result<SecretTargets, Error> {
    let bad = |problem| Error::BadValue {
        key: "secret_targets",
        problem,
    };
    let mut targets = BTreeMap::new();
    let mut spelled: BTreeMap<String, String> = BTreeMap::new();
    for (secret, windows) in written {
        if let Some(other) = spelled.insert(variable(&secret), secret.clone()) {
            return Err(bad(format!(
                "`{other}` and `{secret}` are one secret: both are {}",
                variable(&secret)
            )));
        }
        let windows = windows.iter().map(|window| WindowPattern::parse(window));
        let windows = windows.collect::<Result<_, _>>().map_err(bad)?;
        targets.insert(secret, windows);
    }
    Ok(SecretTargets::new(targets))
}

fn kinds(names: &[String]) -> Result<BTreeSet<ActionKind>, Error> {
    let kind = |name: &String| {
        ActionKind::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.as_str()).collect();
            let problem = format!(
                "no kind of action is called `{name}`; known are: {}",
                known.join(", ")
            );
            Error::BadValue {
                key: "rules.actions",
                problem,
            }
        })
    };
    names.iter().map(kind).collect()
}

/// A display's name as that of a folder: `:99` becomes `_99`.
fn folder_name(display: &DisplayId) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    display.as_str().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(toml: &str, environment: &[(&str, &str)]) -> Result<Config, Error> {
        let settings: Settings = toml::from_str(toml).unwrap();
        let environment = environment
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Config::resolve(settings, Path::new("/data"), environment)
    }

    fn check_refused(toml: &str, expected: &str) {
        let error = resolve(toml, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn nothing_written_means_something_sensible() {
        let config = resolve("", &[("DISPLAY", ":5"), ("MOTORIUM_SECRET_A", "x")]).unwrap();
        assert_eq!(config.fixed.displays, [DisplayId::new(":5")]);
        assert_eq!(config.fixed.files, Path::new("/data/files"));
        assert_eq!(config.terms.rules.kinds.len(), ActionKind::ALL.len());
        assert_eq!(config.terms.rules.forbidden_chords.len(), 14);
        assert_eq!(config.terms.max_actions_per_second, None);
        assert!(config.terms.secrets.resolve("a").is_ok());
        assert!(resolve("", &[]).unwrap().fixed.displays.is_empty());
    }

    #[test]
    fn everything_can_be_written() {
        let config = resolve(
            r#"
            displays = [":7", ":8"]
            driver = "recording"
            [rules]
            actions = ["click", "type_text"]
            forbidden_chords = ["alt+f4"]
            url_schemes = ["HTTPS"]
            denied_regions = [{ x = 0, y = 0, width = 10, height = 20 }]
            max_actions_per_second = 5
            [applications.editor]
            program = "mousepad"
            arguments = ["--disable-server"]
            [browser]
            program = "chromium"
            "#,
            &[("DISPLAY", ":5")],
        )
        .unwrap();
        assert_eq!(config.fixed.displays.len(), 2);
        assert_eq!(config.fixed.driver, DriverKind::Recording);
        assert_eq!(
            config.terms.rules.kinds,
            [ActionKind::Click, ActionKind::TypeText].into()
        );
        assert_eq!(config.terms.rules.addresses.schemes, ["https"]);
        assert_eq!(
            config.terms.rules.denied_regions[0].max,
            CapturePoint::new(10, 20)
        );
        assert_eq!(
            config.programs.applications["editor"].arguments,
            ["--disable-server"]
        );
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        let written = "rules.actions = []\nrules.url_hosts = []\nrules.allowed_regions = []";
        let rules = resolve(written, &[]).unwrap().terms.rules;
        assert!(rules.kinds.is_empty());
        assert!(rules.addresses.judge("https://example.com/").is_err());
        assert_eq!(rules.allowed_regions, Some(Vec::new()));
    }

    #[tokio::test]
    async fn what_a_running_process_cannot_change_is_refused_whole() {
        let home = tempfile::tempdir().unwrap();
        let resolve = |toml: &str| {
            let recording = format!("driver = \"recording\"\ndisplays = [\":7\"]\n{toml}");
            let settings: Settings = toml::from_str(&recording).unwrap();
            Config::resolve(settings, home.path(), []).unwrap()
        };
        let started = resolve("").start().await.unwrap();
        let chords = async || {
            let desktop = &started.desktops[0];
            desktop.capabilities().await.unwrap().forbidden_chords
        };
        let other = "rules.forbidden_chords = [\"alt+f4\"]";
        started.put_in_force(resolve(other)).unwrap();
        assert_eq!(chords().await, ["alt+f4"]);
        let error = started
            .put_in_force(resolve("largest_file = 7"))
            .unwrap_err();
        assert!(error.to_string().contains("largest_file"), "{error}");
        assert_eq!(chords().await, ["alt+f4"]);
    }

    #[test]
    fn what_cannot_be_used_is_named_with_what_can() {
        check_refused(
            "driver = \"xdotool\"",
            "executor.driver: no driver is called `xdotool`; this build has: ",
        );
        check_refused(
            "rules.actions = [\"shell\"]",
            "executor.rules.actions: no kind of action is called `shell`",
        );
        check_refused(
            "rules.forbidden_chords = [\"ctrl+flurb\"]",
            "executor.rules.forbidden_chords: no key is called",
        );
        check_refused(
            "secret_targets = { my-bank = [], my_bank = [\"anywhere\"] }",
            "`my-bank` and `my_bank` are one secret",
        );
        check_refused(
            "secret_targets.bank = [\"window:x\"]",
            "executor.secret_targets: `window:x` names no window",
        );
        check_refused(
            "devtools = \"9222\"",
            "executor.devtools: `9222` is not where",
        );
        check_refused(
            "devtools = \"http://127.0.0.1:9222\"\ndisplays = [\":1\", \":2\"]",
            "executor.devtools: one browser cannot belong to 2 displays",
        );
        check_refused(
            "rules.denied_url_hosts = [\"https://evil.test\"]",
            "executor.rules.denied_url_hosts: `https://evil.test` is no host",
        );
        check_refused(
            "rules.max_actions_per_second = -1",
            "executor.rules.max_actions_per_second",
        );
    }
}

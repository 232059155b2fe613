//! Settings as written in the configuration, and the validated [`Config`] derived from them.
//!
//! [`Settings`] is the section `[executor]`. [`Config`] is validated and complete; later code handles no raw text.
//! Only what is listed is allowed, and an empty list allows nothing. Allowed by default: every kind of action, no
//! application, `http` and `https` URLs of any public host, the whole display, and no window for secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_imaging::space::PlatformMonitor;
use motorium_kit::config::reference::Example;
use motorium_kit::config::{HumanDuration, ListenAddress, Section};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::DisplayId;
use motorium_proto::limits::MAX_FILE_BYTES;
use motorium_store::Durability;
use motorium_store::audit::AuditLog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use url::Url;

use crate::desktop::{Desktop, DesktopParts};
use crate::drivers::Driver;
use crate::drivers::devtools::{BrowserDriver, Options as BrowserOptions};
use crate::drivers::launch::{LaunchSite, Launcher, Program, Programs};
use crate::drivers::recording::{self, RecordingDriver};
use crate::error::Error as ServiceError;
use crate::files::Files;
use crate::guard::StateFolder;
use crate::guard::allowed_windows::{AllowedWindows, WindowPattern};
use crate::guard::journal::Retention;
use crate::guard::named_hosts::NamedHosts;
use crate::guard::rules::{Chord, DEFAULT_FORBIDDEN_CHORDS, Rules};
use crate::guard::secret_grants::{Grantee, SecretGrants};
use crate::guard::url_rules::{DEFAULT_URL_SCHEMES, HostPattern, UrlRules};
use crate::policy::ExecutorPolicy;
use crate::secrets::{Secrets, variable_name};
use crate::service::ExecutorService;

/// Default port of the service.
pub const DEFAULT_PORT: u16 = 7703;

/// A configuration error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A value is invalid, or contradicts another one.
    #[error("executor.{key}: {problem}")]
    InvalidValue { key: &'static str, problem: String },
    /// A reload changed a setting that requires a restart.
    #[error(
        "only rules, applications, browser and secrets can be reloaded; restart the executor to change listen, displays, driver, devtools, \
         display_timeout, scale, recording, folders, max_file_bytes or journal"
    )]
    RequiresRestart,
    /// A resource named by the configuration cannot be opened.
    #[error("the executor cannot start: {0}")]
    Start(#[from] ServiceError),
    /// The audit log cannot be opened.
    #[error("executor.audit: {0}")]
    Audit(#[from] motorium_store::Error),
    /// The recording driver's file cannot be opened.
    #[error("executor.recording.file: {0}")]
    Recording(std::io::Error),
    /// The driver's thread cannot be started.
    #[error("the driver cannot start: {0}")]
    Driver(std::io::Error),
}

/// Settings of the section `[executor]`, as written: input, its rules, files and secrets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on.
    pub listen: ListenAddress,
    /// Displays to control; the first is the default. Without any, `$DISPLAY`.
    #[schemars(example = [":1"])]
    pub displays: Vec<String>,
    /// Name of the driver: `x11`, `recording`, or `enigo` if it was compiled in.
    pub driver: String,
    /// Timeout of one call to the display server.
    pub display_timeout: HumanDuration,
    /// Capture pixels per input coordinate, for a platform that reports another scale than it uses: every click moves
    /// with it. Default: the scale of each monitor on macOS, and 1 elsewhere, where input takes device pixels. How large
    /// applications draw is `perception.scale`.
    #[schemars(extend("x-unit" = "pixels per coordinate"), example = 1.5)]
    pub scale: Option<f64>,
    /// Rules that every action has to meet.
    pub rules: RuleSettings,
    /// Applications that may be opened, by name.
    pub applications: BTreeMap<String, Program>,
    /// Program that opens URLs. It gets the URL as its last argument, unless `devtools` is set: then the URL is opened
    /// through DevTools.
    pub browser: Option<Program>,
    /// URL of the browser's DevTools, for example `http://127.0.0.1:9222`. It enables reading pages, and restricts the
    /// browser to the allowed URLs. One browser belongs to one display.
    #[schemars(example = &"http://127.0.0.1:9222")]
    pub devtools: Option<String>,
    /// Folder with one file per secret, accessible to its owner only.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/secrets")]
    pub secrets: Option<PathBuf>,
    /// Allowed windows per secret: `application:NAME`, `title:WORDS`, `url:HOST`, `anywhere`. `*` applies to secrets
    /// that are not listed. A secret without an entry cannot be entered.
    #[schemars(example = BTreeMap::from([("bank", ["application:KeePassXC"])]))]
    pub secret_allowed_windows: BTreeMap<String, Vec<String>>,
    /// Principals and tenants for whose tasks a secret may be entered: `principal:NAME`, `tenant:NAME`. `*` applies to secrets
    /// that are not listed. A secret without an entry is entered for all.
    #[schemars(example = BTreeMap::from([("bank", ["tenant:treasury"])]))]
    pub secret_grants: BTreeMap<String, Vec<String>>,
    /// Parent folder of the task files, with a subfolder per display. Default: `files` in the data folder.
    #[schemars(extend("format" = "path"), example = "/var/lib/motorium/files")]
    pub files: Option<PathBuf>,
    /// Maximum size of a task file in bytes.
    pub max_file_bytes: u64,
    /// Folder of the audit log, which has what callers do on a desktop without a task. Defaults to `audit` in the data folder.
    /// `motorium up` uses the audit log of its Orchestrator instead. See docs/security.md.
    #[schemars(extend("format" = "path"), example = &"/var/lib/motorium/audit")]
    pub audit: Option<PathBuf>,
    /// Journal of finished actions, which keeps an action from being performed twice.
    pub journal: JournalSettings,
    /// Settings of the driver `recording`.
    pub recording: RecordingSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: ListenAddress::loopback(DEFAULT_PORT),
            displays: Vec::new(),
            driver: if cfg!(target_os = "linux") {
                "x11"
            } else {
                "enigo"
            }
            .to_owned(),
            // A local display responds within milliseconds; 2 s tolerates a busy machine and still detects a stopped
            // server.
            display_timeout: HumanDuration::seconds(2),
            scale: None,
            rules: RuleSettings::default(),
            applications: BTreeMap::new(),
            browser: None,
            devtools: None,
            secrets: None,
            secret_allowed_windows: BTreeMap::new(),
            secret_grants: BTreeMap::new(),
            files: None,
            max_file_bytes: MAX_FILE_BYTES as u64,
            audit: None,
            journal: JournalSettings::default(),
            recording: RecordingSettings::default(),
        }
    }
}

impl Settings {
    /// Returns the folder of the task files of a display. `data` is the data folder.
    #[must_use]
    pub fn task_files(&self, data: &Path, display: &DisplayId) -> PathBuf {
        self.files_folder(data).join(folder_name(display))
    }

    /// Opens the audit log. `data` is the data folder.
    ///
    /// # Errors
    /// If the folder cannot be used, or its last file is damaged.
    pub fn open_audit(&self, data: &Path) -> Result<AuditLog, Error> {
        let folder = self.audit.clone().unwrap_or_else(|| data.join("audit"));
        let durability = match self.journal.sync {
            true => Durability::Full,
            false => Durability::Normal,
        };
        Ok(AuditLog::open(&folder, durability)?)
    }

    fn files_folder(&self, data: &Path) -> PathBuf {
        self.files.clone().unwrap_or_else(|| data.join("files"))
    }
}

impl Section for Settings {
    const NAME: &'static str = "executor";
    const EXAMPLES: &'static [Example] = &[
        Example {
            table: "applications.NAME",
            toml: r#"
[executor.applications.editor]
program = "mousepad"
arguments = ["--disable-server"]
environment = { LANG = "en_GB.UTF-8" }
"#,
        },
        Example {
            table: "browser",
            toml: r#"
[executor.browser]
program = "chromium"
arguments = ["--remote-debugging-port=9222", "--user-data-dir=/home/me/.motorium-browser"]
"#,
        },
        Example {
            table: "rules",
            toml: r#"
[executor.rules]
url_hosts = ["*", "localhost"]
denied_url_hosts = ["pay.example.com"]
max_actions_per_second = 5.0
"#,
        },
        Example {
            table: "rules.denied_regions",
            toml: r"
[[executor.rules.denied_regions]]
x = 0
y = 0
width = 1920
height = 32
",
        },
    ];
}

/// Settings of the section `[executor.recording]`, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordingSettings {
    /// File to which each action is appended as a line of JSON.
    #[schemars(extend("format" = "path"), example = "/tmp/actions.jsonl")]
    pub file: Option<PathBuf>,
    /// Simulated duration of an action.
    pub action_duration: HumanDuration,
}

/// Settings of the section `[executor.rules]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// Allowed kinds of action. Default: all.
    pub actions: Vec<String>,
    /// Forbidden key combinations, also as part of a larger combination.
    pub forbidden_chords: Vec<String>,
    /// Allowed schemes of URLs.
    pub url_schemes: Vec<String>,
    /// Allowed hosts: `example.com`, `*.example.com`, `192.168.0.0/16`, or `*` for any public host. Private hosts (this
    /// machine, the local network, metadata services of clouds) have to be listed beside `*`, or named by the user.
    pub url_hosts: Vec<String>,
    /// Hosts that are always denied, whatever `url_hosts` allows and the user names.
    pub denied_url_hosts: Vec<String>,
    /// Regions in which the pointer may act. Default: the whole display.
    pub allowed_regions: Option<Vec<Region>>,
    /// Regions in which the pointer must not act.
    pub denied_regions: Vec<Region>,
    /// Rate limit of actions; 0 means no limit.
    pub max_actions_per_second: f64,
    /// Maximum time that one action may wait or hold keys.
    pub max_action_duration: HumanDuration,
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
            // Bounds the time for which one action can occupy the desktop.
            max_action_duration: HumanDuration::seconds(60),
        }
    }
}

/// A rectangle of the display in capture pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Left edge.
    #[schemars(extend("x-unit" = "pixels"))]
    pub x: i32,
    /// Top edge.
    #[schemars(extend("x-unit" = "pixels"))]
    pub y: i32,
    /// Width. Must be positive.
    #[schemars(extend("x-unit" = "pixels"))]
    pub width: i32,
    /// Height. Must be positive.
    #[schemars(extend("x-unit" = "pixels"))]
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

/// Settings of the section `[executor.journal]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JournalSettings {
    /// Maximum number of finished actions to keep.
    pub max_entries: usize,
    /// Maximum age of a finished action.
    pub max_age: HumanDuration,
    /// Sync an intent to disk before the input is sent.
    pub sync: bool,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            // Bounds the memory of the index and the time to read the file at start-up.
            max_entries: 20_000,
            // A week: far longer than any lease, so no caller can still retry an evicted action.
            max_age: HumanDuration::seconds(7 * 24 * 3600),
            sync: true,
        }
    }
}

/// The validated configuration.
#[derive(Debug, Clone)]
pub struct Config {
    fixed: StaticConfig,
    policy: ExecutorPolicy,
    programs: Programs,
    launch_site: LaunchSite,
    audit: AuditLog,
}

/// Settings that only change with a restart.
#[derive(Debug, Clone, PartialEq)]
struct StaticConfig {
    listen: ListenAddress,
    displays: Vec<DisplayId>,
    driver: DriverKind,
    devtools: Option<String>,
    display_timeout: Duration,
    scale: Option<f64>,
    /// Parent folders of task files and of persistent state, each with a subfolder per display.
    files: PathBuf,
    state: PathBuf,
    max_file_bytes: u64,
    retention: Retention,
    recording: RecordingSettings,
}

/// A running service with the handles that a configuration reload needs.
#[derive(Debug)]
pub struct RunningExecutor {
    pub service: Arc<ExecutorService>,
    fixed: StaticConfig,
    desktops: Vec<Arc<Desktop>>,
    launcher: Launcher,
    /// Allowed URLs for the browser driver.
    addresses: watch::Sender<Arc<UrlRules>>,
    /// Hosts that the user named on the display with the browser.
    named_hosts: NamedHosts,
}

impl RunningExecutor {
    /// Opens the configured browser on the first display, as `open_application` does.
    ///
    /// # Errors
    /// If there is no browser or no display, or it cannot be started.
    pub async fn open_browser(&self) -> Result<(), crate::drivers::Error> {
        let display = self.fixed.displays.first().map_or("", DisplayId::as_str);
        self.launcher.open_browser(display).await
    }

    /// Applies the rules, applications, browser and secrets of another configuration.
    ///
    /// # Errors
    /// If any other setting differs. Then nothing is applied.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        if config.fixed != self.fixed {
            return Err(Error::RequiresRestart);
        }
        self.launcher.replace(config.programs);
        let urls = config.policy.rules.urls.clone();
        let urls = urls.with_named_hosts(self.named_hosts.clone());
        self.addresses.send_replace(Arc::new(urls));
        for desktop in &self.desktops {
            desktop.set_policy(config.policy.clone());
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
    /// Validates the settings. `data` is the data folder; `environment` provides `DISPLAY` and the secrets' variables.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn resolve(
        settings: Settings,
        data: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let environment: Vec<(String, String)> = environment.into_iter().collect();
        let applications: BTreeSet<String> = settings.applications.keys().cloned().collect();
        let files = settings.files_folder(data);
        let displays = displays(settings.displays, &environment);
        Ok(Self {
            fixed: StaticConfig {
                listen: settings.listen,
                devtools: devtools(settings.devtools, displays.len())?,
                displays,
                driver: driver_kind(&settings.driver)?,
                display_timeout: settings.display_timeout.0,
                scale: scale(settings.scale)?,
                files,
                state: data.join("executor"),
                max_file_bytes: settings.max_file_bytes,
                retention: Retention {
                    max_entries: settings.journal.max_entries,
                    max_age: settings.journal.max_age.0,
                    sync: settings.journal.sync,
                },
                recording: settings.recording,
            },
            policy: ExecutorPolicy {
                max_actions_per_second: max_rate(settings.rules.max_actions_per_second)?,
                rules: rules(settings.rules, applications)?,
                secrets: Secrets::new(settings.secrets, environment),
                secret_allowed_windows: secret_allowed_windows(settings.secret_allowed_windows)?,
                secret_grants: secret_grants(settings.secret_grants)?,
            },
            programs: Programs {
                applications: settings.applications,
                browser: settings.browser,
            },
            launch_site: LaunchSite::default(),
            audit: AuditLog::off(),
        })
    }

    /// Starts programs at this site instead of as children of this process.
    #[must_use]
    pub fn launching_at(self, launch_site: LaunchSite) -> Self {
        Self {
            launch_site,
            ..self
        }
    }

    /// Records in this log what callers do on a desktop without a task. Without it nothing is recorded.
    #[must_use]
    pub fn audited(self, audit: AuditLog) -> Self {
        Self { audit, ..self }
    }

    /// Starts the service.
    ///
    /// # Errors
    /// If a folder cannot be used, is locked by another process, or contains damaged state.
    pub async fn start(self) -> Result<RunningExecutor, Error> {
        let launcher = Launcher::new(self.programs).at(self.launch_site);
        // A browser belongs to the only display. Several displays have no browser, and hosts of their own.
        let named_hosts = NamedHosts::default();
        let urls = self.policy.rules.urls.clone();
        let urls = urls.with_named_hosts(named_hosts.clone());
        let (addresses, active_rules) = watch::channel(Arc::new(urls));
        let mut desktops = Vec::new();
        for display in &self.fixed.displays {
            let named_hosts = match self.fixed.displays.len() {
                1 => named_hosts.clone(),
                _ => NamedHosts::default(),
            };
            let driver = self.fixed.start_driver(display, &launcher)?;
            let driver = self
                .fixed
                .with_browser_driver(driver, display, &launcher, &active_rules);
            let desktop = self
                .fixed
                .desktop(display, driver, &self.policy, named_hosts);
            desktops.push(desktop.await?);
        }
        Ok(RunningExecutor {
            service: Arc::new(ExecutorService::new(desktops.clone()).audited(self.audit)),
            fixed: self.fixed,
            desktops,
            launcher,
            addresses,
            named_hosts,
        })
    }
}

impl StaticConfig {
    async fn desktop(
        &self,
        display: &DisplayId,
        driver: Arc<dyn Driver>,
        policy: &ExecutorPolicy,
        named_hosts: NamedHosts,
    ) -> Result<Arc<Desktop>, Error> {
        let folder_name = folder_name(display);
        let parts = DesktopParts {
            display: display.clone(),
            driver,
            policy: policy.clone(),
            named_hosts,
            files: Files::open(&self.files.join(&folder_name), self.max_file_bytes)
                .map_err(ServiceError::from)?,
            folder: StateFolder::open(self.state.join(&folder_name)).map_err(ServiceError::from)?,
            retention: self.retention,
        };
        Ok(Desktop::start(parts).await?)
    }

    /// Wraps the driver in a browser driver if DevTools are configured. A dry run controls no browser.
    fn with_browser_driver(
        &self,
        driver: Arc<dyn Driver>,
        display: &DisplayId,
        launcher: &Launcher,
        addresses: &watch::Receiver<Arc<UrlRules>>,
    ) -> Arc<dyn Driver> {
        match &self.devtools {
            Some(endpoint) if self.driver != DriverKind::Recording => {
                let options = BrowserOptions {
                    endpoint: endpoint.clone(),
                    display: display.as_str().to_owned(),
                    launcher: launcher.clone(),
                    addresses: addresses.clone(),
                };
                Arc::new(BrowserDriver::start(driver, options))
            }
            _ => driver,
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
                    display_timeout: self.display_timeout,
                    scale: self.scale,
                    launcher: launcher.clone(),
                };
                Arc::new(X11Driver::start(options).map_err(Error::Driver)?)
            }
            #[cfg(feature = "driver-enigo")]
            DriverKind::Enigo => {
                use crate::drivers::portable::{Options, PortableDriver};
                let options = Options {
                    display: display.as_str().to_owned(),
                    display_timeout: self.display_timeout,
                    scale: self.scale,
                    launcher: launcher.clone(),
                };
                Arc::new(PortableDriver::start(options).map_err(Error::Driver)?)
            }
            DriverKind::Recording => {
                let scale = self.scale.unwrap_or(1.0);
                let input_size = (SIMULATED_SIZE.to_f64() / scale).cast_unit();
                let options = recording::Options {
                    display: display.clone(),
                    monitors: vec![PlatformMonitor::at_zero(input_size, scale)],
                    scale: None,
                    file: self.recording.file.clone(),
                    action_duration: self.recording.action_duration.0,
                };
                Arc::new(RecordingDriver::start(options).map_err(Error::Recording)?)
            }
        })
    }
}

/// Returns the environment of the process, without variables that are not UTF-8.
pub fn process_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Display size that the recording driver reports.
const SIMULATED_SIZE: CaptureSize = CaptureSize::new(1920, 1080);

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

/// Validates the DevTools URL. A browser belongs to one display only.
fn devtools(written: Option<String>, displays: usize) -> Result<Option<String>, Error> {
    let bad = |problem: String| Error::InvalidValue {
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
            "`{written}` is not the URL of DevTools; use for example http://127.0.0.1:9222"
        )));
    }
    if displays > 1 {
        return Err(bad(format!(
            "one browser cannot serve {displays} displays; run one executor per display"
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
            let problem = format!("unknown driver `{name}`; available: {}", names.join(", "));
            Error::InvalidValue {
                key: "driver",
                problem,
            }
        })
}

/// Validates a scale.
fn scale(written: Option<f64>) -> Result<Option<f64>, Error> {
    // As for `perception.scale`. A value beyond it is a percentage or a number of dots per inch.
    if written.is_none_or(|scale| (0.1..=16.0).contains(&scale)) {
        return Ok(written);
    }
    let problem = format!(
        "{} is not a scale; use capture pixels per input coordinate from 0.1 to 16, for example 1.5",
        written.unwrap_or_default()
    );
    Err(Error::InvalidValue {
        key: "scale",
        problem,
    })
}

fn max_rate(rate: f64) -> Result<Option<f64>, Error> {
    if rate == 0.0 {
        return Ok(None);
    }
    if rate.is_finite() && rate > 0.0 {
        return Ok(Some(rate));
    }
    let problem = format!("{rate} is not a valid rate; use a positive number, or 0 for no limit");
    Err(Error::InvalidValue {
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
        chords.map_err(
            |error: motorium_proto::error::FieldError| Error::InvalidValue {
                key: "rules.forbidden_chords",
                problem: error.description,
            },
        )?;
    Ok(Rules {
        kinds: kinds(&settings.actions)?,
        forbidden_chords,
        applications,
        urls: UrlRules {
            schemes: settings
                .url_schemes
                .iter()
                .map(|scheme| scheme.to_lowercase())
                .collect(),
            hosts: host_patterns("rules.url_hosts", &settings.url_hosts)?,
            denied_hosts: host_patterns("rules.denied_url_hosts", &settings.denied_url_hosts)?,
            named_hosts: NamedHosts::default(),
        },
        allowed_regions: settings
            .allowed_regions
            .map(|regions| regions.into_iter().map(Into::into).collect()),
        denied_regions: settings
            .denied_regions
            .into_iter()
            .map(Into::into)
            .collect(),
        max_action_duration: settings.max_action_duration.0,
    })
}

fn host_patterns(key: &'static str, written: &[String]) -> Result<Vec<HostPattern>, Error> {
    let patterns = written.iter().map(|pattern| HostPattern::parse(pattern));
    patterns
        .collect::<Result<_, _>>()
        .map_err(|problem| Error::InvalidValue { key, problem })
}

fn secret_allowed_windows(written: BTreeMap<String, Vec<String>>) -> Result<AllowedWindows, Error> {
    let bad = |problem| Error::InvalidValue {
        key: "secret_allowed_windows",
        problem,
    };
    let mut targets = BTreeMap::new();
    let mut spelled: BTreeMap<String, String> = BTreeMap::new();
    for (secret, windows) in written {
        if let Some(other) = spelled.insert(variable_name(&secret), secret.clone()) {
            return Err(bad(format!(
                "`{other}` and `{secret}` name the same secret: both map to {}",
                variable_name(&secret)
            )));
        }
        let windows = windows.iter().map(|window| WindowPattern::parse(window));
        let windows = windows.collect::<Result<_, _>>().map_err(bad)?;
        targets.insert(secret, windows);
    }
    Ok(AllowedWindows::new(targets))
}

fn secret_grants(written: BTreeMap<String, Vec<String>>) -> Result<SecretGrants, Error> {
    let bad = |problem| Error::InvalidValue {
        key: "secret_grants",
        problem,
    };
    let mut grants = BTreeMap::new();
    let mut spelled: BTreeMap<String, String> = BTreeMap::new();
    for (secret, to) in written {
        if let Some(other) = spelled.insert(variable_name(&secret), secret.clone()) {
            return Err(bad(format!(
                "`{other}` and `{secret}` name the same secret: both map to {}",
                variable_name(&secret)
            )));
        }
        let to = to.iter().map(|grantee| Grantee::parse(grantee));
        grants.insert(secret, to.collect::<Result<_, _>>().map_err(bad)?);
    }
    Ok(SecretGrants::new(grants))
}

fn kinds(names: &[String]) -> Result<BTreeSet<ActionKind>, Error> {
    let kind = |name: &String| {
        ActionKind::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.as_str()).collect();
            let problem = format!(
                "unknown kind of action `{name}`; available: {}",
                known.join(", ")
            );
            Error::InvalidValue {
                key: "rules.actions",
                problem,
            }
        })
    };
    names.iter().map(kind).collect()
}

/// Returns the folder name of a display: `:99` becomes `_99`.
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
    fn empty_executor_config_has_sensible_defaults() {
        let config = resolve("", &[("DISPLAY", ":5"), ("MOTORIUM_SECRET_A", "x")]).unwrap();
        assert_eq!(config.fixed.displays, [DisplayId::new(":5")]);
        assert_eq!(config.fixed.files, Path::new("/data/files"));
        assert_eq!(config.policy.rules.kinds.len(), ActionKind::ALL.len());
        assert_eq!(config.policy.rules.forbidden_chords.len(), 14);
        assert_eq!(config.policy.max_actions_per_second, None);
        assert!(config.policy.secrets.resolve("a").is_ok());
        assert!(resolve("", &[]).unwrap().fixed.displays.is_empty());
    }

    #[test]
    fn every_executor_setting_can_be_configured() {
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
            config.policy.rules.kinds,
            [ActionKind::Click, ActionKind::TypeText].into()
        );
        assert_eq!(config.policy.rules.urls.schemes, ["https"]);
        assert_eq!(
            config.policy.rules.denied_regions[0].max,
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
        let rules = resolve(written, &[]).unwrap().policy.rules;
        assert!(rules.kinds.is_empty());
        assert!(rules.urls.parse_and_check("https://example.com/").is_err());
        assert_eq!(rules.allowed_regions, Some(Vec::new()));
    }

    #[tokio::test]
    async fn reload_that_changes_a_fixed_setting_is_refused_entirely() {
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
        started.reload(resolve(other)).unwrap();
        assert_eq!(chords().await, ["alt+f4"]);
        let error = started.reload(resolve("max_file_bytes = 7")).unwrap_err();
        assert!(error.to_string().contains("max_file_bytes"), "{error}");
        assert_eq!(chords().await, ["alt+f4"]);
    }

    #[test]
    fn unusable_executor_settings_are_reported_with_alternatives() {
        check_refused(
            "driver = \"xdotool\"",
            "executor.driver: unknown driver `xdotool`; available: ",
        );
        check_refused(
            "rules.actions = [\"shell\"]",
            "executor.rules.actions: unknown kind of action `shell`",
        );
        check_refused(
            "rules.forbidden_chords = [\"ctrl+flurb\"]",
            "executor.rules.forbidden_chords: no key is called",
        );
        check_refused(
            "secret_allowed_windows = { my-bank = [], my_bank = [\"anywhere\"] }",
            "`my-bank` and `my_bank` name the same secret",
        );
        check_refused(
            "secret_allowed_windows.bank = [\"window:x\"]",
            "executor.secret_allowed_windows: `window:x` is not a window pattern",
        );
        check_refused(
            "devtools = \"9222\"",
            "executor.devtools: `9222` is not the URL",
        );
        check_refused(
            "devtools = \"http://127.0.0.1:9222\"\ndisplays = [\":1\", \":2\"]",
            "executor.devtools: one browser cannot serve 2 displays",
        );
        check_refused(
            "rules.denied_url_hosts = [\"https://evil.test\"]",
            "executor.rules.denied_url_hosts: `https://evil.test` is not a host pattern",
        );
        check_refused(
            "scale = 150",
            "executor.scale: 150 is not a scale; use capture pixels per input coordinate",
        );
        check_refused("scale = 0", "executor.scale: 0 is not a scale");
        check_refused(
            "rules.max_actions_per_second = -1",
            "executor.rules.max_actions_per_second",
        );
    }
}

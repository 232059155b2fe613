//! The validated [`Config`], derived from the [`Settings`] as written.
//!
//! It is complete: later code handles no raw text. Only what is listed is allowed, and an empty list allows nothing. Allowed by
//! default: every kind of action, no application, `http` and `https` URLs of any public host, the whole display, and no window
//! for secrets. Nothing is opened or started here: [`start`](crate::start) does.

mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_kit::config::{HumanDuration, ListenAddress};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::id::DisplayId;
use motorium_store::audit::AuditLog;
use url::Url;

use crate::drivers::launch::{LaunchSite, Programs};
use crate::error::Error as ServiceError;
use crate::guard::allowed_windows::{AllowedWindows, WindowPattern};
use crate::guard::journal::Retention;
use crate::guard::rules::{Chord, Rules};
use crate::guard::secret_grants::{Grantee, SecretGrants};
use crate::guard::url_rules::{HostRule, UrlRules};
use crate::policy::ExecutorPolicy;
use crate::secrets::{Secrets, variable_name};

pub(crate) use settings::folder_name;
pub use settings::{
    DEFAULT_PORT, JournalSettings, RecordingSettings, Region, RuleSettings, Settings,
};

/// Minimum age at which records of the audit log are removed, as at the Orchestrator.
const MIN_AUDIT_RETENTION: Duration = Duration::from_secs(24 * 3600);

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

/// The validated configuration.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) fixed: StaticConfig,
    pub(crate) policy: ExecutorPolicy,
    pub(crate) programs: Programs,
    pub(crate) launch_site: LaunchSite,
    pub(crate) audit: AuditLog,
}

/// Settings that only change with a restart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StaticConfig {
    pub(crate) listen: ListenAddress,
    pub(crate) displays: Vec<DisplayId>,
    pub(crate) driver: DriverKind,
    pub(crate) devtools: Option<String>,
    pub(crate) display_timeout: Duration,
    pub(crate) scale: Option<f64>,
    /// Parent folders of task files and of persistent state, each with a subfolder per display.
    pub(crate) files: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) max_file_bytes: u64,
    pub(crate) retention: Retention,
    pub(crate) recording: RecordingSettings,
}

/// A driver by its name in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriverKind {
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
        check_audit_retention(settings.audit_retention)?;
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

    /// Returns the folder of secrets, if programs can read it: those that are started as children of this process are of its user, and
    /// in no sandbox.
    pub(crate) fn secrets_open_to_programs(&self) -> Option<&Path> {
        let is_here = matches!(self.launch_site, LaunchSite::Here);
        let starts_programs =
            self.programs.browser.is_some() || !self.programs.applications.is_empty();
        let is_open = is_here && starts_programs && self.fixed.driver != DriverKind::Recording;
        self.policy.secrets.folder().filter(|_| is_open)
    }

    /// Enters no secret without an entry in `secret_grants` if callers have names, and so tenants.
    #[must_use]
    pub fn for_named_callers(mut self, have_names: bool) -> Self {
        if have_names {
            self.policy.secret_grants = self.policy.secret_grants.required();
        }
        self
    }

    /// Records in this log what callers do on a desktop without a task. Without it nothing is recorded.
    #[must_use]
    pub fn audited(self, audit: AuditLog) -> Self {
        Self { audit, ..self }
    }
}

/// Returns the environment of the process, without variables that are not UTF-8.
pub fn process_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
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
/// Checks the age at which records of the audit log are removed: less than a day would leave no time to look at them.
fn check_audit_retention(keep: Option<HumanDuration>) -> Result<(), Error> {
    match keep {
        Some(keep) if keep.0 < MIN_AUDIT_RETENTION => Err(Error::InvalidValue {
            key: "audit_retention",
            problem: format!("{keep} is too short; give at least 24h, or leave it out"),
        }),
        _ => Ok(()),
    }
}

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
            hosts: host_rules("rules.url_hosts", &settings.url_hosts)?,
            denied_hosts: host_rules("rules.denied_url_hosts", &settings.denied_url_hosts)?,
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

fn host_rules(key: &'static str, written: &[String]) -> Result<Vec<HostRule>, Error> {
    let rules = written.iter().map(|text| HostRule::parse(text));
    rules
        .collect::<Result<_, _>>()
        .map_err(|problem| Error::InvalidValue { key, problem })
}

fn secret_allowed_windows(written: BTreeMap<String, Vec<String>>) -> Result<AllowedWindows, Error> {
    by_secret("secret_allowed_windows", written, WindowPattern::parse).map(AllowedWindows::new)
}

fn secret_grants(written: BTreeMap<String, Vec<String>>) -> Result<SecretGrants, Error> {
    by_secret("secret_grants", written, Grantee::parse).map(SecretGrants::new)
}

/// Parses what is listed for each secret. Two spellings of one secret are an error: one would hide the other.
fn by_secret<T>(
    key: &'static str,
    written: BTreeMap<String, Vec<String>>,
    parse: fn(&str) -> Result<T, String>,
) -> Result<BTreeMap<String, Vec<T>>, Error> {
    let bad = |problem| Error::InvalidValue { key, problem };
    let mut parsed = BTreeMap::new();
    let mut spelled: BTreeMap<String, String> = BTreeMap::new();
    for (secret, texts) in written {
        if let Some(other) = spelled.insert(variable_name(&secret), secret.clone()) {
            return Err(bad(format!(
                "`{other}` and `{secret}` name the same secret: both map to {}",
                variable_name(&secret)
            )));
        }
        let listed = texts.iter().map(|text| parse(text));
        parsed.insert(secret, listed.collect::<Result<_, _>>().map_err(bad)?);
    }
    Ok(parsed)
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

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;
    use crate::guard::named_hosts::NamedHosts;

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
        assert!(
            rules
                .urls
                .parse_and_check("https://example.com/", &NamedHosts::default())
                .is_err()
        );
        assert_eq!(rules.allowed_regions, Some(Vec::new()));
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
            "audit_retention = \"1m\"",
            "executor.audit_retention: 1m is too short; give at least 24h",
        );
        check_refused(
            "rules.max_actions_per_second = -1",
            "executor.rules.max_actions_per_second",
        );
    }
}

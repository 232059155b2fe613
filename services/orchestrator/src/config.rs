//! The Orchestrator's settings and what they mean.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::{self, Channel};
use motorium_kit::config::{Listen, Section, Span};
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{Executor, ExecutorClient, Perception, PerceptionClient, Planner};
use serde::{Deserialize, Serialize};

use crate::desktops::Connector;
use crate::effect::Rule;
use crate::functions::{ToolSettings, Tools};
use crate::hooks;
use crate::hooks::settings::HookSettings;
use crate::policy::Source;
use crate::run::{Conduct, DEFAULT_APPROVAL_TIMEOUT, Ports};
use crate::task::spec::{DEFAULT_MAX_DURATION, DEFAULT_MAX_STEPS, Limits};

/// How long a call to another service may take that has no deadline of its own: longer than a slow model.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);

/// A desktop costs two small calls each time.
const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(10);
const DEFAULT_LEASE: Duration = Duration::from_secs(15);
/// A lease is renewed three times in its time, by a database that may take a moment.
const SHORTEST_LEASE: Duration = Duration::from_millis(500);

/// The section `[orchestrator]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where to listen.
    pub listen: Listen,
    /// Names this orchestrator in leases; two that share a store need two names. Without it, the host's name.
    pub name: Option<String>,
    /// Address of the Planner.
    pub planner: String,
    /// Desktops by name.
    pub desktops: BTreeMap<String, DesktopSettings>,
    /// Steps of a task that does not say otherwise.
    pub max_steps: u32,
    /// Wall clock of a task that does not say otherwise.
    pub max_duration: Span,
    /// How long a task waits for another orchestrator after the one that carried it out has died. The same one,
    /// restarted, takes it back at once.
    pub lease: Span,
    /// How often a desktop without a task is asked whether it is there.
    pub heartbeat: Span,
    /// The share of changed pixels, from 0 to 1, from which on an action counts as having had an effect. Without it,
    /// places are looked at: near the target, at the focus, in the active window.
    pub effect_share: Option<f64>,
    /// Whether a scroll that has reached the end is tried in the other direction.
    pub scroll_back: bool,
    /// Whether the planner's evidence has to be on the last screen, where a task itself expects nothing.
    pub check_evidence: bool,
    /// What may be done unattended, what a person is asked about first, and what is refused: `careful`, `free`
    /// (everything), or a file of Cedar policies. It is followed while it changes.
    pub rules: String,
    /// A file in place of the lists of words that the rules rely on.
    pub words: Option<PathBuf>,
    /// How long a person has to answer when an action needs approval.
    pub approval_timeout: Span,
    /// Whether a task pauses when somebody else uses the mouse or the keyboard of its desktop.
    pub pause_on_human_input: bool,
    /// Tools by name: services and programs with functions that tasks may have called.
    pub tools: BTreeMap<String, ToolSettings>,
    /// Addresses of tools that tasks may name beside them; with `*` at the end, all that begin so.
    pub tool_addresses: Vec<String>,
    /// Who else has a say, in this order: see docs/hooks.md.
    pub hooks: Vec<HookSettings>,
    /// Whether what is asked of other services and answered is kept with each step, so that the task can be replayed:
    /// `on` or `off`.
    pub recording: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: Listen::loopback(7700),
            name: None,
            planner: "http://127.0.0.1:7702".to_owned(),
            desktops: BTreeMap::new(),
            max_steps: DEFAULT_MAX_STEPS,
            max_duration: Span(DEFAULT_MAX_DURATION),
            lease: Span(DEFAULT_LEASE),
            heartbeat: Span(DEFAULT_HEARTBEAT),
            effect_share: None,
            scroll_back: false,
            check_evidence: true,
            rules: "careful".to_owned(),
            words: None,
            approval_timeout: Span(DEFAULT_APPROVAL_TIMEOUT),
            pause_on_human_input: true,
            tools: BTreeMap::new(),
            tool_addresses: Vec::new(),
            hooks: Vec::new(),
            recording: "on".to_owned(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "orchestrator";
}

/// A desktop, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DesktopSettings {
    /// Address of its Perception.
    pub perception: String,
    /// Address of its Executor.
    pub executor: String,
    /// The display that both know by this name; their default one if it is not given.
    pub display: Option<String>,
    /// What it runs on: linux, windows, macos or browser.
    pub platform: String,
    /// For selection.
    pub labels: BTreeMap<String, String>,
}

impl Default for DesktopSettings {
    fn default() -> Self {
        Self {
            perception: "http://127.0.0.1:7701".to_owned(),
            executor: "http://127.0.0.1:7703".to_owned(),
            display: None,
            platform: "linux".to_owned(),
            labels: BTreeMap::new(),
        }
    }
}

/// The Orchestrator's configuration, as meant.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: Listen,
    pub name: String,
    pub planner: String,
    pub desktops: Vec<Desktop>,
    pub limits: Limits,
    pub conduct: Conduct,
    pub lease: Duration,
    pub heartbeat: Duration,
}

impl Settings {
    /// Checks the settings and fills in what they leave open: without desktops there is one, on the default ports.
    ///
    /// # Errors
    /// If a desktop's name or platform is not understood, a share is none, or a hook cannot be used.
    pub fn resolve(self) -> Result<Config, FieldError> {
        let mut desktops = self.desktops;
        if desktops.is_empty() {
            desktops.insert("local".to_owned(), DesktopSettings::default());
        }
        let desktops = desktops
            .into_iter()
            .map(|(name, settings)| desktop(&name, settings))
            .collect::<Result<_, _>>()?;
        let limits = Limits {
            max_steps: self.max_steps,
            max_duration: self.max_duration.0,
            ..Limits::default()
        };
        Ok(Config {
            listen: self.listen,
            name: self.name.unwrap_or_else(own_name),
            planner: self.planner,
            desktops,
            limits,
            lease: lease(self.lease.0)?,
            heartbeat: heartbeat(self.heartbeat.0)?,
            conduct: Conduct {
                effect: effect_rule(self.effect_share)?,
                scroll_back: self.scroll_back,
                check_evidence: self.check_evidence,
                rules: rules(&self.rules, self.words.as_deref())?,
                approval_timeout: approval_timeout(self.approval_timeout.0)?,
                pause_on_human_input: self.pause_on_human_input,
                tools: Tools::resolve(self.tools, self.tool_addresses)?,
                hooks: hooks::settings::chain(self.hooks)?,
                recording: recording(&self.recording)?,
            },
        })
    }
}

/// The host's name: the same after a restart, and another one on every machine and in every pod.
fn own_name() -> String {
    format!(
        "orchestrator@{}",
        gethostname::gethostname().to_string_lossy()
    )
}

fn heartbeat(pace: Duration) -> Result<Duration, FieldError> {
    if !pace.is_zero() {
        return Ok(pace);
    }
    let description = "desktops cannot be asked without a pause; give a time, such as 10s";
    Err(FieldError::new("orchestrator.heartbeat", description))
}

fn lease(lease: Duration) -> Result<Duration, FieldError> {
    if lease >= SHORTEST_LEASE {
        return Ok(lease);
    }
    Err(FieldError::new(
        "orchestrator.lease",
        format!(
            "{} ms is too short to be renewed in time; give at least {} ms",
            lease.as_millis(),
            SHORTEST_LEASE.as_millis()
        ),
    ))
}

fn rules(rules: &str, words: Option<&Path>) -> Result<Source, FieldError> {
    let opened = Source::open(rules, words);
    opened.map_err(|error| FieldError::new("orchestrator.rules", error.to_string()))
}

fn recording(switch: &str) -> Result<bool, FieldError> {
    match switch {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(FieldError::new(
            "orchestrator.recording",
            format!("`{switch}` is neither `on` nor `off`"),
        )),
    }
}

fn approval_timeout(timeout: Duration) -> Result<Duration, FieldError> {
    if !timeout.is_zero() {
        return Ok(timeout);
    }
    let description = "nobody could answer in no time; give a time, such as 10m";
    Err(FieldError::new(
        "orchestrator.approval_timeout",
        description,
    ))
}

fn effect_rule(share: Option<f64>) -> Result<Rule, FieldError> {
    match share {
        None => Ok(Rule::Places),
        Some(share) if (0.0..1.0).contains(&share) => Ok(Rule::Share(share)),
        Some(share) => Err(FieldError::new(
            "orchestrator.effect_share",
            format!(
                "{share} is no share; give a number from 0 to below 1, such as 0.02, or leave it out"
            ),
        )),
    }
}

fn desktop(name: &str, settings: DesktopSettings) -> Result<Desktop, FieldError> {
    let field = format!("orchestrator.desktops.{name}");
    Ok(Desktop {
        name: DesktopName::from_segment(name)
            .map_err(|error| FieldError::new(&field, error.description))?,
        perception_endpoint: Some(settings.perception),
        executor_endpoint: Some(settings.executor),
        display: settings.display.map(DisplayId::new),
        platform: platform(&settings.platform).map_err(|error| error.within(&field))?,
        labels: settings.labels,
    })
}

fn platform(name: &str) -> Result<Platform, FieldError> {
    Ok(match name {
        "linux" => Platform::Linux,
        "windows" => Platform::Windows,
        "macos" => Platform::Macos,
        "browser" => Platform::Browser,
        _ => {
            let description = format!("`{name}` is none of linux, windows, macos, browser");
            return Err(FieldError::new("platform", description));
        }
    })
}

/// A channel to another service, with `base`'s token and certificates.
///
/// # Errors
/// If the address cannot be used.
pub fn channel(base: &client::Config, uri: &str) -> Result<Channel, client::Error> {
    let config = client::Config {
        uri: uri.to_owned(),
        default_timeout: Some(CALL_TIMEOUT),
        ..base.clone()
    };
    Channel::connect_lazy(&config)
}

/// Connects desktops to their services: across the network where they name an address, and to the services of this
/// process where they name none.
pub fn connector(base: client::Config, nearby: Nearby) -> Arc<Connector> {
    Arc::new(move |desktop: &Desktop| {
        let reach = |field: &str, uri: &str| {
            channel(&base, uri).map_err(|error| FieldError::new(field, error.to_string()))
        };
        let perception: Arc<dyn Perception> = match &desktop.perception_endpoint {
            Some(uri) => Arc::new(PerceptionClient::new(reach(PERCEPTION, uri)?)),
            None => nearby
                .perception
                .clone()
                .ok_or_else(|| unnamed(PERCEPTION))?,
        };
        let executor: Arc<dyn Executor> = match &desktop.executor_endpoint {
            Some(uri) => Arc::new(ExecutorClient::new(reach(EXECUTOR, uri)?)),
            None => nearby.executor.clone().ok_or_else(|| unnamed(EXECUTOR))?,
        };
        Ok(Ports {
            perception,
            planner: nearby.planner.clone(),
            executor,
        })
    })
}

const PERCEPTION: &str = "perception_endpoint";
const EXECUTOR: &str = "executor_endpoint";

fn unnamed(field: &str) -> FieldError {
    FieldError::new(
        field,
        "is empty; give the service's address, such as http://127.0.0.1:7701",
    )
}

/// The services that desktops without addresses of their own use.
#[derive(Clone)]
pub struct Nearby {
    /// Decides for all desktops.
    pub planner: Arc<dyn Planner>,
    /// `None`: every desktop has to name its own.
    pub perception: Option<Arc<dyn Perception>>,
    /// `None`: every desktop has to name its own.
    pub executor: Option<Arc<dyn Executor>>,
}

impl std::fmt::Debug for Nearby {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nearby").finish_non_exhaustive()
    }
}

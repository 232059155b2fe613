//! Settings of the Orchestrator as written, and the validated configuration derived from them.
//!
//! Modules that use a setting do not validate it again.

mod attempts;
mod max_limits;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::address::ServiceAddress;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::reference::Example;
use motorium_kit::config::{AddressPattern, HumanDuration, ListenAddress, Secret, Section};
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{Executor, ExecutorClient, Perception, PerceptionClient, Planner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use attempts::{EffectWindowSettings, PointerCheckSettings, RetrySettings};
pub use max_limits::MaxLimitSettings;

use crate::desktops::registration::RegistrationRules;
use crate::desktops::{Connector, DesktopSource};
use crate::functions::{ToolSettings, Tools};
use crate::hooks;
use crate::hooks::settings::HookSettings;
use crate::retention::{RetentionPolicy, RetentionSettings};
use crate::run::{
    DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MAX_SCREEN_FAILURES, DEFAULT_SUMMARY_TIMEOUT, LoopFeatures,
    RunConfig,
};
use motorium_policy::PolicySource;
use motorium_recording::ports::Ports;
use motorium_task::completion::ClaimRules;
use motorium_task::effect::EffectCriterion;
use motorium_task::spec::{DEFAULT_MAX_DURATION, DEFAULT_MAX_STEPS, LimitRules, Limits};

/// Tokens for the services of configured desktops, by desktop.
type DesktopTokens = BTreeMap<DesktopName, Secret>;

/// Timeout of a call to another service that has no deadline of its own.
// Longer than a slow model takes to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);

/// Default interval between reachability probes.
// A probe costs two small calls per desktop, so every 10 s is cheap even for a large pool.
const DEFAULT_PROBE_INTERVAL: Duration = Duration::from_secs(10);
// Bounds how long a task waits for another orchestrator after a crash; renewed every 5 s, so two renewals may fail.
const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(15);
/// Minimum duration of a task lease.
// A lease is renewed three times within its duration, and the database may take a moment to answer.
const MIN_LEASE_DURATION: Duration = Duration::from_millis(500);

/// Upper bound of the failures in a row to see the screen. With a second between them, more is a broken desktop.
const MAX_SCREEN_FAILURES: u32 = 50;

/// Settings of the section `[orchestrator]`, as written: the run loop, desktops, tools and hooks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on.
    pub listen: ListenAddress,
    /// Name of this orchestrator in leases, for people: an id makes it unique among all processes. Defaults to the host name.
    #[schemars(example = &"orchestrator-1")]
    pub name: Option<String>,
    /// Address of the Planner.
    pub planner: String,
    /// Desktops by name. Without any, there is one with the name `local` and the default addresses.
    pub desktops: BTreeMap<String, DesktopSettings>,
    /// Addresses that `RegisterDesktop` accepts: hosts, networks or addresses. Empty by default: the pool has the configured
    /// desktops alone. Other machines need `https`; names are not resolved. The token is not sent to these addresses unless
    /// `client.audiences` lists them too.
    #[schemars(example = ["*.desks.example.com", "10.1.0.0/16"])]
    pub allowed_desktop_addresses: Vec<AddressPattern>,
    /// Maximum number of steps of a task that sets no limit.
    pub max_steps: u32,
    /// Maximum wall-clock duration of a task that sets no limit. Includes the time in which an answer or an approval is
    /// waited for.
    pub max_duration: HumanDuration,
    /// Highest limits that a task may ask for. A task that asks for more is refused, and one that sets no limit gets the lower
    /// of the default and the highest one. By default, tasks may ask for anything.
    pub max_limits: MaxLimitSettings,
    /// Duration of a task lease: how long a task waits for another orchestrator after its own has died. The same
    /// orchestrator takes its tasks back at once after a restart.
    pub lease_duration: HumanDuration,
    /// Interval between reachability probes of a desktop that runs no task.
    #[serde(alias = "heartbeat_interval")]
    pub desktop_probe_interval: HumanDuration,
    /// Share of changed pixels, from 0 to 1, above which an action counts as effective. By default, the areas near the
    /// target, at the focus and in the active window are judged instead.
    #[schemars(extend("x-unit" = "share, 0 to 1"), example = 0.02)]
    pub effect_threshold: Option<f64>,
    /// Retries a scroll that has reached the end in the other direction.
    pub reverse_scroll_at_end: bool,
    /// Verifies the planner's evidence on the last screen when the task itself states no expectations.
    pub verify_evidence: bool,
    /// Automatic retries of actions without effect.
    pub retry: RetrySettings,
    /// Time within which an effect has to begin, by the kind of action.
    pub effect_windows: EffectWindowSettings,
    /// Verification of the pointer before clicks.
    pub pointer_check: PointerCheckSettings,
    /// Asks a model that claims success without evidence to look at the screen once more, which costs one model call. If
    /// the last action had no effect either, the task then fails.
    pub second_look: bool,
    /// Number of failures in a row to capture or parse the screen after which a task ends, from 1 to 50. A screen that can be
    /// captured but not parsed is shown to models as it is.
    pub max_screen_failures: u32,
    /// Policy for what may be done unattended, needs approval or is denied: `careful`, `free` (everything is allowed)
    /// or the path of a file of Cedar policies, which is reloaded when it changes.
    pub policy: String,
    /// Path of a lexicon file that replaces the built-in word lists of the policy.
    #[schemars(extend("format" = "path"), example = "/etc/motorium/lexicon.toml")]
    pub lexicon: Option<PathBuf>,
    /// Time within which an approval has to be given. An approval expires at the latest when the time limit of its task is
    /// reached (`limits.max_duration`), which fails the task.
    pub approval_timeout: HumanDuration,
    /// Every approval has to come from another principal than the one that created the task. A policy can demand it for
    /// some actions only (`performOnOwnApproval`). Needs servers that authenticate callers by name.
    pub second_person: bool,
    /// Time after which a task that waits for the answer to a question lets other tasks use its desktop. It continues on
    /// the same desktop after the answer, whatever is on the screen then. By default, it keeps the desktop. A task that
    /// waits for an approval or for a user action keeps it always: both depend on what is on the screen.
    #[schemars(example = &"2m")]
    pub release_desktop_after: Option<HumanDuration>,
    /// Time for a model to write the final answer of a task that ends without one: by a limit, a failure, a stop, or with an
    /// empty message. After a stop, 2 s at most. 0s computes the answer without a model.
    pub summary_timeout: HumanDuration,
    /// Pauses a task when a person uses the mouse or the keyboard of its desktop.
    pub pause_on_human_input: bool,
    /// Tools by name: services and programs that provide functions to tasks.
    pub tools: BTreeMap<String, ToolSettings>,
    /// Addresses of further tools that tasks may name. A trailing `*` allows every address with that prefix.
    #[schemars(example = ["https://tools.example.com/*"])]
    pub allowed_tool_addresses: Vec<String>,
    /// Folder of the audit log, which has every call that changes something, every action and every approval. Defaults to
    /// `audit` in the data folder. See docs/security.md.
    #[schemars(extend("format" = "path"), example = &"/var/lib/motorium/audit")]
    pub audit: Option<PathBuf>,
    /// Hooks, in the order in which they are called: see docs/hooks.md.
    pub hooks: Vec<HookSettings>,
    /// Records requests and responses with each step so that a task can be replayed.
    pub recording: RecordingSwitch,
    /// Times for which tasks and their parts are kept: see docs/operations.md.
    pub retention: RetentionSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: ListenAddress::loopback(7700),
            name: None,
            planner: "http://127.0.0.1:7702".to_owned(),
            desktops: BTreeMap::new(),
            allowed_desktop_addresses: Vec::new(),
            max_steps: DEFAULT_MAX_STEPS,
            max_duration: HumanDuration(DEFAULT_MAX_DURATION),
            max_limits: MaxLimitSettings::default(),
            lease_duration: HumanDuration(DEFAULT_LEASE_DURATION),
            desktop_probe_interval: HumanDuration(DEFAULT_PROBE_INTERVAL),
            effect_threshold: None,
            reverse_scroll_at_end: false,
            verify_evidence: true,
            retry: RetrySettings::default(),
            effect_windows: EffectWindowSettings::default(),
            pointer_check: PointerCheckSettings::default(),
            second_look: true,
            max_screen_failures: DEFAULT_MAX_SCREEN_FAILURES,
            policy: "careful".to_owned(),
            lexicon: None,
            approval_timeout: HumanDuration(DEFAULT_APPROVAL_TIMEOUT),
            second_person: false,
            release_desktop_after: None,
            summary_timeout: HumanDuration(DEFAULT_SUMMARY_TIMEOUT),
            pause_on_human_input: true,
            tools: BTreeMap::new(),
            allowed_tool_addresses: Vec::new(),
            audit: None,
            hooks: Vec::new(),
            recording: RecordingSwitch::On,
            retention: RetentionSettings::default(),
        }
    }
}

impl Section for Settings {
    const NAME: &'static str = "orchestrator";
    const EXAMPLES: &'static [Example] = &[
        Example {
            table: "desktops.NAME",
            toml: r#"
[orchestrator.desktops.office]
perception = "https://desktop-1.example.com:7701"
executor = "https://desktop-1.example.com:7703"
labels = { room = "office" }
"#,
        },
        Example {
            table: "tools.NAME",
            toml: r#"
[orchestrator.tools.calendar]
address = "mcp+https://calendar.example.com/mcp"
token_file = "/etc/motorium/calendar-token"

[orchestrator.tools.files]
command = ["mcp-server-filesystem", "/home/me/documents"]
environment = { LANG = "en_GB.UTF-8" }
timeout = "30s"
"#,
        },
        Example {
            table: "hooks.image_retention",
            toml: r#"
[[orchestrator.hooks]]
kind = "image_retention"
max_images = 2
"#,
        },
        Example {
            table: "hooks.redaction",
            toml: r#"
[[orchestrator.hooks]]
kind = "redaction"
redact = ["card_numbers", "window:KeePassXC"]
"#,
        },
        Example {
            table: "hooks.ledger",
            toml: r#"
[[orchestrator.hooks]]
kind = "ledger"
notify_at_percent = [50, 90]
"#,
        },
        Example {
            table: "hooks.activity_log",
            toml: r#"
[[orchestrator.hooks]]
kind = "activity_log"
path = "/var/log/motorium/activity.jsonl"
required = true
"#,
        },
        Example {
            table: "hooks.trajectory",
            toml: r#"
[[orchestrator.hooks]]
kind = "trajectory"
folder = "/var/lib/motorium/trajectories"
"#,
        },
        Example {
            table: "retention.tenants.NAME",
            toml: r#"
[orchestrator.retention.tenants.acme]
tasks = "7d"
screenshots = "1d"
"#,
        },
        Example {
            table: "hooks.service",
            toml: r#"
[[orchestrator.hooks]]
kind = "service"
name = "guard"
address = "http://127.0.0.1:7801"
on_error = "deny"
"#,
        },
    ];
}

/// A desktop, as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DesktopSettings {
    /// Address of its Perception.
    pub perception: String,
    /// Address of its Executor.
    pub executor: String,
    /// File with the token for these two, in place of `client.token`. Programs on the desktop may see what is sent there: with a
    /// token of its own, which no other service accepts, they gain nothing by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/office-token")]
    pub token_file: Option<PathBuf>,
    /// Display name known to both services. Defaults to their default display.
    #[schemars(example = &":1")]
    pub display: Option<String>,
    /// Operating system, or `browser` for a desktop that is one browser window.
    pub platform: PlatformSetting,
    /// Labels that a task's desktop selector can match.
    #[schemars(example = BTreeMap::from([("room", "office")]))]
    pub labels: BTreeMap<String, String>,
    /// Tenants whose tasks may use it, and whose callers see it. Empty admits all.
    #[schemars(example = ["acme"])]
    pub tenants: BTreeSet<String>,
}

impl Default for DesktopSettings {
    fn default() -> Self {
        Self {
            perception: "http://127.0.0.1:7701".to_owned(),
            executor: "http://127.0.0.1:7703".to_owned(),
            token_file: None,
            display: None,
            platform: PlatformSetting::Linux,
            labels: BTreeMap::new(),
            tenants: BTreeSet::new(),
        }
    }
}

/// Platform of a desktop in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlatformSetting {
    Linux,
    Windows,
    Macos,
    Browser,
}

impl From<PlatformSetting> for Platform {
    fn from(platform: PlatformSetting) -> Self {
        match platform {
            PlatformSetting::Linux => Self::Linux,
            PlatformSetting::Windows => Self::Windows,
            PlatformSetting::Macos => Self::Macos,
            PlatformSetting::Browser => Self::Browser,
        }
    }
}

/// Switch of recordings in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordingSwitch {
    On,
    Off,
}

/// Validated configuration of the Orchestrator.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: ListenAddress,
    pub name: String,
    pub planner: String,
    pub desktops: Vec<Desktop>,
    /// Tokens of the desktops that have one of their own.
    desktop_tokens: DesktopTokens,
    pub registration: RegistrationRules,
    /// Folder of the audit log, if it is not in the data folder.
    pub audit: Option<PathBuf>,
    pub limits: LimitRules,
    pub run: RunConfig,
    pub lease_duration: Duration,
    pub desktop_probe_interval: Duration,
    pub retention: RetentionPolicy,
}

impl Settings {
    /// Validates the settings and applies defaults: without desktops there is one, `local`, on the default ports.
    ///
    /// # Errors
    /// If a desktop name or platform is invalid, a share is out of range, or a hook cannot be created.
    pub fn resolve(self) -> Result<Config, FieldError> {
        let mut desktops = self.desktops;
        if desktops.is_empty() {
            desktops.insert("local".to_owned(), DesktopSettings::default());
        }
        let desktop_tokens = desktop_tokens(&desktops)?;
        let desktops = desktops
            .into_iter()
            .map(|(name, settings)| desktop(&name, settings))
            .collect::<Result<_, _>>()?;
        let limits = LimitRules {
            defaults: Limits {
                max_steps: self.max_steps,
                max_duration: self.max_duration.0,
                ..Limits::default()
            },
            ceilings: self.max_limits.resolve()?,
        };
        Ok(Config {
            listen: self.listen,
            name: self.name.unwrap_or_else(default_name),
            planner: self.planner,
            desktops,
            desktop_tokens,
            registration: RegistrationRules::new(self.allowed_desktop_addresses),
            audit: self.audit,
            limits,
            lease_duration: lease(self.lease_duration.0)?,
            desktop_probe_interval: probe_interval(self.desktop_probe_interval.0)?,
            retention: self.retention.resolve()?,
            run: RunConfig {
                effect_rule: effect_rule(self.effect_threshold)?,
                retry: self.retry.resolve(self.reverse_scroll_at_end)?,
                effect_windows: self.effect_windows.resolve()?,
                pointer_checks: self.pointer_check.resolve()?,
                verify_evidence: self.verify_evidence,
                second_look: self.second_look,
                max_screen_failures: screen_failures(self.max_screen_failures)?,
                policy: policy(&self.policy, self.lexicon.as_deref())?,
                approval_timeout: approval_timeout(self.approval_timeout.0)?,
                second_person: self.second_person,
                release_desktop_after: self.release_desktop_after.map(|after| after.0),
                summary_timeout: Some(self.summary_timeout.0),
                pause_on_human_input: self.pause_on_human_input,
                tools: Tools::resolve(self.tools, self.allowed_tool_addresses)?,
                hooks: hooks::settings::chain(self.hooks)?,
                recording: self.recording == RecordingSwitch::On,
                claim_rules: ClaimRules::Strict,
                features: LoopFeatures::ALL,
            },
        })
    }
}

impl Config {
    /// Returns the client configuration of the pool: the configured servers may receive the token of `base`, also where a
    /// registered desktop names one of them. Those with a token of their own do not.
    #[must_use]
    pub fn with_audiences(&self, base: client::Config) -> client::Config {
        let shares_token = |desktop: &&Desktop| !self.desktop_tokens.contains_key(&desktop.name);
        let desktops = self.desktops.iter().filter(shares_token);
        let endpoints = desktops.flat_map(|desktop| {
            let endpoints = [&desktop.perception_endpoint, &desktop.executor_endpoint];
            endpoints.into_iter().flatten()
        });
        let servers = endpoints.chain([&self.planner]);
        let audiences = base
            .audiences
            .clone()
            .map(|listed| servers.fold(listed, |audiences, uri| audiences.with_server(uri)));
        client::Config { audiences, ..base }
    }

    /// Returns a connector as [`connector`] does, with the desktops' own tokens.
    pub fn connector(&self, base: client::Config, services: LocalServices) -> Arc<Connector> {
        let has_token = |desktop: &&Desktop| self.desktop_tokens.contains_key(&desktop.name);
        let endpoints = self.desktops.iter().filter(has_token).flat_map(|desktop| {
            let endpoints = [&desktop.perception_endpoint, &desktop.executor_endpoint];
            endpoints.into_iter().flatten()
        });
        let tokens = OwnTokens {
            by_desktop: self.desktop_tokens.clone(),
            servers: endpoints
                .filter_map(|uri| ServiceAddress::parse(uri))
                .map(|address| AddressPattern::of_server(&address))
                .collect(),
        };
        connector_with_tokens(base, tokens, services)
    }
}

/// Returns the host name: stable across restarts, and different on every machine and in every pod.
fn default_name() -> String {
    format!(
        "orchestrator@{}",
        gethostname::gethostname().to_string_lossy()
    )
}

fn screen_failures(count: u32) -> Result<u32, FieldError> {
    if (1..=MAX_SCREEN_FAILURES).contains(&count) {
        return Ok(count);
    }
    let problem = format!("{count} is not a number of failures from 1 to {MAX_SCREEN_FAILURES}");
    Err(FieldError::new("orchestrator.max_screen_failures", problem))
}

fn probe_interval(interval: Duration) -> Result<Duration, FieldError> {
    if !interval.is_zero() {
        return Ok(interval);
    }
    let description =
        "the interval between probes of a desktop must not be zero; give a duration such as 10s";
    Err(FieldError::new(
        "orchestrator.desktop_probe_interval",
        description,
    ))
}

fn lease(lease: Duration) -> Result<Duration, FieldError> {
    if lease >= MIN_LEASE_DURATION {
        return Ok(lease);
    }
    Err(FieldError::new(
        "orchestrator.lease_duration",
        format!(
            "{} ms is too short to be renewed in time; give at least {} ms",
            lease.as_millis(),
            MIN_LEASE_DURATION.as_millis()
        ),
    ))
}

fn policy(rules: &str, words: Option<&Path>) -> Result<PolicySource, FieldError> {
    let opened = PolicySource::open(rules, words);
    opened.map_err(|error| FieldError::new("orchestrator.policy", error.to_string()))
}

fn approval_timeout(timeout: Duration) -> Result<Duration, FieldError> {
    if !timeout.is_zero() {
        return Ok(timeout);
    }
    let description =
        "the time to answer an approval must not be zero; give a duration such as 10m";
    Err(FieldError::new(
        "orchestrator.approval_timeout",
        description,
    ))
}

fn effect_rule(share: Option<f64>) -> Result<EffectCriterion, FieldError> {
    match share {
        None => Ok(EffectCriterion::ChangedRegions),
        Some(share) if (0.0..1.0).contains(&share) => Ok(EffectCriterion::ChangedShare(share)),
        Some(share) => Err(FieldError::new(
            "orchestrator.effect_threshold",
            format!(
                "{share} is not a share; give a number from 0 to below 1, such as 0.02, or leave it out"
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
        platform: settings.platform.into(),
        labels: settings.labels,
        tenants: Desktop::tenants(settings.tenants)
            .map_err(|problem| FieldError::new(format!("{field}.tenants"), problem))?,
    })
}

/// Reads the tokens of the desktops that have one of their own.
fn desktop_tokens(
    desktops: &BTreeMap<String, DesktopSettings>,
) -> Result<DesktopTokens, FieldError> {
    let mut tokens = DesktopTokens::new();
    for (name, settings) in desktops {
        let Some(path) = &settings.token_file else {
            continue;
        };
        let wrong = |problem: String| {
            let field = format!("orchestrator.desktops.{name}.token_file");
            FieldError::new(field, format!("{}: {problem}", path.display()))
        };
        let token = Secret::of_file(path).map_err(|error| wrong(error.to_string()))?;
        if token.expose().is_empty() {
            return Err(wrong("contains no token".to_owned()));
        }
        let name = DesktopName::from_segment(name).map_err(|error| wrong(error.description))?;
        tokens.insert(name, token);
    }
    Ok(tokens)
}

/// Creates a channel to a configured service with `base`'s token and certificates.
///
/// # Errors
/// If the address cannot be used, or the token would be sent unencrypted over a network.
pub fn channel(base: &client::Config, uri: &str) -> Result<Channel, client::Error> {
    let config = client::Config {
        uri: uri.to_owned(),
        default_timeout: Some(CALL_TIMEOUT),
        ..base.clone()
    };
    Channel::connect_lazy(&config)
}

/// Creates a channel to a service of a configured desktop: it gets the token of the desktop, or else that of all services.
fn channel_of_configured(
    base: &client::Config,
    token: Option<&Secret>,
    uri: &str,
) -> Result<Channel, client::Error> {
    let Some(token) = token else {
        return channel(base, uri);
    };
    let config = client::Config {
        token: Some(token.clone()),
        ..base.clone()
    };
    channel(&config, uri)
}

/// Creates a channel to a service of a registered desktop: it gets the token only if the operator listed its address.
///
/// A server with a token of its own never gets that of all services, wherever it is listed.
fn channel_of_registered(
    base: &client::Config,
    tokens: &OwnTokens,
    uri: &str,
) -> Result<Channel, client::Error> {
    let mut config = base.for_address_of_others(uri);
    if tokens.includes(uri) {
        config.token = None;
    }
    if base.token.is_some() && config.token.is_none() {
        tracing::info!(
            endpoint = uri,
            "no token is sent to this registered desktop; client.audiences does not list it"
        );
    }
    channel(&config, uri)
}

/// Returns a connector that reaches a desktop's services over the network when it names an address, and uses the
/// services of this process otherwise.
pub fn connector(base: client::Config, services: LocalServices) -> Arc<Connector> {
    connector_with_tokens(base, OwnTokens::default(), services)
}

/// Tokens of desktops that have one of their own.
#[derive(Debug, Default)]
struct OwnTokens {
    by_desktop: DesktopTokens,
    /// Servers of these desktops.
    servers: Vec<AddressPattern>,
}

impl OwnTokens {
    fn includes(&self, uri: &str) -> bool {
        let address = ServiceAddress::parse(uri);
        address.is_some_and(|address| self.servers.iter().any(|server| server.matches(&address)))
    }
}

fn connector_with_tokens(
    base: client::Config,
    tokens: OwnTokens,
    services: LocalServices,
) -> Arc<Connector> {
    Arc::new(move |desktop: &Desktop, source: DesktopSource| {
        let reach = |field: &str, uri: &str| {
            let channel = match source {
                DesktopSource::Configured => {
                    channel_of_configured(&base, tokens.by_desktop.get(&desktop.name), uri)
                }
                DesktopSource::Registered => channel_of_registered(&base, &tokens, uri),
            };
            channel.map_err(|error| FieldError::new(field, error.to_string()))
        };
        let perception: Arc<dyn Perception> = match &desktop.perception_endpoint {
            Some(uri) => Arc::new(PerceptionClient::new(reach(PERCEPTION, uri)?)),
            None => services
                .perception
                .clone()
                .ok_or_else(|| missing_endpoint(PERCEPTION))?,
        };
        let executor: Arc<dyn Executor> = match &desktop.executor_endpoint {
            Some(uri) => Arc::new(ExecutorClient::new(reach(EXECUTOR, uri)?)),
            None => services
                .executor
                .clone()
                .ok_or_else(|| missing_endpoint(EXECUTOR))?,
        };
        Ok(Ports {
            perception,
            planner: services.planner.clone(),
            executor,
        })
    })
}

const PERCEPTION: &str = "perception_endpoint";
const EXECUTOR: &str = "executor_endpoint";

fn missing_endpoint(field: &str) -> FieldError {
    FieldError::new(
        field,
        "is empty; give the service's address, such as http://127.0.0.1:7701",
    )
}

/// Services used by desktops that name no addresses of their own.
#[derive(Clone)]
pub struct LocalServices {
    /// Planner shared by all desktops.
    pub planner: Arc<dyn Planner>,
    /// `None`: every desktop has to name its own.
    pub perception: Option<Arc<dyn Perception>>,
    /// `None`: every desktop has to name its own.
    pub executor: Option<Arc<dyn Executor>>,
}

impl std::fmt::Debug for LocalServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalServices").finish_non_exhaustive()
    }
}

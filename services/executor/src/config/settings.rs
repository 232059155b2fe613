//! Settings as written in the configuration: the section `[executor]`.
//!
//! They are not validated: [`Config`](super::Config) is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

use super::Error;
use crate::drivers::launch::Program;
use crate::guard::rules::DEFAULT_FORBIDDEN_CHORDS;
use crate::guard::url_rules::DEFAULT_URL_SCHEMES;

/// Default port of the service.
pub const DEFAULT_PORT: u16 = 7703;

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
    /// that are not listed. A secret without an entry is entered for all, and for none if callers have names
    /// (`server.callers_file`, `server.jwt`).
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
    /// Time after which records of this audit log are removed, in whole files: some are kept for half as long again.
    #[schemars(example = &"400d")]
    pub audit_retention: Option<HumanDuration>,
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
            audit_retention: None,
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

    pub(super) fn files_folder(&self, data: &Path) -> PathBuf {
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

/// Returns the name of a display's folder: `:99` becomes `_99`.
pub(crate) fn folder_name(display: &DisplayId) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    display.as_str().chars().map(plain).collect()
}

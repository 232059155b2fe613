//! Layered configuration: defaults, a TOML file, `MOTORIUM_*` variables, and flags; later layers override earlier ones.
//!
//! It is resolved in two stages. The *settings* of a service are what is written: optional, textual, without unknown keys.
//! The service derives its validated *configuration* from them. No code downstream uses settings.
//!
//! Every error names the key and the source of its value, and [`LayeredConfig::print`] shows the source of every active value.
//! Secrets are always masked. Invariant: nothing here changes the process or creates files.

mod common;
mod environment;
mod error;
mod mismatch;
pub mod reference;
mod reload;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use figment::error::{Actual, Kind};
use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::address::AddressPattern;
pub use crate::secret::{MASK, Secret};
pub use crate::values::{HumanDuration, ListenAddress};
use common::CommonSettings;
pub use common::{ClientSettings, Common, JwtSettings, ServerSettings};
pub use environment::Environment;
pub use error::Error;
use reference::{Example, TableReference};

/// Top-level keys of all parts of Motorium. One file may configure all of them.
const KEYS: [&str; 12] = [
    "client",
    "data",
    "desktop",
    "executor",
    "gateway",
    "log",
    "orchestrator",
    "perception",
    "planner",
    "server",
    "store",
    "up",
];

/// Name of the layer of environment variables.
const ENVIRONMENT_LAYER: &str = "environment";

/// Top-level keys that [`LayeredConfig::common`] reads.
const COMMON_KEYS: [&str; 4] = ["client", "data", "log", "server"];

/// The configuration section of a service.
///
/// Derive `Serialize`, `Deserialize`, `JsonSchema` and `Default`, with `#[serde(default, deny_unknown_fields)]`. The doc
/// comments of the fields are their descriptions in docs/configuration.md.
pub trait Section: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Top-level key of the section.
    const NAME: &'static str;
    /// Examples of its tables.
    const EXAMPLES: &'static [Example] = &[];
}

/// Flags of every server.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigFlags {
    /// Configuration file (TOML) [default: $MOTORIUM_CONFIG, if set]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data folder [default: $XDG_DATA_HOME/motorium]
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Set a configuration key, for example perception.listen=127.0.0.1:7411 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Command line of a server without flags of its own.
#[derive(Debug, Clone, Default, clap::Parser)]
#[command(version)]
pub struct Flags {
    /// Configuration flags.
    #[command(flatten)]
    pub config: ConfigFlags,
}

impl From<Flags> for ConfigFlags {
    fn from(flags: Flags) -> Self {
        flags.config
    }
}

/// The merged layers, in which each value has its source.
#[derive(Debug, Clone)]
pub struct LayeredConfig {
    figment: Figment,
    environment: Environment,
    flags: ConfigFlags,
    /// Configuration file, if there is one.
    file: Option<ConfigFile>,
}

/// A configuration file and its content.
#[derive(Debug, Clone)]
struct ConfigFile {
    path: PathBuf,
    content: String,
}

impl LayeredConfig {
    /// Loads the file, the environment of the process and the flags.
    ///
    /// # Errors
    /// If the file is unreadable or not TOML, a flag is malformed, or a top-level key is unknown.
    pub fn load(flags: impl Into<ConfigFlags>) -> Result<Self, Error> {
        Self::load_from(&flags.into(), Environment::from_process())
    }

    /// Loads the configuration like [`LayeredConfig::load`], with a given environment.
    ///
    /// # Errors
    /// Like [`LayeredConfig::load`].
    pub fn load_from(flags: &ConfigFlags, environment: Environment) -> Result<Self, Error> {
        let mut figment = Figment::new();
        let named = environment.get("MOTORIUM_CONFIG").map(PathBuf::from);
        let file = flags
            .config
            .clone()
            .or(named)
            .map(ConfigFile::read)
            .transpose()?;
        if let Some(file) = &file {
            figment = figment.merge(file.layer()?);
        }
        for (key, text) in environment.settings() {
            figment = figment.merge(TextLayer {
                layer: ENVIRONMENT_LAYER,
                key: &key,
                text,
            });
        }
        if let Some(data) = &flags.data {
            figment = figment.merge(TextLayer {
                layer: "--data",
                key: "data",
                text: &data.to_string_lossy(),
            });
        }
        for flag in &flags.set {
            let (key, text) = flag
                .split_once('=')
                .ok_or_else(|| Error::BadFlag { flag: flag.clone() })?;
            figment = figment.merge(TextLayer {
                layer: "--set",
                key: key.trim(),
                text,
            });
        }
        let loaded = Self {
            figment,
            environment,
            flags: flags.clone(),
            file,
        };
        loaded.check_top_level()?;
        Ok(loaded)
    }

    /// Resolves the configuration common to all servers.
    ///
    /// # Errors
    /// If a value is invalid, a file it names cannot be read, or values contradict each other.
    pub fn common(&self) -> Result<Common, Error> {
        Common::resolve(self.common_settings()?, &self.environment)
    }

    /// Returns the settings of a service, as written.
    ///
    /// # Errors
    /// If a key is unknown or a value is invalid; the error names the key and its source.
    pub fn section<S: Section>(&self) -> Result<S, Error> {
        debug_assert!(
            KEYS.contains(&S::NAME),
            "`{}` is not among the known keys",
            S::NAME
        );
        match self.figment.find_value(S::NAME) {
            Err(_) => Ok(S::default()),
            Ok(Value::Dict(..)) => self
                .extract_section::<S>()
                .map_err(|error| self.explain(*error, S::NAME, reference::section_reference::<S>)),
            Ok(_) => Err(self.bad_value(
                S::NAME,
                format!("it is a section; write [{}] with its keys below", S::NAME),
            )),
        }
    }

    /// Returns true if any layer except the defaults sets this key, such as `log.level`.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.figment.contains(key)
    }

    /// Prints the active common settings and one section: one line per value with its source, secrets masked.
    ///
    /// # Errors
    /// Like [`LayeredConfig::common`] and [`LayeredConfig::section`].
    pub fn print<S: Section>(&self) -> Result<String, Error> {
        Ok(self.print_common()? + &self.print_section::<S>()?)
    }

    /// Prints the active common settings, like [`LayeredConfig::print`].
    ///
    /// # Errors
    /// Like [`LayeredConfig::common`].
    pub fn print_common(&self) -> Result<String, Error> {
        let mut settings = self.common_settings()?;
        settings.data = self.common()?.data().ok().map(Path::to_owned);
        Ok(self.lines("", &settings))
    }

    /// Prints the active settings of one section, like [`LayeredConfig::print`].
    ///
    /// # Errors
    /// Like [`LayeredConfig::section`].
    pub fn print_section<S: Section>(&self) -> Result<String, Error> {
        Ok(self.lines(S::NAME, &self.section::<S>()?))
    }

    /// Prints the unset common keys, commented out.
    #[must_use]
    pub fn print_unset_common(&self) -> String {
        self.unset_lines(&reference::common_reference())
    }

    /// Prints the unset keys of a section with their types, and its tables with examples, commented out.
    #[must_use]
    pub fn print_unset_section<S: Section>(&self) -> String {
        self.unset_lines(&reference::section_reference::<S>())
    }

    fn unset_lines(&self, tables: &[TableReference]) -> String {
        let mut text = String::new();
        for table in tables {
            let is_absent = table.is_entry() || table.is_optional && !self.is_set(&table.path);
            let unset = |key: &&reference::KeyReference| {
                is_absent || (key.default.is_none() && !self.is_set(&key.path))
            };
            for key in table.keys.iter().filter(unset) {
                text += &format!("# {}\n", unset_line(key));
            }
            for line in table.example.unwrap_or_default().trim().lines() {
                text += &format!("#   {line}\n");
            }
        }
        text
    }

    /// Extracts a section. A text from a variable or a flag is a list with one entry where a list is expected: brackets
    /// have to be quoted in a shell, and are easily forgotten.
    fn extract_section<S: Section>(&self) -> Result<S, Box<figment::Error>> {
        let mut section = self.figment.focus(S::NAME);
        loop {
            let error = match section.extract_lossy() {
                Ok(settings) => return Ok(settings),
                Err(error) => error,
            };
            let Some((key, entry)) = self.single_entry(S::NAME, &error) else {
                return Err(Box::new(error));
            };
            section = section.merge((key, vec![entry]));
        }
    }

    /// Returns the key and the text of a value that was given as text, if the error is that a list is expected there.
    fn single_entry(&self, section: &str, error: &figment::Error) -> Option<(String, String)> {
        let Kind::InvalidType(Actual::Str(text), expected) = &error.kind else {
            return None;
        };
        let key = error.path.join(".");
        let path = format!("{section}.{key}");
        let is_text = matches!(self.figment.find_value(&path), Ok(Value::String(..)));
        // Files have lists of their own; only text layers have no source.
        let has_file = self.figment.find_metadata(&path)?.source.is_some();
        let is_entry = expected == mismatch::LIST && is_text && !has_file && !text.is_empty();
        is_entry.then(|| (key, text.clone()))
    }

    fn common_settings(&self) -> Result<CommonSettings, Error> {
        let all: Dict = self
            .figment
            .extract()
            .map_err(|error| self.explain(error, "", reference::common_reference))?;
        let own = all
            .into_iter()
            .filter(|(key, _)| COMMON_KEYS.contains(&key.as_str()))
            .collect::<Dict>();
        let own = Figment::from(figment::providers::Serialized::defaults(own));
        own.extract_lossy()
            .map_err(|error| self.explain(error, "", reference::common_reference))
    }

    fn check_top_level(&self) -> Result<(), Error> {
        let all: Dict = self
            .figment
            .extract()
            .map_err(|error| self.explain(error, "", reference::common_reference))?;
        match all.keys().find(|key| !KEYS.contains(&key.as_str())) {
            Some(unknown) => Err(self.unknown_key(unknown.clone(), unknown, &KEYS)),
            None => Ok(()),
        }
    }

    /// Describes the source of the value at `path`.
    fn origin(&self, path: &str) -> String {
        let Some(metadata) = self.figment.find_metadata(path) else {
            return "default".to_owned();
        };
        match (&*metadata.name, &metadata.source) {
            (ENVIRONMENT_LAYER, _) => format!("from ${}", environment::variable(path)),
            (_, Some(source)) => format!("from {source}"),
            (flag, None) => format!("from {flag}"),
        }
    }

    /// Describes the source of the value at `path`, with its line in a file.
    fn place(&self, path: &str) -> String {
        // Only the list is known of a value within a list.
        let ends = path.match_indices('.').map(|(end, _)| end).rev();
        let mut paths = std::iter::once(path).chain(ends.map(|end| &path[..end]));
        let known = paths.find_map(|path| Some((path, self.figment.find_metadata(path)?)));
        let Some((known, metadata)) = known else {
            return self.origin(path);
        };
        let origin = self.origin(known);
        let is_in_file = metadata.source.is_some();
        let file = self.file.as_ref().filter(|_| is_in_file);
        match file.and_then(|file| mismatch::line_of(&file.content, path)) {
            Some(line) => format!("{origin}, line {line}"),
            None => origin,
        }
    }

    /// Converts an error of figment, whose path is relative to `section`. `tables` are the known ones.
    fn explain(
        &self,
        error: figment::Error,
        section: &str,
        tables: fn() -> Vec<TableReference>,
    ) -> Error {
        let section = Some(section).filter(|section| !section.is_empty());
        let below = error.path.iter().map(String::as_str);
        let mut path: Vec<&str> = section.into_iter().chain(below).collect();
        match &error.kind {
            Kind::UnknownField(field, known) => {
                if path.last() != Some(&field.as_str()) {
                    path.push(field);
                }
                self.unknown_key(path.join("."), field, known)
            }
            Kind::InvalidType(found, expected) => {
                let key = path.join(".");
                let problem = mismatch::describe(found, expected, &key, &tables());
                self.bad_value(&key, problem)
            }
            kind => self.bad_value(&path.join("."), kind.to_string()),
        }
    }

    fn bad_value(&self, key: &str, problem: String) -> Error {
        let origin = self.place(key);
        Error::BadValue {
            key: key.to_owned(),
            origin,
            problem,
        }
    }

    fn unknown_key(&self, key: String, last: &str, known: &[&str]) -> Error {
        let suggestion = match mismatch::closest(last, known.iter().copied()) {
            Some(name) => format!("; did you mean `{name}`?"),
            None => format!("; known keys: {}", known.join(", ")),
        };
        Error::UnknownKey {
            origin: self.place(&key),
            key,
            suggestion,
        }
    }

    fn lines(&self, prefix: &str, settings: &impl Serialize) -> String {
        let value =
            toml::Value::try_from(settings).expect("settings have text keys and plain values");
        let mut text = String::new();
        self.write_lines(prefix, &value, &mut text);
        text
    }

    fn write_lines(&self, path: &str, value: &toml::Value, text: &mut String) {
        if let toml::Value::Table(table) = value {
            for (key, value) in table {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                self.write_lines(&path, value, text);
            }
            return;
        }
        let value = reference::plain(value);
        writeln!(text, "{path} = {value}  # {}", self.origin(path))
            .expect("writing to a string succeeds");
    }
}

/// Describes a key that is not set.
fn unset_line(key: &reference::KeyReference) -> String {
    let path = &key.path;
    let note = if key.is_required {
        "required"
    } else {
        "not set"
    };
    match (&key.default, &key.example) {
        (Some(default), _) => format!("{path} = {default}  # default"),
        (None, Some(example)) => format!("{path} = {example}  # {note}; an example"),
        (None, None) => format!("{path} = <{}>  # {note}", key.kind),
    }
}

impl ConfigFile {
    fn read(path: PathBuf) -> Result<Self, Error> {
        match std::fs::read_to_string(&path) {
            Ok(content) => Ok(Self { path, content }),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// Returns the file as a layer.
    fn layer(&self) -> Result<figment::providers::Data<Toml>, Error> {
        // Parsed here only for its error with line and column; figment reads the file again to record its source.
        if let Err(error) = self.content.parse::<toml::Table>() {
            return Err(Error::NotToml {
                path: self.path.clone(),
                text: error.to_string().trim_end().to_owned(),
            });
        }
        Ok(Toml::file_exact(&self.path))
    }
}

/// A layer with one setting given as text, so that its source is recorded.
struct TextLayer<'a> {
    layer: &'static str,
    key: &'a str,
    text: &'a str,
}

impl figment::Provider for TextLayer<'_> {
    fn metadata(&self) -> figment::Metadata {
        figment::Metadata::named(self.layer)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        // Text stays text (a token may consist of digits); the typed settings parse numbers and booleans from it. Only
        // text that starts like a list or a table is parsed here.
        let value = match self.text.trim_start().chars().next() {
            Some('[' | '{') => self
                .text
                .parse()
                .expect("figment's parser accepts every text"),
            _ => Value::from(self.text),
        };
        let nested = figment::util::nest(self.key, value).into_dict();
        let dict =
            nested.ok_or_else(|| figment::Error::from(format!("`{}` is not a key", self.key)))?;
        Ok(Map::from([(Profile::Default, dict)]))
    }
}

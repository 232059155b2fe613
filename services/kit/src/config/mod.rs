//! Layered configuration: defaults, then a TOML file, then `MOTORIUM_*` variables, then flags; later ones win.
//!
//! It is resolved twice. A service's *settings* are what is written: optional, textual, refusing unknown keys. From
//! them the service makes its *configuration*: derived, checked, free of raw text. Nothing downstream sees settings.
//!
//! Every error names the key and where its value came from, and [`Loaded::print`] shows the same for what is in force.
//! Secrets are masked wherever anything is shown. Invariant: nothing here changes the process or creates files.

mod common;
mod environment;
mod error;
mod reload;
mod secret;
mod values;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use figment::error::Kind;
use figment::providers::{Format as _, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Profile};
use serde::Serialize;
use serde::de::DeserializeOwned;

use common::CommonSettings;
pub use common::{ClientSettings, Common, ServerSettings};
pub use environment::Environment;
pub use error::Error;
pub use secret::{MASK, Secret};
pub use values::{Listen, Span};

/// Every top-level key that some part of Motorium reads. One file may configure all of them.
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

/// Name of the environment's layer.
const ENVIRONMENT: &str = "environment";

/// The keys that [`Loaded::common`] reads.
const COMMON: [&str; 4] = ["client", "data", "log", "server"];

/// A service's own part of the configuration: its settings and their name.
///
/// Derive `Serialize`, `Deserialize` and `Default`, with `#[serde(default, deny_unknown_fields)]`.
pub trait Section: Default + Serialize + DeserializeOwned {
    /// The top-level key.
    const NAME: &'static str;
}

/// The flags that every server understands.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigFlags {
    /// Configuration file (TOML). Without it, $MOTORIUM_CONFIG, then only defaults.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for everything that is kept. [default: $XDG_DATA_HOME/motorium]
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Sets any configuration key, such as perception.listen=127.0.0.1:7411. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// The command line of a server that has no flags of its own.
#[derive(Debug, Clone, Default, clap::Parser)]
#[command(version)]
pub struct Flags {
    /// The configuration's flags.
    #[command(flatten)]
    pub config: ConfigFlags,
}

impl From<Flags> for ConfigFlags {
    fn from(flags: Flags) -> Self {
        flags.config
    }
}

/// The layers, read and merged, each value still with its source.
#[derive(Debug, Clone)]
pub struct Loaded {
    figment: Figment,
    environment: Environment,
    flags: ConfigFlags,
    /// The file that was read, if one was named.
    file: Option<File>,
}

/// A configuration file as it was read.
#[derive(Debug, Clone)]
struct File {
    path: PathBuf,
    content: String,
}

impl Loaded {
    /// Reads the file, the process's environment and the flags.
    ///
    /// # Errors
    /// If the file is named but unreadable or not TOML, a flag is malformed, or a top-level key is unknown.
    pub fn load(flags: impl Into<ConfigFlags>) -> Result<Self, Error> {
        Self::load_from(&flags.into(), Environment::of_process())
    }

    /// Like [`Loaded::load`], with a given environment.
    ///
    /// # Errors
    /// As there.
    pub fn load_from(flags: &ConfigFlags, environment: Environment) -> Result<Self, Error> {
        let mut figment = Figment::new();
        let named = environment.get("MOTORIUM_CONFIG").map(PathBuf::from);
        let file = flags.config.clone().or(named).map(File::read).transpose()?;
        if let Some(file) = &file {
            figment = figment.merge(file.layer()?);
        }
        for (key, text) in environment.settings() {
            figment = figment.merge(Given {
                layer: ENVIRONMENT,
                key: &key,
                text,
            });
        }
        if let Some(data) = &flags.data {
            figment = figment.merge(Given {
                layer: "--data",
                key: "data",
                text: &data.to_string_lossy(),
            });
        }
        for flag in &flags.set {
            let (key, text) = flag
                .split_once('=')
                .ok_or_else(|| Error::BadFlag { flag: flag.clone() })?;
            figment = figment.merge(Given {
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

    /// What all servers share, as meant.
    ///
    /// # Errors
    /// If a value cannot be used, a file it names cannot be read, or values contradict each other.
    pub fn common(&self) -> Result<Common, Error> {
        Common::resolve(self.common_settings()?, &self.environment)
    }

    /// A service's own settings, as written.
    ///
    /// # Errors
    /// If a key is unknown or a value cannot be used; the error names both and the source.
    pub fn section<S: Section>(&self) -> Result<S, Error> {
        debug_assert!(
            KEYS.contains(&S::NAME),
            "`{}` is not among the known keys",
            S::NAME
        );
        match self.figment.find_value(S::NAME) {
            Err(_) => Ok(S::default()),
            Ok(Value::Dict(..)) => {
                let section = self.figment.focus(S::NAME);
                section
                    .extract_lossy()
                    .map_err(|error| self.explain(error, S::NAME))
            }
            Ok(_) => Err(self.bad_value(
                S::NAME,
                format!("it is a section: write [{}] and its keys below", S::NAME),
            )),
        }
    }

    /// Whether any layer but the defaults gives this key, such as `log.level`.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.figment.contains(key)
    }

    /// What is in force for everyone and for one section: a line for each value, with its source, secrets masked.
    ///
    /// # Errors
    /// As for [`Loaded::common`] and [`Loaded::section`].
    pub fn print<S: Section>(&self) -> Result<String, Error> {
        Ok(self.print_common()? + &self.print_section::<S>()?)
    }

    /// What is in force for everyone, as [`Loaded::print`] does.
    ///
    /// # Errors
    /// As for [`Loaded::common`].
    pub fn print_common(&self) -> Result<String, Error> {
        let mut settings = self.common_settings()?;
        settings.data = self.common()?.data().ok().map(Path::to_owned);
        Ok(self.lines("", &settings))
    }

    /// What is in force for one section, as [`Loaded::print`] does.
    ///
    /// # Errors
    /// As for [`Loaded::section`].
    pub fn print_section<S: Section>(&self) -> Result<String, Error> {
        Ok(self.lines(S::NAME, &self.section::<S>()?))
    }

    fn common_settings(&self) -> Result<CommonSettings, Error> {
        let all: Dict = self
            .figment
            .extract()
            .map_err(|error| self.explain(error, ""))?;
        let own = all
            .into_iter()
            .filter(|(key, _)| COMMON.contains(&key.as_str()))
            .collect::<Dict>();
        let own = Figment::from(figment::providers::Serialized::defaults(own));
        own.extract_lossy().map_err(|error| self.explain(error, ""))
    }

    fn check_top_level(&self) -> Result<(), Error> {
        let all: Dict = self
            .figment
            .extract()
            .map_err(|error| self.explain(error, ""))?;
        match all.keys().find(|key| !KEYS.contains(&key.as_str())) {
            Some(unknown) => Err(self.unknown_key(unknown.clone(), unknown, &KEYS)),
            None => Ok(()),
        }
    }

    /// Says where the value at `path` came from.
    fn origin(&self, path: &str) -> String {
        let Some(metadata) = self.figment.find_metadata(path) else {
            return "default".to_owned();
        };
        match (&*metadata.name, &metadata.source) {
            (ENVIRONMENT, _) => format!("from ${}", environment::variable(path)),
            (_, Some(source)) => format!("from {source}"),
            (flag, None) => format!("from {flag}"),
        }
    }

    /// An error of figment's in our words; its path begins below `section`.
    /// An error of figment's in our words; its path begins below `section`.
    fn explain(&self, error: figment::Error, section: &str) -> Error {
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
            kind => self.bad_value(&path.join("."), kind.to_string()),
        }
    }

    fn bad_value(&self, key: &str, problem: String) -> Error {
        let origin = self.origin(key);
        Error::BadValue {
            key: key.to_owned(),
            origin,
            problem,
        }
    }

    fn unknown_key(&self, key: String, last: &str, known: &[&str]) -> Error {
        let closest = known
            .iter()
            .map(|name| (strsim::damerau_levenshtein(name, last), name))
            .min();
        let suggestion = match closest {
            Some((distance, name)) if distance <= 2 => format!("; did you mean `{name}`?"),
            _ => format!("; known are: {}", known.join(", ")),
        };
        Error::UnknownKey {
            origin: self.origin(&key),
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
        writeln!(text, "{path} = {value}  # {}", self.origin(path))
            .expect("writing to a string succeeds");
    }
}

impl File {
    fn read(path: PathBuf) -> Result<Self, Error> {
        match std::fs::read_to_string(&path) {
            Ok(content) => Ok(Self { path, content }),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// The file as a layer.
    fn layer(&self) -> Result<figment::providers::Data<Toml>, Error> {
        // Parsed here only for its error, which has line and column; figment reads the file again with its source.
        if let Err(error) = self.content.parse::<toml::Table>() {
            return Err(Error::NotToml {
                path: self.path.clone(),
                text: error.to_string().trim_end().to_owned(),
            });
        }
        Ok(Toml::file_exact(&self.path))
    }
}

/// One setting given as text, as a layer of its own, so that its source is known.
struct Given<'a> {
    layer: &'static str,
    key: &'a str,
    text: &'a str,
}

impl figment::Provider for Given<'_> {
    fn metadata(&self) -> figment::Metadata {
        figment::Metadata::named(self.layer)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        // Text stays text (a token may consist of digits); numbers and truth values are read from it where they are
        // asked for. Only what is evidently a list or a table is parsed here.
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

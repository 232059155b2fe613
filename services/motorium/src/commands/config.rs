//! `motorium config`: prints the effective configuration with the source of each value, or the reference of all keys.
//!
//! It does not change the configuration. What it prints is resolved as well, so that a value that no service would start
//! with is an error here already.

use std::process::ExitCode;

use motorium_executor::config::Config as ExecutorConfig;
use motorium_kit::config::reference::{TableReference, common_reference, section_reference};
use motorium_kit::config::{self, LayeredConfig, Section};
use motorium_perception::config::Config as PerceptionConfig;

use crate::cli::Config;
use crate::commands::config_reference;
use crate::error::Error;
use crate::output;

/// A section of the configuration, without its type.
struct AnySection {
    print: fn(&LayeredConfig) -> Result<String, config::Error>,
    print_unset: fn(&LayeredConfig) -> String,
    reference: fn() -> Vec<TableReference>,
    /// Resolves the settings as the service does when it starts, and starts nothing.
    check: fn(&LayeredConfig) -> Result<(), Error>,
}

impl AnySection {
    const fn of<S: Section>(check: fn(&LayeredConfig) -> Result<(), Error>) -> Self {
        Self {
            print: LayeredConfig::print_section::<S>,
            print_unset: LayeredConfig::print_unset_section::<S>,
            reference: section_reference::<S>,
            check,
        }
    }
}

/// Settings common to all servers, and the sections of the services.
const SECTIONS: [AnySection; 8] = [
    AnySection {
        print: LayeredConfig::print_common,
        print_unset: LayeredConfig::print_unset_common,
        reference: common_reference,
        check: |loaded| loaded.common().map(drop).map_err(Error::from),
    },
    AnySection::of::<motorium_orchestrator::Settings>(check_orchestrator),
    AnySection::of::<motorium_orchestrator::storage::Settings>(only_read),
    AnySection::of::<motorium_perception::config::Settings>(check_perception),
    AnySection::of::<motorium_planner::Settings>(check_planner),
    AnySection::of::<motorium_executor::config::Settings>(check_executor),
    AnySection::of::<motorium_gateway::Settings>(check_gateway),
    AnySection::of::<crate::virtual_desktop::Settings>(only_read),
];

/// Prints the configuration of every service, secrets masked, or the reference.
pub(crate) fn config(loaded: &LayeredConfig, args: &Config) -> Result<ExitCode, Error> {
    if args.reference {
        output::line(reference().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for section in &SECTIONS {
        text += &(section.print)(loaded)?;
        if args.all {
            text += &(section.print_unset)(loaded);
        }
    }
    output::line(text.trim_end());
    // After the output, which shows where the refused value comes from.
    for section in &SECTIONS {
        (section.check)(loaded)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks a section of which every value that can be read is valid, or is only found invalid when it is used.
#[expect(
    clippy::unnecessary_wraps,
    reason = "has the type of the checks that fail"
)]
fn only_read(_: &LayeredConfig) -> Result<(), Error> {
    Ok(())
}

fn check_orchestrator(loaded: &LayeredConfig) -> Result<(), Error> {
    let settings: motorium_orchestrator::Settings = loaded.section()?;
    settings.resolve().map(drop).map_err(invalid)
}

fn check_perception(loaded: &LayeredConfig) -> Result<(), Error> {
    let settings = loaded.section()?;
    let common = loaded.common()?;
    let environment = motorium_executor::config::process_environment();
    let resolved = PerceptionConfig::resolve(settings, common.data()?, environment);
    resolved.map(drop).map_err(invalid)
}

fn check_planner(loaded: &LayeredConfig) -> Result<(), Error> {
    let settings: motorium_planner::Settings = loaded.section()?;
    settings.resolve().map(drop).map_err(invalid)
}

fn check_executor(loaded: &LayeredConfig) -> Result<(), Error> {
    let settings = loaded.section()?;
    let common = loaded.common()?;
    let environment = motorium_executor::config::process_environment();
    let resolved = ExecutorConfig::resolve(settings, common.data()?, environment);
    resolved.map(drop).map_err(invalid)
}

fn check_gateway(loaded: &LayeredConfig) -> Result<(), Error> {
    let settings: motorium_gateway::Settings = loaded.section()?;
    settings.resolve().map(drop).map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::Usage(error.to_string())
}

/// Returns docs/configuration.md.
fn reference() -> String {
    let sections = SECTIONS.iter().map(|section| (section.reference)());
    config_reference::document(&sections.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use motorium_kit::config::{ConfigFlags, Environment};

    use super::*;

    fn load(file: &str) -> LayeredConfig {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("motorium.toml");
        fs::write(&path, file).unwrap();
        let flags = ConfigFlags {
            config: Some(path),
            ..ConfigFlags::default()
        };
        LayeredConfig::load_from(&flags, Environment::of([("HOME", "/home/me")])).unwrap()
    }

    #[test]
    fn the_document_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        let stored = fs::read_to_string(path).unwrap_or_default();
        let differs = |(line, stored): &(&str, &str)| line != stored;
        let reference = reference();
        let difference = reference.lines().zip(stored.lines()).find(differs);
        assert!(
            stored.trim_end() == reference.trim_end(),
            "docs/configuration.md is out of date; run `make docs`. First difference: {difference:?}"
        );
    }

    #[test]
    fn every_key_is_described() {
        for section in &SECTIONS {
            for table in (section.reference)() {
                let header = table.header();
                assert!(!table.description.is_empty(), "{header} has no description");
                for key in &table.keys {
                    assert!(
                        !key.description.is_empty(),
                        "{} has no description",
                        key.path
                    );
                    let has_value = key.default.is_some() || key.example.is_some();
                    let is_choice = key.kind.contains(" or ") || key.kind == "secret";
                    assert!(
                        has_value || is_choice || key.is_required,
                        "{} has neither a default nor an example",
                        key.path
                    );
                }
                if table.is_entry() && table.is_array == table.is_in_array {
                    let is_shown =
                        table.example.is_some() || table.path.ends_with("allowed_regions");
                    assert!(is_shown, "{header} has no example");
                }
            }
        }
    }

    #[test]
    fn examples_and_defaults_are_accepted() {
        for section in &SECTIONS[1..] {
            let tables = (section.reference)();
            for example in tables.iter().filter_map(|table| table.example) {
                let printed = (section.print)(&load(example));
                assert!(printed.is_ok(), "{example}: {}", printed.unwrap_err());
            }
            let is_present = |table: &&TableReference| !table.is_optional;
            for key in tables
                .iter()
                .filter(is_present)
                .flat_map(|table| &table.keys)
            {
                for value in [&key.default, &key.example].into_iter().flatten() {
                    let mut file = String::new();
                    writeln!(file, "{} = {value}", key.path).unwrap();
                    let printed = (section.print)(&load(&file));
                    assert!(printed.is_ok(), "{file}: {}", printed.unwrap_err());
                }
            }
        }
    }

    #[test]
    fn a_value_that_no_service_starts_with_is_an_error() {
        let check = |file: &str, expected: &str| {
            let loaded = load(file);
            let problems = SECTIONS.iter().filter_map(|one| (one.check)(&loaded).err());
            let problems: Vec<String> = problems.map(|problem| problem.to_string()).collect();
            assert_eq!(problems.len(), 1, "{file}: {problems:?}");
            assert!(problems[0].contains(expected), "{file}: {problems:?}");
        };
        check("planner.backends = [\"foo\"]", "unknown backend `foo`");
        check("executor.driver = \"foo\"", "executor.driver");
        check("perception.driver = \"foo\"", "perception.driver");
    }

    #[test]
    fn unset_keys_are_comments() {
        let loaded = load("executor.devtools = \"http://127.0.0.1:9222\"");
        for section in &SECTIONS {
            let unset = (section.print_unset)(&loaded);
            assert!(unset.lines().all(|line| line.starts_with('#')), "{unset}");
            assert!(!unset.contains("# executor.devtools"), "{unset}");
        }
        let executor = (SECTIONS[5].print_unset)(&loaded);
        assert!(
            executor.contains("# executor.secrets = \"/etc/motorium/secrets\""),
            "{executor}"
        );
        assert!(
            executor.contains("#   [executor.applications.editor]"),
            "{executor}"
        );
    }
}

//! The template files. Each is built in from `prompts/LANGUAGE/NAME.jinja`; a file with the same name in the user's
//! folder replaces it.
//!
//! A template that uses an undefined value is an error, because a gap in a prompt would go unnoticed. Unknown names are
//! detected when the files are loaded, not in the middle of a task.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use motorium_proto::domain::frame::Frame;
use serde::Serialize;

use super::Language;
use super::advice::{self, AdviceSet, MalformedAdvice};

/// Declares and embeds the templates.
macro_rules! templates {
    ($($name:literal,)*) => {
        /// Language, name and text of each template.
        const BUILT_IN: &[(Language, &str, &str)] = &[$(
            (Language::English, $name, include_str!(concat!("../../prompts/en/", $name, ".jinja"))),
            (Language::Chinese, $name, include_str!(concat!("../../prompts/zh/", $name, ".jinja"))),
        )*];
        /// Valid names, for error messages.
        const NAMES: &[&str] = &[$($name),*];
    };
}

templates! {
    "background",
    "computer_first",
    "computer_update",
    "computer_system",
    "extract",
    "extract_system",
    "pointer",
    "pointer_system",
    "som_repair",
    "som_step",
    "som_system",
    "opencua_system",
    "opencua_task",
    "qwen_vl_screen",
    "qwen_vl_system",
    "qwen_vl_task",
    "summary",
    "summary_system",
    "target",
    "target_system",
}

/// Templates that receive the whole [`PromptContext`](super::PromptContext), and may use more of it than the built-in
/// ones.
const CONTEXT_TEMPLATES: &[&str] = &[
    "computer_first",
    "computer_system",
    "opencua_task",
    "qwen_vl_screen",
    "qwen_vl_task",
    "som_step",
];
/// Fields of the context.
const CONTEXT_VALUES: &[&str] = &[
    "advice",
    "applications",
    "background",
    "data",
    "elements",
    "functions",
    "goal",
    "history",
    "instructions",
    "language",
    "limits",
    "notices",
    "page",
    "platform",
    "step",
    "user_messages",
    "windows",
];

/// A prompt that cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the prompt template {name} cannot be used: {reason}")]
    Template { name: String, reason: String },
    #[error("the prompts in {} cannot be read: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: {source}", path.display())]
    Advice {
        path: PathBuf,
        source: MalformedAdvice,
    },
    #[error("a built-in advice file is malformed: {0}")]
    BuiltIn(#[from] MalformedAdvice),
    #[error("{} is not a known prompt template; known templates: {}", path.display(), NAMES.join(", "))]
    Unknown { path: PathBuf },
    #[error("the prompt template {} uses the unknown value {}; known values: {known}", path.display(), names(unknown))]
    Values {
        path: PathBuf,
        unknown: BTreeSet<String>,
        known: String,
    },
    #[error(
        "the prompts folder {} has no subfolder `en` or `zh`; put the templates into these",
        path.display()
    )]
    NoLanguage { path: PathBuf },
}

/// All templates, ready to render.
#[derive(Debug)]
pub struct Prompts {
    environment: Environment<'static>,
    advice: AdviceSet,
}

impl Prompts {
    /// Loads the built-in templates.
    ///
    /// # Errors
    /// Fails if one of them is malformed.
    pub fn built_in() -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_syntax(syntax()?);
        let mut prompts = Self {
            environment,
            advice: AdviceSet::built_in()?,
        };
        for (language, name, text) in BUILT_IN {
            prompts.add(*language, name, (*text).to_owned())?;
        }
        Ok(prompts)
    }

    /// Loads the built-in templates with the files of a user's folder, which replace them (`FOLDER/en/som_system.jinja`,
    /// `FOLDER/en/advice/browser.md`) or are added (advice for other applications).
    ///
    /// # Errors
    /// Fails if the folder cannot be read or has no language folder, or a file in it is malformed, has an unknown name,
    /// or uses an unknown value.
    pub fn with_folder(folder: &Path) -> Result<Self, Error> {
        std::fs::read_dir(folder).map_err(|source| Error::Read {
            path: folder.to_owned(),
            source,
        })?;
        let is_there = |language: &Language| folder.join(language.tag()).is_dir();
        if !Language::ALL.iter().any(is_there) {
            return Err(Error::NoLanguage {
                path: folder.to_owned(),
            });
        }
        let mut prompts = Self::built_in()?;
        for language in Language::ALL {
            let folder = folder.join(language.tag());
            for path in files(&folder, "jinja")? {
                prompts.replace(language, &path)?;
            }
            for path in files(&folder.join("advice"), "md")? {
                prompts.add_advice(language, &path)?;
            }
        }
        Ok(prompts)
    }

    /// Returns the advice for the active window of a frame.
    #[must_use]
    pub fn advice(&self, frame: &Frame, language: Language) -> Vec<String> {
        let window = frame.active_window();
        let advice = window.map(|window| self.advice.for_window(window, language));
        let advice = advice.into_iter().flatten();
        advice.map(str::to_owned).collect()
    }

    /// Renders a template with these values.
    ///
    /// # Errors
    /// Fails if there is no such template, or it uses an undefined value.
    pub fn render(
        &self,
        name: &str,
        language: Language,
        values: impl Serialize,
    ) -> Result<String, Error> {
        let name = path_of(language, name);
        let rendered = self
            .environment
            .get_template(&name)
            .and_then(|template| template.render(Serde(values)));
        rendered.map_err(|error| unusable(&name, &error))
    }

    fn add_advice(&mut self, language: Language, path: &Path) -> Result<(), Error> {
        let text = read(path)?;
        let name = advice::name_of(path).unwrap_or_default();
        let added = self.advice.put(language, name, &text);
        added.map_err(|source| Error::Advice {
            path: path.to_owned(),
            source,
        })
    }

    /// Replaces a built-in template with a user's file.
    fn replace(&mut self, language: Language, path: &Path) -> Result<(), Error> {
        let name = known(path)?;
        let known = self.values(name);
        self.add(language, name, read(path)?)?;
        let used = self.used(language, name);
        let unknown: BTreeSet<String> = used.difference(&known).cloned().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(Error::Values {
            path: path.to_owned(),
            unknown,
            known: names(&known),
        })
    }

    /// Returns the values that a template receives: those that the built-in one uses in any language, and its context.
    fn values(&self, name: &str) -> BTreeSet<String> {
        let ours = Language::ALL.into_iter();
        let ours = ours.flat_map(|language| self.used(language, name));
        let more = CONTEXT_TEMPLATES.contains(&name).then_some(CONTEXT_VALUES);
        let more = more.into_iter().flatten().map(|value| (*value).to_owned());
        ours.chain(more).collect()
    }

    /// Returns the values that a loaded template uses.
    fn used(&self, language: Language, name: &str) -> BTreeSet<String> {
        let template = self.environment.get_template(&path_of(language, name));
        let mut used = template.map_or_else(
            |_| BTreeSet::new(),
            |template| template.undeclared_variables(false).into_iter().collect(),
        );
        self.environment.globals().for_each(|(global, _)| {
            used.remove(global);
        });
        used
    }

    fn add(&mut self, language: Language, name: &str, text: String) -> Result<(), Error> {
        let name = path_of(language, name);
        self.environment
            .add_template_owned(name.clone(), text)
            .map_err(|error| unusable(&name, &error))
    }
}

/// Returns the syntax: a line with only a tag leaves no empty line.
fn syntax() -> Result<SyntaxConfig, Error> {
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    syntax.map_err(|error| unusable("syntax", &error))
}

fn names(values: &BTreeSet<String>) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    quoted.join(", ")
}

fn path_of(language: Language, name: &str) -> String {
    format!("{}/{name}", language.tag())
}

fn unusable(name: &str, error: &minijinja::Error) -> Error {
    Error::Template {
        name: name.to_owned(),
        reason: format!("{error:#}"),
    }
}

/// Returns the files of a folder with this extension, sorted by name; none if the folder does not exist.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == ending)
    });
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

/// Returns the name of the template that a file replaces.
fn known(path: &Path) -> Result<&'static str, Error> {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let known = NAMES.iter().find(|known| Some(**known) == name);
    known.copied().ok_or_else(|| Error::Unknown {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(file: &str, text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        folder
    }

    #[test]
    fn every_template_of_the_program_is_well_formed() {
        Prompts::built_in().unwrap();
    }

    #[test]
    fn user_template_overrides_only_its_language() {
        let folder = folder_with("en/som_system.jinja", "Hello {{ language }}");
        let prompts = Prompts::with_folder(folder.path()).unwrap();
        let values = minijinja::context! { language => "you" };
        let text = prompts.render("som_system", Language::English, &values);
        assert_eq!(text.unwrap(), "Hello you");
        let chinese = prompts.render("som_system", Language::Chinese, &values);
        assert!(!chinese.is_ok_and(|text| text.contains("Hello")));
    }

    #[test]
    fn undefined_template_value_is_an_error() {
        let folder = folder_with("en/som_system.jinja", "Hello {{ language.tag }}");
        let prompts = Prompts::with_folder(folder.path()).unwrap();
        let values = minijinja::context! { language => "you" };
        let error = prompts.render("som_system", Language::English, values);
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("the prompt template en/som_system cannot be used: undefined value"),
            "{error}"
        );
    }

    #[test]
    fn unknown_template_file_is_reported() {
        let folder = folder_with("zh/sum_system.jinja", "");
        let error = Prompts::with_folder(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains(
                "sum_system.jinja is not a known prompt template; known templates: background,"
            ),
            "{error}"
        );
    }

    #[track_caller]
    fn refused(file: &str, text: &str, parts: &[&str]) {
        let folder = folder_with(file, text);
        let error = Prompts::with_folder(folder.path()).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in {error}");
        }
    }

    #[test]
    fn a_malformed_file_is_found_at_the_start() {
        refused(
            "en/som_system.jinja",
            "Hello\n{% if %}",
            &["en/som_system", "syntax error", "som_system:2"],
        );
        refused(
            "zh/advice/bank.md",
            "Never pay.",
            &[
                "zh/advice/bank.md",
                "must start with a line `applications: …`",
            ],
        );
    }

    #[test]
    fn a_misspelt_value_is_found_at_the_start() {
        refused(
            "en/som_system.jinja",
            "Hello {{ langauge }}",
            &[
                "en/som_system.jinja uses the unknown value `langauge`; known values: `form`, `functions`, `images`",
            ],
        );
        // Values inside a condition are checked too.
        refused(
            "zh/extract.jinja",
            "{% if hurry %}!{% endif %}{{ schema }}",
            &["uses the unknown value `hurry`"],
        );
    }

    #[test]
    fn context_values_list_every_field() {
        let situation = crate::prompt::PromptContext::default();
        let situation = serde_json::to_value(situation).unwrap();
        let mut fields: Vec<&String> = situation.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, CONTEXT_VALUES);
    }

    #[test]
    fn both_languages_are_given_the_same_values() {
        let prompts = Prompts::built_in().unwrap();
        for name in NAMES {
            let [english, chinese] = Language::ALL.map(|language| prompts.used(language, name));
            assert_eq!(english, chinese, "{name}");
        }
    }

    #[test]
    fn user_template_may_use_every_context_value() {
        let text =
            "{% for number in range(2) %}{{ loop.index }}{% endfor %} {{ platform }} {{ windows }}";
        let folder = folder_with("en/computer_first.jinja", text);
        Prompts::with_folder(folder.path()).unwrap();
    }

    #[test]
    fn missing_or_empty_prompt_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Prompts::with_folder(&folder.path().join("promts")).unwrap_err();
        assert!(
            error.to_string().contains("promts cannot be read"),
            "{error}"
        );
        std::fs::write(folder.path().join("som_system.jinja"), "Hello").unwrap();
        let error = Prompts::with_folder(folder.path()).unwrap_err();
        let expected = "has no subfolder `en` or `zh`";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

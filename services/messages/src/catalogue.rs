//! Texts of the messages in each language.
//!
//! Their ids and arguments are not declared here but in `message`.

use std::sync::LazyLock;

use fluent_bundle::FluentResource;
use fluent_bundle::concurrent::FluentBundle;
use unic_langid::LanguageIdentifier;

use crate::{Language, Message};

const ENGLISH: &str = include_str!("../locales/en.ftl");
const CHINESE: &str = include_str!("../locales/zh.ftl");

type Catalogue = FluentBundle<FluentResource>;

static ENGLISH_CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| catalogue(Language::English));
static CHINESE_CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| catalogue(Language::Chinese));

impl Message<'_> {
    /// Returns the text in this language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let catalogue: &Catalogue = match language {
            Language::English => &ENGLISH_CATALOGUE,
            Language::Chinese => &CHINESE_CATALOGUE,
        };
        let message = catalogue.get_message(self.id());
        let Some(pattern) = message.and_then(|message| message.value()) else {
            // A test finds missing texts; the id is still better than no text.
            return self.id().to_owned();
        };
        let arguments = self.arguments();
        let mut errors = Vec::new();
        catalogue
            .format_pattern(pattern, Some(&arguments), &mut errors)
            .into_owned()
    }
}

/// Joins the items of an enumeration, such as "a, b".
#[must_use]
pub fn join_list<T: AsRef<str>>(items: &[T], language: Language) -> String {
    join(items, Message::ListSeparator, language)
}

/// Joins clauses that may contain commas, such as "a; b".
#[must_use]
pub fn join_clauses<T: AsRef<str>>(clauses: &[T], language: Language) -> String {
    join(clauses, Message::ClauseSeparator, language)
}

/// Joins complete sentences.
#[must_use]
pub fn join_sentences<T: AsRef<str>>(sentences: &[T], language: Language) -> String {
    join(sentences, Message::SentenceSeparator, language)
}

/// Returns a name as the key of a choice in a message, which has neither spaces nor underscores.
#[must_use]
pub fn choice_key(name: &str) -> String {
    name.to_lowercase().replace([' ', '_'], "-")
}

fn join<T: AsRef<str>>(items: &[T], separator: Message<'_>, language: Language) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    items.join(&separator.text(language))
}

fn catalogue(language: Language) -> Catalogue {
    let texts = match language {
        Language::English => ENGLISH,
        Language::Chinese => CHINESE,
    };
    let locale: LanguageIdentifier = language
        .tag()
        .parse()
        .expect("the tags of the languages are language identifiers");
    let resource = FluentResource::try_new(texts.to_owned())
        .expect("the texts of the crate are read by its tests");
    let mut catalogue = FluentBundle::new_concurrent(vec![locale]);
    // Arguments are not wrapped in Unicode direction marks: both languages run from left to right, and the texts are
    // compared, logged and read by models.
    catalogue.set_use_isolating(false);
    catalogue
        .add_resource(resource)
        .expect("the tests find ids that occur twice");
    catalogue
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

    use super::*;

    /// Words in Chinese texts that are the same in both languages.
    const SHARED_WORDS: &[&str] = &[
        "y", "N", "Ctrl", "C", "JPEG", "JSON", "MCP", "Motorium", "PNG", "WebP",
    ];

    /// The arguments of a text, and its characters that are written out.
    #[derive(Debug, Default)]
    struct Text {
        arguments: BTreeSet<String>,
        written: String,
    }

    fn texts(source: &str) -> BTreeMap<String, Text> {
        let resource = fluent_syntax::parser::parse(source).expect("the file is valid");
        let mut texts = BTreeMap::new();
        for entry in &resource.body {
            let Entry::Message(message) = entry else {
                continue;
            };
            let mut text = Text::default();
            let pattern = message.value.as_ref().expect("every message has a text");
            read_pattern(pattern, &mut text);
            let id = message.id.name.to_owned();
            assert!(
                texts.insert(id, text).is_none(),
                "{} occurs twice",
                message.id.name
            );
        }
        texts
    }

    fn read_pattern(pattern: &Pattern<&str>, text: &mut Text) {
        for element in &pattern.elements {
            match element {
                PatternElement::TextElement { value } => text.written.push_str(value),
                PatternElement::Placeable { expression } => read_expression(expression, text),
            }
        }
    }

    fn read_expression(expression: &Expression<&str>, text: &mut Text) {
        match expression {
            Expression::Inline(inline) => read_inline(inline, text),
            Expression::Select { selector, variants } => {
                read_inline(selector, text);
                for variant in variants {
                    read_pattern(&variant.value, text);
                }
            }
        }
    }

    fn read_inline(inline: &InlineExpression<&str>, text: &mut Text) {
        match inline {
            InlineExpression::VariableReference { id } => {
                text.arguments.insert(id.name.to_owned());
            }
            InlineExpression::StringLiteral { value } => text.written.push_str(value),
            other => panic!("{other:?} is not used in the catalogue"),
        }
    }

    #[test]
    fn both_languages_have_the_declared_messages_and_arguments() {
        let declared: BTreeMap<String, BTreeSet<String>> = Message::DECLARED
            .iter()
            .map(|(id, arguments)| {
                let arguments = arguments.iter().map(|name| (*name).to_owned());
                ((*id).to_owned(), arguments.collect())
            })
            .collect();
        assert_eq!(declared.len(), Message::DECLARED.len(), "ids are unique");
        for source in [ENGLISH, CHINESE] {
            let used: BTreeMap<String, BTreeSet<String>> = texts(source)
                .into_iter()
                .map(|(id, text)| (id, text.arguments))
                .collect();
            assert_eq!(used, declared);
        }
    }

    #[test]
    fn chinese_texts_are_translated() {
        for (id, text) in texts(CHINESE) {
            // Code in backticks, such as commands and keys, is not translated.
            let prose: String = text.written.split('`').step_by(2).collect();
            let english: Vec<&str> = prose
                .split(|character: char| !character.is_ascii_alphabetic())
                .filter(|word| !word.is_empty() && !SHARED_WORDS.contains(word))
                .collect();
            assert!(english.is_empty(), "{id}: {english:?}");
            let is_empty = text.written.is_empty() && id != "sentence-separator";
            assert!(!is_empty, "{id} has no text");
            // Commas occur in coordinates.
            assert!(!prose.contains([';', '?', '!', ':']), "{id}: {prose}");
        }
    }

    #[track_caller]
    fn check(message: Message<'_>, english: &str, chinese: &str) {
        assert_eq!(message.text(Language::English), english);
        assert_eq!(message.text(Language::Chinese), chinese);
    }

    #[test]
    fn arguments_and_plurals_are_inserted() {
        check(Message::EffectNone, "nothing changed", "没有变化");
        check(
            Message::EffectAtTarget { pixels: 1 },
            "1 pixel changed at the target",
            "目标处有 1 个像素发生变化",
        );
        check(
            Message::EffectAtTarget { pixels: 12_345 },
            "12345 pixels changed at the target",
            "目标处有 12345 个像素发生变化",
        );
        check(
            Message::RetryOffset { attempts: 2 },
            "nothing changed (after 2 attempts); trying a few pixels away",
            "没有变化（已尝试 2 次）；改为在几个像素之外再试",
        );
        check(
            Message::RiskLimit {
                max: 3,
                risk: "pay",
            },
            "the limit of 3 risky actions is used up, and the next one is risky (pay); \
             raise limits.max_risky_actions if the task needs more",
            "已达到 3 次高风险操作的上限，而下一个操作属于高风险（付款）；如果任务需要更多次，请调高 `limits.max_risky_actions`",
        );
    }

    #[test]
    fn a_manual_action_names_the_button_and_the_element() {
        let clicked = |button| Message::PersonClicked { x: 3, y: 4, button };
        check(clicked("left"), "clicked at (3, 4)", "单击了 (3, 4) 处");
        check(
            clicked("right"),
            "clicked at (3, 4) with the right button",
            "右键单击了 (3, 4) 处",
        );
        let on_element = Message::PersonClickedElement {
            element: "“保存”",
            x: -3,
            y: 4,
            button: "left",
        };
        check(
            on_element,
            "clicked “保存” at (-3, 4)",
            "单击了 (-3, 4) 处的“保存”",
        );
    }

    #[test]
    fn items_are_joined_as_the_language_does() {
        let items = ["a", "b"];
        assert_eq!(join_list(&items, Language::English), "a, b");
        assert_eq!(join_list(&items, Language::Chinese), "a、b");
        assert_eq!(join_clauses(&items, Language::English), "a; b");
        assert_eq!(join_clauses(&items, Language::Chinese), "a；b");
        assert_eq!(join_sentences(&items, Language::English), "a b");
        assert_eq!(join_sentences(&items, Language::Chinese), "ab");
    }
}

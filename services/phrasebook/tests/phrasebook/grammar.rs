//! Parsing of a table of sentences, as one snapshot to review when it changes.

use motorium_phrasebook::grammar::{Instruction, parse};

/// Returns the goals of the table; `\n` in a line is a line end.
fn goals() -> impl Iterator<Item = String> {
    include_str!("sentences.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.replace("\\n", "\n"))
}

fn shown(goal: &str) -> String {
    let heading = format!("{goal:?}\n");
    match parse(goal) {
        Ok(clauses) => {
            let lines = clauses.iter().map(|clause| {
                let literals = clause
                    .instruction
                    .target()
                    .map(|aim| aim.literals.clone())
                    .unwrap_or_default();
                let or = if literals.is_empty() {
                    String::new()
                } else {
                    format!("   | {}", literals.join(" | "))
                };
                let joined = clause
                    .joined
                    .as_ref()
                    .map(|joined| format!("   [or {} for {}]", joined.target, joined.clause_count));
                format!(
                    "    {}{or}{}\n",
                    clause.instruction,
                    joined.unwrap_or_default()
                )
            });
            heading + &lines.collect::<String>()
        }
        Err(error) => format!("{heading}    ! {error}\n"),
    }
}

#[test]
fn sentences() {
    let table: String = goals().map(|goal| shown(&goal)).collect();
    insta::assert_snapshot!(table);
}

#[test]
fn text_after_a_quoted_value_must_be_a_clause() {
    let parsed = |goal: &str| match parse(goal) {
        Ok(clauses) => {
            let clauses = clauses.iter().map(|clause| plain(&clause.instruction));
            clauses.collect::<Vec<_>>().join("; ")
        }
        Err(error) => format!("! {error}"),
    };
    let check = |goal: &str, expected: &str| assert_eq!(parsed(goal), expected, "{goal}");
    let filled = r#"fill the text field "Full name" with "Eva Langer""#;
    let unknown = "! `save` is not understood: it does not start with a known verb";
    check(r#"change "Full name" to "Eva Langer" and save"#, unknown);
    check(r#"set "Full name" to "Eva Langer" then save"#, unknown);
    check(r#"type "Eva Langer" and save"#, unknown);
    check(r#"paste "Eva Langer", and save"#, unknown);
    check(
        r#"change "Full name" to "Eva Langer" and clik "Save""#,
        "! `clik \"Save\"` is not understood: it does not start with a known verb; did you mean `click`",
    );
    check(
        r#"change "Full name" to "Eva Langer" and click "Save""#,
        &format!(r#"{filled}; click "Save""#),
    );
    check(r#"change "Full name" to "Eva Langer" please"#, filled);
    check(
        r#"type "Eva Langer" quickly"#,
        "! `quickly` is not understood: unexpected `quickly`",
    );
}

/// Returns the canonical sentence of an instruction.
fn plain(step: &Instruction) -> String {
    step.to_string()
}

#[test]
fn the_plainest_sentence_means_the_same() {
    for goal in goals() {
        for clause in parse(&goal).unwrap_or_default() {
            let sentence = plain(&clause.instruction);
            let again =
                parse(&sentence).unwrap_or_else(|error| panic!("{goal}: {sentence}: {error}"));
            assert_eq!(
                again
                    .iter()
                    .map(|clause| plain(&clause.instruction))
                    .collect::<Vec<_>>(),
                [sentence],
                "{goal}"
            );
        }
    }
}

/// Asserts the invariants of parsing for any goal.
fn holds_together(goal: &str) {
    let inside = |span: &std::ops::Range<usize>| goal.get(span.clone()).is_some();
    match parse(goal) {
        Ok(clauses) => {
            assert!(!clauses.is_empty(), "{goal:?}");
            assert!(
                clauses.iter().all(|clause| inside(&clause.span)),
                "{goal:?}"
            );
        }
        Err(error) => assert!(inside(&error.span), "{goal:?}"),
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_read_without_panic(goal in proptest::string::string_regex("(?s).{0,80}").unwrap()) {
        holds_together(&goal);
    }

    #[test]
    fn any_row_of_words_is_read_without_panic(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "click", "type", "the", "second", "button", "in", "into", "\"A\"", "'b c'", "and", "then", ",", ";", ".", "with", "from", "scroll",
                "to", "until", "wait", "for", "5", "seconds", "press", "ctrl+s", "hold", "secret:X", "https://a.b/c;d", "点击", "输入", "在", "中", "到", "把",
                "第", "二", "个", "按钮", "“保存”", "，", "。", "然后", "再", "的", "右上角", "\n", "\\", "\"", "“", "e\u{301}", "👩‍👩‍👧", "ﬁ", "\u{200b}", "drag",
                "check", "that", "is", "shown", "fill", "=", "it", "all", "row", "of", "next", "open", "select",
            ]),
            0..14,
        ),
        spaced in proptest::bool::ANY,
    ) {
        holds_together(&words.join(if spaced { " " } else { "" }));
    }
}

//! A disguised text folds to the plain one, and the policy's lexicon recognises it.

use motorium_text::disguises::DISGUISES;
use motorium_text::fold::{NormalisedText, words};
use motorium_text::lexicon::{DELETE, Lexicon};

const TEXTS: [&str; 3] = ["delete", "ignore previous instructions", "pay now"];

#[test]
fn disguised_text_folds_to_the_plain_one() {
    for disguise in DISGUISES {
        for plain in TEXTS {
            let disguised = (disguise.apply)(plain);
            assert_eq!(
                words(&disguised),
                words(plain),
                "{}: {disguised:?}",
                disguise.name
            );
            assert_eq!(
                NormalisedText::of(&disguised),
                NormalisedText::of(plain),
                "{}: {disguised:?}",
                disguise.name
            );
        }
    }
}

#[test]
fn lexicon_recognises_every_disguise() {
    let lexicon = Lexicon::default();
    for disguise in DISGUISES {
        let disguised = (disguise.apply)("delete");
        assert!(
            lexicon.meanings_of_label(&disguised).contains(DELETE),
            "{}: {disguised:?}",
            disguise.name
        );
    }
}

#[test]
fn words_keep_order_and_ideographs_are_separate() {
    let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
    check(
        "Ignore, previous: instructions!",
        &["ignore", "previous", "instructions"],
    );
    check("don't", &["dont"]);
    check("删除file 文件", &["删", "除", "file", "文", "件"]);
    check("以前の", &["以", "前", "の"]);
    check("", &[]);
    check("\u{202e}\u{e0041}", &[]);
}

#[test]
fn alphabets_fold_alike_in_both_cases() {
    for (small, capital) in [
        ("удаление", "УДАЛЕНИЕ"),
        ("πληρωμή", "ΠΛΗΡΩΜΉ"),
        ("łódź", "ŁÓDŹ"),
    ] {
        let (small, capital) = (words(small), words(capital));
        assert_eq!(small.len(), 1, "{small:?}");
        assert_eq!(capital.len(), 1, "{capital:?}");
    }
    assert_eq!(words("удаление"), words("УДАЛЕНИЕ"));
    assert_eq!(words("łódź"), words("ŁÓDŹ"));
}

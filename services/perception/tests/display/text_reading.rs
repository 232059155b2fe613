//! Text of real applications is recognised in both languages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image::RgbaImage;
use motorium_imaging::resize::crop;
use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::error::Error;
use motorium_perception::parse::detect::NoDetector;
use motorium_perception::parse::embedded::EmbeddedParser;
use motorium_perception::parse::read::{ModelFiles, PaddleReader, ReadSettings, Reader, TextLine};
use motorium_perception::parse::{Parse, Parser as _};
use tokio_util::sync::CancellationToken;

use crate::support::{Desktop, TEST_TIMEOUT};

const NOTE: &str = "Meeting notes, 21 November\n1. Review the quarterly budget\n2. 下周一上午十点开会\n请在周五之前完成报告。\n";

const PAGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>Orders</title>
<body style="font: 16px sans-serif; margin: 24px">
<h2>Invoice form 发票表格</h2>
<p>Customer name: <input value="Alice Wonderland" size="30"></p>
<p><button>Save changes</button> <button>保存</button> <button>Cancel</button> <a href="/">Privacy policy</a></p>
<table border="1" cellpadding="6"><tr><th>Product</th><th>Price</th></tr>
<tr><td>Desk lamp</td><td>129.87</td></tr><tr><td>办公椅</td><td>349.00</td></tr></table>
<p>The quick brown fox jumps over the lazy dog.</p></body>"#;

/// Returns the data folder with ONNX Runtime and the models.
pub(crate) fn data_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let data_home =
        || folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    folder("MOTORIUM_DATA")
        .or_else(|| data_home().map(|home| home.join("motorium")))
        .expect("there is no home folder")
}

/// Creates a reader with an empty cache.
pub(crate) fn reader() -> Arc<PaddleReader> {
    let files = ModelFiles::in_folder(&data_folder());
    Arc::new(PaddleReader::new(files, ReadSettings::default()))
}

fn parser() -> EmbeddedParser {
    EmbeddedParser::new(Arc::new(NoDetector), reader())
}

fn parse(parser: &EmbeddedParser, pixels: &RgbaImage) -> Parse {
    let pixels = Arc::new(pixels.clone());
    parser.parse(&pixels, &CancellationToken::new()).unwrap()
}

/// Normalises text for comparison: ignores spaces, which recognition may miss, and character widths.
fn squeezed(text: &str) -> String {
    let narrow = |sign: char| match sign {
        '，' => ',',
        '：' => ':',
        '．' => '.',
        other => other,
    };
    text.chars()
        .filter(|sign| !sign.is_whitespace())
        .map(narrow)
        .collect()
}

fn line_with<'a>(lines: &'a [TextLine], text: &str) -> Option<&'a TextLine> {
    lines
        .iter()
        .find(|line| squeezed(&line.text).contains(&squeezed(text)))
}

/// Parses a display until all texts appear; returns the last capture and the result.
async fn read_until(
    desktop: &Desktop,
    parser: &EmbeddedParser,
    expected: &[&str],
) -> (RgbaImage, Parse) {
    let screen = desktop.screen();
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    loop {
        let pixels = screen
            .capture(CaptureOptions::default())
            .await
            .unwrap()
            .pixels;
        let parsed = parse(parser, &pixels);
        let missing: Vec<_> = expected
            .iter()
            .filter(|text| line_with(&parsed.lines, text).is_none())
            .collect();
        if missing.is_empty() {
            return (Arc::unwrap_or_clone(pixels), parsed);
        }
        let texts: Vec<_> = parsed.lines.iter().map(|line| &line.text).collect();
        assert!(
            tokio::time::Instant::now() < deadline,
            "not read: {missing:?}, but {texts:?}"
        );
    }
}

#[tokio::test]
async fn an_editor_and_a_page_in_english_and_chinese() {
    let mut desktop = Desktop::start_large().await;
    let note = desktop.path("note.txt");
    std::fs::write(&note, NOTE).unwrap();
    let page = desktop.path("page.html");
    std::fs::write(&page, PAGE).unwrap();
    desktop.run("mousepad", &["--disable-server", note.to_str().unwrap()]);
    // Beside the editor window, whichever opens first.
    desktop.open_browser(&page, [1000, 40, 900, 700]);
    let parser = parser();
    let expected = [
        "Meeting notes, 21 November",
        "Review the quarterly budget",
        "下周一上午十点开会",
        "请在周五之前完成报告",
        "Invoice form",
        "发票表格",
        "Customer name",
        "Alice Wonderland",
        "Save changes",
        "保存",
        "Cancel",
        // The underline of a link may be recognised as a character.
        "Privacy",
        "policy",
        "Desk lamp",
        "129.87",
        "办公椅",
        "The quick brown fox jumps over the lazy dog",
    ];
    let (pixels, parsed) = read_until(&desktop, &parser, &expected).await;

    // Boxes match the text: the content of a box is recognised the same alone.
    let save = line_with(&parsed.lines, "Save changes").unwrap();
    let alone = parse(&parser, &crop(&pixels, save.bounds.inflate(8, 8)).unwrap());
    assert!(
        line_with(&alone.lines, "Save changes").is_some(),
        "{alone:#?}"
    );
    assert!(
        parsed
            .lines
            .iter()
            .all(|line| (0.5..=1.0).contains(&line.confidence))
    );
    let corners: Vec<_> = parsed
        .lines
        .iter()
        .map(|line| (line.bounds.min.y, line.bounds.min.x))
        .collect();
    assert!(corners.is_sorted());
}

#[tokio::test]
async fn recognised_lines_are_cached() {
    let mut desktop = Desktop::start_large().await;
    let note = desktop.path("note.txt");
    std::fs::write(&note, NOTE).unwrap();
    desktop.run("mousepad", &["--disable-server", note.to_str().unwrap()]);
    let parser = parser();
    let (pixels, first) = read_until(
        &desktop,
        &parser,
        &["Meeting notes, 21 November", "下周一上午十点开会"],
    )
    .await;

    // The same image.
    let again = parse(&parser, &pixels);
    assert_eq!(
        (again.effort.scanned_fraction, again.effort.recognised_lines),
        (0.0, 0)
    );
    assert_eq!(again.lines, first.lines);

    // A dot far from any text: its area is scanned, and no line is recognised.
    let mut dotted = pixels.clone();
    dotted.put_pixel(1900, 900, image::Rgba([255, 0, 0, 255]));
    let dotted = parse(&parser, &dotted);
    assert!(dotted.effort.scanned_fraction < 0.01, "{:?}", dotted.effort);
    assert_eq!(dotted.effort.recognised_lines, 0);
    assert_eq!(dotted.lines, first.lines);

    // Back to the previous image: it is in the cache.
    let back = parse(&parser, &pixels);
    assert_eq!(back.effort.scanned_fraction, 0.0);
    assert_eq!(back.lines, first.lines);
}

#[test]
fn reader_accepts_images_of_any_size() {
    let parser = parser();
    for (width, height) in [
        (1, 1),
        (3, 900),
        (31, 33),
        (1920, 1080),
        (2560, 1440),
        (4000, 40),
    ] {
        let blank = RgbaImage::from_pixel(width, height, image::Rgba([240, 240, 240, 255]));
        let parsed = parse(&parser, &blank);
        assert_eq!(&*parsed.lines, [], "{width}×{height}");
    }
}

#[test]
fn missing_model_file_error_suggests_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let check = |files: ModelFiles, part: &Path| {
        let reader = PaddleReader::new(files, ReadSettings::default());
        let pixels = RgbaImage::new(8, 8);
        let error = reader
            .recognise(&pixels, &[], &CancellationToken::new())
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::ModelFileMissing { .. }), "{text}");
        assert!(
            text.contains(part.to_str().unwrap()) && text.contains("tools/setup data"),
            "{text}"
        );
    };
    // Without a data folder, the first missing file is reported.
    let there = ModelFiles::in_folder(&data_folder());
    let absent = ModelFiles::in_folder(folder.path());
    check(
        ModelFiles {
            text_detection: absent.text_detection.clone(),
            ..there.clone()
        },
        &absent.text_detection,
    );
    check(
        ModelFiles {
            text_recognition: absent.text_recognition.clone(),
            ..there.clone()
        },
        &absent.text_recognition,
    );

    let broken = folder.path().join("broken.onnx");
    std::fs::write(&broken, "no model").unwrap();
    let reader = PaddleReader::new(
        ModelFiles {
            text_detection: broken.clone(),
            ..there.clone()
        },
        ReadSettings::default(),
    );
    let error = reader.warm_up().unwrap_err();
    assert!(
        matches!(&error, Error::ModelFileUnusable { path, .. } if *path == broken),
        "{error}"
    );
    // The text detection model has no charset.
    let wrong = ModelFiles {
        text_recognition: there.text_detection.clone(),
        ..there
    };
    let error = PaddleReader::new(wrong, ReadSettings::default())
        .warm_up()
        .unwrap_err();
    assert!(error.to_string().contains("no `character` list"), "{error}");
}

#[tokio::test]
async fn small_type_on_a_large_screen_is_read_and_read_again() {
    let mut desktop = Desktop::start_managed("3840x2160x24").await;
    let rows = |count: usize| {
        let row = |row| format!("<div>{row} invoice meeting 发票 order {row}{row}</div>");
        (100..100 + count).map(row).collect::<String>()
    };
    let page = desktop.path("small.html");
    let html = format!(
        "<!DOCTYPE html><meta charset=utf-8><body style='font: 12px sans-serif; columns: 8'>{}<h1 \
         style='font-size: 120px; column-span: all; margin: 9px'>Headline</h1><input id=i autofocus>",
        rows(400)
    );
    std::fs::write(&page, html).unwrap();
    desktop.open_browser(&page, [0, 0, 3800, 2000]);
    let parser = parser();
    let expected: Vec<_> = (100..500)
        .step_by(7)
        .map(|row| format!("{row} invoice meeting 发票 order {row}{row}"))
        .collect();
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.push("Headline");
    let (pixels, whole) = read_until(&desktop, &parser, &expected).await;

    // After one line was removed, all others are unchanged.
    let gone = line_with(&whole.lines, expected[20]).unwrap().bounds;
    let mut changed = pixels;
    for y in gone.min.y..gone.max.y {
        for x in gone.min.x..gone.max.x {
            changed.put_pixel(x as u32, y as u32, image::Rgba([255; 4]));
        }
    }
    let again = parse(&parser, &changed);
    assert!(again.effort.scanned_fraction < 0.05, "{:?}", again.effort);
    let texts = |parse: &Parse| -> BTreeSet<String> {
        let texts = parse.lines.iter().map(|line| squeezed(&line.text));
        texts.collect()
    };
    let mut others = texts(&whole);
    assert!(others.remove(&squeezed(expected[20])));
    assert_eq!(texts(&again), others);
}

/// Text in languages that the default models do not support, as `(language, line)`.
const MORE_LANGUAGES: [(&str, &str); 4] = [
    ("de", "Größe der Schaltflächen ändern"),
    ("fr", "Réglages à côté de l'œuvre"),
    ("es", "Configuración añadida"),
    ("ja", "日本語の設定を変更する"),
];

#[tokio::test]
async fn other_languages_need_only_another_model() {
    let mut desktop = Desktop::start();
    let lines = MORE_LANGUAGES.map(|(language, line)| format!("<p lang={language}>{line}"));
    let page = desktop.path("languages.html");
    let html = format!(
        "<!DOCTYPE html><meta charset=utf-8><body style='font: 20px sans-serif'>{}",
        lines.concat()
    );
    std::fs::write(&page, html).unwrap();
    desktop.open_browser(&page, [0, 0, 700, 500]);
    let files = ModelFiles::in_folder(&data_folder());
    let more = ModelFiles {
        text_recognition: data_folder().join("models/ocr/more/recognise.onnx"),
        ..files
    };
    let reader = PaddleReader::new(more.clone(), ReadSettings::default());
    let parser = EmbeddedParser::new(Arc::new(NoDetector), Arc::new(reader));
    let expected = MORE_LANGUAGES.map(|(_, line)| line);
    read_until(&desktop, &parser, &expected).await;

    // A charset that does not match the model.
    let alphabet = desktop.path("alphabet.txt");
    std::fs::write(&alphabet, "a\nb\nc\n").unwrap();
    let wrong = ModelFiles {
        charset: Some(alphabet.clone()),
        ..more
    };
    let error = PaddleReader::new(wrong, ReadSettings::default())
        .warm_up()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(alphabet.to_str().unwrap()) && text.contains("it lists 3 characters"),
        "{text}"
    );
}

#[test]
fn a_cancelled_reading_ends_early() {
    let parser = parser();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let pixels = Arc::new(RgbaImage::new(64, 64));
    let error = parser.parse(&pixels, &cancel).unwrap_err();
    assert_eq!(error, Error::Cancelled);
}

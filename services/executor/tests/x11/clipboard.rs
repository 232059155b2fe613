//! The clipboard: setting, pasting, and restoring it.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use motorium_executor::drivers::x11::hold_clipboard;
use motorium_executor::drivers::{
    Driver as _, DriverFailure, DriverOutcome, Error, PreparedAction,
};
use motorium_executor::guard::allowed_windows::WindowPattern;
use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::key::Key;
use motorium_proto::service::ClipboardText;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::support::page::{self, Page};
use crate::support::{Desktop, start_server, wait_for};
use crate::text::received;
use crate::{driver, perform, type_text};

/// A text that must be pasted: it has more characters than can be remapped.
fn chinese() -> String {
    ('\u{4e00}'..'\u{4e40}').collect()
}

/// Copies with another program and waits for the content: the process that `xclip` starts in the background can be
/// slow.
async fn copy(display: &str, target: &str, content: &[u8]) {
    let mut command = Command::new("xclip");
    command.args([
        "-display",
        display,
        "-selection",
        "clipboard",
        "-target",
        target,
        "-in",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    assert!(child.wait().unwrap().success());
    wait_for("the copied content", || {
        (paste(display, target)? == content).then_some(())
    })
    .await;
}

/// Reads the clipboard with another program; `None` if there is no content of this kind.
fn paste(display: &str, target: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("xclip");
    command.args([
        "-display",
        display,
        "-selection",
        "clipboard",
        "-target",
        target,
        "-out",
    ]);
    let output = command.stderr(Stdio::null()).output().unwrap();
    output.status.success().then_some(output.stdout)
}

fn set_clipboard(text: &str) -> Action<motorium_proto::domain::geometry::CapturePoint> {
    Action::SetClipboard {
        text: Text::Literal(text.to_owned()),
    }
}

#[tokio::test]
async fn clipboard_text_is_readable_by_other_programs() {
    let (_server, display) = start_server(640, 480);
    let driver = driver(&display);
    perform(&driver, set_clipboard("Grüße, 世界 👋"))
        .await
        .unwrap();
    assert_eq!(
        paste(&display, "UTF8_STRING").unwrap(),
        "Grüße, 世界 👋".as_bytes()
    );
    assert_eq!(
        paste(&display, "text/plain;charset=utf-8").unwrap(),
        "Grüße, 世界 👋".as_bytes()
    );
    assert_eq!(paste(&display, "STRING"), None, "not Latin-1");
    perform(&driver, set_clipboard("Grüße")).await.unwrap();
    assert_eq!(paste(&display, "STRING").unwrap(), b"Gr\xfc\xdfe");
    let long = "0123456789abcdef".repeat(100_000);
    perform(&driver, set_clipboard(&long)).await.unwrap();
    assert_eq!(
        paste(&display, "UTF8_STRING").unwrap(),
        long.as_bytes(),
        "piece by piece"
    );
}

#[tokio::test]
async fn clipboard_text_is_read_as_a_program_would_paste_it() {
    let mut desktop = Desktop::start("us").await;
    let display = desktop.display.clone();
    let driver = driver(&display);
    let read = async || driver.read_clipboard().await.unwrap().unwrap();
    assert_eq!(read().await, ClipboardText::default(), "nothing is copied");
    copy(&display, "UTF8_STRING", "Grüße, 世界".as_bytes()).await;
    assert_eq!(read().await.text, "Grüße, 世界");
    let long = "0123456789abcdef".repeat(50_000);
    copy(&display, "UTF8_STRING", long.as_bytes()).await;
    assert_eq!(read().await.text, long, "piece by piece");
    // What a text is entered with is not what the user has copied.
    let page = Page::open(&mut desktop, page::TEXT).await;
    perform(&driver, type_text(&chinese())).await.unwrap();
    assert_eq!(read().await.text, long);
    assert_eq!(received(&driver, &page).await, chinese());
    perform(&driver, set_clipboard("our own")).await.unwrap();
    assert_eq!(read().await.text, "our own");
    copy(&display, "image/png", b"no text").await;
    assert_eq!(read().await, ClipboardText::default());
    copy(&display, "x-kde-passwordManagerHint", b"secret").await;
    let of_password_manager = read().await;
    assert!(of_password_manager.withheld && of_password_manager.text.is_empty());
    // While a text is entered, and once it is offered again.
    perform(&driver, type_text(&chinese())).await.unwrap();
    assert!(read().await.withheld);
    wait_for("the password to be offered again", || {
        (paste(&display, "x-kde-passwordManagerHint")? == b"secret").then_some(())
    })
    .await;
    assert!(read().await.withheld);
}

#[tokio::test]
async fn a_program_that_copies_late_is_noticed_when_it_does() {
    let desktop = Desktop::start("us").await;
    let display = desktop.display.clone();
    let driver = driver(&display);
    let has_copied = async || driver.has_copied().await.unwrap();
    copy(&display, "UTF8_STRING", b"before").await;
    let ctrl_c = || Action::KeyChord {
        keys: vec![Key::Control, Key::Character('c')],
        repeat: 1,
    };
    // Nothing has the focus, so that nothing is copied.
    perform(&driver, ctrl_c()).await.unwrap();
    assert_eq!(has_copied().await, Some(false), "what was there before");
    perform(&driver, set_clipboard("our own")).await.unwrap();
    assert_eq!(has_copied().await, Some(false), "no program has copied it");
    copy(&display, "UTF8_STRING", b"late").await;
    assert_eq!(has_copied().await, Some(true));
    assert_eq!(driver.read_clipboard().await.unwrap().unwrap().text, "late");
    perform(&driver, ctrl_c()).await.unwrap();
    assert_eq!(has_copied().await, Some(false), "the next keys");
    // The text is the same, and is copied all the same.
    copy(&display, "UTF8_STRING", b"late").await;
    assert_eq!(has_copied().await, Some(true));
}

async fn check_restored(target: &str, content: &[u8]) {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    copy(&desktop.display, target, content).await;
    perform(&driver, type_text(&chinese())).await.unwrap();
    assert_eq!(received(&driver, &page).await, chinese());
    wait_for("the previous clipboard content", || {
        (paste(&desktop.display, target)? == content).then_some(())
    })
    .await;
}

/// The case of `motorium act type`: its process ends, and another one keeps what was on the clipboard before.
#[tokio::test]
async fn previous_clipboard_content_outlives_the_driver_process() {
    let mut desktop = Desktop::start("us").await;
    let ending = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let image = [&[0x89, b'P', b'N', b'G', 0][..], &[7; 300_000]].concat();
    copy(&desktop.display, "image/png", &image).await;
    perform(&ending, type_text(&chinese())).await.unwrap();
    assert_eq!(received(&ending, &page).await, chinese());
    let remaining = ending.remaining_clipboard().await.unwrap();
    let (offered, is_offered) = std::sync::mpsc::channel();
    let display = desktop.display.clone();
    let holding = std::thread::spawn(move || {
        let timeout = std::time::Duration::from_secs(5);
        hold_clipboard(&display, timeout, remaining, || offered.send(()).unwrap())
    });
    is_offered.recv().unwrap();
    ending.close().await;
    drop(ending);
    assert_eq!(paste(&desktop.display, "image/png").unwrap(), image);
    // It ends once another program copies.
    copy(&desktop.display, "UTF8_STRING", b"newer").await;
    holding.join().unwrap().unwrap();
}

#[tokio::test]
async fn previous_clipboard_text_is_restored() {
    check_restored("UTF8_STRING", "former: 旧".as_bytes()).await;
}

#[tokio::test]
async fn previous_clipboard_image_is_restored() {
    check_restored("image/png", &[0x89, b'P', b'N', b'G', 0, 1, 2, 255]).await;
}

#[tokio::test]
async fn large_previous_clipboard_content_is_restored() {
    check_restored("UTF8_STRING", &b"0123456789abcdef".repeat(60_000)).await;
}

#[tokio::test]
async fn empty_or_original_clipboard_is_restored_after_repeated_pastes() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    perform(&driver, type_text(&chinese())).await.unwrap();
    wait_for("the empty clipboard", || {
        paste(&desktop.display, "UTF8_STRING")
            .is_none()
            .then_some(())
    })
    .await;
    copy(&desktop.display, "UTF8_STRING", b"mine").await;
    for _ in 0..3 {
        perform(&driver, type_text(&chinese())).await.unwrap();
    }
    // An explicit paste restores the previous content at once.
    perform(&driver, Action::Paste { text: None })
        .await
        .unwrap();
    assert_eq!(received(&driver, &page).await, chinese().repeat(4) + "mine");
    assert_eq!(paste(&desktop.display, "UTF8_STRING").unwrap(), b"mine");
}

#[tokio::test]
async fn pasting_a_text_leaves_it_on_the_clipboard() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let text = "one\ttwo\nthree";
    perform(
        &driver,
        Action::Paste {
            text: Some(Text::Literal(text.to_owned())),
        },
    )
    .await
    .unwrap();
    assert_eq!(received(&driver, &page).await, text);
    assert_eq!(
        paste(&desktop.display, "UTF8_STRING").unwrap(),
        text.as_bytes()
    );
}

#[tokio::test]
async fn newline_and_tab_go_in_as_text_if_that_is_wanted() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let text = "one\ttwo\nthree".to_owned();
    let action = Action::TypeText {
        text: Text::Literal(text.clone()),
        control_characters: ControlCharacters::AsText,
    };
    perform(&driver, action).await.unwrap();
    assert_eq!(received(&driver, &page).await, text);
}

#[tokio::test]
async fn unclaimed_paste_fails_and_restores_the_clipboard() {
    let (_server, display) = start_server(640, 480);
    let driver = driver(&display);
    copy(&display, "UTF8_STRING", b"mine").await;
    let failure = perform(&driver, type_text(&chinese())).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::PasteTimedOut { .. }),
        "{failure}"
    );
    assert_eq!(paste(&display, "UTF8_STRING").unwrap(), b"mine");
}

#[tokio::test]
async fn secret_is_entered_only_as_keys() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    copy(&desktop.display, "UTF8_STRING", b"mine").await;
    let secret = format!("pässwörd {} \u{1f511}", chinese());
    let text = Text::Secret("login".to_owned());
    let typed = PreparedAction {
        id: None,
        action: Action::TypeText {
            text: text.clone(),
            control_characters: ControlCharacters::AsKeys,
        },
        secret: Some(SecretString::from(secret.clone())),
        allowed_windows: Arc::new([WindowPattern::Application("chromium".to_owned())]),
        forbidden_chords: Arc::new([]),
        focused_page: None,
    };
    let performed = driver
        .perform(typed, &CancellationToken::new())
        .await
        .unwrap();
    assert!(performed.note.unwrap().contains("as keys"));
    assert_eq!(received(&driver, &page).await, secret);
    assert_eq!(paste(&desktop.display, "UTF8_STRING").unwrap(), b"mine");
    let elsewhere = PreparedAction {
        id: None,
        action: Action::TypeText {
            text: text.clone(),
            control_characters: ControlCharacters::AsKeys,
        },
        secret: Some(SecretString::from(secret)),
        allowed_windows: Arc::new([WindowPattern::Title("my bank".to_owned())]),
        forbidden_chords: Arc::new([]),
        focused_page: None,
    };
    let stop = CancellationToken::new();
    let failure = driver.perform(elsewhere, &stop).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::WindowNotAllowed { .. }),
        "{failure}"
    );
    assert!(!failure.input_sent);
    assert_eq!(received(&driver, &page).await, "");
    for action in [
        Action::SetClipboard { text: text.clone() },
        Action::Paste {
            text: Some(text.clone()),
        },
    ] {
        let failure = perform(&driver, action).await.unwrap_err();
        assert!(
            failure
                .to_string()
                .contains("cannot be pasted or put on the clipboard"),
            "{failure}"
        );
    }
    let unresolved = Action::TypeText {
        text,
        control_characters: ControlCharacters::AsKeys,
    };
    let failure = perform(&driver, unresolved).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "the text cannot be entered: the secret `login` was not resolved"
    );
}

/// Types a text without a receiver, while another program copies something as soon as the text is offered.
async fn type_while_another_copies(what: &str) -> Result<DriverOutcome, DriverFailure> {
    let (_server, display) = start_server(640, 480);
    let driver = driver(&display);
    let other = async {
        wait_for("the temporary offer", || {
            let targets = paste(&display, "TARGETS")?;
            String::from_utf8_lossy(&targets)
                .contains("UTF8_STRING")
                .then_some(())
        })
        .await;
        copy(&display, "UTF8_STRING", what.as_bytes()).await;
    };
    let (typed, ()) = tokio::join!(perform(&driver, type_text(&chinese())), other);
    typed
}

#[tokio::test]
async fn clipboard_replaced_during_a_paste_is_an_error() {
    let failure = type_while_another_copies("mine").await.unwrap_err();
    assert!(
        matches!(failure.error, Error::ClipboardReplaced),
        "{failure:?}"
    );
    assert!(failure.input_sent);
}

#[tokio::test]
async fn a_clipboard_manager_may_take_the_text_over() {
    let failure = type_while_another_copies(&chinese()).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::PasteTimedOut { .. }),
        "no window is there to take it: {failure:?}"
    );
}

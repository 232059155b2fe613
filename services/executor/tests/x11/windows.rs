//! Windows, programs, and browser actions.

use std::time::Duration;

use motorium_executor::drivers::Error;
use motorium_executor::drivers::launch::{Launcher, Program, Programs};
use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_proto::domain::action::{Action, WindowSelector};

use crate::support::page::{self, Page};
use crate::support::{Desktop, wait_for};
use crate::{chord, driver, perform, type_text};

fn focus(window: WindowSelector) -> Action<motorium_proto::domain::geometry::CapturePoint> {
    Action::FocusWindow { window }
}

#[tokio::test]
async fn windows_are_focused_by_title_class_and_number() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let mut terminal = desktop.command("xterm");
    desktop
        .open(terminal.args(["-T", "The Terminal"]), "xterm")
        .await;
    let mut editor = desktop.command("mousepad");
    desktop.open(&mut editor, "mousepad").await;
    perform(&driver, focus(WindowSelector::Title("the term".to_owned())))
        .await
        .unwrap();
    desktop.wait_active("xterm").await;
    let number = desktop.active_window();
    perform(
        &driver,
        focus(WindowSelector::Application("Mousepad".to_owned())),
    )
    .await
    .unwrap();
    desktop.wait_active("mousepad").await;
    perform(&driver, focus(WindowSelector::Id(number)))
        .await
        .unwrap();
    desktop.wait_active("xterm").await;
    let failure = perform(&driver, focus(WindowSelector::Title("nobody".to_owned())))
        .await
        .unwrap_err();
    assert_eq!(
        failure.to_string(),
        "no window found with `nobody` in its title"
    );
    let failure = perform(&driver, Action::GoBack).await.unwrap_err();
    assert_eq!(
        failure.error,
        Error::NotABrowser {
            application: "XTerm".to_owned()
        }
    );
    assert!(!failure.input_sent);
}

#[tokio::test]
async fn focus_loss_stops_typing_into_another_window() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let mut editor = desktop.command("mousepad");
    desktop.open(&mut editor, "mousepad").await;
    let bytes = desktop.path("bytes");
    let mut thief = desktop.command("xterm");
    let script = format!("stty raw -echo; exec cat > {}", bytes.display());
    let long = "x".repeat(20_000);
    let typed = perform(&driver, type_text(&long));
    let stolen = desktop.open(thief.args(["-e", "sh", "-c", &script]), "xterm");
    let (typed, ()) = tokio::join!(typed, stolen);
    let failure = typed.unwrap_err();
    let application = "XTerm".to_owned();
    assert_eq!(failure.error, Error::FocusLost { application });
    assert!(failure.input_sent);
    // A terminal whose program does not read single keys yet would hold this one back.
    wait_for("the other window to be ready", || {
        bytes.exists().then_some(())
    })
    .await;
    // The other window keeps working, and at most the text in flight reaches it before the change of focus is
    // detected.
    perform(&driver, chord("ctrl+d")).await.unwrap();
    let got = wait_for("the end", || {
        let bytes = std::fs::read(&bytes).ok()?;
        bytes.ends_with(&[4]).then(|| bytes.len() - 1)
    });
    let got = got.await;
    assert!(got <= 40, "{got} characters reached the wrong window");
}

#[tokio::test]
async fn browser_navigates_by_keyboard_shortcuts() {
    let mut desktop = Desktop::start("de").await;
    let driver = driver(&desktop.display);
    let page = Page::open_with_address_bar(&mut desktop, page::TEXT).await;
    let other = format!("{}?q=z%C3%BC&y=1#/~a-b_c", page.address);
    page.clear();
    perform(&driver, Action::GoToUrl { url: other.clone() })
        .await
        .unwrap();
    let ready = page
        .wait("the other page", |event| event["kind"] == "ready")
        .await;
    assert_eq!(ready["address"], other.as_str());
    page.wait_awake(&desktop.display).await;
    page.clear();
    perform(&driver, Action::GoBack).await.unwrap();
    let ready = page
        .wait("the page before", |event| event["kind"] == "ready")
        .await;
    assert_eq!(ready["address"], page.address.as_str());
    page.wait_awake(&desktop.display).await;
    page.clear();
    perform(&driver, Action::GoForward).await.unwrap();
    let ready = page
        .wait("the other page again", |event| event["kind"] == "ready")
        .await;
    assert_eq!(ready["address"], other.as_str());
    page.wait_awake(&desktop.display).await;
    page.clear();
    perform(&driver, Action::Refresh).await.unwrap();
    page.wait("the page once more", |event| event["kind"] == "ready")
        .await;
}

#[tokio::test]
async fn programs_are_started_on_the_display_and_see_no_secrets() {
    let desktop = Desktop::start("us").await;
    let output = desktop.path("told");
    let script = format!(
        "echo \"$DISPLAY $# $1 $(env | grep -c MOTORIUM)\" > {}",
        output.display()
    );
    let program = |arguments: &[&str]| Program {
        program: "sh".to_owned(),
        arguments: arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect(),
        environment: [("HOME".to_owned(), desktop.home.path().display().to_string())].into(),
    };
    let launcher = Launcher::new(Programs {
        applications: [(
            "teller".to_owned(),
            program(&["-c", &script, "sh", "fixed; argument"]),
        )]
        .into(),
        browser: Some(program(&["-c", &script, "sh"])),
    });
    let options = Options {
        display: desktop.display.clone(),
        display_timeout: Duration::from_secs(5),
        scale: None,
        launcher,
    };
    let driver = X11Driver::start(options).unwrap();
    let read = || {
        std::fs::read_to_string(&output)
            .ok()
            .filter(|text| text.ends_with('\n'))
    };
    perform(
        &driver,
        Action::OpenApplication {
            name: "teller".to_owned(),
        },
    )
    .await
    .unwrap();
    assert_eq!(
        wait_for("the program", read).await,
        format!("{} 1 fixed; argument 0\n", desktop.display)
    );
    std::fs::remove_file(&output).unwrap();
    perform(
        &driver,
        Action::OpenUrl {
            url: "https://example.com/$(id)".to_owned(),
        },
    )
    .await
    .unwrap();
    assert_eq!(
        wait_for("the browser", read).await,
        format!("{} 1 https://example.com/$(id) 0\n", desktop.display)
    );
}

//! Typed text is received exactly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use motorium_executor::drivers::DriverOutcome;
use motorium_executor::drivers::x11::X11Driver;
use tokio::time::Instant;

use crate::support::corpus::corpus;
use crate::support::page::{self, Page};
use crate::support::server::OtherClient;
use crate::support::{Desktop, Process, wait_for};
use crate::{chord, driver, perform, type_text};

/// The results of a run.
#[derive(Debug, Default)]
struct TextResults {
    /// Number of exactly received texts, by input method.
    exact: BTreeMap<String, usize>,
    /// Errors of texts that could not be entered.
    errors: Vec<String>,
    wrong: Vec<String>,
}

impl TextResults {
    fn note(&mut self, kind: &str, performed: DriverOutcome, text: &str, received: &str) {
        if received == text {
            let way = performed.note.unwrap_or_else(|| "as keys".to_owned());
            *self.exact.entry(way).or_default() += 1;
        } else {
            self.wrong
                .push(format!("{kind}: {text:?} came as {received:?}"));
        }
    }

    #[expect(
        clippy::print_stdout,
        reason = "a run of all texts is made for its figures"
    )]
    fn judge(self, place: &str) {
        let Self {
            exact,
            errors,
            wrong,
        } = self;
        let (failed, bad) = (errors.len(), wrong.len());
        println!("{place}: exact {exact:?}, errors {failed}, wrong {bad}");
        assert!(wrong.is_empty(), "{place}: {wrong:#?}");
        assert!(errors.is_empty(), "{place}: {errors:#?}");
    }
}

async fn check_browser(layout: &str) {
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let mut tally = TextResults::default();
    for (kind, text) in corpus() {
        // Tab would leave the text area.
        let text = text.replace('\t', " ");
        match perform(&driver, type_text(&text)).await {
            Ok(performed) => {
                let received = received(&driver, &page).await;
                tally.note(&kind, performed, &text, &received);
            }
            Err(failure) => {
                tally.errors.push(format!("{kind}: {failure}"));
                received(&driver, &page).await;
            }
        }
    }
    tally.judge(&format!("browser, {layout}"));
}

pub(crate) async fn received(driver: &X11Driver, page: &Page) -> String {
    page.clear();
    perform(driver, chord("f9")).await.unwrap();
    let report = page
        .wait("the page's text", |event| event["kind"] == "text")
        .await;
    report["value"].as_str().unwrap().to_owned()
}

async fn check_editor(layout: &str) {
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let file = desktop.path("text.txt");
    fs::write(&file, "").unwrap();
    let mut editor = desktop.command("mousepad");
    desktop.open(editor.arg(&file), "mousepad").await;
    let mut tally = TextResults::default();
    for (kind, text) in corpus() {
        perform(&driver, chord("ctrl+a")).await.unwrap();
        match perform(&driver, type_text(&text)).await {
            Ok(performed) => {
                let saved = saved(&driver, &file).await;
                tally.note(&kind, performed, &text, &saved);
            }
            Err(failure) => tally.errors.push(format!("{kind}: {failure}")),
        }
    }
    tally.judge(&format!("editor, {layout}"));
}

/// An application that is busy with its start reads everything once it has started, and the action waits for it.
#[tokio::test]
async fn typing_waits_for_an_unresponsive_application() {
    let desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let file = desktop.path("text.txt");
    fs::write(&file, "").unwrap();
    let mut command = desktop.command("mousepad");
    command
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let editor = Process::start(&mut command);
    desktop.wait_active("mousepad").await;
    // Until it has answered once, it may not be ready for keys.
    perform(&driver, chord("ctrl+a")).await.unwrap();
    perform(&driver, chord("ctrl+a")).await.unwrap();
    let silence = Duration::from_secs(4);
    editor.signal("STOP");
    let begun = Instant::now();
    let waking = async {
        tokio::time::sleep(silence).await;
        editor.signal("CONT");
    };
    let (typed, ()) = tokio::join!(perform(&driver, type_text("typed once")), waking);
    typed.unwrap();
    assert!(begun.elapsed() >= silence, "it was not waited for");
    assert_eq!(saved(&driver, &file).await, "typed once");
}

/// Saves in an editor and returns the file's content.
async fn saved(driver: &X11Driver, file: &Path) -> String {
    let before = fs::metadata(file).unwrap().modified().unwrap();
    perform(driver, chord("ctrl+s")).await.unwrap();
    wait_for("the saved file", || {
        (fs::metadata(file).ok()?.modified().ok()? > before).then_some(())
    })
    .await;
    wait_for("its content", || {
        fs::read_to_string(file)
            .ok()
            .filter(|text| !text.is_empty())
    })
    .await
}

async fn check_terminal(layout: &str) {
    let mut desktop = Desktop::start(layout).await;
    let driver = driver(&desktop.display);
    let file = desktop.path("bytes");
    let mut terminal = desktop.command("xterm");
    let script = format!("stty raw -echo; exec cat > {}", file.display());
    desktop
        .open(terminal.args(["-u8", "-e", "sh", "-c", &script]), "xterm")
        .await;
    wait_for("the terminal's program", || file.exists().then_some(())).await;
    let mut tally = TextResults::default();
    let mut before = 0;
    for (kind, text) in corpus() {
        let entered = perform(&driver, type_text(&text)).await;
        let bytes = bytes_after(&driver, &file, before).await;
        before += bytes.len() + 1;
        match entered {
            Ok(performed) => {
                let text = text.replace('\n', "\r");
                let received = String::from_utf8_lossy(&bytes);
                tally.note(&kind, performed, &text, &received);
            }
            Err(failure) => tally.errors.push(format!("{kind}: {failure}")),
        }
    }
    tally.judge(&format!("terminal, {layout}"));
}

/// Returns the bytes that a terminal's program has received since, up to the end-of-text byte.
async fn bytes_after(driver: &X11Driver, file: &Path, before: usize) -> Vec<u8> {
    const END: u8 = 0x04;
    perform(driver, chord("ctrl+d")).await.unwrap();
    wait_for("the end of the text", || {
        let bytes = fs::read(file).ok()?.split_off(before);
        bytes.strip_suffix(&[END]).map(<[u8]>::to_vec)
    })
    .await
}

/// With an active Chinese input method, which consumes every letter that it receives.
#[tokio::test]
async fn typed_text_bypasses_an_active_input_method() {
    let mut desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let method = InputMethod::start(&desktop, &foreigner).await;
    let file = desktop.path("text.txt");
    fs::write(&file, "").unwrap();
    let mut editor = method.command(&desktop, "mousepad");
    editor.env("GTK_IM_MODULE", "ibus");
    desktop.open(editor.arg(&file), "mousepad").await;
    method.switch_to_chinese(&desktop).await;
    let driver = driver(&desktop.display);
    // Control: the input method consumes letters pressed by another program.
    foreigner.strike("ni ").await;
    let taken = saved(&driver, &file).await;
    assert!(!taken.is_ascii(), "{taken:?} bypassed the input method");
    for text in ["nihao, wo shi Motorium. 42?", "one\n\ttwo", "混合 mixed"] {
        perform(&driver, chord("ctrl+a")).await.unwrap();
        perform(&driver, type_text(text)).await.unwrap();
        assert_eq!(saved(&driver, &file).await, text);
    }
}

/// ibus on its own bus.
struct InputMethod {
    bus: String,
    daemon: Process,
    _bus: Process,
}

impl InputMethod {
    async fn start(desktop: &Desktop, foreigner: &OtherClient) -> Self {
        let address = format!("unix:path={}", desktop.path("bus").display());
        let mut bus = desktop.command("dbus-daemon");
        bus.args(["--session", "--nofork", "--address", &address]);
        let bus = Process::start(bus.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_for("the bus", || desktop.path("bus").exists().then_some(())).await;
        let mut daemon = desktop.command("ibus-daemon");
        daemon.env("DBUS_SESSION_BUS_ADDRESS", &address);
        daemon.args(["--xim", "--panel", "disable"]);
        let daemon = Process::start(daemon.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_for("the input method", || {
            foreigner.has_input_method().then_some(())
        })
        .await;
        Self {
            bus: address,
            daemon,
            _bus: bus,
        }
    }

    fn command(&self, desktop: &Desktop, program: &str) -> Command {
        let mut command = desktop.command(program);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.bus);
        command
    }

    async fn switch_to_chinese(&self, desktop: &Desktop) {
        wait_for("Chinese", || {
            // ibus reports a failure even on success.
            self.ibus(desktop, &["engine", "libpinyin"]);
            let engine = self.ibus(desktop, &["engine"]);
            (engine.trim() == "libpinyin").then_some(())
        })
        .await;
    }

    fn ibus(&self, desktop: &Desktop, arguments: &[&str]) -> String {
        let output = self.command(desktop, "ibus").args(arguments).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }
}

impl Drop for InputMethod {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // On a regular exit it also ends its engines.
        self.daemon.signal("TERM");
        self.daemon.wait_gone();
    }
}

#[tokio::test]
async fn a_browser_receives_the_text_on_an_american_keyboard() {
    check_browser("us").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_german_keyboard() {
    check_browser("de").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_french_keyboard() {
    check_browser("fr").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_an_american_keyboard() {
    check_editor("us").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_german_keyboard() {
    check_editor("de").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_french_keyboard() {
    check_editor("fr").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_an_american_keyboard() {
    check_terminal("us").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_german_keyboard() {
    check_terminal("de").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_french_keyboard() {
    check_terminal("fr").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_russian_keyboard() {
    check_browser("ru").await;
}

#[tokio::test]
async fn a_browser_receives_the_text_on_a_japanese_keyboard() {
    check_browser("jp").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_russian_keyboard() {
    check_editor("ru").await;
}

#[tokio::test]
async fn an_editor_receives_the_text_on_a_japanese_keyboard() {
    check_editor("jp").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_russian_keyboard() {
    check_terminal("ru").await;
}

#[tokio::test]
async fn a_terminal_receives_the_text_on_a_japanese_keyboard() {
    check_terminal("jp").await;
}

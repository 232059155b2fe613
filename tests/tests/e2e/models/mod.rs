//! Every kind of backend on a real desktop, with a model that sees: it gets the requests, finds out from the list of elements or
//! from the screenshot what to do, and answers in the protocol of its provider, at times wrongly.
//!
//! One conversation for each: a form; a follow-up that needs the first task, an attached file, and what an attached image shows, and
//! is answered in the spellings of other tools; a task that cannot be done; then lines of code in an editor that indents by itself.

mod browser;
mod dialect;
mod options;
mod outages;
mod provider;
mod sight;
mod spellings;

use std::path::Path;

use dialect::Dialect;
use image::{Rgb, RgbImage};
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::{Process, ProgramResult};
use motorium_tests::services::{AllInOne, TestSetup};
use provider::{Fault, Provider};
use serde_json::Value;

/// Goal of the first task.
const GOAL: &str = "Enter the name into the form and save it";
const NAME: &str = "Ann Lee";
/// Words of the second task's goal.
const FOLLOW_UP: &str = "path of the attached file";
const FILE: &str = "membership-card.txt";
/// Image that comes with the second task, of one colour, which the model has to see.
const IMAGE: &str = "badge.png";
const IMAGE_COLOUR: Rgb<u8> = Rgb([0x5e, 0x35, 0xb1]);
/// Maximum number of requests of a task: its four decisions, a second look, and a repair and a retry for each fault.
const MAX_REQUESTS: usize = 14;
/// Goal of a task for which nothing on the screen is of use, and the reason that the model gives.
const IMPOSSIBLE_GOAL: &str = "Book a table for two";
const OBSTACLE: &str = "There are no tables on this form.";
/// Goal of a task about which the model asks, its question, and the answer.
const UNCLEAR_GOAL: &str = "Save the form as I like it";
const QUESTION: &str = "It is saved. Shall I save it once more?";
const ANSWER: &str = "No, leave it as it is";
/// Goal of a task in an editor.
const EDITOR_GOAL: &str = "Write the function into the open file and save it";
/// Lines that an editor would indent again if they were typed.
const LINES: &str = "def add(a, b):\n    if a:\n        return a + b\n    return b";

#[test]
fn no_kind_of_backend_is_left_out() {
    let listed = dialect::ALL.map(Dialect::kind);
    let missing: Vec<&str> = motorium_planner::config::dialects()
        .map(|dialect| dialect.name())
        .filter(|name| !listed.contains(name))
        .collect();
    assert!(missing.is_empty(), "add these to `ALL`: {missing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_backend_carries_out_a_conversation_in_spite_of_faults() {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("membership.html?first", &mut desktop).await;
    let mut models = Vec::new();
    for dialect in dialect::ALL {
        models.push((dialect, Provider::start(dialect).await));
    }
    let kinds: Vec<&str> = dialect::ALL.iter().map(|dialect| dialect.kind()).collect();
    let backends = format!(
        "--set=planner.backends={:?}",
        [&["phrasebook"], &kinds[..]].concat()
    );
    let mut settings: Vec<String> = models.iter().flat_map(settings).collect();
    settings.push(backends);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let up = AllInOne::start(TestSetup::on(&desktop), &settings).await;
    for (dialect, provider) in &models {
        check_form(*dialect, provider, &up, &site).await;
        if *dialect == Dialect::OpenAiComputer {
            check_question(*dialect, provider, &up).await;
        }
        check_follow_up(*dialect, provider, &up, &site).await;
        check_impossible(*dialect, &up).await;
    }
    indent_in_editors(&desktop);
    for (dialect, _) in &models {
        check_editor(*dialect, &up, &mut desktop).await;
    }
}

fn settings((dialect, provider): &(Dialect, Provider)) -> Vec<String> {
    let (kind, model, url) = (dialect.kind(), dialect.model(), &provider.url);
    vec![
        format!("--set=planner.providers.of_{kind}.base_url={url}"),
        format!("--set=planner.backend.{kind}.provider=of_{kind}"),
        format!("--set=planner.backend.{kind}.model={model}"),
    ]
}

/// Fills the form, although the provider is busy first, and the model answers wrongly three times.
async fn check_form(dialect: Dialect, provider: &Provider, up: &AllInOne, site: &PageServer) {
    let kind = dialect.kind();
    site.go_to(&format!("membership.html?{kind}-1")).await;
    provider.inject([
        Fault::Busy,
        Fault::Unknown,
        Fault::Nowhere,
        Fault::BrokenOff,
    ]);
    if dialect == Dialect::OpenAiComputer {
        provider.inject([
            Fault::Busy,
            Fault::Unknown,
            Fault::Nowhere,
            Fault::BrokenOff,
            Fault::SafetyCheck,
            Fault::Pondering,
        ]);
    }
    let ended = run(dialect, up, &["--on-approval", "approve", GOAL]).await;
    assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
    assert_eq!(saved(site), [NAME], "{kind}: {ended:?}");
    let requests = provider.requests();
    assert!(requests.len() <= MAX_REQUESTS, "{kind}: {}", requests.len());
    if dialect == Dialect::OpenAiComputer {
        let acknowledged = requests.iter().any(|request| {
            let request = request.to_string();
            request.contains("acknowledged_safety_checks") && request.contains("sc_1")
        });
        assert!(
            acknowledged,
            "the approved check goes back to the provider: {ended:?}"
        );
    }
}

/// Asks in words, without a call, and goes by the answer.
async fn check_question(dialect: Dialect, provider: &Provider, up: &AllInOne) {
    let mut command = up.setup.command("motorium");
    command.args(run_arguments(dialect, up));
    command.args(["--on-approval", "wait", UNCLEAR_GOAL]);
    let mut asking = Process::start(command);
    let hint = |line: &str| {
        let (_, rest) = line.split_once("motorium tasks answer ")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let output = asking.stderr.clone();
    let task = asking.line("the hint", &output, hint).await;
    let shown = output.lines().concat();
    assert!(shown.contains(QUESTION), "{shown}");
    let answer = ["tasks", "answer", &task, ANSWER, "--server", &up.url];
    let answered = up.setup.motorium(&answer).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert_eq!(asking.ended().await.code(), Some(0));
    assert!(
        provider.was_told(ANSWER),
        "the model is not told the answer"
    );
}

/// Enters the path of a file that comes with the second task of the conversation, and the colour of an image, into a form for which
/// it has to scroll.
async fn check_follow_up(dialect: Dialect, provider: &Provider, up: &AllInOne, site: &PageServer) {
    let kind = dialect.kind();
    site.go_to(&format!("membership.html?{kind}-2-low")).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    std::fs::write(&file, "member 7").unwrap();
    let badge = folder.path().join(IMAGE);
    let pixels = RgbImage::from_pixel(320, 200, IMAGE_COLOUR);
    pixels.save(&badge).unwrap();
    let (file, badge) = (file.to_string_lossy(), badge.to_string_lossy());
    let goal =
        format!("Now enter the {FOLLOW_UP} and the colour of the badge instead, and save it");
    let attached = ["--attach", &file, "--attach", &badge, &goal];
    let ended = run(dialect, up, &attached).await;
    assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
    let [text] = saved(site).try_into().unwrap();
    let (path, colour) = text.split_once(' ').unwrap();
    assert_eq!(colour, "violet", "{kind}: {ended:?}");
    let on_desktop = std::fs::read_to_string(path);
    assert_eq!(
        on_desktop.ok().as_deref(),
        Some("member 7"),
        "{kind}: {path}: {ended:?}"
    );
    assert!(provider.requests().len() <= 2 * MAX_REQUESTS, "{kind}");
}

/// Ends with the reason why the goal cannot be reached.
async fn check_impossible(dialect: Dialect, up: &AllInOne) {
    let ended = run(dialect, up, &[IMPOSSIBLE_GOAL]).await;
    assert_eq!(ended.code, Some(1), "{dialect:?}: {ended:?}");
    assert!(ended.stdout.contains(OBSTACLE), "{dialect:?}: {ended:?}");
}

/// Makes editors indent each new line like the one before.
fn indent_in_editors(desktop: &TestDesktop) {
    let folder = Path::new(&desktop.environment()["XDG_CONFIG_HOME"]).join("glib-2.0/settings");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = "[org/xfce/mousepad/preferences/view]\nauto-indent=true\n";
    std::fs::write(folder.join("keyfile"), settings).unwrap();
}

/// Writes lines of code into a file that is open in an editor, and saves it.
async fn check_editor(dialect: Dialect, up: &AllInOne, desktop: &mut TestDesktop) {
    let name = format!("{}.py", dialect.kind());
    let file = desktop.home().join(&name);
    std::fs::write(&file, "").unwrap();
    let path = file.to_string_lossy();
    let editor = [
        "GSETTINGS_BACKEND=keyfile",
        "mousepad",
        "--disable-server",
        &path,
    ];
    desktop.open("env", &editor);
    let wait = format!("wait for \"{name}\"");
    let opened = up
        .setup
        .motorium(&["run", "--server", &up.url, "--planner", "phrasebook", &wait])
        .await;
    assert_eq!(opened.code, Some(0), "{opened:?}");
    let ended = run(dialect, up, &[EDITOR_GOAL]).await;
    let kind = dialect.kind();
    assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
    let saved = std::fs::read_to_string(&file).unwrap();
    assert_eq!(saved.trim_end(), LINES, "{kind}: {ended:?}");
}

async fn run(dialect: Dialect, up: &AllInOne, arguments: &[&str]) -> ProgramResult {
    let common = run_arguments(dialect, up);
    let common: Vec<&str> = common.iter().map(String::as_str).collect();
    up.setup.motorium(&[&common, arguments].concat()).await
}

/// Returns the arguments of `motorium run` with this kind of backend, before the goal.
fn run_arguments(dialect: Dialect, up: &AllInOne) -> Vec<String> {
    let session = format!("sessions/with-{}", dialect.kind().replace('_', "-"));
    [
        "run",
        "--server",
        &up.url,
        "--planner",
        dialect.kind(),
        "--session",
        &session,
        "--max-time",
        "90s",
    ]
    .map(str::to_owned)
    .into()
}

/// Returns the events that a run with `--json` printed.
fn events(ended: &ProgramResult) -> Vec<Value> {
    let lines = ended.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the texts that were saved on the page that is shown.
fn saved(site: &PageServer) -> Vec<String> {
    let inputs = site.inputs().into_iter();
    let page = site.inputs().last().map(|event| event.page.clone());
    inputs
        .filter(|event| event.target == "saved" && Some(&event.page) == page.as_ref())
        .map(|event| event.text)
        .collect()
}

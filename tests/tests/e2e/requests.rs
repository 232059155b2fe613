//! Tasks that need a person, and commands that end before their tasks.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::{self, Output, Process, ProgramResult};
use motorium_tests::services::{AllInOne, TestSetup};
use motorium_tests::until;
use rustix::process::Signal;
use tokio::time::Instant;

/// A goal that the phrasebook cannot reach without asking.
const AMBIGUOUS: &str = "click \"Lantern\"";
/// A goal that the careful policy does not allow without approval.
const RISKY: &str = "click \"Delete account\"";

/// Number of characters to type. Takes several seconds, long enough to interrupt.
const CHARACTERS: usize = 14_000;

const CAREFUL: &str = "--set=orchestrator.policy=careful";

#[track_caller]
fn assert_code(finished: &ProgramResult, code: i32) {
    let output = format!("{}\n{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(code), "{output}");
}

struct Scene {
    up: AllInOne,
    site: PageServer,
    desktop: TestDesktop,
}

impl Scene {
    /// Starts a desktop with the page, and `motorium up` with the careful policy for it.
    async fn start() -> Self {
        Self::start_in(BTreeMap::new()).await
    }

    /// Starts them with additional environment variables for the programs.
    async fn start_in(environment: BTreeMap<String, String>) -> Self {
        let (desktop, site) = shown().await;
        let mut setup = TestSetup::on(&desktop);
        setup.environment.extend(environment);
        let policy = "MOTORIUM_ORCHESTRATOR__POLICY".to_owned();
        setup.environment.insert(policy, "careful".to_owned());
        let up = AllInOne::start(setup, &[]).await;
        Self { up, site, desktop }
    }

    /// Runs a command without a terminal.
    async fn motorium(&self, arguments: &[&str]) -> ProgramResult {
        let server = ["--server", &self.up.url];
        self.up.setup.motorium(&[arguments, &server].concat()).await
    }

    /// Starts a command without a terminal.
    fn started(&self, arguments: &[&str]) -> Process {
        let mut command = self.up.setup.command("motorium");
        command.args(arguments).args(["--server", &self.up.url]);
        Process::start(command)
    }

    /// Waits until the newest task is in this state and returns its name.
    async fn newest_in(&self, state: State) -> String {
        until("the state of the newest task", || async {
            let listed = self
                .up
                .client()
                .raw()
                .list_tasks(wire::ListTasksRequest::default())
                .await;
            let newest = listed.unwrap().into_inner().tasks.into_iter().next()?;
            (newest.state() == state).then_some(newest.name)
        })
        .await
    }

    fn clicked(&self) -> Vec<String> {
        let clicks = self.site.inputs().into_iter();
        let clicks = clicks.filter(|event| event.kind == "click");
        clicks.map(|event| event.target).collect()
    }

    /// Returns the last values that the fields reported, with their ids.
    fn entered(&self) -> BTreeMap<String, String> {
        let inputs = self.site.inputs().into_iter();
        let changes = inputs.filter(|event| event.kind == "input");
        changes.map(|event| (event.target, event.text)).collect()
    }
}

async fn shown() -> (TestDesktop, PageServer) {
    let mut desktop = TestDesktop::start().await;
    let site = PageServer::serve().await;
    site.show("requests.html", &mut desktop).await;
    (desktop, site)
}

/// Preloaded library that fakes a program's clock.
const FAKE_CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The clock of the programs, which can be set.
struct FakeClock {
    folder: tempfile::TempDir,
}

impl FakeClock {
    fn start() -> Self {
        // The loader ignores a missing library, and a test would prove nothing.
        assert!(std::path::Path::new(FAKE_CLOCK).exists());
        let folder = tempfile::tempdir().unwrap();
        let clock = Self { folder };
        clock.set("+0");
        clock
    }

    /// Sets the clock to this number of seconds before or after the time.
    fn set(&self, offset: &str) {
        std::fs::write(self.folder.path().join("clock"), offset).unwrap();
    }

    /// Returns the variables of a program with this clock.
    fn environment(&self) -> BTreeMap<String, String> {
        let file = self.folder.path().join("clock");
        let environment = [
            ("LD_PRELOAD", FAKE_CLOCK),
            ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ];
        let owned = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        owned.into()
    }
}

/// When a machine wakes up, its clock has moved on, every lease has expired, and the time limits have lost nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_goes_on_once_after_the_machine_was_suspended() {
    const LEASE: Duration = Duration::from_secs(1);
    let clock = FakeClock::start();
    let mut environment = clock.environment();
    let lease = "MOTORIUM_ORCHESTRATOR__LEASE_DURATION".to_owned();
    environment.insert(lease, format!("{}s", LEASE.as_secs()));
    let scene = Scene::start_in(environment).await;
    let goal = "wait 1.5 seconds, then click \"Edit\" in the row of \"Ann\"";
    let mut started = scene.started(&["run", "--max-time", "60s", goal]);
    scene.newest_in(State::Running).await;
    scene.up.process.signal(Signal::STOP);
    clock.set("+600");
    // Longer than the lease, also by the clock that goes on evenly.
    tokio::time::sleep(2 * LEASE).await;
    assert_eq!(
        scene.clicked(),
        [""; 0],
        "it was suspended before the click"
    );
    scene.up.process.signal(Signal::CONT);
    assert_eq!(
        started.ended().await.code(),
        Some(0),
        "{:?}",
        started.stderr.lines()
    );
    assert_eq!(scene.clicked().len(), 1, "{:?}", scene.clicked());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_ends_no_task_and_expires_no_approval() {
    let clock = FakeClock::start();
    let scene = Scene::start_in(clock.environment()).await;
    for offset in ["+600", "-600"] {
        clock.set("+0");
        let mut started = scene.started(&["run", "--max-time", "60s", "wait 1.5 seconds"]);
        scene.newest_in(State::Running).await;
        clock.set(offset);
        assert_eq!(started.ended().await.code(), Some(0), "{offset}");
    }
    // An approval may be given for five minutes. The page looks the same after the second click, so the click itself is waited for.
    for (number, offset) in [(1, "+600"), (2, "-600")] {
        clock.set("+0");
        let task = scene.up.client().create_task(RISKY).await.unwrap();
        scene.newest_in(State::AwaitingUser).await;
        clock.set(offset);
        let approved = scene.motorium(&["tasks", "approve", &task.name]).await;
        assert_code(&approved, 0);
        until("the click", || async {
            (scene.clicked().len() == number).then_some(())
        })
        .await;
        assert_eq!(scene.clicked(), vec!["delete"; number]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_without_a_terminal_ends_with_the_required_flags() {
    let scene = Scene::start().await;
    for goal in [AMBIGUOUS, RISKY] {
        let ended = scene.motorium(&["run", goal]).await;
        assert_code(&ended, 3);
        assert!(ended.stdout.contains("no person is available"), "{ended:?}");
        assert!(ended.stderr.contains("--on-approval"), "{ended:?}");
        assert!(ended.elapsed < Duration::from_secs(30), "{ended:?}");
        scene.newest_in(State::Cancelled).await;
    }
    assert!(scene.clicked().is_empty(), "{:?}", scene.clicked());

    let approved = scene
        .motorium(&["run", "--on-approval", "approve", RISKY])
        .await;
    assert_code(&approved, 0);
    assert!(
        approved
            .stderr
            .contains("approved by `--on-approval approve`"),
        "{approved:?}"
    );
    assert_eq!(scene.clicked(), ["delete"]);
    let asked = scene
        .motorium(&["run", "--on-approval", "approve", AMBIGUOUS])
        .await;
    assert_code(&asked, 3);

    let limited = scene
        .motorium(&[
            "run",
            "--on-approval",
            "wait",
            "--max-time",
            "12s",
            AMBIGUOUS,
        ])
        .await;
    assert_code(&limited, 1);
    for part in ["the time limit of 12 s", "waiting for a person", "Lantern"] {
        assert!(limited.stdout.contains(part), "{part}: {limited:?}");
    }
    // The hint can be pasted.
    assert!(
        limited
            .stderr
            .contains(&format!("--server {}`", scene.up.url)),
        "{limited:?}"
    );
}

/// Entering text and opening things for reading is harmless, also beside something risky, and whatever the goal says later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_risky_step_is_asked_for() {
    let scene = Scene::start().await;
    for harmless in [
        "click \"Edit\" in the row of \"Ann\"",
        "select \"Open\" from \"Status\"",
        "type \"Looks good\" into \"Comment\"",
    ] {
        let ended = scene.motorium(&["run", harmless]).await;
        assert_code(&ended, 0);
    }
    let sending = "enter \"Chas\" into \"Customer\" and press Submit";
    let ended = scene.motorium(&["run", sending]).await;
    assert_code(&ended, 3);
    assert!(ended.stdout.contains("Submit"), "{ended:?}");
    assert_eq!(scene.clicked(), ["edit-ann"], "{ended:?}");

    let approved = ["run", "--on-approval", "approve", "click \"Submit\""];
    assert_code(&scene.motorium(&approved).await, 0);
    assert_eq!(scene.clicked(), ["edit-ann", "submit"]);
    let entered = [
        ("comment", "Looks good"),
        ("customer", "Chas"),
        ("status", "Open"),
    ];
    let entered = entered.map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(scene.entered(), BTreeMap::from(entered));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_ended_cancels_its_task() {
    let scene = Scene::start().await;
    check_interrupted_typing(&scene).await;
    let wait = ["run", "--on-approval", "wait", AMBIGUOUS];
    let mut asking = scene.started(&wait);
    let holder = scene.newest_in(State::AwaitingUser).await;
    // The desktop is taken: this one is queued.
    let mut queued = scene.started(&["run", RISKY]);
    scene.newest_in(State::Pending).await;
    let output = queued.stdout.clone();
    let queue_reason = |line: &str| {
        line.contains("place 1 in the queue")
            .then(|| line.to_owned())
    };
    let reason = queued.line("the reason", &output, queue_reason).await;
    assert!(
        reason.contains(&format!("desktops/local is held by {holder}")),
        "{reason}"
    );
    queued.signal(Signal::TERM);
    assert_eq!(queued.ended().await.code(), Some(130));
    scene.newest_in(State::Cancelled).await;
    asking.signal(Signal::HUP);
    assert_eq!(asking.ended().await.code(), Some(130));
    let left = scene.motorium(&["tasks", "list"]).await;
    assert!(!left.stdout.contains("awaiting"), "{left:?}");

    let detached = scene.motorium(&["run", "--detach", AMBIGUOUS]).await;
    assert_code(&detached, 0);
    let name = detached.stdout.trim();
    assert!(name.starts_with("tasks/"), "{detached:?}");
    assert_eq!(scene.newest_in(State::AwaitingUser).await, name);
    // A watch does not own the task.
    let mut watching = scene.started(&["tasks", "watch", name]);
    let output = watching.stderr.clone();
    let asked = |line: &str| line.contains("tasks answer").then_some(());
    watching.line("the question", &output, asked).await;
    check_silence_is_reported(&scene, &mut watching).await;
    watching.signal(Signal::TERM);
    assert_eq!(watching.ended().await.code(), Some(130));
    assert_eq!(scene.newest_in(State::AwaitingUser).await, name);
    assert!(scene.clicked().is_empty(), "{:?}", scene.clicked());
}

/// Interrupts a run that types, as Ctrl-C does: its task is cancelled, the text stays incomplete, and no key stays pressed.
async fn check_interrupted_typing(scene: &Scene) {
    let text: String = ('a'..='z').cycle().take(CHARACTERS).collect();
    let goal = format!("type \"{text}\" into \"Comment\"");
    let keys = scene.desktop.listen_for_keys();
    let mut typing = scene.started(&["run", &goal]);
    keys.first_key().await;
    typing.signal(Signal::INT);
    assert_eq!(typing.ended().await.code(), Some(130));
    scene.newest_in(State::Cancelled).await;
    let typed = keys.keys_pressed();
    assert!(typed < CHARACTERS, "{typed} keys were pressed");
    assert_eq!(scene.desktop.pressed(), Vec::<String>::new());
    let output = typing.stdout.lines().concat() + &typing.stderr.lines().concat();
    assert!(output.contains("cancelling the task"), "{output}");
    assert!(scene.clicked().is_empty(), "{:?}", scene.clicked());
}

/// Stops the server as a debugger or a full machine does: its connections stay, and nothing comes. The watch says so within 40 s, and
/// goes on.
async fn check_silence_is_reported(scene: &Scene, watching: &mut Process) {
    let output = watching.stderr.clone();
    scene.up.process.signal(Signal::STOP);
    let began = Instant::now();
    let silent = |line: &str| line.contains("no response from").then_some(());
    watching.line("the silence", &output, silent).await;
    let reported_after = began.elapsed();
    scene.up.process.signal(Signal::CONT);
    assert!(
        reported_after < Duration::from_secs(40),
        "{reported_after:?}"
    );
    let again = |line: &str| line.contains("answers again").then_some(());
    watching
        .line("the end of the silence", &output, again)
        .await;
}

/// A command at a terminal that `script` provides.
struct AtTerminal {
    process: Child,
    screen: Output,
}

impl AtTerminal {
    fn start(setup: &TestSetup, arguments: &[&str]) -> Self {
        let inner = setup.command("motorium");
        let words = std::iter::once(inner.get_program()).chain(inner.get_args());
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let words = words.chain(arguments.iter().map(|&word| word.to_owned()));
        let quoted: Vec<String> = words.map(|word| format!("'{word}'")).collect();
        let mut command = programs::command("script", &setup.environment);
        command
            .args(["-qefc", &quoted.join(" "), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().expect("script is installed");
        let screen = Output::default();
        screen.read_bytes(process.stdout.take().expect("it is piped"));
        Self { process, screen }
    }

    fn text(&self) -> String {
        self.screen.lines().concat()
    }

    fn press(&mut self, keys: &str) {
        let input = self.process.stdin.as_mut().expect("it is piped");
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    async fn shows(&self, text: &str, times: usize) {
        until(text, || async {
            (self.text().matches(text).count() >= times).then_some(())
        })
        .await;
    }

    async fn ended(&mut self) -> Option<i32> {
        let process = std::cell::RefCell::new(&mut self.process);
        let status = until("the end of the command", || async {
            process.borrow_mut().try_wait().unwrap()
        });
        status.await.code()
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_is_not_redrawn_and_ctrl_c_cancels() {
    let scene = Scene::start().await;
    let run = ["run", AMBIGUOUS, "--server", &scene.up.url];
    let mut terminal = AtTerminal::start(&scene.up.setup, &run);
    terminal.shows("your answer: ", 1).await;
    let standing = terminal.text();
    // Ten times the interval of a spinner: what is tested is that nothing is drawn.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(terminal.text(), standing, "something draws over the prompt");
    assert!(standing.ends_with("your answer: "), "{standing:?}");

    // An empty line answers nothing.
    terminal.press("\n");
    terminal.shows("your answer: ", 2).await;
    scene.newest_in(State::AwaitingUser).await;

    let pressed = Instant::now();
    terminal.press("\u{3}");
    terminal.shows("Ctrl-C: cancelling the task", 1).await;
    let acknowledged = pressed.elapsed();
    assert_eq!(terminal.ended().await, Some(130));
    let ended = pressed.elapsed();
    eprintln!("Ctrl-C: said after {acknowledged:?}, ended after {ended:?} (target: 100 ms)");
    scene.newest_in(State::Cancelled).await;

    let mut terminal = AtTerminal::start(&scene.up.setup, &run);
    terminal.shows("your answer: ", 1).await;
    terminal.press("2\n");
    assert_eq!(terminal.ended().await, Some(0), "{}", terminal.text());
    assert_eq!(scene.clicked(), ["lower"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_in_one_process_leaves_the_tasks_of_earlier_ones_alone() {
    let (desktop, site) = shown().await;
    let setup = TestSetup::on(&desktop);
    let first = AtTerminal::start(&setup, &["run", "--in-process", AMBIGUOUS]);
    first.shows("your answer: ", 1).await;
    // Everything of it is in one process, without a connection that another program could find.
    let processes = processes_of(&setup);
    assert!(!processes.is_empty());
    let ports: Vec<String> = processes.iter().flat_map(listening).collect();
    assert!(ports.is_empty(), "{ports:?}");
    kill_all_of(&setup).await;
    drop(first);

    let run = ["run", "--in-process", "--on-approval", "approve", RISKY];
    let next = setup.motorium(&[&[CAREFUL][..], &run].concat()).await;
    assert_code(&next, 0);
    assert!(next.stderr.contains("1 unfinished task"), "{next:?}");
    let hint = "motorium run --in-process --resume ";
    let (_, rest) = next.stderr.split_once(hint).expect("there is a hint");
    let name = rest.split('`').next().unwrap();
    let clicked: Vec<String> = site
        .inputs()
        .into_iter()
        .map(|event| event.target)
        .collect();
    assert_eq!(clicked, ["delete"]);

    let resumed = setup
        .motorium(&["run", "--in-process", "--resume", name])
        .await;
    assert_code(&resumed, 3);
    assert!(
        resumed.stdout.contains("no person is available"),
        "{resumed:?}"
    );
    let clean = setup.motorium(&["run", "--in-process", AMBIGUOUS]).await;
    assert_code(&clean, 3);
    assert!(!clean.stderr.contains("unfinished"), "{clean:?}");
}

/// Returns whether a process is gone, or only waits for its parent. Its locks are held until its last thread has ended.
fn has_ended(pid: &i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    // The state follows the name, which is in parentheses.
    let state = status.rsplit(") ").next().unwrap_or_default();
    state.is_empty() || (state.starts_with('Z') && threads <= 1)
}

/// Returns the processes that have the data folder of this setup among their arguments.
fn processes_of(setup: &TestSetup) -> Vec<i32> {
    let data = setup.data().to_string_lossy().into_owned();
    let is_of_setup = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&data)
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(is_of_setup).collect()
}

/// Returns the TCP sockets on which a process listens, as lines of the kernel's table.
fn listening(pid: &i32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    let targets = files.flatten().flatten();
    let targets = targets.filter_map(|file| std::fs::read_link(file.path()).ok());
    let sockets: Vec<String> = targets
        .filter_map(|target| {
            let inode = target.to_str()?.strip_prefix("socket:[")?;
            Some(inode.strip_suffix(']')?.to_owned())
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| {
        std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default()
    });
    let lines = tables.iter().flat_map(|table| table.lines());
    let is_listening = |line: &&str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        columns.get(3) == Some(&"0A") && sockets.iter().any(|inode| columns[9] == inode)
    };
    lines.filter(is_listening).map(str::to_owned).collect()
}

/// Kills every process of this setup, as a crash would, and waits until they are gone.
async fn kill_all_of(setup: &TestSetup) {
    let killed = std::cell::RefCell::new(Vec::new());
    until("the processes to end", || async {
        let left = processes_of(setup);
        for &pid in &left {
            let process = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        let mut killed = killed.borrow_mut();
        killed.extend(&left);
        // A process has no command line any more while it still holds its locks.
        (left.is_empty() && killed.iter().all(has_ended)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_finds_the_configured_server() {
    let setup = TestSetup::without_display();
    let nowhere = "--set=orchestrator.listen=127.0.0.1:9";
    for command in [
        &["run", AMBIGUOUS][..],
        &["tasks", "list"],
        &["tasks", "watch", "a"],
        &["desktops"],
    ] {
        let ended = setup.motorium(&[&[nowhere][..], command].concat()).await;
        assert_code(&ended, 2);
        assert!(ended.stderr.contains("http://127.0.0.1:9 "), "{ended:?}");
    }
}

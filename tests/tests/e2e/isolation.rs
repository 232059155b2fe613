//! A virtual desktop is hostile ground: its programs reach no key, no file and no process of their user, now or at the next
//! start, and nothing on it starts a program that is not on the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use motorium_tests::desktop::TestDesktop;
use motorium_tests::page_server::PageServer;
use motorium_tests::programs::{self, Process};
use motorium_tests::services::{AllInOne, TestSetup};

/// Planted wherever a desktop program must not look. The probe searches for it by a pattern that does not match itself.
const CANARY: &str = "canary-5d1e9c";

/// Reports the surroundings of a program on the desktop, and leaves links to a file of the user, `KEPT`, where an earlier or later
/// start might write. `OUTSIDE` is a process outside, and `SEGMENT` the key of shared memory outside.
const PROBE: &str = r#"#!/bin/sh
exec > "$HOME/report.part" 2>&1
echo "processes: $(ls -d /proc/[0-9]* | wc -l)"
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n' | grep 'canary[-]' | sed 's/^/in a process: /'
grep -rsl 'canary[-]' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=dev | sed 's/^/in a file: /'
find / -path /proc -prune -o -path /usr -prune -o -name 'tasks.db*' -print | sed 's/^/a store: /'
ipcs -m | grep 'SEGMENT' | sed 's/^/in a shared memory segment: /'
grep -rsl 'canary[-]' /dev/shm | sed 's/^/in shared memory: /'
touch /usr/motorium-was-here && echo "writes to the system"
echo "" > "$ICEWM_PRIVCFG/keys" && echo "changes the window manager"
kill -0 OUTSIDE && echo "signals a process outside"
xdg-open http://127.0.0.1:9/ && echo "opens with another program"
ls /usr/share/applications | grep . && echo "lists applications"
bus() { dbus-send --session --print-reply --dest=org.freedesktop.DBus /org/freedesktop/DBus "org.freedesktop.DBus.$@"; }
bus GetId >/dev/null || echo "no bus, so that the next lines show nothing"
bus ListActivatableNames | grep '"' | grep -v '"org.freedesktop.DBus"' | sed 's/^/starts by the bus: /'
for service in SERVICES; do
  bus StartServiceByName "string:$service" uint32:0 2>/dev/null && echo "has started $service"
done
rm -rf "$HOME/.config/chromium" "$HOME/.Xauthority" "$HOME/.icewm"
mkdir -p "$HOME/.config/chromium/Default"
ln -s "KEPT" "$HOME/.config/chromium/Default/Preferences"
ln -s "KEPT" "$HOME/.Xauthority"
ln -s "$(dirname "KEPT")" "$HOME/.icewm"
mv "$HOME/report.part" "$HOME/report"
"#;

/// Chords that icewm gives to programs, menus and dialogs by default (`/usr/share/icewm/keys` and `preferences` of 3.3.1).
const LAUNCHING_CHORDS: [&str; 15] = [
    "alt+ctrl+t",
    "alt+ctrl+b",
    "alt+ctrl+s",
    "alt+ctrl+space",
    "ctrl+escape",
    "shift+escape",
    "alt+ctrl+escape",
    "alt+ctrl+d",
    "alt+ctrl+h",
    "alt+shift+f5",
    "alt+shift+f8",
    "super+p",
    "super+kp_add",
    "XF86HomePage",
    "XF86Calculator",
];

/// Chords of icewm that remain: those that switch, arrange, move and hide windows. Their names are `KeySys` and this.
const HARMLESS_CHORDS: [&str; 13] = [
    "Switch",
    "WinNext",
    "WinPrev",
    "Workspace",
    "TileVertical",
    "TileHorizontal",
    "Cascade",
    "Arrange",
    "MinimizeAll",
    "HideAll",
    "ShowDesktop",
    "CollapseTaskBar",
    "KeyboardNext",
];

/// Shared memory outside of the desktop, that every user may read: a segment, and a file with the canary.
struct SharedMemory {
    segment: String,
    file: PathBuf,
}

impl SharedMemory {
    fn create() -> Self {
        let created = Command::new("ipcmk")
            .args(["-M", "4096", "-p", "0666"])
            .output();
        let created = String::from_utf8(created.unwrap().stdout).unwrap();
        let segment = created.split_whitespace().last().unwrap().to_owned();
        let file = Path::new("/dev/shm").join(format!("motorium-test-{segment}"));
        fs::write(&file, CANARY).unwrap();
        Self { segment, file }
    }

    /// Returns the key of the segment, as `ipcs` prints it.
    fn key(&self) -> String {
        let listed = Command::new("ipcs").arg("-m").output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let row = listed.lines().find_map(|line| {
            let mut columns = line.split_whitespace();
            let key = columns.next()?;
            (columns.next()? == self.segment).then(|| key.to_owned())
        });
        row.expect("the segment is listed outside")
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        let _ = Command::new("ipcrm").args(["-m", &self.segment]).status();
    }
}

/// `motorium up` on a virtual desktop of its own, with canaries in its environment, its home, its data and shared memory.
async fn on_hostile_ground(other: &TestDesktop) -> (AllInOne, PathBuf, SharedMemory) {
    let shared = SharedMemory::create();
    let mut setup = TestSetup::on(other);
    for name in ["ANTHROPIC_API_KEY", "MOTORIUM_SECRET_BANK", "PGPASSWORD"] {
        setup.environment.insert(name.to_owned(), CANARY.to_owned());
    }
    let folder = setup.data().parent().unwrap().to_owned();
    for name in ["key", "data/secret"] {
        fs::write(folder.join(name), CANARY).unwrap();
    }
    let probe = folder.join("probe");
    let script = PROBE.replace("OUTSIDE", &std::process::id().to_string());
    let script = script.replace("KEPT", &folder.join("key").to_string_lossy());
    let script = script.replace("SEGMENT", &shared.key());
    let script = script.replace("SERVICES", &activatable_services().join(" "));
    fs::write(&probe, script).unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).unwrap();
    (start(setup, &probe).await, folder, shared)
}

/// Returns the names under which the session bus of this system starts programs.
fn activatable_services() -> Vec<String> {
    let files = fs::read_dir("/usr/share/dbus-1/services")
        .into_iter()
        .flatten();
    let names = files.flatten().filter_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        Some(name.strip_suffix(".service")?.to_owned())
    });
    names.collect()
}

async fn start(setup: TestSetup, probe: &Path) -> AllInOne {
    let application = format!(
        "--set=executor.applications.probe.program={}",
        probe.display()
    );
    let isolation = "--set=desktop.isolation=required";
    AllInOne::start(setup, &[&application, isolation, "--virtual-desktop"]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_on_a_virtual_desktop_reach_no_key_no_file_and_no_process() {
    let other = TestDesktop::start().await;
    let (up, folder, _shared) = on_hostile_ground(&other).await;
    let opened = ["run", "--server", &up.url, "open the probe"];
    up.setup.motorium(&opened).await;
    let report = folder.join("data/desktop/report");
    let written = motorium_tests::until("the probe's report", async || {
        fs::read_to_string(&report).ok()
    })
    .await;
    let denials = [
        "Permission denied",
        "Read-only file system",
        "No such process",
        "cannot access",
    ];
    let reached: Vec<&str> = written
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("processes: "))
        .filter(|line| !denials.iter().any(|denial| line.contains(denial)))
        .collect();
    assert!(reached.is_empty(), "{reached:#?}");
    let count = written
        .lines()
        .find_map(|line| line.strip_prefix("processes: "));
    let count: usize = count.unwrap().parse().unwrap();
    assert!(count < 20, "only those of the desktop: {count}");

    // Another user's program, which has no cookie, does not reach the desktop.
    let mut intruder = up.setup.command("motorium");
    intruder
        .args(["act", "--in-process", "click", "1", "1"])
        .env("DISPLAY", &up.display)
        .env("XAUTHORITY", "/dev/null");
    let refused = programs::run(intruder).await;
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("cannot connect"), "{refused:?}");

    let mode = |name: &str| {
        let folder = folder.join("data").join(name);
        fs::metadata(folder).unwrap().permissions().mode() & 0o777
    };
    let files = format!("files/_{}", up.display.trim_start_matches(':'));
    assert_eq!([mode("desktop"), mode(&files)], [0o700, 0o700]);

    // The links that the probe left lead the next start nowhere.
    let AllInOne {
        setup, mut process, ..
    } = up;
    process.kill();
    let again = start(setup, &folder.join("probe")).await;
    assert_eq!(fs::read_to_string(folder.join("key")).unwrap(), CANARY);
    assert!(!folder.join("keys").exists(), "no configuration beside it");
    drop(again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_chord_and_no_menu_starts_a_program() {
    let other = TestDesktop::start().await;
    let (up, _folder, _shared) = on_hostile_ground(&other).await;
    let started = motorium_tests::until("the window manager", async || {
        Some(processes_of(&up)).filter(|names| names.contains("icewm"))
    })
    .await;
    let lines = up.process.stdout.lines();
    let executor = lines.iter().find_map(|line| line.strip_prefix("executor"));
    let executor = format!("http://{}", executor.unwrap().trim());
    let act = async |action: &[&str]| {
        let command = [&["act", "--executor", &executor], action].concat();
        up.setup.motorium(&command).await
    };
    for button in ["left", "middle", "right"] {
        act(&["click", "640", "400", "--button", button]).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for chord in LAUNCHING_CHORDS {
        act(&["key", chord]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut running = processes_of(&up);
    // The process of Motorium itself that releases held input.
    running.remove("exe");
    assert_eq!(running, started);
    // No menu either: nothing is written on an empty screen.
    let menu = [
        "check that \"Terminal\" is not shown",
        "check that \"Programs\" is not shown",
    ];
    for check in menu {
        let ended = up
            .setup
            .motorium(&["run", "--server", &up.url, check])
            .await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    check_window_manager(&up, &other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_namespaces_a_desktop_says_so_or_does_not_start() {
    let other = TestDesktop::start().await;
    let mut setup = TestSetup::on(&other);
    let path = path_without_namespaces(&setup.data());
    setup.environment.insert("PATH".to_owned(), path);

    let required = [
        "--set=desktop.isolation=required",
        "up",
        "--virtual-desktop",
    ];
    let refused = setup.motorium(&required).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for words in ["no permissions", "desktop.isolation"] {
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    let up = AllInOne::start(setup, &["--virtual-desktop"]).await;
    let printed = up.process.stdout.lines().join("\n");
    assert!(printed.contains("NOT isolated"), "{printed}");
    assert!(printed.contains("no permissions"), "{printed}");
    let opened = ["run", "--server", &up.url, "open the editor"];
    let opened = up.setup.motorium(&opened).await;
    assert_eq!(opened.code, Some(0), "{opened:?}");
}

/// Returns a path of programs as on a system that forbids namespaces.
fn path_without_namespaces(folder: &Path) -> String {
    let folder = folder.join("programs");
    fs::create_dir(&folder).unwrap();
    let sandbox = folder.join("bwrap");
    fs::write(
        &sandbox,
        "#!/bin/sh\necho 'bwrap: no permissions' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&sandbox, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

/// `motorium up` on a virtual desktop with its own browser, as a user without rights: root has another sandbox, and may read all.
struct OfUser {
    process: Process,
    /// Everything of the user.
    folder: tempfile::TempDir,
    printed: String,
}

impl OfUser {
    async fn start(change: impl FnOnce(&Path, &mut BTreeMap<String, String>)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let mut environment = BTreeMap::from([
            ("HOME".to_owned(), home.display().to_string()),
            ("ANTHROPIC_API_KEY".to_owned(), CANARY.to_owned()),
        ]);
        change(home, &mut environment);
        // No models: nothing is read from the screen here.
        let data = home.join("data");
        fs::create_dir(&data).unwrap();
        for owned in [home, &data] {
            if rustix::process::geteuid().is_root() {
                chown(owned, Some(programs::NOBODY), Some(programs::NOBODY)).unwrap();
            }
        }
        let mut command = programs::command(programs::binary("motorium"), &environment);
        command.arg("--data").arg(&data);
        for service in [
            "orchestrator",
            "perception",
            "planner",
            "executor",
            "gateway",
        ] {
            command.arg(format!("--set={service}.listen=127.0.0.1:0"));
        }
        command.args(["up", "--virtual-desktop", "--platform", "browser"]);
        let mut process = Process::start(programs::as_nobody(&command));
        let output = process.stdout.clone();
        let ready = |line: &str| line.starts_with("submit a task").then_some(());
        process.line("the hint", &output, ready).await;
        let printed = output.lines().join("\n");
        Self {
            process,
            folder,
            printed,
        }
    }

    /// Returns the processes of the browser, with the arguments of each.
    fn browser(&self) -> Vec<(u32, String)> {
        let below = programs::descendants(self.process.id()).into_keys();
        let with_arguments = below.map(|id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            (id, String::from_utf8_lossy(&line).replace('\0', " "))
        });
        with_arguments
            .filter(|(_, line)| line.contains("chromium") && !line.contains("bwrap"))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_on_a_virtual_desktop_are_isolated_from_their_browser() {
    let up = OfUser::start(|_, _| {}).await;
    assert!(!up.printed.contains("NOT isolated"), "{}", up.printed);
    // Without DevTools, `up` says what pages can reach.
    assert!(
        up.printed.contains("`executor.devtools` prevents"),
        "{}",
        up.printed
    );
    // 2 is a filter of system calls (`man 5 proc`), which a process of a page sets some time after it has begun.
    let is_filtered = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        status.contains("Seccomp:\t2")
    };
    let renderer = motorium_tests::until("a page with a filter", async || {
        let mut processes = up.browser().into_iter();
        processes.find(|(id, line)| line.contains("--type=renderer") && is_filtered(*id))
    });
    renderer.await;
    for (_, line) in up.browser() {
        assert!(!line.contains("--no-sandbox"), "{line}");
    }
}

/// Browsers offer to save a password over the page to which a login leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_browser_covers_a_page_after_a_login() {
    let site = PageServer::serve().await;
    let up = AllInOne::start(TestSetup::without_display(), &["--virtual-desktop"]).await;
    let goal = format!(
        "open {}, type \"ann\" into \"User name\", type \"lantern-42\" into \"Password\", \
         click \"Sign in\", wait for \"Welcome\", wait 2 seconds, click \"My orders\", \
         check that \"You have no open orders\" is shown",
        site.url("login.html")
    );
    let run = ["run", "--server", &up.url, &goal];
    let ended = up.setup.motorium(&run).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Not only out of the way: it is not shown at all.
    let bubble = "check that \"Save password\" is shown";
    let run = ["run", "--server", &up.url, bubble];
    assert_eq!(up.setup.motorium(&run).await.code, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_without_a_sandbox_do_not_read_the_keys_of_up() {
    let up = OfUser::start(|folder, environment| {
        environment.insert("PATH".to_owned(), path_without_namespaces(folder));
    })
    .await;
    assert!(up.printed.contains("NOT isolated"), "{}", up.printed);
    let home = BTreeMap::from([("HOME".to_owned(), up.folder.path().display().to_string())]);
    let mut reading = programs::command("cat", &home);
    let process = up.process.id();
    reading.args(["environ", "maps"].map(|file| format!("/proc/{process}/{file}")));
    let read = programs::run(programs::as_nobody(&reading)).await;
    let read = format!("{}{}", read.stdout, read.stderr);
    assert_eq!(read.matches("Permission denied").count(), 2, "{read}");
    // Nor do its browser and the others on the desktop have them.
    for (process, name) in programs::descendants(process) {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        assert!(!environment.contains(CANARY), "{name}");
    }
}

/// Returns a process below `motorium up` with this name.
fn process_named(up: &AllInOne, wanted: &str) -> Option<u32> {
    let below = programs::descendants(up.process.id());
    below
        .into_iter()
        .find_map(|(id, name)| (name == wanted).then_some(id))
}

/// Asserts that the configuration in effect gives no chord and no menu a program: chords that the test above does not press, and
/// those of another version of icewm.
async fn check_window_manager(up: &AllInOne, other: &TestDesktop) {
    let id = process_named(up, "icewm").unwrap();
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let mut variables = environment.split('\0');
    let folder = variables
        .find_map(|variable| variable.strip_prefix("ICEWM_PRIVCFG="))
        .unwrap();
    for name in ["keys", "menu", "programs", "startup", "toolbar"] {
        let content = fs::read_to_string(Path::new(folder).join(name)).unwrap();
        assert_eq!(content, "", "{name}");
    }
    let mut printing = programs::command("icewm", other.environment());
    printing
        .arg("--postpreferences")
        .env("ICEWM_PRIVCFG", folder);
    let printed = programs::run(printing).await;
    let set: Vec<(&str, &str)> = printed
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(_, value)| !matches!(value.trim(), "" | "\"\""))
        .collect();
    let is_command = |name: &str| name.ends_with("Command");
    let is_chord = |name: &str| name.starts_with("KeySys");
    let harmless = |name: &&str| HARMLESS_CHORDS.iter().any(|known| name.contains(known));
    let opens: Vec<_> = set
        .iter()
        .filter(|(name, _)| is_command(name) || is_chord(name) && !harmless(name))
        .collect();
    assert!(opens.is_empty(), "{opens:#?}");
    let chords = set.iter().filter(|(name, _)| is_chord(name)).count();
    assert!(chords > 10, "the preferences were printed: {printed:?}");
}

/// Returns the names of the processes below `motorium up`.
fn processes_of(up: &AllInOne) -> BTreeSet<String> {
    programs::descendants(up.process.id())
        .into_values()
        .collect()
}

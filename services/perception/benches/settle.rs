//! Benchmark of waiting for idle: latency and correctness after 200 clicks on a page in a real browser that imitates
//! typical applications.
//!
//!     cargo bench --profile dev --workspace --bench settle --features
//!         motorium-perception/driver-xcap,motorium-executor/driver-enigo
//!
//! After each result the screen is watched for two more seconds. A change in that time larger than a caret makes the
//! result premature; it counts as reported if the result was not settled or unchanged. The last table shows what fixed
//! sleeps would have missed. Compare only values of one run.

#[path = "../tests/display/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod support;

use std::io::Write as _;
use std::time::Duration;

use motorium_perception::capture::x11::X11Screen;
use motorium_perception::settle::wait_for_idle;
use motorium_proto::service::{IdleReport, WaitForIdleRequest};
use tokio::time::{Instant, sleep};

use support::{Client, Desktop, TEST_TIMEOUT};

/// Effects of a click, in the order of the page's buttons.
const ACTIONS: [&str; 10] = [
    "a button changes a text",
    "a box is ticked",
    "a text changes after 80 ms",
    "a text changes after 250 ms",
    "a spinner turns for 400 ms, then a text",
    "a menu fades in or out in 150 ms",
    "a list comes in five pieces, 60 ms apart",
    "a list scrolls smoothly",
    "a dialog slides in or out in 250 ms",
    "another page is opened",
];

/// Rounds per action.
const ROUNDS: usize = 20;

/// Time for which the screen is watched after a result.
const WATCH_AFTER: Duration = Duration::from_secs(2);

/// Fixed sleeps used by other agents.
const SLEEPS: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

const LEFT: i16 = 30;
const TOP: i16 = 30;
/// Width of a button, and vertical position of the buttons on the page.
const BUTTON: i16 = 60;
const ROW: i16 = 60;

const PAGE: &str = r##"<!DOCTYPE html><meta charset="utf-8"><title>Actions</title>
<style>
  body { margin: 0; font: 15px "DejaVu Sans", sans-serif }
  #row { height: 100px; background: #dde; overflow: hidden; white-space: nowrap }
  #row div { display: inline-block; width: 60px; height: 100px; border-right: 1px solid #99a; box-sizing: border-box }
  p { margin: 12px }
  #menu { position: absolute; left: 500px; top: 130px; width: 200px; background: #333; color: #fff; padding: 8px;
          opacity: 0; transition: opacity 150ms }
  #dialog { position: absolute; left: -400px; top: 260px; width: 320px; height: 160px; background: #eef;
            border: 2px solid #446; transition: left 250ms }
  #list { position: absolute; left: 500px; top: 330px; width: 300px; height: 250px; overflow: hidden; scroll-behavior: smooth }
  #spinner { width: 24px; height: 24px; margin: 12px; border: 4px solid #ccc; border-top-color: #06c; border-radius: 50%;
             visibility: hidden }
  .turns { visibility: visible !important; animation: turn 600ms linear infinite }
  @keyframes turn { to { transform: rotate(360deg) } }
</style>
<div id="row"></div>
<p id="text">Ready 0</p><p><input type="checkbox" id="box"> Receive mail</p><p id="late">Waiting</p><div id="spinner"></div>
<p id="found"></p><div id="menu">New file<br>Open …<br>Save</div><div id="dialog"><p>Really delete?<p><button>OK</button></div>
<div id="list"></div>
<script>
  const element = id => document.getElementById(id);
  let count = 0;
  const rows = (from, to) => Array.from({ length: to - from }, (_, row) => `<div>Order ${from + row} of ${count}</div>`).join("");
  const later = (time, act) => setTimeout(act, time);
  const toggle = (thing, property, one, other) => { thing.style[property] = thing.style[property] == one ? other : one };
  const actions = [
    () => { element("text").textContent = "Ready " + count },
    () => { element("box").checked = !element("box").checked },
    () => later(80, () => { element("late").textContent = "Loaded " + count }),
    () => later(250, () => { element("late").textContent = "Loaded " + count }),
    () => { element("spinner").className = "turns";
            later(400, () => { element("spinner").className = ""; element("found").textContent = count + " results" }) },
    () => toggle(element("menu"), "opacity", "1", "0"),
    () => { element("list").innerHTML = "";
            for (let piece = 0; piece < 5; piece++)
              later(60 * piece, () => element("list").insertAdjacentHTML("beforeend", rows(piece * 5, piece * 5 + 5))) },
    () => { element("list").scrollTop = element("list").scrollTop > 50 ? 0 : 400 },
    () => toggle(element("dialog"), "left", "60px", "-400px"),
    () => { location.search = "?" + Math.random() },
  ];
  element("row").innerHTML = actions.map((_, action) => `<div>${action}</div>`).join("");
  if (location.search) { document.body.style.background = "#f4fff4"; element("text").textContent = "Page " + location.search }
  element("list").innerHTML = rows(0, 60);
  element("row").onclick = event => { count++; actions[Math.floor(event.clientX / 60)]?.() };
</script>"##;

/// Result of one action.
struct Outcome {
    quiet: IdleReport,
    /// Time from the click to the last significant change.
    last_change: Duration,
    /// True if something changed after the result.
    early: bool,
}

#[tokio::main]
async fn main() {
    let mut desktop = Desktop::start_on("Xvfb", &["-screen", "0", "1920x1080x24"]);
    // As on the product's desktops: a task bar with a clock and a load graph never becomes idle.
    std::fs::create_dir_all(desktop.path(".icewm")).unwrap();
    std::fs::write(desktop.path(".icewm/preferences"), "ShowTaskBar=0\n").unwrap();
    desktop.run("icewm", &[]);
    let page = desktop.path("actions.html");
    std::fs::write(&page, PAGE).unwrap();
    desktop.open_browser(&page, [LEFT.into(), TOP.into(), 1000, 800]);
    let (screen, client) = (desktop.screen(), Client::connect(&desktop.display));
    still(&screen).await;
    let mut outcomes: Vec<Vec<Outcome>> = ACTIONS.map(|_| Vec::new()).into();
    for round in 0..ROUNDS {
        for step in 0..ACTIONS.len() {
            // Varies the preceding action.
            let action = (step * 3 + round) % ACTIONS.len();
            outcomes[action].push(act(&screen, &client, action).await);
        }
    }
    report(&outcomes);
}

async fn still(screen: &X11Screen) {
    let request = WaitForIdleRequest {
        idle_duration: Duration::from_secs(2),
        timeout: TEST_TIMEOUT,
        first_change_timeout: Duration::ZERO,
        ..WaitForIdleRequest::default()
    };
    wait_for_idle(screen, None, &request).await.unwrap();
}

async fn act(screen: &X11Screen, client: &Client, action: usize) -> Outcome {
    client.move_pointer(LEFT + BUTTON * action as i16 + BUTTON / 2, TOP + ROW);
    sleep(Duration::from_millis(50)).await;
    let clicked = Instant::now();
    client.click();
    let quiet = wait_for_idle(screen, None, &WaitForIdleRequest::default())
        .await
        .unwrap();
    let answered = clicked.elapsed();

    let watch = WaitForIdleRequest {
        first_change_timeout: WATCH_AFTER,
        idle_duration: Duration::from_millis(500),
        timeout: WATCH_AFTER * 3,
        ..WaitForIdleRequest::default()
    };
    let after = wait_for_idle(screen, None, &watch).await.unwrap();
    let last_change = match (after.changed, quiet.changed) {
        (true, _) => answered + after.elapsed - watch.idle_duration,
        (false, true) => answered.saturating_sub(WaitForIdleRequest::default().idle_duration),
        (false, false) => Duration::ZERO,
    };
    Outcome {
        quiet,
        last_change,
        early: after.changed,
    }
}

fn report(outcomes: &[Vec<Outcome>]) {
    say(
        "| action | median ms | p95 ms | last change, median ms | settled | premature | not reported |\n|---|---|---|---|---|---|---|",
    );
    for (name, of_one) in ACTIONS.iter().zip(outcomes) {
        row(name, &of_one.iter().collect::<Vec<_>>());
    }
    let all: Vec<&Outcome> = outcomes.iter().flatten().collect();
    row("all", &all);
    say("\n| a fixed sleep of | would have missed |\n|---|---|");
    for sleep in SLEEPS {
        let missed = all.iter().filter(|one| one.last_change > sleep).count();
        say(&format!(
            "| {} ms | {missed} of {} |",
            sleep.as_millis(),
            all.len()
        ));
    }
}

fn row(name: &str, outcomes: &[&Outcome]) {
    let at = |share: f64, time: &dyn Fn(&Outcome) -> Duration| {
        let mut times: Vec<Duration> = outcomes.iter().map(|one| time(one)).collect();
        times.sort_unstable();
        times[((times.len() - 1) as f64 * share) as usize].as_millis()
    };
    let count = |which: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| which(one)).count();
    let elapsed = |one: &Outcome| one.quiet.elapsed;
    say(&format!(
        "| {name} | {} | {} | {} | {} of {} | {} | {} |",
        at(0.5, &elapsed),
        at(0.95, &elapsed),
        at(0.5, &|one| one.last_change),
        count(&|one| one.quiet.settled),
        outcomes.len(),
        count(&|one| one.early),
        count(&|one| one.early && one.quiet.settled && one.quiet.changed),
    ));
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

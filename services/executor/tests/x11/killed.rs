//! Programs that end in every way while they hold input on a real display, beside a person who holds a key.

use std::time::Duration;

use motorium_proto::domain::action::{Action, Button};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::DesktopEpoch;
use motorium_proto::domain::key::Key;
use motorium_proto::service::Executor as _;
use tokio::time::Instant;

use crate::support::served::{ExecutorProcess, TTL, release_processes};
use crate::support::server::{LOCK, OtherClient};
use crate::support::{Desktop, send_signal, wait_for};
use crate::{click_at, type_text};

/// Evdev keycode of a letter that a person holds.
const PERSONS_KEY: u8 = 58;
/// Time in which everything is released after the end of a program.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

async fn perform(
    served: &ExecutorProcess,
    epoch: DesktopEpoch,
    id: &str,
    action: Action<CapturePoint>,
) {
    let request = served.request(epoch, id, action);
    let outcome = served.executor.perform(request).await.unwrap();
    assert_eq!(outcome.result, ActionResult::Performed, "{outcome:?}");
}

fn press(button: Button) -> Action<CapturePoint> {
    Action::MouseDown {
        at: Some(CapturePoint::new(300, 200)),
        button,
    }
}

/// Fails unless only the person's key is pressed within [`RELEASED_WITHIN`].
async fn only_the_person_holds(foreigner: &OtherClient, situation: &str) {
    let begun = Instant::now();
    let theirs = [format!("key {PERSONS_KEY}")];
    wait_for(situation, || (foreigner.pressed() == theirs).then_some(())).await;
    assert!(begun.elapsed() < RELEASED_WITHIN, "{situation}");
}

#[tokio::test]
async fn however_a_program_ends_it_leaves_nothing_pressed() {
    for signal in ["TERM", "INT", "HUP", "KILL", "ABRT"] {
        let desktop = Desktop::start("us").await;
        let foreigner = OtherClient::connect(&desktop.display);
        let keymap = foreigner.keymap();
        let served = ExecutorProcess::start(&desktop).await;
        let epoch = served.acquire(TTL).await;
        // The service releases everything that it finds at its start.
        foreigner.press_key(PERSONS_KEY);
        perform(&served, epoch, "remaps", type_text("äöü")).await;
        perform(&served, epoch, "left", press(Button::Left)).await;
        perform(&served, epoch, "right", press(Button::Right)).await;
        assert_eq!(foreigner.pressed().len(), 3, "{signal}");
        assert_ne!(foreigner.keymap(), keymap, "{signal}");
        served.process.signal(signal);
        served.process.wait_gone();
        if ["KILL", "ABRT"].contains(&signal) {
            only_the_person_holds(&foreigner, signal).await;
        } else {
            // A service that ends in order may release the person's key as well.
            let theirs = format!("key {PERSONS_KEY}");
            let is_released = || foreigner.pressed().iter().all(|held| *held == theirs);
            wait_for(signal, || is_released().then_some(())).await;
        }
        wait_for("the original keymap", || {
            (foreigner.keymap() == keymap).then_some(())
        })
        .await;
        // The keymap is restored first, then the note of it is cleared.
        wait_for("the end of the loan", || {
            foreigner.lent().is_empty().then_some(())
        })
        .await;
        foreigner.release_key(PERSONS_KEY);
        wait_for("the end of the process that releases", || {
            release_processes(&desktop.display).is_empty().then_some(())
        })
        .await;
    }
}

/// The signals that a service manager or a terminal sends to a whole group end the releasing process no sooner.
#[tokio::test]
async fn keys_held_at_a_kill_are_released_with_locks_and_layout_restored() {
    let desktop = Desktop::start("us,ru").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    foreigner.tap(CAPS_LOCK);
    foreigner.lock_group(1);
    foreigner.press_key(PERSONS_KEY);
    let hold = Action::HoldKey {
        keys: vec![Key::Control, Key::Shift],
        duration: Duration::from_secs(50),
    };
    let request = served.request(epoch, "holds", hold);
    tokio::select! {
        _ = served.executor.perform(request) => panic!("the hold takes longer"),
        () = wait_for("the keys to be down", || (foreigner.pressed().len() == 3).then_some(())) => {
            assert_eq!((foreigner.locked() & LOCK, foreigner.group()), (0, 0), "normalised");
            for process in release_processes(&desktop.display) {
                for signal in ["INT", "HUP", "QUIT", "TERM"] {
                    send_signal(process, signal);
                }
            }
            served.process.signal("KILL");
        }
    }
    served.process.wait_gone();
    only_the_person_holds(&foreigner, "keys").await;
    wait_for("the locks", || {
        ((foreigner.locked() & LOCK, foreigner.group()) == (LOCK, 1)).then_some(())
    })
    .await;
}

/// Evdev keycode of Caps Lock.
const CAPS_LOCK: u8 = 66;

#[tokio::test]
async fn the_releasing_process_is_started_by_the_first_press_and_ends_with_the_program_or_the_display()
 {
    let desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let started = || release_processes(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    let to = CapturePoint::new(5, 5);
    perform(&served, epoch, "move", Action::Move { to }).await;
    assert!(started().is_empty(), "nothing was pressed");
    for id in ["one", "two"] {
        perform(&served, epoch, id, click_at(to)).await;
        assert_eq!(started().len(), 1);
    }
    // What a person changes after the last action is the person's.
    foreigner.tap(CAPS_LOCK);
    foreigner.press_key(PERSONS_KEY);
    served.process.signal("KILL");
    wait_for("its end", || started().is_empty().then_some(())).await;
    only_the_person_holds(&foreigner, "after the last action").await;
    assert_eq!(foreigner.locked() & LOCK, LOCK);

    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    perform(&served, epoch, "three", click_at(to)).await;
    let display = desktop.display.clone();
    assert_eq!(release_processes(&display).len(), 1);
    drop(desktop);
    wait_for("its end", || {
        release_processes(&display).is_empty().then_some(())
    })
    .await;
}

/// A killed releasing process is replaced, and what was held before is known to the next one.
#[tokio::test]
async fn without_the_releasing_process_the_next_start_releases() {
    let desktop = Desktop::start("us").await;
    let foreigner = OtherClient::connect(&desktop.display);
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    perform(&served, epoch, "left", press(Button::Left)).await;
    for process in release_processes(&desktop.display) {
        send_signal(process, "KILL");
    }
    served.process.signal("KILL");
    served.process.wait_gone();
    assert_eq!(foreigner.pressed(), ["button 1"]);
    drop(served);
    let served = ExecutorProcess::start(&desktop).await;
    assert!(foreigner.pressed().is_empty());
    drop(served);
}

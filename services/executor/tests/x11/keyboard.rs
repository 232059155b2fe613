//! Chords and held keys, and restoring the keyboard state.

use std::time::Duration;

use motorium_executor::drivers::x11::X11Driver;
use motorium_executor::drivers::{Driver as _, Error};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::key::Key;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::support::page::{self, Page};
use crate::support::server::{LOCK, OtherClient};
use crate::support::{Desktop, wait_for};
use crate::text::received;
use crate::{chord, driver, perform, type_text};

async fn key_events(driver: &X11Driver, page: &Page, keys: &str) -> Vec<Value> {
    page.clear();
    perform(driver, chord(keys))
        .await
        .unwrap_or_else(|failure| panic!("{keys}: {failure}"));
    perform(driver, chord("f9")).await.unwrap();
    page.wait("the last key", |event| {
        event["kind"] == "keyup" && event["key"] == "F9"
    })
    .await;
    let mut events = page.events();
    events.retain(|event| event["key"] != "F9");
    events
}

async fn check_chord(driver: &X11Driver, page: &Page, keys: &str, expected: &[&str], ctrl: bool) {
    let events = key_events(driver, page, keys).await;
    let pressed: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "keydown")
        .map(|event| event["key"].as_str().unwrap())
        .collect();
    assert_eq!(pressed, expected, "{keys}");
    let released = events
        .iter()
        .filter(|event| event["kind"] == "keyup")
        .count();
    assert_eq!(released, expected.len(), "{keys}: number of releases");
    let last = events
        .iter()
        .rfind(|event| event["kind"] == "keydown")
        .unwrap();
    assert_eq!(last["ctrl"], ctrl, "{keys}");
}

#[tokio::test]
async fn chords_arrive_complete() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::POINTER).await;
    let page = &page;
    check_chord(&driver, page, "ctrl+a", &["Control", "a"], true).await;
    check_chord(&driver, page, "ctrl+S", &["Control", "s"], true).await;
    check_chord(
        &driver,
        page,
        "ctrl+shift+K",
        &["Control", "Shift", "K"],
        true,
    )
    .await;
    check_chord(
        &driver,
        page,
        "ctrl+shift+up",
        &["Control", "Shift", "ArrowUp"],
        true,
    )
    .await;
    check_chord(&driver, page, "A", &["Shift", "A"], false).await;
    check_chord(&driver, page, "?", &["Shift", "?"], false).await;
    check_chord(&driver, page, "Page_Down", &["PageDown"], false).await;
    check_chord(&driver, page, "f2", &["F2"], false).await;
    check_chord(&driver, page, "Escape", &["Escape"], false).await;
    let three = Action::KeyChord {
        keys: vec![Key::Down],
        repeat: 3,
    };
    page.clear();
    perform(&driver, three).await.unwrap();
    perform(&driver, chord("f9")).await.unwrap();
    page.wait("the last key", |event| event["key"] == "F9")
        .await;
    let downs = page
        .events()
        .iter()
        .filter(|e| e["key"] == "ArrowDown" && e["kind"] == "keydown")
        .count();
    assert_eq!(downs, 3);
}

/// Returns the DOM name of a key; `None` if the desktop or the browser handles it before the page.
fn name_in_a_page(key: Key) -> Option<String> {
    // The keypad has the names of the main block, and other codes.
    let name = match key.in_main_block() {
        Key::Control => "Control",
        Key::Shift => "Shift",
        Key::Alt => "Alt",
        Key::AltGr => "AltGraph",
        Key::Enter => "Enter",
        Key::Tab => "Tab",
        Key::Space => " ",
        Key::Backspace => "Backspace",
        Key::Delete => "Delete",
        Key::Insert => "Insert",
        Key::Escape => "Escape",
        Key::Home => "Home",
        Key::End => "End",
        Key::PageUp => "PageUp",
        Key::PageDown => "PageDown",
        Key::Left => "ArrowLeft",
        Key::Right => "ArrowRight",
        Key::Up => "ArrowUp",
        Key::Down => "ArrowDown",
        Key::Menu => "ContextMenu",
        Key::CapsLock => "CapsLock",
        Key::NumLock => "NumLock",
        Key::ScrollLock => "ScrollLock",
        Key::Pause => "Pause",
        Key::Super | Key::PrintScreen => return None,

        Key::Character(character) => return Some(character.to_string()),
        Key::Function(number) => return Some(format!("F{number}")),
        keypad => unreachable!("{keypad} has a counterpart in the main block"),
    };
    Some(name.to_owned())
}

#[tokio::test]
async fn every_key_name_presses_its_key() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::POINTER).await;
    let named = Key::NAMES.iter().chain(Key::PUNCTUATION);
    let named = named.map(|&(name, key)| (name.to_owned(), key));
    // F8 and F9 are used by these tests, and F11 by the browser. Browsers see no name for keys that the layout lacks.
    let functions = (1..=12).filter(|number| ![8, 9, 11].contains(number));
    let functions = functions.map(|number| (format!("F{number}"), Key::Function(number)));
    let characters = (' '..='~').filter(|character| *character != ' ');
    let characters = characters.map(|one| (one.to_string(), Key::Character(one)));
    let mut wrong = Vec::new();
    for (name, key) in named.chain(functions).chain(characters) {
        assert_eq!(Key::parse("keys", &name), Ok(key), "{name}");
        let Some(expected) = name_in_a_page(key) else {
            continue;
        };
        page.clear();
        let keys = vec![Key::parse("keys", &name).unwrap()];
        let struck = Action::KeyChord { keys, repeat: 1 };
        perform(&driver, struck).await.unwrap();
        perform(&driver, chord("f9")).await.unwrap();
        page.wait("the last key", |event| {
            event["key"] == "F9" && event["kind"] == "keyup"
        })
        .await;
        let events = page.events();
        let downs = events
            .iter()
            .filter(|event| event["kind"] == "keydown" && event["key"] != "F9");
        let of_keypad = key.in_main_block() != key;
        let seen: Vec<&str> = downs
            .filter(|event| !of_keypad || event["code"].as_str().unwrap().starts_with("Numpad"))
            .map(|event| event["key"].as_str().unwrap())
            .collect();
        // A character on the shifted level also presses Shift.
        if seen.last() != Some(&expected.as_str()) {
            wrong.push(format!("{name}: {seen:?} instead of {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_key_that_the_display_lacks_is_an_error() {
    let desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let empty = Action::KeyChord {
        keys: Vec::new(),
        repeat: 1,
    };
    let failure = perform(&driver, empty).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::InvalidAction { .. }) && !failure.input_sent,
        "{failure}"
    );
}

#[tokio::test]
async fn held_key_repeats_and_is_released_on_stop() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::POINTER).await;
    let hold = |duration| Action::HoldKey {
        keys: vec![Key::Character('x')],
        duration,
    };
    perform(&driver, hold(Duration::from_millis(20)))
        .await
        .unwrap();
    page.wait("the key to be up", |event| {
        event["key"] == "x" && event["kind"] == "keyup"
    })
    .await;

    let stop = CancellationToken::new();
    let work = hold(Duration::from_secs(3600)).into();
    let holding = driver.perform(work, &stop);
    let stopping = async {
        page.clear();
        page.wait("the key to repeat", |event| {
            event["key"] == "x" && event["repeat"] == true
        })
        .await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(holding, stopping);
    let failure = outcome.unwrap_err();
    assert_eq!((failure.error, failure.input_sent), (Error::Stopped, true));
    assert!(OtherClient::connect(&desktop.display).pressed().is_empty());
    perform(&driver, chord("f9")).await.unwrap();
    page.wait("the last key", |event| event["key"] == "F9")
        .await;
    let let_go = |event: &Value| event["key"] == "x" && event["kind"] == "keyup";
    let releases = page.events().into_iter().filter(let_go).count();
    assert_eq!(releases, 1);
}

#[tokio::test]
async fn caps_lock_does_not_affect_typing_and_is_restored() {
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    perform(&driver, chord("capslock")).await.unwrap();
    let foreigner = OtherClient::connect(&desktop.display);
    assert_eq!(foreigner.locked() & LOCK, LOCK);
    let text = "aBc1! äÖ 你好";
    perform(&driver, type_text(text)).await.unwrap();
    assert_eq!(received(&driver, &page).await, text);
    assert_eq!(foreigner.locked() & LOCK, LOCK, "restored");
    perform(&driver, chord("capslock")).await.unwrap();
    assert_eq!(foreigner.locked() & LOCK, 0);
}

#[tokio::test]
async fn second_layout_group_does_not_affect_typing() {
    let mut desktop = Desktop::start("us,ru").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let foreigner = OtherClient::connect(&desktop.display);
    foreigner.lock_group(1);
    let text = "plain text, Текст";
    perform(&driver, type_text(text)).await.unwrap();
    assert_eq!(received(&driver, &page).await, text);
    assert_eq!(foreigner.group(), 1, "restored");
}

#[tokio::test]
async fn every_group_of_the_layout_is_used() {
    let mut desktop = Desktop::start("ru,us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    perform(&driver, type_text("Hello")).await.unwrap();
    perform(&driver, chord("ctrl+a")).await.unwrap();
    let text = "Привет, мир! Hello, world? 'Ёж' \"ok\"";
    perform(&driver, type_text(text)).await.unwrap();
    assert_eq!(received(&driver, &page).await, text);
    let foreigner = OtherClient::connect(&desktop.display);
    assert_eq!(foreigner.group(), 0, "restored");
    assert!(foreigner.lent().is_empty(), "no key was remapped");
}

#[tokio::test]
async fn a_layout_without_latin_letters_types_them_all_the_same() {
    let mut desktop = Desktop::start("ru").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::TEXT).await;
    let text = "Привет, Hello";
    let foreigner = OtherClient::connect(&desktop.display);
    perform(&driver, type_text(text)).await.unwrap();
    // Checked first: remapped keycodes are restored after an idle time.
    assert!(!foreigner.lent().is_empty());
    assert_eq!(received(&driver, &page).await, text);
    // The browser resolves these by physical key, even while one of their letters is remapped.
    perform(&driver, type_text("vac")).await.unwrap();
    assert_eq!(received(&driver, &page).await, "vac");
    perform(&driver, type_text("копия")).await.unwrap();
    for keys in ["ctrl+a", "ctrl+c", "End", "ctrl+v"] {
        perform(&driver, chord(keys)).await.unwrap();
    }
    assert_eq!(received(&driver, &page).await, "копиякопия");
}

/// The keypad has digits only under Num Lock, which is as before afterwards. Other keys do not see it.
#[tokio::test]
async fn num_lock_is_set_for_the_keypad_and_restored() {
    const NUM_LOCK: u8 = 1 << 4;
    let mut desktop = Desktop::start("us").await;
    let driver = driver(&desktop.display);
    let page = Page::open(&mut desktop, page::POINTER).await;
    let foreigner = OtherClient::connect(&desktop.display);
    for locked in [0, NUM_LOCK] {
        assert_eq!(foreigner.locked() & NUM_LOCK, locked);
        for (keys, expected) in [("KP_7", "7"), ("KP_Decimal", "."), ("KP_Enter", "Enter")] {
            check_chord(&driver, &page, keys, &[expected], false).await;
            assert_eq!(foreigner.locked() & NUM_LOCK, locked, "restored");
        }
        key_events(&driver, &page, "numlock").await;
    }
}

/// A window manager opens its menu when Super is released alone, and the menu takes the keyboard.
#[tokio::test]
async fn text_arrives_complete_while_super_is_held() {
    let mut desktop = Desktop::start("us").await;
    let page = Page::open(&mut desktop, page::TEXT).await;
    let foreigner = OtherClient::connect(&desktop.display);
    // The first connection of a driver releases what is held as well.
    foreigner.press_super();
    let driver = driver(&desktop.display);
    perform(&driver, type_text("at the start ")).await.unwrap();
    foreigner.press_super();
    perform(&driver, type_text("in the middle")).await.unwrap();
    assert_eq!(received(&driver, &page).await, "at the start in the middle");
    // Pressed again and again: the text arrives whole, or the action does not claim so.
    let long = "0123456789".repeat(30);
    for _ in 0..3 {
        let pressing = async {
            for _ in 0..8 {
                tokio::time::sleep(Duration::from_millis(40)).await;
                foreigner.press_super();
            }
        };
        let (typed, ()) = tokio::join!(perform(&driver, type_text(&long)), pressing);
        driver.release_all().await.unwrap();
        perform(&driver, chord("escape")).await.unwrap();
        let arrived = received(&driver, &page).await;
        assert!(
            typed.is_err() || arrived == long,
            "performed, but {arrived} arrived"
        );
    }
}

#[tokio::test]
async fn keys_that_a_killed_program_holds_are_released() {
    let mut desktop = Desktop::start("us").await;
    let page = Page::open(&mut desktop, page::TEXT).await;
    let foreigner = OtherClient::connect(&desktop.display);
    foreigner.press_shift();
    foreigner.press_button(1);
    assert_eq!(foreigner.pressed().len(), 2);
    let driver = driver(&desktop.display);
    perform(&driver, type_text("before")).await.unwrap();
    assert!(foreigner.pressed().is_empty(), "released at the start");
    foreigner.press_shift();
    perform(&driver, type_text(" and later")).await.unwrap();
    assert_eq!(received(&driver, &page).await, "before and later");
    foreigner.press_shift();
    foreigner.press_button(3);
    let mut released = driver.release_all().await.unwrap();
    released.sort();
    assert_eq!(released, ["Shift_L", "right button"]);
    assert!(foreigner.pressed().is_empty());
}

#[tokio::test]
async fn remapped_keys_are_restored_even_after_a_kill() {
    let desktop = Desktop::start("us").await;
    // In this process, to be fast enough: remapped keycodes are restored after an idle time.
    let foreigner = OtherClient::connect(&desktop.display);
    let keymap = || foreigner.keymap();
    let before = keymap();
    let first = driver(&desktop.display);
    perform(&first, type_text("äöü")).await.unwrap();
    assert_ne!(keymap(), before, "temporarily remapped");
    drop(first);
    wait_for("the original keymap", || (keymap() == before).then_some(())).await;
    let second = driver(&desktop.display);
    perform(&second, type_text("éèç")).await.unwrap();
    // Like a killed process: its driver is never dropped.
    std::mem::forget(second);
    assert_ne!(keymap(), before);
    driver(&desktop.display).pointer().await.unwrap();
    assert_eq!(keymap(), before, "restored by the next process");
}

//! Authentication to a real server that requires it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use motorium_x11::{Address, Connection, Error, Watchdog};

/// Variable that makes this test program connect to a display and report the result, in a process of its own: the
/// library reads `XAUTHORITY` from the environment, which tests of one process share.
const DISPLAY_VARIABLE: &str = "MOTORIUM_X11_TEST_DISPLAY";
const TIMEOUT: Duration = Duration::from_secs(30);
const COOKIE: [u8; 16] = *b"sixteen bytes ok";

#[test]
fn a_server_that_requires_authentication_is_reached_with_the_authority_file() {
    if let Ok(display) = std::env::var(DISPLAY_VARIABLE) {
        return connect(&display);
    }
    let folder = tempfile::tempdir().unwrap();
    let [authority, other] = ["authority", "other"].map(|name| folder.path().join(name));
    std::fs::write(&authority, entry(COOKIE)).unwrap();
    std::fs::write(&other, entry([0; 16])).unwrap();
    let (mut server, display) = start_server(&authority);
    let outcomes = [authority.as_path(), &other].map(|file| connect_with(file, &display));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(outcomes, [true, false]);
}

/// Fails unless the display is open, or denies access in the expected way.
fn connect(display: &str) {
    let address = Address::parse_local(display).unwrap();
    let opened = Connection::open(&address, &Watchdog::new(TIMEOUT));
    if let Err(error) = &opened {
        assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().contains("denied access"), "{error}");
        std::process::exit(DENIED);
    }
}

/// Exit status of a process that was denied access. Failed tests exit with 101.
const DENIED: i32 = 3;

/// Returns whether a process with this authority file can open the display.
fn connect_with(authority: &Path, display: &str) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .env("XAUTHORITY", authority)
        .env(DISPLAY_VARIABLE, display)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(
        matches!(status.code(), Some(0 | DENIED)),
        "the process failed: {status}"
    );
    status.success()
}

fn start_server(authority: &Path) -> (Child, String) {
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"])
        .args(["-screen", "0", "640x480x24", "-auth"])
        .arg(authority)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    let output = server.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut number).unwrap();
    (server, format!(":{}", number.trim()))
}

/// Returns an authority file with one entry (Xau: "The Xauthority file format"), for every host and display.
fn entry(cookie: [u8; 16]) -> Vec<u8> {
    let family_wild = u16::MAX.to_be_bytes();
    let mut bytes = family_wild.to_vec();
    for field in [b"".as_slice(), b"", b"MIT-MAGIC-COOKIE-1", &cookie] {
        let length = u16::try_from(field.len()).unwrap();
        bytes.extend(length.to_be_bytes());
        bytes.extend(field);
    }
    bytes
}

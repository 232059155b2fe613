//! A browser page with typical changes: typing, menus, scrolling lists, moving windows.
//!
//! A click into the strip along the upper edge of the page triggers the change assigned to that position, so a pointer
//! is enough to drive it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_perception::capture::x11::X11Screen;
use motorium_perception::capture::{CaptureOptions, Screen as _};
use motorium_perception::parse::read::TextLine;
use motorium_perception::settle::wait_for_idle;
use motorium_proto::service::WaitForIdleRequest;

use crate::support::{Client, Desktop, TEST_TIMEOUT};

/// Changes in the order of the strip.
pub(crate) const CHANGES: [&str; 9] = [
    "one character typed",
    "ten short labels in 400×200",
    "ten long lines in 400×200",
    "a menu opened or closed",
    "a list scrolled",
    "a window moved",
    "a counter counted on",
    "a line typed",
    "a new page",
];

/// Position of the page's window.
const LEFT: i16 = 40;
const TOP: i16 = 40;
/// Vertical position of the strip, below the browser's toolbar.
const STRIP: i16 = TOP + 60;
/// Width of one section of the strip, in pixels.
const PLACE: i16 = 20;

const PAGE: &str = r##"<!DOCTYPE html><meta charset="utf-8"><title>Session</title>
<style>
  * { box-sizing: border-box }
  body { font: 15px "DejaVu Sans", "Noto Sans CJK SC", sans-serif; margin: 0; background: #fff }
  #strip { height: 70px; background: #ddd }
  #stage { position: absolute; top: 60px; left: 0 }
  #field { position: absolute; left: 20px; top: 40px; width: 400px; height: 32px; font: 15px "DejaVu Sans"; padding: 4px }
  #short, #long { position: absolute; width: 400px; height: 200px; overflow: hidden; border: 1px solid #999 }
  #short { left: 20px; top: 90px; columns: 2; padding: 6px; line-height: 36px }
  #long { left: 20px; top: 310px; font-size: 12px; line-height: 19px; padding: 4px; white-space: nowrap }
  #list { position: absolute; left: 450px; top: 40px; width: 420px; height: 470px; overflow: hidden; border: 1px solid #999 }
  #list div { height: 31px; padding: 6px 10px; border-bottom: 1px solid #eee }
  #window { position: absolute; left: 900px; top: 60px; width: 300px; height: 150px; background: #f7f2e8;
            border: 2px solid #446; padding: 8px; box-shadow: 3px 3px 8px #8888 }
  #menu { position: absolute; left: 120px; top: 120px; width: 180px; background: #333; color: #eee; display: none }
  #menu div { padding: 7px 14px }
  #counter { position: absolute; left: 900px; top: 480px; font-size: 20px }
  #page { position: absolute; left: 20px; top: 530px; width: 1180px; columns: 3; font-size: 13px; line-height: 22px }
</style>
<div id="strip"></div><div id="stage">
<input id="field" value="Dear">
<div id="short"></div><div id="long"></div><div id="list"></div>
<div id="window"><b>Print settings</b><p>Copies: 2 &nbsp; Paper: A4<p>打印机：办公室</div>
<div id="menu"></div><div id="counter"></div><div id="page"></div>
</div>
<script>
  const words = ("invoice meeting budget project server report customer deadline 会议 报告 发票 订单 客户 预算 network storage "
    + "window account message picture folder ready pending shipped 付款 地址 Monday Friday Berlin 上海 Kyoto release").split(" ");
  let seed = 7;
  const random = limit => Math.floor((seed = (seed * 16807) % 2147483647) / 7) % limit;
  const word = () => words[random(words.length)];
  const phrase = count => Array.from({ length: count }, word).join(" ");
  const element = id => document.getElementById(id);
  const rows = (count, make) => Array.from({ length: count }, (_, row) => `<div>${make(row)}</div>`).join("");
  const letters = "Sir or Madam, thank you for the order of 12 June 2026. ";
  let typed = 0, count = 41;
  const changes = [
    () => { element("field").value += letters[typed++ % letters.length] },
    () => { element("short").innerHTML = rows(10, () => `${word()} ${random(900)}`) },
    () => { element("long").innerHTML = rows(10, row => `${row + 1}. ${phrase(7).slice(0, 58)}`) },
    () => { const menu = element("menu"); menu.style.display = menu.style.display == "block" ? "none" : "block" },
    () => { element("list").scrollTop = (element("list").scrollTop + 47) % 1200 },
    () => { const moved = element("window").style; moved.top = 50 + random(240) + "px"; moved.left = 880 + random(60) + "px" },
    () => { element("counter").textContent = `Messages: ${count++}` },
    () => { element("field").value = phrase(4).slice(0, 40) },
    () => { element("page").innerHTML = rows(24, row => `${row}) ${phrase(5)}`); changes[1](); changes[2]() },
  ];
  element("list").innerHTML = rows(60, row => `${1000 + row} ${phrase(3)} ${random(90)}.${10 + random(90)}`);
  element("menu").innerHTML = rows(8, () => phrase(2));
  changes[8](); changes[6]();
  element("strip").onclick = event => changes[Math.floor(event.clientX / 20)]?.();
</script>"##;

/// The page in a browser on its own display.
pub(crate) struct Session {
    pub(crate) screen: X11Screen,
    client: Client,
    _desktop: Desktop,
}

impl Session {
    pub(crate) async fn start() -> Self {
        let mut desktop = Desktop::start_large().await;
        let page = desktop.path("page.html");
        std::fs::write(&page, PAGE).unwrap();
        Self::furnish(&mut desktop, &page).await;
        let session = Self {
            screen: desktop.screen(),
            client: Client::connect(&desktop.display),
            _desktop: desktop,
        };
        let still = WaitForIdleRequest {
            idle_duration: Duration::from_secs(2),
            timeout: TEST_TIMEOUT,
            first_change_timeout: Duration::ZERO,
            ..WaitForIdleRequest::default()
        };
        wait_for_idle(&session.screen, None, &still).await.unwrap();
        session
    }

    async fn furnish(desktop: &mut Desktop, page: &Path) {
        desktop.open_browser(page, [LEFT.into(), TOP.into(), 1240, 960]);
        desktop.run(
            "xterm",
            &[
                "-geometry",
                "80x24+1320+100",
                "-e",
                "ls -l /usr/lib | head -20; exec cat",
            ],
        );
        let screen = desktop.screen();
        let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
        loop {
            let windows = screen.windows().await.unwrap();
            let has = |name: &str| windows.iter().any(|window| window.application == name);
            if has("Chromium") && has("XTerm") {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{windows:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Captures the screen.
    pub(crate) async fn look(&self) -> Arc<RgbaImage> {
        let shot = self.screen.capture(CaptureOptions::default()).await;
        shot.unwrap().pixels
    }

    /// Triggers the change with this index in [`CHANGES`] and captures the screen once it is idle. The pointer is not
    /// part of the capture.
    pub(crate) async fn change(&self, change: usize) -> Arc<RgbaImage> {
        let x = LEFT + PLACE * change as i16 + PLACE / 2;
        self.client.move_pointer(x, STRIP);
        let before = self.look().await;
        self.client.click();
        let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
        while self.look().await == before {
            assert!(
                tokio::time::Instant::now() < deadline,
                "nothing happened: {}",
                CHANGES[change]
            );
        }
        let rest = WaitForIdleRequest {
            first_change_timeout: Duration::ZERO,
            idle_duration: Duration::from_millis(150),
            timeout: Duration::from_secs(10),
            ..WaitForIdleRequest::default()
        };
        wait_for_idle(&self.screen, None, &rest).await.unwrap();
        self.look().await
    }
}

/// Agreement of two recognition results of one image, as fractions from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Agreement {
    /// Share of all characters, regardless of lines.
    pub(crate) signs: f64,
    /// Share of the area covered by text.
    pub(crate) places: f64,
    /// Lines found in only one of the results.
    pub(crate) apart: Vec<String>,
}

pub(crate) fn agreement(one: &[TextLine], other: &[TextLine]) -> Agreement {
    let (in_one, in_other) = (signs(one), signs(other));
    let total: usize = in_one.values().chain(in_other.values()).sum();
    let shared: usize = in_one
        .iter()
        .map(|(sign, count)| count.min(in_other.get(sign).unwrap_or(&0)))
        .sum();
    let (covered, all) = (
        overlap(one, other),
        overlap(one, one) + overlap(other, other),
    );
    let has = |lines: &[TextLine], text: &str| lines.iter().any(|line| line.text == text);
    let lost = one.iter().filter(|line| !has(other, &line.text));
    let come = other.iter().filter(|line| !has(one, &line.text));
    Agreement {
        signs: share(2 * shared, total),
        places: share(2 * covered, all),
        apart: lost
            .map(|line| format!("-{}", line.text))
            .chain(come.map(|line| format!("+{}", line.text)))
            .collect(),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// Counts characters; full-width and narrow forms are equal, and spaces are ignored.
fn signs(lines: &[TextLine]) -> HashMap<char, usize> {
    let narrow = |sign: char| match u32::from(sign) {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(sign),
        _ => sign,
    };
    let mut counts = HashMap::new();
    for sign in lines.iter().flat_map(|line| line.text.chars()) {
        if !sign.is_whitespace() {
            *counts.entry(narrow(sign)).or_default() += 1;
        }
    }
    counts
}

/// Area covered by both, in cells of 2×2 pixels.
fn overlap(one: &[TextLine], other: &[TextLine]) -> usize {
    cells(one).intersection(&cells(other)).count()
}

fn cells(lines: &[TextLine]) -> HashSet<(i32, i32)> {
    let cells = |line: &TextLine| {
        let (columns, rows) = (
            line.bounds.min.x / 2..line.bounds.max.x / 2,
            line.bounds.min.y / 2..line.bounds.max.y / 2,
        );
        rows.flat_map(move |y| columns.clone().map(move |x| (x, y)))
            .collect::<Vec<_>>()
    };
    lines.iter().flat_map(cells).collect()
}

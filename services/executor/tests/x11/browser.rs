//! The browser driver with a real Chromium: navigating and reading pages, and attempts to bypass the URL rules.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use motorium_executor::drivers::devtools::{BrowserDriver, Options};
use motorium_executor::drivers::launch::{Launcher, Program, Programs};
use motorium_executor::drivers::{Driver, Error, PreparedAction};
use motorium_executor::guard::allowed_windows::WindowPattern;
use motorium_executor::guard::named_hosts::NamedHosts;
use motorium_executor::guard::url_rules::{DEFAULT_URL_SCHEMES, HostRule, UrlRules};
use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::service::{Executor as _, PageText, PerformRequest};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::served::{ExecutorProcess, TTL};
use crate::support::web::Web;
use crate::support::{Desktop, Process, WAIT_TIMEOUT};
use crate::{chord, click_at, driver, perform, type_text};

/// A browser on its own desktop, and its driver.
struct BrowserFixture {
    driver: BrowserDriver,
    rules: watch::Sender<Arc<UrlRules>>,
    named_hosts: NamedHosts,
    web: Web,
    /// URL of the DevTools.
    endpoint: String,
    desktop: Desktop,
}

fn addresses(hosts: &[&str], denied: &[&str]) -> Arc<UrlRules> {
    let patterns = |hosts: &[&str]| {
        let parsed = hosts.iter().map(|host| HostRule::parse(host).unwrap());
        parsed.collect()
    };
    Arc::new(UrlRules {
        schemes: DEFAULT_URL_SCHEMES
            .iter()
            .map(ToString::to_string)
            .collect(),
        hosts: patterns(hosts),
        denied_hosts: patterns(denied),
    })
}

impl BrowserFixture {
    async fn start(pages: &[(&'static str, &str)]) -> Self {
        // The hosts of the test web are on this machine.
        Self::start_with(pages, addresses(&["*", "127.0.0.1"], &[])).await
    }

    async fn start_with(pages: &[(&'static str, &str)], rules: Arc<UrlRules>) -> Self {
        let web = Web::serve(pages).await;
        let desktop = Desktop::start("us").await;
        let port = free_port();
        let (rules, active_rules) = watch::channel(rules);
        let named_hosts = NamedHosts::default();
        let endpoint = format!("http://127.0.0.1:{port}");
        let options = Options {
            endpoint: endpoint.clone(),
            display: desktop.display.clone(),
            launcher: Launcher::new(Programs {
                applications: BTreeMap::new(),
                browser: Some(chromium(&desktop, port)),
            }),
            rules: active_rules,
            named_hosts: named_hosts.clone(),
        };
        let x11_driver = Arc::new(driver(&desktop.display));
        Self {
            driver: BrowserDriver::start(x11_driver, options),
            rules,
            named_hosts,
            web,
            endpoint,
            desktop,
        }
    }

    async fn open(&self, host: &str, path: &str) {
        let url = self.web.address(host, path);
        perform(&self.driver, Action::OpenUrl { url })
            .await
            .unwrap();
    }

    async fn read(&self) -> PageText {
        let page = self.driver.read_page(100_000).await;
        page.unwrap().expect("DevTools are configured")
    }

    /// Returns the usual duration of a read: the median of some.
    async fn usual_read(&self) -> Duration {
        let mut durations = Vec::new();
        for _ in 0..15 {
            let began = Instant::now();
            self.read().await;
            durations.push(began.elapsed());
        }
        durations.sort();
        durations[durations.len() / 2]
    }

    /// Opens a page and clicks its field until the page reports the focus: on a busy machine a browser that was just
    /// started shows a page later than it reports it as loaded.
    async fn open_and_enter_field(&self, host: &str, path: &str) {
        self.open(host, path).await;
        perform(&self.driver, click_in_page()).await.unwrap();
        self.web.wait_asked(host, &format!("/focused{path}")).await;
    }

    /// Reads the current page until `is_it` accepts it.
    async fn read_until(&self, what: &str, is_it: impl Fn(&PageText) -> bool) -> PageText {
        let end = Instant::now() + WAIT_TIMEOUT;
        loop {
            let page = self.driver.read_page(100_000).await;
            match page {
                Ok(Some(page)) if is_it(&page) => return page,
                page => assert!(Instant::now() < end, "waited for {what}: {page:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Reads the current page until the error is accepted by `is_it`.
    async fn read_until_it_fails(&self, what: &str, is_it: impl Fn(&Error) -> bool) {
        let end = Instant::now() + WAIT_TIMEOUT;
        while !self
            .driver
            .read_page(10)
            .await
            .is_err_and(|error| is_it(&error))
        {
            assert!(Instant::now() < end, "waited for {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Types a URL into the address bar, as a model may try, until the current page changes.
    ///
    /// On a busy machine the address bar may get the focus late, and the text is lost.
    async fn lead_away_by_address(&self, from: &str, address: &str) -> PageText {
        let end = Instant::now() + WAIT_TIMEOUT;
        loop {
            self.type_address(address).await;
            let next_try = Instant::now() + Duration::from_secs(5);
            while Instant::now() < next_try {
                match self.driver.read_page(100_000).await {
                    Ok(Some(page)) if page.url != from => return page,
                    page => assert!(Instant::now() < end, "{address} was not opened: {page:?}"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    async fn type_address(&self, address: &str) {
        perform(&self.driver, chord("ctrl+l")).await.unwrap();
        // The browser offers the chord to the page first.
        tokio::time::sleep(Duration::from_millis(300)).await;
        perform(&self.driver, type_text(address)).await.unwrap();
        perform(&self.driver, chord("Delete")).await.unwrap();
        perform(&self.driver, chord("Return")).await.unwrap();
    }
}

impl Drop for BrowserFixture {
    fn drop(&mut self) {
        // The driver has started the browser, which would otherwise keep writing to a removed folder.
        let profile = format!(
            "user-data-dir={}/profile",
            self.desktop.home.path().display()
        );
        let _ = Command::new("pkill")
            .args(["-KILL", "-f", &profile])
            .status();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

pub(crate) fn chromium(desktop: &Desktop, port: u16) -> Program {
    let home = desktop.home.path().display().to_string();
    let arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--password-store=basic",
        "--window-position=0,0",
        "--window-size=1200,700",
        "--host-resolver-rules=MAP *.test 127.0.0.1",
        "--disable-popup-blocking",
        &format!("--remote-debugging-port={port}"),
        &format!("--user-data-dir={home}/profile"),
    ];
    Program {
        program: "chromium".to_owned(),
        arguments: arguments.map(str::to_owned).to_vec(),
        environment: [("HOME".to_owned(), home)].into(),
    }
}

fn go_to(url: String) -> Action<CapturePoint> {
    Action::GoToUrl { url }
}

fn click_in_page() -> Action<CapturePoint> {
    click_at(CapturePoint::new(500, 450))
}

/// Bypass attempts: pages of `good.test` that request `evil.test` in different ways. Failures that the current page
/// does not show are reported to `good.test`.
const BYPASSES: &[(&str, &str, FailureSignal)] = &[
    (
        "/redirect",
        "REDIRECT http://evil.test:PORT/at/redirect",
        FailureSignal::PageInFront,
    ),
    (
        "/script",
        "<a id=a href='javascript:void(location.href=\"http://evil.test:PORT/at/script\")'>x</a><script>a.click()</script>",
        FailureSignal::PageInFront,
    ),
    (
        "/refresh",
        "<meta http-equiv=refresh content='0;url=http://evil.test:PORT/at/refresh'>",
        FailureSignal::PageInFront,
    ),
    (
        "/form",
        "<form id=f method=post action='http://evil.test:PORT/at/form'><input name=a value=b></form><script>f.submit()</script>",
        FailureSignal::PageInFront,
    ),
    (
        "/blank",
        "<a id=a target=_blank href='http://evil.test:PORT/at/blank'>x</a><script>a.click()</script>",
        FailureSignal::PageInFront,
    ),
    (
        "/popup",
        "<script>window.open('http://evil.test:PORT/at/popup')</script>",
        FailureSignal::PageInFront,
    ),
    (
        "/fetch",
        "<script>fetch('http://evil.test:PORT/at/fetch', { mode: 'no-cors' }).catch(() => fetch('/failed?/fetch'))</script>",
        FailureSignal::Reported,
    ),
    (
        "/image",
        "<img src='http://evil.test:PORT/at/image' onerror='fetch(\"/failed?/image\")'>",
        FailureSignal::Reported,
    ),
    (
        "/data",
        "<iframe src='data:text/html,<img src=http://evil.test:PORT/at/data>' onload='fetch(\"/failed?/data\")'></iframe>",
        FailureSignal::Reported,
    ),
    (
        "/made-up",
        "<iframe src='javascript:\"<img src=http://evil.test:PORT/at/made-up>\"' onload='fetch(\"/failed?/made-up\")'></iframe>",
        FailureSignal::Reported,
    ),
    (
        "/worker",
        "<script>new Worker('/worker.js').onmessage = () => fetch('/failed?/worker')</script>",
        FailureSignal::Reported,
    ),
];

const WORKER: (&str, &str) = (
    "/worker.js",
    "fetch('http://evil.test:PORT/at/worker', { mode: 'no-cors' }).catch(() => postMessage('failed'))",
);

/// The signal that an attempt was blocked.
#[derive(Clone, Copy, PartialEq)]
enum FailureSignal {
    /// The current page shows a load error.
    PageInFront,
    /// The failure is reported to `good.test`.
    Reported,
}

#[tokio::test]
async fn denied_hosts_cannot_be_reached_by_any_bypass() {
    let mut pages: Vec<_> = BYPASSES
        .iter()
        .map(|&(path, page, _)| (path, page))
        .collect();
    pages.push(WORKER);
    let scene = BrowserFixture::start(&pages).await;
    scene.open("good.test", "/").await;
    // Without denied hosts every attempt must succeed; otherwise the test proves nothing.
    for (way, ..) in BYPASSES {
        scene.open("good.test", way).await;
        scene
            .web
            .wait_asked("evil.test", &format!("/at{way}"))
            .await;
    }
    let denying = addresses(&["*", "127.0.0.1"], &["*.evil.test"]);
    let naming = addresses(&["good.test"], &[]);
    for rules in [denying, naming] {
        scene.open("evil.test", "/before").await;
        scene.web.wait_asked("evil.test", "/before").await;
        scene.web.forget();
        scene.rules.send_replace(rules);
        // A page that was open when the rules changed is closed.
        scene
            .read_until("an empty page", |page| page.url == "about:blank")
            .await;
        for &(way, _, sign) in BYPASSES {
            let url = scene.web.address("good.test", way);
            // A redirect is refused during the action, the others after it.
            let _ = perform(&scene.driver, Action::OpenUrl { url }).await;
            if sign == FailureSignal::PageInFront {
                let evil = scene.web.address("evil.test", &format!("/at{way}"));
                let page = scene.read_until(&evil, |page| page.url == evil).await;
                assert!(page.text.contains("ERR_BLOCKED_BY_CLIENT"), "{page:?}");
            } else {
                scene
                    .web
                    .wait_asked("good.test", &format!("/failed?{way}"))
                    .await;
            }
        }
        assert_eq!(scene.web.asked_of("evil.test"), [""; 0]);
        scene
            .rules
            .send_replace(addresses(&["*", "127.0.0.1"], &[]));
    }
}

#[tokio::test]
async fn url_rules_apply_to_the_address_bar() {
    let scene = BrowserFixture::start(&[("/", "<title>start</title>here")]).await;
    let secret = scene.desktop.path("secret.txt");
    std::fs::write(&secret, "the file was shown").unwrap();
    scene.rules.send_replace(addresses(&["good.test"], &[]));
    scene.open("good.test", "/").await;
    perform(&scene.driver, click_in_page()).await.unwrap();
    let file = format!("file://{}", secret.display());
    for address in [
        &scene.web.address("evil.test", "/typed"),
        &file,
        &format!("view-source:{file}"),
        "data:text/html,the data was shown",
        // A page with a dialog does not respond.
        "data:text/html,<script>setTimeout(alert, 300, 'it was shown')</script>",
        "chrome://version",
    ] {
        let home = scene.web.address("good.test", "/");
        let page = scene.lead_away_by_address(&home, address).await;
        assert!(!page.text.contains("was shown"), "{page:?}");
        let led = |page: &PageText| page.url == "about:blank" || page.text.contains("ERR_BLOCKED");
        let page = scene.read_until("an empty page", led).await;
        assert!(!page.text.contains("was shown"), "{page:?}");
        perform(&scene.driver, go_to(home.clone())).await.unwrap();
        scene
            .read_until("the start", |page| page.url == home && page.text == "here")
            .await;
    }
    assert_eq!(scene.web.asked_of("evil.test"), [""; 0]);
}

#[tokio::test]
async fn foreground_page_is_navigated_and_read_in_new_tabs() {
    let link =
        "<a target=_blank href='/second' style='position:fixed;inset:0'>😀一页 with a link</a>";
    let scene = BrowserFixture::start(&[
        (
            "/first",
            &format!("<title>One</title>{link}<iframe src='/frame'></iframe>"),
        ),
        ("/frame", "within"),
        (
            "/second",
            "<title>Two</title><p>second page<p hidden>unseen",
        ),
    ])
    .await;
    scene.open("good.test", "/first").await;
    let first = scene
        .read_until("the frame", |page| page.text.contains("within"))
        .await;
    assert_eq!((&*first.title, first.truncated), ("One", false));
    assert_eq!(first.url, scene.web.address("good.test", "/first"));
    assert_eq!(first.text, "😀一页 with a link\n\nwithin");
    let short = scene.driver.read_page(3).await.unwrap().unwrap();
    assert_eq!((&*short.text, short.truncated), ("😀一页", true));
    let shortest = scene.driver.read_page(1).await.unwrap().unwrap();
    assert_eq!((&*shortest.text, shortest.truncated), ("😀", true));

    perform(&scene.driver, click_in_page()).await.unwrap();
    let second = scene
        .read_until("the new tab", |page| page.title == "Two")
        .await;
    assert_eq!(second.text, "second page");

    let third = scene.web.address("other.test", "/third");
    perform(&scene.driver, go_to(third.clone())).await.unwrap();
    assert_eq!(scene.read().await.url, third);
    perform(&scene.driver, Action::GoBack).await.unwrap();
    scene
        .read_until("the page before", |page| page.title == "Two")
        .await;
    perform(&scene.driver, Action::GoForward).await.unwrap();
    scene
        .read_until("the page after", |page| page.url == third)
        .await;
    let failure = perform(&scene.driver, Action::GoForward).await.unwrap_err();
    assert_eq!(failure.error, Error::NoHistory { way: "forward" });
    scene.web.forget();
    perform(&scene.driver, Action::Refresh).await.unwrap();
    scene.web.wait_asked("other.test", "/third").await;

    let nowhere = "http://127.0.0.1:1/".to_owned();
    let failure = perform(&scene.driver, go_to(nowhere)).await.unwrap_err();
    assert!(
        matches!(failure.error, Error::PageNotLoaded { .. }),
        "{failure}"
    );
}

#[tokio::test]
async fn a_secret_goes_only_into_a_page_of_the_host_that_is_named() {
    let field = "<title>Bank</title><input id=i autofocus style='position:fixed;width:100%;height:100%' \
                 onfocus='fetch(\"/focused\" + location.pathname)' oninput='fetch(\"/typed?\" + i.value.length)' \
                 onblur='fetch(\"/left?\" + i.value.length)'>";
    let framed = "<div id=d></div><script>d.attachShadow({ mode: 'open' }).innerHTML = \
                  '<iframe src=http://evil.test:PORT/ style=\"position:fixed;width:100%;height:100%\">'</script>";
    let moving = "<input autofocus style='position:fixed;width:100%;height:100%' \
                  onfocus='fetch(\"/focused\" + location.pathname)' \
                  oninput='location = \"http://evil.test:PORT/\"'>";
    let pages = [("/", field), ("/framed", framed), ("/moving", moving)];
    let scene = BrowserFixture::start(&pages).await;
    let long = "x".repeat(400);
    let enter = async |secret: &str| {
        let work = PreparedAction {
            secret: Some(SecretString::from(secret.to_owned())),
            allowed_windows: [WindowPattern::parse("url:bank.test").unwrap()].into(),
            ..PreparedAction::from(Action::TypeText {
                text: Text::Secret("bank".to_owned()),
                control_characters: ControlCharacters::AsKeys,
            })
        };
        scene.driver.perform(work, &CancellationToken::new()).await
    };
    scene.open_and_enter_field("evil.test", "/").await;
    let failure = enter("hunter2").await.unwrap_err();
    assert!(!failure.input_sent);
    let message = failure.to_string();
    assert!(
        message.contains("evil.test") && message.contains("url:bank.test"),
        "{message}"
    );

    scene.open_and_enter_field("bank.test", "/").await;
    enter("hunter2").await.unwrap();
    scene.web.wait_asked("bank.test", "/typed?7").await;

    // The address bar is not part of any page.
    perform(&scene.driver, chord("ctrl+l")).await.unwrap();
    scene.web.wait_asked("bank.test", "/left?7").await;
    let failure = enter("hunter2").await.unwrap_err();
    assert!(
        matches!(failure.error, Error::WindowNotAllowed { .. }),
        "{failure}"
    );
    // A frame of another host has the focus, inside a page of the allowed host.
    scene.open("bank.test", "/framed").await;
    perform(&scene.driver, click_in_page()).await.unwrap();
    scene.web.wait_asked("evil.test", "/").await;
    let failure = enter("hunter2").await.unwrap_err();
    assert!(
        matches!(failure.error, Error::WindowNotAllowed { .. }),
        "{failure}"
    );
    let typed = |path: &String| path.starts_with("/typed");
    assert!(!scene.web.asked_of("evil.test").iter().any(typed));

    // The page navigates away during typing: at most the keys in flight are still entered.
    scene.open_and_enter_field("bank.test", "/moving").await;
    let failure = enter(&long).await.unwrap_err();
    assert!(failure.input_sent, "{failure}");
    let astray = scene.web.asked_of("evil.test");
    let astray = astray
        .iter()
        .filter_map(|path| path.strip_prefix("/typed?")?.parse().ok());
    assert!(astray.max().unwrap_or(0) <= 40);
}

#[tokio::test]
async fn url_rules_apply_to_pages_opened_before_the_driver() {
    let polling = "<script>setInterval(() => fetch('http://evil.test:PORT/poll', { mode: 'no-cors' }), 100)</script>";
    let scene = BrowserFixture::start(&[("/", polling)]).await;
    let port = free_port();
    let browser = chromium(&scene.desktop, port);
    let mut command = scene.desktop.command(&browser.program);
    command
        .args(&browser.arguments)
        .arg(scene.web.address("good.test", "/"));
    let _browser = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    scene.web.wait_asked("evil.test", "/poll").await;
    scene
        .rules
        .send_replace(addresses(&["*", "127.0.0.1"], &["evil.test"]));
    let late = BrowserDriver::start(
        Arc::new(driver(&scene.desktop.display)),
        Options {
            endpoint: format!("http://127.0.0.1:{port}"),
            display: scene.desktop.display.clone(),
            launcher: Launcher::default(),
            rules: scene.rules.subscribe(),
            named_hosts: scene.named_hosts.clone(),
        },
    );
    let end = Instant::now() + WAIT_TIMEOUT;
    while late.read_page(10).await.is_err() {
        assert!(Instant::now() < end, "the browser is not connected to");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    scene.web.forget();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.web.asked_of("evil.test"), [""; 0]);
}

#[tokio::test]
async fn uploads_arrive_intact_without_bypassing_url_rules() {
    let uploads = "<script>(async () => {
      const post = (path, body) => fetch(path, { method: 'POST', body });
      await post('/no-text', new Uint8Array([0xed, 0xa0, 0x80, 0xff, 0]));
      await post('/large', new Uint8Array(20e6).fill(1));
      for (let nth = 0; nth < 10; nth++) {
        await fetch('http://evil.test:PORT/after', { mode: 'no-cors' }).catch(() => 0);
        await new Promise(done => setTimeout(done, 50));
      }
      fetch('/done');
    })()</script>";
    let scene = BrowserFixture::start(&[("/", uploads)]).await;
    scene.rules.send_replace(addresses(&["good.test"], &[]));
    scene.open("good.test", "/").await;
    for path in ["/no-text", "/large", "/done"] {
        scene.web.wait_asked("good.test", path).await;
    }
    assert_eq!(scene.web.asked_of("evil.test"), [""; 0]);
}

#[tokio::test]
async fn read_follows_a_page_that_navigates() {
    // The page keeps navigating by itself.
    let leaving = "here<script>
        const pause = new URLSearchParams(location.search).get('pause');
        setTimeout(() => location.replace(`?pause=${pause}&at=${Math.random()}`), pause);
      </script>";
    let scene = BrowserFixture::start(&[("/still", "here"), ("/leaving", leaving)]).await;
    scene.open("good.test", "/still").await;
    // On a busy machine a read takes as long as a quick page stays, so that no retry could succeed.
    let pause = 4 * scene.usual_read().await.max(Duration::from_millis(25));
    scene.web.forget();
    let path = format!("/leaving?pause={}", pause.as_millis());
    scene.open("good.test", &path).await;
    let address = scene.web.address("good.test", "/leaving");
    while scene.web.asked_of("good.test").len() < 20 {
        let url = scene.read().await.url;
        assert!(url.starts_with(&address), "{url}");
    }
}

/// A page with unsaved work asks before it is left, by an action as by a link. The question stands on the screen, and
/// the action is not done.
#[tokio::test]
async fn beforeunload_dialog_is_reported_as_an_error() {
    let asking = "<title>draft</title><body>unsaved<script>
        onbeforeunload = event => { event.preventDefault(); return 'unsaved'; };
      </script>";
    let scene = BrowserFixture::start(&[("/draft", asking), ("/", "<title>start</title>")]).await;
    scene.open("good.test", "/").await;
    let draft = scene.web.address("good.test", "/draft");
    perform(&scene.driver, go_to(draft.clone())).await.unwrap();
    let start = scene.web.address("good.test", "/");
    for action in [go_to(start.clone()), Action::Refresh, Action::GoBack] {
        scene.web.forget();
        let failure = perform(&scene.driver, action.clone()).await.unwrap_err();
        assert_eq!(failure.error, Error::LeavingQuestioned, "{action:?}");
        // Escape keeps the page.
        perform(&scene.driver, chord("Escape")).await.unwrap();
        let page = scene
            .read_until("the draft", |page| page.title == "draft")
            .await;
        assert_eq!((&*page.url, &*page.text), (&*draft, "unsaved"));
        assert_eq!(scene.web.asked_of("good.test"), [""; 0]);
    }
    let _ = perform(&scene.driver, go_to(start.clone())).await;
    perform(&scene.driver, chord("Return")).await.unwrap();
    scene
        .read_until("the start", |page| page.url == start)
        .await;
    perform(&scene.driver, Action::Refresh).await.unwrap();

    // A page that becomes forbidden is not asked.
    let forbidden = scene.web.address("evil.test", "/draft");
    perform(&scene.driver, go_to(forbidden)).await.unwrap();
    perform(&scene.driver, click_in_page()).await.unwrap();
    scene
        .rules
        .send_replace(addresses(&["*", "127.0.0.1"], &["evil.test"]));
    scene
        .read_until("an empty page", |page| page.url == "about:blank")
        .await;
}

/// The case of `motorium act --in-process refresh`: the driver is started for its first action.
#[tokio::test]
async fn a_driver_that_was_just_started_reaches_the_browser() {
    let scene = BrowserFixture::start(&[("/", "here")]).await;
    scene.open("good.test", "/").await;
    let fresh = || {
        let options = Options {
            endpoint: scene.endpoint.clone(),
            display: scene.desktop.display.clone(),
            launcher: Launcher::default(),
            rules: scene.rules.subscribe(),
            named_hosts: scene.named_hosts.clone(),
        };
        BrowserDriver::start(Arc::new(driver(&scene.desktop.display)), options)
    };
    scene.web.forget();
    perform(&fresh(), Action::Refresh).await.unwrap();
    scene.web.wait_asked("good.test", "/").await;
    let url = scene.web.address("good.test", "/second");
    perform(&fresh(), go_to(url)).await.unwrap();
    scene.web.wait_asked("good.test", "/second").await;
    // With a launcher that can start nothing: the page is opened in the browser that runs.
    let url = scene.web.address("good.test", "/third");
    perform(&fresh(), Action::OpenUrl { url }).await.unwrap();
    scene.web.wait_asked("good.test", "/third").await;
}

#[tokio::test]
async fn a_profile_that_a_browser_of_another_host_has_left_locked_is_opened() {
    let scene = BrowserFixture::start(&[("/", "here")]).await;
    let profile = scene.desktop.path("profile");
    std::fs::create_dir(&profile).unwrap();
    let lock = profile.join("SingletonLock");
    std::os::unix::fs::symlink("old-container-4242", &lock).unwrap();
    std::os::unix::fs::symlink("/nowhere/SingletonSocket", profile.join("SingletonSocket"))
        .unwrap();
    scene.open("good.test", "/").await;
    assert_eq!(scene.read().await.text, "here");
    let host = std::fs::read_link(&lock).unwrap();
    assert!(
        !host.to_string_lossy().starts_with("old-container"),
        "{host:?}"
    );
}

#[tokio::test]
async fn unreachable_or_hung_browser_is_an_error_and_recovers() {
    let scene = BrowserFixture::start(&[
        ("/", "here"),
        ("/dialog", "<script>setTimeout(alert, 300)</script>"),
    ])
    .await;
    let failure = perform(&scene.driver, Action::Refresh).await.unwrap_err();
    assert!(matches!(failure.error, Error::BrowserUnreachable { .. }) && !failure.input_sent);
    scene.open("good.test", "/dialog").await;
    let is_silent = |error: &Error| matches!(error, Error::PageNotResponding { .. });
    scene.read_until_it_fails("the dialog", is_silent).await;
    perform(&scene.driver, chord("Return")).await.unwrap();
    let dialog = scene.web.address("good.test", "/dialog");
    scene
        .read_until("the page behind its dialog", |page| page.url == dialog)
        .await;

    perform(&scene.driver, chord("ctrl+shift+w")).await.unwrap();
    let is_away = |error: &Error| matches!(error, Error::BrowserUnreachable { .. });
    scene
        .read_until_it_fails("the browser to end", is_away)
        .await;
    scene.open("good.test", "/").await;
    assert_eq!(scene.read().await.text, "here");
}

#[tokio::test]
async fn pages_reach_no_private_host_by_its_address_or_under_another_name() {
    const TRY: &str = "<title>trying</title><script>
        fetch('http://127.0.0.1:PORT/secret', { mode: 'no-cors' })
            .then(() => document.title = 'reached', () => document.title = 'refused');
    </script>";
    let scene = BrowserFixture::start_with(
        &[
            (
                "/jump",
                "<script>location = 'http://localhost:PORT/secret'</script>",
            ),
            ("/fetch", TRY),
            (
                "/rebind",
                "<script>location = 'http://rebind.test:PORT/secret'</script>",
            ),
            (
                "/rebind-frame",
                "<iframe src='http://rebind.test:PORT/framed'></iframe>",
            ),
            (
                "/rebind-fetch",
                "<script>fetch('http://rebind.test:PORT/fetched', { mode: 'no-cors' })</script>",
            ),
            ("/rebind-image", "<img src='http://rebind.test:PORT/shown'>"),
            (
                "/rebind-worker",
                "<script>new Worker('/rebind-worker.js')</script>",
            ),
            (
                "/rebind-worker.js",
                "fetch('http://rebind.test:PORT/worked', { mode: 'no-cors' })",
            ),
            ("/secret", "<title>Secret</title>inside"),
        ],
        addresses(&["*", "good.test"], &[]),
    )
    .await;
    scene.open("good.test", "/fetch").await;
    let tried = scene.read_until("the attempt", |page| page.title != "trying");
    assert_eq!(tried.await.title, "refused");
    scene.open("good.test", "/jump").await;
    let left = scene.read_until("the refused page", |page| page.url.contains("localhost"));
    assert!(!left.await.text.contains("inside"));
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(scene.web.asked_of(host), Vec::<String>::new(), "{host}");
    }
    // A public name is found out when its document comes from this machine.
    scene.open("good.test", "/rebind").await;
    scene
        .read_until("the blank page", |page| page.url == "about:blank")
        .await;
    // The same for what a page takes in: its scripts could read on, and send what they have read.
    for (path, taken) in [
        ("/rebind-frame", "/framed"),
        ("/rebind-fetch", "/fetched"),
        ("/rebind-image", "/shown"),
        ("/rebind-worker", "/worked"),
    ] {
        let url = scene.web.address("good.test", path);
        // The page may be left before it has loaded.
        let _ = perform(&scene.driver, Action::OpenUrl { url }).await;
        scene.web.wait_asked("rebind.test", taken).await;
        scene
            .read_until(path, |page| page.url == "about:blank")
            .await;
    }
    let named = &scene.named_hosts;
    // A server of this machine at another port is not named with it.
    named.add(&["localhost:9".to_owned()]);
    let url = scene.web.address("localhost", "/secret");
    let refused = perform(&scene.driver, Action::OpenUrl { url: url.clone() }).await;
    refused.unwrap_err();
    let authority = url.split('/').nth(2).unwrap();
    named.add(&[authority.to_owned()]);
    scene.open("localhost", "/secret").await;
    let page = scene.read_until("the named page", |page| page.title == "Secret");
    assert_eq!(page.await.text, "inside");
}

/// Without DevTools nothing is filtered in the browser: the Executor refuses the text and the key that opens it.
#[tokio::test]
async fn typed_addresses_are_judged_without_devtools() {
    let web = Web::serve(&[]).await;
    let desktop = Desktop::start("us").await;
    let rules = "[executor.rules]\ndenied_url_hosts = [\"evil.test\"]\n";
    std::fs::write(desktop.path("motorium.toml"), rules).unwrap();
    let browser = chromium(&desktop, free_port());
    let is_open = |argument: &&String| !argument.contains("remote-debugging");
    let mut command = desktop.command(&browser.program);
    command
        .args(browser.arguments.iter().filter(is_open))
        .arg(web.address("good.test", "/start"));
    let _browser = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    web.wait_asked("good.test", "/start").await;
    let served = ExecutorProcess::start(&desktop).await;
    let epoch = served.acquire(TTL).await;
    let mut number = 0;
    // As the Orchestrator asks it, which tells the addresses.
    let mut perform = async |action, addresses: &[String]| {
        number += 1;
        let request = PerformRequest {
            addresses: addresses.to_vec(),
            ..served.request(epoch, &number.to_string(), action)
        };
        served.executor.perform(request).await.unwrap()
    };
    perform(click_in_page(), &[]).await;
    let port = web.port;
    for (address, rule) in [
        (
            format!("http://evil.test:{port}/"),
            "rules.denied_url_hosts",
        ),
        (format!("http://127.0.0.1:{port}/"), "rules.url_hosts"),
        ("file:///".to_owned(), "rules.url_schemes"),
    ] {
        perform(chord("ctrl+l"), &[]).await;
        for action in [type_text(&address), chord("Return")] {
            let refused = perform(action, std::slice::from_ref(&address)).await;
            let found = (refused.result, refused.rule.as_deref());
            assert_eq!(found, (ActionResult::Refused, Some(rule)), "{address}");
        }
    }
    // The same keys open what is allowed. On a busy machine the address bar may get the focus late, and the text is lost.
    let address = [web.address("good.test", "/typed")];
    let end = Instant::now() + WAIT_TIMEOUT;
    while !web.asked_of("good.test").contains(&"/typed".to_owned()) {
        assert!(Instant::now() < end, "the allowed address was not opened");
        perform(chord("ctrl+l"), &[]).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        perform(type_text(&address[0]), &address).await;
        perform(chord("Return"), &address).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for host in ["evil.test", "127.0.0.1"] {
        assert_eq!(web.asked_of(host), [""; 0], "{host}");
    }
}

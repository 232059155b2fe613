//! The service as its callers see it, in process and over the network: leases, rules, at-most-once execution, stops,
//! files.
//!
//! The recording driver is used; the same checks run for both transports.

mod callers;
mod fuzz;
mod scale;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_executor::desktop::{Desktop, DesktopParts};
use motorium_executor::drivers::Driver;
use motorium_executor::drivers::launch::Launcher;
use motorium_executor::drivers::recording::{self, RecordingDriver};
use motorium_executor::drivers::x11::{Options, X11Driver};
use motorium_executor::files::Files;
use motorium_executor::guard::StateFolder;
use motorium_executor::guard::allowed_windows::{AllowedWindows, WindowPattern};
use motorium_executor::guard::journal::{Journal, Retention};
use motorium_executor::guard::named_hosts::NamedHosts;
use motorium_executor::guard::rules::{Chord, DEFAULT_FORBIDDEN_CHORDS, Rules};
use motorium_executor::guard::secret_grants::{Grantee, SecretGrants};
use motorium_executor::guard::url_rules::{HostRule, UrlRules};
use motorium_executor::policy::ExecutorPolicy;
use motorium_executor::secrets::Secrets;
use motorium_executor::{ExecutorService, InProcessExecutor, error::reason};
use motorium_proto::domain::action::{Action, ActionKind, ControlCharacters, Text};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::domain::key::Key;
use motorium_proto::error::{ErrorReport, reason as common};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, Executor, ExecutorClient, ExecutorServer, FenceRequest,
    FileRequest, LookUpRequest, PerformRequest, PutFile, ReadClipboardRequest, ReadPageRequest,
    ReleaseRequest, RenewRequest,
};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};

const TTL: Duration = Duration::from_secs(30);
const RETENTION: Retention = Retention {
    max_entries: 1_000,
    max_age: Duration::from_secs(3600),
    sync: true,
};

/// A service with a recording driver, its folder, and a client.
struct ServiceFixture {
    driver: Arc<RecordingDriver>,
    executor: Arc<dyn Executor>,
    home: tempfile::TempDir,
}

#[derive(Debug, Clone, Copy)]
enum Transport {
    InProcess,
    OverTheNetwork,
}

fn rules() -> Rules {
    Rules {
        kinds: ActionKind::ALL
            .iter()
            .copied()
            .filter(|kind| *kind != ActionKind::GoBack)
            .collect(),
        forbidden_chords: DEFAULT_FORBIDDEN_CHORDS
            .iter()
            .map(|chord| Chord::parse(chord).unwrap())
            .collect(),
        applications: ["editor".to_owned()].into(),
        urls: UrlRules {
            schemes: vec!["https".to_owned()],
            hosts: vec![HostRule::Any],
            denied_hosts: vec![HostRule::parse("pay.example").unwrap()],
        },
        allowed_regions: None,
        denied_regions: vec![CaptureRect::new(
            CapturePoint::new(0, 0),
            CapturePoint::new(10, 10),
        )],
        max_action_duration: Duration::from_secs(7200),
    }
}

fn parts(home: &Path, driver: Arc<dyn Driver>) -> DesktopParts {
    let secrets = home.join("secrets");
    let secret = [(
        "MOTORIUM_SECRET_LOGIN".to_owned(),
        "correct horse".to_owned(),
    )];
    DesktopParts {
        display: DisplayId::new(":1"),
        driver,
        named_hosts: NamedHosts::default(),
        policy: ExecutorPolicy {
            rules: rules(),
            max_actions_per_second: None,
            secrets: Secrets::new(Some(secrets), secret),
            secret_allowed_windows: AllowedWindows::new(
                [
                    ("login".to_owned(), vec![WindowPattern::Anywhere]),
                    ("nobody".to_owned(), vec![WindowPattern::Anywhere]),
                    ("vault".to_owned(), vec![WindowPattern::Anywhere]),
                ]
                .into(),
            ),
            secret_grants: SecretGrants::new(
                [(
                    "vault".to_owned(),
                    vec![
                        Grantee::Principal("ann".to_owned()),
                        Grantee::Tenant("treasury".to_owned()),
                    ],
                )]
                .into(),
            ),
        },
        files: Files::open(&home.join("files"), 1_000_000).unwrap(),
        folder: StateFolder::open(home.join("state")).unwrap(),
        retention: RETENTION,
    }
}

async fn reach(service: ExecutorService, reached: Transport) -> Arc<dyn Executor> {
    let service: Arc<dyn Executor> = Arc::new(InProcessExecutor::new(Arc::new(service)));
    if matches!(reached, Transport::InProcess) {
        return service;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = Server::builder().add_service(ExecutorServer::tonic(service));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    Arc::new(ExecutorClient::new(
        Channel::from_shared(address)
            .unwrap()
            .connect()
            .await
            .unwrap(),
    ))
}

impl ServiceFixture {
    async fn start(reached: Transport) -> Self {
        Self::start_with(reached, tempfile::tempdir().unwrap(), None).await
    }

    async fn start_with(reached: Transport, home: tempfile::TempDir, rate: Option<f64>) -> Self {
        Self::start_by(reached, home, |parts| {
            parts.policy.max_actions_per_second = rate
        })
        .await
    }

    async fn start_by(
        reached: Transport,
        home: tempfile::TempDir,
        change: impl FnOnce(&mut DesktopParts),
    ) -> Self {
        let driver = Arc::new(
            RecordingDriver::start(recording::Options::of_size(CaptureSize::new(1000, 1000)))
                .unwrap(),
        );
        let mut parts = parts(home.path(), driver.clone());
        change(&mut parts);
        let desktop = Desktop::start(parts).await.unwrap();
        let executor = reach(ExecutorService::new(vec![desktop]), reached).await;
        Self {
            driver,
            executor,
            home,
        }
    }

    async fn acquire(&self, holder: &str, take_over: bool) -> Result<Lease, ErrorReport> {
        self.acquire_for(holder, take_over, TTL).await
    }

    async fn acquire_for(
        &self,
        holder: &str,
        take_over: bool,
        ttl: Duration,
    ) -> Result<Lease, ErrorReport> {
        let request = AcquireRequest {
            display: None,
            holder: holder.to_owned(),
            ttl,
            take_over,
            tenant: None,
        };
        self.executor.acquire_desktop(request).await
    }

    async fn perform(
        &self,
        epoch: u64,
        id: &str,
        action: Action<CapturePoint>,
    ) -> Result<ActionOutcome, ErrorReport> {
        self.executor.perform(request(epoch, id, action)).await
    }

    async fn progress(&self, id: &str) -> ActionProgress {
        self.executor
            .look_up_action(LookUpRequest {
                display: None,
                action_id: ActionId::new(id),
            })
            .await
            .unwrap()
    }

    async fn fence(
        &self,
        epoch: u64,
        id: &str,
        checkpoint: Option<&str>,
    ) -> Result<ActionProgress, ErrorReport> {
        let request = FenceRequest {
            display: DisplayId::new(":1"),
            epoch: DesktopEpoch(epoch),
            action_id: ActionId::new(id),
            journal_checkpoint: checkpoint.map(str::to_owned),
            last_action_id: None,
        };
        self.executor.fence_action(request).await
    }

    /// Ends the process and starts it again on the same folder.
    async fn restart(self) -> Self {
        Self::start_with(Transport::InProcess, self.end().await, None).await
    }

    /// Ends the process and returns its folder.
    async fn end(self) -> tempfile::TempDir {
        let Self {
            executor,
            home,
            driver,
        } = self;
        drop((executor, driver));
        eventually("the folder to be unlocked", || async {
            StateFolder::open(home.path().join("state")).ok()
        })
        .await;
        home
    }

    async fn wait_running(&self, id: &str) {
        eventually("the action to run", || async {
            (self.progress(id).await == ActionProgress::Running).then_some(())
        })
        .await;
    }
}

fn request(epoch: u64, id: &str, action: Action<CapturePoint>) -> PerformRequest {
    PerformRequest {
        display: DisplayId::new(":1"),
        epoch: DesktopEpoch(epoch),
        action_id: ActionId::new(id),
        retry_of: None,
        action,
        named_hosts: Vec::new(),
        creator: None,
        tenant: None,
        addresses: Vec::new(),
    }
}

async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(
            tokio::time::Instant::now() < end,
            "waited in vain for {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn move_to(x: i32, y: i32) -> Action<CapturePoint> {
    Action::Move {
        to: CapturePoint::new(x, y),
    }
}

fn type_text(text: &str) -> Action<CapturePoint> {
    Action::TypeText {
        text: Text::Literal(text.to_owned()),
        control_characters: ControlCharacters::AsKeys,
    }
}

const LONG_WAIT: Action<CapturePoint> = Action::Wait {
    duration: Duration::from_secs(3600),
};

fn check_reason<T: std::fmt::Debug>(answer: Result<T, ErrorReport>, reason: &str) -> ErrorReport {
    let report = answer.unwrap_err();
    assert_eq!(report.reason, reason, "{}", report.message);
    report
}

/// Runs a check against the service in process and over the network.
macro_rules! both_ways {
    ($($check:ident),+ $(,)?) => {
        mod in_process {
            use super::*;
            $(#[tokio::test] async fn $check() { super::$check(ServiceFixture::start(Transport::InProcess).await).await; })+
        }
        mod over_the_network {
            use super::*;
            $(#[tokio::test] async fn $check() { super::$check(ServiceFixture::start(Transport::OverTheNetwork).await).await; })+
        }
    };
}

both_ways! {
    one_holder_acts_at_a_time,
    expired_lease_stops_actions_and_releases_input,
    an_action_is_performed_once,
    late_call_of_a_fenced_action_does_nothing,
    fence_tells_how_far_an_action_came,
    queued_action_is_fenced_before_its_turn,
    disallowed_actions_are_refused_with_their_rule,
    a_private_host_may_be_opened_while_the_user_who_named_it_has_the_desktop,
    addresses_of_a_typed_text_are_judged_as_opened_ones,
    release_all_stops_running_and_queued_actions,
    a_call_that_is_dropped_stops_its_action,
    secrets_are_resolved_here_and_nowhere_else,
    files_are_put_and_fetched,
    capabilities_and_pointer_are_reported,
}

async fn one_holder_acts_at_a_time(scene: ServiceFixture) {
    check_reason(
        scene.perform(1, "a", move_to(50, 50)).await,
        reason::LEASE_UNKNOWN,
    );
    let lease = scene.acquire("first", false).await.unwrap();
    let DesktopEpoch(first) = lease.epoch;
    assert_eq!(lease.display, DisplayId::new(":1"));
    assert!(lease.expires_at > SystemTime::now());
    let refused = check_reason(scene.acquire("second", false).await, reason::DESKTOP_LEASED);
    assert!(refused.retry_after.unwrap() <= TTL);
    assert_eq!(refused.metadata["holder"], "first");
    assert_eq!(
        scene.acquire("first", false).await.unwrap().epoch,
        DesktopEpoch(first + 1),
        "the same holder may acquire again"
    );
    assert_eq!(
        scene.acquire("second", true).await.unwrap().epoch,
        DesktopEpoch(first + 2)
    );
    for epoch in [first, first + 1] {
        check_reason(
            scene.perform(epoch, "a", move_to(50, 50)).await,
            reason::LEASE_SUPERSEDED,
        );
    }
    check_reason(
        scene.perform(first + 3, "a", move_to(50, 50)).await,
        reason::LEASE_UNKNOWN,
    );
    assert_eq!(
        scene
            .perform(first + 2, "a", move_to(50, 50))
            .await
            .unwrap()
            .result,
        ActionResult::Performed
    );
    let renewal = |epoch| RenewRequest {
        display: DisplayId::new(":1"),
        epoch: DesktopEpoch(epoch),
        ttl: TTL,
    };
    check_reason(
        scene.executor.renew_lease(renewal(first + 1)).await,
        reason::LEASE_SUPERSEDED,
    );
    scene
        .executor
        .renew_lease(renewal(first + 2))
        .await
        .unwrap();
    for _ in 0..2 {
        let release = ReleaseRequest {
            display: DisplayId::new(":1"),
            epoch: DesktopEpoch(first + 2),
        };
        scene.executor.release_desktop(release).await.unwrap();
    }
    check_reason(
        scene.perform(first + 2, "b", move_to(50, 50)).await,
        reason::LEASE_EXPIRED,
    );
    assert_eq!(scene.driver.actions(), [move_to(50, 50)]);
    let elsewhere = PerformRequest {
        display: DisplayId::new(":9"),
        ..request(first + 2, "c", move_to(1, 1))
    };
    check_reason(
        scene.executor.perform(elsewhere).await,
        reason::DESKTOP_NOT_FOUND,
    );
    check_reason(
        scene
            .acquire_for("x", false, Duration::from_millis(10))
            .await,
        common::INVALID_FIELD,
    );
}

async fn expired_lease_stops_actions_and_releases_input(scene: ServiceFixture) {
    let epoch = scene
        .acquire_for("first", false, Duration::from_secs(3))
        .await
        .unwrap()
        .epoch
        .0;
    let before = scene.driver.release_count();
    let outcome = scene.perform(epoch, "a", LONG_WAIT).await.unwrap();
    assert_eq!(
        outcome.result,
        ActionResult::Cancelled,
        "the end of the lease ends the action"
    );
    eventually("the release", || async {
        (scene.driver.release_count() > before).then_some(())
    })
    .await;
    check_reason(
        scene.perform(epoch, "b", move_to(50, 50)).await,
        reason::LEASE_EXPIRED,
    );
    assert_eq!(
        scene.acquire("second", false).await.unwrap().epoch.0,
        epoch + 1
    );
}

async fn an_action_is_performed_once(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    assert_eq!(scene.progress("task/1").await, ActionProgress::NotStarted);
    let first = scene
        .perform(epoch, "task/1", move_to(50, 60))
        .await
        .unwrap();
    assert_eq!(
        (first.result, first.already_performed),
        (ActionResult::Performed, false)
    );
    assert_eq!(first.pointer, Some(CapturePoint::new(50, 60)));
    let again = scene
        .perform(epoch, "task/1", move_to(50, 60))
        .await
        .unwrap();
    assert!(again.already_performed);
    assert_eq!(
        ActionOutcome {
            already_performed: false,
            ..again.clone()
        },
        first
    );
    assert_eq!(
        scene.progress("task/1").await,
        ActionProgress::Finished(again)
    );
    check_reason(
        scene.perform(epoch, "task/1", move_to(50, 61)).await,
        reason::ACTION_ID_REUSED,
    );
    let failed = scene
        .perform(epoch, "task/2", move_to(5_000, 60))
        .await
        .unwrap();
    assert_eq!(failed.result, ActionResult::Failed);
    assert!(
        failed.detail.contains("outside the display"),
        "{}",
        failed.detail
    );
    assert!(
        scene
            .perform(epoch, "task/2", move_to(5_000, 60))
            .await
            .unwrap()
            .already_performed
    );
    assert_eq!(scene.driver.actions().len(), 1);
}

async fn late_call_of_a_fenced_action_does_nothing(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    for _ in 0..2 {
        assert_eq!(
            scene.fence(epoch, "task/1", None).await.unwrap(),
            ActionProgress::NotStarted
        );
    }
    let report = check_reason(
        scene.perform(epoch, "task/1", move_to(50, 60)).await,
        reason::ACTION_FENCED,
    );
    assert_eq!(report.metadata["action_id"], "task/1");
    match scene.progress("task/1").await {
        ActionProgress::Finished(outcome) => assert!(outcome.sent_nothing, "{outcome:?}"),
        progress => panic!("{progress:?}"),
    }
    assert!(scene.driver.actions().is_empty());
    let retried = scene.perform(epoch, "task/2", move_to(50, 60)).await;
    assert_eq!(retried.unwrap().result, ActionResult::Performed);
}

async fn fence_tells_how_far_an_action_came(scene: ServiceFixture) {
    check_reason(scene.fence(1, "early", None).await, reason::LEASE_UNKNOWN);
    let lease = scene.acquire("a", false).await.unwrap();
    let (epoch, checkpoint) = (lease.epoch.0, lease.journal_checkpoint);
    let checkpoint = checkpoint.as_deref();
    assert!(checkpoint.is_some());
    let performed = scene.perform(epoch, "done", move_to(50, 60)).await.unwrap();
    assert_eq!(
        scene.fence(epoch, "done", checkpoint).await.unwrap(),
        ActionProgress::Finished(ActionOutcome {
            already_performed: true,
            ..performed
        })
    );
    let fencing = async {
        scene.wait_running("runs").await;
        let progress = scene.fence(epoch, "runs", checkpoint).await.unwrap();
        assert_eq!(progress, ActionProgress::Running);
        scene.executor.release_all(None).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(scene.perform(epoch, "runs", LONG_WAIT), fencing);
    assert_eq!(outcome.unwrap().result, ActionResult::Cancelled);
    let progress = scene.fence(epoch, "new", checkpoint).await.unwrap();
    assert_eq!(progress, ActionProgress::NotStarted);
    let elsewhere = scene.fence(epoch, "foreign", Some("checkpoint/0")).await;
    assert_eq!(elsewhere.unwrap(), ActionProgress::Unknown);
    check_reason(
        scene.perform(epoch, "foreign", move_to(50, 60)).await,
        reason::ACTION_FENCED,
    );
    scene.acquire("b", true).await.unwrap();
    check_reason(
        scene.fence(epoch, "late", checkpoint).await,
        reason::LEASE_SUPERSEDED,
    );
    assert_eq!(scene.driver.actions(), [move_to(50, 60)]);
}

async fn queued_action_is_fenced_before_its_turn(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let fenced = Notify::new();
    // The driver holds the first action until the fence has answered. Dropping its call then stops it.
    let holding = async {
        tokio::select! {
            outcome = scene.perform(epoch, "runs", LONG_WAIT) => panic!("it waits for an hour: {outcome:?}"),
            () = fenced.notified() => {}
        }
    };
    let fencing = async {
        let progress = scene.fence(epoch, "waits", None).await;
        fenced.notify_one();
        progress
    };
    let fencing_queued = async {
        scene.wait_running("runs").await;
        // In this order. If the fence overtakes the call nevertheless, the answers are the same.
        tokio::join!(scene.perform(epoch, "waits", move_to(50, 50)), fencing)
    };
    let ((), (waits, progress)) = tokio::join!(holding, fencing_queued);
    assert_eq!(progress.unwrap(), ActionProgress::NotStarted);
    check_reason(waits, reason::ACTION_FENCED);
    assert!(scene.driver.actions().is_empty());
}

async fn disallowed_actions_are_refused_with_their_rule(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let chord = |keys| Action::KeyChord {
        keys: Key::parse_chord("keys", keys).unwrap(),
        repeat: 1,
    };
    let cases = [
        (chord("ctrl+alt+delete"), "rules.forbidden_chords"),
        (Action::GoBack, "rules.actions"),
        (
            Action::OpenApplication {
                name: "sh".to_owned(),
            },
            "applications",
        ),
        (
            Action::OpenUrl {
                url: "http://example.com/".to_owned(),
            },
            "rules.url_schemes",
        ),
        (move_to(5, 5), "rules.denied_regions"),
        (
            Action::Wait {
                duration: Duration::from_secs(10_000),
            },
            "rules.max_action_duration",
        ),
    ];
    for (action, rule) in cases {
        let outcome = scene.perform(epoch, rule, action).await.unwrap();
        assert_eq!(
            (outcome.result, outcome.rule.as_deref()),
            (ActionResult::Refused, Some(rule))
        );
        assert!(!outcome.detail.is_empty());
        assert_eq!(
            scene.progress(rule).await,
            ActionProgress::NotStarted,
            "nothing was started"
        );
    }
    assert!(scene.driver.actions().is_empty());
}

async fn a_private_host_may_be_opened_while_the_user_who_named_it_has_the_desktop(
    scene: ServiceFixture,
) {
    let open = |epoch: u64, id: &str, url: &str, named: &[&str]| {
        let named_hosts = named.iter().map(|&host| host.to_owned()).collect();
        let url = url.to_owned();
        let request = PerformRequest {
            named_hosts,
            ..request(epoch, id, Action::OpenUrl { url })
        };
        scene.executor.perform(request)
    };
    let local = "https://0x7f.1:8443/";
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    // Another name of it, and another port.
    let others = ["localhost:8443", "127.0.0.1", "127.0.0.1:844"];
    let refused = open(epoch, "unnamed", local, &others).await.unwrap();
    assert_eq!(refused.rule.as_deref(), Some("rules.url_hosts"));
    assert!(refused.detail.contains("127.0.0.1"), "{}", refused.detail);
    // Named with another action of the same lease.
    let named = open(epoch, "named", "https://example.com/", &["127.0.0.1:8443"]);
    assert_eq!(named.await.unwrap().result, ActionResult::Performed);
    let opened = open(epoch, "local", local, &[]).await.unwrap();
    assert_eq!(opened.result, ActionResult::Performed);
    let next = scene.acquire("b", true).await.unwrap().epoch.0;
    let refused = open(next, "next", local, &[]).await.unwrap();
    assert_eq!(refused.result, ActionResult::Refused);
}

async fn addresses_of_a_typed_text_are_judged_as_opened_ones(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let typed = |id: &str, addresses: &[&str], named: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let keys = Action::KeyChord {
            keys: vec![Key::Enter],
            repeat: 1,
        };
        let request = PerformRequest {
            addresses: owned(addresses),
            named_hosts: owned(named),
            ..request(epoch, id, keys)
        };
        scene.executor.perform(request)
    };
    for (id, addresses, rule) in [
        (
            "denied",
            vec!["https://pay.example/"],
            "rules.denied_url_hosts",
        ),
        (
            "one of several",
            vec!["https://shop.example/", "https://pay.example:8443/"],
            "rules.denied_url_hosts",
        ),
        ("private", vec!["https://0x7f.1:8443/"], "rules.url_hosts"),
        ("file", vec!["file:///"], "rules.url_schemes"),
        ("browser", vec!["chrome://settings/"], "rules.url_schemes"),
        ("script", vec!["javascript:"], "rules.url_schemes"),
        ("nonsense", vec!["shop.example"], "rules.url_schemes"),
    ] {
        let outcome = typed(id, &addresses, &[]).await.unwrap();
        assert_eq!(
            (outcome.result, outcome.rule.as_deref()),
            (ActionResult::Refused, Some(rule)),
            "{id}"
        );
        assert!(
            outcome.detail.contains("click that field first"),
            "{}",
            outcome.detail
        );
        assert_eq!(scene.progress(id).await, ActionProgress::NotStarted);
    }
    assert!(scene.driver.actions().is_empty(), "nothing was sent");
    for (id, addresses, named) in [
        (
            "public",
            vec!["https://shop.example/", "about:blank"],
            vec![],
        ),
        (
            "named",
            vec!["https://127.0.0.1:8443/"],
            vec!["127.0.0.1:8443"],
        ),
        ("none", vec![], vec![]),
    ] {
        let outcome = typed(id, &addresses, &named).await.unwrap();
        assert_eq!(outcome.result, ActionResult::Performed, "{id}: {outcome:?}");
    }
}

async fn release_all_stops_running_and_queued_actions(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let before = scene.driver.release_count();
    let running = scene.perform(epoch, "runs", LONG_WAIT);
    let waiting = async {
        scene.wait_running("runs").await;
        scene.perform(epoch, "waits", move_to(50, 50)).await
    };
    let stopping = async {
        scene.wait_running("runs").await;
        // A queued action leaves no trace to wait for. It may be stopped before or after it is queued.
        tokio::time::sleep(Duration::from_millis(50)).await;
        scene.executor.release_all(None).await.unwrap();
    };
    let (runs, waits, ()) = tokio::join!(running, waiting, stopping);
    assert_eq!(runs.unwrap().result, ActionResult::Cancelled);
    if let Err(report) = waits {
        assert_eq!(report.reason, reason::ACTION_STOPPED);
        assert_eq!(scene.progress("waits").await, ActionProgress::NotStarted);
    }
    assert!(scene.driver.release_count() > before);
    let after = scene
        .perform(epoch, "after", move_to(60, 60))
        .await
        .unwrap();
    assert_eq!(
        after.result,
        ActionResult::Performed,
        "a stop does not end the lease"
    );
}

async fn a_call_that_is_dropped_stops_its_action(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    tokio::select! {
        _ = scene.perform(epoch, "a", LONG_WAIT) => panic!("it waits for an hour"),
        () = scene.wait_running("a") => {}
    }
    let outcome = eventually("its end", || async {
        match scene.progress("a").await {
            ActionProgress::Finished(outcome) => Some(outcome),
            _ => None,
        }
    });
    assert_eq!(outcome.await.result, ActionResult::Cancelled);
    assert_eq!(
        scene
            .perform(epoch, "b", move_to(50, 50))
            .await
            .unwrap()
            .result,
        ActionResult::Performed
    );
}

async fn secrets_are_resolved_here_and_nowhere_else(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let secret = |name: &str| Action::TypeText {
        text: Text::Secret(name.to_owned()),
        control_characters: ControlCharacters::AsKeys,
    };
    let report = check_reason(
        scene.perform(epoch, "a", secret("nobody")).await,
        reason::SECRET_NOT_FOUND,
    );
    assert_eq!(report.metadata["secret"], "nobody");
    assert_eq!(
        scene
            .perform(epoch, "b", secret("login"))
            .await
            .unwrap()
            .result,
        ActionResult::Performed
    );
    assert_eq!(
        scene
            .perform(epoch, "c", type_text("my diary"))
            .await
            .unwrap()
            .result,
        ActionResult::Performed
    );
    let nowhere = scene.perform(epoch, "d", secret("pin")).await.unwrap();
    assert_eq!(nowhere.result, ActionResult::Refused);
    assert_eq!(nowhere.rule.as_deref(), Some("secret_allowed_windows"));
    // For whom an action is performed, the service that sends it says.
    let granted = |id: &str, creator: &str, tenant: &str| PerformRequest {
        creator: Some(creator.to_owned()),
        tenant: Some(tenant.to_owned()),
        ..request(epoch, id, secret("vault"))
    };
    for (id, creator, tenant) in [("e", "bob", "acme"), ("f", "treasury", "ann")] {
        let refused = scene.executor.perform(granted(id, creator, tenant)).await;
        let refused = refused.unwrap();
        assert_eq!(refused.result, ActionResult::Refused);
        assert_eq!(refused.rule.as_deref(), Some("secret_grants"));
        assert!(refused.detail.contains(creator), "{}", refused.detail);
    }
    for (id, creator, tenant) in [("g", "ann", "acme"), ("h", "bob", "treasury")] {
        // It is granted, and then found missing.
        let performed = scene.executor.perform(granted(id, creator, tenant)).await;
        check_reason(performed, reason::SECRET_NOT_FOUND);
    }
    assert_eq!(scene.driver.actions()[0], secret("login"), "by its name");
    let journal = std::fs::read_to_string(scene.home.path().join("state/journal")).unwrap();
    assert!(!journal.contains("diary") && !journal.contains("horse"));
    let capabilities = scene.executor.get_capabilities(None).await.unwrap();
    assert_eq!(capabilities.secrets, ["login"]);
}

async fn files_are_put_and_fetched(scene: ServiceFixture) {
    let epoch = scene.acquire("a", false).await.unwrap().epoch;
    let file = |epoch, name: &str, content: Vec<u8>| PutFile {
        display: None,
        epoch,
        name: name.to_owned(),
        overwrite: false,
        content: content.into(),
    };
    let named = |name: &str| FileRequest {
        display: None,
        name: name.to_owned(),
        epoch: Some(epoch),
    };
    let content: Vec<u8> = (0..=255).cycle().take(700_000).collect();
    let info = scene
        .executor
        .put_file(file(epoch, "a.bin", content.clone()))
        .await
        .unwrap();
    assert_eq!(info.size_bytes, 700_000);
    assert_eq!(
        scene.executor.stat_file(named("a.bin")).await.unwrap(),
        Some(info.clone())
    );
    assert_eq!(
        scene.executor.stat_file(named("b.bin")).await.unwrap(),
        None
    );
    let fetched = scene.executor.get_file(named("a.bin")).await.unwrap();
    assert_eq!(fetched.info, info);
    assert_eq!(fetched.content, content);
    check_reason(
        scene.executor.get_file(named("b.bin")).await,
        reason::FILE_NOT_FOUND,
    );
    check_reason(
        scene.executor.get_file(named("../secrets/x")).await,
        common::INVALID_FIELD,
    );
    check_reason(
        scene.executor.put_file(file(epoch, "a.bin", vec![1])).await,
        reason::FILE_EXISTS,
    );
    check_reason(
        scene
            .executor
            .put_file(file(epoch, "big", vec![0; 1_000_001]))
            .await,
        reason::FILE_TOO_LARGE,
    );
    check_reason(
        scene
            .executor
            .put_file(file(DesktopEpoch(epoch.0 + 9), "c", vec![1]))
            .await,
        reason::LEASE_UNKNOWN,
    );
}

async fn capabilities_and_pointer_are_reported(scene: ServiceFixture) {
    let capabilities = scene.executor.get_capabilities(None).await.unwrap();
    assert_eq!(capabilities.driver, "recording");
    assert!(!capabilities.action_kinds.contains(&ActionKind::GoBack));
    assert!(capabilities.action_kinds.contains(&ActionKind::Click));
    assert_eq!(capabilities.applications, ["editor"]);
    assert_eq!(
        capabilities.url_patterns,
        ["https://*/*", "not pay.example"]
    );
    assert!(
        capabilities
            .forbidden_chords
            .contains(&"ctrl+alt+delete".to_owned())
    );
    assert_eq!(
        scene.executor.get_pointer(None).await.unwrap(),
        CapturePoint::zero()
    );
    let page = ReadPageRequest {
        display: None,
        max_characters: 10,
    };
    check_reason(scene.executor.read_page(page).await, common::NOT_SERVED);
    let clipboard = |epoch| ReadClipboardRequest {
        display: DisplayId::new(":1"),
        epoch,
        only_if_copied: false,
    };
    let unleased = scene.executor.read_clipboard(clipboard(DesktopEpoch(7)));
    check_reason(unleased.await, reason::LEASE_UNKNOWN);
    check_reason(
        scene.executor.watch_human_input(None).await.map(|_| ()),
        common::NOT_SERVED,
    );
}

#[tokio::test]
async fn everything_survives_a_restart() {
    let scene = ServiceFixture::start(Transport::InProcess).await;
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let first = scene.perform(epoch, "a", type_text("once")).await.unwrap();
    let home = scene.end().await;
    // An intent whose process ended before it recorded an outcome.
    let folder = Arc::new(StateFolder::open(home.path().join("state")).unwrap());
    let mut journal = Journal::open(folder, RETENTION, SystemTime::now()).unwrap();
    journal
        .begin(&ActionId::new("torn"), [7; 32], SystemTime::now())
        .unwrap();
    drop(journal);

    let scene = ServiceFixture::start_with(Transport::InProcess, home, None).await;
    assert_eq!(scene.progress("torn").await, ActionProgress::Unknown);
    let again = scene.perform(epoch, "a", type_text("once")).await.unwrap();
    assert_eq!(
        again,
        ActionOutcome {
            already_performed: true,
            ..first
        },
        "the lease is still valid, and the action is not repeated"
    );
    assert!(scene.driver.actions().is_empty());
    assert!(scene.acquire("a", false).await.unwrap().epoch.0 > epoch);
    check_reason(
        scene.perform(epoch, "b", move_to(50, 50)).await,
        reason::LEASE_SUPERSEDED,
    );
}

#[tokio::test]
async fn a_desktop_that_is_not_used_forgets_old_actions() {
    let scene = ServiceFixture::start(Transport::InProcess).await;
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    scene
        .perform(epoch, "my-action", move_to(50, 50))
        .await
        .unwrap();
    let stored = || std::fs::read_to_string(scene.home.path().join("state/journal")).unwrap();
    assert!(stored().contains("my-action"));
    tokio::time::pause();
    tokio::time::sleep(RETENTION.max_age / 2).await;
    assert!(stored().contains("my-action"), "it may still be repeated");
    tokio::time::sleep(RETENTION.max_age * 2).await;
    tokio::time::resume();
    eventually("the action to be removed from the disk", || async {
        (!stored().contains("my-action")).then_some(())
    })
    .await;
    assert_eq!(
        scene.progress("my-action").await,
        ActionProgress::NotStarted
    );
}

#[tokio::test]
async fn fence_survives_a_restart() {
    let scene = ServiceFixture::start(Transport::InProcess).await;
    let lease = scene.acquire("a", false).await.unwrap();
    let (epoch, checkpoint) = (lease.epoch.0, lease.journal_checkpoint);
    scene.fence(epoch, "a", None).await.unwrap();
    let scene = scene.restart().await;
    check_reason(
        scene.perform(epoch, "a", move_to(50, 50)).await,
        reason::ACTION_FENCED,
    );
    for id in ["a", "b"] {
        assert_eq!(
            scene.fence(epoch, id, checkpoint.as_deref()).await.unwrap(),
            ActionProgress::NotStarted,
            "{id}: the journal is complete"
        );
    }
    assert!(scene.driver.actions().is_empty());
}

#[tokio::test]
async fn lost_or_older_journal_never_tells_that_an_action_did_not_start() {
    for lost in [
        &["journal"][..],
        &["journal", "journal.key"],
        &["journal", "journal.key", "lease.json"],
    ] {
        for is_restored in [false, true] {
            let context = format!("{lost:?}, restored {is_restored}");
            let scene = ServiceFixture::start(Transport::InProcess).await;
            // Another holder, so that a restored lease has an epoch as well.
            scene.acquire("b", false).await.unwrap();
            let home = scene.end().await;
            let copy = tempfile::tempdir().unwrap();
            let state = home.path().join("state");
            for name in lost {
                std::fs::copy(state.join(name), copy.path().join(name)).unwrap();
            }
            let scene = ServiceFixture::start_with(Transport::InProcess, home, None).await;
            let lease = scene.acquire("a", true).await.unwrap();
            let checkpoint = lease.journal_checkpoint.as_deref();
            let first = scene.perform(lease.epoch.0, "a", move_to(50, 50)).await;
            assert_eq!(first.unwrap().result, ActionResult::Performed);

            let home = scene.end().await;
            for name in lost {
                let file = state.join(name);
                let changed = match is_restored {
                    true => std::fs::copy(copy.path().join(name), file).map(|_| ()),
                    false => std::fs::remove_file(file),
                };
                changed.unwrap();
            }
            let scene = ServiceFixture::start_with(Transport::InProcess, home, None).await;
            let epoch = scene.acquire("a", true).await.unwrap().epoch.0;
            let progress = scene.fence(epoch, "a", checkpoint).await.unwrap();
            assert_eq!(progress, ActionProgress::Unknown, "{context}");
            check_reason(
                scene.perform(epoch, "a", move_to(50, 50)).await,
                reason::ACTION_FENCED,
            );
            assert!(scene.driver.actions().is_empty(), "{context}");
        }
    }
}

#[tokio::test]
async fn an_action_whose_end_is_unknown_is_not_repeated() {
    let scene = ServiceFixture::start(Transport::InProcess).await;
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    tokio::select! {
        _ = scene.perform(epoch, "a", LONG_WAIT) => {}
        () = scene.wait_running("a") => {}
    }
    // The journal as after a crash at this point: with the intent, without the outcome.
    let crashed = tempfile::tempdir().unwrap();
    std::fs::create_dir(crashed.path().join("state")).unwrap();
    let state = scene.home.path().join("state");
    for name in ["journal.key", "lease.json"] {
        std::fs::copy(state.join(name), crashed.path().join("state").join(name)).unwrap();
    }
    let journal = std::fs::read_to_string(state.join("journal")).unwrap();
    let mut lines = journal.lines();
    let intent = lines.find(|line| line.contains(r#""id":"a""#)).unwrap();
    std::fs::write(crashed.path().join("state/journal"), format!("{intent}\n")).unwrap();

    let scene = ServiceFixture::start_with(Transport::InProcess, crashed, None).await;
    let outcome = scene.perform(epoch, "a", LONG_WAIT).await.unwrap();
    assert_eq!(
        (outcome.result, outcome.already_performed),
        (ActionResult::Unknown, true)
    );
    assert!(scene.driver.actions().is_empty());
}

#[tokio::test]
async fn rate_limit_refuses_new_actions_but_replays_recorded_results() {
    let scene = ServiceFixture::start_with(
        Transport::InProcess,
        tempfile::tempdir().unwrap(),
        Some(2.0),
    )
    .await;
    let epoch = scene.acquire("a", false).await.unwrap().epoch.0;
    let mut results = Vec::new();
    for nth in 0..50 {
        results.push(
            scene
                .perform(epoch, &nth.to_string(), move_to(50, 50))
                .await
                .unwrap(),
        );
    }
    assert_eq!(results[0].result, ActionResult::Performed);
    let refused = results
        .iter()
        .find(|outcome| outcome.result == ActionResult::Refused)
        .unwrap();
    assert_eq!(
        refused.rule.as_deref(),
        Some("rules.max_actions_per_second")
    );
    for _ in 0..50 {
        assert!(
            scene
                .perform(epoch, "0", move_to(50, 50))
                .await
                .unwrap()
                .already_performed
        );
    }
}

#[tokio::test]
async fn missing_display_starts_no_action() {
    let home = tempfile::tempdir().unwrap();
    let options = Options {
        display: ":64999".to_owned(),
        display_timeout: Duration::from_secs(1),
        scale: None,
        launcher: Launcher::default(),
    };
    let driver = Arc::new(X11Driver::start(options).unwrap());
    // A lease that was issued while there was a display.
    let folder = StateFolder::open(home.path().join("state")).unwrap();
    let mut lease_state = motorium_executor::guard::lease::LeaseState::default();
    lease_state
        .acquire("a", TTL, false, SystemTime::now())
        .unwrap();
    motorium_executor::guard::lease::save(&folder, &lease_state).unwrap();
    drop(folder);
    let mut parts = parts(home.path(), driver);
    parts.policy.rules.denied_regions.clear();
    let desktop = Desktop::start(parts).await.unwrap();
    let executor = InProcessExecutor::new(Arc::new(ExecutorService::new(vec![desktop])));
    let report = check_reason(
        executor.perform(request(1, "a", move_to(50, 50))).await,
        reason::NO_DISPLAY,
    );
    assert_eq!(report.metadata["display"], ":64999");
    let progress = executor
        .look_up_action(LookUpRequest {
            display: None,
            action_id: ActionId::new("a"),
        })
        .await
        .unwrap();
    assert_eq!(
        progress,
        ActionProgress::NotStarted,
        "it may be retried once there is a display"
    );
    let acquire = AcquireRequest {
        display: None,
        holder: "a".to_owned(),
        ttl: TTL,
        take_over: false,
        tenant: None,
    };
    check_reason(executor.acquire_desktop(acquire).await, reason::NO_DISPLAY);
    check_reason(executor.get_pointer(None).await, reason::NO_DISPLAY);
}

//! The desktop pool: registered desktops are reached at their endpoints, also after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::Config as ClientConfig;
use motorium_kit::config::HumanDuration;
use motorium_orchestrator::Settings;
use motorium_orchestrator::config::{LocalServices, connector};
use motorium_orchestrator::desktops::DesktopSource;
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::DesktopName;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::CaptureRequest;
use motorium_proto::v1::common;
use motorium_proto::v1::common::desktop::State;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use tonic::Code;

use crate::support::cluster::{Cluster, DESKTOP, ServedDesktop};
use crate::support::in_time;
use crate::support::script::{act, click};
use crate::support::simulated_desktop::{FakeServices, SimulatedDesktop};
use crate::support::task_events::TaskEvents;

/// Starts a desktop on another server.
pub(crate) async fn elsewhere() -> (Arc<SimulatedDesktop>, ServedDesktop) {
    let world = SimulatedDesktop::new(Vec::new());
    let served = ServedDesktop::start(&world).await;
    (world, served)
}

pub(crate) fn desktop_at(url: &str) -> common::Desktop {
    common::Desktop {
        name: "desktops/annex".to_owned(),
        perception_endpoint: url.to_owned(),
        executor_endpoint: url.to_owned(),
        labels: [("place".to_owned(), "annex".to_owned())].into(),
        ..common::Desktop::default()
    }
}

pub(crate) async fn register(
    cluster: &Cluster,
    desktop: common::Desktop,
) -> Result<common::Desktop, ErrorReport> {
    let request = wire::RegisterDesktopRequest {
        desktop: Some(desktop),
        ..wire::RegisterDesktopRequest::default()
    };
    let answer = cluster.client().raw().register_desktop(request).await;
    answer
        .map(|answer| answer.into_inner().desktop.unwrap())
        .map_err(|status| ErrorReport::from_status(&status))
}

pub(crate) async fn list(cluster: &Cluster) -> Vec<common::Desktop> {
    let request = wire::ListDesktopsRequest::default();
    let answer = cluster.client().raw().list_desktops(request).await;
    answer.unwrap().into_inner().desktops
}

pub(crate) async fn drain(cluster: &Cluster, name: &str) -> Result<common::Desktop, ErrorReport> {
    let request = wire::DrainDesktopRequest {
        name: name.to_owned(),
        ..wire::DrainDesktopRequest::default()
    };
    let answer = cluster.client().raw().drain_desktop(request).await;
    answer
        .map(|answer| answer.into_inner().desktop.unwrap())
        .map_err(|status| ErrorReport::from_status(&status))
}

pub(crate) fn in_the_annex() -> wire::Task {
    wire::Task {
        desktop_selector: Some(wire::DesktopSelector {
            labels: [("place".to_owned(), "annex".to_owned())].into(),
            ..wire::DesktopSelector::default()
        }),
        ..wire::Task::default()
    }
}

#[tokio::test]
async fn registered_desktop_gets_the_tasks_that_select_it() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let (annex, served) = elsewhere().await;
    register(&cluster, desktop_at(&served.url())).await.unwrap();
    cluster.carry_out_with(in_the_annex()).await;
    assert_eq!((annex.done().len(), cluster.world.done().len()), (1, 0));
    let names: Vec<String> = list(&cluster)
        .await
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["desktops/annex", DESKTOP]);
}

#[tokio::test]
async fn registered_desktop_survives_a_restart() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    let (annex, served) = elsewhere().await;
    register(&cluster, desktop_at(&served.url())).await.unwrap();
    for killed in [true, false] {
        if killed {
            cluster.crash().await;
        } else {
            cluster.end().await;
            cluster.start_again().await;
        }
        let known = list(&cluster).await;
        let known = known
            .iter()
            .find(|one| one.name == "desktops/annex")
            .unwrap();
        assert_eq!(known.perception_endpoint, served.url());
        assert_eq!(
            (known.state(), known.labels["place"].as_str()),
            (State::Available, "annex")
        );
        cluster.carry_out_with(in_the_annex()).await;
    }
    assert_eq!((annex.done().len(), cluster.world.done().len()), (2, 0));
}

#[tokio::test]
async fn a_task_goes_on_at_its_desktop_after_a_crash() {
    let mut cluster = Cluster::start(vec![act([click(1)]), act([click(2)])]).await;
    let (annex, served) = elsewhere().await;
    register(&cluster, desktop_at(&served.url())).await.unwrap();
    annex.hold("perform");
    let name = cluster.create_with(in_the_annex()).await;
    annex.called("perform", 1).await;
    cluster.kill().await;
    annex.release("perform");
    cluster.start_again().await;
    cluster.follow(&name).await;
    assert_eq!((annex.done().len(), cluster.world.done().len()), (2, 0));
}

#[tokio::test]
async fn reregistered_desktop_is_used_at_its_new_address() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let (before, old) = elsewhere().await;
    let (after, new) = elsewhere().await;
    register(&cluster, desktop_at(&old.url())).await.unwrap();
    register(&cluster, desktop_at(&new.url())).await.unwrap();
    cluster.carry_out_with(in_the_annex()).await;
    assert_eq!((before.done().len(), after.done().len()), (0, 1));
}

#[tokio::test]
async fn drained_desktop_finishes_its_task_and_gets_no_other() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("perform");
    let first = cluster.create().await;
    cluster.world.called("perform", 1).await;
    assert_eq!(list(&cluster).await[0].state(), State::Leased);
    assert_eq!(list(&cluster).await[0].task, first);
    assert_eq!(
        drain(&cluster, DESKTOP).await.unwrap().state(),
        State::Draining
    );
    let second = cluster.create().await;
    cluster.world.release("perform");
    assert_eq!(cluster.follow(&first).await.answer(), "it is done");
    cluster.world.called("released", 1).await;
    // It is still draining after a restart, until it registers again.
    cluster.crash().await;
    assert_eq!(list(&cluster).await[0].state(), State::Draining);
    let state = cluster.get(&second).await.state();
    assert_eq!(state, wire::task::State::Pending);
    let configured = list(&cluster).await.remove(0);
    register(&cluster, configured).await.unwrap();
    assert_eq!(cluster.follow(&second).await.answer(), "it is done");
}

#[tokio::test]
async fn a_repeated_registration_does_not_end_a_later_drain() {
    let cluster = Cluster::start(Vec::new()).await;
    let request = wire::RegisterDesktopRequest {
        desktop: Some(list(&cluster).await.remove(0)),
        request_id: uuid::Uuid::now_v7().to_string(),
    };
    let register = || async {
        let mut client = cluster.client().raw();
        let answer = client.register_desktop(request.clone()).await.unwrap();
        answer.into_inner().desktop.unwrap().state()
    };
    assert_eq!(register().await, State::Available);
    drain(&cluster, DESKTOP).await.unwrap();
    assert_eq!(register().await, State::Draining);
    assert_eq!(list(&cluster).await[0].state(), State::Draining);
}

#[tokio::test]
async fn drained_desktop_finishes_its_task_after_a_crash() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    drain(&cluster, DESKTOP).await.unwrap();
    cluster.crash().await;
    cluster.world.release("plan");
    assert_eq!(cluster.follow(&name).await.answer(), "it is done");
}

#[tokio::test]
async fn invalid_desktop_registrations_are_refused_by_field() {
    let cluster = Cluster::start(Vec::new()).await;
    let whole = || desktop_at("http://127.0.0.1:1");
    let without_perception = common::Desktop {
        perception_endpoint: String::new(),
        ..whole()
    };
    let without_executor = common::Desktop {
        executor_endpoint: String::new(),
        ..whole()
    };
    let without_scheme = common::Desktop {
        executor_endpoint: "127.0.0.1:7703".to_owned(),
        ..whole()
    };
    let without_name = common::Desktop {
        name: "annex".to_owned(),
        ..whole()
    };
    for (desktop, field, words) in [
        (
            without_perception,
            "desktop.perception_endpoint",
            "is empty; give the service's address",
        ),
        (
            without_executor,
            "desktop.executor_endpoint",
            "is empty; give the service's address",
        ),
        (
            without_scheme,
            "desktop.executor_endpoint",
            "is not an address of a service",
        ),
        (
            without_name,
            "desktop.name",
            "is not of the form desktops/{id}",
        ),
    ] {
        let report = register(&cluster, desktop).await.unwrap_err();
        assert_eq!(
            (report.code, report.reason.as_str()),
            (Code::InvalidArgument, "INVALID_FIELD")
        );
        assert_eq!(report.fields[0].field, field);
        assert!(report.message.contains(words), "{report}");
    }
    assert_eq!(list(&cluster).await.len(), 1, "nothing was kept of them");
    let report = drain(&cluster, "desktops/annex").await.unwrap_err();
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::NotFound, "DESKTOP_NOT_FOUND")
    );
    assert!(
        report.message.contains("known desktops: desktops/local"),
        "{report}"
    );
}

/// The arrangement of `motorium up`: one desktop in the same process, and others that register.
#[tokio::test]
async fn local_services_serve_only_desktops_without_endpoints() {
    let (far, served) = elsewhere().await;
    let near = SimulatedDesktop::new(Vec::new());
    let stand_in = Arc::new(FakeServices(near.clone()));
    let nearby = LocalServices {
        planner: stand_in.clone(),
        perception: Some(stand_in.clone()),
        executor: Some(stand_in),
    };
    let connect = connector(ClientConfig::new(""), nearby);
    let desktop = |endpoint: Option<String>| Desktop {
        name: DesktopName::from_segment("a").unwrap(),
        perception_endpoint: endpoint.clone(),
        executor_endpoint: endpoint,
        display: None,
        platform: Platform::Linux,
        labels: BTreeMap::new(),
        tenants: [].into(),
    };
    for (endpoint, counts) in [(None, (1, 0)), (Some(served.url()), (1, 1))] {
        let Ok(ports) = connect(&desktop(endpoint), DesktopSource::Configured) else {
            panic!("it has services");
        };
        let capture = CaptureRequest::default();
        ports.perception.capture(capture).await.unwrap();
        ports.executor.release_all(None).await.unwrap();
        let captures = (near.count("capture"), far.count("capture"));
        let releases = (near.count("release_all"), far.count("release_all"));
        assert_eq!((captures, releases), (counts, counts));
    }
}

/// Returns the holders of the desktops that a pending task waits for, and its place in the queue.
async fn waits_for(cluster: &Cluster, task: &str) -> Option<(Vec<String>, u32)> {
    let wait = cluster.get(task).await.desktop_wait?;
    let holders = wait.holds.into_iter();
    Some((
        holders.map(|hold| hold.holder).collect(),
        wait.queue_position,
    ))
}

fn announced(story: &TaskEvents) -> Vec<wire::DesktopWait> {
    story.all(|kind| match kind {
        Kind::DesktopAwaited(awaited) => awaited.wait.clone(),
        _ => None,
    })
}

#[tokio::test]
async fn waiting_task_reports_the_holder_and_its_queue_position() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("perform");
    let first = cluster.create().await;
    cluster.world.called("perform", 1).await;
    let second = cluster.create().await;
    let third = cluster.create().await;
    cluster.happened(&second, "desktop_awaited").await;
    cluster.happened(&third, "desktop_awaited").await;
    let held = |place| Some((vec![first.clone()], place));
    assert_eq!(waits_for(&cluster, &second).await, held(1));
    assert_eq!(waits_for(&cluster, &third).await, held(2));
    assert_eq!(waits_for(&cluster, &first).await, None, "it runs");
    cluster.cancel(&first).await;
    cluster.world.release("perform");
    let story = cluster.follow(&second).await;
    let waits = announced(&story);
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert_eq!(waits[0].holds[0].desktop, DESKTOP);
    let place = format!("{DESKTOP} is held by {first}; place 1 in the queue");
    assert!(waits[0].message.contains(&place), "{}", waits[0].message);
    let waits = announced(&cluster.follow(&third).await);
    let holders: Vec<&str> = waits
        .iter()
        .map(|wait| wait.holds[0].holder.as_str())
        .collect();
    assert_eq!(holders, [first.as_str(), second.as_str()]);
}

#[tokio::test]
async fn external_lease_holder_is_reported() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    let held = ErrorReport::new(Code::FailedPrecondition, "DESKTOP_LEASED", "it is leased")
        .with("holder", "motorium act 7");
    cluster.world.fail("acquire_desktop", 1, &held);
    let story = cluster.carry_out().await;
    let waits = announced(&story);
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert_eq!(waits[0].holds[0].holder, "motorium act 7");
}

#[tokio::test]
async fn task_before_its_start_time_is_reported_as_waiting() {
    let cluster = Cluster::start(Vec::new()).await;
    let later = wire::Task {
        run_after_time: Some(prost_types::Timestamp {
            seconds: 32_503_680_000,
            nanos: 0,
        }),
        ..wire::Task::default()
    };
    let name = cluster.create_with(later).await;
    assert_eq!(waits_for(&cluster, &name).await, Some((Vec::new(), 0)));
}

/// Waits until the configured desktop is in this state.
pub(crate) async fn is_in(cluster: &Cluster, state: State) {
    in_time("another state of the desktop", async {
        while list(cluster).await[0].state() != state {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_desktop_that_does_not_answer_gets_no_task_until_it_does() {
    let beats = |settings: &mut Settings| {
        settings.desktop_probe_interval = HumanDuration(Duration::from_millis(50))
    };
    let mut cluster = Cluster::start_with(vec![act([click(1)])], beats).await;
    is_in(&cluster, State::Available).await;
    cluster.services.go_away().await;
    is_in(&cluster, State::Unreachable).await;
    let name = cluster.create().await;
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    story.answer();
    assert_eq!(
        story.count("transient_failure"),
        0,
        "it waited in the queue:\n{}",
        story.text()
    );
    is_in(&cluster, State::Available).await;
}

async fn unregister(cluster: &Cluster, name: &str) -> Result<(), ErrorReport> {
    let request = wire::UnregisterDesktopRequest {
        name: name.to_owned(),
        ..wire::UnregisterDesktopRequest::default()
    };
    let answer = cluster.client().raw().unregister_desktop(request).await;
    answer
        .map(drop)
        .map_err(|status| ErrorReport::from_status(&status))
}

#[tokio::test]
async fn a_desktop_is_removed_once_no_task_runs_on_it() {
    let (world, served) = elsewhere().await;
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    register(&cluster, desktop_at(&served.url())).await.unwrap();
    let reason = |report: ErrorReport| (report.code, report.reason);
    let configured = unregister(&cluster, DESKTOP).await.unwrap_err();
    let expected = (Code::FailedPrecondition, "DESKTOP_CONFIGURED".to_owned());
    assert_eq!(reason(configured), expected);
    world.hold("perform");
    let task = cluster.create_with(in_the_annex()).await;
    world.called("perform", 1).await;
    let busy = unregister(&cluster, "desktops/annex").await.unwrap_err();
    let expected = (Code::FailedPrecondition, "DESKTOP_BUSY".to_owned());
    assert_eq!(reason(busy), expected);
    world.release("perform");
    cluster.follow(&task).await;
    // The desktop is released a moment after the task has ended.
    let removed = async {
        while let Err(report) = unregister(&cluster, "desktops/annex").await {
            assert_eq!(report.reason, "DESKTOP_BUSY");
            tokio::task::yield_now().await;
        }
    };
    in_time("the desktop to be removed", removed).await;
    for restarted in [false, true] {
        if restarted {
            cluster.crash().await;
        }
        assert_eq!(list(&cluster).await.len(), 1);
    }
}

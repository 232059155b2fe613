//! Attacks by registration: a caller who may register desktops learns no token, takes over no configured desktop, and cannot
//! make the Orchestrator call addresses that the operator has not allowed.

use std::sync::Arc;
use std::time::Duration;

use motorium_kit::client::Config as ClientConfig;
use motorium_kit::config::{ConfigFlags, Environment, HumanDuration, LayeredConfig};
use motorium_orchestrator::Settings;
use motorium_orchestrator::config::{DesktopSettings, LocalServices, channel};
use motorium_orchestrator::desktops::DesktopSource;
use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::id::DesktopName;
use motorium_proto::service::{Perception as _, PerceptionClient, PlannerClient};
use motorium_proto::v1::common;
use tonic::Code;

use crate::desktops::{desktop_at, in_the_annex, list, register};
use crate::support::cluster::{Cluster, DESKTOP};
use crate::support::header_recorder::HeaderRecorder;
use crate::support::script::{act, click};

/// Token of the Orchestrator. Only configured services may receive it.
const TOKEN: &str = "canary-4c1f";

/// Returns the configuration for calls to other services of an Orchestrator that is protected by [`TOKEN`].
fn client(settings: &[&str]) -> ClientConfig {
    let token = format!("server.token={TOKEN}");
    let set = settings.iter().map(|&setting| setting.to_owned());
    let flags = ConfigFlags {
        set: set.chain([token]).collect(),
        ..ConfigFlags::default()
    };
    let loaded = LayeredConfig::load_from(&flags, Environment::default()).unwrap();
    loaded.common().unwrap().client("")
}

fn allow(addresses: &[&str]) -> impl FnOnce(&mut Settings) {
    let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    move |settings| settings.allowed_desktop_addresses = addresses
}

/// Registers the recorder and carries a task out on it.
async fn lure(cluster: &Cluster, recorder: &HeaderRecorder) {
    let url = recorder.url();
    register(cluster, desktop_at(&url)).await.unwrap();
    cluster.carry_out_with(in_the_annex()).await.answer();
    assert_eq!(recorder.world.done().len(), 1, "the task ran there");
}

#[tokio::test]
async fn a_registered_address_receives_no_token() {
    let trap = HeaderRecorder::start().await;
    let script = vec![act([click(1)])];
    let cluster = Cluster::start_with_client(script, client(&[]), |_| {}).await;
    lure(&cluster, &trap).await;
    let stolen = trap.containing(TOKEN);
    assert!(stolen.is_empty(), "{stolen:?}");
    let sent = trap.containing("authorization");
    assert!(sent.is_empty(), "{sent:?}");
}

#[tokio::test]
async fn a_registered_address_that_is_listed_receives_the_token() {
    let desk = HeaderRecorder::start().await;
    let address = desk.url().replace("http://", "");
    let listed = format!("client.audiences=[\"{address}\"]");
    let script = vec![act([click(1)])];
    let cluster = Cluster::start_with_client(script, client(&[&listed]), |_| {}).await;
    lure(&cluster, &desk).await;
    let calls = desk.received().len();
    assert_eq!(desk.containing(&format!("Bearer {TOKEN}")).len(), calls);
}

#[tokio::test]
async fn a_port_beside_a_configured_service_receives_no_token() {
    let (trap, configured) = (HeaderRecorder::start().await, HeaderRecorder::start().await);
    let url = configured.url();
    let desktop = DesktopSettings {
        perception: url.clone(),
        executor: url,
        ..DesktopSettings::default()
    };
    let settings = Settings {
        desktops: [("desk".to_owned(), desktop)].into(),
        ..Settings::default()
    };
    let config = settings.resolve().unwrap();
    let base = config.with_audiences(client(&[]));
    for (recorder, expected) in [(&trap, false), (&configured, true)] {
        let config = base.for_address_of_others(&recorder.url());
        let channel = channel(&config, &config.uri).unwrap();
        let perception = PerceptionClient::new(channel);
        // Answered with an error, which does not matter here.
        let _ = perception.list_displays().await;
        recorder.called(1).await;
        assert_eq!(!recorder.containing(TOKEN).is_empty(), expected);
    }
}

#[tokio::test]
async fn a_desktop_with_a_token_of_its_own_receives_no_other() {
    let (desk, other) = (HeaderRecorder::start().await, HeaderRecorder::start().await);
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("desk-token");
    std::fs::write(&token_file, "own-token-of-desk\n").unwrap();
    let at = |recorder: &HeaderRecorder, token_file| DesktopSettings {
        perception: recorder.url(),
        executor: recorder.url(),
        token_file,
        ..DesktopSettings::default()
    };
    let settings = Settings {
        desktops: [
            ("desk".to_owned(), at(&desk, Some(token_file.clone()))),
            ("other".to_owned(), at(&other, None)),
        ]
        .into(),
        ..Settings::default()
    };
    let config = settings.clone().resolve().unwrap();
    let base = config.with_audiences(client(&[]));
    let nearby = LocalServices {
        planner: Arc::new(PlannerClient::new(channel(&base, &other.url()).unwrap())),
        perception: None,
        executor: None,
    };
    let connect = config.connector(base.clone(), nearby);
    for desktop in &config.desktops {
        let ports = connect(desktop, DesktopSource::Configured).unwrap();
        // Answered with errors, which do not matter here.
        let _ = ports.perception.list_displays().await;
        let _ = ports.executor.get_capabilities(None).await;
    }
    let received = |recorder: &HeaderRecorder, token: &str| recorder.containing(token).len();
    assert_eq!(received(&desk, "Bearer own-token-of-desk"), 2);
    assert_eq!(received(&desk, TOKEN), 0);
    assert_eq!(received(&other, &format!("Bearer {TOKEN}")), 2);
    assert_eq!(received(&other, "own-token-of-desk"), 0);

    // A desktop that is registered at its address gets neither token there.
    let registered = base.for_address_of_others(&desk.url());
    let registered = PerceptionClient::new(channel(&registered, &registered.uri).unwrap());
    let _ = registered.list_displays().await;
    desk.called(3).await;
    assert_eq!(received(&desk, "authorization"), 2);

    // Nor does it if the address is listed for the token of all services.
    let listed = format!("client.audiences=[\"{}\"]", desk.url());
    let listing = config.with_audiences(client(&[listed.as_str()]));
    let nearby = LocalServices {
        planner: Arc::new(PlannerClient::new(channel(&base, &other.url()).unwrap())),
        perception: None,
        executor: None,
    };
    let twin = Desktop {
        name: DesktopName::from_segment("twin").unwrap(),
        ..config.desktops[0].clone()
    };
    let ports = config.connector(listing, nearby)(&twin, DesktopSource::Registered).unwrap();
    let _ = ports.perception.list_displays().await;
    desk.called(4).await;
    assert_eq!(received(&desk, "authorization"), 2);

    std::fs::write(&token_file, " \n").unwrap();
    let error = settings.resolve().unwrap_err();
    assert_eq!(error.field, "orchestrator.desktops.desk.token_file");
}

#[tokio::test]
async fn a_configured_desktop_cannot_be_replaced() {
    let trap = HeaderRecorder::start().await;
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    let ours = list(&cluster).await.remove(0);
    let at_trap = common::Desktop {
        name: DESKTOP.to_owned(),
        ..desktop_at(&trap.url())
    };
    let half = common::Desktop {
        executor_endpoint: trap.url(),
        ..ours.clone()
    };
    let another_display = common::Desktop {
        display: ":99".to_owned(),
        ..ours.clone()
    };
    for attack in [at_trap, half, another_display] {
        let report = register(&cluster, attack).await.unwrap_err();
        assert_eq!(
            (report.code, report.reason.as_str()),
            (Code::AlreadyExists, "DESKTOP_CONFIGURED")
        );
        assert_eq!(report.metadata["desktop"], DESKTOP);
    }
    for restarted in [false, true] {
        if restarted {
            cluster.crash().await;
        }
        let now = list(&cluster).await.remove(0);
        assert_eq!(now.executor_endpoint, ours.executor_endpoint);
        assert_eq!(now.display, ours.display);
        cluster.carry_out().await.answer();
    }
    assert_eq!(cluster.world.done().len(), 2);
    assert!(trap.received().is_empty(), "{:?}", trap.received());
}

#[tokio::test]
async fn only_allowed_addresses_can_be_registered() {
    let allowed = ["127.0.0.1:7701", "10.1.0.0/16", "*.desks.example.com"];
    let cluster = Cluster::start_with(Vec::new(), allow(&allowed)).await;
    let fine = "http://127.0.0.1:7701";
    let denied = (Code::PermissionDenied, "DESKTOP_ADDRESS_DENIED");
    let unencrypted = (Code::InvalidArgument, "INVALID_FIELD");
    for (address, expected) in [
        ("http://127.0.0.1:22", denied),
        ("http://localhost:7701", denied),
        ("http://[::1]:7701", denied),
        ("http://127.1:7701", denied),
        ("http://127.0.0.1:7701@evil.example.com:7701", denied),
        ("https://evil.example.com", denied),
        ("https://desks.example.com.evil.com", denied),
        ("https://evildesks.example.com", denied),
        ("https://10.2.0.1:7701", denied),
        ("https://10.1.0.1.evil.com", denied),
        ("https://[::ffff:10.2.0.1]:7701", denied),
        ("https://167837697:7701", denied),
        ("http://169.254.169.254", denied),
        ("https://[fd00::1]", denied),
        ("http://10.1.0.1:7701", unencrypted),
        ("http://one.desks.example.com:7701", unencrypted),
    ] {
        for (perception, executor) in [(address, fine), (fine, address)] {
            let desktop = common::Desktop {
                perception_endpoint: perception.to_owned(),
                executor_endpoint: executor.to_owned(),
                ..desktop_at("")
            };
            let report = register(&cluster, desktop).await.unwrap_err();
            assert_eq!((report.code, report.reason.as_str()), expected, "{address}");
            assert!(report.message.contains(address), "{report}");
        }
    }
    assert_eq!(list(&cluster).await.len(), 1, "nothing was kept of them");
    for address in [
        fine,
        "https://10.1.2.3:7701",
        "https://one.desks.example.com",
    ] {
        register(&cluster, desktop_at(address)).await.unwrap();
    }
}

#[tokio::test]
async fn by_default_no_address_can_be_registered() {
    let trap = HeaderRecorder::start().await;
    let cluster = Cluster::start_with(Vec::new(), |settings| {
        settings.allowed_desktop_addresses = Settings::default().allowed_desktop_addresses;
    })
    .await;
    let report = register(&cluster, desktop_at(&trap.url())).await;
    let report = report.unwrap_err();
    assert_eq!(report.reason, "DESKTOP_ADDRESS_DENIED");
    assert!(
        report
            .message
            .contains("orchestrator.allowed_desktop_addresses"),
        "{report}"
    );
    assert!(trap.received().is_empty(), "{:?}", trap.received());
}

#[tokio::test]
async fn a_desktop_that_is_no_longer_allowed_is_not_called_after_a_restart() {
    let trap = HeaderRecorder::start().await;
    let control = HeaderRecorder::start().await;
    let often = |settings: &mut Settings| {
        settings.desktop_probe_interval = HumanDuration(Duration::from_millis(20));
    };
    let mut cluster = Cluster::start_with(vec![act([click(1)])], often).await;
    lure(&cluster, &trap).await;
    let allowed = common::Desktop {
        name: "desktops/control".to_owned(),
        ..desktop_at(&control.url())
    };
    register(&cluster, allowed).await.unwrap();
    cluster.kill().await;
    let (trapped, controlled) = (trap.received().len(), control.received().len());

    cluster.start_again_with(allow(&[&control.url()])).await;
    let names: Vec<_> = list(&cluster)
        .await
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["desktops/control", DESKTOP]);
    // A round of probes makes at most two calls to a desktop, and ends before the next: all were probed by then.
    control.called(controlled + 5).await;
    assert_eq!(trap.received().len(), trapped);
}

//! Health and reflection list exactly what is mounted.

use std::collections::BTreeSet;

use motorium_kit::server::Builder;
use motorium_kit::shutdown::Shutdown;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::{v1, v1alpha};

use crate::probe::{self, Probe, call, channel, foreign, plain, with_timeout};

#[tokio::test]
async fn health_is_reported_for_the_server_and_each_service() {
    let (server, _) = plain().await;
    let mut health = HealthClient::new(channel(&server));
    for (service, expected) in [
        ("", Ok(ServingStatus::Serving)),
        (probe::NAME, Ok(ServingStatus::Serving)),
        ("no.such", Err(Code::NotFound)),
    ] {
        let answer = health
            .check(HealthCheckRequest {
                service: service.to_owned(),
            })
            .await;
        let status = answer
            .map(|answer| answer.into_inner().status())
            .map_err(|status| status.code());
        assert_eq!(status, expected, "{service}");
    }
}

#[tokio::test]
async fn health_reports_readiness_and_calls_work_before_it() {
    let shutdown = Shutdown::new();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let server = Builder::new(probe::config())
        .service_with_readiness(Probe::new(&shutdown), probe::descriptors(), async {
            is_ready.await.unwrap_or(false)
        })
        .start(&shutdown)
        .await
        .unwrap();
    let mut health = HealthClient::new(channel(&server));
    let mut watches = Vec::new();
    for service in ["", probe::NAME] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let mut watch = health.watch(request).await.unwrap().into_inner();
        let first = watch.next().await.unwrap().unwrap().status();
        assert_eq!(first, ServingStatus::NotServing, "{service}");
        watches.push(watch);
    }
    assert_eq!(call(channel(&server), "Echo", b"x").await.unwrap(), b"x");
    ready.send(true).unwrap();
    for mut watch in watches {
        let next = with_timeout(watch.next()).await.unwrap().unwrap().status();
        assert_eq!(next, ServingStatus::Serving);
    }
}

#[tokio::test]
async fn health_watchers_are_notified_of_shutdown() {
    let shutdown = Shutdown::new();
    let server = probe::serve(probe::config(), Probe::new(&shutdown), &shutdown).await;
    let mut health = HealthClient::new(foreign(&server).await);
    for service in ["", probe::NAME] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let mut watch = health.watch(request).await.unwrap().into_inner();
        assert_eq!(
            watch.next().await.unwrap().unwrap().status(),
            ServingStatus::Serving
        );
        if service.is_empty() {
            continue;
        }
        shutdown.drain();
        assert_eq!(
            with_timeout(watch.next()).await.unwrap().unwrap().status(),
            ServingStatus::NotServing
        );
        // The stream ends by itself, so that it does not delay the shutdown.
        assert_eq!(
            with_timeout(watch.next())
                .await
                .unwrap()
                .unwrap_err()
                .code(),
            Code::Unavailable
        );
    }
    with_timeout(server.join()).await.unwrap();
}

#[tokio::test]
async fn reflection_lists_mounted_services_in_both_versions() {
    let (server, _) = plain().await;
    let expected = BTreeSet::from([
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        probe::NAME,
    ]);
    macro_rules! check {
        ($version:ident) => {{
            use $version::server_reflection_request::MessageRequest;
            use $version::server_reflection_response::MessageResponse;
            let mut client =
                $version::server_reflection_client::ServerReflectionClient::new(channel(&server));
            let ask = |message_request| $version::ServerReflectionRequest {
                message_request: Some(message_request),
                ..Default::default()
            };
            let requests = [
                ask(MessageRequest::ListServices(String::new())),
                ask(MessageRequest::FileContainingSymbol(probe::NAME.to_owned())),
            ];
            let answers = client
                .server_reflection_info(tokio_stream::iter(requests))
                .await
                .unwrap()
                .into_inner();
            let mut answers = answers.map(|answer| answer.unwrap().message_response.unwrap());
            let Some(MessageResponse::ListServicesResponse(list)) = answers.next().await else {
                panic!("no list")
            };
            let listed: BTreeSet<_> = list
                .service
                .iter()
                .map(|service| service.name.as_str())
                .collect();
            assert_eq!(listed, expected);
            let Some(MessageResponse::FileDescriptorResponse(file)) = answers.next().await else {
                panic!("no file")
            };
            assert_eq!(file.file_descriptor_proto.len(), 1);
        }};
    }
    check!(v1);
    check!(v1alpha);
}

/// A database that can be taken away.
#[derive(Default)]
struct Database(std::sync::atomic::AtomicBool);

impl Database {
    fn set_gone(&self, gone: bool) {
        self.0.store(gone, std::sync::atomic::Ordering::SeqCst);
    }
}

impl motorium_kit::server::HealthCheck for Database {
    fn check(&self) -> futures::future::BoxFuture<'_, Result<(), String>> {
        let gone = self.0.load(std::sync::atomic::Ordering::SeqCst);
        let checked = match gone {
            true => Err("the database is gone".to_owned()),
            false => Ok(()),
        };
        Box::pin(std::future::ready(checked))
    }
}

#[tokio::test]
async fn a_service_without_its_database_is_alive_and_not_ready() {
    let shutdown = Shutdown::new();
    let database = std::sync::Arc::new(Database::default());
    let server = Builder::new(probe::config())
        .service(Probe::new(&shutdown), probe::descriptors())
        .check(probe::NAME, database.clone())
        .start(&shutdown)
        .await
        .unwrap();
    let mut health = HealthClient::new(channel(&server));
    let mut watches = Vec::new();
    for service in ["", probe::NAME] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        watches.push(health.watch(request).await.unwrap().into_inner());
    }
    for (gone, expected) in [
        (false, ServingStatus::Serving),
        (true, ServingStatus::NotServing),
        (false, ServingStatus::Serving),
    ] {
        database.set_gone(gone);
        for watch in &mut watches {
            let reached =
                async { while watch.next().await.unwrap().unwrap().status() != expected {} };
            with_timeout(reached).await;
        }
        let request = HealthCheckRequest {
            service: motorium_kit::server::LIVENESS.to_owned(),
        };
        let alive = health.check(request).await.unwrap().into_inner();
        assert_eq!(alive.status(), ServingStatus::Serving);
    }
}

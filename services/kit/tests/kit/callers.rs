//! Callers with names: tokens and certificates of the callers file, its changes, and the roles that methods need.

use std::path::PathBuf;
use std::time::Duration;

use motorium_kit::authorisation::MOTORIUM;
use motorium_kit::callers::CallersFile;
use motorium_kit::client::{self, Channel};
use motorium_kit::config::Secret;
use motorium_kit::principal::Role;
use motorium_kit::server::{Builder, Config, Error, TlsFiles};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::error::reason;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tempfile::TempDir;
use tonic::{Code, Status};

use crate::access::Authority;
use crate::probe::{self, Probe, call, code_and_reason, with_timeout};

const NIGHT_SHIFT: &str = "token-of-the-night-shift";
const PLANNER: &str = "token-of-the-planner-service";

/// A folder with a callers file.
struct Callers(TempDir);

impl Callers {
    fn new(content: &str) -> Self {
        let callers = Self(tempfile::tempdir().unwrap());
        callers.write(content, 0o600);
        callers
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("callers.toml")
    }

    fn write(&self, content: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;

        std::fs::write(self.path(), content).unwrap();
        std::fs::set_permissions(self.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn config(&self) -> Config {
        Config {
            callers: Some(CallersFile::load(&self.path()).unwrap()),
            ..probe::config()
        }
    }
}

fn caller(name: &str, roles: &str, credential: &str) -> String {
    format!("[[caller]]\nname = '{name}'\ntenant = 'acme'\nroles = [{roles}]\n{credential}\n")
}

fn night_shift() -> String {
    caller(
        "night-shift",
        "'author'",
        &format!("token = '{NIGHT_SHIFT}'"),
    )
}

/// Returns the principal that the handler sees.
async fn principal(channel: Channel) -> Result<String, Status> {
    let seen = with_timeout(call(channel, "Principal", b"")).await;
    seen.map(|seen| String::from_utf8(seen).unwrap())
}

#[tokio::test]
async fn a_token_names_its_caller() {
    let callers = Callers::new(&night_shift());
    let own = Config {
        token: Some(Secret::new("token-of-the-server")),
        ..callers.config()
    };
    let server = probe::serve_alone(own).await;
    let seen = principal(probe::with_token(&server, NIGHT_SHIFT)).await;
    assert_eq!(seen.unwrap(), "night-shift acme author");
    let seen = principal(probe::with_token(&server, "token-of-the-server")).await;
    assert_eq!(
        seen.unwrap(),
        "local default viewer operator approver author admin service"
    );
    for wrong in ["token-of-the-night-shif", "token-of-the-night-shift2", "x"] {
        let refused = principal(probe::with_token(&server, wrong)).await;
        assert_eq!(
            refused.unwrap_err().code(),
            Code::Unauthenticated,
            "{wrong}"
        );
    }
    let refused = principal(probe::channel(&server)).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn a_caller_without_the_role_does_not_reach_the_handler() {
    let planner = caller("planner", "'service'", &format!("token = '{PLANNER}'"));
    let callers = Callers::new(&(night_shift() + &planner));
    let shutdown = Shutdown::new();
    let probe = Probe::new(&shutdown);
    let seen = probe.seen();
    let server = probe::serve(callers.config(), probe, &shutdown).await;

    let refused = call(probe::with_token(&server, PLANNER), "Principal", b"").await;
    let message = refused.as_ref().unwrap_err().message().to_owned();
    assert_eq!(
        code_and_reason(refused),
        (Code::PermissionDenied, reason::ROLE_MISSING.to_owned())
    );
    for part in ["planner", "Principal", "author"] {
        assert!(message.contains(part), "{message}");
    }
    // The probe has this method, but the table has no line for it.
    let unlisted = call(probe::with_token(&server, NIGHT_SHIFT), "Unlisted", b"").await;
    assert_eq!(
        code_and_reason(unlisted),
        (Code::Unimplemented, reason::NOT_SERVED.to_owned())
    );
    assert_eq!(seen.borrow().entered, 0, "a handler was called");
}

#[tokio::test]
async fn callers_are_added_and_removed_without_a_restart() {
    let callers = Callers::new(&night_shift());
    let server = probe::serve_alone(callers.config()).await;
    principal(probe::with_token(&server, NIGHT_SHIFT))
        .await
        .unwrap();
    let changed = caller("day-shift", "'author'", "token = 'token-of-the-day-shift'");

    callers.write("[[caller]]\nname = 'nothing", 0o600);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    principal(probe::with_token(&server, NIGHT_SHIFT))
        .await
        .expect("an invalid file changes nothing");

    callers.write(&changed, 0o600);
    let revoked = async {
        while principal(probe::with_token(&server, NIGHT_SHIFT))
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    with_timeout(revoked).await;
    let seen = principal(probe::with_token(&server, "token-of-the-day-shift")).await;
    assert_eq!(seen.unwrap(), "day-shift acme author");
}

#[test]
fn a_callers_file_that_others_can_read_or_change_is_refused() {
    let callers = Callers::new("");
    let digest = "0123456789abcdef".repeat(4);
    let hashed = caller("one", "'viewer'", &format!("token_sha256 = '{digest}'"));
    for (content, mode, is_accepted) in [
        (night_shift(), 0o600, true),
        (night_shift(), 0o640, true),
        (night_shift(), 0o644, false),
        (night_shift(), 0o660, false),
        (hashed.clone(), 0o644, true),
        (hashed, 0o666, false),
    ] {
        callers.write(&content, mode);
        let loaded = CallersFile::load(&callers.path());
        assert_eq!(loaded.is_ok(), is_accepted, "{mode:o} {loaded:?}");
        if let Err(error) = loaded {
            let error = error.to_string();
            assert!(error.contains("chmod 640"), "{error}");
            assert!(!error.contains(NIGHT_SHIFT), "{error}");
        }
    }
}

#[test]
fn a_callers_file_of_another_user_is_refused() {
    use std::os::unix::fs::chown;

    let callers = Callers::new(&night_shift());
    // Only root can give a file to another user.
    if chown(callers.path(), Some(65534), None).is_err() {
        assert!(!rustix::process::geteuid().is_root());
        return;
    }
    let error = CallersFile::load(&callers.path()).unwrap_err().to_string();
    assert!(error.contains("belongs to another user"), "{error}");
    chown(callers.path(), Some(0), None).unwrap();
    CallersFile::load(&callers.path()).unwrap();
}

#[tokio::test]
async fn a_client_certificate_names_its_caller() {
    let authority = Authority::new();
    let id = "spiffe://example.com/orchestrator";
    let callers = Callers::new(&caller(
        "orchestrator",
        "'author'",
        &format!("certificate = '{id}'"),
    ));
    let server = probe::serve_alone(Config {
        tls: authority.server(Some(authority.pem())).tls,
        ..callers.config()
    })
    .await;
    let seen_with = |name: &str| {
        let config = client::Config {
            identity: Some(authority.client_certificate(name)),
            ..authority.client(&server)
        };
        principal(Channel::connect_lazy(&config).unwrap())
    };
    assert_eq!(seen_with(id).await.unwrap(), "orchestrator acme author");
    for other in [
        "spiffe://example.com/orchestrator/",
        "spiffe://example.com/other",
        "orchestrator.example.com",
    ] {
        let refused = seen_with(other).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{other}");
        assert!(refused.message().contains(other), "{refused}");
    }
}

#[tokio::test]
async fn certificates_are_renewed_without_a_restart() {
    let (former, renewed) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let files = TlsFiles {
        certificate: folder.path().join("tls.crt"),
        key: folder.path().join("tls.key"),
        client_ca: Some(folder.path().join("clients.crt")),
    };
    let write = |authority: &Authority| {
        let mut tls = authority.server(Some(authority.pem())).tls.unwrap();
        std::fs::write(&files.certificate, &tls.certificate).unwrap();
        std::fs::write(&files.key, tls.key.expose()).unwrap();
        std::fs::write(files.client_ca.as_ref().unwrap(), authority.pem()).unwrap();
        tls.files = Some(files.clone());
        tls
    };
    let callers = Callers::new(&caller(
        "client",
        "'author'",
        "certificate = 'client.example.com'",
    ));
    let server = probe::serve_alone(Config {
        tls: Some(write(&former)),
        ..callers.config()
    })
    .await;
    let calls = |authority: &Authority| {
        let config = client::Config {
            identity: Some(authority.client_certificate("client.example.com")),
            ..authority.client(&server)
        };
        principal(Channel::connect_lazy(&config).unwrap())
    };
    assert!(calls(&former).await.is_ok());
    assert!(calls(&renewed).await.is_err());
    write(&renewed);
    let applied = async {
        while calls(&renewed).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    with_timeout(applied).await;
    assert!(
        calls(&former).await.is_err(),
        "clients of the former authority are refused"
    );
}

#[test]
fn every_method_of_every_contract_has_its_roles() {
    let set = FileDescriptorSet::decode(motorium_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut described: Vec<String> = Vec::new();
    for file in &set.file {
        for service in &file.service {
            let methods = service.method.iter();
            described.extend(
                methods.map(|method| {
                    format!("{}.{}/{}", file.package(), service.name(), method.name())
                }),
            );
        }
    }
    let mut listed: Vec<String> = MOTORIUM
        .iter()
        .flat_map(|(service, methods)| {
            let methods = methods.iter();
            methods.map(move |(method, _)| format!("{service}/{method}"))
        })
        .collect();
    described.sort();
    listed.sort();
    assert_eq!(
        listed, described,
        "services/kit/src/authorisation.rs lists the roles of each method once"
    );
}

#[test]
fn an_author_may_not_approve_and_a_viewer_may_change_nothing() {
    let roles_of = |name: &str| {
        let mut methods = MOTORIUM.iter().flat_map(|(_, methods)| methods.iter());
        methods.find(|(method, _)| *method == name).unwrap().1
    };
    assert_eq!(roles_of("ResolveApproval"), [Role::Approver]);
    assert_eq!(roles_of("RegisterDesktop"), [Role::Admin]);
    for (service, methods) in MOTORIUM {
        for (method, roles) in *methods {
            assert!(!roles.is_empty(), "no role may call {service}/{method}");
            // `TestPolicy` judges a description, and changes nothing.
            let reads = ["Get", "List", "Watch", "Export", "Test"];
            let reads = reads.iter().any(|verb| method.starts_with(verb));
            let may_view = roles.contains(&Role::Viewer);
            assert!(reads || !may_view, "a viewer may call {service}/{method}");
        }
    }
}

#[tokio::test]
async fn a_service_with_an_unlisted_method_does_not_start() {
    let shutdown = Shutdown::new();
    let unlisted = Builder::new(Config::loopback())
        .service(Probe::new(&shutdown), probe::descriptors())
        .start(&shutdown)
        .await
        .unwrap_err();
    assert!(matches!(unlisted, Error::Mount { .. }), "{unlisted}");
    assert!(
        unlisted.to_string().contains("authorisation table"),
        "{unlisted}"
    );
}

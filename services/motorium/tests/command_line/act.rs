//! The desktop that `motorium act` acts on, with an Executor that records actions instead of performing them.

use std::net::SocketAddr;
use std::path::Path;

use motorium_executor::{Config, Settings};
use motorium_kit::config::{ConfigFlags, Environment, LayeredConfig};
use motorium_kit::server::{Builder, Config as ServerConfig, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::service::ExecutorServer;

use crate::support::{finish, motorium};

/// Starts an Executor of the displays `:99` and `:98`.
async fn executor(folder: &Path) -> RunningServer {
    let set = [
        "executor.driver=recording",
        r#"executor.displays=[":99", ":98"]"#,
    ];
    let flags = ConfigFlags {
        set: set.map(str::to_owned).into(),
        ..ConfigFlags::default()
    };
    let loaded = LayeredConfig::load_from(&flags, Environment::default()).unwrap();
    let settings: Settings = loaded.section().unwrap();
    let config = Config::resolve(settings, folder, []).unwrap();
    let executor = config.start().await.unwrap();
    let service = ExecutorServer::tonic(executor.service);
    let server = Builder::new(ServerConfig::loopback()).service(service, FILE_DESCRIPTOR_SET);
    server.start(&Shutdown::new()).await.unwrap()
}

/// Moves the pointer through the Executor that listens at this address. Returns the messages of the command.
fn moved(home: &Path, address: SocketAddr, display: &str, arguments: &[&str]) -> String {
    let listen = format!("executor.listen={address}");
    let all = [&["--set", &listen, "act", "move", "10", "20"], arguments].concat();
    let mut command = motorium(home, &all);
    if !display.is_empty() {
        command.env("DISPLAY", display);
    }
    let (code, output, messages) = finish(command);
    assert_eq!(code, Some(0), "{output}\n{messages}");
    messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_desktop_is_named_if_it_is_another_than_that_of_the_session() {
    let home = tempfile::tempdir().unwrap();
    let server = executor(&home.path().join("executor")).await;
    let address = server.local_address();
    let url = format!("http://{address}");
    let messages = tokio::task::spawn_blocking(move || {
        let moved =
            |display: &str, arguments: &[&str]| moved(home.path(), address, display, arguments);
        assert_eq!(moved(":99.0", &[]), "", "it is the display of the session");
        assert_eq!(moved("", &[]), "", "the session has no display");
        assert_eq!(moved(":7", &["--display", ":98"]), "", "it was named");
        assert_eq!(
            moved(":7", &["--executor", &url]),
            "",
            "its Executor was named"
        );
        moved(":7", &[])
    });
    let expected = format!(
        "acting on :99, a desktop of the Executor at http://{address}, although DISPLAY is :7; choose one of its \
         desktops with `--display`, or act on :7 with `--in-process`\n"
    );
    assert_eq!(messages.await.unwrap(), expected);
    server.stop().await.unwrap();
}

//! Starts the service by its configuration: drivers, desktops and the browser; applies changes while it runs.
//!
//! It validates nothing: a [`Config`] is valid. It mounts the service on no server.

use std::sync::Arc;

use motorium_imaging::space::PlatformMonitor;
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::domain::id::DisplayId;
use tokio::sync::watch;

use crate::config::{Config, DriverKind, Error, StaticConfig, folder_name};
use crate::desktop::{Desktop, DesktopParts};
use crate::drivers::Driver;
use crate::drivers::devtools::{BrowserDriver, Options as BrowserOptions};
use crate::drivers::launch::Launcher;
use crate::drivers::recording::{self, RecordingDriver};
use crate::error::Error as ServiceError;
use crate::files::Files;
use crate::guard::StateFolder;
use crate::guard::named_hosts::NamedHosts;
use crate::guard::url_rules::UrlRules;
use crate::policy::ExecutorPolicy;
use crate::service::ExecutorService;

/// Display size that the recording driver reports.
const SIMULATED_SIZE: CaptureSize = CaptureSize::new(1920, 1080);

/// A running service with the handles that a configuration reload needs.
#[derive(Debug)]
pub struct RunningExecutor {
    pub service: Arc<ExecutorService>,
    fixed: StaticConfig,
    desktops: Vec<Arc<Desktop>>,
    launcher: Launcher,
    /// URL rules for the browser driver.
    url_rules: watch::Sender<Arc<UrlRules>>,
}

impl RunningExecutor {
    /// Opens the configured browser on the first display, as `open_application` does.
    ///
    /// # Errors
    /// If there is no browser or no display, or it cannot be started.
    pub async fn open_browser(&self) -> Result<(), crate::drivers::Error> {
        let display = self.fixed.displays.first().map_or("", DisplayId::as_str);
        self.launcher.open_browser(display).await
    }

    /// Applies the rules, applications, browser and secrets of another configuration.
    ///
    /// # Errors
    /// If any other setting differs. Then nothing is applied.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        if config.fixed != self.fixed {
            return Err(Error::RequiresRestart);
        }
        self.launcher.replace(config.programs);
        let rules = Arc::new(config.policy.rules.urls.clone());
        self.url_rules.send_replace(rules);
        for desktop in &self.desktops {
            desktop.set_policy(config.policy.clone());
        }
        Ok(())
    }
}

/// Parts that the browser of a display shares with its desktop and with the process.
struct BrowserLinks<'a> {
    launcher: &'a Launcher,
    rules: &'a watch::Receiver<Arc<UrlRules>>,
    named_hosts: &'a NamedHosts,
}

impl Config {
    /// Starts the service.
    ///
    /// # Errors
    /// If a folder cannot be used, is locked by another process, or contains damaged state.
    pub async fn start(self) -> Result<RunningExecutor, Error> {
        if let Some(folder) = self.secrets_open_to_programs() {
            tracing::warn!(
                folder = %folder.display(),
                "programs on the desktop run as the user of the executor and without a sandbox: they can read every file in \
                 executor.secrets; give each as MOTORIUM_SECRET_<NAME> to motorium-executor instead, whose variables they cannot \
                 read, or use `motorium up --virtual-desktop`"
            );
        }
        let launcher = Launcher::new(self.programs).at(self.launch_site);
        let rules = Arc::new(self.policy.rules.urls.clone());
        let (url_rules, active_rules) = watch::channel(rules);
        let mut desktops = Vec::new();
        for display in &self.fixed.displays {
            // Of one display: the desktop names the hosts of its lease, which the filter of its browser allows.
            let named_hosts = NamedHosts::default();
            let driver = self.fixed.start_driver(display, &launcher)?;
            let browser = BrowserLinks {
                launcher: &launcher,
                rules: &active_rules,
                named_hosts: &named_hosts,
            };
            let driver = self.fixed.with_browser_driver(driver, display, &browser);
            let desktop = self
                .fixed
                .desktop(display, driver, &self.policy, named_hosts.clone());
            desktops.push(desktop.await?);
        }
        Ok(RunningExecutor {
            service: Arc::new(ExecutorService::new(desktops.clone()).audited(self.audit)),
            fixed: self.fixed,
            desktops,
            launcher,
            url_rules,
        })
    }
}

impl StaticConfig {
    async fn desktop(
        &self,
        display: &DisplayId,
        driver: Arc<dyn Driver>,
        policy: &ExecutorPolicy,
        named_hosts: NamedHosts,
    ) -> Result<Arc<Desktop>, Error> {
        let folder_name = folder_name(display);
        let parts = DesktopParts {
            display: display.clone(),
            driver,
            policy: policy.clone(),
            named_hosts,
            files: Files::open(&self.files.join(&folder_name), self.max_file_bytes)
                .map_err(ServiceError::from)?,
            folder: StateFolder::open(self.state.join(&folder_name)).map_err(ServiceError::from)?,
            retention: self.retention,
        };
        Ok(Desktop::start(parts).await?)
    }

    /// Wraps the driver in a browser driver if DevTools are configured. A dry run controls no browser.
    fn with_browser_driver(
        &self,
        driver: Arc<dyn Driver>,
        display: &DisplayId,
        browser: &BrowserLinks<'_>,
    ) -> Arc<dyn Driver> {
        match &self.devtools {
            Some(endpoint) if self.driver != DriverKind::Recording => {
                let options = BrowserOptions {
                    endpoint: endpoint.clone(),
                    display: display.as_str().to_owned(),
                    launcher: browser.launcher.clone(),
                    rules: browser.rules.clone(),
                    named_hosts: browser.named_hosts.clone(),
                };
                Arc::new(BrowserDriver::start(driver, options))
            }
            _ => driver,
        }
    }

    fn start_driver(
        &self,
        display: &DisplayId,
        launcher: &Launcher,
    ) -> Result<Arc<dyn Driver>, Error> {
        Ok(match self.driver {
            #[cfg(target_os = "linux")]
            DriverKind::X11 => {
                use crate::drivers::x11::{Options, X11Driver};
                let options = Options {
                    display: display.as_str().to_owned(),
                    display_timeout: self.display_timeout,
                    scale: self.scale,
                    launcher: launcher.clone(),
                };
                Arc::new(X11Driver::start(options).map_err(Error::Driver)?)
            }
            #[cfg(feature = "driver-enigo")]
            DriverKind::Enigo => {
                use crate::drivers::portable::{Options, PortableDriver};
                let options = Options {
                    display: display.as_str().to_owned(),
                    display_timeout: self.display_timeout,
                    scale: self.scale,
                    launcher: launcher.clone(),
                };
                Arc::new(PortableDriver::start(options).map_err(Error::Driver)?)
            }
            DriverKind::Recording => {
                let scale = self.scale.unwrap_or(1.0);
                let input_size = (SIMULATED_SIZE.to_f64() / scale).cast_unit();
                let options = recording::Options {
                    display: display.clone(),
                    monitors: vec![PlatformMonitor::at_zero(input_size, scale)],
                    scale: None,
                    file: self.recording.file.clone(),
                    action_duration: self.recording.action_duration.0,
                };
                Arc::new(RecordingDriver::start(options).map_err(Error::Recording)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[cfg(target_os = "linux")]
    #[test]
    fn secrets_that_programs_can_read_are_noticed() {
        let open = |toml: &str| {
            let settings: Settings = toml::from_str(toml).unwrap();
            let config = Config::resolve(settings, std::path::Path::new("/data"), []).unwrap();
            config.secrets_open_to_programs().is_some()
        };
        let folder = "secrets = \"/run/secrets\"\n";
        let browser = "[browser]\nprogram = \"chromium\"\n";
        let application = "[applications.editor]\nprogram = \"mousepad\"\n";
        assert!(open(&format!("{folder}{browser}")));
        assert!(open(&format!("{folder}{application}")));
        for closed in [
            folder.to_owned(),
            browser.to_owned(),
            format!("driver = \"recording\"\n{folder}{browser}"),
        ] {
            assert!(!open(&closed), "{closed}");
        }
    }

    #[tokio::test]
    async fn reload_that_changes_a_fixed_setting_is_refused_entirely() {
        let home = tempfile::tempdir().unwrap();
        let resolve = |toml: &str| {
            let recording = format!("driver = \"recording\"\ndisplays = [\":7\"]\n{toml}");
            let settings: Settings = toml::from_str(&recording).unwrap();
            Config::resolve(settings, home.path(), []).unwrap()
        };
        let started = resolve("").start().await.unwrap();
        let chords = async || {
            let desktop = &started.desktops[0];
            desktop.capabilities().await.unwrap().forbidden_chords
        };
        let other = "rules.forbidden_chords = [\"alt+f4\"]";
        started.reload(resolve(other)).unwrap();
        assert_eq!(chords().await, ["alt+f4"]);
        let error = started.reload(resolve("max_file_bytes = 7")).unwrap_err();
        assert!(error.to_string().contains("max_file_bytes"), "{error}");
        assert_eq!(chords().await, ["alt+f4"]);
    }
}

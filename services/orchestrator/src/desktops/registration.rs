//! Addresses at which desktops may be registered.
//!
//! The Orchestrator connects to the addresses of a desktop and sends goals, screens and typed texts there. Only addresses that the
//! operator listed are therefore accepted, and of other machines only encrypted ones. Names are compared and never resolved.

use motorium_kit::address::{AddressPattern, ServiceAddress};
use motorium_proto::domain::desktop::Desktop;
use motorium_proto::error::FieldError;

use crate::error::Error;

/// Rules for the addresses of registered desktops. By default none is allowed.
#[derive(Debug, Clone, Default)]
pub struct RegistrationRules {
    allowed: Vec<AddressPattern>,
}

impl RegistrationRules {
    /// Creates rules that allow these addresses.
    #[must_use]
    pub fn new(allowed: Vec<AddressPattern>) -> Self {
        Self { allowed }
    }

    /// Checks the addresses of a desktop. A service of this process has none.
    ///
    /// # Errors
    /// If an address is malformed, not allowed, or of another machine and not encrypted.
    pub fn check(&self, desktop: &Desktop) -> Result<(), Error> {
        let endpoints = [
            ("desktop.perception_endpoint", &desktop.perception_endpoint),
            ("desktop.executor_endpoint", &desktop.executor_endpoint),
        ];
        for (field, endpoint) in endpoints {
            if let Some(uri) = endpoint {
                self.check_endpoint(field, uri)?;
            }
        }
        Ok(())
    }

    fn check_endpoint(&self, field: &'static str, uri: &str) -> Result<(), Error> {
        let Some(address) = ServiceAddress::parse(uri) else {
            let description = format!(
                "`{uri}` is not an address of a service such as https://desk.example.com:7701"
            );
            return Err(FieldError::new(field, description).into());
        };
        if !self.allowed.iter().any(|allowed| allowed.matches(&address)) {
            return Err(Error::DesktopAddressDenied {
                field,
                address: uri.to_owned(),
            });
        }
        if !address.is_encrypted() && !address.is_loopback() {
            let description =
                format!("`{uri}` is not encrypted; other machines need an https:// address");
            return Err(FieldError::new(field, description).into());
        }
        Ok(())
    }
}

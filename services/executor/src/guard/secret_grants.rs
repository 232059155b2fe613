//! Grants of secrets: a secret is only entered on behalf of principals or tenants that the configuration lists for it.
//!
//! Pure. A service that calls on behalf of others, such as an Orchestrator, says for whom; any other caller acts for itself.

use std::collections::BTreeMap;

use motorium_kit::principal::{DEFAULT_TENANT, Principal, Role};
use motorium_proto::service::PerformRequest;

use crate::secrets::variable_name;

/// Key for every secret that is not listed.
const ANY_SECRET: &str = "*";

/// The principal on whose behalf an action is performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnBehalfOf {
    name: String,
    tenant: String,
}

impl OnBehalfOf {
    /// Returns the principal of an action that a caller sends.
    #[must_use]
    pub fn of(caller: &Principal, request: &PerformRequest) -> Self {
        match &request.creator {
            Some(creator) if is_for_others(caller, request) => Self {
                name: creator.clone(),
                tenant: request
                    .tenant
                    .clone()
                    .unwrap_or_else(|| DEFAULT_TENANT.to_owned()),
            },
            _ => Self {
                name: caller.name().to_owned(),
                tenant: caller.tenant().to_owned(),
            },
        }
    }
}

/// Returns true if a caller acts on behalf of the principal that it names. Only services are believed.
pub(crate) fn is_for_others(caller: &Principal, request: &PerformRequest) -> bool {
    caller.has(Role::Service) && request.creator.is_some()
}

/// A principal or a tenant that a secret is granted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grantee {
    /// A principal by its name.
    Principal(String),
    /// Every principal of a tenant.
    Tenant(String),
}

impl Grantee {
    /// Parses a grantee of the configuration.
    ///
    /// # Errors
    /// Returns what is wrong with it, and the valid forms.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once(':');
        match named.map(|(kind, name)| (kind.trim(), name.trim())) {
            Some(("principal", name)) if !name.is_empty() => Ok(Self::Principal(name.to_owned())),
            Some(("tenant", name)) if !name.is_empty() => Ok(Self::Tenant(name.to_owned())),
            _ => Err(format!(
                "`{text}` says nothing of whom a secret is granted to; use principal:NAME or tenant:NAME"
            )),
        }
    }

    fn includes(&self, principal: &OnBehalfOf) -> bool {
        match self {
            Self::Principal(name) => *name == principal.name,
            Self::Tenant(name) => *name == principal.tenant,
        }
    }
}

/// Grants per secret, keyed by variable name: several spellings of a secret's name map to one variable.
#[derive(Debug, Clone, Default)]
pub struct SecretGrants {
    by_secret: BTreeMap<String, Vec<Grantee>>,
    /// A secret without an entry is entered for no principal.
    are_required: bool,
}

impl SecretGrants {
    /// Creates grants by secret name; `*` applies to secrets that are not listed.
    #[must_use]
    pub fn new(grants: BTreeMap<String, Vec<Grantee>>) -> Self {
        let grants = grants.into_iter();
        Self {
            by_secret: grants
                .map(|(name, to)| (variable_name(&name), to))
                .collect(),
            are_required: false,
        }
    }

    /// Refuses secrets without an entry, which are entered for all otherwise.
    #[must_use]
    pub fn required(self) -> Self {
        Self {
            are_required: true,
            ..self
        }
    }

    /// Returns the reason why a secret may not be entered on behalf of a principal; `None` if it may.
    pub(crate) fn refusal(&self, secret: &str, on_behalf_of: &OnBehalfOf) -> Option<String> {
        let named = self.by_secret.get(&variable_name(secret));
        let grants = named.or_else(|| self.by_secret.get(ANY_SECRET));
        let OnBehalfOf { name, tenant } = on_behalf_of;
        let is_granted = match grants {
            Some(grants) => grants.iter().any(|to| to.includes(on_behalf_of)),
            None => !self.are_required,
        };
        (!is_granted).then(|| {
            format!(
                "the secret `{secret}` is not granted to `{name}` of the tenant `{tenant}`; the operator can add either to \
                 executor.secret_grants"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use motorium_kit::principal::Identity;
    use motorium_proto::domain::action::Action;
    use motorium_proto::domain::geometry::CapturePoint;
    use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};

    use super::*;

    fn on_behalf_of(name: &str, tenant: &str) -> OnBehalfOf {
        OnBehalfOf {
            name: name.to_owned(),
            tenant: tenant.to_owned(),
        }
    }

    #[test]
    fn a_secret_is_entered_for_those_it_is_granted_to() {
        let to = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| Grantee::parse(text).unwrap())
                .collect()
        };
        let grants = SecretGrants::new(BTreeMap::from([
            ("bank".to_owned(), to(&["principal:ann", "tenant:treasury"])),
            ("my-mail".to_owned(), to(&["tenant:acme"])),
            ("none".to_owned(), to(&[])),
        ]));
        let check = |secret: &str, name: &str, tenant: &str, granted: bool| {
            let refusal = grants.refusal(secret, &on_behalf_of(name, tenant));
            assert_eq!(
                refusal.is_none(),
                granted,
                "{secret} {name} {tenant}: {refusal:?}"
            );
        };
        check("bank", "ann", "acme", true);
        check("bank", "bob", "treasury", true);
        check("bank", "bob", "acme", false);
        // A tenant is no principal of the same name.
        check("bank", "treasury", "acme", false);
        check("bank", "bob", "ann", false);
        // Another spelling is the same secret.
        check("BANK", "bob", "acme", false);
        check("my_mail", "bob", "acme", true);
        check("my_mail", "bob", "globex", false);
        check("none", "ann", "acme", false);
        check("other", "bob", "acme", true);
        let required = grants.clone().required();
        for (secret, granted) in [("bank", true), ("other", false)] {
            let refusal = required.refusal(secret, &on_behalf_of("ann", "acme"));
            assert_eq!(refusal.is_none(), granted, "{secret}: {refusal:?}");
        }
        let closed = SecretGrants::new(BTreeMap::from([("*".to_owned(), to(&["tenant:acme"]))]));
        assert!(
            closed
                .refusal("any", &on_behalf_of("bob", "acme"))
                .is_none()
        );
        assert!(
            closed
                .refusal("any", &on_behalf_of("bob", "globex"))
                .is_some()
        );
        assert!(Grantee::parse("ann").is_err());
    }

    #[test]
    fn only_a_service_acts_for_others() {
        let request = PerformRequest {
            display: DisplayId::new(":1"),
            epoch: DesktopEpoch(1),
            action_id: ActionId::new("a"),
            retry_of: None,
            action: Action::Move {
                to: CapturePoint::new(1, 1),
            },
            named_hosts: Vec::new(),
            creator: Some("ann".to_owned()),
            tenant: Some("acme".to_owned()),
            addresses: Vec::new(),
        };
        let of = |role: Role| {
            let caller = Principal::new(Identity {
                name: "mallory".to_owned(),
                tenant: "globex".to_owned(),
                roles: [role].into(),
            });
            OnBehalfOf::of(&caller, &request)
        };
        assert_eq!(of(Role::Service), on_behalf_of("ann", "acme"));
        assert_eq!(of(Role::Operator), on_behalf_of("mallory", "globex"));
        assert_eq!(of(Role::Admin), on_behalf_of("mallory", "globex"));
    }
}

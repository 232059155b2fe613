//! Settings of tools, and the addresses that tasks may name.
//!
//! A task chooses among the tools that the configuration allows; it can start no program and reach no other address.
//! Nothing is connected to here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_kit::config::{HumanDuration, Secret};
use motorium_messages::{Language, Message, join_list};
use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// Default timeout of a function call.
// A function may call a slow service itself, and the task has limits of its own.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of tools of a task.
// Bounds the connections and programs that one task opens.
pub const MAX_TOOL_ENDPOINTS: usize = 16;
/// Scheme prefix of an MCP server's address.
const MCP_SCHEME_PREFIX: &str = "mcp+";

/// Settings of one tool: `[orchestrator.tools.NAME]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Address: `http://…` or `https://…` of a ToolService, `mcp+http://…` or `mcp+https://…` of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"mcp+https://calendar.example.com/mcp")]
    pub address: Option<String>,
    /// Program and arguments of an MCP server that speaks on its standard input and output, instead of an address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["mcp-server-filesystem", "/home/me/documents"])]
    pub command: Vec<String>,
    /// Environment variables of that program, in addition to a few common ones. It inherits no others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = BTreeMap::from([("LANG", "en_GB.UTF-8")]))]
    pub environment: BTreeMap<String, Secret>,
    /// Token sent as `authorization: Bearer …`. Prefer `token_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// Path of the file that holds the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/calendar-token")]
    pub token_file: Option<PathBuf>,
    /// PEM file of certificates to trust in addition to the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/motorium/ca.crt")]
    pub ca_file: Option<PathBuf>,
    /// Timeout of a function call.
    pub timeout: HumanDuration,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            address: None,
            command: Vec::new(),
            environment: BTreeMap::new(),
            token: None,
            token_file: None,
            ca_file: None,
            timeout: HumanDuration(DEFAULT_TIMEOUT),
        }
    }
}

/// Endpoint of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEndpoint {
    /// A ToolService at this address.
    Service(String),
    /// An MCP server at this address, by streamable HTTP.
    Mcp(String),
    /// An MCP server as a program: its name and its arguments.
    Command(Vec<String>),
}

/// A validated tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Configured name or address, for messages.
    pub label: String,
    /// Prefix of the offered function names; `None` for an address that a task names.
    pub prefix: Option<String>,
    pub endpoint: ToolEndpoint,
    pub environment: BTreeMap<String, Secret>,
    pub token: Option<Secret>,
    pub ca_file: Option<PathBuf>,
    pub timeout: Duration,
}

/// The tools that tasks may name.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    configured: BTreeMap<String, Tool>,
    allowed: Vec<AddressPattern>,
}

/// An allowed address, or an allowed prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AddressPattern {
    Exact(String),
    Prefix(String),
}

impl Tools {
    /// Validates the settings.
    ///
    /// # Errors
    /// If a tool has no endpoint or two, or a name or an address is invalid.
    pub fn resolve(
        tools: BTreeMap<String, ToolSettings>,
        addresses: Vec<String>,
    ) -> Result<Self, FieldError> {
        let configured = tools.into_iter().map(|(name, settings)| {
            let field = format!("orchestrator.tools.{name}");
            let tool = tool(&name, settings).map_err(|error| error.within(&field))?;
            Ok((name, tool))
        });
        let allowed = addresses.into_iter().map(|address| {
            parse_pattern(&address)
                .map_err(|problem| FieldError::new("orchestrator.allowed_tool_addresses", problem))
        });
        Ok(Self {
            configured: configured.collect::<Result<_, FieldError>>()?,
            allowed: allowed.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the configured tools.
    pub fn configured(&self) -> impl Iterator<Item = &Tool> {
        self.configured.values()
    }

    /// Returns the tool that a task names.
    ///
    /// # Errors
    /// A message for the user, in this language, that lists the alternatives.
    pub fn find(&self, endpoint: &str, language: Language) -> Result<Tool, String> {
        if let Some(tool) = self.configured.get(endpoint) {
            return Ok(tool.clone());
        }
        if !endpoint.contains("://") {
            let alternatives = &self.alternatives(language);
            let unknown = Message::ToolUnknown {
                endpoint,
                alternatives,
            };
            return Err(unknown.text(language));
        }
        let place = parse_endpoint(endpoint)?;
        let written = place.to_address();
        if !self.allowed.iter().any(|pattern| pattern.matches(&written)) {
            let alternatives = &self.alternatives(language);
            let forbidden = Message::ToolAddressForbidden {
                endpoint,
                alternatives,
            };
            return Err(forbidden.text(language));
        }
        Ok(Tool {
            label: endpoint.to_owned(),
            prefix: None,
            endpoint: place,
            environment: BTreeMap::new(),
            token: None,
            ca_file: None,
            timeout: DEFAULT_TIMEOUT,
        })
    }

    /// Checks all tools that a task names.
    ///
    /// # Errors
    /// If one of them is unknown, not allowed, or named twice.
    pub fn check(&self, endpoints: &[String]) -> Result<(), FieldError> {
        if endpoints.len() > MAX_TOOL_ENDPOINTS {
            let description = format!(
                "names {} tools; at most {MAX_TOOL_ENDPOINTS}",
                endpoints.len()
            );
            return Err(FieldError::new("task.tool_endpoints", description));
        }
        for (index, endpoint) in endpoints.iter().enumerate() {
            let field = format!("task.tool_endpoints[{index}]");
            if endpoints[..index].contains(endpoint) {
                return Err(FieldError::new(
                    field,
                    format!("`{endpoint}` is named twice"),
                ));
            }
            // Errors of calls are English.
            self.find(endpoint, Language::English)
                .map_err(|problem| FieldError::new(field, problem))?;
        }
        Ok(())
    }

    fn alternatives(&self, language: Language) -> String {
        let listed = |names: Vec<&str>| match names.as_slice() {
            [] => Message::ListEmpty.text(language),
            names => join_list(names, language),
        };
        let tools = &listed(self.configured.keys().map(String::as_str).collect());
        let addresses = &listed(self.allowed.iter().map(AddressPattern::as_str).collect());
        Message::ToolAlternatives { tools, addresses }.text(language)
    }
}

impl ToolEndpoint {
    /// Returns the address as a task would write it.
    #[must_use]
    pub fn to_address(&self) -> String {
        match self {
            ToolEndpoint::Service(uri) => uri.clone(),
            ToolEndpoint::Mcp(uri) => format!("{MCP_SCHEME_PREFIX}{uri}"),
            ToolEndpoint::Command(command) => command.join(" "),
        }
    }
}

impl AddressPattern {
    fn as_str(&self) -> &str {
        match self {
            AddressPattern::Exact(address) => address,
            AddressPattern::Prefix(beginning) => beginning,
        }
    }

    fn matches(&self, address: &str) -> bool {
        match self {
            AddressPattern::Exact(allowed) => allowed == address,
            AddressPattern::Prefix(beginning) => address.starts_with(beginning),
        }
    }
}

fn tool(name: &str, settings: ToolSettings) -> Result<Tool, FieldError> {
    let is_plain = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter)
    };
    if name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
        return Err(FieldError::new(
            "name",
            format!(
                "`{name}` is not a valid tool name; use up to 32 lowercase letters, digits, `-` and `_`"
            ),
        ));
    }
    let place = match (settings.address, settings.command) {
        (Some(address), command) if command.is_empty() => {
            parse_endpoint(&address).map_err(|problem| FieldError::new("address", problem))?
        }
        (None, command) if !command.is_empty() => ToolEndpoint::Command(command),
        _ => {
            let description = "give either an address or a command";
            return Err(FieldError::new("address", description));
        }
    };
    if settings.timeout.0.is_zero() {
        let description = "must not be zero; give a duration such as 60s";
        return Err(FieldError::new("timeout", description));
    }
    Ok(Tool {
        label: name.to_owned(),
        prefix: Some(name.to_owned()),
        endpoint: place,
        environment: settings.environment,
        token: token(settings.token, settings.token_file.as_deref())?,
        ca_file: settings.ca_file,
        timeout: settings.timeout.0,
    })
}

fn token(token: Option<Secret>, file: Option<&Path>) -> Result<Option<Secret>, FieldError> {
    let token = match (token, file) {
        (Some(_), Some(_)) => {
            let description = "both token and token_file are set; keep one";
            return Err(FieldError::new("token", description));
        }
        (token, None) => return Ok(token),
        (None, Some(path)) => Secret::of_file(path).map_err(|error| {
            FieldError::new("token_file", format!("{}: {error}", path.display()))
        })?,
    };
    if token.expose().is_empty() {
        return Err(FieldError::new("token_file", "contains no token"));
    }
    Ok(Some(token))
}

/// Parses an address into the normalised form used for comparison.
fn parse_endpoint(address: &str) -> Result<ToolEndpoint, String> {
    let (is_mcp, uri) = match address.strip_prefix(MCP_SCHEME_PREFIX) {
        Some(uri) => (true, uri),
        None => (false, address),
    };
    let unusable = |problem: &str| {
        format!(
            "`{address}` is not the address of a tool such as http://127.0.0.1:7800 or mcp+http://127.0.0.1:7801/mcp: {problem}"
        )
    };
    let url = Url::parse(uri).map_err(|error| unusable(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("its scheme is neither http:// nor https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable("it contains a user name or a password"));
    }
    if url.fragment().is_some() {
        return Err(unusable("it contains a fragment (`#`)"));
    }
    if is_mcp {
        return Ok(ToolEndpoint::Mcp(url.into()));
    }
    if url.path() != "/" || url.query().is_some() {
        return Err(unusable("the address of a ToolService has no path"));
    }
    Ok(ToolEndpoint::Service(url.into()))
}

/// Parses an allowed address. A trailing `*` is allowed only after the host, so that the host is never open.
fn parse_pattern(written: &str) -> Result<AddressPattern, String> {
    let Some(beginning) = written.strip_suffix('*') else {
        return Ok(AddressPattern::Exact(parse_endpoint(written)?.to_address()));
    };
    let behind_scheme = beginning.split_once("://").map(|(_, rest)| rest);
    let names_host = behind_scheme.is_some_and(|rest| rest.contains([':', '/']));
    let has_more = beginning.contains(['*', '@', '#']);
    // The prefix has to be an address once a port or a path follows.
    let is_address = parse_endpoint(&format!("{}1", beginning.to_owned())).is_ok()
        || parse_endpoint(&format!("{MCP_SCHEME_PREFIX}{beginning}")).is_ok();
    if names_host && !has_more && is_address {
        return Ok(AddressPattern::Prefix(beginning.to_owned()));
    }
    Err(format!(
        "`{written}` does not fix the host; give a complete host, as in http://127.0.0.1:* or mcp+https://tools.example.com/*"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_address(address: &str) -> ToolSettings {
        ToolSettings {
            address: Some(address.to_owned()),
            ..ToolSettings::default()
        }
    }

    fn tools(addresses: &[&str]) -> Result<Tools, FieldError> {
        let configured =
            BTreeMap::from([("notes".to_owned(), with_address("http://127.0.0.1:7800"))]);
        Tools::resolve(
            configured,
            addresses.iter().map(|&one| one.to_owned()).collect(),
        )
    }

    fn check_found(addresses: &[&str], endpoint: &str, expected: bool) {
        let found = tools(addresses).unwrap().find(endpoint, Language::English);
        assert_eq!(
            found.is_ok(),
            expected,
            "{endpoint} of {addresses:?}: {found:?}"
        );
    }

    #[test]
    fn a_task_names_tools_and_allowed_addresses_only() {
        check_found(&[], "notes", true);
        check_found(&[], "mail", false);
        check_found(&[], "http://127.0.0.1:7800", false);
        let port = ["http://127.0.0.1:7900"];
        check_found(&port, "http://127.0.0.1:7900", true);
        check_found(&port, "http://127.0.0.1:7900/", true);
        check_found(&port, "http://127.0.0.1:79001", false);
        check_found(&port, "mcp+http://127.0.0.1:7900/", false);
        let ports = ["http://127.0.0.1:*"];
        check_found(&ports, "http://127.0.0.1:7900", true);
        check_found(&ports, "http://127.0.0.1.evil.example:7900", false);
        check_found(&ports, "http://127.0.0.1:7900@evil.example", false);
        check_found(&ports, "https://127.0.0.1:7900", false);
        let paths = ["mcp+https://tools.example.com/team/*"];
        check_found(&paths, "mcp+https://tools.example.com/team/mcp", true);
        check_found(&paths, "mcp+https://TOOLS.example.com/team/mcp", true);
        check_found(&paths, "mcp+https://tools.example.com/team/../admin", false);
        check_found(
            &paths,
            "mcp+https://tools.example.com/team/%2e%2e/admin",
            false,
        );
        check_found(&paths, "npx some-server", false);
    }

    #[test]
    fn refused_tool_error_lists_the_available_tools() {
        let tools = tools(&["http://127.0.0.1:7900"]).unwrap();
        let error = tools
            .check(&["notes".to_owned(), "mail".to_owned()])
            .unwrap_err();
        assert_eq!(error.field, "task.tool_endpoints[1]");
        for part in [
            "`mail`",
            "notes",
            "http://127.0.0.1:7900/",
            "orchestrator.allowed_tool_addresses",
        ] {
            assert!(error.description.contains(part), "{error}");
        }
        let twice = tools
            .check(&["notes".to_owned(), "notes".to_owned()])
            .unwrap_err();
        assert!(twice.description.contains("twice"), "{twice}");
    }

    #[test]
    fn tool_address_patterns_must_name_the_host() {
        for pattern in [
            "*",
            "http://*",
            "http://127.0.0.1*",
            "http://*.example.com/x*",
            "ftp://a/*",
        ] {
            let error = tools(&[pattern]).unwrap_err();
            assert_eq!(
                error.field, "orchestrator.allowed_tool_addresses",
                "{pattern}: {error}"
            );
        }
    }

    #[test]
    fn tool_needs_one_endpoint_and_a_valid_name() {
        let check = |name: &str, settings: ToolSettings, part: &str| {
            let one = BTreeMap::from([(name.to_owned(), settings)]);
            let error = Tools::resolve(one, Vec::new()).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        };
        check(
            "a",
            ToolSettings::default(),
            "either an address or a command",
        );
        let both = ToolSettings {
            command: vec!["npx".to_owned()],
            ..with_address("http://127.0.0.1:1")
        };
        check("a", both, "either an address or a command");
        check(
            "A b",
            with_address("http://127.0.0.1:1"),
            "lowercase letters",
        );
        check(
            "a",
            with_address("127.0.0.1:1"),
            "not the address of a tool",
        );
        check("a", with_address("http://127.0.0.1:1/x"), "no path");
        check("a", with_address("http://me:pass@127.0.0.1:1"), "password");
        let hasty = ToolSettings {
            timeout: HumanDuration(Duration::ZERO),
            ..with_address("http://127.0.0.1:1")
        };
        check("a", hasty, "must not be zero");
    }
}

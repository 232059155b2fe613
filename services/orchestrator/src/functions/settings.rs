//! Which tools are configured, and which addresses a task may name.
//!
//! A task chooses among what the configuration allows; it can start no program and reach no other address. Nothing is
//! connected to here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_kit::config::{Secret, Span};
use motorium_proto::error::FieldError;
use serde::{Deserialize, Serialize};
use url::Url;

/// How long a function may take, if the configuration does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// So many tools a task may name.
pub const MOST_ENDPOINTS: usize = 16;
/// Before the address of an MCP server.
const MCP: &str = "mcp+";

/// `[orchestrator.tools.NAME]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// `http://…` or `https://…` of a ToolService, `mcp+http://…` or `mcp+https://…` of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// In place of an address: the program and arguments of an MCP server that speaks on its standard input and output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Variables of that program, beside a few that every program needs. It sees no others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Secret>,
    /// Sent to the address as `authorization: Bearer …`. Prefer `token_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// The file that holds the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// Certificates to trust beside the machine's, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// How long a function may take.
    pub timeout: Span,
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
            timeout: Span(DEFAULT_TIMEOUT),
        }
    }
}

/// Where a tool is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A ToolService at this address.
    Service(String),
    /// An MCP server at this address, by streamable HTTP.
    Mcp(String),
    /// An MCP server as a program: its name and its arguments.
    Program(Vec<String>),
}

/// A tool, as meant.
#[derive(Debug, Clone)]
pub struct Tool {
    /// As it was configured or addressed; for people.
    pub label: String,
    /// What the names of its functions begin with; `None` for an address that a task names.
    pub prefix: Option<String>,
    pub place: Place,
    pub environment: BTreeMap<String, Secret>,
    pub token: Option<Secret>,
    pub ca_file: Option<PathBuf>,
    pub timeout: Duration,
}

/// The tools that tasks may name.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    configured: BTreeMap<String, Tool>,
    allowed: Vec<Pattern>,
}

/// An address, or all that begin so.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    This(String),
    Beginning(String),
}

impl Tools {
    /// What settings mean.
    ///
    /// # Errors
    /// If a tool has no place or two, a name cannot be used, or an address is none.
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
            pattern(&address)
                .map_err(|problem| FieldError::new("orchestrator.tool_addresses", problem))
        });
        Ok(Self {
            configured: configured.collect::<Result<_, FieldError>>()?,
            allowed: allowed.collect::<Result<_, _>>()?,
        })
    }

    /// The tools that have names.
    pub fn configured(&self) -> impl Iterator<Item = &Tool> {
        self.configured.values()
    }

    /// The tool that a task names.
    ///
    /// # Errors
    /// In words for people: what is wrong with the name, and what there is.
    pub fn find(&self, endpoint: &str) -> Result<Tool, String> {
        if let Some(tool) = self.configured.get(endpoint) {
            return Ok(tool.clone());
        }
        if !endpoint.contains("://") {
            return Err(format!(
                "there is no tool `{endpoint}`; {}",
                self.what_there_is()
            ));
        }
        let place = place(endpoint)?;
        let written = place.written();
        if !self.allowed.iter().any(|pattern| pattern.covers(&written)) {
            return Err(format!(
                "`{endpoint}` is no address that tasks may name; {}",
                self.what_there_is()
            ));
        }
        Ok(Tool {
            label: endpoint.to_owned(),
            prefix: None,
            place,
            environment: BTreeMap::new(),
            token: None,
            ca_file: None,
            timeout: DEFAULT_TIMEOUT,
        })
    }

    /// Checks all that a task names.
    ///
    /// # Errors
    /// If one of them is unknown, not allowed, or named twice.
    pub fn check(&self, endpoints: &[String]) -> Result<(), FieldError> {
        if endpoints.len() > MOST_ENDPOINTS {
            let description = format!("names {} tools; at most {MOST_ENDPOINTS}", endpoints.len());
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
            self.find(endpoint)
                .map_err(|problem| FieldError::new(field, problem))?;
        }
        Ok(())
    }

    fn what_there_is(&self) -> String {
        let listed = |names: Vec<&str>| match names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let names = self.configured.keys().map(String::as_str).collect();
        let allowed = self.allowed.iter().map(Pattern::as_str).collect::<Vec<_>>();
        let allowed: Vec<String> = allowed.into_iter().map(str::to_owned).collect();
        let allowed = listed(allowed.iter().map(String::as_str).collect());
        format!(
            "configured tools: {}; allowed addresses: {allowed}; name one of them, or let the operator add it to \
             orchestrator.tools or orchestrator.tool_addresses",
            listed(names)
        )
    }
}

impl Place {
    /// As a task would name it.
    #[must_use]
    pub fn written(&self) -> String {
        match self {
            Place::Service(uri) => uri.clone(),
            Place::Mcp(uri) => format!("{MCP}{uri}"),
            Place::Program(command) => command.join(" "),
        }
    }
}

impl Pattern {
    fn as_str(&self) -> &str {
        match self {
            Pattern::This(address) => address,
            Pattern::Beginning(beginning) => beginning,
        }
    }

    fn covers(&self, address: &str) -> bool {
        match self {
            Pattern::This(allowed) => allowed == address,
            Pattern::Beginning(beginning) => address.starts_with(beginning),
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
                "`{name}` cannot begin the names of functions; use up to 32 small letters, digits, `-` and `_`"
            ),
        ));
    }
    let place = match (settings.address, settings.command) {
        (Some(address), command) if command.is_empty() => {
            place(&address).map_err(|problem| FieldError::new("address", problem))?
        }
        (None, command) if !command.is_empty() => Place::Program(command),
        _ => {
            let description = "give either an address or a command";
            return Err(FieldError::new("address", description));
        }
    };
    if settings.timeout.0.is_zero() {
        let description = "no function answers in no time; give a time, such as 60s";
        return Err(FieldError::new("timeout", description));
    }
    Ok(Tool {
        label: name.to_owned(),
        prefix: Some(name.to_owned()),
        place,
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
        (None, Some(path)) => std::fs::read_to_string(path).map_err(|error| {
            FieldError::new("token_file", format!("{}: {error}", path.display()))
        })?,
    };
    if token.trim().is_empty() {
        return Err(FieldError::new("token_file", "holds no token"));
    }
    Ok(Some(Secret::new(token.trim())))
}

/// Reads an address, in the one form that addresses are compared in.
fn place(address: &str) -> Result<Place, String> {
    let (is_mcp, uri) = match address.strip_prefix(MCP) {
        Some(uri) => (true, uri),
        None => (false, address),
    };
    let unusable = |problem: &str| {
        format!(
            "`{address}` is no address of a tool, such as http://127.0.0.1:7800 or mcp+http://127.0.0.1:7801/mcp: {problem}"
        )
    };
    let url = Url::parse(uri).map_err(|error| unusable(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("it begins with neither http:// nor https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable("it holds a name or a password"));
    }
    if url.fragment().is_some() {
        return Err(unusable("it holds a `#`"));
    }
    if is_mcp {
        return Ok(Place::Mcp(url.into()));
    }
    if url.path() != "/" || url.query().is_some() {
        return Err(unusable("the address of a ToolService has no path"));
    }
    Ok(Place::Service(url.into()))
}

/// Reads what may be named. A `*` stands at the end, and never for a host or a part of one.
fn pattern(written: &str) -> Result<Pattern, String> {
    let Some(beginning) = written.strip_suffix('*') else {
        return Ok(Pattern::This(place(written)?.written()));
    };
    let behind_scheme = beginning.split_once("://").map(|(_, rest)| rest);
    let names_host = behind_scheme.is_some_and(|rest| rest.contains([':', '/']));
    let has_more = beginning.contains(['*', '@', '#']);
    // With a port or a path of its own, it is an address itself.
    let is_address = place(&format!("{}1", beginning.to_owned())).is_ok()
        || place(&format!("{MCP}{beginning}")).is_ok();
    if names_host && !has_more && is_address {
        return Ok(Pattern::Beginning(beginning.to_owned()));
    }
    Err(format!(
        "`{written}` leaves the host open; write the host out, such as http://127.0.0.1:* or mcp+https://tools.example.com/*"
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
        let found = tools(addresses).unwrap().find(endpoint);
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
    fn a_refusal_says_what_there_is() {
        let tools = tools(&["http://127.0.0.1:7900"]).unwrap();
        let error = tools
            .check(&["notes".to_owned(), "mail".to_owned()])
            .unwrap_err();
        assert_eq!(error.field, "task.tool_endpoints[1]");
        for part in [
            "`mail`",
            "notes",
            "http://127.0.0.1:7900/",
            "orchestrator.tool_addresses",
        ] {
            assert!(error.description.contains(part), "{error}");
        }
        let twice = tools
            .check(&["notes".to_owned(), "notes".to_owned()])
            .unwrap_err();
        assert!(twice.description.contains("twice"), "{twice}");
    }

    #[test]
    fn what_leaves_the_host_open_is_no_rule() {
        for pattern in [
            "*",
            "http://*",
            "http://127.0.0.1*",
            "http://*.example.com/x*",
            "ftp://a/*",
        ] {
            let error = tools(&[pattern]).unwrap_err();
            assert_eq!(
                error.field, "orchestrator.tool_addresses",
                "{pattern}: {error}"
            );
        }
    }

    #[test]
    fn a_tool_has_one_place_and_a_usable_name() {
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
        check("A b", with_address("http://127.0.0.1:1"), "small letters");
        check("a", with_address("127.0.0.1:1"), "no address of a tool");
        check("a", with_address("http://127.0.0.1:1/x"), "no path");
        check("a", with_address("http://me:pass@127.0.0.1:1"), "password");
        let hasty = ToolSettings {
            timeout: Span(Duration::ZERO),
            ..with_address("http://127.0.0.1:1")
        };
        check("a", hasty, "in no time");
    }
}

//! A request to our endpoint, in the words of either era.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};

const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// The keys of a modern request's `_meta`.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A revision of the protocol that we serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 2026-07-28, the modern one.
    July2026,
    /// 2025-11-25, the newer legacy one.
    November2025,
    /// 2025-06-18, the older legacy one.
    June2025,
}

/// The two ways to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// No handshake; every request says what it needs.
    Modern,
    /// `initialize` first, usually a session.
    Legacy,
}

/// One HTTP request, mostly a POST with one JSON-RPC message.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) verb: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) version: Version,
    body: Body,
}

impl Version {
    /// Returns the version as the wire has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::July2026 => "2026-07-28",
            Self::November2025 => "2025-11-25",
            Self::June2025 => "2025-06-18",
        }
    }
}

impl Era {
    /// Both, for tests that say the same of each.
    pub const BOTH: [Self; 2] = [Self::Modern, Self::Legacy];

    /// Builds a request with id 1; `params` may be null for none.
    #[must_use]
    pub fn call(self, method: &str, params: Value) -> Call {
        match self {
            Self::Modern => Call::modern(method, params),
            Self::Legacy => Call::legacy(method, params),
        }
    }

    /// Builds a call of a tool.
    #[must_use]
    pub fn tool(self, name: &str, arguments: Value) -> Call {
        let mut params = json!({ "name": name });
        params["arguments"] = arguments;
        self.call("tools/call", params)
    }
}

/// Builds the handshake of a legacy client that can do nothing.
#[must_use]
pub fn initialize(version: Version) -> Call {
    initialize_with(version, json!({}))
}

/// Builds the handshake of a legacy client that can do what it says.
#[must_use]
pub fn initialize_with(version: Version, capabilities: Value) -> Call {
    let mut params = json!({
        "protocolVersion": version.as_str(),
        "clientInfo": { "name": "testkit", "version": "1" },
    });
    params["capabilities"] = capabilities;
    Call {
        version,
        ..Call::legacy("initialize", params)
    }
    .without("mcp-protocol-version")
}

impl Call {
    /// Builds a modern request with all the headers that it needs.
    #[must_use]
    pub fn modern(method: &str, params: Value) -> Self {
        let version = Version::July2026;
        let named = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
            _ => None,
        }
        .map(str::to_owned);
        let message = Self::message(
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": members(params) }),
        )
        .meta(PROTOCOL_VERSION, json!(version.as_str()))
        .meta(CLIENT_INFO, json!({ "name": "testkit", "version": "1" }))
        .meta(CLIENT_CAPABILITIES, json!({}))
        .header("mcp-protocol-version", version.as_str())
        .header("mcp-method", method);
        let call = Self { version, ..message };
        match named {
            Some(name) => call.header("mcp-name", &name),
            None => call,
        }
    }

    /// Builds a legacy request, of no session.
    #[must_use]
    pub fn legacy(method: &str, params: Value) -> Self {
        let version = Version::November2025;
        let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        Self {
            version,
            ..Self::message(message)
        }
        .header("mcp-protocol-version", version.as_str())
    }

    /// Builds the answer of a legacy client to a request of the server.
    #[must_use]
    pub fn answer(id: &Value, result: Value) -> Self {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message["result"] = result;
        Self::message(message).header("mcp-protocol-version", Version::November2025.as_str())
    }

    /// Builds a POST of any JSON value, with no header of the protocol.
    #[must_use]
    pub fn message(message: Value) -> Self {
        Self {
            body: Body::Message(message),
            ..Self::bytes("")
        }
    }

    /// Builds a POST of any bytes, with no header of the protocol.
    #[must_use]
    pub fn bytes(body: impl Into<Bytes>) -> Self {
        Self {
            body: Body::Bytes(body.into()),
            ..Self::verb(Method::POST)
        }
        .header("content-type", "application/json")
        .header("accept", ACCEPT_BOTH)
    }

    /// Builds a request without a body, such as a GET or a DELETE.
    #[must_use]
    pub fn verb(verb: Method) -> Self {
        Self {
            verb,
            path: "/mcp".to_owned(),
            headers: HeaderMap::new(),
            version: Version::November2025,
            body: Body::Bytes(Bytes::new()),
        }
    }

    /// Speaks another legacy version.
    #[must_use]
    pub fn version(self, version: Version) -> Self {
        Self { version, ..self }.header("mcp-protocol-version", version.as_str())
    }

    /// Sends it to another path than `/mcp`.
    #[must_use]
    pub fn path(self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self
        }
    }

    /// Sets a header, in place of what it was.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header's value");
        self.headers.insert(header_name(name), value);
        self
    }

    /// Adds a further line of a header.
    #[must_use]
    pub fn second_header(mut self, name: &str, value: &str) -> Self {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header's value");
        self.headers.append(header_name(name), value);
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(header_name(name));
        self
    }

    /// Presents a session.
    #[must_use]
    pub fn session(self, id: &str) -> Self {
        self.header("mcp-session-id", id)
    }

    /// Sets the id of the request.
    #[must_use]
    pub fn id(self, id: Value) -> Self {
        self.with(|message| message["id"] = id)
    }

    /// Makes it a notification: it has no id.
    #[must_use]
    pub fn notification(self) -> Self {
        self.with(|message| {
            message.as_object_mut().expect("a message").remove("id");
        })
    }

    /// Sets a parameter.
    #[must_use]
    pub fn param(self, key: &str, value: Value) -> Self {
        self.with(|message| message["params"][key] = value)
    }

    /// Declares what a modern client can do.
    #[must_use]
    pub fn capabilities(self, capabilities: Value) -> Self {
        self.meta(CLIENT_CAPABILITIES, capabilities)
    }

    /// Sets a key of `params._meta`.
    #[must_use]
    pub fn meta(self, key: &str, value: Value) -> Self {
        self.with(|message| message["params"]["_meta"][key] = value)
    }

    /// Removes a key of `params._meta`.
    #[must_use]
    pub fn without_meta(self, key: &str) -> Self {
        self.with(|message| {
            message["params"]["_meta"]
                .as_object_mut()
                .expect("it has _meta")
                .remove(key);
        })
    }

    /// Asks for progress.
    #[must_use]
    pub fn progress(self, token: Value) -> Self {
        self.meta("progressToken", token)
    }

    /// Returns the method of the message, if it has one.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        match &self.body {
            Body::Message(message) => message.get("method")?.as_str(),
            Body::Bytes(_) => None,
        }
    }

    /// Returns the bytes of the body.
    #[must_use]
    pub fn body(&self) -> Bytes {
        match &self.body {
            Body::Message(message) => message.to_string().into(),
            Body::Bytes(bytes) => bytes.clone(),
        }
    }

    /// Returns the head and the body as they go over the wire, for a [`Raw`](crate::Raw).
    #[must_use]
    pub fn wire(&self, host: &str) -> String {
        let body = self.body();
        let mut text = format!("{} {} HTTP/1.1\r\nhost: {host}\r\n", self.verb, self.path);
        for (name, value) in &self.headers {
            text.push_str(&format!(
                "{name}: {}\r\n",
                value.to_str().expect("plain text")
            ));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        text.push_str(std::str::from_utf8(&body).expect("plain text"));
        text
    }
}

// === Behind the call ===

#[derive(Clone, Debug)]
enum Body {
    Message(Value),
    Bytes(Bytes),
}

impl Call {
    /// Whether it goes where MCP is spoken; the admin port speaks other JSON.
    pub(crate) fn is_rpc(&self) -> bool {
        self.path
            .split('?')
            .next()
            .is_some_and(|path| path.ends_with("mcp"))
    }

    fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        match &mut self.body {
            Body::Message(message) => change(message),
            Body::Bytes(_) => panic!("this call has bytes, not a message"),
        }
        self
    }
}

fn members(params: Value) -> Value {
    if params.is_null() {
        Value::Object(Map::new())
    } else {
        params
    }
}

fn header_name(name: &str) -> HeaderName {
    name.parse().expect("a header's name")
}

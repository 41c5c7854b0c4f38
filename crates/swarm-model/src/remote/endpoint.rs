//! HTTP endpoint: a reqwest client with its TLS configuration, the address and the headers.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Response, Url};
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use swarm_protocol::with_causes;

use super::body::Body;
use super::connection::{Connection, Secret};
use crate::error::ModelError;
use crate::name::Provider;

pub(crate) const USER_AGENT: &str = concat!("swarm/", env!("CARGO_PKG_VERSION"));

/// Hosts that are never reached through the proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// URL and headers of requests.
#[derive(Debug)]
pub(crate) struct Address {
    url: Url,
    headers: HeaderMap,
}

impl Address {
    /// Creates an address for JSON bodies.
    pub(crate) fn new(url: Url) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { url, headers }
    }

    pub(crate) fn header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Adds a header with a credential, prefixed by `scheme`.
    pub(crate) fn credential(
        &mut self,
        provider: Provider,
        name: HeaderName,
        scheme: &str,
        secret: &Secret,
    ) -> Result<(), ModelError> {
        let text = format!("{scheme}{}", secret.reveal());
        let mut value = HeaderValue::from_str(&text).map_err(|_| ModelError::Auth {
            provider,
            message: format!(
                "the value for {name} contains characters that are not valid in a key"
            ),
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

/// The server that a client sends its requests to.
#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    address: Address,
    /// Scheme, host and port, for display.
    pub(super) server: String,
    pub(super) is_local: bool,
}

impl Endpoint {
    /// Validates the settings and creates the client without connecting.
    pub(super) fn new(address: Address, connection: &Connection) -> Result<Self, ModelError> {
        let server = address.url.origin().ascii_serialization();
        let is_local = is_loopback(&address.url);
        let proxy = proxy(connection)?;
        let proxy_over_tls = connection
            .proxy
            .as_ref()
            .is_some_and(|proxy| proxy.reveal().starts_with("https:"));
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(connection.connect_timeout)
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls(address.url.scheme() == "https" || proxy_over_tls)?);
        let builder = match proxy {
            Some(proxy) => builder.proxy(proxy),
            None => builder.no_proxy(),
        };
        let client = builder.build().map_err(|error| setup(describe(error)))?;
        Ok(Self {
            client,
            address,
            server,
            is_local,
        })
    }

    /// Sends a request and waits for the response head.
    pub(super) async fn post(&self, body: &Body) -> Result<Response, reqwest::Error> {
        let request = self.client.post(self.address.url.clone());
        request
            .headers(self.address.headers.clone())
            // Without it a streamed body would use chunked encoding, which not every local server
            // supports.
            .header(CONTENT_LENGTH, body.length())
            .body(body.sent())
            .send()
            .await
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    // An IPv6 address is in brackets in a URL.
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Formats an error of reqwest with its causes, without the URL, which may contain a password.
pub(crate) fn describe(error: reqwest::Error) -> String {
    let text = with_causes(&error.without_url());
    // These layers add no information.
    ["error sending request: ", "client error (Connect): "]
        .iter()
        .fold(text.as_str(), |text, layer| {
            text.strip_prefix(layer).unwrap_or(text)
        })
        .to_owned()
}

fn setup(message: impl Into<String>) -> ModelError {
    ModelError::Setup(message.into())
}

/// Parses the configured address of a provider and removes trailing slashes.
pub(crate) fn base_address(provider: Provider, base: &str) -> Result<Url, ModelError> {
    let variable = provider.address_variable();
    let unusable = |why: &str| setup(format!("{variable} {why}; give it as https://HOST"));
    let base = base.trim().trim_end_matches('/');
    let url = Url::parse(base).map_err(|_| unusable("is not an address"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(unusable("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable(&format!(
            "contains a user or password; set the key in {}",
            provider.key_variables()
        )));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(unusable("has a query or fragment"));
    }
    Ok(url)
}

fn proxy(connection: &Connection) -> Result<Option<Proxy>, ModelError> {
    let Some(address) = &connection.proxy else {
        return Ok(None);
    };
    let proxy = Proxy::all(address.reveal())
        .map_err(|_| setup("the proxy is not an address; give it as http://HOST:PORT"))?;
    let exceptions = match connection.no_proxy.as_deref() {
        Some(hosts) if !hosts.trim().is_empty() => format!("{LOOPBACK},{hosts}"),
        _ => LOOPBACK.to_owned(),
    };
    Ok(Some(proxy.no_proxy(NoProxy::from_string(&exceptions))))
}

/// Creates the TLS configuration, based on ring. If TLS is not needed, the system's certificates
/// are not loaded: a local server must work on a machine without certificates.
pub(crate) fn tls(needed: bool) -> Result<ClientConfig, ModelError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(format!("TLS is not usable ({error})")))?;
    if !needed {
        let none = RootCertStore::empty();
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(system_verifier(provider)?)
        .with_no_client_auth();
    Ok(config)
}

fn system_verifier(
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, ModelError> {
    match Verifier::new(provider) {
        Ok(verifier) => Ok(Arc::new(verifier)),
        Err(error) => Err(setup(format!(
            "the system's TLS certificates cannot be loaded ({error}); install the package ca-certificates or set SSL_CERT_FILE"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_addresses_are_parsed_and_invalid_ones_rejected() {
        let read = |base| base_address(Provider::Anthropic, base).map(String::from);
        assert_eq!(
            read("https://api.example.com/").unwrap(),
            "https://api.example.com/"
        );
        assert_eq!(
            read(" http://127.0.0.1:8080/gateway/ ").unwrap(),
            "http://127.0.0.1:8080/gateway"
        );
        for base in [
            "",
            "api.anthropic.com",
            "localhost:11434",
            "ftp://x",
            "https://me:pw@x",
            "https://x?a=b",
        ] {
            let error = read(base).unwrap_err().to_string();
            assert!(error.contains("ANTHROPIC_BASE_URL"), "{base}: {error}");
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn the_error_for_an_invalid_key_does_not_show_the_key() {
        let mut address = Address::new(Url::parse("http://127.0.0.1:1").unwrap());
        let name = HeaderName::from_static("x-api-key");
        let key = Secret::new("sk-ant\nsecond-line");
        let error = address
            .credential(Provider::Anthropic, name, "", &key)
            .unwrap_err();
        assert!(matches!(error, ModelError::Auth { .. }));
        assert!(!error.to_string().contains("second-line"), "{error}");
    }

    #[test]
    fn the_error_for_an_invalid_proxy_does_not_show_its_password() {
        let broken = Connection {
            proxy: Some(Secret::new("http://me:hunter2@[broken")),
            ..Connection::to_service()
        };
        let address = Address::new(Url::parse("http://127.0.0.1:1").unwrap());
        let error = Endpoint::new(address, &broken).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

//! Where a request enters: its head is taken apart before the filters see it.
//!
//! Nobody copies the headers then, and no filter meets a target that it cannot
//! read: warp panics at one without a path.

use std::pin::Pin;
use std::sync::Arc;

use http::header::HOST;
use http::{HeaderMap, HeaderValue, Request, Uri};
use hyper::service::Service;

/// What the filters get in place of the headers.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) headers: Arc<HeaderMap>,
    /// Whether the target has a path; one such as `CONNECT host:80` has none.
    pub(crate) has_path: bool,
}

/// Takes each head apart on its way to the filters.
pub(crate) struct Entrance<S>(pub(crate) S);

impl<S: Service<Request<B>>, B> Service<Request<B>> for Entrance<S>
where
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    /// On the heap while a request is answered: a connection keeps room for it as long as
    /// it is open, and an event stream may be open for days.
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn call(&self, mut request: Request<B>) -> Self::Future {
        enter(&mut request);
        Box::pin(self.0.call(request))
    }
}

// === Behind the entrance ===

fn enter<B>(request: &mut Request<B>) {
    let mut headers = std::mem::take(request.headers_mut());
    let mut has_path = request.uri().path_and_query().is_some();
    if !has_path {
        *request.uri_mut() = Uri::from_static("/");
    } else if let Some(authority) = request.uri().authority() {
        // RFC 9112, section 3.2.2: the target's authority wins over `Host`.
        match HeaderValue::from_str(authority.as_str()) {
            Ok(host) if headers.get_all(HOST).iter().nth(1).is_none() => {
                headers.insert(HOST, host);
            }
            Ok(_two_are_refused_as_they_are) => {}
            Err(_unreadable) => has_path = false,
        }
    }
    request.extensions_mut().insert(Entry {
        headers: Arc::new(headers),
        has_path,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, hosts: &[&'static str], expected: (bool, &[&str])) {
        let mut request = Request::new(());
        *request.uri_mut() = target.parse().expect("a target");
        for host in hosts {
            let host = HeaderValue::from_static(host);
            request.headers_mut().append(HOST, host);
        }
        enter(&mut request);
        let entry: &Entry = request.extensions().get().expect("an entry");
        let hosts: Vec<&str> = entry
            .headers
            .get_all(HOST)
            .iter()
            .map(|host| host.to_str().expect("plain text"))
            .collect();
        assert_eq!((entry.has_path, hosts.as_slice()), expected, "{target}");
        assert!(request.uri().path_and_query().is_some(), "warp needs one");
    }

    #[test]
    fn a_path_leaves_everything_as_it_is() {
        check("/mcp?a=b", &["localhost"], (true, &["localhost"]));
        check("*", &["localhost"], (true, &["localhost"]));
    }

    #[test]
    fn a_target_without_a_path_is_marked() {
        check("mcp", &["localhost"], (false, &["localhost"]));
        check("foo:80", &[], (false, &[]));
    }

    #[test]
    fn the_authority_of_the_target_wins_over_the_host() {
        check("http://evil.com/mcp", &["localhost"], (true, &["evil.com"]));
        check("http://a@evil.com/", &[], (true, &["a@evil.com"]));
    }

    #[test]
    fn two_hosts_stay_two() {
        let two = ["localhost", "localhost"];
        check("http://localhost/mcp", &two, (true, &two));
    }
}

//! The observer that hears of each request to another machine, so that a person can see what left
//! this one.

use std::sync::OnceLock;

use ureq::http::{Request, Response};
use ureq::middleware::{Middleware, MiddlewareNext};
use ureq::{Body, SendBody};

use crate::loopback::is_loopback;

/// Hears of a request: its purpose, which is the section of the settings that it belongs to, e.g.
/// `llm`, and the host, without its port.
pub type RequestObserver = Box<dyn Fn(&'static str, &str) + Send + Sync>;

static OBSERVER: OnceLock<RequestObserver> = OnceLock::new();

/// Lets this observer hear of every request of this process to another machine, before it is sent. Only
/// the first call of a process has an effect.
pub fn observe_requests(observer: RequestObserver) {
    // A second observer would count again what the first one counts.
    _ = OBSERVER.set(observer);
}

/// Tells the observer of requests for this purpose.
pub(crate) struct Observed(pub(crate) &'static str);

impl Middleware for Observed {
    fn handle(
        &self,
        request: Request<SendBody>,
        next: MiddlewareNext,
    ) -> Result<Response<Body>, ureq::Error> {
        let host = request.uri().host().filter(|host| !is_loopback(host));
        if let (Some(observer), Some(host)) = (OBSERVER.get(), host) {
            observer(self.0, host);
        }
        next.handle(request)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn requests_to_other_machines_are_told_before_they_are_sent() {
        static TOLD: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());
        observe_requests(Box::new(|purpose, host| {
            TOLD.lock().unwrap().push((purpose, host.to_owned()));
        }));
        let not_sent =
            |_: Request<SendBody>, _: MiddlewareNext<'_>| -> Result<Response<Body>, ureq::Error> {
                Err(ureq::Error::HostNotFound)
            };
        let agent = ureq::Agent::config_builder()
            .middleware(Observed("llm"))
            .middleware(not_sent)
            .build()
            .new_agent();
        for url in [
            "https://models.example:8443/v1",
            "http://127.0.0.1:1/v1",
            "http://[::1]:1/v1",
            "http://localhost:1/v1",
        ] {
            agent.get(url).call().unwrap_err();
        }
        let told = TOLD.lock().unwrap();
        assert_eq!(*told, [("llm", "models.example".to_owned())]);
    }
}

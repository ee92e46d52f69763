//! A request to a view or a change: who sends it, and in which form it is answered.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use loci_admission::{Permit, Subject};
use loci_core::{Caller, Error, ErrorCode, Result, SaidBy, Scope, SignInGrant};
use loci_engine::{Call, CallInfo, Effect, Engine};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::admission::{ask_provider, rate_refusal, read_body, run_blocking, stranger};
use crate::change::{Answer, Change, Outcome, examine};
use crate::cookies::{cookie_value, secure_attribute};
use crate::encoding::encoded;
use crate::failure::{failure, failure_to};
use crate::form::Form;
use crate::guard::{BaseUrl, is_from_here};
use crate::looks::Looks;
use crate::page::Page;
use crate::parameters::{CSRF, Parameters};
use crate::request_user::RequestUser;
use crate::session::{BrowserSession, Credential};
use crate::view::{Ui, View};

/// The tool set of what people do on the page.
pub(crate) const ORIGIN_NAME: &str = "page";
/// The name in the audit log of the program that calls for a person on the page.
pub(crate) const CLIENT: &str = "loci page";
/// The header in which a script sends the secret of its session.
const CSRF_HEADER: &str = "x-csrf-token";

/// The parts of a request that a view or a change needs.
pub(crate) struct RequestContext<'a> {
    pub(crate) page: &'a Page,
    pub(crate) visitor: &'a RequestUser,
    /// The form of the answer.
    pub(crate) form: Form,
    /// The call in which a view reads.
    call: &'a Call<'a>,
}

/// An action of the page as the audit log names it: the tool, the kind of its operation, and its
/// effect.
pub(crate) type Action<'a> = (&'a str, &'static str, Effect);

impl RequestContext<'_> {
    /// Answers a request in a call in which it reads. That call is not logged, unless it changes
    /// something: people look at views again and again.
    pub(crate) fn run<T>(
        page: &Page,
        visitor: &RequestUser,
        form: Form,
        run: impl FnOnce(&RequestContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let info = CallInfo::new(ORIGIN_NAME, "view", "memory:read", Effect::Read, &[])
            .logged_with_changes()
            .by_a_person();
        page.engine().call(visitor.caller.clone(), info, |call| {
            run(&RequestContext {
                page,
                visitor,
                form,
                call,
            })
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.page.engine()
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.visitor.caller
    }

    /// Returns the call in which a view reads.
    pub(crate) fn call(&self) -> &Call<'_> {
        self.call
    }

    /// Returns a text without secrets, as lists and previews show it.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.engine().redaction().redact(text).text
    }

    /// Returns the number of items that the visitor has to decide, which is counted if it is not
    /// kept; `None` if that fails.
    fn open_count(&self, count: Count) -> Option<usize> {
        if let Some(count) = self.page.open_count(self.caller()) {
            return Some(count);
        }
        match count(self) {
            Ok(count) => {
                self.page.keep_open_count(self.caller(), count);
                Some(count)
            }
            Err(error) => {
                tracing::debug!(%error, "the bar has no count of what is open");
                None
            }
        }
    }

    /// Runs an action as a call of its own, which is in the audit log. A change is there when this
    /// returns.
    ///
    /// # Errors
    /// The errors of the action.
    pub(crate) fn logged<T>(
        &self,
        (tool, operation, effect): Action<'_>,
        query: Option<&str>,
        run: impl FnOnce(&Call<'_>) -> Result<T>,
    ) -> Result<T> {
        let info = CallInfo::new(ORIGIN_NAME, tool, operation, effect, &[])
            .with_query(query)
            .by_a_person();
        self.engine().call(self.caller().clone(), info, run)
    }
}

/// Counts the items that the visitor has to decide.
pub(crate) type Count = fn(&RequestContext<'_>) -> Result<usize>;

/// Answers a request whose sender is known: from its context, its parameters, and its path.
///
/// It is one type for all views and changes, because the way to it would be compiled for each type.
pub(crate) type Handler =
    Arc<dyn Fn(&RequestContext<'_>, Parameters, String) -> Result<Response> + Send + Sync>;

/// Answers a request for which its sender needs a scope.
pub(crate) async fn respond(
    page: Arc<Page>,
    request: Request,
    scope: Scope,
    handler: Handler,
) -> Response {
    let path = requested_path(&request);
    let received = match ParsedRequest::of(&page, request).await {
        Ok(received) => received,
        Err(refused) => return refused,
    };
    let ParsedRequest {
        visitor,
        parameters,
        form,
        cookie,
        _share,
    } = received;
    let (sender, asked) = (Arc::clone(&visitor), path.clone());
    let answer = run_blocking(&page, &visitor.subject, move |page| {
        require(&sender.caller, scope)?;
        RequestContext::run(page, &sender, form, |context| {
            handler(context, parameters, asked)
        })
    })
    .await;
    let answer = answer.unwrap_or_else(|error| {
        let open = page.open_count(&visitor.caller);
        failure_to(&visitor, &error, form, (path, open))
    });
    with_cookie(answer, cookie)
}

/// Returns the handler of a view.
pub(crate) fn handle_view<Q, V>(
    view: fn(&RequestContext<'_>, Q) -> Result<V>,
    count: Count,
) -> Handler
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    Arc::new(move |context, parameters, path| {
        let view = view(context, parameters.of(V::KEPT, context.form)?)?;
        let open = match context.form {
            Form::Html => context.open_count(count),
            Form::Json => None,
        };
        render_view(context.visitor, context.form, (path, open), view)
    })
}

/// Returns a view in the form in which it was asked for.
pub(crate) fn render_view<V: View>(
    visitor: &RequestUser,
    form: Form,
    (path, open): (String, Option<usize>),
    view: V,
) -> Result<Response> {
    match form {
        Form::Json => Ok((StatusCode::OK, axum::Json(view)).into_response()),
        Form::Html => {
            let html = view.html(&Ui::of(visitor, Some(V::TAB), path, open));
            let html =
                html.map_err(|error| Error::internal(format!("the view cannot be shown: {error}")));
            Ok(axum::response::Html(html?).into_response())
        }
    }
}

/// Returns the handler of an answer for programs that no view shows.
pub(crate) fn handle_data<Q, T>(answer: fn(&RequestContext<'_>, Q) -> Result<T>) -> Handler
where
    Q: DeserializeOwned + 'static,
    T: Serialize + 'static,
{
    Arc::new(move |context, parameters, _| {
        // An empty text means something to a program, e.g. a wing without a name.
        let answer = answer(
            context,
            parameters.of(&["wing", "who", "content", "dry_run"], Form::Json)?,
        )?;
        Ok(axum::Json(answer).into_response())
    })
}

/// Returns the handler of a change.
pub(crate) fn handle_action<Q>(change: fn(&RequestContext<'_>, Q) -> Result<Change>) -> Handler
where
    Q: DeserializeOwned + 'static,
{
    Arc::new(move |context, parameters, _| {
        let change = change(context, parameters.of(&["content"], context.form)?)?;
        Ok(respond_to_change(context, change))
    })
}

/// Returns the handler of a change that people can be asked about once more: they see why it was not
/// made as a view.
pub(crate) fn handle_asking_action<Q, V>(
    change: fn(&RequestContext<'_>, Q) -> Result<Answer<V>>,
    count: Count,
) -> Handler
where
    Q: DeserializeOwned + 'static,
    V: View,
{
    Arc::new(move |context, parameters, path| {
        match change(context, parameters.of(&["content"], context.form)?)? {
            Answer::Changed(change) => Ok(respond_to_change(context, change)),
            Answer::Shown(view) => {
                let open = context.open_count(count);
                let mut shown = render_view(context.visitor, context.form, (path, open), view)?;
                *shown.status_mut() = StatusCode::CONFLICT;
                Ok(shown)
            }
        }
    })
}

/// Returns the handler of a file that a person takes.
pub(crate) fn handle_file<Q>(
    name: &'static str,
    file: fn(&RequestContext<'_>, Q) -> Result<Vec<u8>>,
) -> Handler
where
    Q: DeserializeOwned + 'static,
{
    Arc::new(move |context, parameters, _| {
        let file = file(context, parameters.of(&[], context.form)?)?;
        let headers = [
            (CONTENT_TYPE, "application/x-ndjson".to_owned()),
            (
                CONTENT_DISPOSITION,
                format!("attachment; filename=\"{name}\""),
            ),
        ];
        Ok((headers, file).into_response())
    })
}

/// Tells the sender of a change its outcome, after what there is to decide about it was looked for.
fn respond_to_change(context: &RequestContext<'_>, change: Change) -> Response {
    examine(context.engine());
    context.page.forget_open_counts();
    let session = context.visitor.session.as_ref();
    let outcome = Outcome {
        message: change.message,
        changed: change.changed,
        refused: change.refused,
        undo: session
            .zip(change.undo)
            .map(|(session, undo)| session.keep_undo(undo)),
    };
    if let Some(session) = session {
        session.note(context.visitor.now, &outcome);
    }
    match (context.form, session) {
        (Form::Html, Some(session)) => {
            session.put_outcome(outcome);
            see_other(&change.next)
        }
        _ => axum::Json(outcome).into_response(),
    }
}

/// A request after the checks of who sent it.
struct ParsedRequest {
    visitor: Arc<RequestUser>,
    parameters: Parameters,
    form: Form,
    /// The cookie of a session that started with this request.
    cookie: Option<HeaderValue>,
    /// Of the memory for bodies.
    _share: Option<Permit>,
}

impl ParsedRequest {
    /// Reads a request, or returns the answer that refuses it.
    async fn of(page: &Arc<Page>, request: Request) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let AuthenticatedRequest {
            visitor,
            form,
            base_url,
            cookie,
        } = AuthenticatedRequest::of(page, &parts).await?;
        let asked = parts.uri.path_and_query();
        let asked = asked.map_or("/", |path| path.as_str()).to_owned();
        let refuse = |error: &Error| failure_to(&visitor, error, form, (asked.clone(), None));
        let received = read_body(page, &visitor.subject, &parts.headers, body).await;
        let (body, share) = received.map_err(|error| refuse(&error))?;
        let path = RawPathParams::from_request_parts(&mut parts, &())
            .await
            .map_err(IntoResponse::into_response)?;
        let is_json = parts
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let parameters = Parameters::read(&path, parts.uri.query(), &body, is_json)
            .map_err(|error| refuse(&error))?;
        let changes = ![Method::GET, Method::HEAD].contains(&parts.method);
        if changes {
            check_origin(&visitor, &parts.headers, &base_url, parameters.text(CSRF))
                .map_err(|error| refuse(&error))?;
        }
        Ok(ParsedRequest {
            visitor,
            parameters,
            form,
            cookie,
            _share: share,
        })
    }
}

/// The sender of a request, before its body is read.
pub(crate) struct AuthenticatedRequest {
    pub(crate) visitor: Arc<RequestUser>,
    pub(crate) form: Form,
    pub(crate) base_url: String,
    /// The cookie of a session that started with this request.
    cookie: Option<HeaderValue>,
}

impl AuthenticatedRequest {
    /// Finds out who sends a request, or returns the answer that refuses it.
    pub(crate) async fn of(page: &Arc<Page>, parts: &Parts) -> Result<Self, Response> {
        let form = parts.extensions.get().copied().unwrap_or(Form::Html);
        let looks = Looks::of(&parts.headers);
        let refuse = |error: &Error| failure(error, form, looks);
        let base_url = parts.extensions.get::<BaseUrl>().cloned();
        let BaseUrl(base_url) =
            base_url.ok_or_else(|| refuse(&Error::internal("the page has no address")))?;
        let stranger = stranger(&parts.extensions);
        let authenticated = authenticate(page, parts, &base_url, &stranger).await;
        let (caller, session, cookie) = authenticated.map_err(|error| {
            if error.code == ErrorCode::Unauthorized && form == Form::Html {
                let requested = parts.uri.path_and_query().map_or("/", |path| path.as_str());
                let next = encoded(requested);
                see_other(&format!("/sign-in?next={next}"))
            } else {
                refuse(&error)
            }
        })?;
        let subject = Subject::of(&caller, stranger);
        if let Some(refused) = rate_refusal(page, &subject, form, looks) {
            return Err(refused);
        }
        let visitor = Arc::new(RequestUser {
            subject,
            caller: Caller {
                all_users: session.as_ref().is_some_and(|session| session.all_users()),
                origin: ORIGIN_NAME,
                client: Some(CLIENT.to_owned()),
                // A program calls with its token.
                said_by: if session.is_some() {
                    SaidBy::User
                } else {
                    SaidBy::Agent
                },
                ..caller
            },
            session,
            looks,
            now: page.engine().now(),
        });
        Ok(AuthenticatedRequest {
            visitor,
            form,
            base_url,
            cookie,
        })
    }
}

/// Checks that a change in a session was sent by a page of this server, with the secret of the
/// session as the field `csrf`, or in its header.
pub(crate) fn check_origin(
    visitor: &RequestUser,
    headers: &HeaderMap,
    base_url: &str,
    field: Option<&str>,
) -> Result<()> {
    let Some(session) = &visitor.session else {
        return Ok(());
    };
    let in_header = headers
        .get(CSRF_HEADER)
        .and_then(|value| value.to_str().ok());
    let sent = in_header.or(field);
    if is_from_here(headers, base_url) && sent.is_some_and(|sent| session.is_csrf(sent)) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::Forbidden,
        "this change was not sent from this page, or the page is too old; load it again and repeat the change",
    ))
}

/// Returns the caller of a request, with the session of a browser and the cookie of a new one.
async fn authenticate(
    page: &Page,
    parts: &Parts,
    base_url: &str,
    stranger: &Subject,
) -> Result<(Caller, Option<Arc<BrowserSession>>, Option<HeaderValue>)> {
    let (headers, path) = (&parts.headers, parts.uri.path());
    if headers.contains_key(AUTHORIZATION) {
        let caller = page.authenticator().caller(headers, base_url, path).await?;
        return Ok((caller, None, None));
    }
    let (session, cookie) = match session_of(page, headers, base_url) {
        Some(session) => (session, None),
        None if page.authenticator().is_open() => {
            let (secret, session) = page
                .sessions()
                .begin(stranger.clone(), Credential::default())?;
            (session, Some(cookie(base_url, &secret)?))
        }
        None => {
            return Err(Error::new(
                ErrorCode::Unauthorized,
                "sign in, or send a token as `Authorization: Bearer TOKEN`",
            ));
        }
    };
    let caller = authenticate_session(page, &session, base_url, path, stranger).await?;
    Ok((caller, Some(session), cookie))
}

/// Returns the caller of a session, after its token was renewed if it had to be.
///
/// # Errors
/// `unauthorized` if the token is not valid and cannot be renewed; `unavailable` if that cannot be
/// told now.
pub(crate) async fn authenticate_session(
    page: &Page,
    session: &BrowserSession,
    base_url: &str,
    path: &str,
    stranger: &Subject,
) -> Result<Caller> {
    let credential = session.credential();
    let headers = headers_of(&credential);
    let refused = match page.authenticator().caller(&headers, base_url, path).await {
        Err(error) if error.code == ErrorCode::Unauthorized => error,
        admitted => return admitted,
    };
    let Some(provider) = page.authenticator().provider() else {
        return Err(refused);
    };
    let _renewing = session.renewing.lock().await;
    let current = session.credential();
    // Another request of this session may have renewed it since.
    if current == credential {
        let Some(refresh_token) = current.refresh_token else {
            return Err(refused);
        };
        let token = refresh_token.clone();
        let renewed = ask_provider(page, stranger, move || provider.renew(&token)).await;
        match renewed {
            Ok(grant) => {
                let mut renewed = credential_of(grant)?;
                // A provider that gives no new refresh token goes on with the old one (RFC 6749,
                // section 6).
                renewed.refresh_token.get_or_insert(refresh_token);
                session.set_credential(renewed);
            }
            Err(error) if error.code == ErrorCode::Unauthorized => {
                session.set_credential(credential.header.into());
                return Err(refused);
            }
            Err(error) => return Err(error),
        }
    }
    let headers = headers_of(&session.credential());
    page.authenticator().caller(&headers, base_url, path).await
}

/// Returns the headers that a request with this credential has.
pub(crate) fn headers_of(credential: &Credential) -> HeaderMap {
    let header = credential.header.clone();
    header
        .map(|header| (AUTHORIZATION, header))
        .into_iter()
        .collect()
}

/// Returns the credential of a grant.
///
/// # Errors
/// `unavailable` if the token cannot be sent in a header.
pub(crate) fn credential_of(grant: SignInGrant) -> Result<Credential> {
    let no_text = || Error::unavailable("the identity provider gave a token that is no text");
    let credential = Credential::bearer(&grant.access_token).ok_or_else(no_text)?;
    Ok(Credential {
        refresh_token: grant.refresh_token,
        ..credential
    })
}

/// Returns the session that a cookie of the request names.
pub(crate) fn session_of(
    page: &Page,
    headers: &HeaderMap,
    base_url: &str,
) -> Option<Arc<BrowserSession>> {
    page.sessions().get(&cookie_secret(headers, base_url)?)
}

/// Returns the secret in the cookie of the page.
pub(crate) fn cookie_secret(headers: &HeaderMap, base_url: &str) -> Option<String> {
    cookie_value(headers, &cookie_name(base_url))
}

/// Returns the name of the cookie. Ports of one host share cookies, so it has the port in it.
pub(crate) fn cookie_name(base_url: &str) -> String {
    let port = base_url.rsplit(':').next().unwrap_or_default();
    if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) {
        format!("loci-{port}")
    } else {
        "loci".to_owned()
    }
}

/// Returns the cookie of a session, which scripts cannot read and other sites cannot send.
pub(crate) fn cookie(base_url: &str, secret: &str) -> Result<HeaderValue> {
    let secure = secure_attribute(base_url);
    let name = cookie_name(base_url);
    HeaderValue::try_from(format!(
        "{name}={secret}; HttpOnly; SameSite=Strict; Path=/{secure}"
    ))
    .map_err(|error| {
        Error::internal("the cookie of the session cannot be written").caused_by(error)
    })
}

pub(crate) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

pub(crate) fn see_other(path: &str) -> Response {
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

pub(crate) fn requested_path(request: &Request) -> String {
    let path = request.uri().path_and_query();
    path.map_or("/", |path| path.as_str()).to_owned()
}

/// Requires a scope of the caller, before anything is read.
fn require(caller: &Caller, scope: Scope) -> Result<()> {
    if caller.principal.scopes.allow(scope) {
        return Ok(());
    }
    let message = format!("this needs a token with the scope `{}`", scope.name());
    Err(Error::new(ErrorCode::Forbidden, message))
}

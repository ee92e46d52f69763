//! Whole files that a person sends or takes: an upload to import, and an export.
//!
//! They are not bound by the limit of other requests, and go through memory piece by piece, a few
//! files at a time, and one of a subject.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use loci_admission::{Permit, Subject};
use loci_core::limits::UPLOAD_BYTES_MAX;
use loci_core::{Caller, Error, ErrorCode, Result};
use multer::{Constraints, Field, Multipart, SizeLimit};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::timeout;

use crate::admission::run_blocking;
use crate::failure::failure_to;
use crate::installation::Upload;
use crate::page::Page;
use crate::request::{
    AuthenticatedRequest, RequestContext, check_origin, render_view, requested_path,
};
use crate::view::View;

/// The bytes that are read of a file at once.
const PIECE_BYTES: usize = 64 << 10;
/// The pieces that wait for their reader.
const PIECES_WAITING: usize = 4;
/// The fields that may come before the file.
const FIELDS: [&str; 2] = ["system", "zone"];
/// The bytes of a field that is not the file.
const FIELD_BYTES_MAX: u64 = 1 << 10;
/// The time after which a sender that is silent is given up.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// A file of a form, with the other fields about the file.
pub(crate) struct Received {
    /// The name of the upload.
    pub(crate) upload: String,
    /// The fields before the file that are not empty, by name.
    pub(crate) fields: BTreeMap<&'static str, String>,
}

/// Takes a file out of a form, and answers with its view. `admit` checks the sender before the file
/// is read.
pub(crate) async fn receive_upload<V: View>(
    page: Arc<Page>,
    request: Request,
    admit: fn(&Caller) -> Result<()>,
    view: fn(&RequestContext<'_>, Received) -> Result<V>,
) -> Response {
    let path = requested_path(&request);
    let (parts, body) = request.into_parts();
    let authenticated = match AuthenticatedRequest::of(&page, &parts).await {
        Ok(authenticated) => authenticated,
        Err(refused) => return refused,
    };
    let form = authenticated.form;
    let visitor = Arc::clone(&authenticated.visitor);
    let asked = path.clone();
    let received = async {
        admit(&authenticated.visitor.caller)?;
        let subject = authenticated.visitor.subject.clone();
        let _permit = permit(&page, &subject)?;
        let received = save_upload(&page, &parts, body, &authenticated).await?;
        let visitor = authenticated.visitor;
        run_blocking(&page, &subject, move |page| {
            let view =
                RequestContext::run(page, &visitor, form, |context| view(context, received))?;
            render_view(&visitor, form, (asked, None), view)
        })
        .await
    };
    let received = received.await;
    received.unwrap_or_else(|error| failure_to(&visitor, &error, form, (path, None)))
}

/// Sends a file to be kept, and not to be shown. `open` checks the sender, and returns the bytes.
pub(crate) async fn send_download(
    page: Arc<Page>,
    request: Request,
    name: &'static str,
    open: fn(&RequestContext<'_>) -> Result<Box<dyn Read + Send>>,
) -> Response {
    let path = requested_path(&request);
    let (parts, _) = request.into_parts();
    let authenticated = match AuthenticatedRequest::of(&page, &parts).await {
        Ok(authenticated) => authenticated,
        Err(refused) => return refused,
    };
    let form = authenticated.form;
    let visitor = Arc::clone(&authenticated.visitor);
    let sent = async {
        let visitor = authenticated.visitor;
        let subject = visitor.subject.clone();
        let begun = run_blocking(&page, &subject, move |page| {
            // The permit comes after the check of the sender.
            let mut bytes = RequestContext::run(page, &visitor, form, open)?;
            let permit = permit(page, &visitor.subject)?;
            let first = piece(&mut *bytes)
                .map_err(|error| Error::unavailable(format!("there is no export: {error}")))?;
            Ok((first, bytes, permit))
        });
        let (first, bytes, permit) = begun.await?;
        Ok(stream_body(name, first, bytes, permit))
    };
    let sent: Result<Response> = sent.await;
    sent.unwrap_or_else(|error| failure_to(&visitor, &error, form, (path, None)))
}

fn permit(page: &Page, subject: &Subject) -> Result<Permit> {
    let another = "another file is being sent or taken; try again after it";
    page.transfers()
        .try_acquire(subject, 1)
        .ok_or_else(|| Error::unavailable(another))
}

/// Reads the next bytes; none at the end.
fn piece(bytes: &mut dyn Read) -> io::Result<Bytes> {
    let mut piece = vec![0; PIECE_BYTES];
    let count = bytes.read(&mut piece)?;
    piece.truncate(count);
    Ok(piece.into())
}

/// Returns the answer with a file, of which the first bytes were read.
fn stream_body(
    name: &str,
    first: Bytes,
    mut bytes: Box<dyn Read + Send>,
    permit: Permit,
) -> Response {
    let (sender, receiver) = channel(PIECES_WAITING);
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut next = Ok(first);
        loop {
            match next {
                Ok(end) if end.is_empty() => return,
                Ok(some) => {
                    // A browser that has gone takes no more.
                    if sender.blocking_send(Ok(some)).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "an export of the page was cut off");
                    let _ = sender.blocking_send(Err(error));
                    return;
                }
            }
            next = piece(&mut *bytes);
        }
    });
    let pieces = unfold(receiver, |mut receiver| async move {
        let piece: io::Result<Bytes> = receiver.recv().await?;
        Some((piece, receiver))
    });
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

/// Keeps the file of a form, and returns its name with the fields before it. A file that could not be kept as a whole is
/// removed.
async fn save_upload(
    page: &Arc<Page>,
    parts: &Parts,
    body: Body,
    authenticated: &AuthenticatedRequest,
) -> Result<Received> {
    let announced = announced_length(&parts.headers);
    if announced > UPLOAD_BYTES_MAX {
        return Err(too_large());
    }
    let mut fields = fields_of(&parts.headers, body)?;
    let (mut csrf, mut told) = (None, BTreeMap::new());
    while let Some(mut field) = with_timeout(fields.next_field()).await? {
        match field.name() {
            Some("csrf") => csrf = Some(with_timeout(field.text()).await?),
            Some(name) if FIELDS.contains(&name) => {
                let name = FIELDS.into_iter().find(|known| *known == name);
                let text = with_timeout(field.text()).await?;
                told.extend(name.filter(|_| !text.is_empty()).map(|name| (name, text)));
            }
            Some("file") => {
                check_origin(
                    &authenticated.visitor,
                    &parts.headers,
                    &authenticated.base_url,
                    csrf.as_deref(),
                )?;
                let subject = &authenticated.visitor.subject;
                let named = field.file_name().map(str::to_owned);
                let Upload { name, file } = run_blocking(page, subject, move |page| {
                    page.installation()
                        .begin_upload(announced, named.as_deref())
                })
                .await?;
                let outcome = write(&mut field, file).await;
                if outcome.is_err() {
                    let name = name.clone();
                    let discard = move |page: &Page| page.installation().discard_upload(&name);
                    let _ = run_blocking(page, subject, discard).await;
                }
                return outcome.map(|()| Received {
                    upload: name,
                    fields: told,
                });
            }
            _ => {}
        }
    }
    Err(Error::invalid("file", "is missing: choose a file"))
}

fn fields_of(headers: &HeaderMap, body: Body) -> Result<Multipart<'static>> {
    let kind = headers.get(CONTENT_TYPE);
    let boundary = kind
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| multer::parse_boundary(kind).ok())
        .ok_or_else(|| {
            Error::invalid("body", "must be a form with a file (multipart/form-data)")
        })?;
    let limits = SizeLimit::new()
        .for_field("csrf", FIELD_BYTES_MAX)
        .for_field("file", UPLOAD_BYTES_MAX);
    let limits = FIELDS.into_iter().fold(limits, |limits, name| {
        limits.for_field(name, FIELD_BYTES_MAX)
    });
    let limits = Constraints::new().size_limit(limits);
    let pieces = body.into_data_stream();
    Ok(Multipart::with_constraints(pieces, boundary, limits))
}

/// Returns the length of a request that its sender announces.
fn announced_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or_default()
}

fn too_large() -> Error {
    let message =
        format!("the file is larger than {UPLOAD_BYTES_MAX} bytes; import it with `loci import`");
    Error::new(ErrorCode::TooLarge, message)
}

/// Waits for a part of a form.
async fn with_timeout<T>(part: impl Future<Output = multer::Result<T>>) -> Result<T> {
    match timeout(SILENCE_MAX, part).await {
        Ok(Ok(part)) => Ok(part),
        Ok(Err(multer::Error::FieldSizeExceeded { field_name, .. })) => {
            Err(match field_name.as_deref() {
                None | Some("file") => too_large(),
                Some(name) => {
                    let problem = format!("must not be longer than {FIELD_BYTES_MAX} bytes");
                    Error::about_argument(ErrorCode::TooLarge, name, problem)
                }
            })
        }
        Ok(Err(_)) | Err(_) => Err(Error::invalid("body", "broke off; send the file once more")),
    }
}

/// Writes the file of a form, and makes it durable enough for another process to read it.
async fn write(field: &mut Field<'_>, mut file: std::fs::File) -> Result<()> {
    let (sender, mut receiver) = channel::<Bytes>(PIECES_WAITING);
    let writer = tokio::task::spawn_blocking(move || -> io::Result<()> {
        while let Some(piece) = receiver.blocking_recv() {
            file.write_all(&piece)?;
        }
        file.flush()
    });
    let read = forward_chunks(field, sender).await;
    let written = writer.await.map_err(|panicked| {
        Error::internal("loci failed while it kept a file").caused_by(panicked)
    })?;
    written.map_err(|error| Error::unavailable(format!("the file cannot be kept: {error}")))?;
    read
}

/// Passes the pieces of a file on, until they end or their writer fails.
async fn forward_chunks(field: &mut Field<'_>, sender: Sender<Bytes>) -> Result<()> {
    while let Some(piece) = with_timeout(field.chunk()).await? {
        if sender.send(piece).await.is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use loci_admission::Pool;

    use super::*;

    /// Fails after all bytes of a text.
    struct CutOff(&'static [u8]);

    impl Read for CutOff {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("cut off")),
                count => Ok(count),
            }
        }
    }

    #[tokio::test]
    async fn an_export_that_is_cut_off_does_not_look_whole() {
        let (transfers, subject) = (Pool::new(1, 1), Subject::network(None));
        let permit = || transfers.try_acquire(&subject, 1).unwrap();
        let whole = stream_body("a", Bytes::from("one"), Box::new(&b"two"[..]), permit());
        let whole = whole.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(whole, "onetwo");
        // The permit is back once the writer has ended.
        let permit = transfers.acquire(&subject, 1).await.unwrap();
        let cut_off = stream_body("a", Bytes::from("one"), Box::new(CutOff(b"two")), permit);
        assert!(cut_off.into_body().collect().await.is_err());
    }
}

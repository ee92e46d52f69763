//! The style, the scripts and the picture of the page, each under a path with its hash, so that
//! browsers keep them.

use std::io::Write;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

use crate::page::Page;

/// The digits of a hash in a path.
const HASH_DIGITS: usize = 12;
const KEPT: &str = "public, max-age=31536000, immutable";

struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 8] = [
    Asset {
        name: "page.css",
        media_type: "text/css; charset=utf-8",
        content: concat!(
            include_str!("../assets/page.css"),
            include_str!("../assets/views.css"),
            include_str!("../assets/browse.css")
        ),
    },
    Asset {
        name: "page.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/page.js"),
    },
    Asset {
        name: "browse.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/browse.js"),
    },
    Asset {
        name: "time.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/time.js"),
    },
    Asset {
        name: "order.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/order.js"),
    },
    Asset {
        name: "review.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/review.js"),
    },
    Asset {
        name: "htmx.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/htmx-2.0.11.min.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_str!("../assets/icon.svg"),
    },
];

/// An asset as it is sent.
struct PreparedAsset {
    /// The path, with the hash.
    path: String,
    asset: &'static Asset,
    gzip: Vec<u8>,
}

static PREPARED: LazyLock<Vec<PreparedAsset>> =
    LazyLock::new(|| ASSETS.iter().map(prepare).collect());

fn prepare(asset: &'static Asset) -> PreparedAsset {
    let mut hash = HEXLOWER.encode(&Sha256::digest(asset.content));
    hash.truncate(HASH_DIGITS);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail; without the bytes the plain ones are sent.
    let _ = gzip.write_all(asset.content.as_bytes());
    PreparedAsset {
        path: format!("/assets/{hash}/{}", asset.name),
        asset,
        gzip: gzip.finish().unwrap_or_default(),
    }
}

/// Returns the path of an asset.
pub(crate) fn path_of(name: &str) -> &'static str {
    PREPARED
        .iter()
        .find(|prepared| prepared.asset.name == name)
        .map_or("", |prepared| &prepared.path)
}

/// Returns the routes of the assets.
pub(crate) fn routes() -> Router<Arc<Page>> {
    Router::new().route("/assets/{hash}/{name}", get(send))
}

async fn send(Path((hash, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let path = format!("/assets/{hash}/{name}");
    let Some(prepared) = PREPARED.iter().find(|prepared| prepared.path == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let takes_gzip = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("gzip"));
    let fixed = [
        (CONTENT_TYPE, prepared.asset.media_type),
        (CACHE_CONTROL, KEPT),
        (VARY, "accept-encoding"),
    ];
    if takes_gzip && !prepared.gzip.is_empty() {
        let encoding = [(CONTENT_ENCODING, "gzip")];
        (fixed, encoding, prepared.gzip.as_slice()).into_response()
    } else {
        (fixed, prepared.asset.content).into_response()
    }
}

//! The page on the naive store: who gets in, what is shown, and what changes. Clients are let in on
//! every store.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod attacks;
mod browsing;
mod changes;
mod entering;
mod figures;
mod grant_stores;
mod interface;
mod keeping;
mod measuring;
mod oauth;
mod past;
mod places;
mod review;
mod shares;
mod shell;
mod showing;
mod sign_in;
mod support;
mod time;

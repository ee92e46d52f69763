//! The page on the naive store: who gets in, what is shown, and what changes.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod attacks;
mod changes;
mod entering;
mod keeping;
mod measuring;
mod review;
mod shares;
mod showing;
mod sign_in;
mod support;
mod time;

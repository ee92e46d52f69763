//! The hosts that loci knows, one module for each.

mod claude_code;
mod claude_desktop;
mod cline;
mod codex;
mod cursor;
mod gemini_cli;
mod goose;
mod opencode;
mod vscode;
mod windsurf;
mod zed;

pub use claude_code::CLAUDE_CODE;
pub use claude_desktop::CLAUDE_DESKTOP;
pub use cline::CLINE;
pub use codex::CODEX;
pub use cursor::CURSOR;
pub use gemini_cli::GEMINI_CLI;
pub use goose::GOOSE;
pub use opencode::OPENCODE;
pub use vscode::VSCODE;
pub use windsurf::WINDSURF;
pub use zed::ZED;

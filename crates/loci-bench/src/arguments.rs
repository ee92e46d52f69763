//! The arguments of `loci-bench`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use loci::Common;

/// Measure speed, size and quality of loci on this machine
///
/// The settings are loci's own. Commands that measure processes start the `loci` that LOCI_BIN
/// names, else the one in the same folder.
#[derive(Parser)]
#[command(
    name = "loci-bench",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Bench,
}

#[derive(Subcommand)]
pub enum Bench {
    /// Measure start, write, search and memory against the goals, on made-up memories
    Speed {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of memories to search in
        #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
        memories: u32,
        /// Rank without this step, to see what it costs; may be given several times
        #[arg(long, value_name = "STEP")]
        without: Vec<String>,
    },
    /// Measure a folder of notes: first indexing, a start without changes, appended notes
    ///
    /// Without a model. Half of the notes have frontmatter.
    Notes {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of notes
        #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
        notes: u32,
    },
    /// Measure the tools of a palace of many drawers, hooks, and mining a project
    Palace {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of drawers
        #[arg(long, value_name = "NUMBER", default_value_t = 50_000)]
        drawers: u32,
    },
    /// Measure the time for which a prompt waits for its hook, with a server and without
    Hooks {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of memories
        #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
        memories: u32,
    },
    /// Measure the views of the page beside the calls of agents, with 2,000 rooms
    Page {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of memories
        #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
        memories: u32,
    },
    /// Measure many clients of many users over HTTP, and what a user's health and wipe cost
    Clients {
        /// Work in this folder, on the disk to be measured [default: a temporary one]
        #[arg(long = "in", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// The number of memories that the users have together
        #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
        memories: u32,
        /// The number of calls that each client makes
        #[arg(long, value_name = "NUMBER", default_value_t = 250)]
        calls: u32,
        /// Compare an encrypted store with the same store in the clear, in turn, instead
        #[arg(long)]
        encrypted: bool,
    },
    /// Measure the memory that a server and idle processes hold after a burst of calls
    ///
    /// 256 clients store and recall over HTTP at once; then nothing is called, and the model is given
    /// up. Takes two to three minutes, most of which is waiting.
    Memory {
        /// The number of memories that are stored before
        #[arg(long, value_name = "NUMBER", default_value_t = 20_000)]
        memories: u32,
    },
    /// Measure the time of searches while texts are embedded in the background
    ///
    /// Searches go to the server that embeds, and to a process beside it; each in turn with nothing
    /// to embed. Takes about a minute.
    Background {
        /// The number of memories to search in
        #[arg(long, value_name = "NUMBER", default_value_t = 5_000)]
        memories: u32,
        /// The number of clients that ask the server at once
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        clients: u32,
        /// The number of calls of each client, without and with work in the background
        #[arg(long, value_name = "NUMBER", default_value_t = 300)]
        calls: u32,
    },
    /// Measure what a burst of senders that stop in their requests costs a server and its agents
    ///
    /// A third each sends to `/sign-in`, as a stranger, to `/api/v1` and to `/mcp`; one half stops
    /// within 8 MB, the other within what needs no share of memory. Each then sends a byte now and
    /// then. Takes about a minute.
    Stalled {
        /// The number of memories to search in
        #[arg(long, value_name = "NUMBER", default_value_t = 20_000)]
        memories: u32,
        /// The number of senders
        #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
        senders: u32,
        /// The number of calls of an agent before the burst, and at most beside it
        #[arg(long, value_name = "NUMBER", default_value_t = 500)]
        calls: u32,
    },
    /// Measure which prompts bring up memories: questions of LoCoMo, which should, and prompts that
    /// have nothing to do with the store
    Prompts(Prompts),
    /// Measure how well the tools find the evidence of LoCoMo's questions
    ///
    /// Every conversation is filed by tool calls into a store of its own, the background settles,
    /// then every question is asked. The metric is the mean share of a question's evidence among
    /// the first results.
    Locomo(Locomo),
    /// Measure whether the tools find what must be found, among invented facts
    ///
    /// Paraphrases, identifiers, names, phrases, dates, relative times, scripts, near-duplicates,
    /// long documents and facts among chat, filed and asked by tool calls, beside what only words
    /// and only vectors find. Fails if a kind of question stays below its floor.
    Needles(Needles),
    /// Measure what a consolidation does to a store in which two fifths of the memories are repeats
    ///
    /// Invented facts, some of which are said again: the same, with other signs, in a frame, shorter, by
    /// synonyms, in other words. Questions for facts that are repeated and for others are asked before
    /// and after. Fails if evidence is lost, a memory stands behind another fact, or a further run
    /// would change something.
    Repeats(Repeats),
    /// Measure whether the tools find the texts that answer the questions of sets, and whether only
    /// words or only vectors do
    ///
    /// The sets are the ones that scripts/retrieval-sets builds from what packages ship. Each is
    /// filed by tool calls into a store beside it, which later runs use again; then every question
    /// is asked.
    Sets(Sets),
    /// Measure the fusion of words and meaning on these sets, and fit its weights
    ///
    /// The weights are fitted to the training halves. What the ranking was before hubs counted less
    /// is beside it.
    Fusion(Fusion),
    /// Measure which questions are told that nothing stored answers them, or fit the strength of
    /// results
    ///
    /// Questions that a store answers, beside questions of other stores, prompts about other things
    /// and made-up words, which it does not. Fails if the held-out half misses its bars.
    Strength(Strength),
    /// Measure which memories matter in which phases of work, and where the floor of
    /// `memory_recall` is best
    ///
    /// Invented memories of two projects, with the phases in which they matter: the floor is fitted
    /// on the first and reported on the second. Fails if the floor in use is much worse than the
    /// best one.
    Phases {
        /// Write the figures into this file, too, as JSON
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
    /// Measure what the replies to an agent hold: the evidence it needs, distractors, tokens
    ///
    /// Scripted tasks through the tools of every dialect and at the start of a session, without a
    /// language model, in a store of many projects and people that a seed determines. Every task
    /// says which parts of memories its reply must hold, which it must not, and how many tokens it
    /// may have.
    Agent(AgentBench),
    /// Measure which contradictions and duplicates `remember` tells of, and which it imagines
    ///
    /// Pairs of memories of five domains, each pair in a project of its own, filed by tool calls;
    /// the half for tuning and the half for judging are told apart. Fails if the half for judging
    /// stays below its floor.
    Contradictions(Pairs),
    /// Measure how certain the pairs are that the page shows for a person to decide
    ///
    /// Contradictions, and unrelated pairs of one topic; the half for tuning and the half for
    /// judging are told apart. Fails if the half for judging stays below its floor.
    Certainty(Pairs),
    /// Measure which questions the cache of answers takes for the same
    ///
    /// Pairs of questions that ask the same and pairs that do not, by tool calls. Fails if the half
    /// for judging has wrong hits beyond their limit.
    CachedQuestions(Pairs),
    /// Measure searches in many passages, without a model, beside what the memory allows
    ///
    /// Made-up passages with vectors in a store on the disk; a process of its own then searches.
    Engine(EngineBench),
    /// Measure the store on a PostgreSQL server beside SQLite's and beside the bare statements
    ///
    /// Searches, first searches and durable writes, of one and of several writers. Starts the
    /// PostgreSQL of this machine with fsync, or uses the server that LOCI_TEST_POSTGRES names.
    #[cfg(unix)]
    Server {
        /// The number of memories in the largest space: 10k, 100k
        #[arg(long, value_name = "NUMBER", default_value = "100k", value_parser = count)]
        memories: usize,
    },
    /// Measure several front ends with one store on a PostgreSQL server, over HTTP with tokens
    ///
    /// Without a model. Clients call in many spaces, in a few of them most often; then one space is
    /// written through one front end and through all. Starts the PostgreSQL of this machine with
    /// fsync, or uses the server that LOCI_TEST_POSTGRES names.
    #[cfg(unix)]
    Cluster(Cluster),
}

/// The sizes of a cluster.
#[cfg(unix)]
#[derive(Args)]
pub struct Cluster {
    /// The number of `loci serve`
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub front_ends: u32,
    /// The number of clients of each
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    pub clients: u32,
    /// The number of spaces, each with a token
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub spaces: u32,
    /// The number of memories in each space
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub memories: u32,
    /// The number of calls of each client
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub calls: u32,
    /// The seconds for which the statements of idle front ends are counted
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub idle: u64,
}

#[derive(Args)]
pub struct Locomo {
    /// LoCoMo's locomo10.json, or the folder with it
    // The same name as the option of every command, which it replaces: a benchmark has its own
    // stores.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub data: String,
    /// Whose tools: memory-mcp files the turns as messages of conversations, mememory as facts
    #[arg(long, value_name = "DIALECT", default_value = "memory-mcp", value_parser = ["memory-mcp", "mememory"])]
    pub dialect: String,
    /// The conversations: the first five (dev), the others (test), or all
    #[arg(long, value_name = "SPLIT", default_value = "all", value_parser = ["dev", "test", "all"])]
    pub split: String,
    /// The tools of memory-mcp to ask: recall_memory, hybrid_search or both
    #[arg(long, value_name = "TOOL", default_value = "both", value_parser = ["recall_memory", "hybrid_search", "both"])]
    pub tool: String,
    /// Rank without this step, or with another value of a fitted number (`contrast=1.1`), to see what
    /// it gives; may be given several times
    #[arg(long, value_name = "STEP")]
    pub without: Vec<String>,
    /// Consolidate each store before its questions
    #[arg(long)]
    pub consolidate: bool,
    /// Keep the stores in this folder, and use stores that an earlier run left there
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Write the figures into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Needles {
    /// The questions: the reported ones in English (test), the ones in or to other languages
    /// (languages), or the ones that the weights were fitted on (train)
    #[arg(long, value_name = "SET", default_value = "test", value_parser = ["test", "languages", "train"])]
    pub set: String,
    /// The number of facts that answer no question
    #[arg(long, value_name = "NUMBER", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(..=20_000))]
    pub distractors: u32,
    /// Seed of the invented facts
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Rank without this step, or with another value of a fitted number (`contrast=1.1`), to see what
    /// it gives; may be given several times
    #[arg(long, value_name = "STEP")]
    pub without: Vec<String>,
    /// Write the figures and the rank of every fact into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Repeats {
    /// The number of memories
    #[arg(long, value_name = "NUMBER", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(10..=20_000))]
    pub memories: u32,
    /// The number of questions, one half for repeated facts
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub questions: u32,
    /// The seed of the facts
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Write the figures into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Prompts {
    /// LoCoMo's file, or the folder with it
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub data: String,
    /// The conversations: the five for choosing settings (dev), the others (test), or all
    #[arg(long, value_name = "SPLIT", default_value = "all", value_parser = ["dev", "test", "all"])]
    pub split: String,
    /// Keep the stores in this folder, and use stores that an earlier run left there
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Write the figures into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Sets {
    /// The folder of the sets
    // The same name as the option of every command, which it replaces: a benchmark has its own
    // stores.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub data: String,
    /// Only the sets of these names, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The questions: the ones that weights are fitted on (train), the others (test), or all
    #[arg(long, value_name = "HALF", default_value = "all", value_parser = ["train", "test", "all"])]
    pub half: String,
    /// Rank without this step, or with another value of a fitted number (`contrast=1.1`), to see what
    /// it gives; may be given several times
    #[arg(long, value_name = "STEP")]
    pub without: Vec<String>,
    /// Ask only this tool [default: the tools that search of the dialect that a set is filed
    /// through]
    #[arg(long, value_name = "TOOL", value_parser = ["recall", "recall_memory", "hybrid_search", "mempalace_search", "memory_search"])]
    pub tool: Option<String>,
    /// Write the figures into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Fusion {
    /// The folder that scripts/retrieval-sets has filled
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub data: String,
    /// Only these sets
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The needles for training as well, which belong to all sets
    #[arg(long)]
    pub needles: bool,
    /// Fit the weights, else report those in use
    #[arg(long)]
    pub fit: bool,
    /// Fit them again with each set left out in turn, which takes as long for each
    #[arg(long, requires = "fit")]
    pub left_out: bool,
    /// The most times that a number is tried again
    #[arg(long, value_name = "NUMBER", default_value_t = 8)]
    pub rounds: u32,
}

#[derive(Args)]
pub struct Strength {
    /// The folder that scripts/retrieval-sets has filled
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub data: String,
    /// LoCoMo's locomo10.json, or the folder with it, for its conversations as well
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub locomo: Option<String>,
    /// Only these sets of the folder
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Fit the coefficients, else report those in use
    #[arg(long)]
    pub fit: bool,
    /// Write the figures into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct AgentBench {
    /// The number of memories in the store
    #[arg(long, value_name = "NUMBER", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(..=20_000))]
    pub memories: u32,
    /// Ask so many of the tasks, evenly from all [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: Option<u32>,
    /// The seed of the memories around the tasks' memories
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Consolidate the store before the tasks
    #[arg(long)]
    pub consolidate: bool,
    /// List tasks, with what they miss: the ones that are not right (failed), or all
    #[arg(long, value_name = "TASKS", value_parser = ["failed", "all"])]
    pub show: Option<String>,
    /// Keep the store in this folder, and use the one that an earlier run of the same loci left
    /// there
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
    /// Write the figures and the outcome of every task into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Pairs {
    /// Write the figures and the outcome of every pair into this file, too, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct EngineBench {
    /// The number of passages: 10k, 100k, 1M
    #[arg(long, value_name = "NUMBER", default_value = "100k", value_parser = count)]
    pub passages: usize,
    /// Keep the store in this folder, and use the one that an earlier run left there
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    /// Only measure, in this process
    #[arg(long, hide = true, requires = "folder")]
    pub measure: bool,
}

/// Parses a number above 0, with `k` for thousands and `M` for millions.
fn count(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text
            .strip_suffix(['m', 'M'])
            .map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits
        .parse()
        .ok()
        .and_then(|number: usize| number.checked_mul(unit));
    number
        .filter(|number| (1..=u32::MAX as usize).contains(number))
        .ok_or_else(|| "give a number such as 500, 10k or 1M".to_owned())
}

//! The files of a project as drawers.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use loci_core::{Caller, ContentHash, FileStamp, SourceFile};
use loci_engine::{Engine, ReadSource, SourcePart, check};
use loci_mine::project::{self, Plan, TextFile};

use super::{Report, id_of, reason, settled};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;

/// How project files are read.
pub const FORMAT: &str = "project";
/// The attribute that says which lines of the file a drawer is.
const LINES: &str = "lines";
/// The kind of a drawer of a project.
const DRAWER: &str = "drawer";
/// Parts and bytes that are filed together, at most: other writers wait that long.
const TOGETHER_PARTS: usize = 256;
const TOGETHER_BYTES: usize = 1 << 20;

/// Which folder to file where, and how.
pub struct Mining<'a> {
    /// The absolute path of the folder.
    pub root: &'a str,
    /// Its wing and rooms.
    pub plan: &'a Plan,
    /// Whether to say only what would be done.
    pub is_dry: bool,
    /// Whether to read files that have not changed.
    pub rereads: bool,
}

/// What is known and what is there.
struct Work<'a> {
    engine: &'a Engine,
    caller: Caller,
    mining: &'a Mining<'a>,
    /// Files that are not there any more, by what was in them.
    gone: HashMap<ContentHash, Vec<SourceFile>>,
    waiting: Vec<ReadSource>,
    report: Report,
}

/// Files a folder. Whatever was filed before it is interrupted stays, and is known the next time.
///
/// # Errors
/// [`Exit::Usage`] if the folder cannot be read, and whatever the store refuses as a whole; files that cannot be filed
/// are in the report.
pub fn mine(engine: &Engine, mining: &Mining<'_>, progress: &Progress) -> Result<Report, Failure> {
    let root = Path::new(mining.root);
    let walked = project::walk(root)
        .map_err(|error| Failure::new(Exit::Usage, format!("{} cannot be read: {error}", mining.root)))?;
    let caller = super::caller();
    let known = engine.source_files(&caller, Some(&mining.plan.wing))?;
    let mut known: BTreeMap<String, SourceFile> = known
        .into_iter()
        .filter(|file| file.format == FORMAT && Path::new(&file.path).starts_with(root))
        .map(|file| (file.path.clone(), file))
        .collect();
    let mut report = Report { files: (walked.files.len() + walked.passed_over.len()) as u64, ..Report::default() };
    walked.passed_over.iter().for_each(|(_, why)| report.pass_over(reason(*why)));
    let there: Vec<(String, FileStamp)> =
        walked.files.into_iter().filter_map(|(path, stamp)| Some((path.to_str()?.to_owned(), stamp))).collect();
    let files: Vec<_> = there.into_iter().map(|(path, stamp)| (known.remove(&path), path, stamp)).collect();
    // What is left is not there any more, or is ignored by now.
    let mut gone: HashMap<ContentHash, Vec<SourceFile>> = HashMap::new();
    for file in known.into_values() {
        gone.entry(file.hash).or_default().push(file);
    }
    let mut work = Work { engine, caller, mining, gone, waiting: Vec::new(), report };
    progress.begin(files.len() as u64);
    for (before, path, stamp) in files {
        work.look(before, path, stamp)?;
        progress.advance(1);
    }
    work.file()?;
    work.report.gone = work.gone.values().map(Vec::len).sum::<usize>() as u64;
    Ok(work.report)
}

impl Work<'_> {
    fn look(&mut self, before: Option<SourceFile>, path: String, stamp: FileStamp) -> Result<(), Failure> {
        let is_known = |file: &SourceFile| file.stamp == stamp && !file.is_pending;
        if !self.mining.rereads && before.as_ref().is_some_and(is_known) {
            self.report.unchanged += 1;
            return Ok(());
        }
        let file = match project::read(Path::new(&path)) {
            Ok(Ok(file)) => file,
            // Whatever was filed of it stays, since it may be text again: `sync` is what removes.
            Ok(Err(why)) => {
                self.report.pass_over(reason(why));
                return Ok(());
            }
            Err(error) => {
                self.report.failed.push((path, format!("cannot be read: {error}")));
                return Ok(());
            }
        };
        let moved_from = before.is_none().then(|| self.gone.get_mut(&file.hash)?.pop()).flatten();
        let is_same = before.as_ref().is_some_and(|before| before.hash == file.hash);
        if is_same && !self.mining.rereads {
            self.report.unchanged += 1;
        } else {
            self.report.read += 1;
            self.report.moved += u64::from(moved_from.is_some());
        }
        self.waiting.push(self.read(before, moved_from, path, &file));
        if self.is_full() { self.file() } else { Ok(()) }
    }

    fn read(
        &self,
        before: Option<SourceFile>,
        moved_from: Option<SourceFile>,
        path: String,
        file: &TextFile,
    ) -> ReadSource {
        let Mining { root, plan, .. } = self.mining;
        let section = plan.room_of(Path::new(root), Path::new(&path)).to_owned();
        let sections = project::sections(Path::new(&path), &file.text);
        let parts: Vec<SourcePart> = (0..)
            .zip(sections)
            .filter(|(_, section)| !file.text[section.bytes.clone()].trim().is_empty())
            .map(|(position, part)| SourcePart {
                thread: path.clone(),
                position,
                content: file.text[part.bytes].to_owned(),
                section: section.clone(),
                kind: DRAWER.to_owned(),
                title: part.title.filter(|title| check::name("title", title).is_ok()),
                attributes: BTreeMap::from([(LINES.to_owned(), format!("{}-{}", part.lines.0, part.lines.1))]),
                created_at: None,
            })
            .collect();
        let known = SourceFile {
            collection: Some(plan.wing.clone()),
            path,
            root: (*root).to_owned(),
            format: FORMAT.to_owned(),
            stamp: settled(file.stamp, self.engine.now()),
            bytes_read: file.stamp.bytes,
            hash: file.hash,
            parts: parts.len() as u64,
            is_pending: false,
            is_whole: true,
        };
        ReadSource { file: known, before, moved_from: moved_from.map(|file| file.path), parts }
    }

    fn is_full(&self) -> bool {
        let parts = self.waiting.iter().map(|read| read.parts.len()).sum::<usize>();
        let contents = self.waiting.iter().flat_map(|read| &read.parts);
        parts >= TOGETHER_PARTS || contents.map(|part| part.content.len()).sum::<usize>() >= TOGETHER_BYTES
    }

    /// Files what waits.
    fn file(&mut self) -> Result<(), Failure> {
        let waiting = std::mem::take(&mut self.waiting);
        if self.mining.is_dry {
            for read in &waiting {
                self.report.add(self.engine.preview_source(&self.caller, &id_of, read)?);
            }
            return Ok(());
        }
        let paths: Vec<String> = waiting.iter().map(|read| read.file.path.clone()).collect();
        let outcomes = self.engine.file_sources(&self.caller, &id_of, waiting)?;
        for (path, outcome) in paths.into_iter().zip(outcomes) {
            match outcome {
                Ok(filed) => self.report.add(filed),
                Err(error) => self.report.failed.push((path, error.message)),
            }
        }
        Ok(())
    }
}

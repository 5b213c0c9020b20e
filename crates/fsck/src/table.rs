//! Checks one data file: both checkpoints, their manifests, every block.

use std::collections::BTreeSet;
use std::path::Path;

use pelorus_env::Disk;

use crate::blocks::{BlockFile, Entry, Expected, Generation, taken};
use crate::manifest::{Body, Manifest};
use crate::part::{DELTAS, MANIFEST, PartReader};
use crate::replay::TableLog;
use crate::report::{Findings, Place, TableReport, advice};
use crate::rows::{RowReader, Sink};

/// A data file with its newest manifest.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) number: u64,
    pub(crate) file: Option<BlockFile>,
    manifest: Option<Manifest>,
    /// The log does not reach back to it.
    is_old: bool,
    /// The findings so far; they count only if the table exists.
    pub(crate) findings: Findings,
}

impl TableFile {
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        database: Option<[u8; 16]>,
    ) -> Self {
        let mut findings = Findings::default();
        let expected = Expected { database, table: Some(number) };
        let file = BlockFile::open(disk, path, expected, &mut findings);
        let chosen = file.as_ref().and_then(|it| Some((it, it.chosen.as_ref()?)));
        let manifest = chosen
            .and_then(|(file, chosen)| read_manifest(file, chosen, &mut findings, advice::REWRITE));
        Self { number, file, manifest, is_old: false, findings }
    }

    /// Reports that the file is older than the catalog; then its rows are unknown.
    pub(crate) fn is_old(&mut self, what: String) {
        if let Some(file) = self.file.as_ref() {
            self.findings.damage(Place::file(&file.path), what, advice::MISSING);
        }
        self.is_old = true;
    }

    /// The log position and the manifest, if the file can be used.
    pub(crate) fn state(&self) -> Option<(u64, Option<&Manifest>)> {
        let chosen = self.file.as_ref()?.chosen.as_ref()?;
        let is_usable = chosen.header.root == 0 || self.manifest.is_some();
        (is_usable && !self.is_old).then_some((chosen.header.lsn, self.manifest.as_ref()))
    }

    /// Checks everything in the file, and its rows together with the log's. `log` is `None` when
    /// the log could not be read as far as this table needs it, `newest` when the newest version of
    /// the database is not known.
    pub(crate) fn check(
        &mut self,
        newest: Option<u64>,
        log: Option<&TableLog>,
        sink: &mut Sink<'_>,
        not_checked: &mut Vec<String>,
    ) -> TableReport {
        let mut report = TableReport { table: self.number, ..TableReport::default() };
        let Some(file) = &self.file else { return report };
        let Some(chosen) = &file.chosen else { return report };
        let empty = Manifest::empty();
        report.checkpoint = chosen.header.checkpoint;
        report.lsn = chosen.header.lsn;
        let mut seen = BTreeSet::new();
        let mut walk = Walk { newest, file, report: &mut report, findings: &mut self.findings };
        let manifest = match (&self.manifest, chosen.header.root) {
            (Some(manifest), _) => Some(manifest),
            // Without a checkpoint there are only the log's rows.
            (None, 0) => Some(&empty),
            (None, _) => None,
        };
        if let Some(manifest) = manifest {
            walk.report.version = manifest.version;
            walk.report.chunks = crate::bytes::long(manifest.chunks().count());
            walk.report.partitions =
                crate::bytes::long(log.map_or(manifest.partitions.len(), |it| it.partitions.len()));
            walk.rules(chosen, manifest, advice::REWRITE);
            let mut parts = walk.parts(chosen, manifest, advice::REWRITE);
            let mut rows =
                RowReader { table: self.number, parts: &mut parts, log, sink, not_checked };
            let live = rows.read(manifest);
            report.live_rows = live;
            seen = named(chosen, manifest);
        }
        let mut walk = Walk { newest, file, report: &mut report, findings: &mut self.findings };
        walk.rest(chosen, manifest, &seen);
        if let Some(fallback) = &file.fallback {
            walk.fallback(chosen, fallback);
        }
        report
    }
}

impl Manifest {
    /// That of a file without a checkpoint.
    fn empty() -> Self {
        Self {
            version: 0,
            floor: 0,
            layouts: Vec::new(),
            delta_blocks: Vec::new(),
            next_partition: 0,
            partitions: Vec::new(),
        }
    }
}

/// Reads the manifest of a checkpoint, if it has one.
pub(crate) fn read_manifest(
    file: &BlockFile,
    generation: &Generation,
    findings: &mut Findings,
    advice: &'static str,
) -> Option<Manifest> {
    let root = generation.header.root;
    if root == 0 {
        return None;
    }
    let mut place = Place::file(&file.path).block(root);
    let read = match generation.entries.get(&root) {
        None => Err("the root is not in the table of blocks".into()),
        Some(entry) => {
            place = place.at(entry.offset);
            if entry.kind == MANIFEST {
                file.read(&generation.header, entry).and_then(|bytes| Manifest::parse(&bytes))
            } else {
                Err(format!("the root has kind {} instead of {MANIFEST}", entry.kind))
            }
        }
    };
    let read = read.map_err(|why| format!("the manifest is damaged: {why}"));
    read.map_err(|why| findings.damage(place, why, advice)).ok()
}

/// Entries that a manifest names.
fn named(generation: &Generation, manifest: &Manifest) -> BTreeSet<u64> {
    let chunks = manifest.chunks().map(|(.., at)| at.block);
    chunks.chain(manifest.delta_blocks.iter().copied()).chain([generation.header.root]).collect()
}

/// Goes through a file.
struct Walk<'a> {
    newest: Option<u64>,
    file: &'a BlockFile,
    report: &'a mut TableReport,
    findings: &'a mut Findings,
}

impl Walk<'_> {
    fn parts<'b>(
        &'b mut self,
        generation: &'b Generation,
        manifest: &'b Manifest,
        advice: &'static str,
    ) -> PartReader<'b> {
        let (file, findings, report) = (self.file, &mut *self.findings, &mut *self.report);
        let mut parts =
            PartReader { file, generation, manifest, advice, findings, report, images: None };
        for &number in &manifest.delta_blocks {
            parts.block(number, DELTAS);
        }
        parts
    }

    /// Checks what a manifest says against itself.
    fn rules(&mut self, generation: &Generation, manifest: &Manifest, advice: &'static str) {
        let place = Place::file(&self.file.path).block(generation.header.root);
        // Commits go on while a manifest is written, so its floor may be above its version.
        if let Some(newest) = self.newest.filter(|newest| manifest.floor > *newest) {
            let what =
                format!("the oldest version to be read is {}, the newest {newest}", manifest.floor);
            self.findings.damage(place, what, advice);
        }
        let parts = manifest.partitions.iter().flat_map(|it| &it.parts);
        if let Some(base) = parts.map(|part| part.deletes.base_version).max()
            && base > manifest.floor
        {
            let what = format!(
                "versions from {} to {} are said to be readable, but when rows died before {base} \
                 is not known",
                manifest.floor,
                base - 1
            );
            self.findings.damage(place, what, advice);
        }
        let mut blocks: Vec<u64> = manifest.chunks().map(|(.., at)| at.block).collect();
        blocks.extend(&manifest.delta_blocks);
        blocks.push(generation.header.root);
        blocks.sort_unstable();
        if let Some(pair) = blocks.windows(2).find(|pair| pair[0] == pair[1]) {
            let what = format!("it names block {} twice", pair[0]);
            self.findings.damage(place, what, advice);
        }
    }

    /// Verifies the translation table, the root, and unreferenced blocks.
    fn rest(&mut self, chosen: &Generation, manifest: Option<&Manifest>, seen: &BTreeSet<u64>) {
        self.count_opened(chosen);
        let others: Vec<&Entry> =
            chosen.entries.values().filter(|entry| !seen.contains(&entry.number)).collect();
        for entry in &others {
            if entry.number != chosen.header.root {
                self.verify(chosen, entry, advice::REWRITE);
            }
        }
        if manifest.is_some()
            && let Some(first) = others.first()
        {
            let bytes: u64 = others.iter().map(|entry| taken(entry)).sum();
            let what = format!(
                "{} blocks of {bytes} bytes are in the table of blocks, but the manifest does not \
                 name them: the next start frees them",
                others.len()
            );
            let place = Place::file(&self.file.path).block(first.number).at(first.offset);
            self.findings.note(place, what, advice::NOTHING);
        }
    }

    /// Counts what was verified when the file was opened: translation table and root.
    fn count_opened(&mut self, generation: &Generation) {
        let (offset, length, _) = generation.header.map;
        if offset != 0 {
            self.report.blocks += 1;
            self.report.bytes += crate::blocks::BLOCK_HEADER + length;
        }
        if let Some(root) = generation.entries.get(&generation.header.root) {
            self.report.blocks += 1;
            self.report.bytes += taken(root);
        }
    }

    fn verify(&mut self, generation: &Generation, entry: &Entry, advice: &'static str) {
        let place = Place::file(&self.file.path).block(entry.number).at(entry.offset);
        match self.file.read(&generation.header, entry) {
            Ok(_) => {
                self.report.blocks += 1;
                self.report.bytes += taken(entry);
            }
            Err(why) => self.findings.damage(place, why, advice),
        }
    }

    /// Checks what only the fallback has.
    fn fallback(&mut self, chosen: &Generation, fallback: &Generation) {
        let is_shared = |number: u64| chosen.entries.get(&number) == fallback.entries.get(&number);
        let root = fallback.header.root;
        let mut seen = BTreeSet::new();
        if (root == 0 || !is_shared(root))
            && let Some(manifest) = read_manifest(self.file, fallback, self.findings, advice::SPARE)
        {
            self.rules(fallback, &manifest, advice::SPARE);
            let mut parts = self.parts(fallback, &manifest, advice::SPARE);
            for partition in &manifest.partitions {
                for part in &partition.parts {
                    let is_new = match part.body {
                        Body::Chunk(at) => !is_shared(at.block),
                        Body::Delta(_) => true,
                    };
                    if is_new {
                        parts.read(part, &[true]);
                    }
                }
            }
            seen = named(fallback, &manifest);
        }
        self.count_opened(fallback);
        for entry in fallback.entries.values() {
            if !seen.contains(&entry.number) && !is_shared(entry.number) && entry.number != root {
                self.verify(fallback, entry, advice::SPARE);
            }
        }
    }
}

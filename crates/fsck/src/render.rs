//! Renders reports and views as text for a terminal of 100 columns.

use std::fmt::Write as _;

use crate::draw;
use crate::report::{Finding, Report, Severity};
use crate::view::{ChunkView, FileView, Kind, UsedBy};

/// An object that can be shown as text.
pub trait Render {
    /// Appends the text, which ends with a line end.
    fn render_to(&self, out: &mut String);
}

/// The text of a report or a view.
pub fn render(what: &impl Render) -> String {
    let mut out = String::new();
    what.render_to(&mut out);
    out
}

/// Lines are broken at this many characters, where there are spaces.
const WIDTH: usize = 100;

/// Writes a line, broken at spaces; what follows is indented by four more than the line.
fn line(out: &mut String, text: &str) {
    let words = text.trim_start_matches(' ');
    let indent = text.len() - words.len();
    out.push_str(&text[..indent]);
    let mut length = indent;
    for (number, word) in words.split(' ').enumerate() {
        let count = word.chars().count();
        if number > 0 && length + 1 + count > WIDTH {
            write!(out, "\n{:1$}", "", indent + 4).ok();
            length = indent + 4;
        } else if number > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += count;
    }
    out.push('\n');
}

/// A number of bytes in the unit that suits it.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

fn finding(out: &mut String, finding: &Finding) {
    let mut text = format!("{}: {}", finding.severity.name(), finding.file.display());
    if let Some(block) = finding.block {
        write!(text, ", block {block}").ok();
    }
    if let Some(offset) = finding.offset {
        write!(text, ", offset {offset}").ok();
    }
    write!(text, ": {}", finding.what).ok();
    line(out, &text);
    if !finding.advice.is_empty() {
        line(out, &format!("    what to do: {}", finding.advice));
    }
}

impl Render for Report {
    fn render_to(&self, out: &mut String) {
        line(out, &format!("database {}, version {}", self.folder.display(), self.version));
        for table in &self.tables {
            let live = table.live_rows.map_or("an unknown number of".into(), |it| it.to_string());
            let name = table.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            line(
                out,
                &format!(
                    "table {}{name}: checkpoint {} up to log position {}; {} partitions, {} chunks, \
                     {} columns; {} rows stored, {} of them dead; {live} rows with the log; {} \
                     blocks, {} verified",
                    table.table,
                    table.checkpoint,
                    table.lsn,
                    table.partitions,
                    table.chunks,
                    table.columns,
                    table.stored_rows,
                    table.dead_rows,
                    table.blocks,
                    size(table.bytes)
                ),
            );
        }
        if let Some(log) = &self.log {
            let end = if log.torn { "ends with a torn group at" } else { "ends at" };
            line(
                out,
                &format!(
                    "log: {} of {} segments needed, from position {}; {} records; {end} {}",
                    log.needed, log.segments, log.from, log.records, log.end
                ),
            );
        }
        for what in &self.not_checked {
            line(out, &format!("not checked: {what}"));
        }
        for it in &self.findings {
            finding(out, it);
        }
        if self.omitted > 0 {
            line(out, &format!("and {} findings more", self.omitted));
        }
        let count =
            |of: Severity| self.findings.iter().filter(|finding| finding.severity == of).count();
        let (damage, warnings) = (count(Severity::Damage), count(Severity::Warning));
        let result = match (damage, warnings) {
            (0, 0) => "sound".to_owned(),
            (0, _) => format!("sound, with {warnings} warnings"),
            _ => format!("DAMAGED: {damage} places, {warnings} warnings"),
        };
        line(out, &result);
    }
}

impl Render for FileView {
    fn render_to(&self, out: &mut String) {
        if self.is_usable() {
            self.render_usable(out);
        } else {
            line(out, &self.path.display().to_string());
        }
        for it in &self.findings {
            finding(out, it);
        }
        let result = match self.damage() {
            None => "sound".to_owned(),
            Some(damage) => format!("DAMAGED: {}", damage.what),
        };
        // In one line, for scripts.
        out.push_str(&result);
        out.push('\n');
    }
}

impl FileView {
    fn render_usable(&self, out: &mut String) {
        let database: String = self.database.iter().map(|byte| format!("{byte:02x}")).collect();
        line(
            out,
            &format!(
                "{}: {}, table {} of database {database}",
                self.path.display(),
                size(self.bytes),
                self.table
            ),
        );
        for header in &self.headers {
            line(
                out,
                &format!(
                    "header slot {}: checkpoint {}, log position {}, root block {}, {} ({})",
                    header.slot,
                    header.checkpoint,
                    header.lsn,
                    header.root,
                    size(header.length),
                    header.state
                ),
            );
        }
        for fact in &self.facts {
            line(out, fact);
        }
        out.push('\n');
        for text in draw::map(self) {
            out.push_str(&text);
            out.push('\n');
        }
        self.render_blocks(out);
        for chunk in &self.chunks {
            render_chunk(chunk, out);
        }
    }

    fn render_blocks(&self, out: &mut String) {
        out.push_str("\n       block  kind                offset        bytes  checkpoint  of\n");
        for block in &self.blocks {
            let kind = match block.kind {
                Kind::Table => "table of blocks".to_owned(),
                Kind::Chunk => "chunk".to_owned(),
                Kind::Deltas => "deltas".to_owned(),
                Kind::Manifest => "manifest".to_owned(),
                Kind::Catalog => "catalog".to_owned(),
                Kind::Other(kind) => format!("kind {kind}"),
            };
            let used_by = match block.used_by {
                UsedBy::Both => "both",
                UsedBy::Newest => "newest",
                UsedBy::Fallback => "fallback",
            };
            writeln!(
                out,
                "{:>12}  {kind:<15}{:>11} {:>12} {:>11}  {used_by}",
                block.number, block.offset, block.payload, block.checkpoint
            )
            .ok();
        }
        let free: u64 = self.holes.iter().map(|hole| hole.bytes).sum();
        line(out, &format!("{} holes of {} together", self.holes.len(), size(free)));
        for hole in &self.holes {
            writeln!(out, "        hole  {:<15}{:>11} {:>12}", "", hole.offset, hole.bytes).ok();
        }
    }
}

fn render_chunk(chunk: &ChunkView, out: &mut String) {
    out.push('\n');
    line(
        out,
        &format!(
            "chunk in block {}, partition {}: {} rows, {} of them dead, versions {} to {}",
            chunk.block,
            chunk.partition,
            chunk.rows,
            chunk.dead,
            chunk.versions.0,
            chunk.versions.1
        ),
    );
    let columns = match &chunk.columns {
        Ok(columns) => columns,
        Err(why) => return line(out, &format!("    its columns cannot be told: {why}")),
    };
    out.push_str("      column  type          codec       code       bytes     NULLs  v values\n");
    for column in columns {
        let id = column.id.map_or("version".to_owned(), |id| id.to_string());
        let mut zone: String = column.zone.chars().take(29).collect();
        if column.zone.chars().count() > 29 {
            zone.push('…');
        }
        writeln!(
            out,
            "{id:>12}  {:<12}  {:<10} {:>5}{:>12}{:>10}  {} {zone}",
            column.ty,
            column.codec,
            column.width,
            column.bytes,
            column.nulls,
            if column.has_vectors { 'v' } else { ' ' }
        )
        .ok();
    }
}

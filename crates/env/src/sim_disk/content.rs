//! The bytes of a simulated file: sparse pages, shared between copies until one of them changes.
//!
//! A page that was never written reads as zeros, and takes no space unless it was allocated, as in
//! a real sparse file.
//! Invariant: bytes of a page beyond `length` are zero, so that extending needs no work.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
const PAGE_SIZE: usize = 4096;

pub(super) type Page = [u8; PAGE_SIZE];

/// The bytes and the length of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    length: u64,
    pages: BTreeMap<u64, Arc<Page>>,
}

/// The pages that a range touches.
pub(super) fn pages_of(offset: u64, count: u64) -> std::ops::Range<u64> {
    if count == 0 { 0..0 } else { offset / PAGE..offset.saturating_add(count).div_ceil(PAGE) }
}

/// Calls `visit(page, position in the page, position in the buffer, count)` for each piece.
fn pieces(offset: u64, count: usize, mut visit: impl FnMut(u64, usize, usize, usize)) {
    let mut done = 0;
    while done < count {
        let position = offset + done as u64;
        // The remainder is below the size of a page.
        let inside = (position % PAGE) as usize;
        let piece = (PAGE_SIZE - inside).min(count - done);
        visit(position / PAGE, inside, done, piece);
        done += piece;
    }
}

impl Content {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that the pages take which were written or allocated.
    pub(super) fn allocated(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    pub(super) fn page(&self, number: u64) -> Option<&Arc<Page>> {
        self.pages.get(&number)
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let rest = self.length.saturating_sub(offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        pieces(offset, count, |number, inside, done, piece| {
            let target = &mut buffer[done..done + piece];
            match self.pages.get(&number) {
                Some(page) => target.copy_from_slice(&page[inside..inside + piece]),
                None => target.fill(0),
            }
        });
        count
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        pieces(offset, bytes.len(), |number, inside, done, piece| {
            let page = self.pages.entry(number).or_insert_with(|| Arc::new([0; PAGE_SIZE]));
            Arc::make_mut(page)[inside..inside + piece].copy_from_slice(&bytes[done..done + piece]);
        });
        if !bytes.is_empty() {
            self.length = self.length.max(offset + bytes.len() as u64);
        }
    }

    /// Pages of a range that take no space yet.
    pub(super) fn missing(&self, from: u64, to: u64) -> u64 {
        let pages = pages_of(from, to.saturating_sub(from));
        pages.filter(|page| !self.pages.contains_key(page)).count() as u64
    }

    /// Takes the space of a range, which reads as zeros where nothing was written.
    pub(super) fn allocate(&mut self, from: u64, to: u64) {
        let zeros = Arc::new([0; PAGE_SIZE]);
        for page in pages_of(from, to.saturating_sub(from)) {
            self.pages.entry(page).or_insert_with(|| Arc::clone(&zeros));
        }
        self.length = self.length.max(to);
    }

    pub(super) fn set_len(&mut self, length: u64) {
        if length < self.length {
            self.pages.split_off(&length.div_ceil(PAGE));
            let inside = (length % PAGE) as usize;
            if inside > 0
                && let Some(page) = self.pages.get_mut(&(length / PAGE))
            {
                Arc::make_mut(page)[inside..].fill(0);
            }
        }
        self.length = length;
    }

    /// Takes over one page of another content.
    pub(super) fn adopt(&mut self, number: u64, from: &Self) {
        match from.pages.get(&number) {
            Some(page) => self.pages.insert(number, page.clone()),
            None => self.pages.remove(&number),
        };
    }

    /// Takes over the length of another content, and all its pages from one on.
    pub(super) fn adopt_tail(&mut self, first: u64, from: &Self) {
        self.pages.split_off(&first);
        self.pages.extend(from.pages.range(first..).map(|(number, page)| (*number, page.clone())));
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.length).expect("the pages fit into memory")];
        self.read(&mut bytes, 0);
        bytes
    }
}

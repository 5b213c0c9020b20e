//! Replays the changes of a batch in their order, with the foreign key actions that they cause.
//!
//! The relevant rows are those of the batch, and the child rows of the copies that refer to values
//! that disappear; the latter are looked up together, level by level. Then the changes are applied
//! one after another. The result is the last state of each changed key.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray, new_null_array};
use parking_lot::MutexGuard;
use pelorus_error::Result;
use pelorus_store::Database;

use super::find::{self, Wanted};
use super::fired::{AllFired, Step};
use super::plan::{Link, Plan};
use super::rows::{Child, Folded, Images, Referring, Row};
use super::values::{cannot, values};
use crate::apply::batch::Happened;
use crate::apply::snapshot_window::Window;
use crate::model::foreign_key::Action;
use crate::model::mirror::Mirror;

/// The change of a parent row.
#[derive(Clone, Debug)]
enum Cause {
    Deleted,
    /// The new row, and which of the columns that are referred to have changed.
    Updated(Row, Vec<bool>),
}

impl Cause {
    fn action(&self, link: &Link) -> Option<Action> {
        match self {
            Self::Deleted => link.key.on_delete,
            Self::Updated(..) => link.key.on_update,
        }
    }
}

/// The changes of a batch, being run through.
pub(crate) struct Replay<'i> {
    store: &'i Arc<Database>,
    tables: &'i [Images],
    children: HashMap<usize, Child<'i>>,
    /// Of the tables that are still being read. They are held: what is being put into the copies is
    /// seen when rows are looked for, or put after it is known what is gone.
    windows: HashMap<usize, MutexGuard<'i, Window>>,
    again: Vec<(Arc<Mirror>, String)>,
    /// Bytes that the rows of a copy may take.
    most: usize,
}

impl<'i> Replay<'i> {
    /// Gets ready for some steps, for each table of which rows of `most` bytes may be looked for.
    pub(crate) fn new(
        store: &'i Arc<Database>,
        tables: &'i [Images],
        steps: &[Step],
        most: usize,
    ) -> Self {
        let mut this = Self {
            store,
            tables,
            children: HashMap::new(),
            windows: HashMap::new(),
            again: Vec::new(),
            most,
        };
        for link in steps.iter().flat_map(|step| &step.plan).flat_map(|plan| &plan.links) {
            let Some(table) = this.table_of(link) else { continue };
            let images = &tables[table];
            let child = this.children.entry(table).or_insert_with(|| Child {
                images,
                keys: Vec::new(),
                slots: HashMap::new(),
                bytes: 0,
            });
            if !child.keys.iter().any(|key| key.name == link.key.name) {
                child.keys.push(Referring {
                    name: link.key.name.clone(),
                    columns: link.columns.clone(),
                    by_value: HashMap::new(),
                    known: HashSet::new(),
                });
            }
            if !link.is_whole {
                this.windows.entry(table).or_insert_with(|| images.mirror.window());
            }
        }
        this
    }

    /// Processes the steps. Returns the resulting changes of tables with foreign keys, and the
    /// mirrors that must be resynchronised.
    ///
    /// # Errors
    /// Errors of reading the copies.
    pub(crate) fn run(
        mut self,
        steps: &[Step],
        fired: &AllFired,
    ) -> Result<(Vec<(usize, Folded)>, Vec<(Arc<Mirror>, String)>)> {
        self.look_ahead(steps, fired)?;
        let tables = self.tables;
        let mut places = vec![(0, 0); tables.len()];
        for (step, fired) in steps.iter().zip(fired) {
            let images = &tables[step.table];
            self.apply(step, places[step.table])?;
            for (at, fired) in fired {
                let Some(plan) = &step.plan else { continue };
                let link = &plan.links[*at];
                for it in fired {
                    let cause = cause(images, link, it.rows);
                    let parent = Row::new(&images.before, it.rows.0);
                    self.cascade(plan, link, (&it.value, &parent), &cause)?;
                }
            }
            let place = &mut places[step.table];
            place.0 += if step.happened == Happened::Deleted { 0 } else { step.rows };
            place.1 += if step.happened == Happened::Inserted { 0 } else { step.rows };
        }
        let folded = self.children.iter().map(|(at, child)| Ok((*at, child.fold()?)));
        Ok((folded.collect::<Result<_>>()?, self.again))
    }

    fn table_of(&self, link: &Link) -> Option<usize> {
        let copy = link.copy.as_ref()?;
        self.tables
            .iter()
            .position(|it| Arc::ptr_eq(&it.mirror, &link.child) && Arc::ptr_eq(&it.copy, copy))
    }

    /// Makes the changes of a step on the rows of a table with foreign keys.
    fn apply(&mut self, step: &Step, (new, old): (usize, usize)) -> Result<()> {
        let Some(child) = self.children.get_mut(&step.table) else { return Ok(()) };
        let images = child.images;
        let (after, before) = (&images.after, &images.before);
        let mut refers = Vec::new();
        if step.happened != Happened::Deleted {
            let rows: Vec<ArrayRef> = after.iter().map(|it| it.slice(new, step.rows)).collect();
            refers = child.all_refer(&rows)?;
        }
        let mut refers = refers.into_iter();
        for row in 0..step.rows {
            if step.happened != Happened::Inserted {
                let key = images.before_keys.get(old + row).to_vec();
                child.remove(key, Row::new(before, old + row));
            }
            if let Some(refers) = refers.next() {
                let key = images.after_keys.get(new + row).to_vec();
                child.put(key, Row::new(after, new + row), refers, true);
            }
        }
        Ok(())
    }

    /// Looks for the rows of the copies that the steps concern, level by level.
    fn look_ahead(&mut self, steps: &[Step], fired: &AllFired) -> Result<()> {
        let mut level: Vec<(&Plan, usize, Vec<ArrayRef>)> = Vec::new();
        for (step, fired) in steps.iter().zip(fired) {
            let (images, Some(plan)) = (&self.tables[step.table], &step.plan) else { continue };
            for (at, fired) in fired {
                let places: Vec<u32> =
                    fired.iter().filter_map(|it| u32::try_from(it.rows.0).ok()).collect();
                let referred: Vec<ArrayRef> = plan.links[*at]
                    .referred
                    .iter()
                    .map(|&at| Arc::clone(&images.before[at]))
                    .collect();
                level.push((plan, *at, pelorus_store::taken(&referred, &places.into())?));
            }
        }
        while !level.is_empty() {
            let mut next = Vec::new();
            for (plan, at, arrays) in joined(level)? {
                let link = &plan.links[at];
                let Some(table) = self.table_of(link) else { continue };
                if self.is_begun_again(&link.child) {
                    continue;
                }
                let Some(arrays) = self.unknown(table, link, &arrays)? else { continue };
                let mut rows = self.look(table, link, &arrays)?;
                rows.extend(self.of_batch(table, link, &arrays)?);
                for (at, link) in plan.links.iter().enumerate() {
                    if Arc::ptr_eq(&link.parent, &self.tables[table].mirror) {
                        next.extend(rows.iter().map(|rows| {
                            let of = link.referred.iter().map(|&at| Arc::clone(&rows[at]));
                            (plan, at, of.collect())
                        }));
                    }
                }
            }
            level = next;
        }
        Ok(())
    }

    /// Those of some values whose rows have not been looked for; `None` for none. From now on they
    /// have.
    fn unknown(
        &mut self,
        table: usize,
        link: &Link,
        arrays: &[ArrayRef],
    ) -> Result<Option<Vec<ArrayRef>>> {
        let Some(child) = self.children.get_mut(&table) else { return Ok(None) };
        let Some(key) = child.keys.iter_mut().find(|key| key.name == link.key.name) else {
            return Ok(None);
        };
        let all = values(child.images.copy.as_ref(), &link.columns, arrays)?;
        let is_new = all.into_iter().map(|it| it.is_some_and(|value| key.known.insert(value)));
        let mask = BooleanArray::from(is_new.collect::<Vec<_>>());
        if mask.true_count() == 0 {
            return Ok(None);
        }
        let new = arrays.iter().map(|it| arrow::compute::filter(it, &mask).map_err(cannot));
        new.collect::<Result<_>>().map(Some)
    }

    /// The rows of the copy that refer to some values. Where these are too many it is
    /// resynchronised, with all that it leads to.
    fn look(
        &mut self,
        table: usize,
        link: &Link,
        arrays: &[ArrayRef],
    ) -> Result<Vec<Arc<Vec<ArrayRef>>>> {
        let Some(child) = self.children.get_mut(&table) else { return Ok(Vec::new()) };
        let copy = &child.images.copy;
        let keys: HashSet<Vec<u8>> =
            values(copy.as_ref(), &link.columns, arrays)?.into_iter().flatten().collect();
        let most = self.most.saturating_sub(child.bytes);
        let wanted = Wanted { copy, columns: &link.columns, arrays, keys: &keys, most };
        let Some(there) = find::rows(self.store, &wanted)? else {
            child.forget();
            self.begin_all_again(
                link,
                "a foreign key changed more than pelorus_mirror_transaction_size",
            );
            return Ok(Vec::new());
        };
        child.bytes += there.bytes;
        let mut found = Vec::new();
        for rows in there.batches {
            let rows = Arc::new(rows);
            let count = rows.first().map_or(0, |array| array.len());
            let keys = copy.keys(count, &rows)?;
            for (row, refers) in child.all_refer(&rows)?.into_iter().enumerate() {
                let key = keys.get(row);
                // What the batch has made of it so far counts.
                if !child.slots.contains_key(key) {
                    child.put(key.to_vec(), Row::new(&rows, row), refers, false);
                }
            }
            found.push(rows);
        }
        Ok(found)
    }

    /// The rows of the batch that refer to some values.
    fn of_batch(
        &self,
        table: usize,
        link: &Link,
        arrays: &[ArrayRef],
    ) -> Result<Option<Arc<Vec<ArrayRef>>>> {
        let images = &self.tables[table];
        let copy = images.copy.as_ref();
        let wanted: HashSet<Vec<u8>> =
            values(copy, &link.columns, arrays)?.into_iter().flatten().collect();
        let own: Vec<ArrayRef> =
            link.columns.iter().map(|&at| Arc::clone(&images.after[at])).collect();
        let keep = values(copy, &link.columns, &own)?
            .iter()
            .map(|it| it.as_ref().is_some_and(|it| wanted.contains(it)))
            .collect::<Vec<_>>();
        let keep = BooleanArray::from(keep);
        if keep.true_count() == 0 {
            return Ok(None);
        }
        let kept = images.after.iter().map(|it| arrow::compute::filter(it, &keep));
        Ok(Some(Arc::new(kept.collect::<Result<_, _>>().map_err(cannot)?)))
    }

    fn begin_again(&mut self, mirror: &Arc<Mirror>, why: String) {
        if !self.is_begun_again(mirror) {
            self.again.push((Arc::clone(mirror), why));
        }
    }

    /// A link's child, and all that it leads to.
    fn begin_all_again(&mut self, link: &Link, why: &str) {
        self.begin_again(&link.child, why.to_owned());
        for mirror in &link.beyond {
            self.begin_again(mirror, why.to_owned());
        }
    }

    fn is_begun_again(&self, mirror: &Arc<Mirror>) -> bool {
        self.again.iter().any(|(it, _)| Arc::ptr_eq(it, mirror))
    }

    /// Executes a foreign key action when a referenced value disappears.
    fn cascade(
        &mut self,
        plan: &Plan,
        link: &Link,
        (value, parent): (&[u8], &Row),
        cause: &Cause,
    ) -> Result<()> {
        let Some(action) = cause.action(link) else { return Ok(()) };
        let table = self.table_of(link);
        let (name, state) = (&link.child.name, link.child.state());
        if !link.is_whole || table.is_none() {
            let how = if link.is_whole { "begun anew" } else { state.word() };
            let why = super::depends(&name.database, &name.table, how);
            for mirror in &link.beyond {
                self.begin_again(mirror, why.clone());
            }
        }
        let Some(table) = table else {
            if link.is_followed && link.copy.is_none() {
                let why = format!("the columns of foreign key '{}' have changed", link.key.name);
                self.begin_again(&link.child, why);
            }
            return Ok(());
        };
        if self.is_begun_again(&link.child) {
            return Ok(());
        }
        let keys = self.referring(table, link, value, parent)?;
        let turns_on_order = match cause {
            Cause::Deleted => link.in_order.0,
            Cause::Updated(..) => link.in_order.1,
        };
        if turns_on_order && !(link.is_whole && keys.is_empty()) {
            let why = format!(
                "it turns on the order of foreign keys what '{}' and others make of its rows, or \
                 of those that refer to them",
                link.key.name
            );
            self.begin_all_again(link, &why);
            return Ok(());
        }
        if !link.is_whole {
            if action == Action::Cascade && matches!(cause, Cause::Updated(..)) {
                // Rows that are read may have the new value already, and lose it by what came
                // before.
                let why = format!("foreign key '{}' changed rows while it was read", link.key.name);
                self.begin_again(&link.child, why);
                return Ok(());
            }
            // Rows that were read later than this may refer to the value again: they are changed
            // too early, and only changes of whole rows correct that.
            link.child.note_cascade(self.store)?;
            if let Some(window) = self.windows.get_mut(&table) {
                window.note_gone(&link.columns, action, value);
            }
        }
        for key in keys {
            self.change(plan, link, table, (&key, action), cause)?;
        }
        Ok(())
    }

    /// The keys of the rows that refer to a value now; `parent` is the row that had it.
    fn referring(
        &mut self,
        table: usize,
        link: &Link,
        value: &[u8],
        parent: &Row,
    ) -> Result<Vec<Vec<u8>>> {
        let Some(child) = self.children.get(&table) else { return Ok(Vec::new()) };
        let at = child.keys.iter().position(|key| key.name == link.key.name);
        let Some(at) = at else { return Ok(Vec::new()) };
        if !child.keys[at].known.contains(value) {
            // Looking ahead did not come by here.
            let arrays: Vec<ArrayRef> = link.referred.iter().map(|&at| parent.one(at)).collect();
            if let Some(arrays) = self.unknown(table, link, &arrays)? {
                self.look(table, link, &arrays)?;
            }
        }
        Ok(self.children.get(&table).map(|it| it.referring(at, value)).unwrap_or_default())
    }

    /// Changes a row by a foreign key action, and the rows that refer to it.
    fn change(
        &mut self,
        plan: &Plan,
        link: &Link,
        table: usize,
        (key, action): (&[u8], Action),
        cause: &Cause,
    ) -> Result<()> {
        let Some(child) = self.children.get_mut(&table) else { return Ok(()) };
        let Some(old) = child.slots.get(key).and_then(|slot| slot.row.clone()) else {
            return Ok(());
        };
        let copy = &child.images.copy;
        let mut new = Some(old.clone());
        match (cause, action) {
            (Cause::Deleted, Action::Cascade) => new = None,
            (_, Action::SetNull) => {
                for &column in &link.columns {
                    let null = new_null_array(&copy.columns()[column].ty.arrow(), 1);
                    new.iter_mut().for_each(|row| row.set(column, Arc::clone(&null), 0));
                }
            }
            (Cause::Updated(parent, changed), Action::Cascade) => {
                let moved = link.columns.iter().zip(&link.referred).zip(changed);
                for ((&column, &referred), _) in moved.filter(|(_, changed)| **changed) {
                    let (array, at) = parent.cell(referred);
                    new.iter_mut().for_each(|row| row.set(column, Arc::clone(array), at));
                }
            }
        }
        child.remove(key.to_vec(), old.clone());
        if let Some(row) = &new {
            let stays = !link.columns.iter().any(|column| copy.key().contains(column));
            let key = match stays {
                true => key.to_vec(),
                false => {
                    let all = (0..copy.columns().len()).map(|at| row.one(at));
                    copy.keys(1, &all.collect::<Vec<_>>())?.get(0).to_vec()
                }
            };
            let refers = child.refers(row)?;
            child.put(key, row.clone(), refers, true);
        }
        let copy = Arc::clone(copy);
        for next in plan.of_parent(&link.child) {
            let Some(value) = old.value(copy.as_ref(), &next.referred)? else { continue };
            let cause = match &new {
                None => Cause::Deleted,
                Some(row) => {
                    let changed = old.differs(row, &next.referred);
                    if !changed.contains(&true) {
                        continue;
                    }
                    Cause::Updated(row.clone(), changed)
                }
            };
            self.cascade(plan, next, (&value, &old), &cause)?;
        }
        Ok(())
    }
}

/// The change of a parent row of the batch.
fn cause(images: &Images, link: &Link, (old, new): (usize, Option<usize>)) -> Cause {
    let Some(new) = new else { return Cause::Deleted };
    let (before, after) = (Row::new(&images.before, old), Row::new(&images.after, new));
    let changed = before.differs(&after, &link.referred);
    Cause::Updated(after, changed)
}

/// The values of one foreign key in one piece.
fn joined<'p>(
    level: Vec<(&'p Plan, usize, Vec<ArrayRef>)>,
) -> Result<Vec<(&'p Plan, usize, Vec<ArrayRef>)>> {
    let mut by_link: Vec<(&'p Plan, usize, Vec<Vec<ArrayRef>>)> = Vec::new();
    for (plan, at, arrays) in level {
        let same = |it: &&mut (&'p Plan, usize, Vec<Vec<ArrayRef>>)| {
            let (this, that) = (&it.0.links[it.1], &plan.links[at]);
            Arc::ptr_eq(&this.child, &that.child)
                && this.key.name == that.key.name
                && this.copy.is_some() == that.copy.is_some()
                && this.is_whole == that.is_whole
        };
        match by_link.iter_mut().find(same) {
            Some(it) => it.2.push(arrays),
            None => by_link.push((plan, at, vec![arrays])),
        }
    }
    by_link
        .into_iter()
        .map(|(plan, at, pieces)| {
            let columns = pieces.first().map_or(0, Vec::len);
            let column = |at: usize| {
                let parts: Vec<&dyn arrow::array::Array> =
                    pieces.iter().map(|piece| piece[at].as_ref()).collect();
                arrow::compute::concat(&parts).map_err(cannot)
            };
            Ok((plan, at, (0..columns).map(column).collect::<Result<_>>()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::batch::tests::World;
    use crate::apply::foreign_key_actions::fires;
    use crate::model::foreign_key::ForeignKey;
    use crate::model::record::{MirrorRecord, State};

    /// The effect of deleting a row whose key refers to itself: the reasons to resynchronise.
    fn deleted(world: &World, in_order: (bool, bool), most: usize) -> Vec<String> {
        let (copy, mirror) = (&world.copy, &world.mirror);
        let batch = world.batch_of(3);
        assert!(batch.commit(&world.store, None, Vec::new(), 1 << 20).unwrap().is_empty());
        let row = |rows: usize| -> Arc<Vec<ArrayRef>> {
            let types = copy.columns().iter().map(|column| column.ty.arrow());
            let mut arrays: Vec<ArrayRef> = types.map(|ty| new_null_array(&ty, rows)).collect();
            arrays[0] = Arc::new(arrow::array::Int64Array::from(vec![1_i64; rows]));
            Arc::new(arrays)
        };
        let (before, after) = (row(1), row(0));
        let images = [Images {
            mirror: Arc::clone(mirror),
            copy: Arc::clone(copy),
            after_keys: copy.keys(0, &after).unwrap(),
            before_keys: copy.keys(1, &before).unwrap(),
            after,
            before,
        }];
        let link = Link {
            parent: Arc::clone(mirror),
            child: Arc::clone(mirror),
            copy: Some(Arc::clone(copy)),
            key: ForeignKey {
                name: "k".to_owned(),
                columns: vec!["id".to_owned()],
                database: "d".to_owned(),
                table: "t".to_owned(),
                referred: vec!["id".to_owned()],
                on_delete: Some(Action::Cascade),
                on_update: None,
            },
            columns: vec![0],
            referred: vec![0],
            is_whole: mirror.state() == State::Live,
            is_followed: true,
            beyond: Vec::new(),
            in_order,
        };
        let plan = Some(Arc::new(Plan { links: vec![link] }));
        let steps = [Step { table: 0, happened: Happened::Deleted, rows: 1, plan }];
        let fired = fires(&images, &steps).unwrap().unwrap();
        let replay = Replay::new(&world.store, &images, &steps, most);
        let (_, again) = replay.run(&steps, &fired).unwrap();
        again.into_iter().map(|(_, why)| why).collect()
    }

    fn world(state: State) -> World {
        World::new(MirrorRecord { state, ..MirrorRecord::default() })
    }

    #[test]
    fn what_reaches_a_table_that_is_read_is_noted_until_it_begins_anew() {
        let live = world(State::Live);
        assert!(deleted(&live, (false, false), 1 << 20).is_empty());
        assert!(!live.mirror.record().cascaded);
        let loading = world(State::Loading);
        assert!(deleted(&loading, (false, false), 1 << 20).is_empty());
        assert!(loading.mirror.is_cascaded());
        loading.mirror.begin_again(&loading.store, None).unwrap();
        assert!(!loading.mirror.is_cascaded());
    }

    #[test]
    fn too_many_rows_begin_anew() {
        let again = deleted(&world(State::Live), (false, false), 100);
        assert_eq!(again, ["a foreign key changed more than pelorus_mirror_transaction_size"]);
    }

    #[test]
    fn what_turns_on_an_order_begins_anew() {
        let again = deleted(&world(State::Loading), (true, true), 1 << 20);
        assert!(again.len() == 1 && again[0].contains("the order of foreign keys"), "{again:?}");
        // Nothing refers to the row.
        assert!(deleted(&world(State::Live), (true, true), 1 << 20).is_empty());
    }
}

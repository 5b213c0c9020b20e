//! Foreign key actions of the changes in a batch ([`crate::apply::foreign_key_actions`]).

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_store::Database;

use super::Batch;
use crate::apply::foreign_key_actions::{Images, Replay, Step};
use crate::model::mirror::Mirror;

impl Batch {
    /// Executes the foreign key actions of the changes, for each table up to `most` bytes of rows.
    /// Returns the mirrors that must be resynchronised, with the reason.
    ///
    /// # Errors
    /// Errors of reading the copies.
    pub(crate) fn cascade(
        &mut self,
        store: &Arc<Database>,
        most: usize,
    ) -> Result<Vec<(Arc<Mirror>, String)>> {
        if self.order.iter().all(|ran| ran.plan.is_none()) {
            return Ok(Vec::new());
        }
        let mut again = self.without_rows_in_part();
        let (mut images, mut places) = (Vec::new(), Vec::new());
        for (at, table) in self.tables.iter_mut().enumerate() {
            if table.in_part {
                continue;
            }
            match table.take_images() {
                Ok(made) => {
                    images.push(made);
                    places.push(at);
                }
                // It is of this table alone; without its rows the others have nothing to follow.
                Err(error) => {
                    let why = pelorus_error::display_chain(&error);
                    again.push((Arc::clone(&table.mirror), why));
                }
            }
        }
        let mut steps = Vec::with_capacity(self.order.len());
        for ran in &self.order {
            let of = |it: &Images| {
                Arc::ptr_eq(&it.mirror, &ran.mirror) && Arc::ptr_eq(&it.copy, &ran.copy)
            };
            // Of tables that are no longer followed, nothing is followed on either.
            let Some(table) = images.iter().position(of) else { continue };
            let (rows, plan) = (ran.rows as usize, ran.plan.clone());
            steps.push(Step { table, happened: ran.happened, rows, plan });
        }
        if let Some(fired) = crate::apply::foreign_key_actions::fires(&images, &steps)? {
            let (folded, lost) = Replay::new(store, &images, &steps, most).run(&steps, &fired)?;
            again.extend(lost);
            for (at, folded) in folded {
                self.tables[places[at]].folded = Some(folded);
            }
        }
        for (at, images) in places.into_iter().zip(images) {
            self.tables[at].made = Some(images);
        }
        Ok(again)
    }

    /// Leaves out the tables that foreign keys lead to from, or through, rows that the binlog has
    /// in part: they must be resynchronised.
    pub(super) fn without_rows_in_part(&mut self) -> Vec<(Arc<Mirror>, String)> {
        let in_part: Vec<Arc<Mirror>> = self
            .tables
            .iter()
            .filter(|table| table.in_part)
            .map(|table| Arc::clone(&table.mirror))
            .collect();
        let is_in_part = |mirror: &Arc<Mirror>| in_part.iter().any(|it| Arc::ptr_eq(it, mirror));
        let mut lost: Vec<(Arc<Mirror>, String)> = Vec::new();
        for ran in &self.order {
            let Some(plan) = &ran.plan else { continue };
            if !is_in_part(&ran.mirror) && !plan.links.iter().any(|it| is_in_part(&it.child)) {
                continue;
            }
            for link in &plan.links {
                if !lost.iter().any(|(it, _)| Arc::ptr_eq(it, &link.child)) {
                    let why = "a foreign key changes its rows by rows that the binlog has in part; \
                               SET GLOBAL binlog_row_image = FULL and reconnect the clients";
                    lost.push((Arc::clone(&link.child), why.to_owned()));
                }
            }
        }
        self.retain(|table| !lost.iter().any(|(it, _)| Arc::ptr_eq(it, &table.mirror)));
        lost
    }
}

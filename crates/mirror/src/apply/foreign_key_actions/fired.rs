//! Finds the changes of a batch that fire foreign key actions.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use pelorus_error::Result;

use super::plan::{Link, Plan};
use super::rows::Images;
use super::values::{cannot, values};
use crate::apply::batch::Happened;

/// Changes that came together.
#[derive(Debug)]
pub(crate) struct Step {
    /// Which of the tables.
    pub(crate) table: usize,
    pub(crate) happened: Happened,
    pub(crate) rows: usize,
    /// Where foreign keys lead from there.
    pub(crate) plan: Option<Arc<Plan>>,
}

/// A row that is referred to, and goes or changes.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    /// The value that is referred to.
    pub(super) value: Vec<u8>,
    /// The row of before and, of updates, that of after.
    pub(super) rows: (usize, Option<usize>),
}

/// The actions that each step fires: by step, and by foreign key of its plan.
pub(crate) type AllFired = Vec<Vec<(usize, Vec<Fired>)>>;

/// The actions that the steps fire directly; `None` if no foreign key has an action.
///
/// # Errors
/// A collation whose rules are not known.
pub(crate) fn fires(tables: &[Images], steps: &[Step]) -> Result<Option<AllFired>> {
    let mut places = vec![(0, 0); tables.len()];
    let mut all = Vec::with_capacity(steps.len());
    let mut any = false;
    for step in steps {
        let (new, old) = places[step.table];
        let images = &tables[step.table];
        let mut of_step = Vec::new();
        for (at, link) in step.plan.iter().flat_map(|plan| plan.links.iter().enumerate()) {
            if Arc::ptr_eq(&link.parent, &images.mirror) {
                let fired = of_link(images, step, link, (new, old))?;
                if !fired.is_empty() {
                    any = true;
                    of_step.push((at, fired));
                }
            }
        }
        all.push(of_step);
        let place = &mut places[step.table];
        place.0 += if step.happened == Happened::Deleted { 0 } else { step.rows };
        place.1 += if step.happened == Happened::Inserted { 0 } else { step.rows };
    }
    Ok(any.then_some(all))
}

fn of_link(
    images: &Images,
    step: &Step,
    link: &Link,
    (new, old): (usize, usize),
) -> Result<Vec<Fired>> {
    let is_update = match step.happened {
        Happened::Inserted => return Ok(Vec::new()),
        Happened::Deleted if link.key.on_delete.is_some() => false,
        Happened::Updated if link.key.on_update.is_some() => true,
        _ => return Ok(Vec::new()),
    };
    let slice = |arrays: &[ArrayRef], from: usize| -> Vec<ArrayRef> {
        link.referred.iter().map(|&at| arrays[at].slice(from, step.rows)).collect()
    };
    let before = slice(&images.before, old);
    let mut moved = vec![!is_update; step.rows];
    if is_update {
        for (before, after) in before.iter().zip(slice(&images.after, new)) {
            let differs: BooleanArray =
                arrow::compute::kernels::cmp::distinct(&before, &after).map_err(cannot)?;
            for (moved, differs) in moved.iter_mut().zip(differs.values().iter()) {
                *moved |= differs;
            }
        }
    }
    if !moved.contains(&true) {
        return Ok(Vec::new());
    }
    let found = values(images.copy.as_ref(), &link.referred, &before)?;
    let fired = found.into_iter().enumerate().filter(|(row, _)| moved[*row]);
    Ok(fired
        .filter_map(|(row, value)| {
            Some(Fired { value: value?, rows: (old + row, is_update.then_some(new + row)) })
        })
        .collect())
}

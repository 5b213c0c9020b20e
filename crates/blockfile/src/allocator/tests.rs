//! Tests of the allocator against linear first fit (identical offsets), a bitmap, and its own
//! invariants.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn extent(start: u32, units: u32) -> Extent {
    Extent { start, units }
}

/// splitmix64, so that a failing run can be repeated.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        u32::try_from((word ^ (word >> 31)) % u64::from(bound)).unwrap()
    }
}

#[test]
fn the_worked_example_finds_offset_15_without_looking_at_the_first_holes() {
    let used = [(0, 1), (3, 2), (6, 3), (10, 5), (20, 8)];
    let mut allocator =
        Allocator::rebuild(0, used.map(|(start, units)| extent(start, units))).unwrap();
    let holes = [(1, 2), (5, 1), (9, 1), (15, 5), (28, LIMIT - 28)];
    assert_eq!(allocator.holes(), holes.map(|(start, units)| extent(start, units)));
    // Root (9,1), then (28,..), then (15,5): the two holes on the left are not visited.
    let before = allocator.visited();
    assert_eq!(allocator.holes.first_fit(4), Some(extent(15, 5)));
    assert_eq!(allocator.visited() - before, 3);
    assert_eq!(allocator.allocate(4).unwrap(), extent(15, 4));
    assert_eq!(allocator.holes()[3], extent(19, 1));
    allocator.check().unwrap();
}

#[test]
fn wrong_frees_are_rejected_and_change_nothing() {
    let mut allocator = Allocator::new(16);
    let blocks: Vec<Extent> = (0..4).map(|_| allocator.allocate(3).unwrap()).collect();
    allocator.free(blocks[1]).unwrap();
    let before = (allocator.holes(), allocator.allocated());
    let wrong = [
        blocks[1],                      // freed already
        extent(blocks[2].start, 4),     // reaches into the neighbour
        extent(blocks[2].start, 2),     // would leak a unit
        extent(blocks[2].start + 1, 2), // does not start an extent
        extent(blocks[2].start, 0),
        extent(0, 1),       // reserved
        extent(1 << 30, 1), // never allocated
        extent(LIMIT, LIMIT),
    ];
    for wrong in wrong {
        assert_eq!(allocator.free(wrong).unwrap_err().code(), Code::Internal, "{wrong:?}");
    }
    assert_eq!((allocator.holes(), allocator.allocated()), before);
    allocator.check().unwrap();
}

#[test]
fn rebuild_refuses_overlaps_and_what_lies_outside() {
    let refused = [
        vec![extent(16, 4), extent(19, 1)],
        vec![extent(20, 1), extent(20, 1)],
        vec![extent(15, 4)],
        vec![extent(16, 0)],
        vec![extent(LIMIT, 1)],
        vec![extent(17, LIMIT - 17)],
        vec![extent(17, LIMIT)],
    ];
    for extents in refused {
        let error = Allocator::rebuild(16, extents.clone()).unwrap_err();
        assert_eq!(error.code(), Code::FileDamaged, "{extents:?}");
    }
    let empty = Allocator::rebuild(16, []).unwrap();
    assert_eq!((empty.end(), empty.holes()), (16, Allocator::new(16).holes()));
}

#[test]
fn the_file_does_not_grow_beyond_its_limit() {
    let mut allocator = Allocator::new(0);
    assert_eq!(allocator.allocate(0).unwrap_err().code(), Code::Internal);
    assert_eq!(allocator.allocate(LIMIT).unwrap_err().code(), Code::DiskFull);
    let all = allocator.allocate(LIMIT - 1).unwrap();
    assert_eq!(allocator.allocate(1).unwrap_err().code(), Code::DiskFull);
    assert_eq!(allocator.allocate_at_end(1).unwrap_err().code(), Code::DiskFull);
    allocator.check().unwrap();
    allocator.free(all).unwrap();
    assert_eq!(allocator.end(), 0);
    allocator.check().unwrap();
}

/// Every unit separately: the slowest and most obvious allocator.
#[derive(Default)]
struct Bitmap(Vec<bool>);

impl Bitmap {
    fn allocate(&mut self, units: u32) -> u32 {
        let units = units as usize;
        let free =
            |start: usize| (start..start + units).all(|unit| !self.0.get(unit).unwrap_or(&false));
        let start = (0..).find(|start| free(*start)).unwrap();
        self.0.resize(self.0.len().max(start + units), false);
        self.0[start..start + units].fill(true);
        u32::try_from(start).unwrap()
    }

    fn free(&mut self, extent: Extent) {
        self.0[extent.start as usize..extent.end() as usize].fill(false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pelorus_env::scaled(300)))]

    #[test]
    fn it_agrees_with_a_bitmap_after_every_step(
        steps in prop::collection::vec((0..10_u8, 1..9_u32, any::<prop::sample::Index>()), 1..150),
    ) {
        let mut allocator = Allocator::new(0);
        let mut bitmap = Bitmap::default();
        let mut live: Vec<Extent> = Vec::new();
        for (kind, units, index) in steps {
            if kind < 6 || live.is_empty() {
                let found = allocator.allocate(units).unwrap();
                prop_assert_eq!(found, extent(bitmap.allocate(units), units));
                live.push(found);
            } else if kind == 6 {
                let end = allocator.end();
                let found = allocator.allocate_at_end(units).unwrap();
                prop_assert_eq!(found, extent(end, units));
                bitmap.0.resize(found.end() as usize, false);
                bitmap.0[found.start as usize..].fill(true);
                live.push(found);
            } else {
                let freed = live.swap_remove(index.index(live.len()));
                allocator.free(freed).unwrap();
                bitmap.free(freed);
            }
            allocator.check().unwrap();
            let rebuilt = Allocator::rebuild(0, live.iter().copied()).unwrap();
            rebuilt.check().unwrap();
            prop_assert_eq!(rebuilt.holes(), allocator.holes());
            prop_assert_eq!(rebuilt.allocated(), allocator.allocated());
            prop_assert_eq!(rebuilt.allocated_units(), allocator.allocated_units());
        }
    }
}

/// Replaces random blocks of `1..=units_max` units; both allocators must choose the same places.
fn age(seed: u64, live_max: usize, steps: usize, units_max: u32) {
    let mut rng = Rng(seed);
    let mut tree = Allocator::new(16);
    let mut linear = LinearFirstFit::new(16);
    let mut live: Vec<Extent> = Vec::new();
    for step in 0..steps {
        // The load rises and falls, so that the file is drained and joined again as well.
        let target = if (step * 8 / steps).is_multiple_of(2) { live_max } else { live_max / 3 };
        let grow = live.len() < target && rng.below(8) != 0;
        if live.is_empty() || grow {
            let units = 1 + rng.below(units_max);
            let found = tree.allocate(units).unwrap();
            assert_eq!(Some(found), linear.allocate(units), "seed {seed} step {step}");
            live.push(found);
        } else {
            let index = rng.below(u32::try_from(live.len()).unwrap()) as usize;
            let freed = live.swap_remove(index);
            tree.free(freed).unwrap();
            linear.free(freed);
        }
        if step % (steps / 20) == 0 {
            tree.check().unwrap();
            assert_eq!(tree.holes(), linear.holes(), "seed {seed} step {step}");
        }
    }
    for freed in live {
        tree.free(freed).unwrap();
    }
    tree.check().unwrap();
    assert_eq!(tree.holes(), Allocator::new(16).holes(), "everything is one hole again");
}

#[test]
fn offsets_are_those_of_linear_first_fit_over_many_steps() {
    age(1, 3000, 300_000, 64);
    age(2, 3000, 200_000, 1);
    age(3, 300, 100_000, 1500);
    age(4, 20_000, 100_000, 16);
}

#[test]
fn an_operation_visits_few_nodes_whatever_the_number_of_holes() {
    for blocks in [1000_u32, 10_000, 100_000] {
        // Every second block is freed: as many holes as there can be.
        let mut allocator = Allocator::new(0);
        let all: Vec<Extent> = (0..blocks).map(|_| allocator.allocate(2).unwrap()).collect();
        for freed in all.iter().step_by(2) {
            allocator.free(*freed).unwrap();
        }
        let log = f64::from(blocks / 2 + 1).log2();
        let mut rng = Rng(u64::from(blocks));
        let mut worst = 0;
        let mut live: BTreeMap<u32, Extent> = BTreeMap::new();
        for _ in 0..20_000 {
            let before = allocator.visited();
            let found = allocator.allocate(1 + rng.below(3)).unwrap();
            worst = worst.max(allocator.visited() - before);
            live.insert(rng.below(u32::MAX), found);
            if live.len() > 50 {
                let before = allocator.visited();
                allocator.free(live.pop_first().unwrap().1).unwrap();
                worst = worst.max(allocator.visited() - before);
            }
        }
        // A free goes down at most three times (neighbours, removal, change), and a path in an AVL
        // tree is at most 1.45 times the logarithm.
        assert!((worst as f64) < 3.0 * (1.45 * log + 2.0), "{worst} nodes of {blocks} blocks");
    }
}

//! `bench allocator`: the cost of finding free units in a file that has been overwritten many
//! times.
//!
//! A layout is *aged*: blocks of 4 to 64 KiB are allocated, and then as many replacements as there
//! are blocks, in each of which a random block is freed and one of another size allocated. From
//! then on pairs of a free and an allocation are timed. The linear search continues from the layout
//! that the tree has made and must choose the same places; other libraries have other rules, so
//! they age layouts of their own. Slow allocators execute as many pairs as the time allows.

mod contender;

use pelorus_blockfile::allocator::{Allocator, LinearFirstFit};

use crate::figures::Figures;
use crate::lab::{Random, Watch};
use crate::report::{Target, figure};
use crate::setting::number;
use contender::{Bins, Contender, Gaps, Linear};

/// The first unit of a file that belongs to blocks.
const FIRST: u32 = 16;

/// Most units of a block.
const UNITS_MAX: u64 = 16;

/// Rounds of pairs, of each of which the time is kept.
const ROUNDS: usize = 5;

/// Most pairs of a round.
const PAIRS: usize = 40_000;

/// Seconds after which no more pairs of a round are begun.
const SECONDS: f64 = 0.5;

/// Blocks above which range-alloc, which looks at every hole, would take minutes to age.
const GAPS_MAX: u64 = 100_000;

const NS: &str = "ns of a free and an allocation";
const VISITED: &str = "nodes visited by both";
const RATIO: &str = "file by used units";
const TREE: &str = "tree";
const LINEAR: &str = "linear";

/// Runs the benchmark.
pub(crate) fn run() -> anyhow::Result<()> {
    let most = number(None, "BENCH_BLOCKS", 10_000_000)?;
    let mut figures = Figures::begin();
    let mut sizes = Vec::new();
    let mut different = 0;
    let mut blocks = 1000;
    while blocks <= most {
        sizes.push(blocks);
        different += measure_size(blocks, &mut figures)?;
        blocks *= 10;
    }
    figures.fact("rules", "tree, linear: first fit; range-alloc: best fit; offset-allocator: bins");
    print_curve(&figures, &sizes);
    let targets = targets(&figures, &sizes, different);
    figures.finish("allocator", most, &targets)
}

fn case(what: &str, blocks: u64) -> String {
    format!("{} blocks: {what}", figure(blocks as f64))
}

/// Measures all contenders; gives how many places the linear search has chosen otherwise.
fn measure_size(blocks: u64, figures: &mut Figures) -> anyhow::Result<u64> {
    let mut tree = Allocator::new(FIRST);
    let mut live = age(&mut tree, blocks)?;
    let mut linear = Linear::new(like(&tree)?);
    let mut linear_live = live.clone();
    let before = tree.visited();
    let by_tree = pairs(&mut tree, &mut live)?;
    let visits = (tree.visited() - before) as f64 / by_tree.places.len() as f64;
    figures.add(&case(NS, blocks), TREE, "ns", by_tree.ns);
    let by_linear = pairs(&mut linear, &mut linear_live)?;
    figures.add(&case(NS, blocks), LINEAR, "ns", by_linear.ns);
    let different = by_tree.places.iter().zip(&by_linear.places).filter(|(a, b)| a != b).count();
    let mut ratios = vec![(TREE, ratio::<Allocator>(&live))];
    if blocks <= GAPS_MAX {
        let mut gaps = Gaps::new(FIRST);
        let mut live = age(&mut gaps, blocks)?;
        figures.add(&case(NS, blocks), "range-alloc", "ns", pairs(&mut gaps, &mut live)?.ns);
        ratios.push(("range-alloc", ratio::<Gaps>(&live)));
    }
    let mut bins = Bins::new(blocks)?;
    let mut live = age(&mut bins, blocks)?;
    figures.add(&case(NS, blocks), "offset-allocator", "ns", pairs(&mut bins, &mut live)?.ns);
    ratios.push(("offset-allocator", ratio::<Bins>(&live)));
    figures.add(&case(VISITED, blocks), TREE, "nodes", vec![visits]);
    let pairs = by_linear.places.len() as f64;
    let visits = linear.visited() as f64 / pairs;
    figures.add(&case(VISITED, blocks), LINEAR, "holes", vec![visits]);
    for (system, ratio) in ratios {
        figures.add(&case(RATIO, blocks), system, "", vec![ratio]);
    }
    println!("  {} blocks measured", figure(blocks as f64));
    Ok(different as u64)
}

/// Fills a contender and replaces as many blocks as there are.
fn age<C: Contender>(contender: &mut C, blocks: u64) -> anyhow::Result<Vec<C::Block>> {
    let mut random = Random::new(blocks);
    let mut live = Vec::with_capacity(usize::try_from(blocks)?);
    for _ in 0..blocks {
        live.push(contender.take(units(&mut random))?);
    }
    for _ in 0..blocks {
        replace(contender, &mut live, &mut random)?;
    }
    Ok(live)
}

fn units(random: &mut Random) -> u32 {
    u32::try_from(1 + random.below(UNITS_MAX)).unwrap_or(1)
}

/// Frees a random block and allocates one of another size; gives where that is.
fn replace<C: Contender>(
    contender: &mut C,
    live: &mut [C::Block],
    random: &mut Random,
) -> anyhow::Result<u32> {
    let at = usize::try_from(random.below(live.len() as u64))?;
    contender.give_back(live[at])?;
    live[at] = contender.take(units(random))?;
    Ok(C::extent(live[at]).start)
}

/// Timed pairs and the places that were chosen.
#[derive(Default)]
struct Pairs {
    /// Nanoseconds of a pair, for each round.
    ns: Vec<f64>,
    places: Vec<u32>,
}

fn pairs<C: Contender>(contender: &mut C, live: &mut [C::Block]) -> anyhow::Result<Pairs> {
    let mut random = Random::new(7);
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS {
        let before = pairs.places.len();
        let watch = Watch::start();
        // The clock is asked after every 16 pairs, which costs nothing against them.
        let more = |count: usize| {
            count < PAIRS && (!count.is_multiple_of(16) || watch.seconds() < SECONDS)
        };
        while more(pairs.places.len() - before) {
            pairs.places.push(replace(contender, live, &mut random)?);
        }
        pairs.ns.push(watch.seconds() * 1e9 / (pairs.places.len() - before) as f64);
    }
    Ok(pairs)
}

/// Units up to the last used one, by used units.
fn ratio<C: Contender>(live: &[C::Block]) -> f64 {
    let end = live.iter().map(|&block| C::extent(block).end()).max().unwrap_or(FIRST);
    let used: u64 = live.iter().map(|&block| u64::from(C::extent(block).units)).sum();
    f64::from(end - FIRST) / used as f64
}

/// The linear search over the holes that a tree has: everything is allocated and the holes are
/// freed, from the lowest on, which puts each at the end of the array.
fn like(tree: &Allocator) -> anyhow::Result<LinearFirstFit> {
    let mut linear = LinearFirstFit::new(FIRST);
    let holes = tree.holes();
    let Some((last, holes)) = holes.split_last() else { anyhow::bail!("a file without end") };
    if last.start > FIRST {
        linear.allocate(last.start - FIRST);
    }
    for &hole in holes {
        linear.free(hole);
    }
    anyhow::ensure!(linear.holes() == tree.holes(), "the layouts differ");
    Ok(linear)
}

/// A line for each size and contender, as long as the logarithm of the time.
fn print_curve(figures: &Figures, sizes: &[u64]) {
    println!("\nns of a free and an allocation; a sign is a third of a doubling from 32 ns on");
    for &blocks in sizes {
        for system in [TREE, LINEAR, "range-alloc", "offset-allocator"] {
            let Some(ns) = figures.median(&case(NS, blocks), system) else { continue };
            let length = (3.0 * (ns / 32.0).log2()).clamp(1.0, 80.0);
            let bar: String =
                (0..80).take_while(|at| f64::from(*at) < length).map(|_| '█').collect();
            let head = if system == TREE { figure(blocks as f64) } else { String::new() };
            println!("{head:>12}  {system:<18}{:>14} {bar}", figure(ns));
        }
    }
}

/// A straight line through points by least squares: where it begins, its slope, and the part of the
/// variance that it explains.
fn fit(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|it| of(it.0 - x, it.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (y - xy / xx * x, xy / xx, if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) })
}

fn targets(figures: &Figures, sizes: &[u64], different: u64) -> Vec<Target> {
    let visits = |&blocks: &u64| {
        Some(((blocks as f64).log2(), figures.median(&case(VISITED, blocks), TREE)?))
    };
    let points: Vec<(f64, f64)> = sizes.iter().filter_map(visits).collect();
    let line = (points.len() > 2).then(|| fit(&points));
    if let Some((begin, slope, _)) = line {
        println!("\nnodes visited ≈ {begin:.1} + {slope:.2} log2(blocks)");
    }
    let mut made = vec![
        Target::at_least(
            "nodes visited as log n: variance explained".to_owned(),
            0.95,
            line.map(|line| line.2),
        ),
        Target::at_most(
            "places other than linear first fit's".to_owned(),
            0.0,
            Some(different as f64),
        ),
    ];
    for &blocks in sizes.iter().filter(|&&blocks| blocks >= 100_000) {
        let part = || {
            let ns = |system| figures.median(&case(NS, blocks), system);
            Some(ns(TREE)? / ns(LINEAR)?)
        };
        let what = format!("{} blocks: part of linear's time", figure(blocks as f64));
        made.push(Target::at_most(what, 1.0, part()));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_a_curve_is_not() {
        let line: Vec<(f64, f64)> =
            (0..9).map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x))).collect();
        let (begin, slope, explained) = fit(&line);
        assert!((begin - 3.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9 && explained > 0.999);
        let curve: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), 10_f64.powi(x))).collect();
        assert!(fit(&curve).2 < 0.95);
    }

    #[test]
    fn tree_and_linear_choose_the_same_places() {
        let mut figures = Figures::default();
        assert_eq!(measure_size(1000, &mut figures).unwrap(), 0);
        assert!(figures.median(&case(RATIO, 1000), TREE).unwrap() >= 1.0);
        assert!(figures.median(&case(VISITED, 1000), TREE).unwrap() >= 1.0);
    }
}

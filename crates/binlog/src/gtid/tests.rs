//! Tests of GTID sets against plain sets of numbers.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const A: &str = "c0186e50-e6c0-11f1-8392-02fc00000001";
const B: &str = "c43277ab-e6c0-11f1-a3c6-02fc00000001";

fn source(at: u8) -> Source {
    Source { uuid: [at & 1; 16], tag: ["", "a", "b_1"][usize::from(at / 2)].to_owned() }
}

fn members() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    let interval = (0_u8..6, 1_u64..60, 0_u64..8);
    prop::collection::vec(interval.prop_map(|(at, first, more)| (at, first, first + more)), 0..25)
}

fn build(intervals: &[(u8, u64, u64)]) -> (GtidSet, BTreeSet<(Source, u64)>) {
    let (mut set, mut model) = (GtidSet::new(), BTreeSet::new());
    for (at, first, last) in intervals {
        set.add_interval(source(*at), *first, *last);
        model.extend((*first..=*last).map(|number| (source(*at), number)));
    }
    (set, model)
}

fn listed(set: &GtidSet) -> BTreeSet<(Source, u64)> {
    set.intervals().flat_map(|(s, first, last)| (first..=last).map(|n| (s.clone(), n))).collect()
}

/// Intervals neither overlap nor touch, and there are no empty sources.
fn is_tidy(set: &GtidSet) -> bool {
    set.sources.values().all(|intervals| {
        let all: Vec<_> = intervals.iter().collect();
        !all.is_empty()
            && all.iter().all(|(first, last)| first <= last)
            && all.windows(2).all(|pair| pair[0].1 + 1 < *pair[1].0)
    })
}

proptest! {
    #[test]
    fn sets_are_sets(one in members(), two in members(), number in 1_u64..70, at in 0_u8..6) {
        let ((a, a_model), (b, b_model)) = (build(&one), build(&two));
        prop_assert!(is_tidy(&a));
        prop_assert_eq!(listed(&a), a_model.clone());
        prop_assert_eq!(a.is_subset(&b), a_model.is_subset(&b_model));
        let gtid = Gtid { source: source(at), number };
        prop_assert_eq!(a.contains(&gtid), a_model.contains(&(source(at), number)));

        let mut added = a.clone();
        prop_assert_eq!(added.add(&gtid), !a.contains(&gtid));
        prop_assert!(added.contains(&gtid) && a.is_subset(&added) && is_tidy(&added));

        let mut both = a.clone();
        both.union(&b);
        prop_assert_eq!(listed(&both), a_model.union(&b_model).cloned().collect());
        prop_assert!(is_tidy(&both) && a.is_subset(&both) && b.is_subset(&both));

        let mut less = a.clone();
        less.subtract(&b);
        prop_assert_eq!(listed(&less), a_model.difference(&b_model).cloned().collect());
        prop_assert!(is_tidy(&less));
    }

    #[test]
    fn text_and_bytes_give_the_set_back(intervals in members()) {
        let (set, _) = build(&intervals);
        prop_assert_eq!(&set.to_string().parse::<GtidSet>().unwrap(), &set);
        prop_assert_eq!(&GtidSet::decode(&set.encode()).unwrap(), &set);
    }

    #[test]
    fn any_bytes_and_texts_are_answered(bytes: Vec<u8>, text: String) {
        let _ = GtidSet::decode(&bytes);
        let _ = text.parse::<GtidSet>();
    }
}

#[test]
fn text_is_as_mysql_writes_it() {
    let text = format!("{A}:1:azure:1:blue:1-3,\n{B}:1-5:7-9:{}", MAX_NUMBER);
    assert_eq!(text.parse::<GtidSet>().unwrap().to_string(), text);
    let loose = format!(" {},{B}:7 - 9 :2-5:1 , ,{A}: Blue :3:1-2:3-2,", A.to_uppercase());
    let strict = format!("{A}:blue:1-3,\n{B}:1-5:7-9");
    assert_eq!(loose.parse::<GtidSet>().unwrap().to_string(), strict);
    assert_eq!(
        format!("{{{}}}:1", A.replace('-', "")).parse::<GtidSet>().unwrap().to_string(),
        format!("{A}:1")
    );
    assert!("".parse::<GtidSet>().unwrap().is_empty());
    let long = "t".repeat(33);
    for wrong in [
        "x",
        "1-2",
        &A[1..],
        &format!("{A}:0"),
        &format!("{A}:1-"),
        &format!("{A}:+1"),
        &format!("{A}:9223372036854775807"),
        &format!("{A}:1x"),
        &format!("{A}:{long}:1"),
        &format!("{A}:ä:1"),
        &format!("{A}-:1"),
    ] {
        assert_eq!(wrong.parse::<GtidSet>().unwrap_err().errno(), 1210, "{wrong}");
    }
    assert_eq!(format!("{A}:blue:7").parse::<Gtid>().unwrap().to_string(), format!("{A}:blue:7"));
    assert!(format!("{A}:1-2").parse::<Gtid>().is_err());
}

#[test]
fn bytes_are_as_mysql_writes_them() {
    // From a `Previous_gtids` event of MySQL 9.7.
    let hex = "0103000000000001\
        c0186e50e6c011f1839202fc00000001000100000000000000\
        01000000000000000200000000000000\
        c0186e50e6c011f1839202fc000000010a617a7572650100000000000000\
        01000000000000000200000000000000\
        c0186e50e6c011f1839202fc0000000108626c75650100000000000000\
        01000000000000000400000000000000";
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let set = GtidSet::decode(&bytes).unwrap();
    assert_eq!(set.to_string(), format!("{A}:1:azure:1:blue:1-3"));
    assert_eq!(set.encode(), bytes);

    let plain: GtidSet = format!("{A}:1-5").parse().unwrap();
    let mut expected = 1_u64.to_le_bytes().to_vec();
    expected.extend(&bytes[8..24]);
    expected.extend([1_u64, 1, 6].iter().flat_map(|number| number.to_le_bytes()));
    assert_eq!(plain.encode(), expected);
    assert_eq!(GtidSet::new().encode(), [0; 8]);
}

#[test]
fn the_next_transaction_moves_an_end() {
    let mut set: GtidSet = format!("{A}:1-5,{B}:3").parse().unwrap();
    for number in 6..=2000 {
        assert!(set.add(&Gtid {
            source: Source { uuid: parse_uuid(A).unwrap(), tag: String::new() },
            number
        }));
    }
    assert_eq!(set.to_string(), format!("{A}:1-2000,\n{B}:3"));
}

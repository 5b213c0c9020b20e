//! What becomes of files when a process has as many open as it may. One test in a process of its own,
//! since the limit is the process's.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs::File;

use pelorus_env::{
    AlignedBytes, Disk as _, Open, RealDisk, is_out_of_files, raise_file_limit, read_exact_at,
    write_all_direct,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn open_now() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn block(value: u8) -> AlignedBytes {
    let mut bytes = AlignedBytes::with_capacity(8192);
    bytes.resize(8192, value);
    bytes
}

#[test]
fn idle_files_take_one_descriptor_and_open_ones_go_on_where_no_more_can_be_opened() {
    let folder = std::env::temp_dir().join(format!("pelorus-descriptors-{}", std::process::id()));
    RealDisk.create_folder(&folder).unwrap();
    let names = || (0..10).map(|number| folder.join(format!("file-{number}")));
    RealDisk.sync_folder(&folder).unwrap();
    let before = open_now();
    let files: Vec<_> = names().map(|it| RealDisk.open(&it, Open::Create).unwrap()).collect();
    for file in &files {
        write_all_direct(&**file, &block(1), 0).unwrap();
        file.sync().unwrap();
        file.sync().unwrap();
    }
    assert_eq!(open_now(), before + files.len());

    // As many as may be open, are.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let few = Rlimit { current: Some(64), maximum };
    setrlimit(Resource::Nofile, few).unwrap();
    let mut filler = Vec::new();
    let error = loop {
        match File::open("/dev/null") {
            Ok(file) => filler.push(file),
            Err(error) => break error,
        }
    };
    assert!(is_out_of_files(&error), "{error}");
    let refused = RealDisk.open(&folder.join("more"), Open::Create).unwrap_err();
    assert!(is_out_of_files(&refused), "{refused}");
    for file in &files {
        write_all_direct(&**file, &block(2), 4096).unwrap();
        file.sync().unwrap();
        let mut found = [0; 4096 * 3];
        read_exact_at(&**file, &mut found, 0).unwrap();
        assert!(found[..4096].iter().all(|&byte| byte == 1));
        assert!(found[4096..].iter().all(|&byte| byte == 2));
    }
    // What has got its name gets it durably.
    RealDisk.rename(&folder.join("file-0"), &folder.join("other")).unwrap();
    RealDisk.sync_folder(&folder).unwrap();

    assert_eq!(raise_file_limit(), maximum);
    assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    drop(RealDisk.open(&folder.join("more"), Open::Create).unwrap());
    drop((files, filler));
    std::fs::remove_dir_all(&folder).unwrap();
    // Another folder of the same name is another folder.
    RealDisk.create_folder(&folder).unwrap();
    RealDisk.sync_folder(&folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(RealDisk.sync_folder(&folder).is_err());
}

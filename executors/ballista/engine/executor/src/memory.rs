//! How much memory the tasks of this executor may have, where the configuration does not say it.

use std::fs;
use std::path::{Path, PathBuf};

/// The part of the process's memory that tasks may have, in hundredths. The rest is for what the engine does not count.
const SHARE: usize = 70;

/// The bytes for tasks: a share of the smallest limit of this process's control groups (v2, v1) and of the machine's memory. None if none of
/// them can be read.
pub fn for_tasks() -> Option<usize> {
    limit(Path::new("/")).map(|n| n / 100 * SHARE)
}

/// The smallest limit, with the files below root.
fn limit(root: &Path) -> Option<usize> {
    let files = group_files(&fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default());
    let groups = files.iter().filter_map(|f| number(&fs::read_to_string(root.join(f)).ok()?));
    groups.chain(machine(&fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default())).min()
}

/// The files that may hold a limit: of the process's groups and all their parents. In a container the group's own path may not be there.
fn group_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>()[..] else { continue };
        let (folder, name) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let group = Path::new(path.trim_start_matches('/'));
        files.extend(group.ancestors().map(|g| Path::new(folder).join(g).join(name)));
    }
    files
}

/// A limit; "max" is none.
fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|n| *n > 0)
}

fn machine(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine_with(name: &str, files: &[(&str, &str)]) -> Option<usize> {
        let root = std::env::temp_dir().join(format!("gatehouse-memory-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let found = limit(&root);
        let _ = fs::remove_dir_all(root);
        found
    }

    #[test]
    fn the_smallest_limit_counts() {
        let machine = ("proc/meminfo", "MemTotal:       1000 kB\nMemFree:        10 kB\n");
        let v2 = ("proc/self/cgroup", "0::/system.slice/a.service\n");
        let v1 = ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/\n");
        for (name, files, want) in [
            ("none", vec![], None),
            ("machine", vec![machine], Some(1_024_000)),
            ("v2", vec![machine, v2, ("sys/fs/cgroup/system.slice/a.service/memory.max", "5000\n")], Some(5000)),
            (
                "v2-parent",
                vec![machine, v2, ("sys/fs/cgroup/system.slice/a.service/memory.max", "max\n"), ("sys/fs/cgroup/system.slice/memory.max", "7000\n")],
                Some(7000),
            ),
            ("v2-above", vec![machine, v2, ("sys/fs/cgroup/memory.max", "9223372036854771712\n")], Some(1_024_000)),
            ("v2-container", vec![machine, v2, ("sys/fs/cgroup/memory.max", "6000\n")], Some(6000)),
            ("v1", vec![machine, v1, ("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4000\n")], Some(4000)),
            ("v1-container", vec![machine, v1, ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n")], Some(3000)),
            ("v1-other", vec![machine, v1, ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "10\n")], Some(1_024_000)),
        ] {
            assert_eq!(machine_with(name, &files), want, "{name}");
        }
    }
}

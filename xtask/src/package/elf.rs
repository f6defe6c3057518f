//! What a Linux program needs of the system, read from its file.

use std::collections::BTreeSet;

/// Names of sections that hold text (`SHT_STRTAB`), and the flag of what is loaded (`SHF_ALLOC`): together, the strings
/// that the dynamic linker reads.
const STRINGS: u32 = 3;
const LOADED: u64 = 2;

/// The machine, and what the dynamic linker has to find.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ElfNeeds {
    /// `e_machine`.
    pub(super) machine: u16,
    /// The newest version of glibc that a function is taken from; none if the program is linked statically.
    pub(super) glibc: Option<(u32, u32)>,
    /// Libraries by file name: `libgcc_s.so.1`.
    pub(super) libraries: BTreeSet<String>,
}

/// Reads the file of a program; none if it is not a 64-bit ELF file with the bytes in little-endian order.
pub(super) fn read(file: &[u8]) -> Option<ElfNeeds> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = number(file, 40, 8)? as usize;
    let (size, count) = (number(file, 58, 2)? as usize, number(file, 60, 2)? as usize);
    let mut needs = ElfNeeds { machine: number(file, 18, 2)? as u16, glibc: None, libraries: BTreeSet::new() };
    for section in (0..count).map(|at| table.saturating_add(at * size)) {
        let field = |place: usize, length| number(file, section.saturating_add(place), length);
        if field(4, 4)? as u32 == STRINGS && field(8, 8)? & LOADED != 0 {
            let (start, length) = (field(24, 8)? as usize, field(32, 8)? as usize);
            needs.learn(file.get(start..start.checked_add(length)?)?);
        }
    }
    Some(needs)
}

impl ElfNeeds {
    fn learn(&mut self, strings: &[u8]) {
        for text in strings.split(|byte| *byte == 0).filter_map(|bytes| std::str::from_utf8(bytes).ok()) {
            if let Some(version) = text.strip_prefix("GLIBC_").and_then(parse_version) {
                self.glibc = self.glibc.max(Some(version));
            } else if text.contains(".so") {
                self.libraries.insert(text.to_owned());
            }
        }
    }
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn number(file: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one section of strings.
    fn elf(machine: u16, strings: &str) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[40..48].copy_from_slice(&64_u64.to_le_bytes());
        file[58..60].copy_from_slice(&64_u16.to_le_bytes());
        file[60..62].copy_from_slice(&1_u16.to_le_bytes());
        let mut section = [0; 64];
        section[4..8].copy_from_slice(&STRINGS.to_le_bytes());
        section[8..16].copy_from_slice(&LOADED.to_le_bytes());
        section[24..32].copy_from_slice(&128_u64.to_le_bytes());
        section[32..40].copy_from_slice(&(strings.len() as u64).to_le_bytes());
        file.extend(section);
        file.extend(strings.as_bytes());
        file
    }

    #[test]
    fn the_newest_glibc_counts_by_number() {
        let needs = read(&elf(62, "\0libc.so.6\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0")).unwrap();
        assert_eq!((needs.machine, needs.glibc), (62, Some((2, 34))));
        assert_eq!(needs.libraries.into_iter().collect::<Vec<_>>(), ["libc.so.6"]);
    }

    #[test]
    fn a_static_program_needs_nothing() {
        assert_eq!(read(&elf(183, "\0")).unwrap().glibc, None);
    }

    #[test]
    fn damaged_files_are_no_programs() {
        let whole = elf(62, "\0libc.so.6\0");
        assert!((0..whole.len()).all(|length| read(&whole[..length]).is_none()));
        let mut far = whole;
        far[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&far), None);
    }
}

//! Which machines a program is made for, and what each kind of package calls them.

use super::elf;

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    X64,
    Arm64,
}

/// A system, with what the program needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetSystem {
    /// The version of glibc, or none for a static program; whether libgcc is needed.
    Linux {
        glibc: Option<(u32, u32)>,
        libgcc: bool,
    },
    MacOs,
    Windows,
}

/// What a program runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) system: TargetSystem,
    pub(super) processor: Processor,
}

impl Target {
    /// Reads it from the program's file.
    pub(super) fn of(file: &[u8]) -> Result<Self, String> {
        linux(file).or_else(|| mac_os(file)).or_else(|| windows(file)).ok_or_else(|| {
            "--binary is not a program for Linux, macOS or Windows on a 64-bit Intel or ARM processor".to_owned()
        })
    }

    /// The name of the program's file.
    pub(super) fn program(&self) -> &'static str {
        if self.system == TargetSystem::Windows { "updraft.exe" } else { "updraft" }
    }

    /// As Rust calls it: `x86_64-unknown-linux-gnu`.
    pub(super) fn triple(&self) -> String {
        let processor = self.by_processor("x86_64", "aarch64");
        let system = match self.system {
            TargetSystem::Linux { glibc: Some(_), .. } => "unknown-linux-gnu",
            TargetSystem::Linux { glibc: None, .. } => "unknown-linux-musl",
            TargetSystem::MacOs => "apple-darwin",
            TargetSystem::Windows => "pc-windows-msvc",
        };
        format!("{processor}-{system}")
    }

    /// As wheels call it: `manylinux_2_34_x86_64`.
    pub(super) fn wheel_tag(&self) -> String {
        match self.system {
            TargetSystem::Linux { glibc, .. } => {
                let processor = self.by_processor("x86_64", "aarch64");
                match glibc {
                    Some((major, minor)) => format!("manylinux_{major}_{}_{processor}", minor.max(17)),
                    None => format!("manylinux_2_17_{processor}.musllinux_1_1_{processor}"),
                }
            }
            TargetSystem::MacOs => self.by_processor("macosx_10_12_x86_64", "macosx_11_0_arm64").to_owned(),
            TargetSystem::Windows => self.by_processor("win_amd64", "win_arm64").to_owned(),
        }
    }

    /// As Node calls it: `linux`, `x64`.
    pub(super) fn node_names(&self) -> (&'static str, &'static str) {
        let system = match self.system {
            TargetSystem::Linux { .. } => "linux",
            TargetSystem::MacOs => "darwin",
            TargetSystem::Windows => "win32",
        };
        (system, self.by_processor("x64", "arm64"))
    }

    /// As Debian calls it: `amd64`.
    pub(super) fn debian_name(&self) -> &'static str {
        self.by_processor("amd64", "arm64")
    }

    fn by_processor(&self, x64: &'static str, arm64: &'static str) -> &'static str {
        match self.processor {
            Processor::X64 => x64,
            Processor::Arm64 => arm64,
        }
    }
}

fn linux(file: &[u8]) -> Option<Target> {
    let needs = elf::read(file)?;
    let processor = match needs.machine {
        62 => Processor::X64,
        183 => Processor::Arm64,
        _ => return None,
    };
    let libgcc = needs.libraries.contains("libgcc_s.so.1");
    Some(Target { system: TargetSystem::Linux { glibc: needs.glibc, libgcc }, processor })
}

/// By the header of a Mach-O file: a number that says so, then the processor.
fn mac_os(file: &[u8]) -> Option<Target> {
    let processor = match file.get(..8)? {
        [0xcf, 0xfa, 0xed, 0xfe, 0x07, 0, 0, 0x01] => Processor::X64,
        [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 0x01] => Processor::Arm64,
        _ => return None,
    };
    Some(Target { system: TargetSystem::MacOs, processor })
}

/// By the header of a PE file, which a number at byte 60 points to.
fn windows(file: &[u8]) -> Option<Target> {
    let place = file.strip_prefix(b"MZ")?.get(58..62)?;
    let place = u32::from_le_bytes(place.try_into().ok()?) as usize;
    let processor = match file.get(place..place + 6)? {
        [b'P', b'E', 0, 0, 0x64, 0x86] => Processor::X64,
        [b'P', b'E', 0, 0, 0x64, 0xaa] => Processor::Arm64,
        _ => return None,
    };
    Some(Target { system: TargetSystem::Windows, processor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_name_everywhere() {
        let linux = |glibc| Target { system: TargetSystem::Linux { glibc, libgcc: true }, processor: Processor::X64 };
        let new = linux(Some((2, 34)));
        assert_eq!(
            (new.triple().as_str(), new.wheel_tag().as_str()),
            ("x86_64-unknown-linux-gnu", "manylinux_2_34_x86_64")
        );
        assert_eq!((new.node_names(), new.debian_name()), (("linux", "x64"), "amd64"));
        assert_eq!(linux(Some((2, 5))).wheel_tag(), "manylinux_2_17_x86_64", "no installer knows older ones");
        assert_eq!(linux(None).wheel_tag(), "manylinux_2_17_x86_64.musllinux_1_1_x86_64");
    }

    #[test]
    fn programs_of_other_systems_are_known_by_their_headers() {
        let mac = Target::of(&[0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 0x01]).unwrap();
        assert_eq!((mac.triple().as_str(), mac.wheel_tag().as_str()), ("aarch64-apple-darwin", "macosx_11_0_arm64"));
        let mut exe = vec![0; 70];
        exe[..2].copy_from_slice(b"MZ");
        exe[60] = 64;
        exe[64..70].copy_from_slice(b"PE\0\0\x64\x86");
        let windows = Target::of(&exe).unwrap();
        assert_eq!((windows.program(), windows.node_names()), ("updraft.exe", ("win32", "x64")));
        assert!(Target::of(b"#!/bin/sh\n").is_err() && Target::of(b"").is_err() && Target::of(b"MZ").is_err());
    }
}

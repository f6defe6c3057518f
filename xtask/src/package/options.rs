//! The command line of `cargo xtask package`.

use std::path::PathBuf;

pub(super) const USAGE: &str = "\
usage: cargo xtask package KIND --binary PATH --out DIR [--manual-from PATH] [--level 0-9]

  KIND           archive, wheel, npm, deb, or all; several with commas
  --binary       the program to package; the platform is read from the file
  --out          the folder for packages and their checksums
  --manual-from  a program of the same version that can be started here, if --binary is for another machine
  --level        how well to compress (default: 9)
";

const KINDS: [&str; 4] = ["archive", "wheel", "npm", "deb"];

/// What to package, and where to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackageOptions {
    /// Some of [`KINDS`].
    pub(super) kinds: Vec<String>,
    pub(super) binary: PathBuf,
    pub(super) out: PathBuf,
    /// The program that prints manual pages and completions.
    pub(super) speaker: PathBuf,
    pub(super) level: u32,
}

impl PackageOptions {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let [kinds, rest @ ..] = arguments else { return Err("which KIND of package?".into()) };
        let (mut binary, mut out, mut speaker, mut level) = (None, None, None, 9);
        let mut rest = rest.iter();
        while let Some(option) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("`{option}` needs a value"))?;
            match option.as_str() {
                "--binary" => binary = Some(PathBuf::from(value)),
                "--out" => out = Some(PathBuf::from(value)),
                "--manual-from" => speaker = Some(PathBuf::from(value)),
                "--level" => {
                    level =
                        value.parse().ok().filter(|level| *level <= 9).ok_or("`--level` is a number from 0 to 9")?;
                }
                _ => return Err(format!("`{option}` is not an option")),
            }
        }
        let binary = binary.ok_or("`--binary PATH` is missing: the program to package")?;
        Ok(Self {
            kinds: parse_kinds(kinds)?,
            out: out.ok_or("`--out DIR` is missing: the folder for the packages")?,
            speaker: speaker.unwrap_or_else(|| binary.clone()),
            binary,
            level,
        })
    }
}

fn parse_kinds(text: &str) -> Result<Vec<String>, String> {
    if text == "all" {
        return Ok(KINDS.map(str::to_owned).to_vec());
    }
    let kinds = text.split(',').map(|kind| {
        let known = KINDS.contains(&kind).then(|| kind.to_owned());
        known.ok_or_else(|| format!("`{kind}` is not a kind of package; there are {}", KINDS.join(", ")))
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<PackageOptions, String> {
        PackageOptions::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn kinds_and_options_are_read() {
        let expected = PackageOptions {
            kinds: vec!["wheel".into(), "deb".into()],
            binary: "a".into(),
            out: "b".into(),
            speaker: "a".into(),
            level: 9,
        };
        assert_eq!(parsed("wheel,deb --binary a --out b"), Ok(expected));
        assert_eq!(parsed("all --binary a --out b --manual-from c").unwrap().kinds, KINDS);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(
            parsed("rpm --binary a --out b").unwrap_err().split(';').next(),
            Some("`rpm` is not a kind of package")
        );
        assert_eq!(parsed("deb --out b").unwrap_err(), "`--binary PATH` is missing: the program to package");
        assert_eq!(parsed("deb --out").unwrap_err(), "`--out` needs a value");
        assert_eq!(parsed("deb --level 12").unwrap_err(), "`--level` is a number from 0 to 9");
        assert_eq!(parsed("deb --colour red").unwrap_err(), "`--colour` is not an option");
    }
}

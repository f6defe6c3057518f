//! Numbers that look random and can be repeated, and what the environment asks for.

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap() % limit
    }
}

pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The seed that the environment names, or one of this process.
pub(crate) fn seed(name: &str) -> u64 {
    environment(name).and_then(|text| text.parse().ok()).unwrap_or_else(|| u64::from(std::process::id()))
}

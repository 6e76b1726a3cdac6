//! What becomes of a request at the faulty proxy. It is drawn from the seed, the request, and how often that was made
//! before: the same seed treats an object the same way, in whatever order the requests for all objects arrive.

use std::collections::BTreeMap;
use std::time::Duration;

/// What a request does, as far as faults differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Read,
    Watch,
    Write,
}

/// How many events a slow watch has.
pub(crate) const SLOW_EVENTS: u32 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    /// Answered with this status code, unseen by the API server.
    Refused(u16),
    /// Passed on after this time; every event of a watch takes it, and after [`SLOW_EVENTS`] the watch ends.
    Slow(Duration),
    /// The API server does it, and the answer is lost with the connection.
    Lost,
    /// The connection breaks in the middle of the event after this many.
    Broken(u32),
    /// After this many events the watch says that its resource version is too old.
    Expired(u32),
    /// The watch ends properly after this many events.
    Ended(u32),
}

impl Fate {
    /// The name in statistics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::Refused(409) => "409",
            Self::Refused(410) => "410",
            Self::Refused(429) => "429",
            Self::Refused(_) => "500",
            Self::Slow(_) => "slow",
            Self::Lost => "answer lost",
            Self::Broken(_) => "watch broken",
            Self::Expired(_) => "watch expired",
            Self::Ended(_) => "watch ended",
        }
    }
}

/// Faults in a hundred requests of a class; the rest passes.
pub(crate) fn rates(class: Class) -> &'static [(u64, &'static str)] {
    match class {
        Class::Read => &[(10, "429"), (10, "500"), (5, "410"), (10, "slow"), (10, "answer lost")],
        Class::Watch => &[
            (5, "429"),
            (5, "500"),
            (15, "410"),
            (15, "slow"),
            (20, "watch broken"),
            (20, "watch expired"),
            (20, "watch ended"),
        ],
        Class::Write => &[(5, "429"), (5, "500"), (5, "409"), (5, "slow"), (5, "answer lost")],
    }
}

pub(crate) struct Plan {
    seed: u64,
    made: BTreeMap<String, u64>,
}

impl Plan {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, made: BTreeMap::new() }
    }

    /// The fate of the next request with this method and path.
    pub(crate) fn draw(&mut self, class: Class, method: &str, path: &str) -> Fate {
        let request = format!("{class:?} {method} {path}");
        let first = self.seed ^ hash(&request);
        let count = self.made.entry(request).or_default();
        let made = *count;
        *count += 1;
        let mut random = Random::new(first);
        random.skip(made);
        let mut random = Random::new(random.next());
        let mut number = match class {
            // Watches are few: this way a handful of them meets all that is frequent.
            Class::Watch => (first % 100 + made * 61) % 100,
            _ => random.below(100),
        };
        for (share, name) in rates(class) {
            if number < *share {
                return fate(name, class, &mut random);
            }
            number -= share;
        }
        Fate::Pass
    }
}

fn fate(name: &str, class: Class, random: &mut Random) -> Fate {
    match name {
        "slow" if class == Class::Watch => Fate::Slow(Duration::from_millis(20 + random.below(180))),
        "slow" => Fate::Slow(Duration::from_millis(100 + random.below(900))),
        "answer lost" => Fate::Lost,
        "watch broken" => Fate::Broken(random.events()),
        "watch expired" => Fate::Expired(random.events()),
        "watch ended" => Fate::Ended(random.events()),
        code => Fate::Refused(code.parse().unwrap_or(500)),
    }
}

fn hash(text: &str) -> u64 {
    // FNV-1a.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn skip(&mut self, count: u64) {
        self.0 = self.0.wrapping_add(Self::STEP.wrapping_mul(count));
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.skip(1);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn events(&mut self) -> u32 {
        u32::try_from(self.below(20)).unwrap_or_default()
    }
}

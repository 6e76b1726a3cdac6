//! Regular expressions that the API server can compile: the syntax of RE2 as Go's package `regexp` has it
//! (<https://pkg.go.dev/regexp/syntax>), which has no look-around, no back references and no possessive quantifiers.

/// The greatest number in `{n,m}`, also of repetitions inside each other, multiplied.
const MAX_REPEAT: u64 = 1000;
/// The greatest nesting of groups.
const MAX_DEPTH: usize = 1000;

/// Why an expression can't be compiled; Unicode classes such as `\p{Greek}` are not looked up.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    let mut parser = Parser { rest: pattern, groups: vec![Group::default()] };
    while let Some(next) = parser.rest.chars().next() {
        parser.item(next)?;
    }
    if parser.groups.len() > 1 { Err("a `)` is missing".to_owned()) } else { Ok(()) }
}

struct Parser<'p> {
    rest: &'p str,
    /// Open groups, the whole expression first.
    groups: Vec<Group>,
}

/// What is known of a group as far as it is read.
#[derive(Default)]
struct Group {
    /// The last item of the branch that is being read: how often its innermost repetition may be repeated.
    last: Option<u64>,
    /// The greatest such number of all items.
    most: u64,
    /// The last item ends in a quantifier.
    quantified: bool,
}

impl Group {
    fn push(&mut self, times: u64) {
        self.most = self.most.max(times);
        self.last = Some(times);
        self.quantified = false;
    }
}

impl Parser<'_> {
    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the whole expression is never closed")
    }

    fn skip(&mut self, letter: char) -> &mut Self {
        self.rest = &self.rest[letter.len_utf8()..];
        self
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The next letter, which is taken away.
    fn take(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.skip(letter);
        Some(letter)
    }

    fn item(&mut self, next: char) -> Result<(), String> {
        match next {
            '(' => self.open(),
            ')' => self.skip(next).close(),
            '|' => {
                self.skip(next);
                let group = self.group();
                (group.last, group.quantified) = (None, false);
                Ok(())
            }
            '[' => self.class(),
            '*' | '+' | '?' => self.skip(next).quantifier(&next.to_string(), None),
            '{' => self.braces(),
            '\\' => self.backslash(),
            _ => {
                self.skip(next).group().push(1);
                Ok(())
            }
        }
    }

    fn open(&mut self) -> Result<(), String> {
        if self.groups.len() > MAX_DEPTH {
            return Err("groups are nested too deeply".to_owned());
        }
        for (start, what) in
            [("(?=", "look-ahead"), ("(?!", "look-ahead"), ("(?<=", "look-behind"), ("(?<!", "look-behind")]
        {
            if self.rest.starts_with(start) {
                return Err(format!("`{start}` is {what}, which is not supported"));
            }
        }
        if self.rest.starts_with("(?P<") || self.rest.starts_with("(?<") {
            let (_, name) = self.rest.split_once('<').unwrap_or_default();
            let Some((name, rest)) = name.split_once('>') else {
                return Err("a name of a group has no end".to_owned());
            };
            if name.is_empty() || !name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric()) {
                return Err(format!("`{name}` is no name of a group"));
            }
            self.rest = rest;
        } else if self.eat("(?") {
            if !self.flags()? {
                return Ok(());
            }
        } else {
            self.eat("(");
        }
        self.groups.push(Group::default());
        Ok(())
    }

    /// `i)` or `i-s:`, behind `(?`: whether a group begins.
    fn flags(&mut self) -> Result<bool, String> {
        let before = self.rest;
        let (mut negative, mut seen) = (false, false);
        while let Some(letter) = self.take() {
            match letter {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negative => (negative, seen) = (true, false),
                ':' | ')' if seen || !negative => return Ok(letter == ':'),
                _ => break,
            }
        }
        let end = before.len() - self.rest.len();
        Err(format!("`(?{}` is not supported", &before[..end]))
    }

    fn close(&mut self) -> Result<(), String> {
        if self.groups.len() < 2 {
            return Err("a `)` closes nothing".to_owned());
        }
        let inner = self.groups.pop().map_or(1, |group| group.most.max(1));
        self.group().push(inner);
        Ok(())
    }

    fn quantifier(&mut self, text: &str, bounds: Option<(u64, Option<u64>)>) -> Result<(), String> {
        self.eat("?");
        let group = self.group();
        if group.quantified {
            return Err(format!("`{text}` stands behind another quantifier"));
        }
        let Some(times) = group.last else { return Err(format!("nothing is in front of `{text}`")) };
        let own = bounds.map_or(1, |(least, most)| most.unwrap_or(least));
        let times = if own == 0 { 1 } else { times.saturating_mul(own) };
        if bounds.is_some_and(|(least, most)| least >= 2 || most.is_some_and(|most| most >= 2)) && times > MAX_REPEAT {
            return Err(format!(
                "`{text}` repeats more than {MAX_REPEAT} times, counting repetitions inside each other"
            ));
        }
        group.push(times);
        group.quantified = true;
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}`; anything else is text.
    fn braces(&mut self) -> Result<(), String> {
        let bounds = self.rest[1..].split_once('}').and_then(|(inside, rest)| Some((bounds(inside)?, inside, rest)));
        let Some(((least, most), inside, rest)) = bounds else {
            self.skip('{').group().push(1);
            return Ok(());
        };
        let text = format!("{{{inside}}}");
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            return Err(format!("`{text}` is out of order, or more than {MAX_REPEAT}"));
        }
        self.rest = rest;
        self.quantifier(&text, Some((least, most)))
    }

    fn backslash(&mut self) -> Result<(), String> {
        if self.eat("\\Q") {
            let (text, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = rest;
            if !text.is_empty() {
                self.group().push(1);
            }
            return Ok(());
        }
        let anchor = ["\\A", "\\b", "\\B", "\\z"].iter().any(|anchor| self.eat(anchor));
        if !anchor && !self.named_class()? {
            self.escape()?;
        }
        self.group().push(1);
        Ok(())
    }

    /// `\d` or `\pL`.
    fn named_class(&mut self) -> Result<bool, String> {
        if ["\\d", "\\D", "\\s", "\\S", "\\w", "\\W"].iter().any(|class| self.eat(class)) {
            return Ok(true);
        }
        if !self.eat("\\p") && !self.eat("\\P") {
            return Ok(false);
        }
        match self.take() {
            Some('{') => {
                let Some((_, rest)) = self.rest.split_once('}') else { return Err("`\\p{` has no end".to_owned()) };
                self.rest = rest;
                Ok(true)
            }
            Some(_) => Ok(true),
            None => Err("`\\p` has no name".to_owned()),
        }
    }

    /// One letter written with a backslash.
    fn escape(&mut self) -> Result<char, String> {
        let before = self.rest;
        self.eat("\\");
        let Some(letter) = self.take() else { return Err("nothing is behind the `\\` at the end".to_owned()) };
        let escaped = match letter {
            '1'..='7' if !self.rest.starts_with(|digit| ('0'..='7').contains(&digit)) => {
                return Err(format!("`\\{letter}` is a back reference, which is not supported"));
            }
            '0'..='7' => self.octal(letter),
            'x' => self.hexadecimal(),
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            other => (other.is_ascii() && !other.is_ascii_alphanumeric()).then_some(other),
        };
        escaped.ok_or_else(|| format!("`{}` is no escape", &before[..before.len() - self.rest.len()]))
    }

    fn octal(&mut self, first: char) -> Option<char> {
        let mut value = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|digit| digit.to_digit(8)) else { break };
            self.take();
            value = value * 8 + digit;
        }
        char::from_u32(value)
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = if self.eat("{") {
            let (digits, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2)?;
            self.rest = &self.rest[2..];
            digits
        };
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        // Go takes surrogates, which are no `char`; they only matter as the ends of ranges.
        let digits = digits.trim_start_matches('0');
        let value = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).ok()? };
        (value <= u32::from(char::MAX)).then(|| char::from_u32(value).unwrap_or('\u{e000}'))
    }

    /// `[a-z\d[:alpha:]]`
    fn class(&mut self) -> Result<(), String> {
        self.eat("[");
        self.eat("^");
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.starts_with("[:")
                && let Some((name, rest)) = self.rest[2..].split_once(":]")
            {
                if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err(format!("`[:{name}:]` is no class"));
                }
                self.rest = rest;
                continue;
            }
            if self.named_class()? {
                continue;
            }
            let low = self.letter()?;
            if self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]") {
                self.eat("-");
                let high = self.letter()?;
                if high < low {
                    return Err(format!("`{low}-{high}` is no range"));
                }
            }
        }
        self.eat("]");
        self.group().push(1);
        Ok(())
    }

    fn letter(&mut self) -> Result<char, String> {
        if self.rest.starts_with('\\') {
            return self.escape();
        }
        self.take().ok_or_else(|| "a `]` is missing".to_owned())
    }
}

/// The classes of POSIX, and `word`.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// `n`, `n,` or `n,m`, without leading zeros.
fn bounds(text: &str) -> Option<(u64, Option<u64>)> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse().unwrap_or(u64::MAX))
    };
    match text.split_once(',') {
        None => number(text).map(|times| (times, Some(times))),
        Some((least, "")) => number(least).map(|least| (least, None)),
        Some((least, most)) => Some((number(least)?, Some(number(most)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_go_compiles() {
        for pattern in [
            "",
            "^[a-z]([-a-z0-9]*[a-z0-9])?$",
            "(?i)a|b|",
            "a{2,3}?",
            "a{,3}",
            "{",
            "a{01}",
            "x*?y",
            "(?P<n>a)(?<m>b)",
            "[]a]",
            "[^]a]",
            "[a-]",
            "[-a]",
            "[a-c-e]",
            "[[:word:][:^alpha:]]",
            "[[:a]",
            "[a&&b]",
            r"\Q(*\E+",
            r"\Q",
            r"\pL\p{Greek}\P{^Lu}",
            r"\A\b\B\z",
            r"\x41\x{10ffff}\012\07\0",
            r"\_\-\.\/",
            r"[\d\s\-\]]",
            "(?s-i:a)",
            "(?:)",
            "(a{10}){100}",
            "é{2}",
            "()",
            "a{0}",
            "(a{1000}){0}",
            "^*",
            r"[\x{d800}-\x{dfff}]",
            "a(?i)*",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn what_go_refuses() {
        for (pattern, why) in [
            ("(?=a)", "`(?=` is look-ahead, which is not supported"),
            ("a(?!b)", "`(?!` is look-ahead, which is not supported"),
            ("(?<=a)b", "`(?<=` is look-behind, which is not supported"),
            ("(?<!a)b", "`(?<!` is look-behind, which is not supported"),
            (r"(a)\1", r"`\1` is a back reference, which is not supported"),
            ("a*+", "`+` stands behind another quantifier"),
            ("a??*", "`*` stands behind another quantifier"),
            ("*a", "nothing is in front of `*`"),
            ("(|+)", "nothing is in front of `+`"),
            ("a{1001}", "`{1001}` is out of order, or more than 1000"),
            ("a{3,2}", "`{3,2}` is out of order, or more than 1000"),
            ("(a{11}){100}", "`{100}` repeats more than 1000 times, counting repetitions inside each other"),
            ("(?>a)", "`(?>` is not supported"),
            ("(?x)a", "`(?x` is not supported"),
            ("(?i-)a", "`(?i-)` is not supported"),
            ("(?#c)", "`(?#` is not supported"),
            ("(?P<é>a)", "`é` is no name of a group"),
            ("(?P<a", "a name of a group has no end"),
            ("(a", "a `)` is missing"),
            ("a)", "a `)` closes nothing"),
            ("[a", "a `]` is missing"),
            ("[]", "a `]` is missing"),
            ("[z-a]", "`z-a` is no range"),
            ("[a-\\d]", "`\\d` is no escape"),
            ("[[:foo:]]", "`[:foo:]` is no class"),
            (r"\Z", r"`\Z` is no escape"),
            (r"\u0041", r"`\u` is no escape"),
            (r"\x4", r"`\x` is no escape"),
            (r"\x{110000}", r"`\x{110000}` is no escape"),
            (r"[\b]", r"`\b` is no escape"),
            ("a\\", "nothing is behind the `\\` at the end"),
            (r"\p{Greek", r"`\p{` has no end"),
        ] {
            assert_eq!(check(pattern), Err(why.to_owned()), "{pattern}");
        }
    }
}
